"""Loaded data sets, and which of their rows train and which test.

Few-shot samples are random, each determined by a seed and its index, or the paper's; splits of tables and signals are
determined by their name and an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from bemi.checks import check_choice, check_integer

PAPER_SAMPLES = 5
"""Samples of each size in the paper."""

TEST_ROWS = 800
"""Rows per class that a sample takes from a data set's test part."""

RULES = ("random", "paper")
"""How :func:`sample` chooses training rows."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and labels of a training and a test part.

    Images are rows of integers, which ``shape`` turns back into images; windows of signals have the shape (windows,
    samples, channels); tables with text are DataFrames; other rows are floats.  NaN is a missing value.  If the
    publishers did not set test rows apart, all rows are in the training part.  ``groups`` says whom a row comes from,
    where that is known.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> iris = datasets.load("iris")
    >>> iris.class_names, len(iris.table)
    (('setosa', 'versicolor', 'virginica'), 150)
    """

    name: str
    train_X: Any
    train_y: NDArray[Any]
    test_X: Any
    test_y: NDArray[Any]
    shape: tuple[int, int] | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    groups: NDArray[Any] | None = None

    @classmethod
    def without_test(cls, name: str, X: Any, y: NDArray[Any], **more: Any) -> Dataset:
        """A data set whose rows are all in the training part.

        Examples
        --------
        >>> own = datasets.Dataset.without_test("own", iris.train_X[:100], iris.train_y[:100])
        >>> own.has_test
        False
        """
        return cls(name, X, y, X[:0], y[:0], **more)

    @property
    def has_test(self) -> bool:
        """Whether the set comes with a test part."""
        return len(self.test_y) > 0

    @property
    def table(self) -> pd.DataFrame:
        """The training part as a table."""
        columns = list(self.feature_names) if self.feature_names else None
        return self.train_X if isinstance(self.train_X, pd.DataFrame) else pd.DataFrame(self.train_X, columns=columns)


@dataclass(frozen=True, eq=False)
class Sample:
    """Training and test rows; ``disjoint`` says that samples of different indices share no training row.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> few = datasets.sample(datasets.load("iris"), 5, 0)
    >>> few.train_X.shape, few.test_X.shape
    ((15, 4), (135, 4))
    """

    train_X: Any
    train_y: NDArray[Any]
    test_X: Any
    test_y: NDArray[Any]
    disjoint: bool = False


def draw(labels: ArrayLike, per_class: int, seed: int) -> NDArray[np.intp]:
    """Indices of a few-shot sample: ``per_class`` rows of every class, uniformly at random, classes in order.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> labels = datasets.load("iris").train_y
    >>> labels[datasets.draw(labels, 2, seed=0)].tolist()
    [0, 0, 1, 1, 2, 2]
    """
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
    """The sample of the given index, from 0: ``per_class`` training rows of each class, or of some ``classes``.

    If the data set has a test part, samples of different indices share no training row, and each is tested on the first
    800 test rows of each class.  If it has none, samples are tested on all other rows, and random ones are drawn
    independently.  A sample does not depend on how many others are drawn, nor do the rows of a class on which others
    are kept.

    By the rule ``"random"``, rows are drawn uniformly by the seed.  By ``"paper"`` they are the paper's
    (:func:`paper_positions`), which depend on the ``sizes`` of all samples in its experiment instead.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> datasets.sample(datasets.load("iris"), 5, 0, classes=(0, 2)).train_y.tolist()
    [0, 0, 0, 0, 0, 2, 2, 2, 2, 2]
    """
    check_integer("per_class", per_class, 1)
    check_integer("index", index, 0)
    check_choice("rule", rule, RULES)
    places = _positions(dataset, classes)
    if rule == "paper":
        chosen = _paper_rows(dataset, places, paper_positions(per_class, index, sizes))
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

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> halves = datasets.split(datasets.load("iris"), 0, rows=100, test=50)
    >>> len(halves.train_y), len(halves.test_y)
    (50, 50)
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
    return Sample(X[train], y[train], X[held_out], y[held_out])


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


def paper_positions(per_class: int, index: int, sizes: Sequence[int] | None) -> range:
    """Positions of one of the paper's five samples among the training images of each class, in the files' order.

    With sizes S, all of an experiment in its order, sample z of size S[i] starts at
    ``5 (S[0] + ... + S[i-1]) + S[i] z``, where the samples of the smaller sizes and the earlier ones of this size end.
    No two samples share an image.
    """
    if not sizes:
        raise ValueError("the paper's images depend on all sizes of an experiment; give them, such as (10, 20, 30, 40)")
    if min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise ValueError(f"sizes must be positive and different, got {_listed(sizes)}")
    if per_class not in sizes:
        raise ValueError(f"the paper's images come in samples of {_listed(sizes)} per class, got {per_class}")
    if index not in range(PAPER_SAMPLES):
        raise ValueError(
            f"the paper has {PAPER_SAMPLES} samples of each size, numbered 0 to {PAPER_SAMPLES - 1}, got {index}"
        )
    start = PAPER_SAMPLES * sum(sizes[: list(sizes).index(per_class)]) + per_class * index
    return range(start, start + per_class)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


MOST_TESTED, MOST_WINDOWS_TESTED = 1000, 200
"""Rows of a table, in cross-validation all of them, and windows of a signal that a split takes to test at most."""

