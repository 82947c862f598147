"""The proof search of Max-Margin: one dichotomy per first-layer neuron, everything above bounded by the upper table.

Each node keeps a log of its deductions, nested lists of integers and one-letter tags; the logs are the proof.
docs/certificates.md defines their form (R23) and proves each rule.
"""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.components import Components, Schedule
from bemi.engines.decomposition.max_margin.deductions import Deductions
from bemi.engines.decomposition.max_margin.incumbent import EPS, Incumbent
from bemi.engines.decomposition.max_margin.nodes import (
    Budget,
    Instance,
    Node,
    OutOfBudget,
    PartialNeuron,
    most_violated,
)
from bemi.engines.decomposition.max_margin.shapes import Shapes
from bemi.engines.decomposition.neuron.linear_program import Floats, Signs, plain
from bemi.engines.decomposition.neuron.shortlist import Lister
from bemi.problem.problem import Problem, sum_of_margins_bound

ROOT_SCHEDULE: Schedule = ((1, 400, 400), (8, 60, 16), (40, 40, 8), (200, 20, 4))
# The same before shapes, which do the rest: for three or four codes, and for more.
FEW_CODES_SCHEDULE: Schedule = ROOT_SCHEDULE[:3]
MANY_CODES_SCHEDULE: Schedule = ((1, 40, 40),)
NODE_SCHEDULE: Schedule = ((1, 40, 40), (8, 12, 5), (40, 6, 3))
_MEASURED_PAIRS = 4  # branching candidates whose children are actually solved
_MOST_CAP_NODES = 2000
_MOST_LISTED = 40_000
_LISTED_AT_A_TIME = 200  # linear programs between two checks of the clock
_LISTING_SHARE = 0.6  # of the time left after the root's merges
_MARGIN_STEPS = 4
_LEVEL_STEP = 1.08
_NARROWEST = 1.015  # ratio of the levels between which a margin is not split any more
_REFINED_AT_ONCE = 100  # shapes looked at before another node may come first
_LEVELS_SHARE = 0.8  # of the time after the first merges


