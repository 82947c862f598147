"""A stand-in for an ensemble that trains in milliseconds: pairwise continuous machines that vote as networks do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.soft.resolution import TARGETS
from bemi.ensemble.subsets import class_subsets
from bemi.ensemble.ties import TIES
from bemi.ensemble.voting import vote
from bemi.exact import Integers

Floats = NDArray[np.float64]

_SWEEPS = 300
_TOLERANCE = 1e-3
_EVIDENCE = 2**24


class Lesson(NamedTuple):
    """Training rows of the machines.

    Attributes
    ----------
    inputs
        What the networks see, shape (rows, inputs).
    targets
        Class indices.
    weights
        Row weights.
    """

    inputs: Integers
    targets: Integers
    weights: Floats

    def extended(self, variants: Integers) -> Lesson:
        """The same rows and variants of them, shape (rows, variants, inputs); each counts as much as its row."""
        count = variants.shape[1]
        return Lesson(
            np.concatenate([self.inputs, variants.reshape(-1, variants.shape[2])]),
            np.concatenate([self.targets, np.repeat(self.targets, count)]),
            np.concatenate([self.weights, np.repeat(self.weights, count)]),
        )


def labels(
    lesson: Lesson, tested: Integers, prices: Sequence[float], *, classes: int, hinges: int
) -> Iterator[Integers]:
    """Class indices that machines trained at each price give to the tested inputs.

    Prices should increase: each machine starts from the one before.
    """
    # Imported here because Numba is slow to import.
    from bemi.training.choosing.svm_kernel import solve

    rows = lesson.inputs / np.maximum(1.0, np.floor(np.linalg.norm(lesson.inputs, axis=1)))[:, None]
    gram = rows @ rows.T
    pairs = class_subsets(classes, 2)
    pairs = pairs[np.isin(pairs, lesson.targets).all(axis=1)]
    own = [np.flatnonzero(np.isin(lesson.targets, pair)) for pair in pairs]
    signs = [np.where(lesson.targets[mine] == first, 1.0, -1.0) for mine, (first, _) in zip(own, pairs, strict=True)]
    grams = [gram[np.ix_(mine, mine)] * np.outer(s, s) for mine, s in zip(own, signs, strict=True)]
    multipliers = [np.zeros(len(mine)) for mine in own]
    goals = np.array(TARGETS[hinges])
    for price in prices:
        columns = []
        for mine, s, products, a in zip(own, signs, grams, multipliers, strict=True):
            solve(products, price * lesson.weights[mine], goals, a, _SWEEPS, _TOLERANCE)
            columns.append((a * s) @ rows[mine])
        yield _voted(tested, np.stack(columns, axis=1), pairs, classes)


def _voted(tested: Integers, weights: Floats, pairs: Integers, classes: int) -> Integers:
    """Class indices by the majority of pairs, ties by margin as in an ensemble."""
    scores = tested @ weights
    votes = np.where(scores >= 0, pairs[:, 0], pairs[:, 1])
    norms = np.maximum(np.abs(weights).sum(axis=0), np.finfo(np.float64).tiny)
    largest = max(1.0, float(np.abs(tested).max(initial=0)))

    def evidence(chosen: Integers) -> Integers:
        return (np.abs(scores[chosen]) / norms / largest * _EVIDENCE).astype(np.int64)

    return vote(votes, pairs, classes, ties=TIES["margin"], evidence=evidence).label
