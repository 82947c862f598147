"""Sat-Margin with several outputs: a pattern for every code, and one separating neuron for each bit of the patterns.

The last layer bounds the confident outputs.  For a given last layer every code has patterns that serve it best.  If the
hidden layers carry one of them for each code, every row has as many confident outputs as its code allows: each neuron
below the last layer stands for a dichotomy of the codes, one first-layer neuron separates it, and the layers between
pass it on.  Where no neuron separates a dichotomy, the network is a start for the local search.

**Last layers.** Give the layers below all freedom: they may show the last layer any pattern z in {-1, 1}^n for every
row.  What a row is then worth depends on its code c alone,

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
from itertools import combinations_with_replacement, pairwise

import numpy as np

from bemi.engines.portfolio import Finding, StageState
from bemi.engines.start import separator
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, confidence_threshold
from bemi.problem.problem import Problem, confident_outputs

_WORK_PER_SECOND = 1 << 21
_LEAST_WORK = 1 << 17
_MOST_TRIED = 8  # last layers for which separators are looked for


Dichotomy = tuple[int, ...]
"""The sign of each code."""


@dataclass(frozen=True)
class _Shown:
    """A last layer, one tuple of weights per output, and the dichotomies that the neurons below it show."""

    last: tuple[Column, ...]
    signs: list[Dichotomy]


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: a network whose rows show their codes' best patterns to the last layer, and the bound it sets.

    The seconds of the whole stage limit the search over last layers; without a limit it is the longest.
    """
    bound, proof = state.goal.trivial, None
    if state.value == bound or problem.codes.shape[1] == 1 or not problem.hidden_layers:
        return Finding(bound=bound)
    deadline = limits.deadline()
    counts = Counter(map(tuple, problem.codes.tolist()))
    layers = best_last_layers(
        problem.layers[-2], problem.weight_bound, tuple(sorted(counts.items())), _work_within(state.limits)
    )
    if layers.bound < bound:
        bound, proof = layers.bound, {"kind": "last-layer", "bound": layers.bound}
    best, value = None, state.value
    separators: dict[Dichotomy, Integers] = {}
    numbers = {code: number for number, code in enumerate(counts)}
    which = np.array([numbers[tuple(code)] for code in problem.codes.tolist()])
    for shown in _ranked(problem, layers.best, counts)[:_MOST_TRIED]:
        if value == bound:
            break
        network = _network(problem, shown, which, separators, deadline)
        reached = -1 if network is None else confident_outputs(problem, network)
        if reached > (-1 if value is None else value):
            best, value = network, reached
        if deadline.passed:
            break
    return Finding(best, bound=bound, proof=proof)


def _work_within(limits: Limits) -> int:
    """Work of the search over last layers: a power of two, so that problems with about the same limit share it."""
    if limits.seconds is None:
        return MOST_WORK
    affordable = max(1, int(limits.seconds * _WORK_PER_SECOND))
    return min(MOST_WORK, max(_LEAST_WORK, 1 << (affordable.bit_length() - 1)))


def _ranked(problem: Problem, layers: tuple[tuple[Column, ...], ...], counts: Counter[Code]) -> list[_Shown]:
    """Last layers with a pattern for each code; first those with most rows that have only confident outputs.

    Later stages see only those rows.  If there are equally many, the shortest of them should be long: it limits all
    margins.
    """
    threshold = confidence_threshold(problem.layers, problem.weight_bound)
    norms = np.abs(problem.data).sum(axis=1)
    shortest_of = {code: int(norms[(problem.codes == code).all(axis=1)].min()) for code in counts}
    ranked = []
    for number, last in enumerate(layers):
        sets = [confident_patterns(column, threshold) for column in last]
        options, complete, codes = [], 0, []
        for code, count in counts.items():
            levels = [(1 << (1 << problem.layers[-2])) - 1]
            for y, (plus, minus) in zip(code, sets, strict=True):
                levels = missed(levels, plus if y > 0 else minus)
            lost = next(t for t, level in enumerate(levels) if level)
            if not lost:
                complete += count
                codes.append(code)
            options.append([pattern for pattern in range(1 << problem.layers[-2]) if levels[lost] >> pattern & 1])
        shortest = min((shortest_of[code] for code in codes), default=0)
        ranked.append((-complete, -shortest, number, last, options))
    ranked.sort(key=lambda entry: entry[:3])
    return [_shown(last, _few_dichotomies(options)) for *_, last, options in ranked]


def _few_dichotomies(options: list[list[int]]) -> list[int]:
    """One of the possible patterns for each code, such that the neurons have few different dichotomies."""

    def cost(patterns: list[int]) -> int:
        # Two patterns that differ in the same neurons as two others need no further dichotomy.
        width = max(map(max, options)).bit_length()
        columns = {tuple((p ^ patterns[0]) >> neuron & 1 for p in patterns) for neuron in range(width)}
        return sum(map(any, columns))

    chosen = [patterns[0] for patterns in options]
    least = cost(chosen)
    improved = True
    while improved:
        improved = False
        for at, patterns in enumerate(options):
            for pattern in patterns:
                tried = [*chosen[:at], pattern, *chosen[at + 1 :]]
                if (fewer := cost(tried)) < least:
                    chosen, least, improved = tried, fewer, True
    return chosen


def _shown(last: tuple[Column, ...], patterns: list[int]) -> _Shown:
    """The layer and the patterns, neurons turned so that each is + on the first code."""
    turn = [1 - 2 * (patterns[0] >> neuron & 1) for neuron in range(len(last[0]))]
    columns = tuple(tuple(w * t for w, t in zip(column, turn, strict=True)) for column in last)
    signs = [tuple(t * (1 - 2 * (pattern >> neuron & 1)) for pattern in patterns) for neuron, t in enumerate(turn)]
    return _Shown(columns, signs)


def _network(
    problem: Problem, shown: _Shown, which: Integers, separators: dict[Dichotomy, Integers], deadline: Deadline
) -> Network | None:
    """The network that shows these patterns to the last layer; None if a hidden layer is too narrow to carry them.

    Every hidden layer carries the different dichotomies, each as often as there is room; the one below the last layer
    has them in the order of the patterns.  A constant + that there is no room for is a neuron without links.
    """
    different = list(dict.fromkeys(shown.signs))
    narrowest = min(problem.layers[1:-1])
    carried = different if len(different) <= narrowest else [signs for signs in different if min(signs) < 0]
    if len(carried) > narrowest:
        return None
    hidden = [[carried[j % len(carried)] for j in range(size)] for size in problem.hidden_layers]
    hidden[-1] = shown.signs
    for signs in hidden[0]:
        if signs not in separators:
            separators[signs] = separator(problem, np.array(signs)[which], deadline)
    weights = [np.stack([separators[signs] for signs in hidden[0]], axis=1)]
    for below, here in pairwise(hidden):
        passed = np.array([[a == b for b in here] for a in below])
        weights.append(problem.weight_bound * passed.astype(np.int64))
    return Network((*weights, np.array(shown.last).T), problem.weight_bound)


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
