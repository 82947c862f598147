"""Windows in files: long CSV files of samples, folders of these, and files whose windows are given one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bemi.inputs.signal import as_windows
from bemi.io import MISSING_TOKENS
from bemi.io.cells import Cells, Tell, read_cells
from bemi.io.columns import NO_RULES, ModelColumns, features_for, index_column
from bemi.io.recordings import recordings_of
from bemi.io.resampling import Recording
from bemi.io.sources import DataFileError
from bemi.io.tables import NPZ_TARGET, as_labels, labels, read_npz
from bemi.io.windowing import Columns, Cutting, Windows, cut_all, tell_doubts

_LABEL_OF_FILE = re.compile(r"[^\d_.\- ]+")
"""The label at the start of a file's name: all before the first digit, underscore, point, hyphen or blank."""


def read_recordings(
    path: Path,
    cutting: Cutting,
    columns: Columns,
    tell: Tell,
    *,
    missing: Sequence[str] = MISSING_TOKENS,
    drop: Sequence[str] = (),
    labelled: bool = True,
) -> Windows:
    """Windows of a CSV file, or of a folder of such files.

    Parameters
    ----------
    path
        The file or folder.
    cutting, columns
        As in :func:`bemi.windows`.
    tell
        Gets the lines that the user should see.
    missing
        Texts that mean a missing value.
    drop
        Columns that are no channels.
    labelled
        Whether labels are looked for: in a column, or in the names of files or folders if none has them.
    """
    tables, found = _tables(path, columns, missing, drop, tell)
    if not labelled:
        # A column of labels is no channel, but does not end windows either.
        found = replace(found, target=None)
    given = _labels_of_names(path, list(tables), tell) if labelled and found.target is None and path.is_dir() else {}
    recordings: list[Recording] = []
    for file, table in tables.items():
        name = str(file.relative_to(path)) if path.is_dir() else str(path)
        own = recordings_of(
            table,
            found.channels or (),
            id=found.id,
            time=found.time,
            target=found.target,
            name=name,
            group=file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else None,
        )
        recordings += [_labelled(recording, given[file]) if given else recording for recording in own]
    return cut_all(recordings, found, cutting, tell, channels_named=columns.channels is not None)


def _tables(
    path: Path, columns: Columns, missing: Sequence[str], drop: Sequence[str], tell: Tell
) -> tuple[dict[Path, pd.DataFrame], Columns]:
    """The table of every file, and the columns that all of them have."""
    files = [path]
    if path.is_dir():
        files = sorted(
            file for file in path.rglob("*") if file.name.lower().endswith((".csv", ".csv.gz")) and file.is_file()
        )
        if not files:
            raise DataFileError(f"{path} has no CSV files")
    tables, found = {}, columns
    for file in files:
        cells = read_cells(file, tell)
        if file == files[0]:
            found = _columns(cells, columns, drop, tell)
        else:
            # Every file must have what the first one has.
            found.found_in(cells.names, str(file))
        tables[file] = _table(cells, found, missing, tell, channels_named=columns.channels is not None)
    return tables, found


def _columns(cells: Cells, columns: Columns, drop: Sequence[str], tell: Tell) -> Columns:
    names = cells.names
    for name in drop:
        if name not in names:
            raise DataFileError(f"--drop: {cells.path} has no column {name!r}")
    found = columns.found_in([name for name in names if name not in drop], str(cells.path))
    index = index_column(cells, NO_RULES)
    if columns.channels is None and index is not None and index in (found.channels or ()):
        tell(f"column {index!r} looks like an index and is left out")
        found = replace(found, channels=tuple(name for name in found.channels or () if name != index))
    return found


def _table(cells: Cells, columns: Columns, missing: Sequence[str], tell: Tell, *, channels_named: bool) -> pd.DataFrame:
    """Channels as numbers, times as numbers if they are, ids and labels as integers or text."""
    try:
        table = _numbers(cells, tuple(columns.channels or ()), missing, tell)
    except DataFileError as error:
        raise error if channels_named else DataFileError(f"{error}; name the channels if this column is none") from None
    if columns.time is not None:
        try:
            times = _numbers(cells, (columns.time,), missing, tell)[columns.time]
            whole = bool((times == np.rint(times)).all())
            table[columns.time] = times.astype(np.int64) if whole and times.abs().max() < 2**53 else times
        except DataFileError:
            table[columns.time] = cells.texts(columns.time).str.strip()
    if columns.id is not None:
        table[columns.id] = labels(cells, columns.id)
    if columns.target is not None:
        table[columns.target] = _labels(cells, columns.target)
    return table


def _numbers(cells: Cells, names: tuple[Any, ...], missing: Sequence[str], tell: Tell) -> pd.DataFrame:
    return features_for(cells, ModelColumns(names, (None,) * len(names), takes_missing=True), missing, tell)


def _labels(cells: Cells, name: str) -> NDArray:
    """Labels as :func:`bemi.io.tables.labels` reads them, None where the cell is empty."""
    texts = cells.texts(name).str.strip()
    given = (texts != "").to_numpy()
    found = np.full(len(given), None, dtype=object)
    if given.any():
        found[given] = as_labels(texts[given])
    return found


def _labelled(recording: Recording, label: str) -> Recording:
    return replace(recording, labels=np.full(len(recording.values), label, dtype=object))


def _labels_of_names(folder: Path, files: Sequence[Path], tell: Tell) -> dict[Path, str]:
    """The label of each file: the sub-folder that it is in, or the start of its name if there are no sub-folders."""
    inside = {file: file.relative_to(folder).parts for file in files}
    if all(len(parts) > 1 for parts in inside.values()):
        found, what = {file: parts[0] for file, parts in inside.items()}, "sub-folders"
    elif any(len(parts) > 1 for parts in inside.values()):
        raise DataFileError(f"{folder} has files beside sub-folders, so the labels are ambiguous; name their column")
    else:
        matches = {file: _LABEL_OF_FILE.match(file.stem) for file in files}
        without = [file for file, match in matches.items() if match is None]
        if without:
            raise DataFileError(
                f"{without[0].name} does not begin with a label, as walk_01.csv does, and no column has the labels; "
                "name their column"
            )
        found, what = {file: match.group() for file, match in matches.items() if match}, "starts of file names"
    tell(f"labels are the {what}: {', '.join(sorted(set(found.values())))}")
    return found


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
    names = [name for name in cells.names if name not in drop]
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
        raise DataFileError(f"{path}: {len(names)} columns are not a whole number of samples of {own} channels")
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
