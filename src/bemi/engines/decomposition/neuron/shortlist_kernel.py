"""The compiled search over the dichotomies of one neuron; see :mod:`~bemi.engines.decomposition.neuron.shortlist`.

Nodes and the tree that proves the result live in arrays, which are given out by :func:`new_store` and filled by
:func:`explore` a few linear programs at a time, so that the caller can watch its clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.kernel import FAILED, OPTIMAL, line_searches, walk

LEAF, MEMBER, BRANCH = 0, 1, 2
"""Kinds of places in the tree."""

EXHAUSTED, WITNESSED, UNDECIDED = 0, 1, 2
"""How a search ended: nothing is left, a dichotomy was found, or there is more to do."""

_PLACES_PER_NODE, _MULTIPLIERS_PER_PLACE = 10, 24


class Store(NamedTuple):
    """Nodes (linear programs that were solved), places of the tree, and multipliers.

    Attributes
    ----------
    signs, bound, value, size, rows, inputs, sides, place
        Per node: its signs, bound (-1 once it was looked into), value, basis, and its place in the tree.
    nearest, least, reached
        Per node: the dichotomy that its weights make of all rows, its margin, and whether that is above the level and
        respects the groups.
    kind, row, plus, minus, begin, end
        Per place: what it is, the row of a branch and its children, and where its multipliers stand.
    mult_row, mult_weight
        Multipliers of all places.
    used
        Numbers of nodes, places and multipliers in use.
    """

    signs: NDArray[np.int8]
    bound: NDArray[np.int64]
    value: NDArray[np.float64]
    size: NDArray[np.int64]
    rows: NDArray[np.int32]
    inputs: NDArray[np.int32]
    sides: NDArray[np.int8]
    place: NDArray[np.int64]
    nearest: NDArray[np.int8]
    least: NDArray[np.float64]
    reached: NDArray[np.bool_]
    kind: NDArray[np.int8]
    row: NDArray[np.int64]
    plus: NDArray[np.int64]
    minus: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    mult_row: NDArray[np.int32]
    mult_weight: NDArray[np.int64]
    used: NDArray[np.int64]


def new_store(nodes: int, rows: int, inputs: int, basis: int) -> Store:
    """Room for so many nodes; memory is taken as it is filled."""
    places = nodes * _PLACES_PER_NODE + 2 * rows + 2
    multipliers = places * _MULTIPLIERS_PER_PLACE + (2 * rows + 2) * (basis + 1)
    return Store(
        signs=np.empty((nodes, rows), dtype=np.int8),
        bound=np.empty(nodes, dtype=np.int64),
        value=np.empty(nodes),
        size=np.empty(nodes, dtype=np.int64),
        rows=np.empty((nodes, basis), dtype=np.int32),
        inputs=np.empty((nodes, basis), dtype=np.int32),
        sides=np.empty((nodes, inputs), dtype=np.int8),
        place=np.empty(nodes, dtype=np.int64),
        nearest=np.empty((nodes, rows), dtype=np.int8),
        least=np.empty(nodes),
        reached=np.empty(nodes, dtype=np.bool_),
        kind=np.empty(places, dtype=np.int8),
        row=np.empty(places, dtype=np.int64),
        plus=np.empty(places, dtype=np.int64),
        minus=np.empty(places, dtype=np.int64),
        begin=np.empty(places, dtype=np.int64),
        end=np.empty(places, dtype=np.int64),
        mult_row=np.empty(multipliers, dtype=np.int32),
        mult_weight=np.empty(multipliers, dtype=np.int64),
        used=np.zeros(3, dtype=np.int64),
    )


@njit(cache=True)
def _new_place(store):
    place = store.used[1]
    store.used[1] += 1
    store.kind[place] = LEAF
    store.begin[place] = store.end[place] = store.used[2]
    return place


@njit(cache=True)
def _add_multiplier(store, place, row, weight):
    at = store.used[2]
    store.mult_row[at] = row
    store.mult_weight[at] = weight
    store.used[2] = at + 1
    store.end[place] = at + 1


@njit(cache=True)
def _exact_bound(store, place, signs, data, weight_bound):
    """floor(P ||sum lam s x||_1 / sum lam) of a place's multipliers."""
    n = data.shape[1]
    g = np.zeros(n, np.int64)
    total = 0
    for at in range(store.begin[place], store.end[place]):
        k = store.mult_row[at]
        f = store.mult_weight[at] * signs[k]
        total += store.mult_weight[at]
        for i in range(n):
            g[i] += f * data[k, i]
    norm = 0
    for i in range(n):
        norm += abs(g[i])
    return weight_bound * norm // total


