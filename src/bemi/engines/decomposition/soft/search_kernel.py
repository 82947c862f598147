"""The compiled part of :mod:`bemi.engines.decomposition.soft.search`: descents by moves of one weight and of two.

``columns[i, k]`` is a_ki.  Every row has two hinges; where there is only one, the target ``second`` is far below all
margins.  ``free`` is how many more counted weights may become non-zero; ``work`` is how many products may be computed
before the last round of moves.
"""

from __future__ import annotations

import numpy as np

from bemi.jit import njit

_FAST = {"reassoc", "contract", "nsz"}  # allows sums in any order, so that they are vectorised

# Called by compiled code only.  Arrays are added in loops, and the best moves are searched for rather than sorted: what
# NumPy offers for this takes seconds to compile.
_part = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
_fast_part = njit(fastmath=_FAST, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_fast_part
def penalty(y, limits, first, second):
    total = 0.0
    for k in range(len(y)):
        total += limits[k] * (max(first - y[k], 0.0) + max(second - y[k], 0.0))
    return total


@_fast_part
def penalty_after(y, limits, first, second, d, column):
    total = 0.0
    for k in range(len(y)):
        moved = y[k] + d * column[k]
        total += limits[k] * (max(first - moved, 0.0) + max(second - moved, 0.0))
    return total


@_fast_part
def penalty_after_two(y, limits, first, second, d, column, e, other):
    total = 0.0
    for k in range(len(y)):
        moved = y[k] + d * column[k] + e * other[k]
        total += limits[k] * (max(first - moved, 0.0) + max(second - moved, 0.0))
    return total


@_fast_part
def margins(columns, w):
    y = np.zeros(columns.shape[1])
    for i in range(len(w)):
        if w[i] != 0:
            for k in range(len(y)):
                y[k] += w[i] * columns[i, k]
    return y


@_part
def _add(y, by, column):
    for k in range(len(y)):
        y[k] += by * column[k]


@_part
def _smallest(values, most):
    """Positions of the smallest values, at most so many, in ascending order; of equal ones the first."""
    found = np.empty(most, dtype=np.int64)
    count = 0
    for m in range(len(values)):
        if count == most and not values[m] < values[found[count - 1]]:
            continue
        count = min(count + 1, most)
        q = count - 1
        while q > 0 and values[found[q - 1]] > values[m]:
            found[q] = found[q - 1]
            q -= 1
        found[q] = m
    return found[:count]


@_part
def price_of(p, link_price):
    return p * p / 2.0 + (link_price if p != 0 else 0.0)


@njit(cache=True)
def descend(columns, w, limits, first, second, low, high, counted, free, link_price, partners, work):
    """Moves of one weight by one or to zero, the best first; if none improves, pairs of the best such moves.

    Returns the objective, and whether no move improves it: not so if the descent was cut short.
    """
    # A move m of weight m // 3: one up, one down, or to zero.
    n, count = columns.shape
    y = margins(columns, w)
    price = 0.0
    for i in range(n):
        price += price_of(w[i], link_price)
    loss = penalty(y, limits, first, second)
    changes = np.empty(3 * n)
    target = np.empty(3 * n, dtype=np.int64)
    while work > 0:
        best, move, second_move = -1e-9, -1, -1
        for m in range(3 * n):
            i = m // 3
            target[m] = w[i] + 1 - 2 * (m % 3) if m % 3 < 2 else 0
            changes[m] = np.inf
            if target[m] < low[i] or target[m] > high[i] or (m % 3 == 2 and abs(w[i]) < 2):
                continue
            after = penalty_after(y, limits, first, second, float(target[m] - w[i]), columns[i])
            work -= count
            changes[m] = price_of(target[m], link_price) - price_of(w[i], link_price) + after - loss
            if changes[m] < best and free - _links(counted[i], w[i], target[m]) >= 0:
                best, move = changes[m], m
        if move < 0:
            order = _smallest(changes, partners)
            for a in range(len(order)):
                one = order[a]
                i = one // 3
                if changes[one] == np.inf:
                    break
                d = float(target[one] - w[i])
                for b in range(a):
                    other = order[b]
                    j = other // 3
                    links = _links(counted[i], w[i], target[one]) + _links(counted[j], w[j], target[other])
                    if i == j or free < links:
                        continue
                    e = float(target[other] - w[j])
                    after = penalty_after_two(y, limits, first, second, d, columns[i], e, columns[j])
                    work -= count
                    change = price_of(target[one], link_price) - price_of(w[i], link_price) + after - loss
                    change += price_of(target[other], link_price) - price_of(w[j], link_price)
                    if change < best:
                        best, move, second_move = change, one, other
        if move < 0:
            return price + loss, True
        for m in (move, second_move):
            if m >= 0:
                i = m // 3
                price += price_of(target[m], link_price) - price_of(w[i], link_price)
                free -= _links(counted[i], w[i], target[m])
                _add(y, target[m] - w[i], columns[i])
                w[i] = target[m]
        loss = penalty(y, limits, first, second)
    return price + loss, False


@_part
def _links(counted, before, after):
    """How many counted links a change adds."""
    return int(counted) * (int(after != 0) - int(before != 0))


@_fast_part
def _slope(y, limits, first, second, column):
    """Derivative of the penalty along a column."""
    total = 0.0
    for k in range(len(y)):
        if y[k] < first:
            total -= limits[k] * column[k]
        if y[k] < second:
            total -= limits[k] * column[k]
    return total


@_part
def _best_value(y, limits, first, second, column, low, high, loss, link_price):
    """The best value of a weight that does not count in y yet, its change of the objective, and products computed.

    The objective is convex apart from the link's price, so a walk from 0 in the direction of descent finds it.
    """
    slope = _slope(y, limits, first, second, column)
    step = -1 if slope > 0 else 1
    best, value, p, work = 0.0, 0, 0, len(y)
    if abs(slope) <= 0.5:
        return value, best, work
    previous = 0.0
    while low <= p + step <= high:
        p += step
        change = penalty_after(y, limits, first, second, float(p), column) - loss + price_of(p, link_price)
        work += len(y)
        if change < best:
            best, value = change, p
        if change - (link_price if p == step else 0.0) > previous:
            break
        previous = change
    return value, best, work


@njit(cache=True)
def exchange(columns, w, limits, first, second, low, high, counted, free, link_price, work):
    """Take out one link, or none, and put the best other one in, as long as that improves the objective.

    Returns the objective, and whether no exchange improves it: not so if the search was cut short.
    """
    n, count = columns.shape
    y = margins(columns, w)
    price = 0.0
    for i in range(n):
        price += price_of(w[i], link_price)
    loss = penalty(y, limits, first, second)
    rest = np.empty(count)
    while work > 0:
        best, emptied, filled, value = -1e-9, -1, -1, 0
        for j in range(-1, n):
            if j >= 0 and w[j] == 0:
                continue
            d = 0.0
            for k in range(count):
                rest[k] = y[k]
            if j >= 0:
                d = -price_of(w[j], link_price)
                _add(rest, -w[j], columns[j])
            base = penalty(rest, limits, first, second)
            room = free + (int(counted[j]) if j >= 0 else 0)
            for i in range(n):
                if (w[i] != 0 and i != j) or (counted[i] and room < 1):
                    continue
                p, change, used = _best_value(
                    rest, limits, first, second, columns[i], low[i], high[i], base, link_price
                )
                work -= used
                if d + change + base - loss < best:
                    best, emptied, filled, value = d + change + base - loss, j, i, p
        if filled < 0:
            return price + loss, True
        for i, p in ((emptied, 0), (filled, value)):
            if i >= 0:
                price += price_of(p, link_price) - price_of(w[i], link_price)
                free -= _links(counted[i], w[i], p)
                _add(y, p - w[i], columns[i])
                w[i] = p
        loss = penalty(y, limits, first, second)
    return price + loss, False
