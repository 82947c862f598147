"""Other classifiers for windows of shape (windows, time, channels), as their users take them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

WARPING = 0.1
"""How far time may be warped, as a share of the window."""


class ChannelsFirst(ClassifierMixin, BaseEstimator):
    """A classifier that wants the channels before the time."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: NDArray, y: NDArray[Any]) -> ChannelsFirst:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(_swapped(X), y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: NDArray) -> NDArray[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.model.predict(_swapped(X))


def _swapped(X: NDArray) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.swapaxes(X, 1, 2))


def minirocket(seed: int) -> BaseEstimator:
    """MiniRocket with 10,000 features and ridge regression, in floating point."""
    from aeon.classification.convolution_based import MiniRocketClassifier

    return ChannelsFirst(MiniRocketClassifier(n_kernels=10_000, random_state=seed, n_jobs=1))


def nearest_warped(seed: int) -> BaseEstimator:
    """The nearest window when time is warped by at most a tenth."""
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    model = KNeighborsTimeSeriesClassifier(distance="dtw", distance_params={"window": WARPING}, n_jobs=1)
    return ChannelsFirst(model)


def statistics_forest(seed: int) -> BaseEstimator:
    """A random forest on statistics of each channel."""
    return make_pipeline(FunctionTransformer(statistics), RandomForestClassifier(random_state=seed))


def statistics(X: NDArray) -> NDArray[np.float64]:
    """Moments, quantiles, energy, changes and crossings of the mean of each channel, shape (windows, numbers)."""
    mean, deviation = X.mean(axis=1), X.std(axis=1)
    centred = X - mean[:, None]
    scaled = centred / np.where(deviation > 0, deviation, 1.0)[:, None]
    changes = np.diff(X, axis=1)
    parts = [mean, deviation, (scaled**3).mean(axis=1), (scaled**4).mean(axis=1)]
    parts += list(np.quantile(X, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1), axis=1))
    parts += [(X**2).mean(axis=1), np.abs(changes).mean(axis=1), changes.std(axis=1)]
    parts += [(np.diff(centred > 0, axis=1) != 0).mean(axis=1), np.argmax(X, axis=1), np.argmin(X, axis=1)]
    return np.concatenate(parts, axis=1)
