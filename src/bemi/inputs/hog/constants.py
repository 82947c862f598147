"""The constants of :class:`bemi.IntegerHog`; docs/transforms.md describes the steps that use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = {
    8: ((7, 0), (5, 5), (0, 7)),
    12: ((8, 0), (7, 4), (4, 7), (0, 8)),
    16: ((13, 0), (12, 5), (9, 9), (5, 12), (0, 13)),
}
"""Directions from right to down, by number of orientations: short integer vectors of nearly equal length and spacing.
Rotations by 90 degrees give the others."""

GAIN = {8: 7, 12: 6, 16: 7}
"""By number of orientations, a bound G: no share of a gradient (gx, gy) exceeds px gx + py gy for some fixed
|px| + |py| <= G."""

SMALL_SIDE = 16
"""An image with a side shorter than this is doubled."""

BRIGHTEST = 255
"""Largest brightness after the first step: one byte per pixel."""

WINDOW = (1, 3, 5, 7, 7, 5, 3, 1)
"""Weights of the lines, and of the columns, of a region."""

STEEPEST = 52
"""Largest weighted sum of the rises of a row within 0..1 over one window, after blurring with 1, 2, 1."""

SUMS_END = 2**31
"""Every intermediate result stays below this, so that 32-bit devices give the same results."""


@dataclass(frozen=True, eq=False)
class HogConstants:
    """The constants of :class:`bemi.IntegerHog` for one shape and maximum.

    Attributes
    ----------
    height, width, doubled
        Size of the image after any doubling, and whether it was doubled.
    rows, columns
        Regions.
    levels
        Brightness by pixel value.
    level_shift
        Brightness depends only on the pixel value shifted by this.
    mass_shift
        Shift of a pixel's mass; None if slant is not removed.
    directions
        Directions from right to down, shape (orientations / 4 + 1, 2).
    output_shift
        Shift of a region's sums before the root.
    highest
        Upper bound on every output.
    """

    height: int
    width: int
    doubled: bool
    rows: int
    columns: int
    levels: NDArray[np.int32]
    level_shift: int
    mass_shift: int | None
    directions: NDArray[np.int32]
    output_shift: int
    highest: int

    @classmethod
    def for_images(cls, shape: Sequence[int], maximum: int, orientations: int, straighten: bool) -> HogConstants:
        """The constants for images of a shape (height, width, channels) with pixels in ``0..maximum``."""
        doubled = is_doubled(shape)
        height, width = worked_size(shape)
        rows, columns = regions(shape)
        levels = brightness_levels(maximum, root=not doubled)
        top = int(levels[-1])
        largest_sum = _largest_sum(shape[2], orientations, top)
        # The smallest shift after which the root fits a byte.
        output_shift = max(0, largest_sum.bit_length() - 16)
        return cls(
            height=height,
            width=width,
            doubled=doubled,
            rows=rows,
            columns=columns,
            levels=levels,
            level_shift=_level_shift(maximum),
            mass_shift=mass_shift(shape, top) if straighten else None,
            directions=np.array(DIRECTIONS[orientations], dtype=np.int32),
            output_shift=output_shift,
            highest=isqrt(largest_sum >> output_shift),
        )

    @property
    def levels_by_shifted_value(self) -> list[int]:
        """Brightness by pixel value shifted by ``level_shift``, at most 256 numbers."""
        return self.levels.tolist()[:: 1 << self.level_shift]


def brightness_levels(maximum: int, root: bool) -> NDArray[np.int32]:
    """Brightness, at most 255, of each pixel value in ``0..maximum``: proportional to it, or to its square root."""
    shift = _level_shift(maximum)
    top = maximum >> shift
    values = range(maximum + 1)
    if root:
        # Dark clothes have folds just as light ones do: a root makes equal ratios more alike.
        return np.array([isqrt((v >> shift) * (BRIGHTEST**2 // top)) for v in values], dtype=np.int32)
    return np.array([(v >> shift) * (BRIGHTEST // top) for v in values], dtype=np.int32)


def is_doubled(shape: Sequence[int]) -> bool:
    """Whether images of this shape are doubled first."""
    return min(shape[:2]) < SMALL_SIDE


def worked_size(shape: Sequence[int]) -> tuple[int, int]:
    """Height and width after doubling."""
    factor = 2 if is_doubled(shape) else 1
    return factor * shape[0], factor * shape[1]


def regions(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of regions."""
    height, width = worked_size(shape)
    return -(-height // 4), -(-width // 4)


def mass_shift(shape: Sequence[int], top: int = BRIGHTEST) -> int | None:
    """Smallest shift of a pixel's mass that keeps second moments, in half pixels, within 32 bits; None if none does."""
    height, width = worked_size(shape)
    mass = shape[2] * top
    for shift in range(mass.bit_length()):
        if (mass >> shift) * height * width * max(height, width) ** 2 < SUMS_END:
            return shift
    return None


def usual_maximum(largest: int) -> int:
    """The smallest 2^k - 1 or 2^k that is no less, and at least 1: a few images may not contain the largest value."""
    power = 1 << max(0, largest - 1).bit_length()
    return largest if largest == power else max(1, (1 << largest.bit_length()) - 1)


def _level_shift(maximum: int) -> int:
    """The smallest shift after which a pixel value fits a byte."""
    return max(0, int(maximum).bit_length() - 8)


def _largest_sum(channels: int, orientations: int, top: int) -> int:
    """Upper bound on a region's sum.

    A gradient's share in one orientation is at most ``px gx + py gy`` for a fixed p with ``|px| + |py| <= G``
    (:data:`GAIN`).  So the sum is at most G times the weighted sum of the rises (or falls) of one line of blurred
    pixels across the window, or of one column, times 32 for the weights of the other axis.  A blurred line has values
    in ``0..4 top``.  Its weighted rises over a window are a convex function of the line, so they are largest for a
    line of zeros and ones; trying all of these, including at the border, gives :data:`STEEPEST`.  Gradients from
    different channels do not cancel in this way, so each channel has its own, or every pixel the full rise of 4.
    """
    weights = sum(WINDOW)
    # With several channels, neighbouring gradients may come from different ones, so rises no longer cancel falls.
    rise = min(STEEPEST * channels, 4 * weights)
    return GAIN[orientations] * weights * 4 * rise * top
