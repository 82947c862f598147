"""Few-shot samples of a data set, each determined by a seed and its index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_integer
from bemi.datasets.dataset import Dataset, Labels, Rows

TEST_ROWS = 800
"""Rows per class that a sample takes from a data set's test part."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Training and test rows; ``disjoint`` says that samples of different indices share no training row."""

    train_X: Rows
    train_y: Labels
    test_X: Rows
    test_y: Labels
    disjoint: bool


def draw(labels: ArrayLike, per_class: int, seed: int) -> NDArray[np.intp]:
    """Indices of a few-shot sample: ``per_class`` rows of every class, uniformly at random, classes in order."""
    labels = np.asarray(labels)
    check_integer("per_class", per_class, 1)
    rng = np.random.default_rng(seed)
    chosen = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if len(rows) < per_class:
            raise ValueError(f"class {label} has only {len(rows)} rows, {per_class} requested")
        chosen.append(rng.choice(rows, per_class, replace=False))
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.intp)


def sample(dataset: Dataset, per_class: int, index: int, seed: int = 0, classes: Sequence[int] | None = None) -> Sample:
    """The sample of the given index: ``per_class`` training rows of each class, uniformly at random.

    If the data set has a test part, samples of different indices share no training row, and each is tested on the first
    800 test rows of each class.  If it has none, samples are drawn independently and tested on all other rows.

    Parameters
    ----------
    dataset
        The data set.
    per_class
        Training rows of each class.
    index
        Number of the sample, from 0; a sample does not depend on how many others are drawn.
    seed
        Seed of all samples.
    classes
        Labels to keep, None for all; the rows of a class do not depend on which others are kept.
    """
    check_integer("per_class", per_class, 1)
    check_integer("index", index, 0)
    labels = dataset.train_y
    positions = _positions(dataset, classes)
    chosen = []
    for label, position in positions.items():
        rows = np.flatnonzero(labels == label)
        if dataset.has_test:
            # All samples are cut from one order, so that they are disjoint.
            order, start = _generator(seed, position).permutation(rows), index * per_class
        else:
            order, start = _generator(seed, index, position).permutation(rows), 0
        part = order[start : start + per_class]
        if len(part) < per_class:
            raise ValueError(_too_few(label, len(rows), per_class, index, dataset.has_test))
        chosen.append(part)
    train = np.concatenate(chosen)
    if dataset.has_test:
        test = np.concatenate([np.flatnonzero(dataset.test_y == label)[:TEST_ROWS] for label in positions])
        test_X, test_y = dataset.test_X[test], dataset.test_y[test]
    else:
        test = np.setdiff1d(np.flatnonzero(np.isin(labels, list(positions))), train)
        test_X, test_y = dataset.train_X[test], labels[test]
    return Sample(dataset.train_X[train], labels[train], test_X, test_y, disjoint=dataset.has_test)


def split(dataset: Dataset, index: int, seed: int = 0, *, rows: int = 200, test: int = 40) -> Sample:
    """The random split of the given index: ``rows`` rows of the training part, ``test`` of them held out for testing.

    Splits are not stratified, and splits of different indices are independent.
    """
    check_integer("index", index, 0)
    check_integer("test", test, 1)
    if not test < rows <= len(dataset.train_y):
        raise ValueError(
            f"rows must be more than the {test} test rows and at most the {len(dataset.train_y)} rows of "
            f"{dataset.name}, got {rows}"
        )
    chosen = _generator(seed, index).permutation(len(dataset.train_y))[:rows]
    held_out, train = chosen[:test], chosen[test:]
    X, y = dataset.train_X, dataset.train_y
    return Sample(X[train], y[train], X[held_out], y[held_out], disjoint=False)


def _generator(seed: int, *key: int) -> np.random.Generator:
    # A spawn key, not a longer seed: SeedSequence treats [1] and [1, 0] as the same seed.
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _positions(dataset: Dataset, classes: Sequence[int] | None) -> dict[int, int]:
    """Position of each chosen class among all classes of the data set, in order."""
    known = {label: position for position, label in enumerate(np.unique(dataset.train_y).tolist())}
    if classes is None:
        return known
    wanted = set(classes)
    if not wanted or not wanted <= known.keys():
        raise ValueError(f"classes must be some of {', '.join(map(str, known))}, got {tuple(classes)}")
    return {label: position for label, position in known.items() if label in wanted}


def _too_few(label: int, rows: int, per_class: int, index: int, disjoint: bool) -> str:
    if rows < per_class or not disjoint:
        return f"class {label} has only {rows} rows, {per_class} requested"
    samples = rows // per_class
    return (
        f"class {label} has {rows} rows, enough for {samples} samples of {per_class}: the last index is {samples - 1}, "
        f"got {index}"
    )
