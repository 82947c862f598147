"""Windows that are given one by one: a CSV file with a row per window, or an NPZ file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.inputs.signal.samples import as_windows
from bemi.io import MISSING_TOKENS
from bemi.io.cells import DataFileError, Tell, read_cells
from bemi.io.columns import ModelColumns, features_for
from bemi.io.files import NPZ_TARGET, read_npz
from bemi.io.labels import labels
from bemi.io.recordings.channels import tell_doubts
from bemi.io.recordings.windows import Columns, Windows

NPZ_GROUPS = "groups"

_SAMPLE = re.compile(r"(.*?)[_. \-\[]?(\d+)\]?")
"""Name of a column with one sample of a channel: ``x_0``, ``x0``, ``acc x 12`` or ``x[3]``."""


def column_names(channels: Sequence[Any], time: int) -> list[str]:
    """Names of the samples of a window, sample by sample with the channels of a sample together."""
    return [f"{channel}_{t}" for t in range(time) for channel in channels]


def samples_in(names: Sequence[Any]) -> tuple[tuple[str, ...], list[list[Any]]] | None:
    """Channels, and for each sample the columns with its channels; None if names do not tell."""
    found: dict[str, dict[int, Any]] = {}
    for name in names:
        match = _SAMPLE.fullmatch(str(name))
        if match is None or int(match.group(2)) in found.setdefault(match.group(1), {}):
            return None
        found[match.group(1)][int(match.group(2))] = name
    numbers = [sorted(own) for own in found.values()]
    if not numbers or numbers[0][0] not in (0, 1) or any(own != numbers[0] for own in numbers):
        return None
    if numbers[0][-1] - numbers[0][0] + 1 != len(numbers[0]):
        return None
    return tuple(found), [[own[t] for own in found.values()] for t in numbers[0]]


def read_rows(
    path: Path,
    columns: Columns,
    tell: Tell,
    *,
    count: int | None = None,
    missing: Sequence[str] = MISSING_TOKENS,
    drop: Sequence[str] = (),
) -> Windows:
    """Windows of a CSV file with one row per window.

    Parameters
    ----------
    path
        The file.
    columns
        Columns of recordings and labels, and the channels to take, if the names of columns tell them.
    tell
        Gets the lines that the user should see.
    count
        Channels of a sample, where the names of columns do not tell: columns then stand sample by sample.
    missing
        Texts that mean a missing value.
    drop
        Columns to leave out.
    """
    cells = read_cells(path, tell)
    names = [name for name in cells.table.columns if name not in drop]
    roles = Columns(columns.id, None, columns.target).found_in(names, str(path))
    samples = [name for name in names if name not in (roles.id, roles.target)]
    channels, places = _placed(samples, columns.channels, count, path)
    flat = [name for place in places for name in place]
    numbers = features_for(cells, ModelColumns(tuple(flat), (None,) * len(flat)), missing, tell)
    X = numbers.to_numpy().reshape(len(numbers), len(places), len(channels))
    tell_doubts(X, channels, tell)
    return Windows(
        X=X,
        y=None if roles.target is None else labels(cells, roles.target),
        groups=None if roles.id is None else labels(cells, roles.id),
        starts=None,
        channels=channels,
    )


def _placed(
    names: Sequence[str], wanted: Sequence[Any] | None, count: int | None, path: Path
) -> tuple[tuple[Any, ...], list[list[str]]]:
    """Channels, by name or number, and the columns of each sample."""
    told = samples_in(names)
    if told is not None and count in (None, len(told[0])):
        channels, places = told
        if wanted is None:
            return channels, places
        absent = [name for name in wanted if name not in channels]
        if absent:
            raise DataFileError(f"{path} lacks the channel {absent[0]!r}; it has {', '.join(channels)}")
        kept = [channels.index(name) for name in wanted]
        return tuple(wanted), [[place[k] for k in kept] for place in places]
    if wanted is not None:
        raise DataFileError(
            f"{path}: columns are not named as samples of channels (x_0, x_1, ... y_0, ...); give the number of "
            "channels"
        )
    own = count or 1
    if len(names) % own:
        raise DataFileError(f"{path}: {len(names)} columns are no whole number of samples of {own} channels")
    return tuple(range(own)), [list(names[start : start + own]) for start in range(0, len(names), own)]


def read_arrays(path: Path, columns: Columns, tell: Tell, *, count: int | None = None) -> Windows:
    """Windows of an NPZ file: ``X`` of shape (windows, time, channels), labels ``y``, recordings ``groups`` if any."""
    arrays = read_npz(path)
    if "X" not in arrays:
        raise DataFileError(f"{path} has no array 'X'; it has {', '.join(arrays) or 'none'}")
    X = arrays["X"]
    if X.ndim == 2 and not X.shape[1] % (count or 1):
        X = X.reshape(len(X), -1, count or 1)
    if X.ndim != 3 or X.dtype.kind not in "biuf":
        raise DataFileError(
            f"{path}: 'X' must be numbers of shape (windows, time, channels), its shape is {X.shape} and its type "
            f"{X.dtype}"
        )
    if count not in (None, X.shape[2]):
        raise DataFileError(
            f"{path}: 'X' has {X.shape[2]} channels, not {count}; its shape is (windows, time, channels)"
        )
    as_windows(X)
    channels = tuple(columns.channels or range(X.shape[2]))
    if len(channels) != X.shape[2]:
        raise DataFileError(f"{path}: 'X' has {X.shape[2]} channels, but {len(channels)} are named")
    tell_doubts(X, channels, tell)
    return Windows(
        X=X,
        y=_one_each(path, arrays, columns.target, NPZ_TARGET, len(X)),
        groups=_one_each(path, arrays, columns.id, NPZ_GROUPS, len(X)),
        starts=None,
        channels=channels,
    )


def _one_each(path: Path, arrays: dict[str, NDArray], name: str | None, usual: str, windows: int) -> NDArray | None:
    """An array with one value per window; None if the user does not name it and it is not there."""
    if name is not None and name not in arrays:
        raise DataFileError(f"{path} has no array {name!r}; it has {', '.join(arrays)}")
    found = arrays.get(name or usual)
    if found is not None and found.shape != (windows,):
        raise DataFileError(f"{path}: {name or usual!r} must hold one value per window, its shape is {found.shape}")
    return np.asarray(found) if found is not None else None
