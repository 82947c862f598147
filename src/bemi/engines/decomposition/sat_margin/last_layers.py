"""Sat-Margin with several outputs: which last layers leave most outputs confident, whatever the layers below do.

Give the layers below all freedom: they may show the last layer any pattern z in {-1, 1}^n for every row.  What a row is
then worth depends on its code c alone,

::

    v_c(W) = max over z of  #{j : c_j (z W)_j >= threshold},

so no network has more confident outputs than ``max over W of sum_c rows_c v_c(W)``.  With a few neurons below the last
layer there are few W to try:

- An output matters only by the set of patterns on which it is confident.  Weights whose set is contained in another's
  are left out.  Up to the order and the signs of the neurons below, two or three sets remain.
- Neurons below may change places, and change their signs with those of their weights.  So the rows of W are in order,
  and the first non-zero weight in each is positive.
- A code and its opposite are worth the same.
- W is built output by output.  Each code keeps, for t = 0, 1, ..., the set of patterns that have missed at most t of
  the outputs so far; the smallest t with a non-empty set is what its rows have lost.

Sets of patterns are integers with one bit per pattern; bit i of a pattern's number is set if neuron i gives -1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

from bemi.network import confidence_threshold

Code = tuple[int, ...]
Column = tuple[int, ...]
"""Weights of one output."""

MOST_WORK = 1 << 23
"""Columns tried, times patterns: about three seconds."""

_MOST_NEURONS, _MOST_COLUMNS = 8, 4000
_MOST_TIES = 32
_TIE_SHARE = 8  # listing all best layers may take this part of the work


@dataclass(frozen=True)
class LastLayers:
    """What the last layer allows.

    Attributes
    ----------
    bound
        No network has more confident outputs.
    proved
        Whether all last layers were tried; otherwise ``bound`` is the number of outputs.
    best
        Last layers, one tuple of weights per output, that leave most outputs confident among those tried.
    """

    bound: int
    proved: bool
    best: tuple[tuple[Column, ...], ...]


class _OutOfWork(Exception):
    pass


@lru_cache(maxsize=64)
def best_last_layers(
    neurons: int, weight_bound: int, rows: tuple[tuple[Code, int], ...], work: int = MOST_WORK
) -> LastLayers:
    """The best last layers for so many rows of each code, with ``neurons`` neurons below them."""
    outputs = len(rows[0][0])
    everything = outputs * sum(count for _, count in rows)
    if neurons > _MOST_NEURONS or math.comb(neurons + weight_bound, neurons) > _MOST_COLUMNS:
        return LastLayers(everything, False, ())
    search = _Search(neurons, weight_bound, rows)
    try:
        search.run(work, ties=False)
    except _OutOfWork:
        return LastLayers(everything, False, tuple(search.best))
    bound = everything - search.lost
    first = tuple(search.best)
    if search.lost:
        with suppress(_OutOfWork):  # some of the best layers will do
            search.run(work // _TIE_SHARE, ties=True)
    return LastLayers(bound, True, tuple(search.best) or first)


def confident_patterns(column: Column, threshold: int) -> tuple[int, int]:
    """The patterns for which an output is confidently +1, and those for which it is confidently -1."""
    sums = [0]
    for weight in column:
        sums = [s + weight for s in sums] + [s - weight for s in sums]
    plus = sum(1 << number for number, s in enumerate(sums) if s >= threshold)
    minus = sum(1 << number for number, s in enumerate(sums) if s <= -threshold)
    return plus, minus


def missed(levels: list[int], confident: int) -> list[int]:
    """Sets of patterns that miss at most 0, 1, ... outputs, after one more output."""
    shifted = [0, *levels]
    return [(level & confident) | before for level, before in zip([*levels, levels[-1]], shifted, strict=True)]


def opposite_codes_joined(rows: tuple[tuple[Code, int], ...]) -> list[tuple[Code, int]]:
    """Codes whose first output is +1, with the rows of the opposite codes added; most rows first."""
    joined: Counter[Code] = Counter()
    for code, count in rows:
        joined[code if code[0] > 0 else tuple(-y for y in code)] += count
    return sorted(joined.items(), key=lambda item: (-item[1], item[0]))


class _Search:
    """Depth-first search over last layers, one output after the other."""

    def __init__(self, neurons: int, weight_bound: int, rows: tuple[tuple[Code, int], ...]) -> None:
        self.neurons = neurons
        self.codes = opposite_codes_joined(rows)
        self.outputs = len(self.codes[0][0])
        self.threshold = confidence_threshold((0, neurons, self.outputs), weight_bound)
        self.columns = _undominated(neurons, weight_bound, self.threshold)
        self._sets: dict[Column, tuple[int, int]] = {}
        self.lost = self.outputs * sum(count for _, count in rows) + 1
        self.best: list[tuple[Column, ...]] = []
        self._work = 0

    def run(self, work: int, *, ties: bool) -> None:
        """Find the fewest confident outputs lost; with ``ties``, every layer that loses no more than the best."""
        self._work, self._ties = work >> self.neurons, ties
        if ties:
            self.best = []
        everything = (1 << (1 << self.neurons)) - 1
        self._extend((), [0] * self.neurons, [True] * self.neurons, [[everything] for _ in self.codes])

    def _extend(self, chosen: tuple[Column, ...], group: list[int], free: list[bool], missing: list[list[int]]) -> None:
        """Try every column for the next output.

        Neurons with equal weights so far have the same number in ``group`` and may change places; neurons without any
        weight so far are ``free`` to change their sign.
        """
        at = len(chosen)
        for kind in self.columns:
            for column in _arrangements(kind, group, free):
                self._work -= 1
                if self._work < 0:
                    raise _OutOfWork
                after = self._after(column, at, missing)
                if after is None:
                    continue
                layer = (*chosen, column)
                if at + 1 < self.outputs:
                    numbers: dict[tuple[int, int], int] = {}
                    groups = [numbers.setdefault(key, len(numbers)) for key in zip(group, column, strict=True)]
                    still = [f and not w for f, w in zip(free, column, strict=True)]
                    self._extend(layer, groups, still, after[1])
                elif after[0] < self.lost:
                    self.lost, self.best = after[0], [layer]
                    if not self.lost:
                        return
                elif len(self.best) < _MOST_TIES:
                    self.best.append(layer)

    def _after(self, column: Column, at: int, missing: list[list[int]]) -> tuple[int, list[list[int]]] | None:
        """Outputs lost and the codes' sets after one more output; None if too many are lost."""
        if column not in self._sets:
            self._sets[column] = confident_patterns(column, self.threshold)
        plus, minus = self._sets[column]
        most = self.lost if self._ties else self.lost - 1
        lost, after = 0, []
        for (code, count), levels in zip(self.codes, missing, strict=True):
            new = missed(levels, plus if code[at] > 0 else minus)
            lost += count * next(t for t, level in enumerate(new) if level)
            if lost > most:
                return None
            after.append(new)
        return lost, after


def _undominated(neurons: int, weight_bound: int, threshold: int) -> list[Column]:
    """Non-negative weights in decreasing order, without those whose confident patterns others have too."""
    columns: dict[int, Column] = {}
    for column in combinations_with_replacement(range(weight_bound, -1, -1), neurons):
        columns.setdefault(confident_patterns(column, threshold)[0], column)
    return [column for own, column in columns.items() if not any(own != s and not own & ~s for s in columns)]


def _arrangements(kind: Column, group: list[int], free: list[bool]) -> Iterator[Column]:
    """Columns with these absolute weights, in decreasing order within a group and not negative on free neurons."""
    left = Counter(kind)
    column: list[int] = []

    def fill() -> Iterator[Column]:
        at = len(column)
        if at == len(kind):
            yield tuple(column)
            return
        for size in sorted(left, reverse=True):
            if not left[size]:
                continue
            left[size] -= 1
            for weight in (size,) if free[at] or not size else (size, -size):
                if not at or group[at - 1] != group[at] or weight <= column[at - 1]:
                    column.append(weight)
                    yield from fill()
                    column.pop()
            left[size] += 1

    return fill()
