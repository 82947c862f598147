"""How alike a row is to some of the training rows: inputs by which a linear network sees columns together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from bemi.checks import check_integer
from bemi.exact import Integers

UNIT_LEVEL = 64
"""Magnitude of a bit in distances, where centred values go up to 127."""

STEPS = 16
"""Steps in which a similarity falls to its half."""

ENTRIES = 256
"""Entries of the table of similarities; the last is for all larger distances."""

SHARPNESS = 3
"""How many times a similarity halves over the median distance between training rows."""

PEAK = 127
"""Similarity of equal rows, where nothing else is there to compare it with."""

LARGEST_PEAK = 1023

_SEED = 0


@dataclass(frozen=True, eq=False)
class Similarities:
    """Similarity to each of some training rows, in integers.

        similarity(u, a) = peak 2^(-min(STEPS D // halving, 255) / STEPS), rounded,   D = sum_i |u_i - a_i|

    Attributes
    ----------
    landmarks
        The training rows a, as centred values and bits, shape (landmarks, units).
    halving
        Distance over which a similarity falls to its half.
    peak
        Similarity of equal rows.
    """

    landmarks: Integers
    halving: int
    peak: int

    @classmethod
    def fit(cls, units: Integers, most: int) -> Similarities:
        """Similarities to at most so many of the training rows with these units, drawn at random, always the same."""
        drawn = np.arange(len(units))
        if len(units) > most:
            drawn = np.sort(np.random.default_rng(_SEED).permutation(len(units))[:most])
        landmarks = units[drawn]
        distances = _distances(units, landmarks)
        apart = distances[distances > 0]
        halving = max(1, int(np.median(apart) / SHARPNESS)) if len(apart) else 1
        return cls(landmarks, halving, PEAK)

    def beside(self, others: Integers, units: Integers) -> Similarities:
        """The same with a peak that makes them as long as the other inputs of the training rows, on average."""
        length, own = (float((block.astype(np.float64) ** 2).sum()) for block in (others, self.of(units)))
        peak = int(np.clip(np.rint(PEAK * np.sqrt(length / own)), STEPS, LARGEST_PEAK)) if own else PEAK
        return Similarities(self.landmarks, self.halving, peak)

    @cached_property
    def table(self) -> Integers:
        """Similarity by distance, in steps."""
        return np.rint(self.peak * 2.0 ** (-np.arange(ENTRIES) / STEPS)).astype(np.int64)

    def of(self, units: Integers) -> Integers:
        """Similarities of rows with these units, shape (rows, landmarks)."""
        return self.table[np.minimum(_distances(units, self.landmarks) * STEPS // self.halving, ENTRIES - 1)]

    def record(self) -> list[Any]:
        """Plain data for a file."""
        return [self.halving, self.peak, self.landmarks.tolist()]

    @classmethod
    def from_record(cls, record: Any, lows: Integers, highs: Integers) -> Similarities:
        """The similarities that gave this record, for units in ``lows..highs``; ValueError if none did."""
        if not isinstance(record, (list, tuple)) or len(record) != 3 or not isinstance(record[2], (list, tuple)):
            raise ValueError("similarities must be a list of their parts")
        check_integer("halving", record[0], 1, 2**31 - 1)
        check_integer("peak", record[1], 1, LARGEST_PEAK)
        if not record[2]:
            raise ValueError("similarities need a landmark")
        for row in record[2]:
            if not isinstance(row, (list, tuple)) or len(row) != len(lows):
                raise ValueError("a landmark must have one value per unit")
            for value, low, high in zip(row, lows.tolist(), highs.tolist(), strict=True):
                check_integer("a landmark's value", value, low, high)
        return cls(np.array(record[2], dtype=np.int64), int(record[0]), int(record[1]))


def _distances(units: Integers, landmarks: Integers) -> Integers:
    # Sums of small integers are exact in floating point.
    return cdist(units, landmarks, "cityblock").astype(np.int64)