class Search:
    """Best-first search over the first layer's signs.

    After :meth:`run`, ``incumbent`` holds the best sign matrix, ``bound`` a proven bound on the objective of every
    network, and ``proof`` what proves it.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.instance = Instance(problem)
        self.budget = budget
        self.incumbent = Incumbent(self.instance, budget)
        self.deductions = Deductions(self.instance, self.incumbent)
        self.components = Components(self.deductions, budget)
        self.shapes = Shapes(self.components, budget)
        self.bound = sum_of_margins_bound(problem)
        self.proof: dict[str, Any] = {}
        self._heap: list[tuple[int, int, int, Node]] = []
        self._pushed = 0
        self._left_open = 0

    def run(self) -> None:
        """Search until the bound is proved or the budget is spent."""
        if len(self.instance.problem.layers) == 2:
            self._without_hidden_layer()
            return
        rows, neurons = self.instance.rows, self.instance.neurons
        cap, first_row, tree, best = self._largest_margin()
        signs = np.ones(rows, dtype=np.int8)
        # If possible a true constant, which is easiest for the upper layers to use.
        if best is not None and self.instance.margin(signs) < cap:
            signs = best
        self.incumbent.begin(cap, signs)
        own = np.arange(rows)
        empty = PartialNeuron(np.zeros(rows, dtype=np.int8), own, None, cap)
        one_code = self.instance.n_codes == 1
        upper = self.instance.upper_everywhere() if one_code else int(self.instance.upper[1:].max())
        root = Node([empty] * neurons, {tier: own for tier in self.deductions.wide_tiers}, upper, [])
        closed = False
        try:
            self.deductions.tighten_upper(root)
            schedule = ROOT_SCHEDULE
            if self.shapes.usable:
                schedule = FEW_CODES_SCHEDULE if self.instance.n_codes <= 4 else MANY_CODES_SCHEDULE
            closed = self.deductions.closed(root) or self.components.strengthen(root, schedule, root=True)
            if not closed:
                if self.shapes.usable:
                    self._split_levels(root)
                elif self.instance.n_codes > 1 and self.deductions.wide_tiers:
                    self._list_wide_neurons(root)
                else:
                    self._push(root)
                self._search_tree()
        except OutOfBudget:
            if not self._heap:
                self._push(root)
        if closed:
            root.log.append(["C"])
        for _, _, _, node in self._heap:
            if self.deductions.closed(node):
                node.log.append(["C"])
            else:
                node.log.append(["O"])
                self._left_open = max(self._left_open, node.total)
        self.bound = max(self.incumbent.value, self._left_open)
        self.proof = {
            "kind": "dichotomies",
            "value": self.incumbent.value,
            "bound": self.bound,
            "tiers": self.deductions.tier,
            "cap": [cap, first_row, tree],
            "tree": root.log,
        }

    def _without_hidden_layer(self) -> None:
        """The signs are the codes: one linear program per output."""
        codes = self.instance.problem.codes.astype(np.int8)
        found = [self.instance.lp.solve(np.ascontiguousarray(column)) for column in codes.T]
        self.bound = sum(f.bound for f in found)
        if all(f.bound >= 1 for f in found):
            self.incumbent.signs = codes
            self.incumbent.margins = [f.bound for f in found]
            self.incumbent.value = self.bound
            self.incumbent.history = [codes]
        log: list[Any] = [["B", j, plain(f.multipliers)] for j, f in enumerate(found)]
        self.proof = {"kind": "dichotomies", "value": self.bound, "bound": self.bound, "tree": [*log, ["C"]]}

    def _largest_margin(self) -> tuple[int, int, list[Any], Signs | None]:
        """The largest margin of any single neuron, by best-first search over its signs.

        Returns a bound, the row whose sign is + without loss of generality, the proof, and the best dichotomy found.
        """
        lp, own = self.instance.lp, np.arange(self.instance.rows)
        row = int(np.argmin(lp.norms))
        if ((lp.data >= 0).all(axis=0) | (lp.data <= 0).all(axis=0)).all():
            # Weights with the signs of their columns give every row its norm, so the smallest norm is reached.
            return lp.weight_bound * int(lp.norms[row]), row, ["L", [[row, 1]]], None
        most = _MOST_CAP_NODES if self.budget.nodes is None else min(_MOST_CAP_NODES, self.budget.nodes)
        lister, best, signs = Lister(lp, own, most + 2), 0, None
        while lister.more and lister.solved < most and not self.budget.deadline.passed:
            lister.extend(best, min(_LISTED_AT_A_TIME, most - lister.solved))
            for bound, found in lister.members:
                if bound > best:
                    best, signs = bound, found
            if lister.level <= best:
                break
        self.budget.used += lister.solved
        if signs is None and lister.widest_point is not None:
            signs = lister.widest_point[1]
        proof = lister.proof(lambda _, multipliers: ["L", multipliers])
        return max(best, lister.level), row, proof, signs

    def _list_wide_neurons(self, root: Node) -> None:
        """List the dichotomies that wide-margin neurons can have; then branch on the smallest margin among them.

        Above the level that the list reaches, that neuron is a member.  Below, its margin is small, and so are those of
        the splitting neurons, which leaves the others little to lose.  The smaller it is, the less, hence the steps.
        """
        deductions = self.deductions
        tier = deductions.wide_tiers[0]
        weakest = deductions.tier.index(tier)
        lowest = deductions.threshold(root, tier)
        lister = Lister(self.instance.lp, root.components[tier], _MOST_LISTED)
        budget = self.budget.part(_LISTING_SHARE)
        while lister.more and not budget.spent:
            before = lister.solved
            left = _LISTED_AT_A_TIME if budget.nodes is None else min(_LISTED_AT_A_TIME, budget.nodes - budget.used)
            lister.extend(lowest, left)
            budget.used += max(1, lister.solved - before)
        self.budget.used += budget.used
        if not lister.solved:
            self._push(root)
            return
        deductions.shortlist = lister.shortlist()
        root.log.append(["N", tier, deductions.shortlist.level, lister.proof()])
        for bound, signs in deductions.shortlist.members:
            self.incumbent.note(signs, bound)
        self.incumbent.improve(deductions.n_splitting)
        node = root
        steps = np.linspace(deductions.shortlist.level, lowest, _MARGIN_STEPS, endpoint=False)
        for level in steps.astype(int).tolist():
            if deductions.refine(node):
                node.log.append(["C"])
                return
            if deductions.need(node, weakest) <= level < node.neurons[weakest].bound:
                strong, node = self._split_margin(node, weakest, level)
                self._push(strong)
        self._push(node)

    def _split_levels(self, root: Node) -> None:
        """Branch on the smallest margin among the wide-margin neurons.

        The wider that neuron, the more rows it cannot separate, and the less freedom shapes leave the splitting
        neurons; the narrower it is, the narrower are these too.  First the levels rise in steps, so that each node
        starts from what its parent knows; then the node with the largest bound is split, or its shapes are refined.
        """
        self.incumbent.improve(self.deductions.n_splitting)
        weakest = self.deductions.tier.index(self.deductions.wide_tiers[0])
        share, used = self.budget.part(_LEVELS_SHARE), self.budget.used
        nodes: list[tuple[int, int, Node]] = []
        pushed = itertools.count()

        def split(node: Node, level: int) -> Node | None:
            """Queue both children; returns the one with the wider margins unless it is closed."""
            strong, weak = self._split_margin(node, weakest, level)
            for child in (weak, strong):
                self.deductions.closed(child)
                try:
                    closed = self.shapes.strengthen(child, grow=child is strong)
                except OutOfBudget:
                    closed = False  # what was found until then stays in the node
                if closed:
                    child.log.append(["C"])
                    child.total = 0
                elif child is weak:
                    heapq.heappush(nodes, (-weak.total, next(pushed), weak))
            share.used = self.budget.used - used
            return strong if strong.total else None

        node: Node | None = root
        while node is not None:
            low, high = self.deductions.need(node, weakest), node.neurons[weakest].bound
            if high <= _LEVEL_STEP * low or share.spent:
                heapq.heappush(nodes, (-node.total, next(pushed), node))
                break
            node = split(node, int(_LEVEL_STEP * low))
        while nodes and not share.spent:
            node = heapq.heappop(nodes)[2]
            low, high = self.deductions.need(node, weakest), node.neurons[weakest].bound
            if high > _NARROWEST * low:
                node = split(node, int((low * high) ** 0.5))
            elif self.shapes.refine(node, _REFINED_AT_ONCE):
                if self.deductions.closed(node):
                    node.log.append(["C"])
                    node = None
            else:
                self._push(node)
                node = None
            share.used = self.budget.used - used
            if node is not None:
                heapq.heappush(nodes, (-node.total, next(pushed), node))
        for _, _, left in nodes:
            self._push(left)

    def _split_margin(self, node: Node, neuron: int, level: int) -> tuple[Node, Node]:
        """Children of "the neuron, and with it every one of a higher tier, has a margin above the level"."""
        tier = self.deductions.tier
        strong, weak = node.child(), node.child()
        stronger = [j for j, t in enumerate(tier) if j == neuron or t > tier[neuron]]
        strong.floors = {**node.floors, **dict.fromkeys(stronger, level + 1)}
        known = node.neurons[neuron]
        weak.neurons[neuron] = PartialNeuron(known.signs, known.group, known.known, level, known.listed)
        weak.total = self.deductions.total(weak)
        node.log.append(["V", neuron, level, [strong.log, weak.log]])
        return strong, weak

    def _push(self, node: Node) -> None:
        self._pushed += 1
        heapq.heappush(self._heap, (-node.total, -node.depth, self._pushed, node))

    def _search_tree(self) -> None:
        while self._heap and -self._heap[0][0] > self.incumbent.value:
            self.budget.spend()
            node = self._heap[0][3]
            before = node.total
            closed = self.deductions.refine(node)
            if not closed and self._worth_merging(node):
                closed = self.components.strengthen(node, NODE_SCHEDULE)
            if not closed:
                self.incumbent.offer(self._completion(node))
            heapq.heappop(self._heap)
            if closed:
                node.log.append(["C"])
                continue
            if node.total < before:
                self._push(node)
                if self._heap[0][3] is not node:
                    continue
                heapq.heappop(self._heap)
            for child in self._children(node):
                for j, neuron in enumerate(child.neurons):
                    if neuron.signs is not node.neurons[j].signs:
                        self.deductions.solve(child, j)
                        if self.deductions.closed(child):
                            break
                if self.deductions.closed(child):
                    child.log.append(["C"])
                else:
                    self._push(child)

    def _worth_merging(self, node: Node) -> bool:
        """Deeper nodes know more about the splitting neurons; a merge is tried once that has raised a threshold."""
        if self.instance.n_codes == 1:
            return False
        for tier in self.deductions.wide_tiers:
            looked = node.looked.get(tier, 0)
            listed = self.deductions.shortlist
            if listed is not None and self.deductions.threshold(node, tier) >= listed.level:
                continue  # the list is stronger than any merge
            if self.deductions.threshold(node, tier) > looked + 0.01 * (self.incumbent.cap - looked):
                return True
        return False

    def _completion(self, node: Node) -> Signs:
        """A complete sign matrix near the node's linear programs."""
        columns = []
        for neuron in node.neurons:
            if neuron.known is None or not neuron.signed:
                columns.append(self.incumbent.constant)
            else:
                toward = np.where(neuron.known.sums >= 0, 1, -1)
                columns.append(np.where(neuron.signs != 0, neuron.signs, toward).astype(np.int8))
        return np.stack(columns, axis=1)

    def _children(self, node: Node) -> list[Node]:
        """Branch; a complete node that only the bound on the upper layers keeps open has no children and stays open."""
        classes = self.deductions.classes(node)
        separated, options = self.deductions.pair_options(node, classes)
        if not separated.all():
            return self._split(node, *self._pair_to_separate(node, classes, separated, options))
        # Every pair is separated: complete the neurons one by one.
        worst: tuple[float, int, int] | None = None
        for j, neuron in enumerate(node.neurons):
            if neuron.signed and neuron.known is not None and neuron.known.exact:
                row, lowest, _ = most_violated(neuron.known.sums, neuron.signs, neuron.group)
                loss = neuron.bound - lowest
                if row is not None and loss > EPS and (worst is None or loss > worst[0]):
                    worst = (loss, j, row)
        if worst is not None:
            return self._split_sign(node, worst[1], worst[2])
        # All completions are free of loss; only the upper layers are still open.
        opposed = self.instance.opposed(self._completion(node))
        if opposed is not None:
            for row in opposed:
                for j, neuron in enumerate(node.neurons):
                    if not neuron.signs[row]:
                        return self._split_sign(node, j, row)
        count = self.instance.separations(self._completion(node))
        for pair in np.argsort(self.instance.upper[count, self.instance.code_distance], kind="stable"):
            if options[:, pair].any():
                return self._split(node, int(self.instance.pair_a[pair]), int(self.instance.pair_b[pair]))
        # Rounding can leave a unit between a neuron's bound and its completion: fix what is free.
        for j, neuron in enumerate(node.neurons):
            if not neuron.signs.all():
                return self._split_sign(node, j, int(np.argmin(neuron.signs != 0)))
        node.log.append(["O"])
        self._left_open = max(self._left_open, node.total)
        return []

    def _split(self, node: Node, a: int, b: int) -> list[Node]:
        """Children of "which class of identical neurons is the first to separate a and b".

        One child per class and orientation; in it the earlier classes give a and b equal signs, so children are
        disjoint.  If the pair is separated already, a last child states that no other class does.
        """
        children: list[Node] = []
        earlier: list[int] = []

        def child() -> Node:
            new = node.child()
            for j in earlier:
                equal = new.neurons[j].equate(a, b)
                assert equal is not None
                new.neurons[j] = equal
            children.append(new)
            return new

        for members in self.deductions.classes(node):
            turns = node.neurons[members[0]].orientations(a, b)
            for sign in turns:
                new = child()
                separated = new.neurons[members[0]].separate(a, b, sign)
                assert separated is not None
                new.neurons[members[0]] = separated
            if turns:
                earlier += members
        if any(neuron.signs[a] * neuron.signs[b] < 0 for neuron in node.neurons):
            child()
        node.log.append(["S", int(a), int(b), [c.log for c in children]])
        return children

    def _split_sign(self, node: Node, neuron: int, row: int) -> list[Node]:
        children = []
        for sign in (1, -1) if node.neurons[neuron].signed else (1,):
            child = node.child()
            assigned = child.neurons[neuron].assign(row, sign)
            assert assigned is not None
            child.neurons[neuron] = assigned
            children.append(child)
        node.log.append(["T", int(neuron), int(row), [c.log for c in children]])
        return children

    def _pair_to_separate(self, node: Node, classes: list[list[int]], separated: Any, options: Any) -> tuple[int, int]:
        """The pair with the least slack over its children: by caps for all, by linear programs for the best few."""
        open_pairs = np.flatnonzero(~separated)
        a, b = self.instance.pair_a[open_pairs], self.instance.pair_b[open_pairs]
        half = self.instance.weight_bound * self.instance.distance[a, b] / 2.0
        slack = np.zeros(open_pairs.size)
        for number, members in enumerate(classes):
            neuron = node.neurons[members[0]]
            free = options[number, open_pairs] > 0
            room = node.total - neuron.bound - self.incumbent.value
            if not neuron.signed:
                slack += np.where(free, np.maximum(0.0, room + np.minimum(neuron.bound, half)), 0.0)
                continue
            cap = self._caps(neuron)
            for plus, minus in ((0, 1), (1, 0)):
                reach = np.minimum(np.minimum(cap[a, plus], cap[b, minus]), half)
                slack += np.where(free & (reach >= 0), np.maximum(0.0, room + reach), 0.0)
        best: tuple[float, int, int] | None = None
        for q in np.argsort(slack, kind="stable")[:_MEASURED_PAIRS]:
            score = self._measured_slack(node, int(a[q]), int(b[q]), classes, np.inf if best is None else best[0])
            if best is None or score < best[0]:
                best = (score, int(a[q]), int(b[q]))
                if score == 0:
                    break
        assert best is not None
        return best[1], best[2]

    def _measured_slack(self, node: Node, a: int, b: int, classes: list[list[int]], best: float) -> float:
        """Slack of a pair's children by linear programs; they are needed for the chosen pair anyway."""
        gap = node.total - self.incumbent.value
        score = 0.0
        for members in classes:
            j = members[0]
            neuron = node.neurons[j]
            stop = max(0, self.deductions.need(node, j) - 1)
            for sign in neuron.orientations(a, b):
                new = neuron.separate(a, b, sign)
                if new is None:
                    continue
                found = self.instance.lp.solve(new.signs, start=neuron.known, stop=stop)
                if found.bound > stop:
                    score += max(0, gap - (neuron.bound - min(neuron.bound, found.bound))) + 0.1 * gap
                    if score >= best:
                        return score
        return score

    def _caps(self, neuron: PartialNeuron) -> Floats:
        """Bound of a neuron if a row gets + (column 0) or - (column 1); a group shares its smallest."""
        cap = np.full((self.instance.rows, 2), float(neuron.bound))
        if neuron.known is not None and neuron.known.exact:
            rows, signs, caps = self.deductions.caps(neuron)
            np.minimum.at(cap, (rows, np.where(signs > 0, 0, 1)), caps[:, 0])
        cap[neuron.signs > 0, 1] = -1.0
        cap[neuron.signs < 0, 0] = -1.0
        low = np.full((self.instance.rows, 2), np.inf)
        np.minimum.at(low, neuron.group, cap)
        return low[neuron.group]
