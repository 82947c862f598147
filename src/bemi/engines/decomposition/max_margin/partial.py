"""Partially assigned neurons and the search nodes that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.shape_rows import ShapeTree
from bemi.engines.decomposition.neuron.linear_program import Floats, NeuronBound, Signs
from bemi.exact import Integers

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