@njit(cache=True)
def _note_weights(store, node, groups, level, sums):
    K = groups.size
    side = np.zeros(K, np.int8)
    least = np.inf
    one_sided = True
    for k in range(K):
        sign = 1 if sums[k] > 0 else -1
        store.nearest[node, k] = sign
        least = min(least, abs(sums[k]))
        if side[groups[k]] == 0:
            side[groups[k]] = sign
        elif side[groups[k]] != sign:
            one_sided = False
    store.least[node] = least
    store.reached[node] = one_sided and least >= level + 1 - 1e-6


@njit(cache=True)
def look_at(store, X, XT, gram, eps, data, norms, P, denominator, groups, level, signs, parent, place):
    """Solve the linear program of these signs and take it up as a node, a member or a leaf; returns the level.

    Where the walk fails, the parent's multipliers still hold, so the place becomes a leaf and the level rises to them.
    """
    K, n = X.shape
    room = store.rows.shape[1]
    node = store.used[0]
    store.used[0] += 1
    store.bound[node] = -1
    store.least[node] = -1.0
    store.reached[node] = False
    s = np.empty(K)
    assigned = 0
    lightest = -1
    for k in range(K):
        s[k] = signs[k]
        if signs[k] != 0:
            assigned += 1
            if lightest < 0 or norms[k] < norms[lightest]:
                lightest = k
    rows, cols = np.zeros(room, np.int64), np.zeros(room, np.int64)
    lam, weights, sums = np.zeros(room), np.zeros(n), np.zeros(K)
    side = np.empty(n)
    store.begin[place] = store.used[2]
    store.end[place] = store.used[2]
    # Twice from the parent's basis and twice from the lightest row alone, the second time to the optimum.
    for attempt in range(2 if parent < 0 else 0, 4):
        stop = level + 0.99 if attempt % 2 == 0 else 0.99
        if attempt < 2:
            size = store.size[parent]
            for p in range(size):
                rows[p] = store.rows[parent, p]
                cols[p] = store.inputs[parent, p]
            for i in range(n):
                side[i] = P * store.sides[parent, i]
        else:
            size = 1
            rows[0] = lightest
            for i in range(n):
                side[i] = P if s[lightest] * X[lightest, i] >= 0 else -P
        status, size, value, _ = walk(
            X, XT, gram, eps, s, P, stop, rows, cols, size, side, lam, weights, sums, 2000 + 40 * assigned
        )
        total = 0.0
        for p in range(size):
            total += max(lam[p], 0.0)
        if status == FAILED or total <= 0.5:
            continue
        store.used[2] = store.begin[place]
        for p in range(size):
            whole = np.int64(round(max(lam[p], 0.0) * (denominator / total)))
            if whole > 0:
                _add_multiplier(store, place, rows[p], whole)
        bound = _exact_bound(store, place, signs, data, np.int64(P))
        # A bound at or below the level is good enough, however it was found.  Otherwise the walk must have ended at the
        # optimum, and the exact bound must agree with the floating-point one, or the basis went bad.
        if bound <= level:
            return level
        if status != OPTIMAL or bound > value + 1e-4 * max(1.0, abs(value)) + 1:
            continue
        for k in range(K):
            store.signs[node, k] = signs[k]
        store.value[node] = value
        store.place[node] = place
        _note_weights(store, node, groups, level, sums)
        if assigned == K:
            store.kind[place] = MEMBER
            store.plus[place] = node
            return level
        store.bound[node] = bound
        store.size[node] = size
        for p in range(size):
            store.rows[node, p] = rows[p]
            store.inputs[node, p] = cols[p]
        for i in range(n):
            store.sides[node, i] = 1 if side[i] > 0 else -1
        return level
    store.used[2] = store.begin[place]
    store.end[place] = store.begin[place]
    if parent < 0:
        _add_multiplier(store, place, lightest, 1)
    else:
        above = store.place[parent]
        for at in range(store.begin[above], store.end[above]):
            _add_multiplier(store, place, store.mult_row[at], store.mult_weight[at])
    return max(level, _exact_bound(store, place, signs, data, np.int64(P)))


