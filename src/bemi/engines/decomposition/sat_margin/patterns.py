"""Sat-Margin with several outputs: a pattern for every code, and one separating neuron for each bit of the patterns.

:mod:`~bemi.engines.decomposition.sat_margin.last_layers` bounds the confident outputs and lists the last layers that
reach the bound.  For a given last layer every code has patterns that serve it best.  If the hidden layers carry one of
them for each code, every row has as many confident outputs as its code allows: each neuron below the last layer stands
for a dichotomy of the codes, one first-layer neuron separates it, and the layers between pass it on.  Where no neuron
separates a dichotomy, the network is a start for the local search.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bemi.engines.decomposition.sat_margin.last_layers import (
    MOST_WORK,
    Code,
    Column,
    best_last_layers,
    confident_patterns,
    missed,
)
from bemi.engines.portfolio import Finding, StageState
from bemi.engines.start import separator
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, confidence_threshold
from bemi.problem.measures import confident_outputs
from bemi.problem.problem import Problem

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
