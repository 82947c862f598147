"""Windows of real signals: our models and others on the same draws, also at a lower gain, and what was proved."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from bemi_lab import classifiers, datasets
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Dataset, Split
from bemi_lab.datasets.registry import INSTALL_SIGNALS
from bemi_lab.experiments.on_tables import what_was_proved
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.subjects import Job, Subject, System

GAIN = 0.7
"""Of the second measurement: the sensor measures this much of what it measured in training."""

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


def _minirocket(X: NDArray, seed: int, settings: Settings) -> BaseEstimator:
    """MiniRocket with 10,000 features and ridge regression, in floating point."""
    from aeon.classification.convolution_based import MiniRocketClassifier

    return ChannelsFirst(MiniRocketClassifier(n_kernels=10_000, random_state=seed, n_jobs=1))


def _nearest_warped(X: NDArray, seed: int, settings: Settings) -> BaseEstimator:
    """The nearest window when time is warped by at most a tenth."""
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    model = KNeighborsTimeSeriesClassifier(distance="dtw", distance_params={"window": WARPING}, n_jobs=1)
    return ChannelsFirst(model)


def _statistics_forest(X: NDArray, seed: int, settings: Settings) -> BaseEstimator:
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


def _recommended(X: NDArray, seed: int, settings: Settings) -> Classifier:
    return classifiers.few_bit(X, **settings.limits)


def _fixed(copies: str | None, inputs: str | None, X: NDArray, seed: int, settings: Settings) -> Classifier:
    return classifiers.fixed(X, copies=copies, inputs=inputs, **settings.limits)


def _systems() -> Iterator[System]:
    yield System("as-recorded", "ours", partial(_fixed, None, None))
    yield System("recommended", "FewBitClassifier", _recommended)
    small, wide = "small gains and shifts", "gains and shifts"
    yield System("small-scenarios", "ours, small gains and shifts", partial(_fixed, small, None))
    yield System("gain-scenarios", "ours, gains of 5/8 and 3/2, and shifts", partial(_fixed, wide, None))
    yield System("differences", "ours, levels and differences alone", partial(_fixed, None, "differences"))
    yield System("fifteen-bits", "ours, 15 bits", partial(_fixed, None, "fifteen-bits"))
    yield System("minirocket", "MiniRocket 10,000, ridge", _minirocket, "aeon")
    yield System("statistics-forest", "statistics, random forest", _statistics_forest)
    yield System("warping", "1-NN with time warping", _nearest_warped, "aeon")


def measure(system: System, windows: Dataset, job: Job, settings: Settings) -> dict[str, Any]:
    """Train a system on a draw, on one core, and measure it on the draw's test windows."""
    seed = settings.seed + job.sample
    train, test = Split.parse(job.split).of_windows(windows.train_y, windows.groups, seed)
    known, X, y = windows.train_X[train], windows.train_X[test], windows.train_y[test]
    with threadpool_limits(1):
        began = time.perf_counter()
        model = system.make(known, seed, settings).fit(known, windows.train_y[train])
        seconds = time.perf_counter() - began
        right, lower = (float(np.mean(model.predict(gain * X) == y)) for gain in (1.0, GAIN))
    return {
        "seconds": round(seconds, 3),
        "accuracy": round(right, 6),
        "lower_gain": round(lower, 6),
        **what_was_proved(model),
    }


def _samples(windows: Dataset, name: str, wanted: int) -> int:
    return wanted if Split.parse(name).suits_windows(windows.train_y) else 0


SYSTEMS = {system.name: system for system in _systems()}
"""All systems by name."""

SUBJECT = Subject(
    noun="signal",
    systems=SYSTEMS,
    load=datasets.load,
    measure=measure,
    samples=_samples,
    packages=("numpy", "scikit-learn", "aeon", "pyts", "seglearn", "sktime", "tslearn"),
    install=f"install what is missing with: {INSTALL_SIGNALS}",
)
