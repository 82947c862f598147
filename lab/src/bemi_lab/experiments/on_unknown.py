"""Rows like none of the training rows: how many our models reject, and how many known ones with them.

One class, or two of images, is left out of training; which, changes with the sample.  Other unknown rows are made of
the known test rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from bemi_lab import classifiers, datasets
from bemi_lab.datasets import Dataset, Split
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.subjects import Job, Subject, System

SHARE = 0.05
"""Of known rows that may be rejected."""

GAIN = 3
"""Of a sensor or camera that saturates."""

MOST_TESTED = 400
"""Known rows, and rows of each kind of unknown ones."""

SYSTEMS = {"few-bit": System("few-bit", "FewBitClassifier(reject=0.05)", classifiers.few_bit)}


def unknown_windows(X: NDArray, rng: np.random.Generator) -> dict[str, NDArray]:
    """Windows that no sensor on the wrist gives, made of known ones."""
    low, high = X.min(axis=(0, 1)), X.max(axis=(0, 1))
    return {
        "noise": rng.normal(X.mean(axis=(0, 1)), X.std(axis=(0, 1)), X.shape),
        "still": np.repeat(X[:, :1], X.shape[1], axis=1),
        "flipped": -X,
        "swapped": np.roll(X, 1, axis=2) if X.shape[2] > 1 else X[:, ::-1],
        "clipped": np.clip(GAIN * X, low, high),
    }


def unknown_images(X: NDArray, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, NDArray]:
    """Images of something else, made of known ones."""
    top = X.max()
    turned = X.reshape(len(X), *shape)[:, ::-1].reshape(X.shape)
    return {
        "noise": rng.integers(0, top + 1, X.shape),
        "flat": np.repeat(rng.integers(0, top + 1, (len(X), 1)), X.shape[1], axis=1),
        "inverted": top - X,
        "upside down": turned,
        "overexposed": np.minimum(GAIN * X + top // 2, top),
    }


def unknown_rows(X: pd.DataFrame, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Rows whose numbers do not belong together, or not to the table."""
    values = X.to_numpy(dtype=np.float64)
    made = {
        "uniform": rng.uniform(values.min(axis=0), values.max(axis=0), values.shape),
        "shuffled": rng.permuted(values, axis=0),
        "other units": values * rng.choice([0.1, 10.0], values.shape[1]),
    }
    return {name: pd.DataFrame(rows, columns=X.columns) for name, rows in made.items()}


def _taken(X: Any, rows: NDArray) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def measure(system: System, data: Dataset, job: Job, settings: Settings) -> dict[str, Any]:
    """Train without some classes, and count what is rejected."""
    rng = np.random.default_rng([settings.seed, job.sample])
    is_windows = data.train_X.ndim == 3
    is_image = data.shape is not None and not is_windows
    X: Any = data.train_X if is_windows or is_image else data.table
    y, classes = data.train_y, np.unique(data.train_y)
    count = 2 if is_image else 1
    out = classes[(job.sample * count + np.arange(count)) % len(classes)] if len(classes) > 2 else classes[:0]
    learnt, per_class = np.isin(y, out, invert=True), Split.parse(job.split).rows
    pool, rest = np.arange(len(y)), None
    groups = data.groups
    if groups is not None:
        people = rng.permutation(np.unique(groups))
        rest = np.flatnonzero(~np.isin(groups, people[: len(people) // 2]))
        pool = np.setdiff1d(pool, rest)
    of_class = [pool[y[pool] == label] for label in np.setdiff1d(classes, out)]
    train = np.concatenate([rng.permutation(rows)[:per_class] for rows in of_class])
    rest = np.setdiff1d(pool, train) if rest is None else rest
    tested, other = (rng.permutation(rest[learnt[rest] == own])[:MOST_TESTED] for own in (True, False))
    known_X, kept = _taken(X, tested), None if groups is None else groups[train]
    kinds: dict[str, Any] = {"a class": _taken(X, other)} if len(other) else {}
    if is_windows:
        kinds |= unknown_windows(known_X, rng)
    elif is_image:
        kinds |= unknown_images(known_X, data.shape or (), rng)
    else:
        kinds |= unknown_rows(known_X, rng)
    with threadpool_limits(1):
        began = time.perf_counter()
        model = system.make(_taken(X, train), reject=SHARE, probabilities=True, **settings.limits)
        model.fit(_taken(X, train), y[train], groups=kept)
        seconds = time.perf_counter() - began
        threshold = model.ensemble_.known_ranges.threshold
        strange, likely = model.strangeness(known_X), model.predict_proba(known_X).max(axis=1)
        record: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "accuracy": round(float(np.mean(model.predict(known_X) == y[tested])), 6),
            "lost": round(float((strange > threshold).mean()), 6),
        }
        for name, rows in kinds.items():
            found, chance = model.strangeness(rows), model.predict_proba(rows).max(axis=1)
            truth = np.repeat([0, 1], [len(strange), len(found)])
            record[f"rejected, {name}"] = round(float((found > threshold).mean()), 6)
            record[f"area, {name}"] = round(float(roc_auc_score(truth, np.r_[strange, found])), 6)
            record[f"chances, {name}"] = round(float(roc_auc_score(truth, -np.r_[likely, chance])), 6)
    return record


SUBJECT = Subject(
    noun="set",
    systems=SYSTEMS,
    load=datasets.load,
    measure=measure,
    packages=("numpy", "scikit-learn", "seglearn"),
    install="seglearn has the recordings of the wrist: pip install seglearn",
)
"""``bemi-lab reproduce unknown``."""
