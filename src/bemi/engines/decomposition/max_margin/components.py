"""Must-equal components: rows that no wide-margin neuron of a better network can separate.

If no neuron with a margin above a threshold can give a and b different signs, then all neurons that must exceed the
threshold give them the same sign.  The splitting neurons must then separate the rows of different codes in one
component, which bounds their margins, raises the threshold of the wide-margin ones, and makes more merges possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.deductions import Deductions
from bemi.engines.decomposition.max_margin.incumbent import EPS
from bemi.engines.decomposition.max_margin.nodes import Budget, Groups, Node, joined
from bemi.engines.decomposition.neuron.linear_program import Floats
from bemi.engines.decomposition.neuron.shortlist import kernel_arguments, proof_tree
from bemi.engines.decomposition.neuron.shortlist_kernel import EXHAUSTED, UNDECIDED, explore, new_store
from bemi.exact import Integers

Schedule = tuple[tuple[int, int, int], ...]
"""Search limit, how many of the most promising pairs may be tried with it, consecutive failures that end the attempt.

A pair far from the threshold would use the whole limit and prove nothing.
"""

PairKey = tuple[int, int, int, int, int]
"""A tier, the nearest rows of two components, and the sizes of these."""

Attempt = tuple[int, int, int]
"""Limit and threshold of an attempt to merge, and the margin at which the pair is likely to be separable."""

_LARGEST_LIMIT = 200  # of any schedule
_ORDERED_AT_ONCE = 512  # pairs looked up together
_ROOT_SHARE = 0.45  # of the budget, for costly attempts at the root


class Components:
    """Merges components at nodes of the search."""

    def __init__(self, deductions: Deductions, budget: Budget) -> None:
        self.deductions, self.budget = deductions, budget
        self.instance, self.incumbent = deductions.instance, deductions.incumbent
        rows = self.instance.rows
        # Largest margin of a known dichotomy that separates two rows: merging them below it is impossible.
        self._witness = np.zeros((rows, rows))
        lp = self.instance.lp
        self._arguments = kernel_arguments(lp)
        self._store = new_store(_LARGEST_LIMIT + 4, rows, lp.data.shape[1], lp.basis_room(rows))
        self._improved = False
        a, b = np.triu_indices(rows, 1)
        order = np.argsort(self.instance.distance[a, b], kind="stable")
        self._by_distance = a[order], b[order]
        self._pairs_of: tuple[int, bytes] | None = None
        self._pairs = _Pairs(0, np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), np.zeros(0))
        self._order: Integers | None = None
        self._without_neighbours: tuple[int, int, bytes] | None = None

    def strengthen(self, node: Node, schedule: Schedule, *, root: bool = False) -> bool:
        """Alternate merging and tightening, cheap attempts first; True if the node is closed.

        At the root, costly attempts may use only a share of the budget.
        """
        refine = self.deductions.refine
        if refine(node):
            return True
        if not self.deductions.wide_tiers or self.instance.n_codes == 1:
            return False
        share, used_before = self.budget.part(_ROOT_SHARE), self.budget.used
        attempts: dict[PairKey, Attempt] = {}
        for limit, width, patience in schedule:
            if root and limit > 1 and not self._improved:
                # Cheap steps were not enough: look for better incumbents before the costly ones.
                self._improved = True
                self.incumbent.improve(self.deductions.n_splitting)
                if refine(node):
                    return True
            # The lowest tier says most, so it comes first while attempts are cheap; later the easiest.
            for tier in sorted(self.deductions.wide_tiers, reverse=limit > 1):
                failures = 0
                while True:
                    threshold = self.deductions.threshold(node, tier)
                    closed, some = self._merge_neighbours(node, tier, threshold)
                    if closed or (some and refine(node)):
                        return True
                    if some:
                        continue
                    place = self._next_pair(node, tier, threshold, limit, width, attempts)
                    share.used = self.budget.used - used_before
                    if root and limit > 1 and share.spent:
                        return False
                    if place is None or failures >= patience:
                        node.looked = {**node.looked, tier: threshold}
                        break
                    a, b = int(self._pairs.a[place]), int(self._pairs.b[place])
                    tree, found, exhausted = self.inseparable(node.components[tier], a, b, threshold, limit)
                    attempt = attempts[self._pairs.key(place)] = limit, threshold, found
                    self._pairs.note(place, attempt)
                    if tree is not None:
                        failures = 0
                        if self.merge(node, tier, a, b, tree) or refine(node):
                            return True
                    elif exhausted:
                        failures += 1
        return False

    def merge(self, node: Node, tier: int, a: int, b: int, tree: list[Any]) -> bool:
        """Give a and b equal signs in all neurons of this tier and higher ones; True if that closes the node."""
        node.log.append(["M", tier, int(a), int(b), tree])
        node.components = {
            t: joined(groups, a, b) if t >= tier and groups[a] != groups[b] else groups
            for t, groups in node.components.items()
        }
        for j, neuron in enumerate(node.neurons):
            if self.deductions.tier[j] < tier:
                continue
            new = neuron.equate(a, b)
            if new is None:
                return True
            node.neurons[j] = new
            if new.signs is not neuron.signs:
                self.deductions.solve(node, j)
        return False

    def _merge_neighbours(self, node: Node, tier: int, threshold: int) -> tuple[bool, bool]:
        """Merge rows so close that half their distance is within the threshold.  Returns (closed, any merged)."""
        distance = self.instance.distance
        groups = node.components[tier]
        # Attempts that fail change nothing here.
        state = (tier, threshold, groups.tobytes())
        if state == self._without_neighbours:
            return False, False
        a, b = np.nonzero(np.triu((distance * self.instance.weight_bound) // 2 <= threshold, 1))
        apart = groups[a] != groups[b]
        a, b = a[apart], b[apart]
        some = False
        for q in np.argsort(distance[a, b], kind="stable"):
            groups = node.components[tier]
            if groups[a[q]] != groups[b[q]]:
                some = True
                if self.merge(node, tier, a[q], b[q], ["L", [[int(a[q]), 1], [int(b[q]), 1]]]):
                    return True, True
        if not some:
            self._without_neighbours = state
        return False, some

    def inseparable(
        self, groups: Groups, a: int, b: int, threshold: int, limit: int
    ) -> tuple[list[Any] | None, int, bool]:
        """Proof that no neuron with a margin above the threshold separates a and b.

        Returns the proof, the value of the first linear program, and whether the limit was reached; the proof is None
        then, or if a witness was found.
        """
        self.budget.spend()
        signs = np.zeros(self.instance.rows, dtype=np.int8)
        signs[groups == groups[a]] = 1
        signs[groups == groups[b]] = -1
        store = self._store
        store.used[:] = 0
        _, outcome = explore(store, *self._arguments, groups, threshold, signs, limit + 1, True, self._witness)
        nodes = int(store.used[0])
        self.budget.used += nodes - 1
        if outcome == EXHAUSTED:
            return proof_tree(store), threshold, False
        best = int(np.argmax(store.least[:nodes]))
        self.incumbent.note(store.nearest[best].copy(), float(store.least[best]))
        return None, int(store.value[0]), outcome == UNDECIDED

    def _next_pair(
        self,
        node: Node,
        tier: int,
        threshold: int,
        limit: int,
        width: int,
        attempts: dict[PairKey, Attempt],
    ) -> int | None:
        """Place of the most promising pair of components that may merge and has not failed to."""
        groups = node.components[tier]
        if self._pairs_of != (tier, groups.tobytes()):
            self._pairs_of = (tier, groups.tobytes())
            self._pairs = self._nearest_pairs(groups, tier)
            self._pairs.recall(attempts)
            self._order = None
        pairs = self._pairs
        if self._order is None or limit > 1:
            self._order = np.argsort(pairs.likely, kind="stable")
        main, code_of = node.neurons[0].signs, self.instance.code_of
        seen = 0
        for begin in range(0, self._order.size, _ORDERED_AT_ONCE):
            order = self._order[begin : begin + _ORDERED_AT_ONCE]
            a, b = pairs.a[order], pairs.b[order]
            # A dichotomy above the threshold respects the components, so one witness covers all members.
            eligible = self._witness[a, b] < threshold + 1 - EPS
            if limit > 1:
                # Costly attempts only if they can yield something new about the splitting neurons.
                eligible &= (code_of[a] != code_of[b]) | (main[a] == 0) | (main[b] == 0)
            order = order[eligible][: width - seen]
            new = np.flatnonzero((pairs.limit[order] < limit) | (pairs.threshold[order] < threshold))
            if new.size:
                return int(order[new[0]])
            seen += order.size
            if seen >= width:
                break
        return None

    def _nearest_pairs(self, groups: Groups, tier: int) -> _Pairs:
        """The two nearest rows of every two components, nearest first."""
        rows = self.instance.rows
        a, b = self._by_distance
        apart = groups[a] != groups[b]
        a, b = a[apart], b[apart]
        components = np.minimum(groups[a], groups[b]) * rows + np.maximum(groups[a], groups[b])
        nearest = np.full(rows * rows, -1)
        nearest[components[::-1]] = np.arange(a.size)[::-1]  # of repeated places, the last assignment stays
        first = np.zeros(a.size, dtype=bool)
        first[nearest[nearest >= 0]] = True
        a, b = a[first], b[first]
        size = np.bincount(groups, minlength=rows)[groups]
        return _Pairs(tier, a, b, size, self.instance.weight_bound * self.instance.distance[a, b] / 2.0)


class _Pairs:
    """Pairs of components, by their two nearest rows, and the last attempt to merge each.

    An attempt on components that have grown since is forgotten.
    """

    def __init__(self, tier: int, a: Integers, b: Integers, size: Integers, likely: Floats) -> None:
        self.tier, self.a, self.b, self.size, self.likely = tier, a, b, size, likely
        self.limit, self.threshold = np.zeros((2, a.size), dtype=np.int64)
        self._place = np.full((size.size, size.size), -1)
        self._place[a, b] = np.arange(a.size)

    def key(self, place: int) -> PairKey:
        """What identifies a pair and the sizes of its components."""
        a, b = int(self.a[place]), int(self.b[place])
        return self.tier, a, b, int(self.size[a]), int(self.size[b])

    def note(self, place: int, attempt: Attempt) -> None:
        """Note an attempt to merge a pair."""
        self.limit[place], self.threshold[place], self.likely[place] = attempt

    def recall(self, attempts: dict[PairKey, Attempt]) -> None:
        """Note the attempts on pairs whose components are still the same."""
        if not attempts:
            return
        keys, values = np.array(list(attempts)), np.array(list(attempts.values()))
        tiers, a, b, size_a, size_b = keys.T
        places = self._place[a, b]
        same = (places >= 0) & (tiers == self.tier) & (size_a == self.size[a]) & (size_b == self.size[b])
        places, values = places[same], values[same]
        self.limit[places], self.threshold[places], self.likely[places] = values.T
