"""Inputs of the networks that each depend on one feature, as a circuit computes them.

The method ``circuit_terms`` of a transform (:mod:`bemi.inputs.export_hooks`) gives one term per output.  A circuit is
given the integers that the transform takes, or readings (:mod:`bemi.inputs.fixed_point`) if it makes them
itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bemi.inputs.fixed_point import MISSING


@dataclass(frozen=True)
class ConstantTerm:
    """An input that is the same for all rows."""

    value: int

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value."""
        return self.value, self.value


@dataclass(frozen=True)
class BitTerm:
    """``level`` if a feature is at least, or if it equals, a reading, otherwise ``-level``."""

    feature: int
    reading: int
    equal: bool
    level: int

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value."""
        return -self.level, self.level

    def unchanged_by(self, low: int, high: int) -> bool:
        """Whether the value stays the same if readings saturate at ``low`` and ``high``."""
        return self.reading == MISSING or low < self.reading < high


@dataclass(frozen=True)
class NumberTerm:
    """A feature, scaled as :class:`bemi.inputs.fixed_point.FixedPoint` does it, that saturates at ``low`` and ``high``.

    Attributes
    ----------
    feature
        Position of the feature.
    low, high
        Smallest and largest value.
    centre, multiplier, shift
        The scale; a multiplier of 1 and a shift of 0 leave the feature as it is.
    missing_is_zero
        Whether a missing cell gives 0.
    """

    feature: int
    low: int
    high: int
    centre: int = 0
    multiplier: int = 1
    shift: int = 0
    missing_is_zero: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value."""
        return self.low, self.high

    @property
    def scaled(self) -> bool:
        """Whether the feature is not taken as it is."""
        return (self.centre, self.multiplier, self.shift) != (0, 1, 0)

    def within(self, low: int, high: int) -> NumberTerm:
        """The same, saturating at these values, too."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))

    def value(self, reading: int) -> int:
        """The value for a reading that is not missing."""
        half = 1 << self.shift >> 1
        return min(max(((reading - self.centre) * self.multiplier + half) >> self.shift, self.low), self.high)

    def unchanged_by(self, low: int, high: int) -> bool:
        """Whether the value stays the same if readings saturate at ``low`` and ``high``."""
        return self.multiplier == 0 or (self.value(low) == self.low and self.value(high) == self.high)


Term = ConstantTerm | BitTerm | NumberTerm
FeatureTerm = BitTerm | NumberTerm
