"""Which rows of a table train and which test: a split is determined by its name, the labels and an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

Labels = NDArray[Any]
Indices = NDArray[np.intp]

MOST_ROWS = 1000
"""Rows at most: to test a few-shot model, and in all for cross-validation."""

TRAINING_SHARE = 0.7
"""Of the rows of a class, or of a table, that a few-shot sample may take."""

FOLDS = 5


@dataclass(frozen=True)
class Split:
    """A way to divide a table.

    Attributes
    ----------
    name
        ``per-class-20``: 20 training rows of every class, or 70 % of a class that has fewer.  ``random-40``: 40 rows
        whatever their class.  ``fold``: five-fold cross-validation of at most 1,000 rows.
    title
        For people.
    draw
        From labels and an index to training and test rows; the index is a seed, or the number of a fold.
    takes_part
        Whether a table with these labels has enough rows.
    samples
        How many there are, None for any number.
    """

    name: str
    title: str
    draw: Callable[[Labels, int], tuple[Indices, Indices]]
    takes_part: Callable[[Labels], bool]
    samples: int | None = None


def split(name: str) -> Split:
    """The split of that name."""
    kind, _, rows = name.rpartition("-")
    if name == "fold":
        return Split(name, f"{FOLDS}-fold", _fold, lambda labels: True, samples=FOLDS)
    if kind == "per-class" and rows.isdigit():
        n = int(rows)
        return Split(
            name,
            f"{n} per class",
            lambda labels, index: _per_class(labels, n, index),
            lambda labels: _room(np.unique(labels, return_counts=True)[1])[-2] >= n,
        )
    if kind == "random" and rows.isdigit():
        n = int(rows)
        return Split(
            name,
            f"{n} random rows",
            lambda labels, index: _random(labels, n, index),
            lambda labels: int(TRAINING_SHARE * len(labels)) >= n,
        )
    raise ValueError(f"unknown split {name!r}; known: per-class-N, random-N and fold")


def _room(counts: NDArray[np.intp]) -> list[int]:
    """Training rows that classes of these sizes can give, fewest first."""
    return sorted(int(TRAINING_SHARE * count) for count in counts)


def _per_class(labels: Labels, rows: int, seed: int) -> tuple[Indices, Indices]:
    rng = np.random.default_rng(1000 + seed)
    train, rest = [], []
    for label in np.unique(labels):
        order = rng.permutation(np.flatnonzero(labels == label))
        taken = min(rows, int(TRAINING_SHARE * len(order)))
        train.append(order[:taken])
        rest.append(order[taken:])
    return np.concatenate(train), _some(np.concatenate(rest), rng)


def _random(labels: Labels, rows: int, seed: int) -> tuple[Indices, Indices]:
    rng = np.random.default_rng(2000 + seed)
    order = rng.permutation(len(labels))
    return order[:rows], _some(order[rows:], rng)


def _some(rows: Indices, rng: np.random.Generator) -> Indices:
    return rows if len(rows) <= MOST_ROWS else rng.permutation(rows)[:MOST_ROWS]


def _fold(labels: Labels, index: int) -> tuple[Indices, Indices]:
    rows = np.sort(np.random.default_rng(7).permutation(len(labels))[:MOST_ROWS])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=3).split(rows, labels[rows])
    train, test = list(folds)[index]
    return rows[train], rows[test]
