"""Max-Margin with one hidden layer and one output where two neurons do not suffice: two of three that are right.

In Sat-Margin's networks with P = 1 and five neurons, three of some four are right on every row.  Then two of any
three are, and constants fill the other places.  But Sat-Margin allows sums of 0 and Max-Margin does not, so neurons are
replaced one after the other.  A row needs the third neuron if exactly one of the other two is right on it; on all other
rows either sign will do.  If neurons have few weights, the one with the widest margin is found exactly, in about a
millisecond (:mod:`bemi.engines.decomposition.neuron.best_margin_search`).  Where none is right on all rows that need
it, one that is right on most takes its place (:mod:`bemi.engines.decomposition.neuron.best_agreement_search`).  If no
three neurons suffice, three of five may.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bemi.engines.decomposition.max_margin import few_splits
from bemi.engines.decomposition.neuron.best_agreement_search import best_agreement
from bemi.engines.decomposition.neuron.best_margin_search import neurons
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem

PATIENCE = 60
"""Replacements without a gain, while something is missing, after which a thorough search gives up."""

_ROOM = 8  # neurons among which one with few sums of 0 is chosen
_NEEDED, _OTHERS = 1 << 20, 4  # price of a row that needs the neuron; other rows decide between equals, by chance


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: a quick search, and a thorough one if that finds nothing."""
    assert state.start is not None
    deadline = limits.deadline()
    for patience in (0, PATIENCE):
        network = majority(
            problem, state.start, patience=patience, first_found=patience > 0, seed=limits.seed, deadline=deadline
        )
        if network is not None:
            return Finding(network)
    return Finding()


def majority(
    problem: Problem, start: Network, *, patience: int = 0, first_found: bool = False, seed: int, deadline: Deadline
) -> Network | None:
    """Three neurons of which two are right on every row, or five and three, with constants; None if none were found.

    Parameters
    ----------
    problem, start
        Rows for a network with one hidden layer of at least three neurons and one output, and a network whose neurons
        are the first that are tried.
    patience
        Replacements without a gain after which a search gives up; each neuron is replaced once in any case.
    first_found
        Whether the first network with margins will do; otherwise three neurons with wide margins are chosen.
    seed, deadline
        Seed of random choices, and when to stop.
    """
    size, bound = problem.layers[1], problem.weight_bound
    constant = neurons(problem.data, np.ones(len(problem.data), dtype=np.int64), 1)
    if not constant.margins.size:
        return None
    climb = _Climb(problem, patience, seed, deadline)
    output = start.weights[1][:, 0]
    ranked = np.argsort(output == 0, kind="stable")
    turned = (start.weights[0] * np.where(output < 0, -1, 1))[:, ranked]
    best: tuple[int, Network | None] = (0, None)
    for chosen in [*combinations(range(size), 3), range(size - 1 + size % 2)]:
        if best[1] is not None and (first_found or len(chosen) > 3):
            break
        found = climb.improved(turned[:, list(chosen)])
        margins = climb.margins(found)
        if margins > best[0]:
            first = np.repeat(bound * constant.weights[:, :1], size, axis=1)
            first[:, : len(chosen)] = found
            above = np.zeros((size, 1), dtype=np.int64)
            above[: len(chosen)] = bound
            best = margins, Network((first, above), bound)
    return best[1]


class _Climb:
    """Replaces the columns of a matrix, an odd number of neurons, one by one."""

    def __init__(self, problem: Problem, patience: int, seed: int, deadline: Deadline) -> None:
        self.patience, self.deadline = patience, deadline
        self.data, self.codes = problem.data, problem.codes[:, 0]
        # Weights of new neurons are multiples of this, so that there are few enough to try all.
        self.unit = few_splits.weight_unit(problem)
        self.bound = problem.weight_bound // self.unit
        self.rng = np.random.default_rng(seed)

    def missing(self, columns: Integers) -> int:
        """Rows on which fewer than half of the neurons are right, and sums of 0."""
        sums = self.codes[:, None] * (self.data @ columns)
        return int((2 * (sums > 0).sum(axis=1) < columns.shape[1]).sum() + (sums == 0).sum())

    def margins(self, columns: Integers) -> int:
        """Sum of the margins, or 0 if anything is missing."""
        return 0 if self.missing(columns) else int(np.abs(self.data @ columns).min(axis=0).sum())

    def improved(self, columns: Integers) -> Integers:
        """The neurons after replacements that leave less missing, and then have wider margins."""
        columns, idle, j = columns.copy(), 0, columns.shape[1] - 1
        while idle < max(columns.shape[1], self.patience if self.missing(columns) else 0) and not self.deadline.passed:
            tried = columns.copy()
            tried[:, j] = self._replacement(columns, j)
            gain = self.missing(columns) - self.missing(tried), self.margins(tried) - self.margins(columns)
            idle = 0 if gain > (0, 0) else idle + 1
            # Equally good neurons lead to different places.
            if gain >= (0, 0):
                columns = tried
            j = (j + 1) % columns.shape[1]
        return columns

    def _replacement(self, columns: Integers, j: int) -> Integers:
        """The widest neuron that is right on all rows that need it, else one that is right on most of them."""
        right = self.codes[:, None] * (self.data @ np.delete(columns, j, axis=1)) > 0
        needs = 2 * right.sum(axis=1) == columns.shape[1] - 1
        found = neurons(self.data, np.where(needs, self.codes, 0), self.bound)
        if found.margins.size:
            return self.unit * found.weights[:, 0]
        prices = self.rng.integers(0, _OTHERS, len(needs)) + _NEEDED * needs
        most = best_agreement(self.data, self.codes, prices, self.bound, room=_ROOM, strict=True)
        if not most.weights.size:
            return columns[:, j]
        equal = most.weights[:, most.values // _NEEDED == most.values[0] // _NEEDED]
        return self.unit * equal[:, np.argmin((self.data @ equal == 0).sum(axis=0))]
