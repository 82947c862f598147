"""The compiled part of :mod:`bemi.engines.decomposition.soft.search`: moves that improve integer weights.

``factors[k] * columns[i, k]`` is a_ki of the near rows.  Every row has two hinges; where there is only one, the target
``second`` is far below all margins.  ``free`` is how many more counted weights may become non-zero; ``work`` is how
many products may be computed before the last round of moves.
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
def penalty_after(y, limits, first, second, d, column, factors):
    total = 0.0
    for k in range(len(y)):
        moved = y[k] + d * factors[k] * column[k]
        total += limits[k] * (max(first - moved, 0.0) + max(second - moved, 0.0))
    return total


@_fast_part
def penalty_after_two(y, limits, first, second, d, column, e, other, factors):
    total = 0.0
    for k in range(len(y)):
        moved = y[k] + factors[k] * (d * column[k] + e * other[k])
        total += limits[k] * (max(first - moved, 0.0) + max(second - moved, 0.0))
    return total


@_fast_part
def margins(columns, factors, w):
    y = np.zeros(columns.shape[1])
    for i in range(len(w)):
        if w[i] != 0:
            _add(y, w[i], columns[i], factors)
    return y


@_fast_part
def _learn(y, limits, first, second, shares, rows, factors, gain):
    """Bring the hinges that each row is short of, as multiples of its limit, and the gain of all weights up to date."""
    for k in range(len(y)):
        share = limits[k] * ((1.0 if y[k] < first else 0.0) + (1.0 if y[k] < second else 0.0))
        change = share - shares[k]
        if change != 0.0:
            shares[k] = share
            change *= factors[k]
            for i in range(len(gain)):
                gain[i] += change * rows[k, i]


@_part
def _add(y, by, column, factors):
    for k in range(len(y)):
        y[k] += by * factors[k] * column[k]


@_part
def price_of(p, link_price):
    return p * p / 2.0 + (link_price if p != 0 else 0.0)


@_part
def _price_change(before, after, link_price):
    return (after - before) * (after + before) / 2.0 + link_price * (int(after != 0) - int(before != 0))


@njit(cache=True)
def descend(
    columns, rows, factors, pull, w, limits, first, second, low, high, counted, free, link_price, partners, work
):
    """Moves of one weight by one or to zero, the best first; if none improves, pairs of the best such moves.

    The objective without the prices of weights is convex: along a move it rises at least as fast as its slope says.
    Most moves need no closer look.  Returns the objective, and whether no move improves it: not so if the descent was
    cut short.
    """
    # A move m of weight m // 3: one up, one down, or to zero.
    n, count = columns.shape
    y = margins(columns, factors, w)
    shares = np.zeros(count)
    gain = pull.copy()
    _learn(y, limits, first, second, shares, rows, factors, gain)
    price = 0.0
    for i in range(n):
        price += price_of(w[i], link_price) - pull[i] * w[i]
    loss = penalty(y, limits, first, second)
    least = np.empty(3 * n)  # by how much a move changes the objective, at least
    target = np.empty(3 * n, dtype=np.int64)
    order = np.empty(max(1, partners), dtype=np.int64)
    change_of = np.empty(max(1, partners))
    while work > 0:
        best, move, second_move = -1e-9, -1, -1
        for m in range(3 * n):
            i = m // 3
            target[m] = w[i] + 1 - 2 * (m % 3) if m % 3 < 2 else 0
            least[m] = np.inf
            if target[m] < low[i] or target[m] > high[i] or (m % 3 == 2 and abs(w[i]) < 2):
                continue
            least[m] = _price_change(w[i], target[m], link_price) - (target[m] - w[i]) * gain[i]
        work -= n
        for m in range(3 * n):
            if least[m] >= best:
                continue
            i = m // 3
            if free - _links(counted[i], w[i], target[m]) < 0:
                continue
            d = float(target[m] - w[i])
            after = penalty_after(y, limits, first, second, d, columns[i], factors)
            work -= count
            change = _price_change(w[i], target[m], link_price) - d * pull[i] + after - loss
            if change < best:
                best, move = change, m
        if move < 0 and partners > 0:
            # The moves that change the objective least, in ascending order; of equal ones the first.
            known = 0
            for m in range(3 * n):
                if least[m] == np.inf or (known == partners and least[m] >= change_of[known - 1]):
                    continue
                i = m // 3
                d = float(target[m] - w[i])
                after = penalty_after(y, limits, first, second, d, columns[i], factors)
                work -= count
                change = _price_change(w[i], target[m], link_price) - d * pull[i] + after - loss
                if known == partners and change >= change_of[known - 1]:
                    continue
                known = min(known + 1, partners)
                q = known - 1
                while q > 0 and change_of[q - 1] > change:
                    order[q], change_of[q] = order[q - 1], change_of[q - 1]
                    q -= 1
                order[q], change_of[q] = m, change
            for a in range(known):
                one = order[a]
                i = one // 3
                d = float(target[one] - w[i])
                for b in range(a):
                    other = order[b]
                    j = other // 3
                    links = _links(counted[i], w[i], target[one]) + _links(counted[j], w[j], target[other])
                    if i == j or free < links or least[one] + least[other] >= best:
                        continue
                    e = float(target[other] - w[j])
                    after = penalty_after_two(y, limits, first, second, d, columns[i], e, columns[j], factors)
                    work -= count
                    change = _price_change(w[i], target[one], link_price) - d * pull[i] + after - loss
                    change += _price_change(w[j], target[other], link_price) - e * pull[j]
                    if change < best:
                        best, move, second_move = change, one, other
        if move < 0:
            return price + loss, True
        for m in (move, second_move):
            if m >= 0:
                i = m // 3
                price += _price_change(w[i], target[m], link_price) - pull[i] * (target[m] - w[i])
                free -= _links(counted[i], w[i], target[m])
                _add(y, target[m] - w[i], columns[i], factors)
                w[i] = target[m]
        loss = penalty(y, limits, first, second)
        _learn(y, limits, first, second, shares, rows, factors, gain)
    return price + loss, False


@_part
def _links(counted, before, after):
    """How many counted links a change adds."""
    return int(counted) * (int(after != 0) - int(before != 0))


@_fast_part
def _slope(y, limits, first, second, column, factors):
    """Derivative of the penalty along a column."""
    total = 0.0
    for k in range(len(y)):
        if y[k] < first:
            total -= limits[k] * factors[k] * column[k]
        if y[k] < second:
            total -= limits[k] * factors[k] * column[k]
    return total


@_part
def _best_value(y, limits, first, second, column, factors, pull, low, high, loss, link_price):
    """The best value of a weight that does not count in y yet, its change of the objective, and products computed.

    The objective is convex apart from the link's price, so a walk from 0 in the direction of descent finds it.
    """
    slope = _slope(y, limits, first, second, column, factors) - pull
    step = -1 if slope > 0 else 1
    best, value, p, work = 0.0, 0, 0, len(y)
    if abs(slope) <= 0.5:
        return value, best, work
    previous = 0.0
    while low <= p + step <= high:
        p += step
        change = (
            penalty_after(y, limits, first, second, float(p), column, factors)
            - loss
            + price_of(p, link_price)
            - pull * p
        )
        work += len(y)
        if change < best:
            best, value = change, p
        if change - (link_price if p == step else 0.0) > previous:
            break
        previous = change
    return value, best, work


@njit(cache=True)
def exchange(columns, rows, factors, pull, w, limits, first, second, low, high, counted, free, link_price, work):
    """Take out one link, or none, and put the best other one in, as long as that improves the objective.

    Returns the objective, and whether no exchange improves it: not so if the search was cut short.
    """
    n, count = columns.shape
    y = margins(columns, factors, w)
    price = 0.0
    for i in range(n):
        price += price_of(w[i], link_price) - pull[i] * w[i]
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
                d = -price_of(w[j], link_price) + pull[j] * w[j]
                _add(rest, -w[j], columns[j], factors)
            base = penalty(rest, limits, first, second)
            room = free + (int(counted[j]) if j >= 0 else 0)
            for i in range(n):
                if (w[i] != 0 and i != j) or (counted[i] and room < 1):
                    continue
                p, change, used = _best_value(
                    rest, limits, first, second, columns[i], factors, pull[i], low[i], high[i], base, link_price
                )
                work -= used
                if d + change + base - loss < best:
                    best, emptied, filled, value = d + change + base - loss, j, i, p
        if filled < 0:
            return price + loss, True
        for i, p in ((emptied, 0), (filled, value)):
            if i >= 0:
                price += price_of(p, link_price) - price_of(w[i], link_price) - pull[i] * (p - w[i])
                free -= _links(counted[i], w[i], p)
                _add(y, p - w[i], columns[i], factors)
                w[i] = p
        loss = penalty(y, limits, first, second)
    return price + loss, False
