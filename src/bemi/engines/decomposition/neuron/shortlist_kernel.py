"""The compiled search over the dichotomies of one neuron; see :mod:`~bemi.engines.decomposition.neuron.shortlist`.

Nodes and the tree that proves the result live in arrays, which are given out by :func:`new_store` and filled by
:func:`explore` a few linear programs at a time, so that the caller can watch its clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.kernel import FAILED, OPTIMAL, line_searches, walk
from bemi.jit import njit

LEAF, MEMBER, BRANCH = 0, 1, 2
"""Kinds of places in the tree."""

EXHAUSTED, WITNESSED, UNDECIDED = 0, 1, 2
"""How a search ended: nothing is left, a dichotomy was found, or there is more to do."""

_PLACES_PER_NODE, _MULTIPLIERS_PER_PLACE = 10, 24

# What the search is made of.  Called by compiled code only, so without wrappers for Python, which take long to compile
# for a store of this many arrays.
_part = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


class _Neuron(NamedTuple):
    """The rows of one neuron's linear program, as :func:`explore` gets them."""

    X: NDArray[np.float64]
    XT: NDArray[np.float64]
    gram: NDArray[np.float64]
    eps: NDArray[np.float64]
    data: NDArray[np.int64]
    norms: NDArray[np.int64]
    P: float
    denominator: int
    starts: NDArray[np.int64]
    inputs: NDArray[np.int64]
    groups: NDArray[np.int64]


class _Vertex(NamedTuple):
    """Where a walk starts and ends: basis, sides, multipliers, weights and pre-activations."""

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    side: NDArray[np.float64]
    lam: NDArray[np.float64]
    weights: NDArray[np.float64]
    sums: NDArray[np.float64]


class Store(NamedTuple):
    """Nodes (linear programs that were solved), places of the tree, and multipliers.

    Attributes
    ----------
    signs, bound, value, size, rows, inputs, sides, place
        Per node: its signs, bound (-1 once it was expanded), value, basis, and its place in the tree.
    nearest, least, reached
        Per node: the dichotomy that its weights make of all rows, its margin, and whether that is above the level and
        respects the groups.
    kind, row, plus, minus, begin, end
        Per place: what it is, the row of a branch and its children, and where its multipliers stand.
    mult_row, mult_weight
        Multipliers of all places.
    heap
        The open nodes of a search by bound as a heap, the largest bound first and of equal ones the newest.
    used
        How many nodes, places, multipliers and entries of the heap are in use.
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
    heap: NDArray[np.int64]
    used: NDArray[np.int64]


def new_store(nodes: int, rows: int, inputs: int, basis: int) -> Store:
    """Room for this many nodes; memory is taken only as it is filled."""
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
        heap=np.empty(nodes, dtype=np.int64),
        used=np.zeros(4, dtype=np.int64),
    )


@_part
def _copy(source, target):
    for k in range(source.size):  # an assignment of arrays takes a second to compile
        target[k] = source[k]


@_part
def _new_node(store):
    node = store.used[0]
    store.used[0] += 1
    store.bound[node] = -1
    store.least[node] = -1.0
    store.reached[node] = False
    return node


@_part
def _new_place(store):
    place = store.used[1]
    store.used[1] += 1
    store.kind[place] = LEAF
    store.begin[place] = store.end[place] = store.used[2]
    return place


@_part
def _add_multiplier(store, place, row, weight):
    at = store.used[2]
    store.mult_row[at] = row
    store.mult_weight[at] = weight
    store.used[2] = at + 1
    store.end[place] = at + 1


@_part
def _clear_multipliers(store, place):
    """Empty a place that is the last one with multipliers."""
    store.used[2] = store.begin[place]
    store.end[place] = store.begin[place]


@_part
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


@_part
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


@_part
def _start_at_parent(store, parent, P, vertex):
    """Put the parent's basis into the vertex; returns its size."""
    size = store.size[parent]
    for p in range(size):
        vertex.rows[p] = store.rows[parent, p]
        vertex.cols[p] = store.inputs[parent, p]
    for i in range(vertex.side.size):
        vertex.side[i] = P * store.sides[parent, i]
    return size


