"""What is known about the signs of first-layer neurons: which rows get equal and which get opposite signs.

A neuron may be flipped together with its outgoing weights, so only relations between rows matter.  The rows of a
*component* have known relations; rows of different components have none.

How many first-layer neurons separate two rows is limited by the margins above.  If h neurons of a layer of n separate
them, a neuron above with margin m and weights up to P

- separates them only if ``h >= m / P``, since only separating inputs differ, and only if h >= 1;
- gives them equal signs only if ``n - h >= m / P``, since only the other inputs contribute to both sums alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

FREE, EQUAL, OPPOSITE, IMPOSSIBLE, DECIDED = range(5)
"""What counting says about a pair: nothing yet, what every open neuron must do, a contradiction, nothing any more."""


def links_needed(margin: int, weight_bound: int) -> int:
    """Links of a neuron above the first layer: its inputs are -1 or 1."""
    return max(0, -(-int(margin) // weight_bound))


def allowed_counts(above: Sequence[Sequence[int]], weight_bound: int, size: int, differ: Sequence[bool]) -> list[bool]:
    """For h = 0..size: whether exactly h of ``size`` first-layer neurons may separate two rows.

    Parameters
    ----------
    above
        Margins of the neurons of each layer above the first.
    weight_bound, size
        P, and the number of first-layer neurons.
    differ
        For each output, whether the rows' codes differ in it.
    """
    *_, outputs = above
    allowed = []
    for h in range(size + 1):
        counts, width = {h}, size
        for layer in above[:-1]:
            counts = set().union(*(_counts_above(layer, weight_bound, width, count) for count in counts))
            width = len(layer)
        allowed.append(any(_outputs_fit(outputs, weight_bound, width, count, differ) for count in counts))
    return allowed


def _can(margin: int, weight_bound: int, width: int, count: int) -> tuple[bool, bool]:
    """Whether a neuron can give two rows equal signs, and whether it can separate them."""
    needed = links_needed(margin, weight_bound)
    return width - count >= needed, count >= max(1, needed)


def _counts_above(layer: Sequence[int], weight_bound: int, width: int, count: int) -> set[int]:
    options = [_can(m, weight_bound, width, count) for m in layer]
    if not all(equal or separate for equal, separate in options):
        return set()
    return set(range(sum(not equal for equal, _ in options), sum(separate for _, separate in options) + 1))


def _outputs_fit(margins: Sequence[int], weight_bound: int, width: int, count: int, differ: Sequence[bool]) -> bool:
    """Whether the outputs can agree with the codes; those without a margin may be wrong."""
    return all(
        m < 1 or _can(m, weight_bound, width, count)[int(other)] for m, other in zip(margins, differ, strict=True)
    )


class Counting:
    """Deductions from the number of neurons that separate a pair, for all pairs of rows at once."""

    def __init__(self, margins: Sequence[Sequence[int]], weight_bound: int, codes: Integers) -> None:
        size, outputs = len(margins[0]), codes.shape[1]
        differ = codes[:, None, :] != codes[None, :, :]
        kinds, self._kind = np.unique(differ.reshape(-1, outputs), axis=0, return_inverse=True)
        self._kind = self._kind.reshape(len(codes), len(codes))
        self._table = np.full((len(kinds), size + 1, size + 1), IMPOSSIBLE, dtype=np.int8)
        for kind, outputs_differ in enumerate(kinds.tolist()):
            allowed = allowed_counts(margins[1:], weight_bound, size, outputs_differ)
            for opposite in range(size + 1):
                for unknown in range(size + 1 - opposite):
                    self._table[kind, opposite, unknown] = _deduction(allowed[opposite : opposite + unknown + 1])
        np.fill_diagonal(self._kind, np.argmin(kinds.sum(axis=1)))

    def deductions(self, opposite: Integers, unknown: Integers) -> NDArray[np.int8]:
        """The deduction for every pair, given how many neurons separate it and for how many that is open."""
        return self._table[self._kind, opposite, unknown]


def _deduction(possible: Sequence[bool]) -> int:
    """What follows if the number of separating neurons is one of these, from none to all of the open ones."""
    if not any(possible):
        return IMPOSSIBLE
    if all(possible):
        return DECIDED
    if not any(possible[1:]):
        return EQUAL
    return FREE if any(possible[:-1]) else OPPOSITE


class Relations:
    """Relations of all neurons.

    ``component[j, k]`` is the first row of row k's component, ``parity[j, k]`` the relation of row k to it.
    """

    def __init__(self, component: Integers, parity: NDArray[np.int8]) -> None:
        self.component, self.parity = component, parity

    @classmethod
    def unknown(cls, neurons: int, rows: int) -> Relations:
        """No relation is known."""
        return cls(np.tile(np.arange(rows), (neurons, 1)), np.ones((neurons, rows), dtype=np.int8))

    @classmethod
    def fixed(cls, signs: Integers) -> Relations:
        """All relations are known, from the signs of rows (by row and neuron)."""
        columns = np.ascontiguousarray(signs.T).astype(np.int8)
        return cls(np.zeros(columns.shape, dtype=np.int64), columns * columns[:, :1])

    def copy(self) -> Relations:
        return Relations(self.component.copy(), self.parity.copy())

    def between(self, neuron: int, a: int, b: int) -> int:
        """1 if the rows get equal signs, -1 if opposite ones, 0 if that is open."""
        known = self.component[neuron, a] == self.component[neuron, b]
        return int(self.parity[neuron, a] * self.parity[neuron, b]) if known else 0

    def join(self, neuron: int, a: int, b: int, relation: int) -> None:
        """Set the open relation of two rows."""
        component, parity = self.component[neuron], self.parity[neuron]
        first, last = sorted((int(component[a]), int(component[b])))
        moved = component == last
        parity[moved] *= np.int8(parity[a] * parity[b] * relation)
        component[moved] = first

    def signs(self, neuron: int, row: int) -> NDArray[np.int8]:
        """The signs of a row's component, 0 for other rows."""
        same = self.component[neuron] == self.component[neuron, row]
        return np.where(same, self.parity[neuron], 0).astype(np.int8)

    def counts(self) -> tuple[Integers, Integers]:
        """By how many neurons each pair of rows is separated, and for how many that is open."""
        known = self.component[:, :, None] == self.component[:, None, :]
        differ = self.parity[:, :, None] != self.parity[:, None, :]
        return (known & differ).sum(axis=0), (~known).sum(axis=0)

    def equal_signs(self) -> NDArray[np.bool_]:
        """For each neuron and each pair of rows, whether they are known to get equal signs."""
        known = self.component[:, :, None] == self.component[:, None, :]
        return known & (self.parity[:, :, None] == self.parity[:, None, :])

    def equal(self, i: int, j: int) -> bool:
        """Whether the same is known about two neurons."""
        return bool((self.component[i] == self.component[j]).all() and (self.parity[i] == self.parity[j]).all())
