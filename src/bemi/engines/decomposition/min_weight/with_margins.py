"""Min-Weight by decomposition: each first-layer neuron separately, and a bound that holds over all sign patterns.

For given first-layer signs, each neuron is reduced separately (:mod:`bemi.engines.decomposition.neuron.few_links`) and
the upper layers are a tiny program.  The bound must hold for every network that has the margins, for all signs.  A
required margin m leaves a neuron few patterns:

1. A pattern is impossible if some lam >= 0 gives ``P * ||sum lam s x||_1 // sum lam < m`` on the signs fixed so far.
2. Two rows of different codes must be separated by at least h neurons of the first layer, since a neuron of margin m
   above it that separates them has at least m / P inputs that do.  Call h neurons with the smallest required margins
   *splitting* and the others *wide-margin* neurons ("main" and "light" in the proof).  Pairs that no wide-margin neuron
   can separate merge into components, on which every wide-margin neuron is constant; rows of different codes in one
   component must be separated by every splitting neuron, which therefore equals the code there, up to sign.
3. What is left is a tree over the signs of components, one per neuron, with a bound on the links in every leaf.
4. All this applies to networks with fewer links than a *target*, the links of the current network: then a neuron has
   fewer links than the target minus the bounds of all others, and a merge may also be proved by the links that a
   separation costs.

The proof object, made of integers, lists and tags; rows are given by their index in the problem's data::

    TREE  ["L", lam]                 no such pattern keeps the margin; lam = [[row, integer], ...]
          ["K", mu, denominator]     links >= ceil((m sum(mu) - sum_i max(0, P |g_i| - denominator)) / denominator)
          ["T", row, plus, minus]    the row's sign, and with it the signs of its group; minus is None at the root of a
                                     bound, since a neuron may be flipped
    STEP  ["M", a, b, TREE]          no wide-margin neuron separates a (+) and b (-): every leaf is "L", or a "K" whose
                                     links no wide-margin neuron can have below the target, by the bounds so far
          ["B", [neuron, ...], TREE] bound of these neurons, all splitting or all wide-margin, by the smallest of their
                                     margins: the smallest "K"; without any, no network has fewer links than the target
    PROOF {"target": links, "light": smallest margin of the wide-margin neurons or None if there is none,
           "main": [splitting neuron, ...] or None, "steps": [STEP, ...], "bound": total, at most the target}

The group of a row: for a wide-margin neuron its component, all signs equal; for a splitting neuron its component if
that holds two codes, signs as the codes; otherwise the row alone.  Without wide-margin neurons all rows are one
component.  Without a hidden layer the signs are the codes, "main" and "light" are None and every tree is one leaf.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.max_margin.upper import fewest_links
from bemi.engines.decomposition.neuron.few_links import (
    DENOMINATOR,
    PROPOSALS_PER_WEIGHT,
    LinksBound,
    LinksLP,
    Multipliers,
    Signs,
    exact_links_bound,
    fewer_links,
)
from bemi.engines.decomposition.neuron.linear_program import NeuronBound, NeuronLP
from bemi.network import Network, sign
from bemi.problem.keep import KeepMargins
from bemi.problem.problem import Problem
from bemi.products import Integers
from bemi.programs.limits import Deadline, Limits
from bemi.stages.result import Outcome, StageResult
from bemi.stages.stage import Stage

Tree = list[Any]
Group = tuple[NDArray[np.intp], Signs]

NODES = 200
"""Nodes with a program for links if there is no limit."""

CHEAP_NODES = 10
"""Nodes with only a program for margins, for each node with a program for links."""

PROPOSALS_PER_NODE = 20_000
"""How a node limit translates into the local search's proposals."""

UPPER_NODES = 1000
"""Nodes of the upper layers' program if there is no limit."""

LINKS_SHARE = 0.6
"""Part of a time limit that the search for fewer links may use; the rest is for the bound."""

_MERGE_LIMITS = (1, 8, 40)  # nodes per attempt, cheap merges first: each makes the next ones easier
_CANDIDATES = 8  # rows examined before branching


