"""Numbers in fixed point: the integers by which they enter a model, and how these are scaled.

A column has a number of decimals d.  The fixed-point input of a value, its *reading*, is the value in units of
``10^-d``, rounded to the nearest integer, halves to the even one: a 32-bit integer, the same in Python, C, ONNX and
JavaScript.  Everything after that is integer arithmetic, so a device that is given readings computes exactly what
Python computes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.inputs.export_hooks import SIGNED, UNSIGNED, CCode, CTable, file_of, range_of, read_macro, smallest_type

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

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

MOST_BITS = 20
"""Multipliers have at most this many bits, so that products stay below 2^53, which even doubles hold exactly."""

LARGEST_SHIFT = 40
"""Enough for the largest readings to get a multiplier of several bits."""

NARROW_BYTES, WIDE_BYTES, SCALE_INSTRUCTIONS = 90, 140, 45
"""Bytes of C code with products of 32 and of 64 bits, and instructions for one value."""

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
    most = most_decimals(LARGEST_READING / _HEADROOM, largest)
    exact = exact_decimals(values, min(0, most), most)
    if exact is not None:
        return exact
    distance = spread(values)
    return most if distance == 0.0 else min(most, math.ceil(math.log10(FINEST) - math.log10(distance)))


def exact_decimals(values: NDArray[np.float64], fewest: int = 0, most: int = MOST_DECIMALS) -> int | None:
    """The fewest decimals in ``fewest..most`` that write all values exactly; None if there are none up to 15."""
    for decimals in range(fewest, min(most, _MOST_EXACT) + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.array_equal(np.round(values, decimals), values):
                return decimals
    return None


def most_decimals(limit: float, value: float) -> int:
    """The most decimals with which the reading of a value of this magnitude stays within a limit."""
    if value == 0.0:
        return MOST_DECIMALS
    most = math.floor(math.log10(limit) - math.log10(value))
    return max(-MOST_DECIMALS, min(most, MOST_DECIMALS))


def fixed_point_inputs(values: NDArray, decimals: Integers | np.int64) -> Integers:
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


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """One scale per column, applied to readings.

        integer = ((reading - centre) * multiplier + 2^(shift - 1)) >> shift

    Attributes
    ----------
    decimals
        Decimals of a reading.
    centres
        Readings that become 0.
    multipliers, shifts
        The factor ``multiplier / 2^shift``; a multiplier of 0 marks a column that carries nothing.
    """

    decimals: Integers
    centres: Integers
    multipliers: Integers
    shifts: Integers

    @classmethod
    def fit(
        cls, decimals: Integers, centres: Integers, reaches: NDArray[np.float64], grid: int, bits: int = MOST_BITS
    ) -> FixedPoint:
        """Scales that map a distance of ``reach`` readings to ``grid``; columns of reach 0 carry nothing."""
        factors = np.divide(grid, reaches, where=reaches > 0, out=np.zeros(len(reaches)))
        # The largest shift whose multiplier still has few bits.
        room = np.floor(bits - np.log2(np.maximum(factors, 2.0**-LARGEST_SHIFT))) - 1
        shifts = np.clip(room, 1, LARGEST_SHIFT).astype(np.int64)
        # Rounded up, so that halves are rounded away from zero.
        multipliers = np.ceil(factors * 2.0**shifts).astype(np.int64)
        multipliers = np.where(factors > 0, np.clip(multipliers, 1, 2**bits - 1), 0)
        return cls(np.asarray(decimals), np.asarray(centres), multipliers, shifts)

    def fixed_point_inputs(self, values: NDArray) -> Integers:
        """Readings of values, shape (rows, columns)."""
        return fixed_point_inputs(values, self.decimals)

    def scaled(self, readings: Integers) -> Integers:
        """Integers of readings, shape (rows, columns)."""
        return ((readings - self.centres) * self.multipliers + (1 << (self.shifts - 1))) >> self.shifts

    def onnx(self, readings: Tensor) -> Tensor:
        """Integers of readings as a part of an ONNX graph, in 64 bits."""
        distances = readings.cast(np.int64) - self.centres
        return (distances * self.multipliers + (1 << (self.shifts - 1))).shifted(self.shifts)

    def c_code(self, low: int, high: int) -> CCode:
        """The C function ``int32_t bemi_fixed_point(int32_t reading, uint_fast16_t column)``.

        It gives the same integers as :meth:`scaled` clipped to ``low..high``, for all readings of 32 bits.  If the
        range is small, products need only 32 bits: distances beyond the ``reach`` at which an integer leaves the range
        count as that reach.
        """
        largest = range_of("int32_t")[1]
        below, above = min(-low, largest), min(high, largest)
        centres, multipliers, shifts = self.centres.tolist(), self.multipliers.tolist(), self.shifts.tolist()
        factors = list(zip(multipliers, shifts, strict=True))
        reaches = [_reach(multiplier, shift, max(below, above)) for multiplier, shift in factors]
        products = zip(reaches, factors, strict=True)
        narrow = all(r < 2**32 and r * m + (1 << (s - 1)) < 2**32 for r, (m, s) in products)
        centre_kind = smallest_type(min(centres), max(centres), SIGNED[1:])
        multiplier_kind = smallest_type(0, max(multipliers), UNSIGNED[1:])
        return CCode(
            source=file_of(__package__, "fixed_point.c"),
            macros={
                "BEMI_MOST_BELOW": f"{below}UL",
                "BEMI_MOST_ABOVE": f"{above}UL",
                "BEMI_HAS_REACHES": int(narrow),
                "bemi_product_t": "uint32_t" if narrow else "uint64_t",
                **read_macro("CENTRE", centre_kind),
                **read_macro("MULTIPLIER", multiplier_kind),
            },
            tables=(
                CTable("bemi_centres", centre_kind, centres),
                CTable("bemi_multipliers", multiplier_kind, multipliers),
                CTable("bemi_shifts", "uint8_t", shifts),
                *([CTable("bemi_reaches", "uint32_t", reaches)] if narrow else []),
            ),
            code_bytes=NARROW_BYTES if narrow else WIDE_BYTES,
        )

    def values(self, integers: NDArray) -> NDArray[np.float64]:
        """The values behind integers, up to rounding; the centre for columns that carry nothing."""
        factors = np.where(self.multipliers > 0, self.multipliers / 2.0**self.shifts, np.inf)
        return (integers / factors + self.centres) / 10.0**self.decimals


def _reach(multiplier: int, shift: int, most: int) -> int:
    """The smallest distance from which on the integer is at least ``most``, above and below the centre."""
    # distance * multiplier + 2^(shift - 1) - 1 >= most << shift
    return -(-((most << shift) - (1 << (shift - 1)) + 1) // multiplier) if multiplier else 0
