"""Many codes: how the splitting neurons can divide them, class by class.

Let q splitting neurons face rows K on which all other neurons are constant
(:mod:`~bemi.engines.decomposition.max_margin.components`).  They alone tell the codes in K apart, so each of their 2^q
patterns belongs to one code at most: a *shape* gives every pattern to a code, and every code at least one.  In a shape,
a neuron has one sign on all rows of a code, or both signs occur and nothing is known about the code's rows.  Little
freedom is left: with six codes and eight patterns, at most two codes have more than one pattern.

One row of each code is *marked*.  It has one pattern, so a neuron with both signs on a code still has a known sign on
the marked row.  A neuron's *label* is a digit for each code: 0 or 1 if all its rows are + or -, 2 or 3 if both signs
occur and the marked row is + or -.  Multipliers bound the margin of a neuron with a given label; the bound on the
splitting neurons together is the largest sum over all shapes.

Of a code with several patterns a shape says nothing but the pattern of its marked row.  Any other row has one of the
code's patterns too, so there are a few cases, and in each of them the row has a sign in every neuron.  This is a tree
over rows; its largest leaf replaces the shape's sum of bounds.  R35 in docs/certificates.md defines how the proof
writes such a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.components import Components
from bemi.engines.decomposition.max_margin.deductions import Deductions
from bemi.engines.decomposition.max_margin.nodes import Budget, LabelBounds, Node
from bemi.engines.decomposition.neuron.linear_program import NeuronBound, NeuronLP, Signs, plain
from bemi.exact import Integers

_EPS = 1e-6


@dataclass(eq=False)
class _Leaf:
    """Signs of the splitting neurons, what is known about them, the codes that own patterns, and its tree."""

    signs: list[Signs]
    found: list[NeuronBound]
    bounds: list[int]
    owner: dict[int, int]
    tree: list[Any]

    def value(self, cap: int) -> int:
        return sum(min(bound, cap) for bound in self.bounds)


class ShapeTree:
    """The cases of one shape.

    Attributes
    ----------
    tree
        The proof so far.
    final
        Whether the largest leaf cannot be split: its linear programs have a pattern of the right code for every row.
    """

    def __init__(
        self,
        lp: NeuronLP,
        code_of: Integers,
        core: Integers,
        digits: list[list[int]],
        root: list[NeuronBound],
        signs: list[Signs],
        cap: int,
    ) -> None:
        self.lp, self.code_of, self.core, self.digits, self.cap = lp, code_of, core, digits, cap
        self.tree: list[Any] = [[None] * len(digits), -1, []]
        self.final = False
        owner = {self._marked_pattern(code): code for code in range(len(digits[0]))}
        self._leaves = [_Leaf(signs, root, [f.bound for f in root], owner, self.tree)]

    def _marked_pattern(self, code: int) -> int:
        return sum((neuron[code] & 1) << j for j, neuron in enumerate(self.digits))

    @property
    def value(self) -> int:
        """The largest sum of margins over all cases."""
        return max((leaf.value(self.cap) for leaf in self._leaves), default=0)

    @property
    def signs(self) -> list[Signs]:
        """Signs of the neurons in the largest leaf, by their linear programs where they are free."""
        leaf = max(self._leaves, key=lambda leaf: leaf.value(self.cap))
        return [
            np.where(s != 0, s, np.where(f.sums >= 0, 1, -1)).astype(np.int8)
            for s, f in zip(leaf.signs, leaf.found, strict=True)
        ]

    def split(self) -> None:
        """Split the largest leaf at the row that fits its linear programs least, or find that it cannot be split."""
        leaf = max(self._leaves, key=lambda leaf: leaf.value(self.cap))
        worst: tuple[float, int, list[int]] | None = None
        for row in self.core.tolist():
            if all(column[row] for column in leaf.signs):
                continue
            options = self._options(leaf, int(self.code_of[row]))
            misfit = min((self._misfit(leaf, row, pattern) for pattern in options), default=np.inf)
            if misfit > _EPS and (worst is None or misfit > worst[0]):
                worst = (misfit, row, options)
        if worst is None:
            self.final = True
            return
        _, row, options = worst
        self._leaves.remove(leaf)
        leaf.tree[1] = row
        for pattern in options:
            child = self._child(leaf, row, pattern)
            leaf.tree[2].append(child.tree)
            self._leaves.append(child)

    def _options(self, leaf: _Leaf, code: int) -> list[int]:
        """Patterns that a row of the code can have: pure neurons fix a sign, and other codes own some patterns."""
        return [
            pattern
            for pattern in range(1 << len(self.digits))
            if leaf.owner.get(pattern, code) == code
            and all(n[code] >= 2 or n[code] == pattern >> j & 1 for j, n in enumerate(self.digits))
        ]

    def _misfit(self, leaf: _Leaf, row: int, pattern: int) -> float:
        total = 0.0
        for j, found in enumerate(leaf.found):
            if not leaf.signs[j][row]:
                sign = 1 - 2 * (pattern >> j & 1)
                total += max(0.0, min(leaf.bounds[j], self.cap) - sign * float(found.sums[row]))
        return total

    def _child(self, leaf: _Leaf, row: int, pattern: int) -> _Leaf:
        signs, found, bounds = list(leaf.signs), list(leaf.found), list(leaf.bounds)
        multipliers: list[Any] = [None] * len(signs)
        for j, column in enumerate(signs):
            if not column[row]:
                signs[j] = column.copy()
                signs[j][row] = 1 - 2 * (pattern >> j & 1)
                found[j] = self.lp.solve(signs[j], start=leaf.found[j])
                if found[j].bound < bounds[j]:
                    bounds[j], multipliers[j] = found[j].bound, plain(found[j].multipliers)
        return _Leaf(signs, found, bounds, {**leaf.owner, pattern: int(self.code_of[row])}, [multipliers, -1, []])


MOST_SPLITTING, FEWEST_CODES = 3, 3
_LIMITS = (1, 8, 40)  # linear programs for one attempt at a merge
_LEAST_SECONDS = 1.0
_TRIED = 12  # rows nearest to the rows merged so far that are tried at each limit


@lru_cache(maxsize=8)
def shape_labels(codes: int, neurons: int) -> Integers:
    """The labels of all neurons in every shape, one line per shape; a label is a number with a base-4 digit per code.

    Neurons may be flipped, so the marked row of the first code has the pattern of signs +, number 0.
    """
    patterns = 1 << neurons
    owner = np.array(list(product(range(codes), repeat=patterns - 1)), dtype=np.int8)
    owner = np.concatenate([np.zeros((len(owner), 1), dtype=np.int8), owner], axis=1)
    for code in range(codes):
        owner = owner[(owner == code).any(axis=1)]
    marked = np.zeros((len(owner), codes), dtype=np.int8)
    for code in range(1, codes):
        places = [(owner[:, pattern] == code, pattern) for pattern in range(1, patterns)]
        turned = []
        for mine, pattern in places:
            part = marked[mine]
            part[:, code] = pattern
            turned.append(part)
        owner, marked = np.concatenate([owner[mine] for mine, _ in places]), np.concatenate(turned)
    labels = np.zeros((len(owner), neurons), dtype=np.int64)
    for neuron in range(neurons):
        minus = (np.arange(patterns) >> neuron) & 1
        for code in range(codes):
            mine = owner == code
            some_plus, some_minus = mine[:, minus == 0].any(axis=1), mine[:, minus == 1].any(axis=1)
            digit = np.where(some_plus & some_minus, 2 + minus[marked[:, code]], some_minus)
            labels[:, neuron] += digit << (2 * code)
    return np.unique(np.sort(labels, axis=1), axis=0)


class Shapes:
    """Merges rows around a central one, and bounds the splitting neurons by shapes once all codes are among them.

    ``usable`` is whether the problem and the time left are suited to that.
    """

    def __init__(self, components: Components, budget: Budget) -> None:
        self.components, self.budget = components, budget
        self.deductions: Deductions = components.deductions
        self.instance = self.deductions.instance
        distance = self.instance.distance
        self._nearness = distance.mean(axis=1)
        half = max(2, self.instance.rows // 2)
        # Few splitting neurons, many codes, other neurons that are wide, and time for listing the shapes.
        few = self.deductions.n_splitting <= MOST_SPLITTING and self.instance.n_codes >= FEWEST_CODES
        left = budget.deadline.left
        self.usable = few and bool(self.deductions.wide_tiers) and (left is None or left >= _LEAST_SECONDS)
        self.centre = int(np.argmin(np.sort(distance, axis=1)[:, :half].mean(axis=1)))

    def strengthen(self, node: Node, *, grow: bool = True) -> bool:
        """Alternate merging and bounding by shapes until neither gains anything; True if the node is closed."""
        while True:
            before = node.total
            if (grow and self._grow(node)) or self.deductions.closed(node):
                return True
            self.bound(node)
            if self.deductions.closed(node):
                return True
            if node.total >= before:
                return False

    def _core(self, node: Node) -> Integers:
        groups = node.components[self.deductions.wide_tiers[0]]
        return np.flatnonzero(groups == groups[self.centre])

    def _grow(self, node: Node) -> bool:
        """Merge other rows with the centre's, the least separable first; True if that closes the node."""
        tier = self.deductions.wide_tiers[0]
        tried: set[tuple[int, int, int]] = set()
        value: dict[int, int] = {}
        for limit in _LIMITS:
            merged = True
            while merged:
                merged = False
                threshold = self.deductions.threshold(node, tier)
                groups, core = node.components[tier], self._core(node)
                for row in self._nearest(groups, core, threshold, value):
                    key = (limit, row, len(core))
                    if key in tried:
                        continue
                    tried.add(key)
                    tree, _, _ = self.components.inseparable(groups, self.centre, row, threshold, limit)
                    if tree is not None:
                        merged = True
                        if self.components.merge(node, tier, self.centre, row, tree):
                            return True
                        break
        return False

    def _nearest(self, groups: Integers, core: Integers, threshold: int, value: dict[int, int]) -> list[int]:
        """Rows of other groups, by the margin of a neuron that separates them from the core.

        ``value`` holds such margins for smaller cores, which can only fall: the smallest ones are solved again.
        """
        outside = np.unique(groups[groups != groups[self.centre]]).tolist()
        found = []
        for group in sorted(outside, key=lambda group: value.get(group, -1))[: _TRIED if value else None]:
            signs = np.zeros(len(groups), dtype=np.int8)
            signs[core], signs[groups == group] = 1, -1
            value[group] = self.instance.lp.solve(signs, stop=threshold).bound
            found.append((value[group], group))
        return [int(np.flatnonzero(groups == group)[0]) for _, group in sorted(found)[:_TRIED]]

    def bound(self, node: Node) -> None:
        """Bound the splitting neurons together by all shapes of the core, if it has rows of every code.

        Only labels of the shape with the largest sum are solved, until it stays the largest; all others keep bounds
        from smaller cores, where less was known.
        """
        core, codes = self._core(node), self.instance.n_codes
        code_of = self.instance.code_of
        if len(np.unique(code_of[core])) < codes:
            return
        known = node.labels.copy() if node.labels is not None else self._nothing_known(core)
        node.labels = known
        # No splitting neuron has a wider margin than any other neuron.
        cap = min(n.bound for n, t in zip(node.neurons, self.deductions.tier, strict=True) if t > 0)
        labels = shape_labels(codes, self.deductions.n_splitting)
        entries: list[Any] = []
        node.log.append(["Y", self.centre, known.marked, entries, []])
        while True:
            totals = self._totals(known, labels, cap)
            best = int(np.argmax(totals))
            stale = [v for v in np.unique(labels[best]).tolist() if known.solved_on.get(v) != len(core)]
            if not stale or self.budget.spent:
                break
            self.budget.used += 1
            for label in stale:
                entries += self._solve(known, label, core)
        together = int(totals[best])
        node.together = together if node.together is None else min(together, node.together)

    @staticmethod
    def _totals(known: LabelBounds, labels: Integers, cap: int) -> Integers:
        totals = np.minimum(known.bounds, cap)[labels].sum(axis=1)
        for shape, value in known.shapes.items():
            totals[shape] = min(totals[shape], value)
        return totals

    def refine(self, node: Node, splits: int) -> bool:
        """Look at the shapes with the largest sums row by row; returns whether the node's bound has improved."""
        if node.labels is None or node.together is None:
            return False
        if node.labels.step is None:
            node.labels = node.labels.copy()
            node.labels.step = ["Y", self.centre, node.labels.marked, [], []]
            node.log.append(node.labels.step)
        known, core, before = node.labels, self._core(node), node.together
        cap = min(n.bound for n, t in zip(node.neurons, self.deductions.tier, strict=True) if t > 0)
        labels = shape_labels(self.instance.n_codes, self.deductions.n_splitting)
        goal = self.deductions.incumbent.value - (node.total - node.together)
        totals = self._totals(known, labels, cap)
        for _ in range(splits):
            best = int(np.argmax(totals))
            if totals[best] <= goal or self.budget.spent:
                break
            self.budget.used += 1
            assert known.step is not None
            stale = [v for v in np.unique(labels[best]).tolist() if known.solved_on.get(v) != len(core)]
            if stale:
                for label in stale:
                    known.step[3] += self._solve(known, label, core)
                totals = self._totals(known, labels, cap)
                continue
            if best not in known.trees:
                known.trees[best] = self._tree(known, labels[best].tolist(), core, cap)
                known.step[4].append([known.trees[best].digits, known.trees[best].tree])
            tree = known.trees[best]
            tree.split()
            if tree.final:
                # Every row has a pattern, so this may be a network.
                constant = self.components.incumbent.constant
                wide = [constant] * (self.instance.neurons - len(tree.signs))
                self.components.incumbent.offer(np.stack([*tree.signs, *wide], axis=1))
                break
            known.shapes[best] = min(tree.value, known.shapes.get(best, tree.value))
            totals[best] = min(totals[best], known.shapes[best])
        node.together = min(before, int(totals.max()))
        return node.together < before

    def _tree(self, known: LabelBounds, triple: list[int], core: Integers, cap: int) -> ShapeTree:
        digits = [[(label >> (2 * c)) & 3 for c in range(self.instance.n_codes)] for label in triple]
        solutions = [known.solutions[label] for label in triple]
        signs = [self._label_signs(known, d, core) for d in digits]
        return ShapeTree(self.instance.lp, self.instance.code_of, core, digits, solutions, signs, cap)

    def _nothing_known(self, core: Integers) -> LabelBounds:
        """The most central row of each code as its marked one, and the cap as the bound of every label."""
        codes, code_of = self.instance.n_codes, self.instance.code_of
        marked = [
            min(core[code_of[core] == c].tolist(), key=lambda row: (self._nearness[row], row)) for c in range(codes)
        ]
        cap = self.components.incumbent.cap
        return LabelBounds(marked, np.full(1 << (2 * codes), cap, dtype=np.int64), {}, {}, {})

    def _solve(self, known: LabelBounds, label: int, core: Integers) -> list[Any]:
        """Bound a neuron with this label on the core; returns the entry for the proof, if the bound is better."""
        digits = [(label >> (2 * code)) & 3 for code in range(self.instance.n_codes)]
        signs = self._label_signs(known, digits, core)
        found = self.instance.lp.solve(signs, start=known.solutions.get(label))
        known.solutions[label], known.solved_on[label] = found, len(core)
        if found.bound >= known.bounds[label]:
            return []
        known.bounds[label] = found.bound
        return [[digits, plain(found.multipliers)]]

    def _label_signs(self, known: LabelBounds, digits: list[int], core: Integers) -> Signs:
        signs = np.zeros(self.instance.rows, dtype=np.int8)
        for code, (digit, marked) in enumerate(zip(digits, known.marked, strict=True)):
            rows = core[self.instance.code_of[core] == code] if digit < 2 else marked
            signs[rows] = 1 - 2 * (digit & 1)
        return signs
