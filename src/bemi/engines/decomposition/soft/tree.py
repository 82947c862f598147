"""Branch and bound over the weights of one output: boxes, each with the multipliers of its linear program.

A node is a box of weights.  The node with the lowest bound is split at one weight into two boxes, until the lowest
bound is close enough to the best weights, or a limit is reached.  The certificate is the tree itself with the
multipliers of its leaves: a leaf's bound is recomputed exactly from them, and the lowest one holds for all weights.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from bemi.engines.decomposition.soft.program import LinearProgram, Relaxed
from bemi.engines.decomposition.soft.search import Search
from bemi.engines.decomposition.soft.terms import Floats, SoftRows
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.stages.result import Outcome

NODES = 4000
"""Maximum splits without a node limit."""

_FIRST_LOOK = 32  # splits after which progress is judged for the first time
_ITERATIONS = 5000  # of the simplex method at a node
_SEARCH_EVERY = 8  # splits between two descents from a node's weights
_MULTIPLIERS = 200_000  # in all leaves of a proof
_DEPTH = 200  # of a proof
_WHOLE = 1e-6  # a weight with less spread than this has one value


class Ending(Enum):
    """Why a tree stopped growing; all but the first have a message."""

    REACHED = ""
    LIMIT = Outcome.LIMIT.sentence
    STALLED = "the bound rises too slowly to reach the requested gap"
    LONG_PROOF = "the proof has reached its largest size"
    UNDIVIDED = "the weakest part of the proof cannot be divided further"


@dataclass
class Node:
    """A box, the bound over it and the multipliers that prove it; ``bound`` is None if no weights fit the box."""

    low: Integers
    high: Integers
    depth: int
    bound: Fraction | None
    numerators: Integers
    relaxed: Relaxed
    split: tuple[int, int] | None = None
    children: list[Node] = field(default_factory=list)

    def proof(self, soft: SoftRows) -> dict[str, Any]:
        """The tree below as the certificate writes it."""
        if self.split is None:
            return {"multipliers": [] if self.bound is None else soft.multipliers(self.numerators)}
        return {"split": list(self.split), "children": [child.proof(soft) for child in self.children]}


class Gains:
    """By how much splits of each weight raised the bound, per unit that its mean had to move."""

    def __init__(self, inputs: int) -> None:
        self._sums, self._counts = np.zeros((2, inputs)), np.zeros((2, inputs))

    def learn(self, weight: int, side: int, gain: float, moved: float) -> None:
        """Remember the gain of a child; ``side`` is 0 for the lower one."""
        self._sums[side, weight] += max(0.0, gain) / max(moved, 0.05)
        self._counts[side, weight] += 1

    def expected(self, moves: Floats) -> Floats:
        """The product of both children's expected gains, for each weight; ``moves`` has one line per side."""
        mean = self._sums.sum() / max(1.0, self._counts.sum()) or 1.0
        each = (self._sums + mean) / (self._counts + 1)
        gains = np.maximum(each * moves, 1e-9)
        return gains[0] * gains[1]