@_part
def _start_at_row(X, s, row, P, vertex):
    """Put the basis of one row alone into the vertex; returns its size."""
    vertex.rows[0] = row
    for i in range(vertex.side.size):
        vertex.side[i] = P if s[row] * X[row, i] >= 0 else -P
    return np.int64(1)


@_part
def _note_multipliers(store, place, vertex, size, denominator):
    """Round the multipliers of a vertex to integers; returns False if they vanish."""
    total = 0.0
    for p in range(size):
        total += max(vertex.lam[p], 0.0)
    if total <= 0.5:
        return False
    _clear_multipliers(store, place)
    for p in range(size):
        whole = np.int64(round(max(vertex.lam[p], 0.0) * (denominator / total)))
        if whole > 0:
            _add_multiplier(store, place, vertex.rows[p], whole)
    return True


@_part
def _inherit_multipliers(store, place, parent, lightest):
    """Give a place its parent's multipliers, or without a parent the lightest row alone."""
    _clear_multipliers(store, place)
    if parent < 0:
        _add_multiplier(store, place, lightest, np.int64(1))
    else:
        above = store.place[parent]
        for at in range(store.begin[above], store.end[above]):
            _add_multiplier(store, place, np.int64(store.mult_row[at]), store.mult_weight[at])


@_part
def _keep_basis(store, node, vertex, size):
    store.size[node] = size
    for p in range(size):
        store.rows[node, p] = vertex.rows[p]
        store.inputs[node, p] = vertex.cols[p]
    for i in range(vertex.side.size):
        store.sides[node, i] = 1 if vertex.side[i] > 0 else -1


# Inlined by Numba and so never compiled alone: that would compile the whole walk once more.
@njit(inline="always")
def _solve_node(store, neuron, level, signs, parent, place):
    """Solve the linear program of these signs and store it as a node, a member or a leaf; returns the level.

    Where the walk fails, the parent's multipliers still hold, so the place becomes a leaf and the level rises to them.
    """
    K, n = neuron.X.shape
    P = neuron.P
    room = store.rows.shape[1]
    node = _new_node(store)
    s = np.empty(K)
    assigned, lightest = np.int64(0), np.int64(-1)
    for k in range(K):
        s[k] = signs[k]
        if signs[k] != 0:
            assigned += 1
            if lightest < 0 or neuron.norms[k] < neuron.norms[lightest]:
                lightest = np.int64(k)
    vertex = _Vertex(
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.empty(n), np.zeros(room), np.zeros(n), np.zeros(K)
    )
    store.begin[place] = store.used[2]
    store.end[place] = store.used[2]
    # Twice from the parent's basis and twice from the lightest row alone, the second time to the optimum.
    for attempt in range(2 if parent < 0 else 0, 4):
        stop = level + 0.99 if attempt % 2 == 0 else 0.99
        if attempt < 2:
            size = _start_at_parent(store, parent, P, vertex)
        else:
            size = _start_at_row(neuron.X, s, lightest, P, vertex)
        status, size, value, _ = walk(
            neuron.X,
            neuron.XT,
            neuron.gram,
            neuron.eps,
            s,
            P,
            stop,
            vertex.rows,
            vertex.cols,
            size,
            vertex.side,
            vertex.lam,
            vertex.weights,
            vertex.sums,
            2000 + 40 * assigned,
        )
        if status == FAILED or not _note_multipliers(store, place, vertex, size, neuron.denominator):
            continue
        bound = _exact_bound(store, place, signs, neuron.data, np.int64(P))
        # A bound at or below the level is good enough, however it was found.  Otherwise the walk must have ended at the
        # optimum, and the exact bound must agree with the floating-point one, or the basis went bad.
        if bound <= level:
            return level
        if status != OPTIMAL or bound > value + 1e-4 * max(1.0, abs(value)) + 1:
            continue
        _copy(signs, store.signs[node])
        store.value[node] = value
        store.place[node] = place
        _note_weights(store, node, neuron.groups, level, vertex.sums)
        if assigned == K:
            store.kind[place] = MEMBER
            store.plus[place] = node
            return level
        store.bound[node] = bound
        _keep_basis(store, node, vertex, size)
        _push(store, node)
        return level
    _inherit_multipliers(store, place, parent, lightest)
    return max(level, _exact_bound(store, place, signs, neuron.data, np.int64(P)))


