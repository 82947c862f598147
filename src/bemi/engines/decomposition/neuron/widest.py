"""The single neuron at its best: the largest margin under given signs, or under any, proved.

U(s) is the largest margin of a neuron that gives each row k the sign s_k, and M* that of any neuron: s_k = 0 leaves a
sign open.  R61 in docs/certificates.md defines the proofs.

- If no input has both signs in the data, a constant neuron has the margin ``P min_k ||x^k||_1``, and none has more.
- Under given signs of all rows, branch and bound on the weights by linear programs (``weight_tree.py``).
- Few weights are all tried, in two halves.  The second half of the inputs has N weight vectors, one bit each; for every
  row and threshold there is a string of bits that tells whose sums reach it.  For each weight vector of the first half,
  a row's sum turns the margin into thresholds on the second; the conjunction over rows leaves the neurons that have the
  margin, and raises the margin with each that it finds.  A dozen rows usually leave none, so a billion neurons take
  about a tenth of a second.
- Otherwise a best-first search over the signs lists the dichotomies whose linear programs have larger margins than the
  best neuron (``shortlist.py``), and each has a tree over its weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.engines.decomposition.neuron.exhaustive import input_order
from bemi.engines.decomposition.neuron.linear_program import NeuronLP, Signs
from bemi.engines.decomposition.neuron.shortlist import Lister
from bemi.engines.decomposition.neuron.weight_tree import WeightTree
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline

MOST_NEURONS = 10**12
"""Weight vectors of a neuron that are tried at most; minutes."""

FEW_NEURONS = 4 * 10**9
"""Weight vectors that are tried before anything else; less than a second."""

MOST_DICHOTOMIES = 30_000
"""Linear programs of a search over dichotomies: its proof has as many sets of multipliers."""

_FIRST_NODES = 250
_TERNARY_SHARE = 0.2

MOST_STEPS = 500_000_000
"""Steps of the checker that a proof may take, about; half a minute."""

_SECOND_HALF = 20_000
"""Weight vectors of the second half at most: their thresholds stay in the processor's cache."""

_THRESHOLDS = 256
"""Thresholds of a row at most; between them, neurons are left that do not have the margin, and tested."""

