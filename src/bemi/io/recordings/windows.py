"""Windows of recordings, from tables and files."""

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

from bemi.checks import check_integer
from bemi.inputs.signal.samples import LONGEST, SHORTEST
from bemi.io.cells import Tell
from bemi.io.recordings.channels import check_no_column_of_another_kind, tell_doubts
from bemi.io.recordings.cutting import cut
from bemi.io.recordings.recording import Recording, recordings_of

USUAL_NAMES = {"id": ("id",), "time": ("time", "timestamp"), "target": ("label",)}
"""Columns that are taken if the user names none."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of a signal.

    Attributes
    ----------
    X
        Samples, shape (windows, time, channels).
    y
        Label of each window; None without labels.
    groups
        Recording of each window: what ``id`` or the file says, otherwise the number of the uninterrupted stretch; None
        if windows were given one by one and nothing says where they come from.
    starts
        Time of the first sample of each window, or its number in the recording if there are no times; None if windows
        were given one by one.
    channels
        Names of the channels.
    """

    X: NDArray
    y: NDArray | None
    groups: NDArray | None
    starts: NDArray | None
    channels: tuple[Any, ...]

    def __repr__(self) -> str:
        windows, time, channels = self.X.shape
        recordings = "" if self.groups is None else f", {len(pd.unique(self.groups))} recordings"
        classes = "no labels" if self.y is None else f"{len(pd.unique(self.y))} classes"
        return f"<{windows} windows of {time} samples of {channels} channels{recordings}, {classes}>"


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


def windows(
    data: pd.DataFrame | ArrayLike | str | os.PathLike,
    window: int,
    hop: int | None = None,
    *,
    id: Any = None,
    time: Any = None,
    target: Any = None,
    channels: Sequence[Any] | None = None,
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
        Column that tells recordings apart, such as a person or a session; None for a column named id, if any.
    time
        Column of times, numbers or dates; None for a column named time or timestamp, if any.
    target
        Column of labels; None for a column named label, if any.
    channels
        Columns of the signal; None for all others.
    """
    window, hop = checked_sizes(window, hop)
    columns = Columns(id, time, target, channels)
    notes: list[str] = []
    if isinstance(data, (str, os.PathLike)):
        from bemi.io.recordings.files import read_recordings

        found = read_recordings(Path(data), window, hop, columns, notes.append)
    else:
        table = data if isinstance(data, pd.DataFrame) else pd.DataFrame(np.asarray(data))
        columns = columns.found_in(table.columns.tolist(), "the table")
        recordings = recordings_of(
            table, columns.channels or (), id=columns.id, time=columns.time, target=columns.target, name="the table"
        )
        found = cut_all(list(recordings), columns, window, hop, notes.append, channels_named=channels is not None)
    for line in notes:
        warnings.warn(line, UserWarning, stacklevel=2)
    return found


def checked_sizes(window: Any, hop: Any) -> tuple[int, int]:
    """Window and hop; ValueError unless the window is long enough for the differences of a signal."""
    check_integer("window", window, SHORTEST, LONGEST)
    check_integer("hop", hop, 1, optional=True)
    return int(window), max(1, int(window) // 2) if hop is None else int(hop)


def cut_all(
    recordings: Sequence[Recording], columns: Columns, window: int, hop: int, tell: Tell, *, channels_named: bool
) -> Windows:
    """The windows of recordings, with a line for everything that the user should know."""
    made = cut(recordings, window, hop, tell)
    names = tuple(columns.channels or ())
    if not channels_named:
        check_no_column_of_another_kind(made.X, names)
    tell_doubts(made.X, names, tell)
    return Windows(made.X, made.y, made.groups, made.starts, names)
