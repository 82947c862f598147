"""The soft-margin stage: every output is one neuron, solved by a linear program, descents and a tree.

The continuous machine gives the first multipliers and weights to round.  The linear program of
:mod:`~bemi.engines.decomposition.soft.program` improves both.  If the gap is still too large, dives or kicks look for
better weights (:mod:`~bemi.engines.decomposition.soft.search`) and branch and bound for a better bound: a node is a box
of weights.  The node with the lowest bound is split at one weight into two boxes, until the lowest bound is close
enough to the best weights, or a limit is reached.  The certificate is the tree itself with the multipliers of its
leaves: a leaf's bound is recomputed exactly from them, and the lowest one holds for all weights.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np

from bemi.engines.decomposition.soft.program import LinearProgram, Relaxed, holds_uncertain, linear_program
from bemi.engines.decomposition.soft.search import DIVES, KICKS, Search, improved
from bemi.engines.decomposition.soft.svm_kernel import solve as solve_machine
from bemi.engines.decomposition.soft.terms import DENOMINATOR, Floats, SoftRows, soft_rows
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

_BOUND_STEP = 2**30  # bounds are rounded down to multiples of its inverse, so that they are short numbers
# Multiplications of the continuous machine between two looks at the clock; how often, and passes over the rows at most.
_PRODUCTS, _PIECES, _PASSES = 5 * 10**7, 20, 400
_TOLERANCE = 1e-3  # of the continuous machine, relative to the largest target
_SETTLED = 1e-3  # its own gap, where it takes long
_MACHINE_SHARE, _PROGRAM_SHARE, _SEARCH_SHARE = 0.5, 0.6, 0.7  # of the time left


@dataclass(frozen=True)
class Solved:
    """Weights of one output, the bound on its objective, the proof, and why the search for a better one ended."""

    weights: Integers
    bound: Fraction
    proof: dict[str, Any]
    ending: Ending


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: every output by itself; the start is one of the candidates."""
    assert state.given is not None
    clock = limits.deadline()
    outputs = problem.codes.shape[1]
    parts = []
    for output in range(outputs):
        # One output at a time, so that only its rows are in memory.
        share = clock.share(1 / (outputs - output))
        parts.append(_solved(soft_rows(problem, output), state.given.weights[0][:, output], limits, share))
    endings = {part.ending for part in parts} - {Ending.REACHED}
    return Finding(
        Network((np.stack([part.weights for part in parts], axis=1),), problem.weight_bound),
        bound=sum((part.bound for part in parts), Fraction(0)),
        proof={"kind": "multipliers", "denominator": DENOMINATOR, "outputs": [part.proof for part in parts]},
        outcome=Outcome.LIMIT if endings <= {Ending.LIMIT} else Outcome.LOCAL,
        message="; ".join(ending.value for ending in Ending if ending in endings),
    )


def _solved(soft: SoftRows, start: Integers, limits: Limits, deadline: Deadline) -> Solved:
    """One output, until the gap or a limit is reached."""
    near, prices = _machine(soft, deadline.share(_MACHINE_SHARE))
    search = Search.of(soft, near)
    weights, value = _better(search, search.rounded(near, deadline), start, deadline)
    numerators, bound = _proved(soft, prices)
    if deadline.passed or not soft.norms.any():
        ending = Ending.LIMIT if deadline.passed else Ending.REACHED
        return Solved(weights, *_short(bound, {"multipliers": soft.multipliers(numerators)}), ending)
    enough = float(bound) / (1 - limits.gap) if limits.gap < 1 else np.inf
    if value <= enough and not holds_uncertain(soft, near):
        return Solved(weights, *_short(bound, {"multipliers": soft.multipliers(numerators)}), Ending.REACHED)
    program = linear_program(soft, weights, near, prices)
    relaxed = program.solve(soft.low, soft.high, deadline.share(_PROGRAM_SHARE))
    numerators, bound = max((numerators, bound), _proved(soft, relaxed.prices), key=itemgetter(1))
    rounded, reached = search.rounded(relaxed.weights, deadline, value)
    if reached < value:
        weights, value = rounded, reached
    enough = float(bound) / (1 - limits.gap) if limits.gap < 1 else np.inf
    time = deadline.share(_SEARCH_SHARE)
    if soft.max_links is not None:
        kicks = KICKS if limits.nodes is None else min(KICKS, limits.nodes)
        weights, value = search.kicked(weights, relaxed.weights, kicks, limits.seed, time, enough)
    else:
        weights, value = improved(
            *(program, search, weights, relaxed),
            dives=DIVES if limits.nodes is None else min(DIVES, limits.nodes),
            seed=limits.seed,
            deadline=time,
            enough=enough,
        )
    tree = Tree(soft, program, search, weights, Node(soft.low, soft.high, 0, bound, numerators, relaxed))
    ending = tree.grow(limits.gap, NODES if limits.nodes is None else limits.nodes, deadline)
    return Solved(tree.weights, *_short(tree.bound, tree.root.proof(soft)), ending)


