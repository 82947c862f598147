"""Recordings as loggers write them, with jitter, lost samples and empty cells, brought to regular times.

Values between samples are those of straight lines, rounded to the decimals of their channel.  At a lower rate, a sample
is the mean of these lines over the difference of the two steps, so that faster movements do not alias.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bemi.checks import counted
from bemi.inputs.fixed_point import exact_decimals
from bemi.io.cells import Tell

GAP = 1.5
"""A step of time this many times the usual one is a gap; each sample that may be filled in adds 1."""

RESAMPLED_FILL = 1
"""Samples in a row that may be missing where recordings are resampled, unless the user says otherwise."""

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds of the units that times may have."""

USUAL_RATE = 10**1.5
"""Samples per second in the middle of the usual 1 to 1,000."""

_UNIT_IN_NAME = re.compile(
    r"(?:^|[\W_])(?:(s|sec|seconds)|(ms|millis|milliseconds)|(us|µs|micros|microseconds)|(ns|nanoseconds))\W*$", re.I
)


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of a sensor.

    Attributes
    ----------
    name
        What messages call it.
    group
        What it shares with other recordings, such as the person who wore the sensor; None if nothing is known.
    rows
        Position of each sample in the table that it comes from, from 0.
    values
        Shape (samples, channels), NaN where missing.
    times
        When each sample was taken, as numbers; None without times.
    starts
        The same as it was given; the number of the sample without times.
    labels
        Label of each sample, None where there is none; None if no sample has one.
    unit
        Name of the unit of times in :data:`UNITS`; None if nothing tells it.
    """

    name: str
    group: object
    rows: NDArray[np.intp]
    values: NDArray
    times: NDArray[np.float64] | None
    starts: NDArray
    labels: NDArray | None
    unit: str | None = None

    def sample(self, position: int) -> str:
        """Human-readable position of a sample."""
        return f"{self.name}, row {self.rows[position] + 1}"

    def at(self, positions: NDArray[np.intp], values: NDArray, times: NDArray[np.float64] | None) -> Recording:
        """Samples that take everything else from those at these positions."""
        labels = None if self.labels is None else self.labels[positions]
        rows, starts = self.rows[positions], self.starts[positions]
        return replace(self, rows=rows, values=values, times=times, starts=starts, labels=labels)


def unit_of(name: object, column: pd.Series) -> str | None:
    """The unit of a column of times: that in its name; seconds for dates."""
    if not pd.api.types.is_numeric_dtype(column):
        return "s"
    found = _UNIT_IN_NAME.search(str(name))
    return None if found is None or found.lastindex is None else list(UNITS)[found.lastindex - 1]


def sampling_rate(step: float, unit: str | None, near: float = USUAL_RATE) -> tuple[float, str]:
    """Samples per second, and the unit of time: if nothing tells it, the one that brings the rate close to ``near``."""
    if unit is None:
        unit = min(UNITS, key=lambda name: abs(math.log(step * UNITS[name] * near)))
    return float(f"{1 / (step * UNITS[unit]):.6g}"), unit


def regular(recordings: Sequence[Recording], rate: float | None, fill: int | None, tell: Tell) -> list[Recording]:
    """Recordings at one rate, with up to ``fill`` missing samples in a row interpolated.

    Parameters
    ----------
    recordings
        With the same channels each.
    rate
        Samples per second; None for the times as they are.
    fill
        Samples; None for none, or for :data:`RESAMPLED_FILL` at another rate.
    tell
        Gets a line for everything that changes.
    """
    if rate is None and not fill:
        return list(recordings)
    most = RESAMPLED_FILL if fill is None else fill
    if rate is None:
        done = _Changes()
        found = [_filled(recording, most, done) for recording in recordings]
        done.tell(tell, most, "")
        return found
    steps = [_usual_step(recording.times) for recording in recordings]
    known = [step for step in steps if step is not None]
    if not known:
        raise ValueError("resampling needs times of samples; name the column that has them")
    own, unit = sampling_rate(float(np.median(known)), recordings[0].unit, rate)
    done = _Changes()
    found = [
        _resampled(recording, step, 1 / (rate * UNITS[unit]), most, done)
        for recording, step in zip(recordings, steps, strict=True)
        if step is not None
    ]
    before, after = (sum(len(recording.values) for recording in some) for some in (recordings, found))
    done.tell(
        tell, most, f"resampled from {own:g} to {rate:g} Hz, times in {unit}: {before:,} samples become {after:,}"
    )
    return [replace(recording, unit=unit) for recording in found]


class _Changes:
    """Counts what was changed."""

    def __init__(self) -> None:
        self.cells = self.gaps = self.samples = self.moved = self.twice = 0

    def tell(self, tell: Tell, most: int, first: str) -> None:
        lines = [first] if first else []
        for count, what in (
            (self.moved, "samples sorted by time"),
            (self.twice, "samples left out, at the time of the one before"),
            (self.gaps, f"gaps in time, of up to {counted(most, 'sample')}, filled"),
            (self.samples, "samples filled in"),
            (self.cells, "empty cells filled"),
        ):
            if count:
                lines.append(f"{count:,} {what}")
        if lines:
            tell("; ".join(lines))


def _usual_step(times: NDArray[np.float64] | None) -> float | None:
    """Median of the steps forward; None if there are none."""
    steps = np.empty(0) if times is None else np.diff(times)
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else None


def _runs(times: NDArray[np.float64], longest: float) -> Iterator[tuple[int, int]]:
    """First positions and ends of samples without a longer step, and without a step back."""
    steps = np.diff(times)
    yield from pairwise([0, *(np.flatnonzero((steps <= 0) | (steps > longest)) + 1).tolist(), len(times)])


def _filled(recording: Recording, most: int, done: _Changes) -> Recording:
    """Missing samples interpolated, at the times of the others or evenly between them."""
    usual = _usual_step(recording.times)
    count = len(recording.values)
    if recording.times is None or usual is None:
        return _on_lines(recording, [(0, count, np.arange(count, dtype=np.float64))], most + GAP, 0.0, done)
    parts = []
    for first, end in _runs(recording.times, (most + GAP) * usual):
        times = recording.times[first:end]
        steps = np.diff(times)
        more = np.where(steps > GAP * usual, np.maximum(np.rint(steps / usual) - 1, 0), 0).astype(np.intp)
        done.gaps += int((more > 0).sum())
        done.samples += int(more.sum())
        places = np.repeat(np.arange(len(steps)), more + 1)
        within = np.arange(len(places)) - np.repeat(np.cumsum(more + 1) - (more + 1), more + 1)
        spread = times[:-1][places] + within * (steps / (more + 1))[places]
        parts.append((first, end, np.append(spread, times[-1])))
    return _on_lines(recording, parts, (most + GAP) * usual, 0.0, done)


def _resampled(recording: Recording, own: float, step: float, most: int, done: _Changes) -> Recording:
    """The recording at times ``step`` apart, anew after every step that is too long."""
    longest = (most + GAP) * max(own, step)
    recording = _sorted(recording, longest, done)
    assert recording.times is not None
    parts = []
    for first, end in _runs(recording.times, longest):
        times = recording.times[first:end]
        done.gaps += int((np.diff(times) > GAP * own).sum())
        # The last time may be a little early, by how times are rounded.
        parts.append((first, end, times[0] + step * np.arange(math.floor((times[-1] - times[0]) / step + 1e-6) + 1)))
    return _on_lines(recording, parts, longest, max(0.0, step - own), done)


def _sorted(recording: Recording, longest: float, done: _Changes) -> Recording:
    """Samples in the order of time where they are a little out of order, without further ones at the same time."""
    assert recording.times is not None
    # A larger step back is another recording, or an error.
    part = np.cumsum(np.diff(recording.times, prepend=recording.times[0]) < -longest)
    order = np.lexsort((recording.times, part))
    again = (np.diff(recording.times[order], prepend=np.nan) == 0) & (np.diff(part[order], prepend=-1) == 0)
    done.moved += int((order != np.arange(len(order))).sum())
    done.twice += int(again.sum())
    kept = order[~again]
    return recording.at(kept, recording.values[kept], recording.times[kept])


def _on_lines(
    recording: Recording,
    parts: Sequence[tuple[int, int, NDArray[np.float64]]],
    longest: float,
    width: float,
    done: _Changes,
) -> Recording:
    """The recording at other times, each part from the samples between two positions.

    A value is missing where the samples around it are further apart than ``longest``.
    """
    given = recording.values
    kind, values = given.dtype, given.astype(np.float64)
    decimals = [exact_decimals(channel[~np.isnan(channel)]) for channel in values.T]
    found, places = [], []
    for first, end, times in parts:
        own = np.arange(end - first, dtype=np.float64) if recording.times is None else recording.times[first:end]
        later = np.clip(np.searchsorted(own, times), 0, len(own) - 1)
        nearest = np.where(times - own[np.maximum(later - 1, 0)] < own[later] - times, np.maximum(later - 1, 0), later)
        places.append(first + nearest)
        part = np.full((len(times), values.shape[1]), np.nan)
        for channel, line in enumerate(values[first:end].T):
            some = ~np.isnan(line)
            if some.any():
                part[:, channel] = _means(own[some], line[some], times, longest, width, decimals[channel])
        done.cells += int((np.isnan(values[first:end]) & ~np.isnan(_at_samples(own, times, part))).sum())
        found.append(part)
    made = np.concatenate(found)
    if kind.kind in "iu":  # without missing values, and so without any here
        made = np.rint(made).astype(kind)
    return recording.at(
        np.concatenate(places), made, None if recording.times is None else np.concatenate([t for *_, t in parts])
    )


def _at_samples(own: NDArray[np.float64], times: NDArray[np.float64], part: NDArray) -> NDArray:
    """The new values nearest to the time of each sample."""
    return part[np.clip(np.rint(np.interp(own, times, np.arange(len(times)))).astype(np.intp), 0, len(times) - 1)]


def _means(
    own: NDArray[np.float64],
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    longest: float,
    width: float,
    decimals: int | None,
) -> NDArray[np.float64]:
    """Means of the lines through samples over a width of time around other times; NaN where no line is."""
    before = np.searchsorted(own, times, side="right") - 1
    after = np.searchsorted(own, times, side="left")
    inside = (before >= 0) & (after < len(own))
    inside[inside] = own[after[inside]] - own[before[inside]] <= longest
    if width > 0 and len(own) > 1:
        low, high = (np.clip(times + side * width / 2, own[0], own[-1]) for side in (-1, 1))
        area = _area(own, values, high) - _area(own, values, low)
        found = np.divide(area, high - low, out=np.interp(times, own, values), where=high > low)
    else:
        found = np.interp(times, own, values)
    found = found if decimals is None else np.round(found, decimals)
    return np.where(inside, found, np.nan)


def _area(own: NDArray[np.float64], values: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """The integral of the lines from the first sample to other times."""
    steps = np.diff(own)
    whole = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * steps)])
    place = np.clip(np.searchsorted(own, ends, side="right") - 1, 0, len(steps) - 1)
    rest = ends - own[place]
    slope = (np.diff(values) / steps)[place]
    return whole[place] + values[place] * rest + slope * rest**2 / 2
