"""Quick stand-ins for the networks that training would give, for cross-validation.

A network without restrictions labels new rows nearly as the continuous SVM does, which takes milliseconds.  A limit
on links, monotone features or weights of two bits change the labels, so these SVMs obey them: integer weights,
rounded from a continuous SVM with the same limits and improved by descents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.soft.resolution import TARGETS, choose_resolution
from bemi.ensemble.subsets import class_subsets
from bemi.ensemble.ties import TIES
from bemi.ensemble.voting import vote
from bemi.exact import Integers, signed
from bemi.inputs.inputs import Inputs
from bemi.limits import Deadline
from bemi.problem.problem import Problem, signs_towards_later_classes
from bemi.training.training_set import in_units

COARSE = 3
"""Up to this weight bound, rounding changes the labels."""

MOST_PRODUCTS = 2000
"""Of more rows, the products of all pairs of rows take too much memory."""

Floats = NDArray[np.float64]

_SWEEPS = 300
_TOLERANCE = 1e-3
_EVIDENCE = 2**24
_LEAST_WEIGHT = 2**-16  # of a row, beside the largest; the integer program has a unit


class SvmRows(NamedTuple):
    """Training rows of the SVMs.

    Attributes
    ----------
    inputs
        What the networks see, shape (rows, inputs).
    targets
        Class indices.
    weights
        Row weights.
    """

    inputs: NDArray[np.integer]
    targets: Integers
    weights: Floats

    def extended(self, variants: NDArray[np.integer]) -> SvmRows:
        """The same rows and variants of them, shape (rows, variants, inputs); each counts as much as its row."""
        count = variants.shape[1]
        return SvmRows(
            np.concatenate([self.inputs, variants.reshape(-1, variants.shape[2])]),
            np.concatenate([self.targets, np.repeat(self.targets, count)]),
            np.concatenate([self.weights, np.repeat(self.weights, count)]),
        )


@dataclass(frozen=True, eq=False)
class Restrictions:
    """What the networks must obey.

    Attributes
    ----------
    weight_bound, hinges, max_links
        As in training.
    signs
        The sign that the weights of each input must have, shape (inputs, 1); None if all may have both.
    uncounted
        Inputs whose links do not count.
    """

    weight_bound: int
    hinges: int
    max_links: int | None
    signs: Integers | None
    uncounted: tuple[int, ...]

    @classmethod
    def of(cls, settings: Mapping[str, Any], inputs: Inputs) -> Restrictions:
        """The restrictions that settings of training mean for these inputs."""
        directions = inputs.directions(settings["monotone"])
        return cls(
            int(settings["weight_bound"]),
            int(settings["hinges"]),
            settings["max_links"],
            None if directions is None else signs_towards_later_classes(directions)[:, None],
            inputs.constant_inputs,
        )

    @property
    def matter(self) -> bool:
        """Whether they change labels, so that the continuous SVM will not do."""
        return self.max_links is not None or self.signs is not None or self.weight_bound <= COARSE


class Answers(NamedTuple):
    """What SVMs say of some rows.

    Attributes
    ----------
    labels
        Class indices.
    scores
        Of every pair of classes, positive for the first, shape (rows, pairs).
    pairs
        Class indices of the pairs.
    norms
        Sum of the sizes of the weights of each pair.
    """

    labels: Integers
    scores: Floats
    pairs: Integers
    norms: Floats

    def among_others(self, targets: Integers) -> Integers:
        """Class indices by the pairs without each row's own class, as if training had not had that; ties go to the
        first."""
        wins = np.zeros((len(targets), int(self.pairs.max()) + 1))
        for pair, scores in zip(self.pairs, self.scores.T, strict=True):
            rows = np.flatnonzero(~np.isin(targets, pair))
            wins[rows, np.where(scores[rows] >= 0, *pair)] += 1
        return wins.argmax(axis=1)

    def in_order(self, targets: Integers, weights: Floats) -> Floats:
        """With which share of the rows of other classes each row is in the right order, by the scores of their pair.

        Its mean over the rows of a class is an area under the curve.
        """
        total, pairs = np.zeros(len(targets)), np.zeros(len(targets))
        for (first, second), scores in zip(self.pairs, self.scores.T, strict=True):
            above, below = np.flatnonzero(targets == first), np.flatnonzero(targets == second)
            if not weights[above].any() or not weights[below].any():
                continue
            order = (np.sign(scores[above][:, None] - scores[below]) + 1) / 2
            total[above] += np.average(order, axis=1, weights=weights[below])
            total[below] += np.average(order, axis=0, weights=weights[above])
            pairs[above] += 1
            pairs[below] += 1
        return np.divide(total, pairs, where=pairs > 0, out=np.full(len(targets), 0.5))


def answers(
    svm_rows: SvmRows, tested: NDArray[np.integer], prices: Sequence[float], *, classes: int, restrictions: Restrictions
) -> Iterator[Answers]:
    """What SVMs trained at each price say of the tested inputs.

    Prices should increase: each continuous SVM starts from the one before.
    """
    pairs = class_subsets(classes, 2)
    pairs = pairs[np.isin(pairs, svm_rows.targets).all(axis=1)]
    weights = _integers if restrictions.matter or len(svm_rows.targets) > MOST_PRODUCTS else _continuous
    for columns in weights(svm_rows, pairs, prices, restrictions):
        scores = tested @ columns
        norms = np.maximum(np.abs(columns).sum(axis=0), np.finfo(np.float64).tiny)
        yield Answers(_voted(tested, scores, norms, pairs, classes), scores, pairs, norms)


def _continuous(
    svm_rows: SvmRows, pairs: Integers, prices: Sequence[float], restrictions: Restrictions
) -> Iterator[Floats]:
    """Weights of all pairs, shape (inputs, pairs), for each price."""
    # Imported here because Numba is slow to import.
    from bemi.training.svm_kernel import solve

    rows = svm_rows.inputs / np.maximum(1.0, np.floor(np.linalg.norm(svm_rows.inputs, axis=1)))[:, None]
    gram = rows @ rows.T
    own = [np.flatnonzero(np.isin(svm_rows.targets, pair)) for pair in pairs]
    signs = [np.where(svm_rows.targets[mine] == first, 1.0, -1.0) for mine, (first, _) in zip(own, pairs, strict=True)]
    grams = [gram[np.ix_(mine, mine)] * np.outer(s, s) for mine, s in zip(own, signs, strict=True)]
    multipliers = [np.zeros(len(mine)) for mine in own]
    goals = np.array(TARGETS[restrictions.hinges])
    for price in prices:
        columns = []
        for mine, s, products, a in zip(own, signs, grams, multipliers, strict=True):
            solve(products, price * svm_rows.weights[mine], goals, a, _SWEEPS, _TOLERANCE)
            columns.append((a * s) @ rows[mine])
        yield np.stack(columns, axis=1)


def _integers(
    svm_rows: SvmRows, pairs: Integers, prices: Sequence[float], restrictions: Restrictions
) -> Iterator[Floats]:
    """The same with integer weights that obey the restrictions."""
    # Imported here because Numba is slow to import.
    from bemi.engines.decomposition.soft.search import Search
    from bemi.engines.decomposition.soft.terms import soft_rows

    r = restrictions
    weights = in_units(np.maximum(svm_rows.weights, _LEAST_WEIGHT * svm_rows.weights.max(initial=1.0)))
    for price in prices:
        columns = []
        for first, second in pairs:
            mine = np.flatnonzero(np.isin(svm_rows.targets, (first, second)))
            problem = Problem(
                signed(svm_rows.inputs[mine]),
                np.where(svm_rows.targets[mine] == first, 1, -1)[:, None],
                (),
                r.weight_bound,
                row_weights=None if weights is None else weights[mine],
                signs=r.signs,
                uncounted=r.uncounted,
            )
            soft, network = choose_resolution(problem, price, r.hinges, r.max_links)
            own = network.weights[0][:, 0].copy()
            if r.matter:
                # Without time a descent still makes its least effort, and always the same.
                Search.of(soft_rows(replace(problem, soft=soft), 0)).descend(own, Deadline.after(0.0))
            columns.append(own)
        yield np.stack(columns, axis=1).astype(np.float64)


def _voted(tested: NDArray[np.integer], scores: Floats, norms: Floats, pairs: Integers, classes: int) -> Integers:
    """Class indices by the majority of pairs, ties by margin as in an ensemble."""
    votes = np.where(scores >= 0, pairs[:, 0], pairs[:, 1])
    largest = max(1.0, float(tested.max(initial=0)), -float(tested.min(initial=0)))

    def evidence(chosen: Integers) -> Integers:
        return (np.abs(scores[chosen]) / norms / largest * _EVIDENCE).astype(np.int64)

    return vote(votes, pairs, classes, ties=TIES["margin"], evidence=evidence).label
