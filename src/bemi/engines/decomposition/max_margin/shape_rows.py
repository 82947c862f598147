"""One shape in detail: which of a code's patterns each of its rows has.

Of a code with several patterns a shape says nothing but the pattern of its marked row
(:mod:`~bemi.engines.decomposition.max_margin.shapes`).  Any other row has one of the code's patterns too, so there are
a few cases, and in each of them the row has a sign in every neuron.  This is a tree over rows; its largest leaf
replaces the shape's sum of bounds.

docs/certificates.md (R35) defines how the proof writes such a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
