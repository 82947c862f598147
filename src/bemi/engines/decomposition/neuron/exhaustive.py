"""All weights of one neuron, tried one by one with turning back: exact, for few inputs and small weights.

:func:`best_neuron` has given signs on some rows, a margin above a level on all, and the largest margin or the fewest
links.  The search fixes the weights one
after the other, each to all of its values, and keeps the smallest and the largest sum that each row may still get.  It
turns back where a row can no longer have its sign, or no longer a sum of absolute value above the level.

:func:`best_agreement` finds the neuron that gives most rows the signs that they should have.  Row k has a target t_k in
{-1, +1} and a price p_k.  A neuron agrees with the row if its sum is at least 0 for t_k = +1, and at most -1 for
t_k = -1, since 0 counts as +1.  The largest sums that are still possible tell which rows can no longer agree; if the
prices of the others add up to no more than a level, no completion is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.exact import Integers
from bemi.jit import njit

MOST_AGREEMENT_NODES = 400_000
"""Partial weight vectors of a search; about a tenth of a second for 160 rows."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """What a search found.

    Attributes
    ----------
    weights
        Neurons above the level, one per column; the best ones if there is not room for all.
    values
        Sum of the prices of the rows that each agrees with.
    most
        No neuron has more, if the search is ``complete``.
    complete, nodes
        Whether the search looked everywhere, and its work.
    """

    weights: Integers
    values: Integers
    most: int
    complete: bool
    nodes: int


def best_agreement(
    data: Integers,
    targets: Integers,
    prices: Integers,
    weight_bound: int,
    *,
    level: int = -1,
    room: int = 1,
    strict: bool = False,
) -> Agreement:
    """Neurons that agree with rows worth more than ``level``, the best first.

    Parameters
    ----------
    data, targets, prices
        Rows, the signs that they should get, and what each is worth; prices are not negative.
    weight_bound
        P.
    level
        Neurons that are worth no more than this are left out.
    room
        How many neurons to return at most.
    strict
        Whether a sum of 0 agrees with no target.
    """
    paid = np.flatnonzero(prices > 0)
    worth = prices[paid]
    columns = (data[paid] * targets[paid, None]).T
    order = input_order(data, prices)
    needs = ((targets[paid] < 0) | strict).astype(np.int64)
    found = np.zeros((room, data.shape[1]), dtype=np.int64)
    values = np.full(room, -1, dtype=np.int64)
    # All sums stay within twice this; half the bits make the search twice as fast.
    largest = max(weight_bound * int(np.abs(columns).sum(axis=0, initial=0).max(initial=0)) + 1, int(worth.sum()))
    kind = np.int32 if largest < 2**30 else np.int64
    arrays = (np.ascontiguousarray(array.astype(kind)) for array in (columns[order], needs, worth))
    count, nodes = _search_agreement(*arrays, weight_bound, level, MOST_AGREEMENT_NODES, found, values)
    ranked = np.argsort(-values[:count], kind="stable")
    weights = np.zeros((data.shape[1], count), dtype=np.int64)
    weights[order] = found[ranked].T
    most = int(values[:count].max(initial=level))
    return Agreement(weights, values[ranked], most, nodes <= MOST_AGREEMENT_NODES, int(nodes))


def input_order(data: Integers, prices: Integers | None = None) -> Integers:
    """Inputs in the order in which their weights are fixed: those that move the priced sums most come first."""
    moves = np.abs(data) if prices is None else np.abs(data) * prices[:, None]
    return np.argsort(-moves.sum(axis=0), kind="stable")


@njit(cache=True, error_model="numpy")
def _search_agreement(columns, needs, prices, bound, level, most_nodes, found, values):
    """Fill ``found`` and ``values``; returns their number, and the nodes: more than ``most_nodes`` if it gave up."""
    inputs, rows = columns.shape
    number = columns.dtype.type  # without these casts, Numba computes in 64 bits
    # reach[d]: the largest sum of each row, less what it needs, if the first d weights are fixed.
    reach = np.zeros((inputs + 1, rows), columns.dtype)
    steps = np.zeros((inputs, rows), columns.dtype)
    for k in range(rows):
        reach[0, k] = -needs[k]
        for i in range(inputs):
            steps[i, k] = bound * abs(columns[i, k])
            reach[0, k] += steps[i, k]
    trial = np.full(inputs + 1, -bound)
    count, nodes, depth = 0, 0, 0
    while depth >= 0:
        if trial[depth] > bound:
            depth -= 1
            continue
        weight = number(trial[depth])
        trial[depth] += 1
        nodes += 1
        if nodes > most_nodes:
            break
        total = number(0)
        for k in range(rows):
            r = number(number(reach[depth, k] + number(weight * columns[depth, k])) - steps[depth, k])
            reach[depth + 1, k] = r
            total = number(total + (prices[k] if r >= 0 else number(0)))
        if total <= level:
            continue
        if depth + 1 < inputs:
            depth += 1
            trial[depth] = -bound
            continue
        slot = count
        if count == values.shape[0]:
            slot = np.argmin(values)
        else:
            count += 1
        values[slot] = total
        for i in range(inputs):
            found[slot, i] = trial[i] - 1
        if count == values.shape[0]:
            level = max(level, values.min())
    return count, nodes


MOST_MARGIN_NODES = 3_000_000
"""Partial weight vectors of a search; about half a second for 160 rows."""


@dataclass(frozen=True, eq=False)
class BestNeuron:
    """What a search found: the best neuron, None if there is none, and whether there is no better one."""

    weights: Integers | None
    complete: bool


def best_neuron(
    data: Integers,
    signs: Integers,
    weight_bound: int,
    *,
    level: int = 0,
    most_links: int | None = None,
    most_nodes: int = MOST_MARGIN_NODES,
) -> BestNeuron:
    """The neuron with these signs, a margin above ``level``, and the largest margin or the fewest links.

    Parameters
    ----------
    data, signs, weight_bound
        Rows, the sign that each must get or 0 if it may get either, and P.
    level
        The margin must be larger than this.
    most_links
        How many weights may differ from 0; then the fewest links are best.  None for the largest margin.
    most_nodes
        When to give up.
    """
    order = input_order(data)
    columns = np.ascontiguousarray(data[:, order].T)
    found = np.zeros(data.shape[1], dtype=np.int64)
    by_links = most_links is not None
    links = data.shape[1] if most_links is None else most_links
    limits = (weight_bound, level, links, by_links, most_nodes)
    any_found, nodes = _search_margins(columns, signs.astype(np.int64), *limits, found)
    weights = np.zeros(data.shape[1], dtype=np.int64)
    weights[order] = found
    return BestNeuron(weights if any_found else None, nodes <= most_nodes)


@njit(cache=True, error_model="numpy")
def _search_margins(columns, signs, bound, level, most_links, by_links, most_nodes, found):
    """Fill ``found``; returns whether there is a neuron, and the nodes: more than ``most_nodes`` if it gave up."""
    inputs, rows = columns.shape
    low, high = np.zeros((inputs + 1, rows), np.int64), np.zeros((inputs + 1, rows), np.int64)
    for k in range(rows):
        for i in range(inputs):
            high[0, k] += bound * abs(columns[i, k])
        low[0, k] = -high[0, k]
    trial = np.full(inputs + 1, -bound)
    links = np.zeros(inputs + 1, np.int64)
    any_found, nodes, depth = False, 0, 0
    while depth >= 0:
        if trial[depth] > bound:
            depth -= 1
            continue
        weight = trial[depth]
        trial[depth] += 1
        nodes += 1
        if nodes > most_nodes:
            break
        links[depth + 1] = links[depth] + (weight != 0)
        if links[depth + 1] > most_links:
            continue
        lost = 0
        for k in range(rows):
            x = columns[depth, k]
            step = bound * abs(x)
            a, b = low[depth, k] + step + weight * x, high[depth, k] - step + weight * x
            low[depth + 1, k], high[depth + 1, k] = a, b
            lost += not ((b > level) & (signs[k] >= 0) | (a < -level) & (signs[k] <= 0))
        if lost > 0:
            continue
        if depth + 1 < inputs:
            depth += 1
            trial[depth] = -bound
            continue
        any_found = True
        for i in range(inputs):
            found[i] = trial[i] - 1
        if by_links:
            most_links = links[inputs] - 1
        else:
            level = abs(low[inputs, 0])
            for k in range(1, rows):
                level = min(level, abs(low[inputs, k]))
    return any_found, nodes
