"""Scaling in integers: subtract a centre, multiply, shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.inputs.fixed_point_inputs import readings

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

MOST_BITS = 20
"""Multipliers have at most this many bits, so that products stay below 2^53, which even doubles hold exactly."""

LARGEST_SHIFT = 40
"""Enough for the largest readings to get a multiplier of several bits."""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """One scale per column, applied to readings (:mod:`bemi.inputs.fixed_point_inputs`).

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

    def readings(self, values: NDArray) -> Integers:
        """Readings of values, shape (rows, columns)."""
        return readings(values, self.decimals)

    def scaled(self, found: Integers) -> Integers:
        """Integers of readings, shape (rows, columns)."""
        return ((found - self.centres) * self.multipliers + (1 << (self.shifts - 1))) >> self.shifts

    def onnx(self, found: Tensor) -> Tensor:
        """Integers of readings as a part of an ONNX graph, in 64 bits."""
        distances = found.cast(np.int64) - self.centres
        return (distances * self.multipliers + (1 << (self.shifts - 1))).shifted(self.shifts)

    def values(self, integers: NDArray) -> NDArray[np.float64]:
        """The values behind integers, up to rounding; the centre for columns that carry nothing."""
        factors = np.where(self.multipliers > 0, self.multipliers / 2.0**self.shifts, np.inf)
        return (integers / factors + self.centres) / 10.0**self.decimals
