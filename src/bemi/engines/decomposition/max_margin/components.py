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
from bemi.engines.decomposition.max_margin.instance import Budget
from bemi.engines.decomposition.max_margin.partial import Groups, Node, joined
from bemi.engines.decomposition.neuron.linear_program import Floats
from bemi.engines.decomposition.neuron.shortlist import kernel_arguments, proof_tree
from bemi.engines.decomposition.neuron.shortlist_kernel import EXHAUSTED, UNDECIDED, explore, new_store
from bemi.products import Integers

Schedule = tuple[tuple[int, int, int], ...]
"""Search limit, how many of the most promising pairs may be tried with it, consecutive failures that end the attempt.

A pair far from the threshold would use the whole limit and prove nothing.
"""

PairKey = tuple[int, int, int, int, int]

_LARGEST_LIMIT = 200  # of any schedule
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
        self._pairs_of: tuple[int, bytes] | None = None
        self._pairs: tuple[Integers, Integers, list[PairKey]] = (np.zeros(0, int), np.zeros(0, int), [])
        self._place: dict[PairKey, int] = {}
        self._likely: Floats = np.zeros(0)
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
        tried: dict[PairKey, tuple[int, int]] = {}
        estimate: dict[PairKey, int] = {}
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
                    pair = self._next_pair(node, tier, threshold, limit, width, tried, estimate)
                    share.used = self.budget.used - used_before
                    if root and limit > 1 and share.spent:
                        return False
                    if pair is None or failures >= patience:
                        node.looked = {**node.looked, tier: threshold}
                        break
                    a, b, key = pair
                    tried[key] = (limit, threshold)
                    tree, found, exhausted = self.inseparable(node.components[tier], a, b, threshold, limit)
                    estimate[key] = self._likely[self._place[key]] = found
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
        tried: dict[PairKey, tuple[int, int]],
        estimate: dict[PairKey, int],
    ) -> tuple[int, int, PairKey] | None:
        """The most promising pair of components that may merge and has not failed to."""
        groups = node.components[tier]
        if self._pairs_of != (tier, groups.tobytes()):
            self._pairs_of = (tier, groups.tobytes())
            self._pairs = a, b, keys = self._nearest_pairs(groups, tier)
            half = self.instance.weight_bound * self.instance.distance[a, b] / 2.0
            self._likely = np.array([estimate.get(key, h) for key, h in zip(keys, half, strict=True)])
            self._place = {key: place for place, key in enumerate(keys)}
            self._order = None
        a, b, keys = self._pairs
        if self._order is None or limit > 1:
            self._order = np.argsort(self._likely, kind="stable")
        # A dichotomy above the threshold respects the components, so one witness covers all members.
        order = self._order[self._witness[a[self._order], b[self._order]] < threshold + 1 - EPS]
        main = node.neurons[0].signs
        code_of = self.instance.code_of
        seen = 0
        for q in order:
            i, j = int(a[q]), int(b[q])
            # Costly attempts only if they can yield something new about the splitting neurons.
            if limit > 1 and code_of[i] == code_of[j] and main[i] and main[j]:
                continue
            seen += 1
            if seen > width:
                return None
            last = tried.get(keys[q])
            if last is None or last[0] < limit or last[1] < threshold:
                return i, j, keys[q]
        return None

    def _nearest_pairs(self, groups: Groups, tier: int) -> tuple[Integers, Integers, list[PairKey]]:
        """The two nearest rows of every two components, nearest first, with keys that change when a component grows."""
        a, b = np.triu_indices(self.instance.rows, 1)
        apart = groups[a] != groups[b]
        a, b = a[apart], b[apart]
        order = np.argsort(self.instance.distance[a, b], kind="stable")
        a, b = a[order], b[order]
        low, high = np.minimum(groups[a], groups[b]), np.maximum(groups[a], groups[b])
        _, first = np.unique(low.astype(np.int64) * self.instance.rows + high, return_index=True)
        first.sort()
        a, b = a[first], b[first]
        size = np.bincount(groups, minlength=self.instance.rows)[groups]
        keys = [(tier, int(i), int(j), int(size[i]), int(size[j])) for i, j in zip(a, b, strict=True)]
        return a, b, keys
