"""How often the range of the expected accuracy holds the accuracy, on real rows and on rows that are made.

The estimate is for rows with the training rows' shares of the classes, so test rows are weighted to have them, too.
Where it is known whom or what windows come from, other people or recordings are tested.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bemi_lab import classifiers, datasets
from bemi_lab.datasets import Dataset, Split
from bemi_lab.experiments.spec import Experiment, Settings
from bemi_lab.experiments.subjects import Job, Subject, System

LINES = 5
"""Of the scorecards, and inputs of the models with few."""

CLEAR = 0.1
"""Correlation with the class from which a column of a table is declared monotone."""

MADE_WINDOWS = 4
"""Of each recording that is made."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Training and test rows, what the training rows come from, and the set that they are drawn from."""

    X: Any
    y: NDArray[Any]
    groups: NDArray[Any] | None
    test_X: Any
    test_y: NDArray[Any]
    every: Dataset


def _of(every: Dataset, train: NDArray[np.intp], test: NDArray[np.intp]) -> Draw:
    X: Any = every.train_X if every.shape is not None else every.table
    X, other = (X.iloc[own] if isinstance(X, pd.DataFrame) else X[own] for own in (train, test))
    groups = None if every.groups is None else every.groups[train]
    return Draw(X, every.train_y[train], groups, other, every.train_y[test], every)


def _drawn(experiment: Experiment, settings: Settings, data: Any, job: Job) -> Draw:
    """The rows of a job."""
    split, seed = Split.parse(job.split), settings.seed + job.sample
    if job.dataset in MADE:
        return data(split.rows, np.random.default_rng([seed, split.rows]))
    if data.train_X.ndim == 3:
        return _of(data, *split.of_windows(data.train_y, data.groups, seed))
    if data.shape is None:
        return _of(data, *split.of_table(data.train_y, seed))
    sample = split.of_images(data, job.sample, settings.seed)
    return Draw(sample.train_X, sample.train_y, None, sample.test_X, sample.test_y, data)


def made_table(per_class: int, rng: np.random.Generator) -> Draw:
    """Two classes that differ in three of eight normal columns, one of them with an optimum in the middle."""
    y = np.repeat([0, 1], 2000)
    X = rng.normal(0, 1, (len(y), 8))
    X[y == 1, :2] += (0.9, 0.6)
    X[y == 1, 2] *= 0.5
    names = tuple(f"x{place}" for place in range(8))
    return _first_rows(Dataset.without_test("made-table", np.round(X, 2), y, feature_names=names), per_class)


def made_recordings(per_class: int, rng: np.random.Generator) -> Draw:
    """Three kinds of oscillation; every recording has a frequency, an amplitude and an offset of its own.

    ``per_class`` windows of each class are of recordings that no other class and no test window is from.
    """
    recordings = 3 * (per_class // MADE_WINDOWS + 100)
    of_class = np.arange(recordings) % 3
    frequency = 3.0 + 0.6 * of_class[:, None] + rng.normal(0, 0.3, (recordings, 1))
    amplitude, offset = rng.lognormal(0, 0.3, (recordings, 1)), rng.normal(0, 0.3, (recordings, 2))
    groups = np.repeat(np.arange(recordings), MADE_WINDOWS)
    phase = rng.uniform(0, 2 * np.pi, (len(groups), 1)) + 2 * np.pi * frequency[groups] * np.arange(64) / 64
    X = amplitude[groups, :, None] * np.stack([np.sin(phase), np.cos(2 * phase)], axis=2) + offset[groups, None]
    X = np.rint(1000 * (X + rng.normal(0, 0.3, X.shape))).astype(np.int64)
    every = Dataset.without_test("made-recordings", X, of_class[groups], shape=(64, 2), groups=groups)
    return _first_rows(every, per_class)


def _first_rows(every: Dataset, per_class: int) -> Draw:
    own = [np.flatnonzero(every.train_y == label) for label in np.unique(every.train_y)]
    train = np.concatenate([rows[:per_class] for rows in own])
    return _of(every, train, np.setdiff1d(np.arange(len(every.train_y)), train))


MADE: dict[str, Callable[[int, np.random.Generator], Draw]] = {
    "made-table": made_table,
    "made-recordings": made_recordings,
}
"""Sets that are made anew for every draw: from rows per class and a generator to the draw."""


def monotone_columns(every: Dataset) -> dict[str, int]:
    """Directions of columns that clearly go with the class, as someone who knows the subject would give them."""
    second = pd.Series(every.train_y == np.unique(every.train_y)[1], index=every.table.index).astype(float)
    numbers = every.table.select_dtypes("number")
    slopes = {str(name): numbers[name].corr(second) for name in numbers}
    return {name: int(np.sign(slope)) for name, slope in slopes.items() if abs(slope) > CLEAR}


def _model(draw: Draw, settings: Settings, **restriction: Any) -> Any:
    return classifiers.few_bit(draw.X, probabilities=False, **restriction, **settings.limits)


def _monotone(draw: Draw, settings: Settings) -> Any:
    return _model(draw, settings, monotone=monotone_columns(draw.every))


def _card(draw: Draw, settings: Settings) -> Any:
    return classifiers.scorecard(LINES, **settings.limits)


def _systems() -> Iterator[System]:
    yield System("few-bit", "FewBitClassifier", _model)
    yield System("few-links", f"max_links={LINES}", partial(_model, max_links=LINES))
    yield System("one-bit", "weight_bound=1", partial(_model, weight_bound=1))
    yield System("monotone", "monotone", _monotone)
    yield System("card", f"ScorecardClassifier, {LINES} lines", _card)


def measure(system: System, draw: Draw, job: Job, settings: Settings) -> dict[str, Any]:
    """Train a system, and compare what it expects with what it gets right."""
    with threadpool_limits(1):
        began = time.perf_counter()
        model = system.make(draw, settings).fit(draw.X, draw.y, groups=draw.groups)
        seconds = time.perf_counter() - began
        right = model.predict(draw.test_X) == draw.test_y
    labels, counts = np.unique(draw.y, return_counts=True)
    recalls = [right[draw.test_y == label].mean() for label in labels]
    accuracy = float(np.average(recalls, weights=counts))
    choice = model.choice_
    found: dict[str, Any] = {"seconds": round(seconds, 3), "accuracy": round(accuracy, 6)}
    found |= {"kind": choice.kind, "choice": choice.name, "recordings": draw.groups is not None}
    if choice.expected is None:
        return found
    found |= {name: round(getattr(choice, name), 6) for name in ("expected", "low", "high")}
    return found | {"covered": float(choice.low <= accuracy <= choice.high)}


def _load(name: str) -> Any:
    return MADE[name] if name in MADE else datasets.load(name)


SUBJECT = Subject(
    noun="set",
    systems={system.name: system for system in _systems()},
    load=_load,
    measure=measure,
    rows=_drawn,
    packages=("numpy", "scikit-learn", "aeon", "seglearn"),
    install="seglearn has the recordings of the wrist, aeon the other signals: pip install seglearn aeon",
)
"""``bemi-lab reproduce estimates``."""
