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

from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.exact import Integers
from bemi.jit import njit
from bemi.network import Network, sign
from bemi.problem.problem import Problem

PROPOSALS, PATIENCE = 30_000, 20
"""Proposals of a walk, and walks without larger margins after which the search ends."""

NODES = 2
"""Nodes of a budget that a walk takes."""

MOST_NEURONS = 8
"""First-layer neurons up to which all their patterns are tried."""

_HOT, _COLD = 0.3, 0.1  # first and last temperature of a walk, in mean absolute inputs
_RISES = (0.0, 0.1, 0.3)  # by which part of its margin a target rises, but at least by 1
_ALL, _FALL = 0.5, 0.5  # how often all targets rise, and how often another one falls


def raised(problem: Problem, start: Network, *, budget: Budget, seed: int) -> Network:
    """A network with at least the sum of margins of ``start``, which has margins and a hidden layer."""
    problem = distinct_rows(problem)
    live = problem.live
    rows, first = problem.data[:, live], start.weights[0][live].copy()
    if first.shape[1] > MOST_NEURONS:
        return start
    codes, which, counts = np.unique(problem.codes, axis=0, return_inverse=True, return_counts=True)
    rows = rows[np.argsort(which.reshape(-1), kind="stable")]
    upper = Network(start.weights[1:], start.weight_bound)
    patterns, ends = _accepted(upper, sign(rows @ first), codes)
    row_ends = np.cumsum([0, *counts])
    groups = np.stack([row_ends[:-1], row_ends[1:], ends[:-1], ends[1:]], axis=1)
    rng = np.random.default_rng(seed)
    columns, scale = np.ascontiguousarray(rows.T), float(np.abs(rows).mean())
    margins, idle = np.abs(rows @ first).min(axis=0), 0
    while idle < PATIENCE and not budget.spent:
        budget.used += NODES
        targets, walked = _higher(margins, rng), first.copy()
        sums = np.ascontiguousarray((rows @ walked).T)
        heat = _HOT * scale, _COLD * scale
        accepted = patterns, groups
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


_MUCH = 1 << 60  # more than any row can cost


@njit(cache=True)
def _walk(columns, bound, first, sums, targets, patterns, groups, proposals, hot, cold, rng):
    """Walk until no row costs anything; changes weights and sums in place, and returns whether it got there.

    ``groups`` has for each code its first and last row and its first and last pattern.  Loops over the rows of a group
    are innermost, without branches, so that the compiler can compute several rows at once.
    """
    inputs, neurons = first.shape
    rows = columns.shape[1]
    # What each row lacks if a neuron is to be positive or negative, in all by pattern, and at least.
    lacks = np.zeros((2, neurons, rows), np.int64)
    by_pattern = np.zeros((patterns.shape[0], rows), np.int64)
    costs = np.full(rows, _MUCH)
    for j in range(neurons):
        for k in range(rows):
            lacks[0, j, k] = max(0, targets[j] - sums[j, k])
            lacks[1, j, k] = max(0, targets[j] + sums[j, k])
    for begin, end, first_pattern, last_pattern in groups:
        for p in range(first_pattern, last_pattern):
            for j in range(neurons):
                by_pattern[p] += lacks[patterns[p, j], j]
            for k in range(begin, end):
                costs[k] = min(costs[k], by_pattern[p, k])
    total = costs.sum()
    moved, tried = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    changes = np.zeros((2, rows), np.int64)
    rate = math.log(cold / hot) / proposals
    for n in range(proposals):
        if total == 0:
            return True
        i, j = int(rng.random() * inputs), int(rng.random() * neurons)
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
        target = targets[j]
        for k in range(rows):
            moved[k] = sums[j, k] + by * columns[i, k] + by_second * columns[second, k]
            changes[0, k] = max(0, target - moved[k]) - lacks[0, j, k]
            changes[1, k] = max(0, target + moved[k]) - lacks[1, j, k]
            tried[k] = _MUCH
        cost = 0
        for begin, end, first_pattern, last_pattern in groups:
            for p in range(first_pattern, last_pattern):
                change = changes[patterns[p, j]]
                for k in range(begin, end):
                    tried[k] = min(tried[k], by_pattern[p, k] + change[k])
        for k in range(rows):
            cost += tried[k]
        if cost > most:
            continue
        first[i, j] += by
        first[second, j] += by_second
        total = cost
        for k in range(rows):
            sums[j, k] = moved[k]
            lacks[0, j, k] += changes[0, k]
            lacks[1, j, k] += changes[1, k]
        for begin, end, first_pattern, last_pattern in groups:
            for p in range(first_pattern, last_pattern):
                change = changes[patterns[p, j]]
                for k in range(begin, end):
                    by_pattern[p, k] += change[k]
    return total == 0
