"""The fixed data of the search over dichotomies, and its limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bemi.engines.decomposition.max_margin.upper import upper_bounds
from bemi.engines.decomposition.neuron.linear_program import NeuronLP, Signs
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.problem.problem import Problem


class OutOfBudget(Exception):
    """The node or time limit is reached."""


class Budget:
    """Counts nodes and watches the clock; a run that the clock does not end is deterministic."""

    def __init__(self, nodes: int | None = None, deadline: Deadline | None = None) -> None:
        self.used = 0
        self.nodes = nodes
        self.deadline = Deadline() if deadline is None else deadline

    @property
    def spent(self) -> bool:
        """Whether the nodes or the time are used up."""
        return (self.nodes is not None and self.used >= self.nodes) or self.deadline.passed

    def spend(self) -> None:
        """Use one node; raises :class:`OutOfBudget` if none is left."""
        if self.spent:
            raise OutOfBudget
        self.used += 1

    def part(self, share: float) -> Budget:
        """A share of what is left."""
        nodes = None if self.nodes is None else int(share * max(0, self.nodes - self.used))
        return Budget(nodes, self.deadline.share(share))


class Instance:
    """Rows, codes, pairs of rows with different codes, distances, and the bound on the upper layers.

    Attributes
    ----------
    code_of, n_codes
        Number of each row's code, and how many codes there are.
    pair_a, pair_b, code_distance
        All pairs of rows with different codes, and in how many outputs the codes of each pair differ.
    alike
        All pairs of rows with equal codes.
    distance
        L1 distances between rows; a neuron that separates two rows has at most half of P times theirs as its margin.
    upper
        ``upper[h, d]``: see :func:`bemi.engines.decomposition.max_margin.upper.upper_bounds`.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.lp = NeuronLP(problem.data, problem.weight_bound)
        self.rows = len(problem.data)
        self.neurons = problem.layers[1]
        self.weight_bound = problem.weight_bound
        _, code_of = np.unique(problem.codes, axis=0, return_inverse=True)
        self.code_of = code_of.reshape(-1)
        self.n_codes = int(self.code_of.max()) + 1
        a, b = np.triu_indices(self.rows, 1)
        different = self.code_of[a] != self.code_of[b]
        self.pair_a, self.pair_b = a[different], b[different]
        self.alike = np.stack([a[~different], b[~different]])
        self.code_distance = (problem.codes[self.pair_a] != problem.codes[self.pair_b]).sum(axis=1)
        self.distance = np.stack([np.abs(problem.data - row).sum(axis=1) for row in problem.data])
        self.upper = upper_bounds(problem.layers, problem.weight_bound)

    def margin(self, signs: Signs) -> int:
        """Largest integer margin that the linear program allows a neuron with these signs."""
        return self.lp.solve(np.ascontiguousarray(signs)).bound

    def upper_everywhere(self) -> int:
        """Bound on the upper layers for any first layer."""
        if self.n_codes == 1:
            return self.weight_bound * sum(a * b for a, b in pairwise(self.problem.layers[1:]))
        return int(min(self.upper[1:, d].max() for d in np.unique(self.code_distance)))

    def separations(self, signs: Signs) -> Integers:
        """How many neurons (columns of ``signs``) separate each pair of rows with different codes."""
        return (signs[self.pair_a] != signs[self.pair_b]).sum(axis=1)

    def upper_of(self, signs: Signs) -> int | None:
        """Bound on the upper layers for complete first-layer signs; None if there is no such network."""
        if self.n_codes == 1:
            return self.upper_everywhere()
        count = self.separations(signs)
        if (count == 0).any() or self.opposed(signs) is not None:
            return None
        return int(self.upper[count, self.code_distance].min())

    def opposed(self, signs: Signs) -> tuple[int, int] | None:
        """Two rows with equal codes that every neuron separates, if any.

        No layer has a bias and no sum may be 0, so opposite signs in the first layer mean opposite signs in all layers.
        """
        a, b = self.alike
        found = np.flatnonzero((signs[a] * signs[b] < 0).all(axis=1))
        return (int(a[found[0]]), int(b[found[0]])) if found.size else None