class Tree:
    """The tree of one output, and the best weights found.

    Parameters
    ----------
    soft, program, search
        The output, its linear program, and the search for better weights.
    weights
        The best weights so far.
    root
        All weights, with the bound and the solution of the linear program over them.
    """

    def __init__(self, soft: SoftRows, program: LinearProgram, search: Search, weights: Integers, root: Node) -> None:
        self._soft, self._program, self._search = soft, program, search
        self.weights, self.value = weights, soft.value(weights)
        assert root.bound is not None
        self.root = root
        self._open: list[tuple[Fraction, int, Node]] = [(root.bound, 0, root)]
        self._closed: list[Fraction] = []  # bounds of leaves that cannot be split
        self._multipliers = 0
        self._gains = Gains(len(weights))
        self.splits = 0

    @property
    def bound(self) -> Fraction:
        """No weights have a smaller objective."""
        return min(self._closed + [entry[0] for entry in self._open[:1]])

    def grow(self, gap: float, nodes: int, deadline: Deadline) -> Ending:
        """Split until the relative gap is reached, a limit is reached, or the gap is out of reach within the limits."""
        looked, before = 0, float(self.bound)
        while True:
            bound, wanted = float(self.bound), self.value - gap * max(1.0, self.value)
            if bound >= wanted:
                return Ending.REACHED
            if deadline.passed or self.splits >= nodes:
                return Ending.LIMIT
            if self._multipliers >= _MULTIPLIERS:
                return Ending.LONG_PROOF
            if not self._open or bound < float(self._open[0][0]):
                return Ending.UNDIVIDED
            if self.splits >= max(_FIRST_LOOK, 2 * looked):
                rise = (bound - before) / (self.splits - looked)
                if bound + rise * (nodes - self.splits) < wanted:
                    return Ending.STALLED
                looked, before = self.splits, bound
            self._expand(deadline)

    def _expand(self, deadline: Deadline) -> None:
        """Split the node with the lowest bound."""
        bound, _, node = heapq.heappop(self._open)
        choice = None if node.depth >= _DEPTH else self._choice(node)
        if choice is None:
            self._closed.append(bound)
            return
        weight, value = choice
        self.splits += 1
        # Only leaves list their multipliers.
        self._multipliers -= int(np.count_nonzero(node.numerators)) if node.depth else 0
        for side in (0, 1):
            low, high = node.low.copy(), node.high.copy()
            if side:
                low[weight] = value + 1
            else:
                high[weight] = value
            child = self._child(node, low, high, deadline)
            node.children.append(child)
            if child.bound is not None:
                mean = node.relaxed.weights[weight]
                moved = value + 1 - mean if side else mean - value
                self._gains.learn(weight, side, float(child.bound - bound), moved)
                heapq.heappush(self._open, (child.bound, 2 * self.splits + side, child))
                self._multipliers += int(np.count_nonzero(child.numerators))
        node.split = choice
        if self.splits % _SEARCH_EVERY == 0:
            self._improve(node.children[0].relaxed.weights, deadline)

    def _choice(self, node: Node) -> tuple[int, int] | None:
        """The weight to split and the largest value of its lower part; None if all weights have one value."""
        relaxed = node.relaxed
        mean = np.clip(relaxed.weights, node.low, node.high)
        open_ = (relaxed.spread > _WHOLE) & (node.low < node.high)
        if not open_.any():
            return None
        # A link that is there only in part is first put in or taken out.
        partial = (relaxed.links > _WHOLE) & (relaxed.links < 1 - _WHOLE) & (self._soft.max_links is not None)
        below = np.where(partial, np.where(mean > 0, 0, -1), np.floor(mean)).astype(np.int64)
        below = np.clip(below, node.low, np.maximum(node.low, node.high - 1))
        moves = np.stack([mean - below, np.maximum(below + 1 - mean, 0.1)])
        score = np.where(open_, self._gains.expected(moves), -np.inf)
        if self._soft.max_links is not None:
            score = np.where(open_, relaxed.spread, -np.inf)
        weight = int(np.argmax(score))
        return weight, int(below[weight])

    def _child(self, node: Node, low: Integers, high: Integers, deadline: Deadline) -> Node:
        """A part of a node's box, with the better of its own and its parent's multipliers."""
        soft = self._soft
        inherited = soft.proved(node.numerators, low, high)
        if inherited is None or deadline.passed or float(inherited) >= self.value:
            return Node(low, high, node.depth + 1, inherited, node.numerators, node.relaxed)
        relaxed = self._program.solve(low, high, deadline, _ITERATIONS)
        numerators = soft.numerators(relaxed.prices)
        bound = soft.proved(numerators, low, high)
        if bound is None or bound < inherited:
            bound, numerators = inherited, node.numerators
        return Node(low, high, node.depth + 1, bound, numerators, relaxed)

    def _improve(self, near: Floats, deadline: Deadline) -> None:
        weights, value = self._search.rounded(near, deadline)
        if value < self.value - 1e-9:
            self.weights, self.value = weights, value
