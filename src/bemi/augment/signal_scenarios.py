"""Variants of windows of a signal: louder, quieter, earlier, later or noisy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from bemi.checks import check_integer, numbers_in
from bemi.exact import Integers


class SignalScenarios(BaseEstimator):
    """Windows of another gain, windows that begin earlier or later, noisy windows.

    Every number gives one variant of each window, all else unchanged.  Variants are made of readings, the integers that
    a device is given.

    Parameters
    ----------
    gains
        Factors of all samples, as of another sensor or a weaker movement.
    shifts
        By how much a window moves, as fractions of its length: what happened appears later if positive.  The first or
        last sample is repeated where the window has none.
    noise
        Standard deviations of normal noise on each sample, as fractions of the channel's standard deviation.
    random_state
        Seed of the noise.
    """

    def __init__(
        self,
        gains: Sequence[float] = (0.625, 1.5),
        shifts: Sequence[float] = (),
        noise: Sequence[float] = (),
        random_state: int = 0,
    ) -> None:
        self.gains = gains
        self.shifts = shifts
        self.noise = noise
        self.random_state = random_state

    def check(self) -> None:
        """Raise ValueError for the first invalid parameter."""
        numbers_in("gains", self.gains, at_least=0)
        if any(abs(shift) >= 1 for shift in numbers_in("shifts", self.shifts)):
            raise ValueError(f"shifts must be fractions of a window, between -1 and 1, got {self.shifts!r}")
        numbers_in("noise", self.noise, at_least=0)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of readings of shape (windows, time, channels), shape (windows, variants, time, channels)."""
        self.check()
        X = np.asarray(X, dtype=np.int64)
        if X.ndim != 3:
            raise ValueError(
                f"SignalScenarios are for windows of a signal, shape (windows, time, channels), got {X.shape}; use "
                "transform=SignalCounts()"
            )
        found = [np.rint(X * gain).astype(np.int64) for gain in numbers_in("gains", self.gains)]
        time = np.arange(X.shape[1])
        for shift in numbers_in("shifts", self.shifts):
            found.append(X[:, np.clip(time - round(shift * len(time)), 0, len(time) - 1)])
        rng = np.random.default_rng(int(self.random_state))
        spread = X.std(axis=(0, 1)) if len(X) else 0.0
        for deviation in numbers_in("noise", self.noise):
            found.append(X + np.rint(rng.normal(0.0, 1.0, X.shape) * deviation * spread).astype(np.int64))
        return np.stack(found, axis=1) if found else np.empty((len(X), 0, *X.shape[1:]), dtype=np.int64)
