"""From raw features to the integers that transforms and networks see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_finite
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers, in_pieces, too_large
from bemi.inputs import INPUT_SCALINGS
from bemi.inputs.fixed_point import FixedPoint, decimals_for, spread


@dataclass(frozen=True, eq=False)
class InputScaling:
    """How raw features become the integers that a network sees.

    A network has no bias, so without a constant input zero must stay zero: features are multiplied, never shifted.
    Where a constant input stands in for the bias, they are centred.

    Attributes
    ----------
    scale
        From readings of the features to integers; None if the data are integers already.
    low, high
        Smallest and largest integer seen in training.
    limit
        Integers saturate at this magnitude; None if they do not.

    Examples
    --------
    >>> from bemi.inputs.scaling import InputScaling
    >>> scaling = InputScaling.fit([[0.5, 10.0], [1.0, -20.0]], "per-feature")
    >>> scaling.low, scaling.high
    (-127, 127)
    """

    scale: FixedPoint | None
    low: int = 0
    high: int = 0
    limit: int | None = None

    GRID = 127
    """Scaled features fill a signed byte: the largest training magnitude, or distance from the median, becomes 127."""

    @classmethod
    def fit(cls, X: ArrayLike, mode: str | None = "auto", grid: int = GRID) -> InputScaling:
        """Choose scales for ``X``, shape (rows, features).

        ``"per-feature"`` maps the largest magnitude of each feature to ``grid``, ``"common"`` that of all features.
        ``"centred"`` maps the median of each feature to 0 and the 98 % quantile of the distances from it to ``grid``,
        where values saturate.

        Examples
        --------
        >>> InputScaling.fit([[1, 2], [3, 4]]).scale is None
        True
        """
        if mode not in INPUT_SCALINGS:
            raise ValueError(f"input_scaling must be one of {', '.join(map(repr, INPUT_SCALINGS))}, got {mode!r}")
        X = _numbers(X)
        check_finite(X)
        if mode is None or (mode == "auto" and are_integers(X)):
            scaling = cls(None)
        elif mode == "centred":
            scaling = cls(_centred(X.astype(np.float64), grid), limit=grid)
        else:
            scaling = cls(_multiplied(X.astype(np.float64), grid, common=mode == "common"))
        for part in in_pieces(X):  # rows may be many
            scaling = scaling.widened(scaling(part))
        return scaling

    def widened(self, integers: Integers) -> InputScaling:
        """A copy that counts these integers as seen in training, too."""
        low, high = int(integers.min(initial=self.low)), int(integers.max(initial=self.high))
        return replace(self, low=low, high=high)

    def lost_features(self, X: NDArray) -> NDArray[np.integer]:
        """Features that differ, by little beside their size, but not once they are rounded to integers.

        Examples
        --------
        >>> import numpy as np
        >>> InputScaling.fit([[1e6], [-1e6]], "common").lost_features(np.array([[1e6], [1e6 + 1]]))
        array([0])
        """
        if self.scale is None or not len(X):
            return np.arange(0)
        spreads, sizes = np.ptp(X, axis=0), np.abs(X).max(axis=0)
        return np.flatnonzero((spreads > 0) & (spreads < sizes / 100) & (np.ptp(self(X), axis=0) == 0))

    def values(self, integers: NDArray) -> NDArray[np.float64]:
        """The features behind integers, up to rounding.

        Examples
        --------
        >>> scaling.values(scaling([[1.0, -20.0]]))
        array([[  0.99999904, -19.99998078]])
        """
        return integers.astype(np.float64) if self.scale is None else self.scale.values(integers)

    def __call__(self, X: ArrayLike) -> Integers:
        """Integers for raw features ``X``.

        Examples
        --------
        >>> scaling([[0.5, 10.0]])
        array([[64, 64]])
        """
        X = _numbers(X)
        scaled: NDArray[Any]
        if self.scale is not None:
            scaled = self.scale.scaled(self.scale.fixed_point_inputs(X.astype(np.float64)))
            if self.limit is not None:
                return np.clip(scaled, -self.limit, self.limit)
        elif X.dtype.kind in "iub":
            scaled = X
        else:
            scaled = np.rint(X)
            if not np.array_equal(X, scaled):
                raise ValueError(
                    "the features are not integers, and this model takes integer features; "
                    "round them, or train with input_scaling='per-feature'"
                )
        # Integers that are given stay as they are; their sums are checked where they are computed.
        if (self.scale is not None or scaled.dtype.kind != "i") and scaled.size:
            largest = max(abs(float(scaled.max())), abs(float(scaled.min())))
            if largest >= PRE_ACTIVATION_LIMIT:
                raise too_large(largest)
        return scaled.astype(np.int64, copy=False)


def _decimals(X: NDArray[np.float64]) -> Integers:
    return np.array([decimals_for(column) for column in X.T], dtype=np.int64)


def _multiplied(X: NDArray[np.float64], grid: int, *, common: bool) -> FixedPoint:
    """Scales that leave zero at zero."""
    magnitudes = np.abs(X).max(axis=0, initial=0)
    decimals = _decimals(X)
    if common:
        # One unit for all features, so that they keep their proportions.
        decimals = np.full_like(decimals, decimals_for(X.reshape(-1)))
        magnitudes = np.full_like(magnitudes, magnitudes.max(initial=0))
    return FixedPoint.fit(decimals, np.zeros_like(decimals), magnitudes * 10.0**decimals, grid)


def _centred(X: NDArray[np.float64], grid: int) -> FixedPoint:
    """Scales that put the median at zero."""
    decimals = _decimals(X)
    centres = np.rint(np.median(X, axis=0) * 10.0**decimals).astype(np.int64)
    reaches = np.array([spread(column) for column in X.T]) * 10.0**decimals
    return FixedPoint.fit(decimals, centres, reaches, grid)


def are_integers(X: ArrayLike) -> bool:
    """Whether all values are integers, regardless of dtype."""
    X = _numbers(X)
    return X.dtype.kind in "iub" or all(np.array_equal(part, np.rint(part)) for part in in_pieces(np.atleast_2d(X)))


def _numbers(X: ArrayLike) -> NDArray[Any]:
    """An array of numbers; integers beyond 64 bits, which NumPy stores as objects, are rejected later by size."""
    X = np.asarray(X)
    return X.astype(np.float64) if X.dtype.kind == "O" else X
