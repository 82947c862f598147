"""Recordings of a sensor, and the windows that they are cut into.

A window never reaches across a gap in time, a change of label, a missing value or the end of a recording: recordings
are first divided into *stretches* without any of these, and windows begin at multiples of the hop in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from bemi.io.cells import Tell
from bemi.io.resampling import GAP, Recording, sampling_rate, unit_of


def recordings_of(
    table: pd.DataFrame, channels: Sequence[Any], *, id: Any, time: Any, target: Any, name: str, group: Any = None
) -> Iterator[Recording]:
    """The recordings of a long table: one for each value of the column ``id``, or one if that is None.

    Parameters
    ----------
    table
        One row per sample.
    channels, id, time, target
        Columns; None for none.
    name
        What messages call the table.
    group
        Group of the recording if there is no ``id``.
    """
    values = _numbers(table, channels, name)
    times = None if time is None else as_numbers(table[time], f"{name}: column {time!r}")
    unit = None if time is None else unit_of(time, table[time])
    labels = None if target is None else _labels(table[target])
    for own, rows in _rows_by_id(table, id, name):
        yield Recording(
            name=name if id is None else f"{name}: {id} {own}",
            group=group if id is None else own,
            rows=rows,
            values=values[rows],
            times=None if times is None else times[rows],
            starts=np.arange(len(rows)) if time is None else table[time].to_numpy()[rows],
            labels=None if labels is None else labels[rows],
            unit=unit,
        )


def as_numbers(column: pd.Series, place: str) -> NDArray[np.float64]:
    """Times as numbers; dates in seconds."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        found = column.to_numpy(dtype=np.float64)
    else:
        try:
            dates = pd.to_datetime(column, format="ISO8601", utc=True)
        except (ValueError, TypeError):
            raise ValueError(f"{place} must hold numbers or dates such as 2024-05-01 12:00:00.25") from None
        found = dates.astype("datetime64[ns, UTC]").astype(np.int64).to_numpy() / 1e9
        found[dates.isna().to_numpy()] = np.nan
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise ValueError(f"{place} has no time in row {bad[0] + 1}")
    return found


def _numbers(table: pd.DataFrame, channels: Sequence[Any], name: str) -> NDArray:
    for channel in channels:
        if not pd.api.types.is_numeric_dtype(table[channel]):
            raise ValueError(f"{name}: column {channel!r} holds no numbers; name the channels of the signal")
    values = table[list(channels)].to_numpy()
    values = values if values.dtype.kind in "iuf" else values.astype(np.float64)
    if values.dtype.kind == "f" and np.isinf(values).any():
        row, channel = np.argwhere(np.isinf(values))[0]
        raise ValueError(f"{name}: column {channels[channel]!r} is infinite in row {row + 1}")
    return values


def _labels(column: pd.Series) -> NDArray:
    found = column.to_numpy(dtype=object, copy=True)
    found[column.isna().to_numpy()] = None
    return found


def _rows_by_id(table: pd.DataFrame, id: Any, name: str) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """Rows of each recording, in their order; recordings in the order in which they begin."""
    if id is None:
        yield None, np.arange(len(table))
        return
    codes, ids = pd.factorize(table[id])
    if (codes < 0).any():
        raise ValueError(f"{name}: column {id!r} is empty in row {int(np.argmax(codes < 0)) + 1}")
    order = np.argsort(codes, kind="stable")
    yield from zip(ids.tolist(), np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True)


