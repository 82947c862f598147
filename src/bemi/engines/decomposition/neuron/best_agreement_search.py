"""One neuron that gives many rows the signs that they should have: exact, for few inputs and small weights.

Row k has a target t_k in {-1, +1} and a price p_k.  A neuron agrees with the row if its sum is at least 0 for t_k = +1,
and at most -1 for t_k = -1, since 0 counts as +1.  The search fixes the weights one after the other, each to all of its
values.  The largest sums that are still possible tell which rows can no longer agree; if the prices of the others add
up to no more than a level, no completion is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.exact import Integers
from bemi.jit import njit

MOST_NODES = 400_000
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
    count, nodes = _search(*arrays, weight_bound, level, MOST_NODES, found, values)
    ranked = np.argsort(-values[:count], kind="stable")
    weights = np.zeros((data.shape[1], count), dtype=np.int64)
    weights[order] = found[ranked].T
    most = int(values[:count].max(initial=level))
    return Agreement(weights, values[ranked], most, nodes <= MOST_NODES, int(nodes))


def input_order(data: Integers, prices: Integers | None = None) -> Integers:
    """Inputs in the order in which their weights are fixed: those that move the priced sums most come first."""
    moves = np.abs(data) if prices is None else np.abs(data) * prices[:, None]
    return np.argsort(-moves.sum(axis=0), kind="stable")


@njit(cache=True, error_model="numpy")
def _search(columns, needs, prices, bound, level, most_nodes, found, values):
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