@_part
def _weighted_row(store, place, signs, X, total):
    """The mean of the signed rows under a place's multipliers, which sum to ``total``."""
    g = np.zeros(X.shape[1])
    for at in range(store.begin[place], store.end[place]):
        k = store.mult_row[at]
        f = store.mult_weight[at] * signs[k] / total
        for i in range(g.size):
            g[i] += f * X[k, i]
    return g


@_part
def _free_signs(signs):
    """Every row without a sign twice, and the signs + and - for it."""
    free = 0
    for k in range(signs.size):
        free += signs[k] == 0
    which = np.empty(2 * free, np.int64)
    side = np.empty(2 * free)
    q = 0
    for k in range(signs.size):
        if signs[k] == 0:
            which[q], which[q + 1] = k, k
            side[q], side[q + 1] = 1.0, -1.0
            q += 2
    return which, side


@_part
def _lowest_by_group(caps, which, side, groups, lowest):
    for k in range(groups.size):
        lowest[0, k] = np.inf
        lowest[1, k] = np.inf
    for q in range(which.size):
        column = 0 if side[q] > 0 else 1
        lowest[column, groups[which[q]]] = min(lowest[column, groups[which[q]]], caps[q, 0])


@_part
def _moved_leaf(store, begin, end, total, row, step, denominator):
    """A new leaf whose multipliers are the given ones with a share ``step`` moved to one more row."""
    new = max(1, np.int64(round(total * step / max(1e-9, 1.0 - step))))
    # The sum must not outgrow the common denominator, or 64 bits would not do.
    shift = 0
    while (total + new) >> shift >= 2 * denominator:
        shift += 1
    leaf = _new_place(store)
    for at in range(begin, end):
        if store.mult_weight[at] >> shift > 0:
            _add_multiplier(store, leaf, np.int64(store.mult_row[at]), store.mult_weight[at] >> shift)
    if new >> shift > 0:
        _add_multiplier(store, leaf, row, new >> shift)
    return leaf


@_part
def _force_signs(store, neuron, level, node, signs, lowest):
    """Close signs of single rows by line searches on the node's multipliers; returns the place to go on from.

    ``signs`` gets the forced signs; ``lowest`` the smallest bound by sign and group.
    """
    X, P, groups = neuron.X, neuron.P, neuron.groups
    place = store.place[node]
    begin, end = store.begin[place], store.end[place]
    total = np.int64(0)
    for at in range(begin, end):
        total += store.mult_weight[at]
    which, side = _free_signs(signs)
    caps = np.empty((which.size, 2))
    g = _weighted_row(store, place, signs, X, total)
    line_searches(X, neuron.starts, neuron.inputs, g, which, side, P, level + 1.0, caps)
    _lowest_by_group(caps, which, side, groups, lowest)
    trial = signs.copy()
    for q in range(which.size):
        k = which[q]
        if caps[q, 0] >= level + 1 or signs[k] != 0:
            continue
        leaf = _moved_leaf(store, begin, end, total, k, caps[q, 1], neuron.denominator)
        trial[k] = np.int8(side[q])
        bound = _exact_bound(store, leaf, trial, neuron.data, np.int64(P))
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
        for other in range(groups.size):
            if groups[other] == groups[k]:
                signs[other] = -np.int8(side[q])
                trial[other] = signs[other]
    return place


@_part
def _full(store):
    """Whether another look into a node might not fit; every row may add two places, and a leaf all its multipliers."""
    most = 2 * store.signs.shape[1] + 2
    places_left = store.kind.size - store.used[1]
    multipliers_left = store.mult_row.size - store.used[2]
    return places_left < most or multipliers_left < most * (store.rows.shape[1] + 1)


