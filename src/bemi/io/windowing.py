"""Windows of recordings, from tables and files, with doubts about their channels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_integer, check_number
from bemi.inputs.signal.samples import LONGEST, SHORTEST
from bemi.io.cells import Tell
from bemi.io.recordings import Recording, Windows, cut, recordings_of
from bemi.io.resampling import regular

USUAL_NAMES = {"id": ("id",), "time": ("time", "timestamp"), "target": ("label",)}
"""Columns that are taken if the user names none."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a long table are what; None for what the usual names tell, or for what is not there."""

    id: Any = None
    time: Any = None
    target: Any = None
    channels: Sequence[Any] | None = None

    def found_in(self, names: Sequence[Any], place: str) -> Columns:
        """The same with all columns named, for a table with these columns."""
        roles = {}
        for role, usual in USUAL_NAMES.items():
            given = getattr(self, role)
            if given is not None and given not in names:
                raise ValueError(f"{place} has no column {given!r}; its columns are {', '.join(map(str, names))}")
            found = [name for name in names if isinstance(name, str) and name.lower() in usual]
            roles[role] = found[0] if given is None and found else given
        taken = [name for name in roles.values() if name is not None]
        if len(set(taken)) < len(taken):
            raise ValueError(f"id, time and target must be different columns, got {', '.join(map(repr, taken))}")
        channels = [name for name in names if name not in taken] if self.channels is None else list(self.channels)
        for name in channels:
            if name not in names:
                raise ValueError(f"{place} lacks the channel {name!r}; its columns are {', '.join(map(str, names))}")
            if name in taken:
                raise ValueError(f"column {name!r} is named twice: as a channel, and as id, time or target")
        if not channels or len(set(channels)) < len(channels):
            raise ValueError(f"{place} needs at least one channel, and each of them once")
        return Columns(**roles, channels=tuple(channels))


@dataclass(frozen=True)
class Cutting:
    """How recordings are cut: the arguments of :func:`windows` of the same names, checked; the hop is half a window."""

    window: int
    hop: int | None = None
    resample: float | None = None
    fill: int | None = None

    def __post_init__(self) -> None:
        check_integer("window", self.window, SHORTEST, LONGEST)
        check_integer("hop", self.hop, 1, optional=True)
        check_integer("fill", self.fill, 0, optional=True)
        check_number("resample", self.resample, positive=True, optional=True, what="number of samples per second")
        object.__setattr__(self, "hop", max(1, int(self.window) // 2) if self.hop is None else int(self.hop))


def windows(
    data: pd.DataFrame | ArrayLike | str | os.PathLike,
    window: int,
    hop: int | None = None,
    *,
    id: Any = None,
    time: Any = None,
    target: Any = None,
    channels: Sequence[Any] | None = None,
    resample: float | None = None,
    fill: int | None = None,
) -> Windows:
    """Cut recordings into windows.

    No window reaches across a gap in time, a change of label, a missing value or the end of a recording.  What is left
    out, and channels that look constant or clipped, give a warning; docs/signals.md has all rules.

    Parameters
    ----------
    data
        A long table, one row per sample: a data frame, an array, or a CSV file; or a folder with one such file per
        recording, whose labels may be in a column or in the names of files or folders.
    window
        Samples of a window.
    hop
        Samples from the start of a window to that of the next; None for half a window.
    id
        Column that identifies the recording, such as a person or a session; None for a column named id, if any.
    time
        Column of times, numbers or dates; None for a column named time or timestamp, if any.
    target
        Column of labels; None for a column named label, if any.
    channels
        Columns of the signal; None for all others.
    resample
        Samples per second to bring all recordings to, by straight lines between their samples; None for none.
    fill
        Missing samples in a row, lost or without a value, that are interpolated; longer gaps split a recording.  None
        for none, or for one with ``resample``.

    Examples
    --------
    >>> import pandas as pd
    >>> import bemi
    >>> samples = pd.DataFrame({"x": [i * i % 17 for i in range(80)]})
    >>> samples["id"] = ["a"] * 40 + ["b"] * 40
    >>> samples["label"] = ["rest"] * 40 + ["walk"] * 40
    >>> cut = bemi.windows(samples, 20)
    >>> cut
    <6 windows of 20 samples of 1 channels, 2 recordings, 2 classes>
    """
    cutting = Cutting(window, hop, resample, fill)
    columns = Columns(id, time, target, channels)
    notes: list[str] = []
    if isinstance(data, (str, os.PathLike)):
        from bemi.io.recording_files import read_recordings

        found = read_recordings(Path(data), cutting, columns, notes.append)
    else:
        table = data if isinstance(data, pd.DataFrame) else pd.DataFrame(np.asarray(data))
        columns = columns.found_in(table.columns.tolist(), "the table")
        recordings = recordings_of(
            table, columns.channels or (), id=columns.id, time=columns.time, target=columns.target, name="the table"
        )
        found = cut_all(list(recordings), columns, cutting, notes.append, channels_named=channels is not None)
    for line in notes:
        warnings.warn(line, UserWarning, stacklevel=2)
    return found


def cut_all(
    recordings: Sequence[Recording], columns: Columns, cutting: Cutting, tell: Tell, *, channels_named: bool
) -> Windows:
    """The windows of recordings, with a line for everything that the user should know."""
    even = regular(recordings, cutting.resample, cutting.fill, tell)
    assert cutting.hop is not None
    found = cut(even, tuple(columns.channels or ()), cutting.window, cutting.hop, tell)
    if not channels_named:
        check_no_column_of_another_kind(found.X, found.channels)
    tell_doubts(found.X, found.channels, tell)
    return found


CLIPPED = 0.01
"""Share of samples at the largest or smallest value above which a channel may be clipped."""

MANY_VALUES = 32
"""A channel with fewer different values is a switch or a counter, whose extremes are frequent anyway."""

MANY_SAMPLES = 1000
"""With fewer samples a single one would be a large share."""


def check_no_column_of_another_kind(X: NDArray, names: Sequence[Any]) -> None:
    """Raise ValueError for channels that were not named and look like a recording's name or a clock."""
    if len(X) < 2:
        return
    for channel, name in enumerate(names):
        values = X[:, :, channel]
        if (values == values[:, :1]).all() and (values != values[0, 0]).any():
            raise ValueError(
                f"column {name!r} is constant within each window, probably an ID; name it as id, or name the channels"
            )
        if (np.diff(values, axis=1) > 0).all():
            raise ValueError(
                f"column {name!r} only increases, probably a timestamp; name it as time, or name the channels"
            )


def tell_doubts(X: NDArray, names: Sequence[Any], tell: Tell) -> None:
    """Tell which channels are constant or clipped, for windows of shape (windows, time, channels)."""
    constant = [name for channel, name in enumerate(names) if np.ptp(X[:, :, channel]) == 0]
    if constant:
        tell(f"{_listed(constant)} constant in all windows, carrying no information")
    for channel, name in enumerate(names):
        values, counts = np.unique(X[:, :, channel], return_counts=True)
        for end, word in ((-1, "largest"), (0, "smallest")):
            share = counts[end] / counts.sum()
            # Zero is where a signal rests, such as a current that is off.
            if (
                min(len(values) / MANY_VALUES, counts.sum() / MANY_SAMPLES) >= 1
                and share > CLIPPED
                and values[end] != 0
            ):
                tell(
                    f"channel {name!r} may be clipped: {100 * share:.1f} % of its samples have the {word} value "
                    f"{values[end]:g}"
                )


def _listed(names: Sequence[Any]) -> str:
    return f"channel{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