def run(stage: Stage, problem: Problem, *, start: Network, keep: KeepMargins, limits: Limits) -> StageResult:
    """Run Min-Weight with margins.

    Parameters
    ----------
    stage
        Min-Weight.
    problem
        The rows of T-hat.
    start
        A network that has the margins.
    keep
        Margin that every neuron must have, per layer.
    limits
        When to stop; without limits the work is bounded by constants and independent of the clock.
    """
    clock = limits.deadline()
    links_deadline = clock.share(LINKS_SHARE)
    value = stage.value(problem, start, keep)
    if value is None:
        return StageResult.unchanged(stage.name, problem, start, clock=clock, outcome=Outcome.NO_START)
    margins = list(keep.margins)
    search = _Search(problem, margins, NODES if limits.nodes is None else limits.nodes, limits.gap, clock)
    network = _reduced(problem, start, margins, limits, search, links_deadline)
    reached = stage.value(problem, network, keep)
    if reached is None or reached > value:
        network, reached = start, value
    proof = search.prove(reached)
    return StageResult.of(
        *(stage.name, problem, network, reached, proof["bound"]),
        clock=clock,
        proof="certified",
        outcome=Outcome.of(reached, proof["bound"], limits.gap, Outcome.LIMIT),
        message="",
        certificate=proof,
    )


def _reduced(
    problem: Problem, start: Network, margins: list[Integers], limits: Limits, search: _Search, deadline: Deadline
) -> Network:
    """The network with fewer links in every neuron."""
    if problem.hidden_layers:
        start = _cheaper_patterns(problem, start, margins, search)
    data, live = search.data, search.lp.live
    first = np.zeros_like(start.weights[0])  # inputs that are zero in every row do not matter
    first[live] = start.weights[0][live]
    signs = search.codes if not problem.hidden_layers else sign(start.pre_activations(problem.data[search.index])[0])
    solved: dict[tuple[bytes, int], tuple[Integers, float]] = {}
    # Large margins first: constant neurons are easy and have the most links to lose.
    for j in np.argsort(-margins[0], kind="stable").tolist():
        margin = int(margins[0][j])
        column, before = signs[:, j], first[live, j]
        if problem.hidden_layers:
            margin = max(1, margin)  # the sign must stay
            if (column * (data @ before)).min() < margin:
                continue
            column, before = column * column[0], before * column[0]
        key = (column.tobytes(), margin)
        if key not in solved and not deadline.passed:
            solved[key] = _reduced_neuron(search, column, margin, before, limits, deadline)
        after, search.own_bounds[j] = solved.get(key, (before, math.inf))
        if np.count_nonzero(after) < np.count_nonzero(before):
            first[live, j] = after * (signs[0, j] if problem.hidden_layers else 1)
    network = Network((first, *start.weights[1:]), problem.weight_bound)
    # The program assumes a margin in every layer.
    if problem.hidden_layers and all((m >= 1).all() for m in margins[1:]):
        needed = sum(_links_needed(m, problem.weight_bound) for layer in margins[1:] for m in layer)
        if sum(np.count_nonzero(w) for w in start.weights[1:]) > needed:
            nodes = UPPER_NODES if limits.nodes is None else limits.nodes
            upper_limits = replace(limits, nodes=nodes).until(deadline.at_least(0.05))
            above = fewest_links(problem, network, margins[1:], upper_limits)
            network = Network((network.weights[0], *above.weights), problem.weight_bound)
    return network