@_part
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


@_part
def _comes_first(store, a, b):
    return store.bound[a] > store.bound[b] or (store.bound[a] == store.bound[b] and a > b)


@_part
def _push(store, node):
    at = store.used[3]
    store.used[3] = at + 1
    while at > 0 and _comes_first(store, node, store.heap[(at - 1) // 2]):
        store.heap[at] = store.heap[(at - 1) // 2]
        at = (at - 1) // 2
    store.heap[at] = node


@_part
def _drop_first(store):
    size = store.used[3] - 1
    store.used[3] = size
    last, at = store.heap[size], np.int64(0)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _comes_first(store, store.heap[child + 1], store.heap[child]):
            child += 1
        if not _comes_first(store, store.heap[child], last):
            break
        store.heap[at] = store.heap[child]
        at = child
    store.heap[at] = last


@_part
def _next_node(store, level, in_depth):
    """The open node of the largest bound, or the newest one; -1 if none is open."""
    if in_depth:
        for node in range(store.used[0] - 1, -1, -1):
            if store.bound[node] > level:
                return node
        return np.int64(-1)
    return store.heap[0] if store.used[3] > 0 and store.bound[store.heap[0]] > level else np.int64(-1)


@_part
def _raise_witnesses(store, node, witness):
    K = witness.shape[0]
    for a in range(K):
        for b in range(K):
            if store.nearest[node, a] != store.nearest[node, b]:
                witness[a, b] = max(witness[a, b], store.least[node])


@_part
def _branch(store, groups, node, place, children, places, lowest):
    """Split a node on one row: both children get signs and places, from the signs in ``children[0]``."""
    row, plus_first = _row_to_branch_on(store, groups, node, children[0], lowest)
    store.kind[place] = BRANCH
    store.row[place] = row
    store.plus[place] = _new_place(store)
    store.minus[place] = _new_place(store)
    # The more promising child comes last, where a search in depth begins.
    first = -1 if plus_first else 1
    for k in range(groups.size):
        children[1, k] = children[0, k]
        if groups[k] == groups[row]:
            children[0, k] = first
            children[1, k] = -first
    places[0] = store.minus[place] if plus_first else store.plus[place]
    places[1] = store.plus[place] if plus_first else store.minus[place]


@_part
def _expand(store, neuron, level, node, children, places, lowest):
    """Prepare the children of a node; returns their number, which is 1 where line searches forced signs."""
    store.bound[node] = -1
    _copy(store.signs[node], children[0])
    place = _force_signs(store, neuron, level, node, children[0], lowest)
    places[0] = place
    if place != store.place[node]:
        return 1
    _branch(store, neuron.groups, node, place, children, places, lowest)
    return 2


@njit(cache=True)
def explore(
    store, X, XT, gram, eps, data, norms, P, denominator, starts, inputs, groups, level, signs, nodes, in_depth, witness
):
    """Search the dichotomies that have these signs, until there are ``nodes`` nodes or the store is full.

    By largest bound, for all of them; or in depth, until one above the level is found.  ``witness[a, b]`` is then
    raised to the largest margin seen of a dichotomy that separates rows a and b.  Returns the level, which rises where
    a linear program could not be solved, and :data:`EXHAUSTED`, :data:`WITNESSED` or :data:`UNDECIDED`.
    """
    neuron = _Neuron(X, XT, gram, eps, data, norms, P, denominator, starts, inputs, groups)
    K = X.shape[0]
    lowest = np.empty((2, K))
    children = np.empty((2, K), np.int8)
    places = np.zeros(2, np.int64)
    parent, pending = np.int64(-1), np.int64(0)  # typed: a literal would have the parts compiled twice
    if store.used[0] == 0:
        pending = np.int64(1)
        places[0] = _new_place(store)
        _copy(signs, children[0])
    while True:
        for turn in range(pending):
            node = store.used[0]
            before = level
            level = _solve_node(store, neuron, level, children[turn], parent, places[turn])
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
        if not in_depth:
            _drop_first(store)
        pending = _expand(store, neuron, level, parent, children, places, lowest)
