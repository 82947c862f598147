"""From raw features to the integers that transforms and networks see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.inputs import INPUT_SCALINGS
from bemi.products import PRE_ACTIVATION_LIMIT, Integers, too_large


@dataclass(frozen=True, eq=False)
class InputScaling:
    """How raw features become the integers that a network sees: multiply, round, never shift.

    A network has no bias, so zero must stay zero.  ``factors`` is None if the data are integers already.

    Attributes
    ----------
    factors
        One multiplier per feature, or None.
    low, high
        Smallest and largest integer seen in training.
    """

    factors: NDArray[np.float64] | None
    low: int = 0
    high: int = 0

    GRID = 127
    """Scaled features fill a signed byte: the largest training magnitude becomes 127."""

    @classmethod
    def fit(cls, X: ArrayLike, mode: str | None = "auto", grid: int = GRID) -> InputScaling:
        """Choose factors that map the largest magnitude in ``X``, shape (rows, features), to ``grid``."""
        if mode not in INPUT_SCALINGS:
            raise ValueError(f"input_scaling must be one of {', '.join(map(repr, INPUT_SCALINGS))}, got {mode!r}")
        X = _numbers(X)
        if mode is None or (mode == "auto" and are_integers(X)):
            scaling = cls(None)
        else:
            magnitude = np.abs(X.astype(np.float64)).max(axis=0, initial=0)
            if mode == "common":
                magnitude = np.full_like(magnitude, magnitude.max(initial=0))
            # A feature that is zero throughout carries nothing; a denormal one would overflow the division.
            usable = magnitude >= np.finfo(np.float64).tiny * grid
            factors = np.divide(grid, magnitude, where=usable, out=np.zeros_like(magnitude))
            scaling = cls(factors)
        integers = scaling(X)
        return replace(scaling, low=int(integers.min(initial=0)), high=int(integers.max(initial=0)))

    def widened(self, integers: Integers) -> InputScaling:
        """A copy that counts these integers as seen in training, too."""
        low, high = int(integers.min(initial=self.low)), int(integers.max(initial=self.high))
        return replace(self, low=low, high=high)

    def divisors(self, features: int) -> NDArray[np.float64]:
        """Divisors that turn integers back into features; 1 for a feature that is zero throughout."""
        if self.factors is None:
            return np.ones(features)
        return np.where(self.factors > 0, self.factors, 1.0)

    def __call__(self, X: ArrayLike) -> Integers:
        """Integers for raw features ``X``."""
        X = _numbers(X)
        if self.factors is None and X.dtype.kind in "iub":
            scaled = X
        elif self.factors is None:
            scaled = np.rint(X)
            if not np.array_equal(X, scaled):
                raise ValueError(
                    "the features are not integers, and this model takes integer features; "
                    "round them, or train with input_scaling='per-feature'"
                )
        else:
            with np.errstate(over="ignore"):  # Infinity is rejected below, like any value that is too large.
                scaled = np.rint(X.astype(np.float64) * self.factors)
        # Signed integers stay as they are; their sums are checked where they are computed.
        if scaled.dtype.kind != "i" and scaled.size:
            largest = max(abs(float(scaled.max())), abs(float(scaled.min())))
            if largest >= PRE_ACTIVATION_LIMIT:
                raise too_large(largest)
        return scaled.astype(np.int64, copy=False)


def are_integers(X: ArrayLike) -> bool:
    """Whether all values are integers, regardless of dtype."""
    X = _numbers(X)
    return np.array_equal(X, np.rint(X))


def _numbers(X: ArrayLike) -> NDArray[Any]:
    """An array of numbers; integers beyond 64 bits, which NumPy stores as objects, are rejected later by size."""
    X = np.asarray(X)
    return X.astype(np.float64) if X.dtype.kind == "O" else X