def _machine(soft: SoftRows, deadline: Deadline) -> tuple[Floats, Floats]:
    """Weights of the continuous machine within the box, and its multipliers by term."""
    heights = np.sort(soft.heights)[::-1].copy()
    total = np.zeros(len(soft.data))
    order, shrunk = np.arange(len(total)), np.array([len(total), np.inf])
    # Every call first takes the time of two passes.
    steps = max(4 * len(total), _PRODUCTS // max(1, soft.data.shape[1]))
    tolerance = _TOLERANCE * float(heights[0])
    low, high = soft.low.astype(np.float64), soft.high.astype(np.float64)
    for piece in range(max(_PIECES, _PASSES * len(total) // steps)):
        near, change = solve_machine(
            *(soft.data, soft.factors, soft.limits, heights, low, high, total, order, shrunk, steps, tolerance)
        )
        if change <= tolerance or deadline.passed or (piece >= _PIECES and _settled(soft, near, total, heights)):
            break
    return near, _by_term(soft, total, heights)[np.argsort(np.argsort(-soft.heights))]


def _by_term(soft: SoftRows, total: Floats, heights: Floats) -> Floats:
    """The sum of each row's multipliers, divided among its terms; larger targets fill first."""
    return np.clip(total - np.arange(len(heights))[:, None] * soft.limits, 0.0, soft.limits)


def _settled(soft: SoftRows, near: Floats, total: Floats, heights: Floats) -> bool:
    """Whether the machine's weights are as good as its multipliers prove, apart from a small share of the gap."""
    missing = np.maximum(0.0, heights[:, None] - soft.sums(near))
    value = float(near @ near / 2 + (missing @ soft.limits).sum())
    g = soft.gains(total[None])
    best = np.clip(g, soft.low, soft.high)
    bound = float(heights @ _by_term(soft, total, heights).sum(axis=1) - best @ g + best @ best / 2)
    return value - bound <= _SETTLED * value


def _better(
    search: Search, found: tuple[Integers, float], start: Integers, deadline: Deadline
) -> tuple[Integers, float]:
    """The better of two weights, the second improved first; it may break limits on signs and links."""
    weights = np.clip(start, search.soft.low, search.soft.high)
    search.thinned(weights, np.abs(weights).astype(np.float64))
    value = search.descend(weights, deadline, found[1])
    return (weights, value) if value < found[1] else found


def _proved(soft: SoftRows, prices: Floats) -> tuple[Integers, Fraction]:
    """Prices as exact multipliers, and what they prove over all weights."""
    numerators = soft.numerators(prices)
    bound = soft.proved(numerators, soft.low, soft.high)
    assert bound is not None  # no weight is forced to be a link
    return numerators, bound


def _short(bound: Fraction, proof: dict[str, Any]) -> tuple[Fraction, dict[str, Any]]:
    """A bound as a short number; without multipliers it is 0."""
    rounded = Fraction(int(bound * _BOUND_STEP // 1), _BOUND_STEP)
    return (rounded, proof) if rounded > 0 else (Fraction(0), {"multipliers": []})


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
        looked, before, clock = 0, float(self.bound), Deadline()
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
                left = float(nodes - self.splits)
                if deadline.left is not None:
                    left = min(left, self.splits / max(1e-9, clock.elapsed) * deadline.left)
                if bound + rise * left < wanted:
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
        weights, value = self._search.rounded(near, deadline, self.value)
        if value < self.value - 1e-9:
            self.weights, self.value = weights, value