_AT_A_TIME = 512
"""Weight vectors of the first half between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Widest:
    """What is known about the largest margin of a neuron.

    Attributes
    ----------
    weights, margin
        The best neuron found, and its margin; None and 0 if there is none.
    bound
        No neuron has a larger margin; equal to the margin unless the search was cut short.
    proof
        For the certificate; None if it would take the checker too long.
    """

    weights: Integers | None
    margin: int
    bound: int
    proof: list[Any] | None = None


def widest(data: Integers, signs: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """The neuron with these signs (0 for either) that has the largest margin, which is at least 1.

    Parameters
    ----------
    data, signs, weight_bound
        Rows, the sign that each must get or 0 if it may get either, and P.
    deadline
        When to give up.
    """
    if not data.any(axis=1).all():
        return Widest(None, 0, 0)  # no neuron has a margin on a row of zeros
    neurons = (2 * weight_bound + 1) ** int((data != 0).any(axis=0).sum())
    if signs.all():
        found = _with_signs(data, signs, weight_bound, deadline)
    elif signs.any():
        return _best_of_all(data, signs, weight_bound, deadline)
    elif not ((data > 0).any(axis=0) & (data < 0).any(axis=0)).any():
        return _constant(data, weight_bound)
    elif neurons <= FEW_NEURONS:
        return _best_of_all(data, signs, weight_bound, deadline)
    else:
        found = _of_all_dichotomies(data, weight_bound, deadline)
    if found.margin < found.bound and neurons <= MOST_NEURONS and not deadline.passed:
        again = _best_of_all(data, signs, weight_bound, deadline)
        return again if again.bound < found.bound else found
    return found


def _with_signs(data: Integers, signs: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """By branch and bound on the weights."""
    tree = WeightTree(data, signs, weight_bound)
    tree.grow(deadline)
    return Widest(tree.weights, tree.margin, tree.bound, tree.proof())


def _of_all_dichotomies(data: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """By branch and bound on the signs, and on the weights of each dichotomy that may have the largest margin.

    The first dichotomies are those of the widest neurons with weights of -P, 0 and P.
    """
    best = Widest(None, 0, 0)
    lp = NeuronLP(data, weight_bound)
    if 3 ** len(lp.live) <= FEW_NEURONS:
        ternary = _best_of_all(data, np.zeros(len(data), np.int64), 1, deadline.share(_TERNARY_SHARE))
        if ternary.weights is not None:
            best = _with_signs(data, np.sign(data @ ternary.weights), weight_bound, deadline.share(_TERNARY_SHARE))
    lister = Lister(lp, np.arange(len(data)), MOST_DICHOTOMIES)
    trees: dict[bytes, WeightTree] = {}
    nodes = _FIRST_NODES
    while True:
        lister.extend(best.margin, nodes)
        listed = lister.shortlist()
        for bound, signs in listed.members:
            if bound > best.margin and signs.tobytes() not in trees and not deadline.passed:
                own = trees[signs.tobytes()] = WeightTree(data, signs.astype(np.int64), weight_bound)
                own.grow(deadline)
                if own.margin > best.margin:
                    best = Widest(own.weights, own.margin, 0)
        if not lister.more or lister.level <= best.margin or deadline.passed or lister.solved >= MOST_DICHOTOMIES - 2:
            break
        nodes *= 2
    own_bounds = {key: own.bound for key, own in trees.items()}
    bounds = [own_bounds.get(signs.tobytes(), bound) for bound, signs in listed.members]
    most = max([best.margin, lister.level, *bounds])
    # Lists are of dichotomies that give + to the row of smallest norm.
    row = int(lp.norms.argmin())
    tree = _with_weights(lister.proof(), np.eye(1, len(data), row, dtype=np.int8)[0], trees)
    return Widest(best.weights, best.margin, most, [most, ["T", row, tree, None]])


def _with_weights(tree: list[Any], signs: Signs, trees: dict[bytes, WeightTree]) -> list[Any]:
    """The list's tree as R61 has it: dichotomies are closed by their own trees."""
    if tree[0] == "L":
        return tree
    if tree[0] == "W":
        own = trees.get(signs.tobytes())
        return ["L", tree[1]] if own is None else own.proof()[1]
    _, row, plus, minus = tree
    children = []
    for sign, child in ((1, plus), (-1, minus)):
        known = signs.copy()
        known[row] = sign
        children.append(_with_weights(child, known, trees))
    return ["T", row, *children]


def _constant(data: Integers, weight_bound: int) -> Widest:
    """The constant neuron with the largest weights, if no input has both signs."""
    weights = weight_bound * np.where((data < 0).any(axis=0), -1, 1)
    norms = np.abs(data).sum(axis=1)
    row = int(norms.argmin())
    margin = weight_bound * int(norms[row])
    leaf = ["L", [[row, 1]]]
    return Widest(weights if margin else None, margin, margin, [margin, ["T", row, leaf, leaf]])