UNEVEN = 0.1
"""Largest share by which the rate of a recording, or the duration of a window, may differ from the usual one; also the
largest share of steps that may be gaps."""


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
    rate
        Samples per second; None without times.  If nothing tells the unit of times, it is taken to be the one of s, ms,
        us and ns with which there are 1 to 1,000.

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
    >>> cut.X.shape
    (6, 20, 1)
    >>> cut.y.tolist()
    ['rest', 'rest', 'rest', 'walk', 'walk', 'walk']
    """

    X: NDArray
    y: NDArray | None
    groups: NDArray | None
    starts: NDArray | None
    channels: tuple[Any, ...]
    rate: float | None = None

    def __repr__(self) -> str:
        windows, time, channels = self.X.shape
        recordings = "" if self.groups is None else f", {len(pd.unique(self.groups))} recordings"
        classes = "no labels" if self.y is None else f"{len(pd.unique(self.y))} classes"
        return f"<{windows} windows of {time} samples of {channels} channels{recordings}, {classes}>"


def cut(recordings: Sequence[Recording], channels: tuple[Any, ...], window: int, hop: int, tell: Tell) -> Windows:
    """All windows of the recordings; raises ValueError if there are none, or if times make no sense.

    Parameters
    ----------
    recordings, channels
        What to cut, with the same channels each, and the names of these.
    window, hop
        Samples of a window, and from the start of one to that of the next.
    tell
        Gets a line for everything that is left out.
    """
    interval = usual_step(recordings)
    tally = _Tally(window, interval)
    X, y, groups, starts = [], [], [], []
    stretches = 0
    for recording in recordings:
        made = 0
        for first, end in _stretches(recording, interval, tally):
            begins = tally.even(recording, np.arange(first, end - window + 1, hop))
            stretches += 1
            if not len(begins):
                continue
            made += len(begins)
            X.append(sliding_window_view(recording.values, window, axis=0)[begins].transpose(0, 2, 1))
            groups += [stretches - 1 if recording.group is None else recording.group] * len(begins)
            starts.append(recording.starts[begins])
            if recording.labels is not None:
                y += recording.labels[begins].tolist()
        if not made:
            tally.without.append(recording.name)
    if not X:
        why = "; ".join(tally.lines()) or "there are no samples"
        help_ = "; resample and fill bring recordings in order" if tally.gaps or tally.missing or tally.uneven else ""
        raise ValueError(f"no window of {window} samples is left: {why}{help_}")
    for line in tally.lines():
        tell(line)
    rate = None if interval is None else sampling_rate(interval, recordings[0].unit)[0]
    return Windows(np.concatenate(X), _plain(y) if y else None, _plain(groups), np.concatenate(starts), channels, rate)


def usual_step(recordings: Sequence[Recording]) -> float | None:
    """Median step of time; None without times.  Raises ValueError for times in disorder or of different rates."""
    steps = [np.diff(recording.times) for recording in recordings if recording.times is not None]
    if not steps:
        return None
    for recording, own in zip(recordings, steps, strict=True):
        _check_order(recording, own)
    forward = [own[own > 0] for own in steps]
    pooled = np.concatenate([*forward, np.empty(0)])
    if not len(pooled):
        return None
    usual = float(np.median(pooled))
    for recording, own in zip(recordings, forward, strict=True):
        median = float(np.median(own)) if len(own) else usual
        if abs(median - usual) > UNEVEN * usual:
            raise ValueError(
                f"{recording.name} has a sample every {median:.6g}, most others have one every {usual:.6g}; bring them "
                "to one rate: resample=HZ, or --resample HZ"
            )
    gaps = int((pooled > GAP * usual).sum())
    if gaps > UNEVEN * len(pooled):
        raise ValueError(
            f"sampling is uneven: {100 * gaps / len(pooled):.0f} % of the steps of time are longer than {GAP} times "
            f"the median of {usual:.6g}; bring them to one rate: resample=HZ, or --resample HZ"
        )
    return usual


def _check_order(recording: Recording, steps: NDArray[np.float64]) -> None:
    """Raise ValueError if times go back, except to the start: there, another recording of the same group begins."""
    times, begin = recording.times, 0
    assert times is not None
    for place in (np.flatnonzero(steps <= 0) + 1).tolist():
        if steps[place - 1] == 0 or times[place] > times[begin]:
            what = "the same time again" if steps[place - 1] == 0 else "before the time above it"
            raise ValueError(
                f"{recording.sample(place)}: {recording.starts[place]} is {what}; sort the rows by time, and name the "
                "column that tells recordings apart as id"
            )
        begin = place


def _stretches(recording: Recording, interval: float | None, tally: _Tally) -> list[tuple[int, int]]:
    """First position and end of every stretch of samples that windows may be cut from."""
    count = len(recording.values)
    missing = np.isnan(recording.values).any(axis=1) if recording.values.dtype.kind == "f" else np.zeros(count, bool)
    labelled = np.ones(count, bool)
    ends = np.zeros(count + 1, bool)
    ends[[0, count]] = True
    if recording.labels is not None:
        labelled = recording.labels != None  # noqa: E711
        ends[1:-1] |= recording.labels[1:] != recording.labels[:-1]
    usable = labelled & ~missing
    ends[1:-1] |= usable[1:] != usable[:-1]
    if recording.times is not None and interval is not None:
        steps = np.diff(recording.times)
        # Where a label ends, nobody misses the time between.
        tally.gaps += int(((steps > GAP * interval) & ~ends[1:-1]).sum())
        ends[1:-1] |= (steps <= 0) | (steps > GAP * interval)
    tally.missing += int((missing & labelled).sum())
    tally.unlabelled += int((~labelled).sum())
    bounds = np.flatnonzero(ends).tolist()
    found = [(first, end) for first, end in pairwise(bounds) if usable[first]]
    tally.stretches += len(found)
    long = [(first, end) for first, end in found if end - first >= tally.window]
    tally.short += len(found) - len(long)
    return long


class _Tally:
    """Counts what is left out."""

    def __init__(self, window: int, interval: float | None) -> None:
        self.window, self.interval = window, interval
        self.gaps = self.missing = self.unlabelled = self.stretches = self.short = self.uneven = 0
        self.without: list[str] = []
        """Recordings that gave no window."""

    def even(self, recording: Recording, begins: NDArray[np.intp]) -> NDArray[np.intp]:
        """The windows whose duration is about the usual one."""
        if recording.times is None or self.interval is None:
            return begins
        usual = (self.window - 1) * self.interval
        lasts = recording.times[begins + self.window - 1] - recording.times[begins]
        kept = begins[np.abs(lasts - usual) <= UNEVEN * usual]
        self.uneven += len(begins) - len(kept)
        return kept

    def lines(self) -> list[str]:
        """Human-readable summary of what was left out."""
        found = []
        if self.missing:
            found.append(f"{_count(self.missing, 'sample')} without a value in some channel, in no window")
        if self.unlabelled:
            found.append(f"{_count(self.unlabelled, 'sample')} without a label, in no window")
        if self.gaps:
            found.append(
                f"{_count(self.gaps, 'gap')} in time, longer than {GAP} times the usual step of {self.interval:.6g}; "
                "no window spans one"
            )
        if self.uneven:
            found.append(
                f"{_count(self.uneven, 'window')} left out, more than {100 * UNEVEN:.0f} % longer or shorter in time "
                "than usual"
            )
        if self.short:
            found.append(
                f"{self.short} of {_count(self.stretches, 'stretch', 'stretches')} of samples shorter than a window of "
                f"{self.window}, left out"
            )
        if self.without:
            names = ", ".join(self.without[:3]) + (", ..." if len(self.without) > 3 else "")
            found.append(f"{_count(len(self.without), 'recording')} without any window: {names}")
        return found


def _count(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _plain(values: list[Any]) -> NDArray:
    """An array of numbers or text, of objects only if they are mixed."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], (bool, int, float, str)):
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