@njit(cache=True)
def _force_signs(store, X, starts, inputs, data, P, denominator, level, groups, node, signs, lowest):
    """Close signs of single rows by line searches on the node's multipliers; returns the place to go on from.

    ``signs`` gets the forced signs; ``lowest`` the smallest bound by sign and group.
    """
    K, n = X.shape
    place = store.place[node]
    begin, end = store.begin[place], store.end[place]
    total = 0
    for at in range(begin, end):
        total += store.mult_weight[at]
    g = np.zeros(n)
    for at in range(begin, end):
        k = store.mult_row[at]
        f = store.mult_weight[at] * signs[k] / total
        for i in range(n):
            g[i] += f * X[k, i]
    free = 0
    for k in range(K):
        free += signs[k] == 0
    which = np.empty(2 * free, np.int64)
    side = np.empty(2 * free)
    q = 0
    for k in range(K):
        if signs[k] == 0:
            which[q], which[q + 1] = k, k
            side[q], side[q + 1] = 1.0, -1.0
            q += 2
    caps = np.empty((which.size, 2))
    line_searches(X, starts, inputs, g, which, side, P, level + 1.0, caps)
    for k in range(K):
        lowest[0, k] = np.inf
        lowest[1, k] = np.inf
    for q in range(which.size):
        column = 0 if side[q] > 0 else 1
        lowest[column, groups[which[q]]] = min(lowest[column, groups[which[q]]], caps[q, 0])
    trial = signs.copy()
    for q in range(which.size):
        k = which[q]
        if caps[q, 0] >= level + 1 or signs[k] != 0:
            continue
        step = caps[q, 1]
        new = max(1, np.int64(round(total * step / max(1e-9, 1.0 - step))))
        # The sum must not outgrow the common denominator, or 64 bits would not do.
        shift = 0
        while (total + new) >> shift >= 2 * denominator:
            shift += 1
        leaf = _new_place(store)
        for at in range(begin, end):
            if store.mult_weight[at] >> shift > 0:
                _add_multiplier(store, leaf, store.mult_row[at], store.mult_weight[at] >> shift)
        if new >> shift > 0:
            _add_multiplier(store, leaf, k, new >> shift)
        trial[k] = np.int8(side[q])
        bound = _exact_bound(store, leaf, trial, data, np.int64(P))
        trial[k] = 0
        if bound > level:
            store.used[1] -= 1
            store.used[2] = store.begin[leaf]
            continue
        below = _new_place(store)
        store.kind[place] = BRANCH
        store.row[place] = k
        store.plus[place] = leaf if side[q] > 0 else below
        store.minus[place] = below if side[q] > 0 else leaf
        place = below
        for other in range(K):
            if groups[other] == groups[k]:
                signs[other] = -np.int8(side[q])
                trial[other] = signs[other]
    return place