def _cheaper_patterns(problem: Problem, network: Network, margins: list[Integers], search: _Search) -> Network:
    """The network with other signs in first-layer neurons if all margins hold and the number of links may fall.

    The signs come from the other neurons, and from the neuron that is constant if the data are not negative.
    """
    keep = KeepMargins(tuple(margins))
    columns = np.concatenate([network.weights[0], np.full((network.layers[0], 1), network.weight_bound)], axis=1)
    sums = problem.data[search.index] @ columns
    signs = sign(sums) * sign(sums[:1])
    _, distinct = np.unique(signs, axis=1, return_index=True)
    for j, margin in enumerate(margins[0].tolist()):
        options = [network]
        patterns = [j]
        for q in sorted(distinct.tolist()):
            if (signs[:, q] == signs[:, j]).all() or np.abs(sums[:, q]).min() < max(1, margin):
                continue
            for s in (1, -1):
                first = network.weights[0].copy()
                first[:, j] = s * columns[:, q]
                candidate = Network((first, *network.weights[1:]), network.weight_bound)
                if keep.holds(problem, candidate):
                    options.append(candidate)
                    patterns.append(q)
                    break
        if len(options) > 1 and margin >= 1:
            relaxed = [search.links.solve(signs[:, q].astype(np.int8), margin) for q in patterns]
            costs = [math.inf if r is None else r.bound for r in relaxed]
            best = costs.index(min(costs))
            network = options[best]
            signs[:, j], sums[:, j] = signs[:, patterns[best]], sums[:, patterns[best]]
    return network


def _reduced_neuron(
    search: _Search, column: Integers, margin: int, before: Integers, limits: Limits, deadline: Deadline
) -> tuple[Integers, float]:
    """Weights with fewer links, and the bound for these signs."""
    if margin <= 0:
        return np.zeros_like(before), 0
    relaxed = search.links.solve(column.astype(np.int8), margin)
    if relaxed is None:
        return before, math.inf
    weights = fewer_links(
        search.data,
        column,
        search.weight_bound,
        margin,
        relaxed,
        before,
        proposals=len(before) * PROPOSALS_PER_WEIGHT if limits.nodes is None else limits.nodes * PROPOSALS_PER_NODE,
        seed=limits.seed,
        deadline=deadline,
        enough=int(relaxed.bound / max(1e-9, 1.0 - limits.gap)),
    )
    return weights, relaxed.bound


