"""Neurons that no list holds, asked for one at a time: the best one that is right on some rows and wrong on others.

The linear program of these rows often shows that there is none good enough, and its multipliers which few rows are
enough for that; otherwise all weights are tried.  Every answer is kept as a *cut*: rows R and W and a value that no
neuron exceeds if it is right on R and wrong on W.  It holds for all larger sets, so the search asks only if no cut
answers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bemi.engines.decomposition.neuron.all_weights import AllWeights, Words, seconds_needed
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.exact import Integers
from bemi.limits import Deadline

NO_NEURON = -(1 << 40)
"""The value of a neuron that does not exist."""

STEPS_PER_SECOND = 1e6
_STEPS_PER_PROGRAM = 500


class Unlisted:
    """One neuron that may have any weights with a margin of at least ``level``.

    Parameters
    ----------
    rows, every
        Rows times codes, and all weights on them.
    level, by_links
        The margin that it must have; whether its value is the number of its links, negated, or its margin.

    Attributes
    ----------
    right, wrong, values, cuts
        The cuts, and their number.
    """

    def __init__(self, rows: Integers, every: AllWeights, level: int = 1, *, by_links: bool = False) -> None:
        self._every, self._level, self._by_links, self._count = every, level, by_links, len(rows)
        self._work = int(STEPS_PER_SECOND * seconds_needed(rows.shape[1], every.bound))
        self._program = NeuronLP(rows, every.bound)
        words = -(-len(rows) // 64)
        self.right, self.wrong = np.zeros((2, 64, words), dtype=np.uint64)
        self.values, self.cuts = np.zeros(64, dtype=np.int64), 0

    def best(
        self, right: Words, wrong: Words, floor: int, deadline: Deadline
    ) -> tuple[int, Integers | None, int] | None:
        """The best value if it is at least ``floor``, its weights, and the work; None if there was no time."""
        signs = self._signs(right) - self._signs(wrong)
        level = self._level if self._by_links else max(self._level, floor)
        if signs.any():
            known = self._program.solve(signs.astype(np.int8), stop=level - 1)
            if known.bound < level:
                rows = [k for k, _ in known.multipliers]
                value = NO_NEURON if self._by_links else known.bound
                self._cut(
                    self._words(k for k in rows if signs[k] > 0), self._words(k for k in rows if signs[k] < 0), value
                )
                return NO_NEURON, None, _STEPS_PER_PROGRAM
        found = self._every.best(signs, deadline, level=level, by_links=self._by_links, beaten=floor - 1)
        if not found.complete:
            return None
        value = int(found.values[0]) if len(found.values) else floor - 1
        self._cut(right, wrong, value)
        return (value, found.weights[:, 0], self._work) if len(found.values) else (NO_NEURON, None, self._work)

    def _cut(self, right: Words, wrong: Words, value: int) -> None:
        if self.cuts == len(self.values):
            self.right, self.wrong = (np.concatenate([a, np.zeros_like(a)]) for a in (self.right, self.wrong))
            self.values = np.concatenate([self.values, self.values])
        self.right[self.cuts], self.wrong[self.cuts], self.values[self.cuts] = right, wrong, value
        self.cuts += 1

    def _signs(self, words: Words) -> Integers:
        return np.unpackbits(words.view(np.uint8), bitorder="little")[: self._count].astype(np.int64)

    def _words(self, rows: Iterable[int]) -> Words:
        words = np.zeros(self.right.shape[1], dtype=np.uint64)
        for k in rows:
            words[k >> 6] |= np.uint64(1 << (k & 63))
        return words