def _best_of_all(data: Integers, signs: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """The best of all weight vectors."""
    live = np.flatnonzero((data != 0).any(axis=0))
    order = live[input_order(data[:, live])]
    ranked = np.argsort(np.abs(data).sum(axis=1), kind="stable")
    columns = np.ascontiguousarray(data[np.ix_(ranked, order)].T.astype(np.int64))
    base, second = 2 * weight_bound + 1, 0
    while second < len(order) and base ** (second + 1) <= _SECOND_HALF:
        second += 1
    first = len(order) - second
    sums = np.ascontiguousarray((_all_weights(second, weight_bound) @ columns[first:]).T)
    lowest = sums.min(axis=1)
    steps = np.maximum(1, -(-(sums.max(axis=1) - lowest + 1) // _THRESHOLDS))
    at_least = _thresholds(sums, lowest, steps, int(((sums.max(axis=1) - lowest) // steps).max()) + 2)
    vectors = base**first
    # A neuron without signs may be flipped.
    begin = 0 if signs.any() else vectors // 2
    state = np.array([0, -1, -1, 0], dtype=np.int64)
    arguments = (columns[:first], weight_bound, sums, lowest, steps, at_least, signs[ranked].astype(np.int64), state)
    complete = True
    for start in range(begin, vectors, _AT_A_TIME):
        _try(start, min(vectors, start + _AT_A_TIME), *arguments)
        if deadline.passed:
            complete = start + _AT_A_TIME >= vectors
            break
    margin, at_first, at_second, tests = state.tolist()
    weights = None
    if margin:
        weights = np.zeros(data.shape[1], dtype=np.int64)
        weights[order[:first]] = _digits(at_first, first, weight_bound)
        weights[order[first:]] = _digits(at_second, second, weight_bound)
    if not complete:
        cap = weight_bound * int(np.abs(data).sum(axis=1).min())
        return Widest(weights, margin, cap)
    work = tests * (3 + sums.shape[1] // 512) + 2 * (vectors - begin) * len(data)
    return Widest(weights, margin, margin, [margin, ["A"]] if work <= MOST_STEPS else None)


def _all_weights(inputs: int, bound: int) -> Integers:
    """Every weight vector of some inputs, the last weight changing fastest."""
    sizes = (2 * bound + 1,) * inputs
    return np.ascontiguousarray(np.indices(sizes).reshape(inputs, math.prod(sizes)).T - bound)


def _digits(place: int, inputs: int, bound: int) -> Integers:
    """The weight vector at a place of that order."""
    return np.array(np.unravel_index(place, (2 * bound + 1,) * inputs), dtype=np.int64) - bound


@njit(cache=True, error_model="numpy")
def _thresholds(sums, lowest, steps, most):
    """By row and threshold, one bit per vector: whether its sum is at least ``lowest + threshold step``."""
    rows, vectors = sums.shape
    words = (vectors + 63) // 64
    at_least = np.zeros((rows, most, words), np.uint64)
    for k in range(rows):
        for j in range(vectors):
            g = (sums[k, j] - lowest[k]) // steps[k]
            at_least[k, g, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
        for g in range(most - 2, -1, -1):
            for w in range(words):
                at_least[k, g, w] |= at_least[k, g + 1, w]
    return at_least


@njit(cache=True, error_model="numpy")
def _try(start, end, columns, bound, sums, lowest, steps, at_least, signs, state):
    """Try vectors of the first half with all of the second; ``state`` is the best margin, its places, and tests."""
    first, rows = columns.shape
    most, words = at_least.shape[1], at_least.shape[2]
    left = np.empty(words, np.uint64)
    own = np.empty(rows, np.int64)
    for place in range(start, end):
        own[:] = 0
        rest = place
        for i in range(first - 1, -1, -1):
            weight = rest % (2 * bound + 1) - bound
            rest //= 2 * bound + 1
            if weight != 0:
                for k in range(rows):
                    own[k] += weight * columns[i, k]
        level = state[0]
        any_left = np.uint64(1)
        for k in range(rows):
            above = min(max((level + 1 - own[k] - lowest[k]) // steps[k], 0), most - 1)
            below = min(max(-((level + own[k] + lowest[k]) // steps[k]), 0), most - 1)
            plus, minus = at_least[k, above], at_least[k, below]
            any_left = np.uint64(0)
            if k == 0:
                for w in range(words):
                    left[w] = at_least[k, 0, w]
            if signs[k] > 0:
                for w in range(words):
                    left[w] &= plus[w]
                    any_left |= left[w]
            elif signs[k] < 0:
                for w in range(words):
                    left[w] &= ~minus[w]
                    any_left |= left[w]
            else:
                for w in range(words):
                    left[w] &= plus[w] | ~minus[w]
                    any_left |= left[w]
            state[3] += 1
            if any_left == 0:
                break
        if any_left == 0:
            continue
        for w in range(words):
            bits = left[w]
            j = w * 64
            while bits != 0:
                if bits & np.uint64(1):
                    margin = np.int64(1) << 62
                    for k in range(rows):
                        total = own[k] + sums[k, j]
                        reached = total * signs[k] if signs[k] != 0 else abs(total)
                        margin = min(margin, reached)
                        if margin <= state[0]:
                            break
                    if margin > state[0]:
                        state[0], state[1], state[2] = margin, place, j
                bits >>= np.uint64(1)
                j += 1