def _links_needed(margin: int, weight_bound: int) -> int:
    """Links of a neuron above the first layer: its inputs are -1 or 1."""
    return max(0, -(-int(margin) // weight_bound))


def _separators(margins: list[list[int]], weight_bound: int) -> int:
    """The fewest first-layer neurons that separate two rows whose codes differ in an output with a margin.

    If h neurons of a layer separate them, one of these has at least the h-th smallest margin.
    """
    kept = [m for m in margins[-1] if m >= 1]
    if not kept:
        return 1  # nothing must be separated
    h = _links_needed(min(kept), weight_bound)
    for layer in reversed(margins[1:-1]):
        h = max(1, _links_needed(sorted(layer)[h - 1], weight_bound))
    return h


@dataclass
class _Leaf:
    """An open leaf of a neuron's tree; ``spot`` is its place in the proof and is overwritten on branching."""

    signs: Signs
    spot: Tree
    bound: int
    mu: Multipliers
    known: NeuronBound
    sums: NDArray[np.float64]


class _Search:
    """The bound on the links of every network that has the margins.

    Rows are numbered among the distinct rows; ``index`` gives their numbers in the problem.
    ``own_bounds`` are the bounds for the signs of the current network, if known.
    """

    def __init__(self, problem: Problem, margins: list[Integers], nodes: int, gap: float, deadline: Deadline) -> None:
        _, index = np.unique(problem.data, axis=0, return_index=True)
        self.index = np.sort(index)
        self.lp = NeuronLP(problem.data[self.index], problem.weight_bound)
        self.data = self.lp.data
        self.links = LinksLP(self.data, problem.weight_bound)
        self.weight_bound = problem.weight_bound
        self.hidden = bool(problem.hidden_layers)
        self.codes = problem.codes[self.index]
        # Outputs that may be wrong say nothing about the signs below them.
        self.labels = self.codes[:, np.asarray(margins[-1]) >= 1]
        self.margins = [[int(m) for m in layer] for layer in margins]
        self.above = sum(_links_needed(m, self.weight_bound) for layer in self.margins[1:] for m in layer)
        self.splitting: list[int] = []
        self.nodes, self.gap, self.deadline = nodes, gap, deadline
        self.component = np.arange(len(self.data))
        self.steps: list[Tree] = []
        self.bounds = [0] * len(self.margins[0])
        self.own_bounds: list[float] = [math.inf] * len(self.margins[0])
        self.target = 0

    def prove(self, target: int) -> dict[str, Any]:
        """The proof object; ``target`` is the number of links of a network that has the margins."""
        self.target = target
        first = self.margins[0]
        wide_margin: int | None = None
        if not self.hidden:
            for j, margin in enumerate(first):
                if margin >= 1:
                    self._bound_by_codes(j, margin)
        else:
            by_margin = sorted(range(len(first)), key=first.__getitem__)
            self.splitting = sorted(by_margin[: _separators(self.margins, self.weight_bound)])
            wide_margin = min((m for j, m in enumerate(first) if j not in self.splitting), default=None)
            if wide_margin is None:
                self.component[:] = 0
            elif wide_margin >= 1:
                self._merge_all(wide_margin)
            if not self._finished():
                self._bound_all(self.nodes)
        return {
            "target": target,
            "light": wide_margin,
            "main": self.splitting if self.hidden else None,
            "steps": self.steps,
            "bound": min(target, self.above + sum(self.bounds)),
        }

    def _finished(self) -> bool:
        """Whether the bound is good enough, or as good as it can be: no proof excludes the current pattern."""
        bound = self.above + sum(self.bounds)
        within = self.target - bound <= self.gap * max(1, self.target)
        reached = all(b >= own for b, own in zip(self.bounds, self.own_bounds, strict=True))
        return within or reached or self.deadline.passed

    def _room(self, neuron: int) -> int:
        """Links that this neuron cannot reach below the target, by the bounds of the others."""
        return self.target - self.above - sum(self.bounds) + self.bounds[neuron]

    def _plain(self, pairs: Multipliers) -> list[list[int]]:
        return [[int(self.index[k]), int(v)] for k, v in pairs]

    # -- groups of rows whose signs follow from each other -------------------------------------------------------------

    def _wide_group(self, k: int) -> Group:
        rows = np.flatnonzero(self.component == self.component[k])
        return rows, np.ones(len(rows), dtype=np.int8)

    def _splitting_group(self, k: int) -> Group:
        rows = np.flatnonzero(self.component == self.component[k])
        same = (self.labels[rows] == self.labels[k]).all(axis=1)
        if same.all():
            return np.array([k]), np.ones(1, dtype=np.int8)
        return rows, np.where(same, 1, -1).astype(np.int8)

    def _first_row(self, group: Callable[[int], Group]) -> int:
        """The first row to branch on: in the largest group, the row of smallest L1 norm."""
        sizes = [len(group(k)[0]) for k in range(len(self.data))]
        return min(range(len(self.data)), key=lambda k: (-sizes[k], self.lp.norms[k], k))

    # -- components ----------------------------------------------------------------------------------------------------

    def _merge_all(self, wide_margin: int) -> None:
        """Merge rows that no wide-margin neuron can separate, cheap proofs first."""
        data = self.data
        distance = np.stack([np.abs(data - row).sum(axis=1) for row in data])
        ones, others = np.triu_indices(len(data), 1)
        order = np.argsort(distance[ones, others], kind="stable")
        for a, b in zip(ones[order].tolist(), others[order].tolist(), strict=True):
            if self.weight_bound * int(distance[a, b]) // 2 >= wide_margin:
                break
            if self.component[a] != self.component[b]:
                self._merge(a, b, ["L", self._plain(((a, 1), (b, 1)))])
        left = CHEAP_NODES * self.nodes
        for limit in _MERGE_LIMITS:
            left -= self._merge_round(distance, wide_margin, limit, left, None)
            self.nodes -= self._bound_all(1)
            if self._finished():
                return
        self.nodes -= self._bound_all(self.nodes // 3)
        for limit in _MERGE_LIMITS[:2]:
            while (self.component != self.component[0]).any() and not self._finished():
                # The better the bounds, the less a wide-margin neuron may cost.
                before = len(self.steps)
                room = max(self._room(j) for j in range(len(self.bounds)) if j not in self.splitting)
                self.nodes -= self._merge_round(distance, wide_margin, limit, self.nodes // 3, room)
                if len(self.steps) == before:
                    break
                self.nodes -= self._bound_all(self.nodes // 3)

    def _merge_round(self, distance: Integers, wide_margin: int, limit: int, nodes: int, room: int | None) -> int:
        """Try to merge the largest component with each other one; returns the nodes used."""
        spent = 0
        tried: set[tuple[int, int]] = set()
        while spent < nodes and not self.deadline.passed:
            pair = self._next_pair(distance, tried)
            if pair is None:
                break
            a, b = pair
            tried.add((int(self.component[a]), int(self.component[b])))
            tree, used = self._inseparable(a, b, wide_margin, min(limit, nodes - spent), room)
            spent += used
            if tree is not None:
                self._merge(a, b, tree)
                if room is None:
                    tried.clear()
        return spent

    def _next_pair(self, distance: Integers, tried: set[tuple[int, int]]) -> tuple[int, int] | None:
        """Closest rows of the largest component and another one that was not tried yet."""
        names, sizes = np.unique(self.component, return_counts=True)
        giant = int(names[np.argmax(sizes)])
        inside = np.flatnonzero(self.component == giant)
        fresh = [c != giant and (giant, c) not in tried for c in self.component.tolist()]
        outside = np.flatnonzero(fresh)
        if not len(outside):
            return None
        block = distance[np.ix_(inside, outside)]
        a, b = np.unravel_index(int(block.argmin()), block.shape)
        return int(inside[a]), int(outside[b])

    def _merge(self, a: int, b: int, tree: Tree) -> None:
        self.steps.append(["M", int(self.index[a]), int(self.index[b]), tree])
        self.component[self.component == self.component[b]] = self.component[a]

    def _inseparable(self, a: int, b: int, wide_margin: int, limit: int, room: int | None) -> tuple[Tree | None, int]:
        """A tree that proves that no wide-margin neuron separates the rows, or None; and the nodes used.

        With ``room``, a leaf is also closed if a neuron needs that many links.
        """
        root: Tree = []
        signs = np.zeros(len(self.data), dtype=np.int8)
        for row, s in ((a, 1), (b, -1)):
            rows, relative = self._wide_group(row)
            signs[rows] = s * relative
        stack: list[tuple[Signs, Tree, NeuronBound | None]] = [(signs, root, None)]
        used = 0
        while stack:
            if used >= limit:
                return None, used
            signs, spot, start = stack.pop()
            used += 1
            known = self.lp.solve(signs, start=start, stop=wide_margin - 1)
            if known.bound < wide_margin:
                spot[:] = ["L", self._plain(known.multipliers)]
                continue
            sums = known.sums
            relaxed = None if room is None else self.links.solve(signs, wide_margin)
            if room is not None and relaxed is not None:
                if relaxed.bound >= room:
                    spot[:] = ["K", self._plain(relaxed.mu), DENOMINATOR]
                    continue
                sums = self.data @ relaxed.weights
            k = self._branching_row(signs, known, sums, wide_margin)
            if k is None:
                return None, used  # these weights separate them
            spot[:] = ["T", int(self.index[k]), [], []]
            likely = 1 if sums[k] >= 0 else -1
            rows, relative = self._wide_group(k)
            # The likelier sign last, hence first off the stack: if it cannot be closed, we know soonest.
            for s in (-likely, likely):
                child = signs.copy()
                child[rows] = s * relative
                stack.append((child, spot[2 if s > 0 else 3], known))
        return root, used

    def _branching_row(self, signs: Signs, known: NeuronBound, sums: NDArray[np.float64], margin: int) -> int | None:
        """A free row that the current weights leave within the margin: one whose sign is nearly forced, if any."""
        short = np.flatnonzero((signs == 0) & (np.abs(sums) < margin - 1e-6 * max(1, margin)))
        if not len(short):
            return None
        short = short[np.argsort(np.abs(sums[short]), kind="stable")[:_CANDIDATES]]
        caps = np.full(len(short), np.inf)
        for s in (1, -1):
            caps = np.minimum(caps, self.lp.caps(signs, known, short, np.full(len(short), s))[:, 0])
        return int(short[caps.argmin()] if caps.min() < margin else short[0])

    # -- trees ---------------------------------------------------------------------------------------------------------

    def _bound_by_codes(self, neuron: int, margin: int) -> None:
        relaxed = self.links.solve(self.codes[:, neuron].astype(np.int8), margin)
        if relaxed is not None:
            self.steps.append(["B", [neuron], ["K", self._plain(relaxed.mu), DENOMINATOR]])
            self.bounds[neuron] = relaxed.bound

    def _bound_all(self, nodes: int) -> int:
        """Bound all neurons under the current merges, equal ones together; returns the nodes used."""
        spent = 0
        kinds: dict[tuple[bool, int], list[int]] = {}
        for j, margin in enumerate(self.margins[0]):
            if margin >= 1:
                kinds.setdefault((j not in self.splitting, margin), []).append(j)
        for (is_wide, margin), neurons in sorted(kinds.items()):
            group = self._wide_group if is_wide else self._splitting_group
            tree, bound, used = self._grow(margin, neurons[0], group, max(1, nodes - spent))
            spent += used
            if bound > self.bounds[neurons[0]]:
                self.steps.append(["B", neurons, tree])
                for j in neurons:
                    self.bounds[j] = bound
        return spent

    def _grow(self, margin: int, neuron: int, group: Callable[[int], Group], nodes: int) -> tuple[Tree, int, int]:
        """Tree, bound and nodes of one neuron: best first, until the weakest leaf cannot be branched on."""
        first = self._first_row(group)
        root: Tree = ["T", int(self.index[first]), [], None]
        signs = np.zeros(len(self.data), dtype=np.int8)
        rows, relative = group(first)
        signs[rows] = relative
        used = 1
        leaf = self._leaf(signs, root[2], margin, None)
        room = self._room(neuron)
        heap = [] if leaf is None else [(leaf.bound, 0, leaf)]
        while heap and used < nodes and heap[0][0] < room and not self.deadline.passed:
            _, _, leaf = heap[0]
            k = self._branching_row(leaf.signs, leaf.known, leaf.sums, margin)
            if k is None:
                break
            heapq.heappop(heap)
            leaf.spot[:] = ["T", int(self.index[k]), [], []]
            rows, relative = group(k)
            for s, spot in zip((1, -1), leaf.spot[2:], strict=True):
                signs = leaf.signs.copy()
                signs[rows] = s * relative
                used += 1
                child = self._leaf(signs, spot, margin, leaf)
                if child is not None:
                    heapq.heappush(heap, (child.bound, used, child))
        for _, _, leaf in heap:
            leaf.spot[:] = ["K", self._plain(leaf.mu), DENOMINATOR]
        # Without an open leaf, no network has fewer links than the target.
        return root, heap[0][0] if heap else max(0, room), used

    def _leaf(self, signs: Signs, spot: Tree, margin: int, parent: _Leaf | None) -> _Leaf | None:
        """The open leaf with these signs, or None if no weights have the margin there, which the proof records."""
        known = self.lp.solve(signs, start=None if parent is None else parent.known, stop=margin - 1)
        if known.bound < margin:
            spot[:] = ["L", self._plain(known.multipliers)]
            return None
        relaxed: LinksBound | None = self.links.solve(signs, margin)
        if relaxed is not None and (parent is None or relaxed.bound >= parent.bound):
            sums = self.data @ relaxed.weights
            return _Leaf(signs, spot, relaxed.bound, relaxed.mu, known, sums)
        # The parent's multipliers still hold.
        mu: Multipliers = () if parent is None else parent.mu
        bound = exact_links_bound(self.data, signs, self.weight_bound, margin, mu)
        return _Leaf(signs, spot, bound, mu, known, known.sums)
