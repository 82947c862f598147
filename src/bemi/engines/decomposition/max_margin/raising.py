"""Larger margins for a feasible network: walks over all weights of its first layer, with a target for each margin.

For each code the upper layers accept some patterns of first-layer signs.  With targets t_j, a row with sums v_j costs

    min over the patterns s that its code accepts of the sum over j of max(0, t_j - s_j v_j),

which is 0 if and only if its pattern is accepted and every |v_j| is at least t_j.  The targets of some neurons rise
above the margins that the network has, and another one may fall by less than that.  A walk that cools down changes one
or two weights of a neuron at a time, until no row costs anything: then the sum of margins is larger.

Widening (:mod:`bemi.engines.decomposition.max_margin.widening`) changes one neuron at a time.  Where margins are small
numbers, several must change before any of them can grow.
"""

from __future__ import annotations

import math

import numpy as np

from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline
from bemi.network import Network, sign
from bemi.problem.problem import Problem

PROPOSALS, PATIENCE = 100_000, 30
"""Proposals of a walk, and walks without larger margins after which the search ends."""

MOST_NEURONS = 8
"""First-layer neurons up to which all their patterns are tried."""

_HOT, _COLD = 0.3, 0.1  # first and last temperature of a walk, in mean absolute inputs
_RISES = (0.0, 0.1, 0.3)  # by which part of its margin a target rises, but at least by 1
_ALL, _FALL = 0.5, 0.5  # how often all targets rise, and how often another one falls


def raised(problem: Problem, start: Network, *, seed: int, deadline: Deadline) -> Network:
    """A network with at least the sum of margins of ``start``, which has margins and a hidden layer."""
    problem = distinct_rows(problem)
    live = problem.live
    rows, first = problem.data[:, live], start.weights[0][live].copy()
    if first.shape[1] > MOST_NEURONS:
        return start
    codes, which = np.unique(problem.codes, axis=0, return_inverse=True)
    upper = Network(start.weights[1:], start.weight_bound)
    patterns, ends = _accepted(upper, sign(rows @ first), codes)
    of_row = np.stack([ends[which.reshape(-1)], ends[which.reshape(-1) + 1]], axis=1)
    rng = np.random.default_rng(seed)
    columns, scale = np.ascontiguousarray(rows.T), float(np.abs(rows).mean())
    margins, idle = np.abs(rows @ first).min(axis=0), 0
    while idle < PATIENCE and not deadline.passed:
        targets, walked = _higher(margins, rng), first.copy()
        sums = np.ascontiguousarray((rows @ walked).T)
        heat = _HOT * scale, _COLD * scale
        accepted = patterns, of_row
        if _walk(columns, problem.weight_bound, walked, sums, targets, *accepted, PROPOSALS, *heat, rng):
            first, margins, idle = walked, np.abs(sums).min(axis=1), 0
        else:
            idle += 1
    every = start.weights[0].copy()
    every[live] = first
    return Network((every, *start.weights[1:]), start.weight_bound)


def _accepted(upper: Network, signs: Integers, codes: Integers) -> tuple[Integers, Integers]:
    """Patterns that upper layers accept, code after code, 1 for a negative sign, and where those of each code begin.

    On an accepted pattern no margin of the upper layers is smaller than on the given signs of all rows.
    """
    neurons = signs.shape[1]
    negative = np.arange(1 << neurons)[:, None] >> np.arange(neurons) & 1
    wide = np.ones(len(negative), dtype=bool)
    for sums, reached in zip(upper.pre_activations(1 - 2 * negative), upper.pre_activations(signs), strict=True):
        wide &= (np.abs(sums) >= np.abs(reached).min(axis=0)).all(axis=1)
    groups = [negative[wide & (sums * code > 0).all(axis=1)] for code in codes]
    return np.concatenate(groups), np.cumsum([0, *map(len, groups)])


def _higher(margins: Integers, rng: np.random.Generator) -> Integers:
    """Targets that add up to more than the margins do."""
    targets, every = margins.copy(), np.arange(len(margins))
    rising = np.ones(len(margins), dtype=bool) if rng.random() < _ALL else every == rng.choice(every)
    by = np.maximum(1, (margins * rng.choice(_RISES)).astype(np.int64))
    targets[rising] += by[rising]
    if not rising.all() and rng.random() < _FALL:
        j = rng.choice(every[~rising])
        targets[j] -= min(targets[j] - 1, rng.integers(by[rising].sum()))
    return targets


_MUCH = 1 << 60


@njit(cache=True)
def _walk(columns, bound, first, sums, targets, patterns, of_row, proposals, hot, cold, rng):
    """Walk until no row costs anything; changes weights and sums in place, and returns whether it got there.

    ``of_row`` says where the patterns begin and end that each row may show.
    """
    inputs, neurons = first.shape
    rows = columns.shape[1]
    # What each row lacks if a neuron is to be positive or negative, in all by pattern, and at least.
    lacks = np.zeros((2, neurons, rows), np.int64)
    by_pattern = np.zeros((rows, patterns.shape[0]), np.int64)
    costs = np.zeros(rows, np.int64)
    total = 0
    for k in range(rows):
        for j in range(neurons):
            if targets[j]:
                lacks[0, j, k] = max(0, targets[j] - sums[j, k])
                lacks[1, j, k] = max(0, targets[j] + sums[j, k])
        for p in range(of_row[k, 0], of_row[k, 1]):
            for j in range(neurons):
                by_pattern[k, p] += lacks[patterns[p, j], j, k]
        costs[k] = by_pattern[k, of_row[k, 0] : of_row[k, 1]].min()
        total += costs[k]
    moves, tried = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    rate = math.log(cold / hot) / proposals
    for n in range(proposals):
        if total == 0:
            return True
        j = int(rng.random() * neurons)
        if not targets[j]:
            continue
        i = int(rng.random() * inputs)
        by = int(rng.random() * 2 * bound) - bound - first[i, j]
        if by >= 0:
            by += 1  # any other value
        second, by_second = i, 0
        if rng.random() < 0.5:
            second = int(rng.random() * inputs)
            by_second = -by if rng.random() < 0.5 else by
            if second == i or abs(first[second, j] + by_second) > bound:
                continue
        most = total - hot * math.exp(rate * n) * math.log(1.0 - rng.random())
        cost = total
        for k in range(rows):
            moves[k] = by * columns[i, k] + by_second * columns[second, k]
            tried[k] = costs[k]
            if moves[k]:
                moved = sums[j, k] + moves[k]
                if_positive = max(0, targets[j] - moved) - lacks[0, j, k]
                if_negative = max(0, targets[j] + moved) - lacks[1, j, k]
                least = _MUCH
                for p in range(of_row[k, 0], of_row[k, 1]):
                    least = min(least, by_pattern[k, p] + (if_negative if patterns[p, j] else if_positive))
                tried[k] = least
                cost += least - costs[k]
        if cost > most:
            continue
        first[i, j] += by
        first[second, j] += by_second
        total = cost
        for k in range(rows):
            if moves[k]:
                sums[j, k] += moves[k]
                positive, negative = max(0, targets[j] - sums[j, k]), max(0, targets[j] + sums[j, k])
                for p in range(of_row[k, 0], of_row[k, 1]):
                    by_pattern[k, p] += negative - lacks[1, j, k] if patterns[p, j] else positive - lacks[0, j, k]
                lacks[0, j, k], lacks[1, j, k] = positive, negative
                costs[k] = tried[k]
    return total == 0
