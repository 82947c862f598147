"""Readings: the 32-bit integers by which numbers enter a model, the same in Python, C, ONNX and JavaScript.

A column has a number of decimals d.  The reading of a value is the value in units of ``10^-d``, rounded to the nearest
integer, halves to the even one.  Everything after that is integer arithmetic, so a device that is given readings
computes exactly what Python computes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

MISSING = -(2**31)
"""Reading of a missing cell."""

LARGEST_READING = 2**31 - 1
"""Readings beyond this saturate."""

FINEST = 10**6
"""Values without a short decimal form get about this many readings across their spread."""

MOST_DECIMALS = 300
"""Powers of ten up to this one are within the range of a double."""

POWERS_OF_TEN = np.array([float(f"1e{decimals}") for decimals in range(MOST_DECIMALS + 1)])
"""Literals are rounded correctly everywhere, which the functions that compute powers do not promise."""

_HEADROOM = 2.0  # new values may be this much larger than those seen before they saturate
_MOST_EXACT = 15  # decimals up to which values are tried for a short form
_EVERY = 0.98  # quantile of the distances from the median that counts as the spread


def spread(values: NDArray) -> float:
    """The 98 % quantile of the distances from the median; the largest distance if that is 0.

    A few outliers must not take the resolution from all other values.
    """
    distances = np.abs(values - np.median(values))
    return float(np.quantile(distances, _EVERY)) or float(distances.max())


def decimals_for(values: NDArray[np.float64]) -> int:
    """The fewest decimals that write all values exactly; if they are too many, enough for a fine resolution.

    Negative for values too large for 32 bits.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0
    most = math.floor(math.log10(LARGEST_READING / _HEADROOM) - math.log10(largest))
    most = max(-MOST_DECIMALS, min(most, MOST_DECIMALS))
    for decimals in range(min(0, most), min(most, _MOST_EXACT) + 1):
        if np.array_equal(np.round(values, decimals), values):
            return decimals
    distance = spread(values)
    return most if distance == 0.0 else min(most, math.ceil(math.log10(FINEST) - math.log10(distance)))


def readings(values: NDArray, decimals: Integers | np.int64) -> Integers:
    """Readings of finite values, shape (rows, columns); NaN gives :data:`MISSING`."""
    with np.errstate(over="ignore"):  # Infinity saturates like any value that is too large.
        units = np.where(
            decimals >= 0,
            values * POWERS_OF_TEN[np.maximum(decimals, 0)],
            values / POWERS_OF_TEN[np.maximum(-decimals, 0)],
        )
    missing = np.isnan(units)
    whole = np.rint(np.clip(np.where(missing, 0.0, units), -LARGEST_READING, LARGEST_READING)).astype(np.int64)
    return np.where(missing, MISSING, whole)


def in_units(reading: int, decimals: int) -> str:
    """A reading as the shortest decimal text of its value."""
    if decimals <= 0:
        return str(reading * 10**-decimals)
    sign, digits = "-" if reading < 0 else "", f"{abs(reading):0{decimals + 1}d}"
    whole, fraction = digits[:-decimals], digits[-decimals:].rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
