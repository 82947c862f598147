"""Few-shot samples of a data set: random ones, each determined by a seed and its index, or the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_choice, check_integer
from bemi_lab.datasets import paper_images
from bemi_lab.datasets.dataset import Dataset, Labels, Rows

TEST_ROWS = 800
"""Rows per class that a sample takes from a data set's test part."""

RULES = ("random", "paper")
"""How :func:`sample` chooses training rows."""


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


def sample(
    dataset: Dataset,
    per_class: int,
    index: int,
    seed: int = 0,
    classes: Sequence[int] | None = None,
    *,
    rule: str = "random",
    sizes: Sequence[int] | None = None,
) -> Sample:
    """The sample of the given index: ``per_class`` training rows of each class.

    If the data set has a test part, samples of different indices share no training row, and each is tested on the first
    800 test rows of each class.  If it has none, samples are tested on all other rows, and random ones are drawn
    independently.

    Parameters
    ----------
    dataset
        The data set.
    per_class
        Training rows of each class.
    index
        Number of the sample, from 0; a sample does not depend on how many others are drawn.
    seed
        Seed of all random samples; the paper's do not depend on it.
    classes
        Labels to keep, None for all; the rows of a class do not depend on which others are kept.
    rule
        ``"random"``: rows are drawn uniformly.  ``"paper"``: the paper's rows, consecutive ones of each class in the
        order of the data files (:func:`bemi_lab.datasets.paper_images.positions`).
    sizes
        All values of ``per_class`` in the paper's experiment, which its rows depend on: ``(10, 20, 30, 40)`` in
        experiments 3 and 4.  Required by ``rule="paper"``, and only by it.
    """
    check_integer("per_class", per_class, 1)
    check_integer("index", index, 0)
    check_choice("rule", rule, RULES)
    places = _positions(dataset, classes)
    if rule == "paper":
        chosen = _paper_rows(dataset, places, paper_images.positions(per_class, index, sizes))
    elif sizes is not None:
        raise ValueError('sizes belong to rule="paper"; random samples do not depend on other sizes')
    else:
        chosen = _random_rows(dataset, places, per_class, index, seed)
    train, labels = np.concatenate(chosen), dataset.train_y
    if dataset.has_test:
        test = np.concatenate([np.flatnonzero(dataset.test_y == label)[:TEST_ROWS] for label in places])
        test_X, test_y = dataset.test_X[test], dataset.test_y[test]
    else:
        test = np.setdiff1d(np.flatnonzero(np.isin(labels, list(places))), train)
        test_X, test_y = dataset.train_X[test], labels[test]
    disjoint = dataset.has_test or rule == "paper"
    return Sample(dataset.train_X[train], labels[train], test_X, test_y, disjoint=disjoint)


def _random_rows(
    dataset: Dataset, places: dict[int, int], per_class: int, index: int, seed: int
) -> list[NDArray[np.intp]]:
    """Training rows of each class, uniformly at random."""
    chosen = []
    for label, place in places.items():
        rows = np.flatnonzero(dataset.train_y == label)
        if dataset.has_test:
            # All samples are cut from one order, so that they are disjoint.
            order, start = _generator(seed, place).permutation(rows), index * per_class
        else:
            order, start = _generator(seed, index, place).permutation(rows), 0
        part = order[start : start + per_class]
        if len(part) < per_class:
            raise ValueError(_too_few(label, len(rows), per_class, index, dataset.has_test))
        chosen.append(part)
    return chosen


def _paper_rows(dataset: Dataset, places: dict[int, int], positions: range) -> list[NDArray[np.intp]]:
    """Training rows of each class at these positions among the rows of the class."""
    chosen = []
    for label in places:
        rows = np.flatnonzero(dataset.train_y == label)
        if len(rows) < positions.stop:
            raise ValueError(
                f"class {label} has only {len(rows)} rows, and this sample ends with row {positions.stop} of the class"
            )
        chosen.append(rows[positions.start : positions.stop])
    return chosen


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
