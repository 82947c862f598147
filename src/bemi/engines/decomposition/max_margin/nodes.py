"""The search over dichotomies: its fixed data, its limits, partially assigned neurons, and the nodes that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bemi.engines.decomposition.max_margin.upper import upper_bounds
from bemi.engines.decomposition.neuron.linear_program import Floats, NeuronBound, NeuronLP, Signs
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.problem.problem import Problem

if TYPE_CHECKING:
    from bemi.engines.decomposition.max_margin.shapes import ShapeTree


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


Groups = Integers
"""A number for each row; rows with the same number get the same sign."""


class PartialNeuron:
    """Signs, groups of rows that must be equal, and the best bound known for one neuron; never changed in place.

    Attributes
    ----------
    signs
        -1, 1, or 0 if the row is still free.
    group
        Rows with the same number must get the same sign.
    known
        Last solution of the linear program, for these signs or fewer, or None.
    bound
        Upper bound on the margin of this neuron.
    listed
        Number of shortlist members examined for these signs and groups, or None.
    """

    __slots__ = ("bound", "caps", "group", "key", "known", "listed", "signed", "signs")

    def __init__(
        self, signs: Signs, group: Groups, known: NeuronBound | None, bound: int, listed: int | None = None
    ) -> None:
        self.signs, self.group, self.known, self.bound = signs, group, known, bound
        self.key = signs.tobytes() + group.tobytes()
        self.signed = bool(signs.any())
        self.listed = listed
        self.caps: tuple[Integers, Integers, Floats] | None = None

    def assign(self, row: int, sign: int) -> PartialNeuron | None:
        """The neuron with this sign on the group of the row; None if that is a contradiction."""
        if self.signs[row] == sign:
            return self
        if self.signs[row] == -sign:
            return None
        signs = self.signs.copy()
        signs[self.group == self.group[row]] = sign
        return PartialNeuron(signs, self.group, self.known, self.bound)

    def separate(self, a: int, b: int, sign: int) -> PartialNeuron | None:
        """The neuron with this sign on a and the other one on b."""
        new = self.assign(a, sign)
        return None if new is None else new.assign(b, -sign)

    def equate(self, a: int, b: int) -> PartialNeuron | None:
        """The neuron that gives a and b the same sign."""
        if self.group[a] == self.group[b]:
            return self
        sign_a, sign_b = self.signs[a], self.signs[b]
        if sign_a * sign_b < 0:
            return None
        group = joined(self.group, a, b)
        signs = self.signs
        if sign_a != sign_b:
            signs = signs.copy()
            signs[group == group[a]] = sign_a or sign_b
        return PartialNeuron(signs, group, self.known, self.bound)

    def can_separate(self, a: Any, b: Any) -> Any:
        """Whether a and b (rows, or arrays of them) may still get different signs."""
        return (self.signs[a] * self.signs[b] == 0) & (self.group[a] != self.group[b])

    def orientations(self, a: int, b: int) -> list[int]:
        """Possible signs of a if the neuron separates a and b.

        A neuron without any sign may be flipped, so one orientation stands for both.
        """
        if not self.can_separate(a, b):
            return []
        if self.signs[a] or self.signs[b]:
            return [int(self.signs[a] or -self.signs[b])]
        return [1, -1] if self.signed else [1]


def joined(group: Groups, a: int, b: int) -> Groups:
    """Groups with those of a and b merged."""
    low, high = sorted((group[a], group[b]))
    return np.where(group == high, low, group)


@dataclass(eq=False)
class LabelBounds:
    """What is known about neurons by their labels, see :mod:`~bemi.engines.decomposition.max_margin.shapes`.

    Attributes
    ----------
    marked
        One row of each code.
    bounds
        Bound on the margin of a neuron, for every label.
    solutions, solved_on
        Of the labels solved so far: the last solution, and the number of rows in the core at that time.
    shapes
        Bounds on single shapes, by their number, that are better than the sums of their labels' bounds.
    trees, step
        The trees from which these follow and their step in the proof, if they belong to this node and not to an earlier
        one.
    """

    marked: list[int]
    bounds: Integers
    solutions: dict[int, NeuronBound]
    solved_on: dict[int, int]
    shapes: dict[int, int]
    trees: dict[int, ShapeTree] = field(default_factory=dict)
    step: list[Any] | None = None

    def copy(self) -> LabelBounds:
        """A copy that a child may change."""
        return LabelBounds(
            self.marked, self.bounds.copy(), dict(self.solutions), dict(self.solved_on), dict(self.shapes)
        )


@dataclass(eq=False)
class Node:
    """A node of the search.

    Attributes
    ----------
    neurons
        One partial neuron per first-layer neuron.
    components
        By tier, the groups that all neurons of that tier and higher ones share.
    upper
        Bound on the margins of the upper layers.
    log
        Deductions made here, in the certificate's format; children's logs are nested in their parent's.
    total
        Bound on the whole objective.
    looked
        By tier, the threshold up to which merges were tried.
    floors
        Lower bounds on the margins of the neurons in this node.
    together
        Bound on the margins of all splitting neurons together; None if there is none but those of each.
    labels
        The bounds by label from which that follows.
    """

    neurons: list[PartialNeuron]
    components: dict[int, Groups]
    upper: int
    log: list[Any]
    total: int = 0
    depth: int = 0
    looked: dict[int, int] = field(default_factory=dict)
    floors: dict[int, int] = field(default_factory=dict)
    together: int | None = None
    labels: LabelBounds | None = None

    def child(self) -> Node:
        """A copy to branch on, with an empty log."""
        return Node(
            list(self.neurons),
            self.components,
            self.upper,
            [],
            self.total,
            self.depth + 1,
            self.looked,
            self.floors,
            self.together,
            self.labels,
        )


def most_violated(sums: Floats, signs: Signs, group: Groups) -> tuple[int | None, float, float]:
    """The free group whose better sign has the smallest margin under these pre-activations.

    Returns a row of it (None if nothing is free), that margin, and the margin of the completed dichotomy.
    """
    free, fixed = np.flatnonzero(signs == 0), np.flatnonzero(signs)
    done = float((signs[fixed] * sums[fixed]).min()) if fixed.size else np.inf
    if not free.size:
        return None, np.inf, done
    low, high = np.full(sums.size, np.inf), np.full(sums.size, -np.inf)
    np.minimum.at(low, group[free], sums[free])
    np.maximum.at(high, group[free], sums[free])
    best = np.maximum(low[group[free]], -high[group[free]])
    worst = int(np.argmin(best))
    return int(free[worst]), float(best[worst]), min(done, float(best[worst]))