TRAINING_SHARE = 0.7
"""Of the rows of a class, or of a table, that a few-shot sample may take."""

FOLDS = 5

PUBLISHED = "published"
"""Name of the split into the publishers' training and test rows."""

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """A way to divide a data set into training and test rows, by its name.

    ``per-class-20``: 20 training rows of every class.  ``random-40``: 40 rows whatever their class.  ``fold``:
    five-fold cross-validation of at most 1,000 rows.  ``published``: all of the publishers'
    training and test rows.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> iris = datasets.load("iris")
    >>> split = datasets.Split.parse("per-class-20")
    >>> split.title
    '20 per class'
    """

    name: str
    kind: str
    rows: int

    @classmethod
    def parse(cls, name: str) -> Split:
        """The split of that name.

        Examples
        --------
        >>> datasets.Split.parse("fold").samples
        5
        """
        kind, _, rows = name.rpartition("-")
        if name == "fold":
            return cls(name, name, FOLDS)
        if name == PUBLISHED:
            return cls(name, name, 1)
        if kind in ("per-class", "random") and rows.isdigit() and int(rows):
            return cls(name, kind, int(rows))
        raise ValueError(f"unknown split {name!r}; known: per-class-N, random-N, fold and {PUBLISHED}")

    @property
    def title(self) -> str:
        """For people."""
        words = {"fold": f"{FOLDS}-fold", "per-class": f"{self.rows} per class", "random": f"{self.rows} random rows"}
        words[PUBLISHED] = "all rows"
        return words[self.kind]

    @property
    def samples(self) -> int | None:
        """How many there are, None for any number."""
        return self.rows if self.kind in ("fold", PUBLISHED) else None

    def of_images(self, dataset: Dataset, index: int, seed: int) -> Sample:
        """Training and test images: all of them, or a few-shot sample.

        Examples
        --------
        >>> split.of_images(datasets.load("digits"), 0, seed=0).train_X.shape
        (200, 64)
        """
        if self.kind == PUBLISHED:
            return Sample(dataset.train_X, dataset.train_y, dataset.test_X, dataset.test_y)
        return sample(dataset, self.rows, index, seed)

    def suits_table(self, labels: NDArray[Any]) -> bool:
        """Whether a table with these labels has enough rows: of its two largest classes, or in all.

        Examples
        --------
        >>> split.suits_table(iris.train_y)
        True
        """
        if self.kind == "per-class":
            room = sorted(int(TRAINING_SHARE * count) for count in np.unique(labels, return_counts=True)[1])
            return room[-2] >= self.rows
        return self.kind == "fold" or int(TRAINING_SHARE * len(labels)) >= self.rows

    def of_table(self, labels: NDArray[Any], index: int) -> tuple[Indices, Indices]:
        """Training and test rows of a table; the index is a seed, or the number of a fold.

        A class that has too few rows gives 70 % of them.

        Examples
        --------
        >>> train, test = split.of_table(iris.train_y, 0)
        >>> len(train), len(test)
        (60, 90)
        """
        if self.kind == "fold":
            rows = np.sort(np.random.default_rng(7).permutation(len(labels))[:MOST_TESTED])
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=3).split(rows, labels[rows])
            train, test = list(folds)[index]
            return rows[train], rows[test]
        if self.kind == "random":
            rng = np.random.default_rng(2000 + index)
            order = rng.permutation(len(labels))
            return order[: self.rows], _at_most(order[self.rows :], rng)
        rng = np.random.default_rng(1000 + index)
        train_parts, rest = [], []
        for label in np.unique(labels):
            order = rng.permutation(np.flatnonzero(labels == label))
            taken = min(self.rows, int(TRAINING_SHARE * len(order)))
            train_parts.append(order[:taken])
            rest.append(order[taken:])
        return np.concatenate(train_parts), _at_most(np.concatenate(rest), rng)

    def suits_windows(self, labels: NDArray[Any]) -> bool:
        """Whether every class has windows left to test.

        Examples
        --------
        >>> split.suits_windows(iris.train_y)
        True
        """
        if self.kind != "per-class":
            raise ValueError(f"windows are split by per-class-N, got {self.name!r}")
        return bool(np.unique(labels, return_counts=True)[1].min() > self.rows)

    def of_windows(self, labels: NDArray[Any], groups: NDArray[Any] | None, seed: int) -> tuple[Indices, Indices]:
        """Training and test windows, some of every class.

        Where it is known whom windows come from, those of one half of the people train, and those of the others test.

        Examples
        --------
        >>> train, test = split.of_windows(iris.train_y, None, seed=0)
        >>> len(train), len(test)
        (60, 90)
        """
        rng = np.random.default_rng(seed)
        pool = np.arange(len(labels))
        others: Indices | None = None
        if groups is not None:
            people = rng.permutation(np.unique(groups))
            first = np.isin(groups, people[: len(people) // 2])
            pool, others = np.flatnonzero(first), np.flatnonzero(~first)
        train = np.concatenate(
            [rng.permutation(pool[labels[pool] == label])[: self.rows] for label in np.unique(labels)]
        )
        rest = np.setdiff1d(pool, train) if others is None else others
        return train, rng.permutation(rest)[:MOST_WINDOWS_TESTED]


def _at_most(rows: Indices, rng: np.random.Generator) -> Indices:
    return rows if len(rows) <= MOST_TESTED else rng.permutation(rows)[:MOST_TESTED]