@njit(cache=True)
def _full(store):
    """Whether another look into a node might not fit; every row may add two places, and a leaf all its multipliers."""
    most = 2 * store.signs.shape[1] + 2
    places_left = store.kind.size - store.used[1]
    multipliers_left = store.mult_row.size - store.used[2]
    return places_left < most or multipliers_left < most * (store.rows.shape[1] + 1)


@njit(cache=True)
def _row_to_branch_on(store, groups, node, signs, lowest):
    """The row whose signs both cost most, and whether + costs less."""
    row, most, plus_first = -1, -1.0, True
    value = store.value[node]
    for k in range(groups.size):
        if signs[k] == 0:
            plus = value - min(lowest[0, groups[k]], value)
            minus = value - min(lowest[1, groups[k]], value)
            score = min(plus, minus) + 0.2 * max(plus, minus)
            if score > most:
                row, most, plus_first = k, score, plus <= minus
    return row, plus_first


@njit(cache=True)
def _next_node(store, level, in_depth):
    """The open node of the largest bound, or the newest one; -1 if none is open."""
    best = -1
    for node in range(store.used[0] - 1, -1, -1):
        if store.bound[node] > level and (best < 0 or store.bound[node] > store.bound[best]):
            best = node
            if in_depth:
                break
    return best


@njit(cache=True)
def _raise_witnesses(store, node, witness):
    K = witness.shape[0]
    for a in range(K):
        for b in range(K):
            if store.nearest[node, a] != store.nearest[node, b]:
                witness[a, b] = max(witness[a, b], store.least[node])


@njit(cache=True)
def explore(
    store, X, XT, gram, eps, data, norms, P, denominator, starts, inputs, groups, level, signs, nodes, in_depth, witness
):
    """Search the dichotomies that have these signs, until there are so many nodes or the store is full.

    By largest bound, for all of them; or in depth, until one above the level is found.  ``witness[a, b]`` is then
    raised to the largest margin that came up of a dichotomy that separates rows a and b.  Returns the level, which
    rises where a linear program could not be solved, and :data:`EXHAUSTED`, :data:`WITNESSED` or :data:`UNDECIDED`.
    """
    K = X.shape[0]
    lowest = np.empty((2, K))
    children = np.empty((2, K), np.int8)
    places = np.zeros(2, np.int64)
    parent = -1
    pending = 0
    if store.used[0] == 0:
        pending = 1
        places[0] = _new_place(store)
        for k in range(K):
            children[0, k] = signs[k]
    while True:
        for turn in range(pending):
            node = store.used[0]
            before = level
            level = look_at(
                store,
                X,
                XT,
                gram,
                eps,
                data,
                norms,
                P,
                denominator,
                groups,
                level,
                children[turn],
                parent,
                places[turn],
            )
            if in_depth:
                if level > before:
                    return level, UNDECIDED
                if store.least[node] >= 1.0:
                    _raise_witnesses(store, node, witness)
                if store.reached[node]:
                    return level, WITNESSED
        parent = _next_node(store, level, in_depth)
        if parent < 0:
            return level, EXHAUSTED
        if store.used[0] + 2 > nodes or _full(store):
            return level, UNDECIDED
        store.bound[parent] = -1
        for k in range(K):
            children[0, k] = store.signs[parent, k]
        place = _force_signs(store, X, starts, inputs, data, P, denominator, level, groups, parent, children[0], lowest)
        places[0] = place
        pending = 1
        if place == store.place[parent]:
            row, plus_first = _row_to_branch_on(store, groups, parent, children[0], lowest)
            store.kind[place] = BRANCH
            store.row[place] = row
            store.plus[place] = _new_place(store)
            store.minus[place] = _new_place(store)
            # The more promising child comes last, where a search in depth begins.
            first = -1 if plus_first else 1
            for k in range(K):
                children[1, k] = children[0, k]
                if groups[k] == groups[row]:
                    children[0, k] = first
                    children[1, k] = -first
            places[0] = store.minus[place] if plus_first else store.plus[place]
            places[1] = store.plus[place] if plus_first else store.minus[place]
            pending = 2
