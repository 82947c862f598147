"""A lower bound on the links of every network that has given margins: a tree over the signs of first-layer neurons.

A required margin leaves a neuron few sign patterns, and every pattern has a least number of links.  A node of the tree
knows some relations between rows (:mod:`~bemi.engines.decomposition.min_weight.relations`), and stands for all networks
with fewer links than the *target* that have these relations.  A neuron's links are bounded by the multipliers of its
largest component, and the bounds of all neurons add up.

Each node keeps its steps, which are the proof.  docs/certificates.md defines their form and proves each rule (R43 to
R51).  In it rows are given by their index in the problem's data, and neurons are those of the first layer.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.engines.decomposition.min_weight.relations import (
    EQUAL,
    FREE,
    IMPOSSIBLE,
    OPPOSITE,
    Counting,
    Relations,
    links_needed,
)
from bemi.engines.decomposition.neuron.few_links import DENOMINATOR, LinksBound, LinksLP, Signs
from bemi.engines.decomposition.neuron.linear_program import Multipliers, NeuronBound, NeuronLP
from bemi.engines.decomposition.neuron.weight_trees import LinkTree
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline
from bemi.problem.problem import Problem

Steps = list[Any]

CHEAP_NODES = 10
"""Nodes with only a program for margins, for each node with a program for links."""

_MERGE_LIMITS = (1, 8, 40)  # nodes per attempt, cheap merges first: each makes the next ones easier
_MERGE_FAILURES = 15  # attempts in a row without success after which components stay as they are
_CANDIDATES = 8  # rows examined before branching
_DEEPEST = 120  # branches above each other
_EVALUATE_EVERY = 4  # levels of the tree between two bounds on links while pairs are open
_WEIGHT_NODES = 30  # programs in the first attempt to branch on weights


@dataclass
class Node:
    """A node of the tree; ``steps`` is its place in the proof."""

    relations: Relations
    steps: Steps
    bounds: list[int]
    known: list[NeuronBound | None]
    relaxed: list[LinksBound | None]
    stale: list[bool]  # whether the bound is older than the component
    trees: list[LinkTree | None]
    written: list[int]  # bounds that the steps contain
    depth: int = 0
    final: bool = False  # whether there is no relation to branch on

    def child(self) -> Node:
        return Node(
            self.relations.copy(),
            [],
            list(self.bounds),
            list(self.known),
            list(self.relaxed),
            list(self.stale),
            [None] * len(self.bounds),
            list(self.bounds),
            self.depth + 1,
        )


class PatternTree:
    """The search for the bound.

    Rows are numbered among the distinct rows; ``index`` gives their numbers in the problem.
    """

    def __init__(self, problem: Problem, margins: list[Integers]) -> None:
        _, index = np.unique(problem.data, axis=0, return_index=True)
        self.index = np.sort(index)
        self.lp = NeuronLP(problem.data[self.index], problem.weight_bound)
        self.data = self.lp.data
        self.links = LinksLP(self.data, problem.weight_bound)
        self.weight_bound = problem.weight_bound
        self.hidden = bool(problem.hidden_layers)
        self.codes = problem.codes[self.index]
        self.margins = [[int(m) for m in layer] for layer in margins]
        self.first = self.margins[0]
        self.above = sum(links_needed(m, self.weight_bound) for layer in self.margins[1:] for m in layer)
        self._differ = (self.codes[:, None, :] != self.codes[None, :, :]).any(axis=2)
        self._links_of_no_copies = 0
        if len(self.margins) == 3 and len(self.margins[2]) == 1:
            needed = [links_needed(m, self.weight_bound) for m in self.margins[1] if m >= 1]
            if links_needed(self.margins[2][0], self.weight_bound) >= len(self.margins[1]):
                self._links_of_no_copies = sum(max(0, 3 - n) for n in needed)
        self._distance = np.stack([np.abs(self.data - row).sum(axis=1) for row in self.data])
        self._relaxed: dict[tuple[bytes, int], LinksBound | None] = {}
        self._counting = Counting(self.margins, self.weight_bound, self.codes) if self.hidden else None
        self._trees: dict[tuple[bytes, int], LinkTree] = {}
        self._heap: list[tuple[int, int, Node]] = []
        self._steps: Steps = []
        self._serial = 0
        self.target = 0
        self._deadline = FOREVER
        self.used = 0  # programs for links
        self.cheap = 0  # programs for margins in merges
        self.solved = False  # whether the weakest leaf cannot be improved: its links are exact

    # -- programs ------------------------------------------------------------------------------------------------------

    def relaxation(self, signs: Signs, margin: int) -> LinksBound | None:
        """The program for links under these signs, solved once."""
        first = signs[np.argmax(signs != 0)]
        key = ((signs * first).tobytes(), margin)
        if key not in self._relaxed:
            self.used += 1
            self._relaxed[key] = self.links.solve(signs * first, margin)
        return self._relaxed[key]

    def _plain(self, pairs: Multipliers) -> list[list[int]]:
        return [[int(self.index[k]), int(v)] for k, v in pairs]

    # -- the search ----------------------------------------------------------------------------------------------------

    def begin(self, target: int, enough: int, nodes: int, deadline: Deadline) -> None:
        """Deduce what holds for all networks with fewer links than the target; the rest as in :meth:`extend`."""
        self.target, self._deadline = target, deadline
        root = self._root()
        self._steps = root.steps
        if self._settle(root, range(len(self.first))) and (not self.hidden or self._merge_all(root, nodes, enough)):
            self._push(root)

    def extend(self, enough: int, nodes: int, deadline: Deadline) -> None:
        """Go on with the tree, weakest leaf first.

        Parameters
        ----------
        enough
            The bound at which to stop.
        nodes, deadline
            Programs for links, and when to stop regardless.
        """
        self._deadline = deadline
        stop = self.used + nodes
        while self._heap and self.bound < enough and self.used < stop and not deadline.passed:
            node = self._heap[0][2]
            if node.final:
                if not self._strengthen(node, enough):
                    self.solved = True
                    return
                heapq.heappop(self._heap)
                self._push(node)
                continue
            heapq.heappop(self._heap)
            children: list[Node] | None = [node]
            if self._undecided(node) or not self._evaluate(node):
                children = self._branch(node)
            if children is None:
                node.final, children = True, [node]
            for child in children:
                self._push(child)

    @property
    def bound(self) -> int:
        """The number of links that is proved necessary."""
        return self._heap[0][0] if self._heap else self.target

    @property
    def weakest(self) -> Node | None:
        """The leaf with the fewest links, if it is final: no further relation makes its patterns more expensive."""
        return self._heap[0][2] if self._heap and self._heap[0][2].final else None

    def proof(self) -> dict[str, Any]:
        """The proof object; call it at the end."""
        for _, _, node in self._heap:
            for j, tree in enumerate(node.trees):
                if tree is not None and tree.bound > node.written[j]:
                    group = self.alike(node, j)
                    node.steps.append(["B", group, tree.proof(self.index, self.lp.live)])
                    for i in group:
                        node.written[i] = tree.bound
        return {"kind": "sign-patterns", "target": self.target, "tree": self._steps, "bound": self.bound}

    def _push(self, node: Node) -> None:
        self._serial += 1
        heapq.heappush(self._heap, (self._value(node), self._serial, node))

    def _strengthen(self, node: Node, enough: int) -> bool:
        """Branch on the weights of the neurons of a final node; False if their links are known exactly."""
        open_ = []
        for j, margin in enumerate(self.first):
            if margin >= 1 and self.alike(node, j)[0] == min(self.alike(node, j)):
                tree = node.trees[j] = self.tree(node, j)
                if not tree.exhausted:
                    open_.append((tree.nodes, j, tree))
        if not open_:
            return False
        nodes, j, tree = min(open_, key=lambda entry: entry[:2])
        group = self.alike(node, j)
        missing = -(-(enough - self._value(node)) // len(group))
        before = tree.nodes
        tree.grow(max(tree.bound, node.bounds[j]) + max(1, missing), max(_WEIGHT_NODES, nodes), self._deadline)
        self.used += tree.nodes - before
        for i in group:
            node.bounds[i] = max(node.bounds[i], tree.bound)
        return True

    def solution(self, node: Node, neuron: int) -> Integers | None:
        """Weights of a neuron with the fewest links that the tree over its weights has found, if it has finished."""
        tree = node.trees[min(self.alike(node, neuron))] if self.first[neuron] >= 1 else None
        return None if tree is None else tree.solution

    def tree(self, node: Node, neuron: int) -> LinkTree:
        """The tree over the weights of a neuron, shared by all nodes with the same signs."""
        signs = node.relations.signs(neuron, self.main_row(node, neuron))
        first = signs[np.argmax(signs != 0)]
        key = ((signs * first).tobytes(), self.first[neuron])
        if key not in self._trees:
            self._trees[key] = LinkTree(self.data, signs * first, self.weight_bound, self.first[neuron])
        return self._trees[key]

    def _value(self, node: Node) -> int:
        return min(self.target, self._links_above(node) + sum(node.bounds))

    def _links_above(self, node: Node) -> int:
        """Links above the first layer: margin / P for each neuron, and three where copies do not suffice.

        A neuron with a margin and at most two links copies an input, up to a flip: the one with the larger weight, or
        both agree on all rows.  If the only output needs every neuron of the second layer to separate different codes,
        and no first-layer neuron separates all of them, each of these neurons has at least three links.
        """
        if self._links_of_no_copies and bool((self._differ & node.relations.equal_signs()).any(axis=(1, 2)).all()):
            return self.above + self._links_of_no_copies
        return self.above

    def _root(self) -> Node:
        count = len(self.first)
        relations = Relations.unknown(count, len(self.data)) if self.hidden else Relations.fixed(self.codes)
        none: list[Any] = [None] * count
        return Node(relations, [], [0] * count, none, list(none), [True] * count, list(none), [0] * count)

    def main_row(self, node: Node, neuron: int) -> int:
        """A row of the neuron's largest component; of several, the one with the row of smallest L1 norm."""
        component = node.relations.component[neuron]
        sizes = np.bincount(component, minlength=len(component))[component]
        return int(np.lexsort((self.lp.norms, -sizes))[0])

    def alike(self, node: Node, neuron: int) -> list[int]:
        """The neurons that are interchangeable with this one, which comes first."""
        return [neuron] + [
            j
            for j, margin in enumerate(self.first)
            if j != neuron and margin == self.first[neuron] and node.relations.equal(neuron, j)
        ]

    # -- bounds of a node ----------------------------------------------------------------------------------------------

    def _undecided(self, node: Node) -> bool:
        """Whether pairs that must be separated are open: then the links of small components say little."""
        if self._counting is None or node.depth % _EVALUATE_EVERY == 0:
            return False
        opposite, unknown = node.relations.counts()
        return bool(((self._counting.deductions(opposite, unknown) == FREE) & (unknown > 0)).any())

    def _evaluate(self, node: Node) -> bool:
        """Bound the links of a neuron whose component has grown; False if there is none."""
        before = self._value(node)
        for j, margin in enumerate(self.first):
            if not node.stale[j] or margin < 1:
                continue
            row = self.main_row(node, j)
            signs = node.relations.signs(j, row)
            relaxed = self.relaxation(signs, margin)
            group = self.alike(node, j)
            for i in group:
                node.stale[i], node.relaxed[i] = False, relaxed
            if relaxed is not None and relaxed.bound > node.bounds[j]:
                node.steps.append(["B", group, ["K", self._plain(relaxed.mu), DENOMINATOR]])
                for i in group:
                    node.bounds[i] = node.written[i] = max(node.bounds[i], relaxed.bound)
            if self._value(node) > before:
                return True
        return False

    # -- deductions ----------------------------------------------------------------------------------------------------

    def _settle(self, node: Node, changed: Any) -> bool:
        """Everything that follows at a node from new relations of some neurons; False if the node is closed."""
        todo = set(changed)
        while todo:
            counted = self._count(node)
            if counted is None:
                return False
            todo |= counted
            j = min(todo)
            todo.remove(j)
            if self.first[j] < 1:
                continue
            node.stale[j] = True
            row = self.main_row(node, j)
            signs = node.relations.signs(j, row)
            known = node.known[j] = self._margin(node, j, signs)
            if known is None:
                return False
            if self.hidden and self._cap(node, j, row, signs, known):
                todo.add(j)
        return True

    def _margin(self, node: Node, neuron: int, signs: Signs) -> NeuronBound | None:
        """The margin that these signs leave, or None if it is too small, which closes the node."""
        margin = self.first[neuron]
        known = self.lp.solve(signs, start=node.known[neuron], stop=margin - 1)
        if known.bound < margin:
            node.steps.append(["L", neuron, self._plain(known.multipliers)])
            return None
        return known

    def _count(self, node: Node) -> set[int] | None:
        """Relations that follow from counting; returns the neurons that they are about, None if the node is closed.

        With many rows there are many relations; when the time is up, those that were found are enough.
        """
        changed: set[int] = set()
        while self._counting is not None and not self._deadline.passed:
            deduced = self._counting.deductions(*node.relations.counts())
            ones, others = np.nonzero(np.triu((deduced == EQUAL) | (deduced == OPPOSITE) | (deduced == IMPOSSIBLE), 1))
            impossible = deduced[ones, others] == IMPOSSIBLE
            if impossible.any():
                at = int(np.argmax(impossible))
                self._note_count(node, int(ones[at]), int(others[at]))
                return None
            if not len(ones):
                return changed
            for a, b, what in zip(ones.tolist(), others.tolist(), deduced[ones, others].tolist(), strict=True):
                opened = [j for j in range(len(self.first)) if not node.relations.between(j, a, b)]
                if not opened:
                    continue
                now = self._counting.deductions(*node.relations.counts())[a, b] if changed else what
                if now not in (EQUAL, OPPOSITE) or self._deadline.passed:
                    break
                self._note_count(node, a, b)
                for j in opened:
                    node.relations.join(j, a, b, 1 if now == EQUAL else -1)
                changed.update(opened)
        return changed

    def _note_count(self, node: Node, a: int, b: int) -> None:
        node.steps.append(["D", int(self.index[a]), int(self.index[b])])

    def _cap(self, node: Node, neuron: int, row: int, signs: Signs, known: NeuronBound) -> bool:
        """Exclude signs of free rows by a line search each; whether any was excluded."""
        free = np.flatnonzero(signs == 0)
        if not len(free):
            return False
        found = False
        group = self.alike(node, neuron)
        for s in (1, -1):
            caps = self.lp.caps(signs, known, free, np.full(len(free), s))
            for k, (cap, step) in zip(free.tolist(), caps.tolist(), strict=True):
                if self._deadline.passed:
                    return found
                if cap >= self.first[neuron] or node.relations.between(neuron, row, k):
                    continue
                multipliers = self.lp.cap_multipliers(known, k, step)
                tried = signs.copy()
                tried[k] = s
                if self.lp.exact_bound(tried, multipliers) >= self.first[neuron]:
                    continue
                relation = s * int(signs[row])
                self._exclude(node, group, row, k, relation, [["L", neuron, self._plain(multipliers)]])
                found = True
        return found

    def _exclude(self, node: Node, group: list[int], a: int, b: int, relation: int, closed: Steps) -> None:
        node.steps.append(["X", group, int(self.index[a]), int(self.index[b]), relation, closed])
        for j in group:
            node.relations.join(j, a, b, -relation)

    # -- components ----------------------------------------------------------------------------------------------------

    def _merge_all(self, node: Node, nodes: int, enough: int) -> bool:
        """Merge rows that neurons cannot separate, cheap proofs first; False if the node is closed."""
        ones, others = np.triu_indices(len(self.data), 1)
        order = np.argsort(self._distance[ones, others], kind="stable")
        close = list(zip(ones[order].tolist(), others[order].tolist(), strict=True))
        groups = self._groups(node)
        for group in groups:
            for a, b in close:
                if self.weight_bound * int(self._distance[a, b]) // 2 >= self.first[group[0]] or self._deadline.passed:
                    break
                if not node.relations.between(group[0], a, b):
                    closed = [["L", group[0], self._plain(((a, 1), (b, 1)))]]
                    self._exclude(node, group, a, b, -1, closed)
        if not self._settle(node, [j for group in groups for j in group]):
            return False
        stop = self.cheap + CHEAP_NODES * nodes
        for limit in _MERGE_LIMITS:
            for group in reversed(groups):
                if not self._merge_round(node, group[0], limit, stop):
                    return False
            while self._evaluate(node):
                pass
            if self._value(node) >= enough or self._deadline.passed:
                return True
        return True

    def _groups(self, node: Node) -> list[list[int]]:
        """Interchangeable neurons with margins, small margins first."""
        found: list[list[int]] = []
        for j in sorted(range(len(self.first)), key=lambda j: (self.first[j], j)):
            if self.first[j] >= 1 and not any(j in group for group in found):
                found.append(self.alike(node, j))
        return found

    def _merge_round(self, node: Node, neuron: int, limit: int, stop: int) -> bool:
        """Try to merge the largest component with each other one; False if the node is closed."""
        tried: set[tuple[int, int]] = set()
        failures = 0
        while self.cheap < stop and failures < _MERGE_FAILURES and not self._deadline.passed:
            pair = self._next_pair(node, neuron, tried)
            if pair is None:
                break
            a, b = pair
            component = node.relations.component[neuron]
            tried.add((int(component[a]), int(component[b])))
            closed = self._impossible(node, neuron, a, b, -1, limit)
            failures += 1
            if closed is not None:
                failures = 0
                group = self.alike(node, neuron)
                self._exclude(node, group, a, b, -1, closed)
                if not self._settle(node, group):
                    return False
                tried.clear()
        return True

    def _next_pair(self, node: Node, neuron: int, tried: set[tuple[int, int]]) -> tuple[int, int] | None:
        """Closest rows of the largest component and another one that was not tried yet."""
        component = node.relations.component[neuron]
        giant = int(component[self.main_row(node, neuron)])
        inside = np.flatnonzero(component == giant)
        outside = np.flatnonzero([c != giant and (giant, c) not in tried for c in component.tolist()])
        if not len(outside):
            return None
        block = self._distance[np.ix_(inside, outside)]
        a, b = np.unravel_index(int(block.argmin()), block.shape)
        return int(inside[a]), int(outside[b])

    def _impossible(self, node: Node, neuron: int, a: int, b: int, relation: int, limit: int) -> Steps | None:
        """Steps that prove by its margin alone that a neuron cannot relate two rows like this, if they are found."""
        margin = self.first[neuron]
        root: Steps = []
        start = Relations(node.relations.component[[neuron]], node.relations.parity[[neuron]])
        start.join(0, a, b, relation)
        stack: list[tuple[Relations, Steps, NeuronBound | None]] = [(start, root, node.known[neuron])]
        used = 0
        while stack:
            if used >= limit:
                return None
            relations, steps, before = stack.pop()
            used += 1
            self.cheap += 1
            signs = relations.signs(0, a)
            known = self.lp.solve(signs, start=before, stop=margin - 1)
            if known.bound < margin:
                steps.append(["L", neuron, self._plain(known.multipliers)])
                continue
            k = self._short_row(signs, known, known.sums, margin)
            if k is None:
                return None  # these weights have the relation
            steps.append(["T", [neuron], int(self.index[a]), int(self.index[k]), [], []])
            likely = (1 if known.sums[k] >= 0 else -1) * int(signs[a])
            # The likelier sign last, hence first off the stack: if it cannot be closed, we know soonest.
            for r in (-likely, likely):
                child = relations.copy()
                child.join(0, a, k, r)
                stack.append((child, steps[-1][4 if r > 0 else 5], known))
        return root

    def _short_row(self, signs: Signs, known: NeuronBound, sums: Any, margin: int) -> int | None:
        """A free row that the current weights leave within the margin: one whose sign is nearly forced, if any."""
        short = np.flatnonzero((signs == 0) & (np.abs(sums) < margin - 1e-6 * max(1, margin)))
        if not len(short):
            return None
        short = short[np.argsort(np.abs(sums[short]), kind="stable")[:_CANDIDATES]]
        caps = np.full(len(short), np.inf)
        for s in (1, -1):
            caps = np.minimum(caps, self.lp.caps(signs, known, short, np.full(len(short), s))[:, 0])
        return int(short[caps.argmin()] if caps.min() < margin else short[0])

    # -- branching -----------------------------------------------------------------------------------------------------

    def _branch(self, node: Node) -> list[Node] | None:
        """The open children, or the node itself if a relation was excluded; None if there is nothing to branch on."""
        choice = self._choice(node) if node.depth < _DEEPEST else None
        if choice is None:
            return None
        group, a, b = choice
        equal, opposite = node.child(), node.child()
        for j in group:
            equal.relations.join(j, a, b, 1)
        opposite.relations.join(group[0], a, b, -1)
        alive = [self._settle(equal, group), self._settle(opposite, group[:1])]
        if not alive[1]:
            self._exclude(node, group, a, b, -1, opposite.steps)
            return [node] if self._settle(node, group) else []
        if not alive[0] and len(group) == 1:
            self._exclude(node, group, a, b, 1, equal.steps)
            return [node] if self._settle(node, group) else []
        node.steps.append(["T", group, int(self.index[a]), int(self.index[b]), equal.steps, opposite.steps])
        return [child for child, lives in zip((equal, opposite), alive, strict=True) if lives]

    def _choice(self, node: Node) -> tuple[list[int], int, int] | None:
        """Neurons and rows whose relation to branch on, or None if the pattern of the current weights fits."""
        if self._counting is None:
            return None
        opposite, unknown = node.relations.counts()
        deduced = self._counting.deductions(opposite, unknown)
        ones, others = np.nonzero(np.triu((deduced == FREE) & (unknown > 0), 1))
        if not len(ones):
            return self._choice_by_links(node)
        # The pair whose separation leaves the least room, and the neuron that has most of it.
        rooms = self._rooms(node)[:, ones, others]
        total = np.where(rooms >= 0, rooms, 0.0).sum(axis=0)
        hardest = int(np.lexsort(((rooms >= 0).sum(axis=0), total))[0])
        return self._toward_main(node, int(rooms[:, hardest].argmax()), int(ones[hardest]), int(others[hardest]))

    def _toward_main(self, node: Node, neuron: int, a: int, b: int) -> tuple[list[int], int, int]:
        """The relation of one of the rows to the largest component rather than one between two small components."""
        row = self.main_row(node, neuron)
        if not node.relations.between(neuron, row, a) and not node.relations.between(neuron, row, b):
            b = row
        return self.alike(node, neuron), a, b

    def _rooms(self, node: Node) -> Any:
        """How far the margin of each neuron could exceed its need if it separated each pair; -1 if that is decided."""
        rooms = np.empty((len(self.first), *self._distance.shape))
        for j, margin in enumerate(self.first):
            need = max(1, margin)
            limit = self.weight_bound * self._distance / 2.0
            known = node.known[j]
            if known is not None:
                signs = node.relations.signs(j, self.main_row(node, j))
                free = np.flatnonzero(signs == 0)
                inside = np.flatnonzero(signs)
                caps = np.full((2, len(self.data)), np.inf)
                for at, s in enumerate((1, -1)):
                    if len(free):
                        caps[at, free] = self.lp.caps(signs, known, free, np.full(len(free), s))[:, 0]
                # Row k of the component is separated from a free row that gets the opposite sign.
                block = np.where(signs[inside, None] < 0, caps[0], caps[1])
                limit[inside] = np.minimum(limit[inside], block)
                limit[:, inside] = np.minimum(limit[:, inside], block.T)
            component = node.relations.component[j]
            rooms[j] = np.where(component[:, None] == component[None, :], -1.0, np.maximum(0.0, limit / need - 1.0))
        return rooms

    def _choice_by_links(self, node: Node) -> tuple[list[int], int, int] | None:
        """A row that the weights with the fewest links leave within the margin."""
        for j in sorted(range(len(self.first)), key=lambda j: node.bounds[j]):
            known, relaxed = node.known[j], node.relaxed[j]
            if known is None or self.first[j] < 1:
                continue
            row = self.main_row(node, j)
            signs = node.relations.signs(j, row)
            sums = known.sums
            if relaxed is not None:
                sums = self.data @ relaxed.weights
            k = self._short_row(signs, known, sums, self.first[j])
            if k is not None:
                return self.alike(node, j), row, k
        return None

    def patterns(self, node: Node) -> Iterator[Integers]:
        """Signs of each neuron at a finished node: the relations, and for open rows those of the current weights."""
        for j, margin in enumerate(self.first):
            row = self.main_row(node, j)
            signs = node.relations.signs(j, row).astype(np.int64)
            relaxed = node.relaxed[j] if margin >= 1 else None
            if relaxed is not None:
                sums = self.data @ relaxed.weights
                turn = 1 if (signs * sums).sum() >= 0 else -1
                signs = np.where(signs == 0, turn * np.where(sums >= 0, 1, -1), signs)
            yield signs
