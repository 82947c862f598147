"""What follows at a node of the search for every network that beats the incumbent.

Neurons are numbered so that tiers do not decrease, and a neuron of a higher tier has a margin at least as large as any
of a lower tier: without loss of generality, since first-layer neurons are interchangeable.  Tier 0 holds the
*splitting* neurons, as many as are needed to tell the codes apart; all others are *wide-margin* neurons.  Deductions
apply only to networks with an objective above the incumbent's, so they remain valid when the incumbent improves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.max_margin.incumbent import Incumbent
from bemi.engines.decomposition.max_margin.nodes import Instance, Node, PartialNeuron
from bemi.engines.decomposition.neuron.linear_program import Floats, plain
from bemi.engines.decomposition.neuron.shortlist import Shortlist
from bemi.exact import Integers
from bemi.problem.problem import outputs_for


class Deductions:
    """Bounds and forced signs at a node, each written to the node's log in the certificate's form."""

    def __init__(self, instance: Instance, incumbent: Incumbent) -> None:
        self.instance, self.incumbent = instance, incumbent
        self.n_splitting = min(instance.neurons, outputs_for(instance.n_codes))
        # One wide-margin neuron has its own tier: the one that loses most.
        middle = min(1, instance.neurons - self.n_splitting)
        self.tier = [0] * self.n_splitting + [1] * middle + [2] * (instance.neurons - self.n_splitting - middle)
        self.wide_tiers = sorted({t for t in self.tier if t > 0})
        self.shortlist: Shortlist | None = None

    def total(self, node: Node) -> int:
        """Bound on the objective: no neuron's margin exceeds its own bound nor that of any neuron of a higher tier."""
        wide = splitting = 0
        above = lowest = None
        for j in range(len(self.tier) - 1, -1, -1):
            if j + 1 < len(self.tier) and self.tier[j] != self.tier[j + 1]:
                above = lowest
            bound = node.neurons[j].bound if above is None else min(node.neurons[j].bound, above)
            lowest = bound if lowest is None else min(lowest, bound)
            if self.tier[j]:
                wide += bound
            else:
                splitting += bound
        return node.upper + wide + (splitting if node.together is None else min(splitting, node.together))

    def need(self, node: Node, neuron: int) -> int:
        """The smallest margin that a neuron can have in a network above the incumbent.

        It is the smallest m with ``m + sum over lower tiers of min(bound, m) + all other bounds + upper > value``, or
        the neuron's floor.  For a wide-margin neuron, a bound on the splitting neurons together may replace theirs.
        """
        need = max(node.floors.get(neuron, 0), self._needed(node, neuron))
        if node.together is None or not self.tier[neuron]:
            return need
        others = sum(n.bound for i, n in enumerate(node.neurons) if self.tier[i] and i != neuron)
        return max(need, self.incumbent.value + 1 - node.upper - others - node.together)

    def _needed(self, node: Node, neuron: int) -> int:
        goal = self.incumbent.value + 1 - node.upper
        others, lower = 0, []
        for i, other in enumerate(node.neurons):
            if self.tier[i] < self.tier[neuron]:
                lower.append(other.bound)
            elif i != neuron:
                others += other.bound
        done = 0
        for i, bound in enumerate(sorted(lower)):
            m = -((done + others - goal) // (1 + len(lower) - i))
            if m <= bound:
                return m
            done += bound
        return goal - others - done

    def threshold(self, node: Node, tier: int) -> int:
        """No neuron of this tier or a higher one has a margin this small in a better network."""
        return min(self.need(node, j) for j in range(len(self.tier)) if self.tier[j] >= tier) - 1

    def solve(self, node: Node, neuron: int) -> None:
        """Update the bound of a neuron."""
        partial = node.neurons[neuron]
        if not partial.signed:
            return
        stop = max(0, self.need(node, neuron) - 1)
        found = self.instance.lp.solve(partial.signs, start=partial.known, stop=stop)
        if found.bound < partial.bound:
            node.log.append(["B", neuron, plain(found.multipliers)])
        node.neurons[neuron] = PartialNeuron(
            partial.signs, partial.group, found, min(partial.bound, found.bound), partial.listed
        )

    def closed(self, node: Node) -> bool:
        """Whether no network above the incumbent is left in the node; updates its total."""
        node.total = self.total(node)
        return node.total <= self.incumbent.value or any(neuron.bound < 1 for neuron in node.neurons)

    def classes(self, node: Node) -> list[list[int]]:
        """Lists of identical neurons of one tier, in order of their first member."""
        members: dict[tuple[int, bytes], list[int]] = {}
        for j, neuron in enumerate(node.neurons):
            members.setdefault((self.tier[j], neuron.key), []).append(j)
        return list(members.values())

    def pair_options(self, node: Node, classes: list[list[int]]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
        """Which pairs of rows with different codes are separated, and how many orientations each class has left."""
        pair_a, pair_b = self.instance.pair_a, self.instance.pair_b
        separated = np.zeros(pair_a.size, dtype=bool)
        options = np.zeros((len(classes), pair_a.size), dtype=np.int8)
        for number, members in enumerate(classes):
            neuron = node.neurons[members[0]]
            separated |= neuron.signs[pair_a] * neuron.signs[pair_b] < 0
            unsigned = (neuron.signs[pair_a] == 0) & (neuron.signs[pair_b] == 0)
            count = np.where(unsigned, 2 if neuron.signed else 1, 1)
            options[number] = np.where(neuron.can_separate(pair_a, pair_b), count, 0)
        return separated, options

    def _units(self, node: Node) -> tuple[bool, set[int]]:
        """Pairs that only one neuron can still separate.  Returns whether the node is closed, and changed neurons."""
        changed: set[int] = set()
        pair_a, pair_b = self.instance.pair_a, self.instance.pair_b
        while True:
            classes = self.classes(node)
            separated, options = self.pair_options(node, classes)
            count = options.sum(axis=0)
            todo = np.flatnonzero(~separated & (count <= 1))
            if not todo.size:
                return False, changed
            dead = todo[count[todo] == 0]
            if dead.size:
                node.log.append(["D", int(pair_a[dead[0]]), int(pair_b[dead[0]])])
                return True, changed
            number = int(np.argmax(options[:, todo[0]]))
            j = classes[number][0]
            done = False
            for pair in todo:
                a, b = int(pair_a[pair]), int(pair_b[pair])
                neuron = node.neurons[j]
                if options[number, pair] != 1 or neuron.signs[a] * neuron.signs[b] < 0:
                    continue
                if done and not (neuron.signs[a] or neuron.signs[b]):
                    continue
                node.log.append(["D", a, b])
                changed.add(j)
                left = neuron.orientations(a, b)
                new = neuron.separate(a, b, left[0]) if left else None
                if new is None:
                    return True, changed
                node.neurons[j] = new
                done = True
                if len(classes[number]) > 1:
                    break  # its twins form a separate class from here on

    def tighten_upper(self, node: Node) -> None:
        """Bound the upper layers by the best pair; its separations lie between those made and those still possible."""
        if self.instance.n_codes == 1:
            return
        pair_a, pair_b = self.instance.pair_a, self.instance.pair_b
        code_distance = self.instance.code_distance
        low, high = np.zeros((2, pair_a.size), dtype=np.int64)
        for members in self.classes(node):
            neuron = node.neurons[members[0]]
            separates = neuron.signs[pair_a] * neuron.signs[pair_b] < 0
            low += len(members) * separates
            high += len(members) * (separates | neuron.can_separate(pair_a, pair_b))
        low = np.maximum(low, 1)
        if (high < low).any():
            return
        key = (low * (self.instance.neurons + 1) + high) * (self.instance.problem.codes.shape[1] + 1) + code_distance
        best, best_pair = node.upper, None
        for pair in np.unique(key, return_index=True)[1]:
            bound = int(self.instance.upper[low[pair] : high[pair] + 1, code_distance[pair]].max())
            if bound < best:
                best, best_pair = bound, pair
        if best_pair is not None:
            node.upper = best
            node.log.append(["G", int(pair_a[best_pair]), int(pair_b[best_pair])])

    def _exclude_signs(self, node: Node) -> set[int]:
        """Exclude signs with which a neuron falls below its need, by line search on the multipliers."""
        changed = set()
        lp = self.instance.lp
        for j, neuron in enumerate(node.neurons):
            if not neuron.signed or neuron.known is None or not neuron.known.exact:
                continue
            need = self.need(node, j)
            rows, signs, caps = self.caps(neuron)
            for q in np.flatnonzero(caps[:, 0] < need - 1e-9):
                row, sign = int(rows[q]), int(signs[q])
                now = node.neurons[j]
                if now.signs[row] != 0:
                    continue
                multipliers = lp.cap_multipliers(neuron.known, row, caps[q, 1])
                trial = neuron.signs.copy()
                trial[row] = sign
                if lp.exact_bound(trial, multipliers) >= need:
                    continue
                node.log.append(["X", j, row, sign, plain(multipliers)])
                assigned = now.assign(row, -sign)
                assert assigned is not None
                node.neurons[j] = assigned
                changed.add(j)
        return changed

    def _choose_from_list(self, node: Node) -> tuple[bool, set[int]]:
        """What follows from the list of all good dichotomies.  Returns whether the node is closed, and new signs."""
        changed: set[int] = set()
        if self.shortlist is None:
            return False, changed
        for j, neuron in enumerate(node.neurons):
            need = self.need(node, j)
            if self.tier[j] == 0 or need <= self.shortlist.level:
                continue
            count = self.shortlist.count(need)
            if neuron.listed == count:
                continue
            chosen = self.shortlist.narrowed(neuron, count)
            if chosen is not neuron:
                node.log.append(["F", j, count])
            if chosen is None:
                return True, changed
            if chosen.signs is not neuron.signs:
                changed.add(j)
            chosen.listed = count
            node.neurons[j] = chosen
        return False, changed

    def caps(self, neuron: PartialNeuron) -> tuple[Integers, Integers, Floats]:
        """Free rows, signs, and the bound if that row alone also gets that sign."""
        if neuron.caps is None:
            assert neuron.known is not None
            free = np.flatnonzero(neuron.signs == 0)
            rows, signs = np.repeat(free, 2), np.tile([1, -1], free.size)
            neuron.caps = (rows, signs, self.instance.lp.caps(neuron.signs, neuron.known, rows, signs))
        return neuron.caps

    def refine(self, node: Node) -> bool:
        """All cheap deductions to a fixed point; True if the node is closed."""
        for j, neuron in enumerate(node.neurons):
            stale = neuron.known is None or neuron.known.bound > neuron.bound or not neuron.known.exact
            if neuron.signed and stale:
                self.solve(node, j)
        for _ in range(50):
            if self.closed(node):
                return True
            contradiction, changed = self._units(node)
            if contradiction:
                return True
            for j in sorted(changed):
                self.solve(node, j)
            if not changed:
                self.tighten_upper(node)
            if self.closed(node):
                return True
            contradiction, chosen = self._choose_from_list(node)
            if contradiction:
                return True
            for j in sorted(chosen):
                self.solve(node, j)
            excluded = self._exclude_signs(node)
            for j in sorted(excluded):
                self.solve(node, j)
            if not (changed or chosen or excluded):
                break
        opposed = self.instance.opposed(np.stack([neuron.signs for neuron in node.neurons], axis=1))
        if opposed is not None:
            node.log.append(["A", *opposed])
            return True
        return self.closed(node)
