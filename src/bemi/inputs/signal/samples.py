"""Windows as they are given, and how the values of a sensor become small integers, channel by channel.

A window has one unit per channel, never one per time step: the shape of the signal is what matters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.checks import check_finite, check_integer
from bemi.exact import Integers
from bemi.inputs.fixed_point import MOST_DECIMALS, exact_decimals, fixed_point_inputs, most_decimals

SHORTEST, LONGEST = 3, 2**15 - 1
"""Samples of a window: a curvature needs three, and counts have 16 bits."""

BITS = (12, 15)
"""Bits of a sample, with its sign: 12, so that responses fit 16 bits, or 15 for signals of a wide range."""

SMALL = (-(2**15), 2**15 - 1)
LARGE = (-(2**28), 2**28)
"""Ranges of readings: what a sensor gives in 16 bits, or in 32 with room for differences."""

PER_CHANNEL = ("decimals", "offsets", "shifts")
"""Members with one entry per channel."""

_HEADROOM = 1.5  # new values may be this much larger than those seen before they saturate


def as_windows(X: Any) -> NDArray:
    """Finite numbers in two or three dimensions."""
    rows = np.asarray(X)
    if rows.ndim not in (2, 3):
        raise ValueError(
            f"windows must have shape (windows, time, channels) or (windows, time x channels), got {rows.shape}; "
            "one window alone is X[None]"
        )
    if rows.dtype.kind not in "biuf":
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"windows must hold numbers: {error}") from None
    check_finite(as_rows(rows))
    return rows


def as_rows(windows: NDArray) -> NDArray:
    """Windows in two dimensions, sample by sample with the channels of a sample together."""
    # -1 would not do for no window at all.
    return windows.reshape(len(windows), math.prod(windows.shape[1:]))


def shaped(rows: NDArray, time: int, channels: int) -> NDArray:
    """Windows in three dimensions; ValueError unless each has this many samples and channels."""
    own = rows.shape[1:]
    if own == (time, channels):
        return rows
    if len(own) == 2:
        swapped = "; swap the axes, np.swapaxes(X, 1, 2)" if own == (channels, time) else ""
        wanted = f"{time} samples of {channels} channels"
        raise ValueError(f"windows must be {wanted}, these are {own[0]} of {own[1]}{swapped}")
    if own != (time * channels,):
        raise ValueError(
            f"windows must have {time * channels} features ({time} samples of {channels} channels), these have {own[0]}"
        )
    return rows.reshape(len(rows), time, channels)


def shape_of(rows: NDArray, channels: int | None) -> tuple[int, int]:
    """Samples and channels of training windows; ``channels`` is what the user says, None for nothing."""
    if rows.ndim == 3:
        time, own = rows.shape[1:]
        if channels not in (None, own):
            raise ValueError(f"channels is {channels}, but the windows have {own}; their shape is (time, channels)")
    else:
        own = channels or 1
        time, rest = divmod(rows.shape[1], own)
        if rest:
            raise ValueError(f"{rows.shape[1]} features are not a whole number of samples of {own} channels")
    if not len(rows) or not own:
        raise ValueError(f"training needs at least one window of one channel, got an array of shape {rows.shape}")
    if not SHORTEST <= time <= LONGEST:
        raise ValueError(f"windows must have {SHORTEST} to {LONGEST} samples, these have {time}")
    return int(time), int(own)


@dataclass(frozen=True)
class Samples:
    """How the values of each channel become samples.

    The reading of a value is the value in units of ``10^-decimals``, within the range.  With its offset o and shift s,
    the sample of a reading x is ``(x - o) >> s``, within ``-limit..limit``.

    Attributes
    ----------
    bits
        One of :data:`BITS`.
    small
        Whether readings have 16 bits.
    decimals, offsets, shifts
        One per channel.
    """

    bits: int
    small: bool
    decimals: tuple[int, ...]
    offsets: tuple[int, ...]
    shifts: tuple[int, ...]

    @classmethod
    def fit(cls, values: NDArray, bits: int) -> Samples:
        """Choose units, offsets and shifts for values of shape (windows, time, channels)."""
        channels = [values[:, :, channel].astype(np.float64) for channel in range(values.shape[2])]
        by_channel = [_small_decimals(channel, bits) for channel in channels]
        small = None not in by_channel
        if not small:
            by_channel = [_decimals(channel, bits) for channel in channels]
        zeros = (0,) * len(channels)
        unfitted = cls(bits, small, tuple(decimals or 0 for decimals in by_channel), zeros, zeros)
        return unfitted.refitted(unfitted.fixed_point_inputs(values))

    def refitted(self, read: Integers) -> Samples:
        """The same units, with offsets and shifts for readings of shape (windows, time, channels)."""
        low, high = read.min(axis=(0, 1)), read.max(axis=(0, 1))
        offsets = (low + high) >> 1
        reach = np.maximum(high - offsets, offsets - low).tolist()
        shifts = tuple(max(0, int(most).bit_length() - (self.bits - 1)) for most in reach)
        return Samples(self.bits, self.small, self.decimals, tuple(offsets.tolist()), shifts)

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise ValueError(f"bits must be one of {', '.join(map(str, BITS))}, got {self.bits!r}")
        if not isinstance(self.small, bool):
            raise ValueError(f"small must be true or false, got {self.small!r}")
        if not len(self.decimals) == len(self.offsets) == len(self.shifts) > 0:
            raise ValueError("decimals, offsets and shifts must have one entry per channel")
        for decimals, offset, shift in zip(self.decimals, self.offsets, self.shifts, strict=True):
            check_integer("decimals", decimals, -MOST_DECIMALS, MOST_DECIMALS)
            check_integer("offset", offset, *self.reading_range)
            check_integer("shift", shift, 0, LARGE[1].bit_length() - (self.bits - 1))

    @property
    def reading_range(self) -> tuple[int, int]:
        """Smallest and largest reading."""
        return SMALL if self.small else LARGE

    @property
    def limit(self) -> int:
        """Largest sample: 12 samples of 12 bits, 2730 each, fit 16 bits."""
        return 2730 << (self.bits - BITS[0])

    def fixed_point_inputs(self, values: NDArray) -> Integers:
        """Readings of values of shape (windows, time, channels)."""
        readings = fixed_point_inputs(values.astype(np.float64), np.array(self.decimals, dtype=np.int64))
        return np.clip(readings, *self.reading_range)

    def __call__(self, read: Integers) -> Integers:
        """Samples for readings of shape (windows, time, channels)."""
        shifted = (read - np.array(self.offsets)) >> np.array(self.shifts)
        return np.clip(shifted, -self.limit, self.limit)

    def record(self) -> dict[str, Any]:
        """All of it, for a model file."""
        return {"bits": self.bits, "small": self.small, **{name: list(getattr(self, name)) for name in PER_CHANNEL}}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Samples:
        """What gave this record."""
        for name in PER_CHANNEL:
            if not isinstance(record[name], (list, tuple)):
                raise ValueError(f"{name} must be a list, got {record[name]!r}")
        return cls(**{**record, **{name: tuple(record[name]) for name in PER_CHANNEL}})


def _small_decimals(values: NDArray[np.float64], bits: int) -> int | None:
    """Decimals with which readings have 16 bits and lose little; None if there are none."""
    largest, exact = float(np.abs(values).max(initial=0.0)), _exact_decimals(values)
    if exact == 0:
        # Integers are what a sensor gives, and stay as they are.
        return 0 if SMALL[0] <= values.min() and values.max() <= SMALL[1] else None
    decimals = min(exact, most_decimals(SMALL[1] / _HEADROOM, largest))
    enough = _half(values) * 10.0**decimals >= 2 ** (bits - 2)
    return decimals if enough or decimals == exact else None


def _decimals(values: NDArray[np.float64], bits: int) -> int:
    """Decimals with which readings of 32 bits are exact, or finer than the samples."""
    largest, half = float(np.abs(values).max(initial=0.0)), _half(values)
    most = min(_exact_decimals(values), most_decimals(LARGE[1] / _HEADROOM, largest))
    return min(most, max(0, 1 + most_decimals(2.0**bits, half))) if half > 0 else most


def _half(values: NDArray[np.float64]) -> float:
    # Halved first: the difference of two large numbers may be infinite.
    return float(values.max() / 2 - values.min() / 2)


def _exact_decimals(values: NDArray[np.float64]) -> int:
    """The fewest decimals that write all values exactly; many if there are none."""
    exact = exact_decimals(values)
    return MOST_DECIMALS if exact is None else exact
