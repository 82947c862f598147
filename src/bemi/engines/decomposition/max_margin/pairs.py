"""Two neurons whose AND or OR is the code, found by a walk.

All others can be constants then, which act as a bias and have by far the largest margins where inputs have one sign.
Both neurons are right on all rows of one class, and each row of the other class has at least one of them right.  The
walk cools down; a step changes one weight, or two weights of a neuron, and counts what is missing.
"""

from __future__ import annotations

import math

import numpy as np

from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline

STEPS = 600_000
"""Steps of the first walks: a tenth of a second for 150 rows."""

WALKS = 8
"""Walks if there is no time limit."""

_HOT, _COLD = 2.0, 0.16  # temperatures; a right neuron that is missing costs 2, and a sum of 0 costs 1


def annealed_pair(
    data: Integers, codes: Integers, weight_bound: int, *, seed: int, deadline: Deadline
) -> tuple[Integers, int] | None:
    """Two columns of weights and the side on which both are right, or None if no walk finds them.

    Walks alternate between the sides and get longer; they end with the deadline, or if there is none after
    :data:`WALKS`.
    """
    live = np.flatnonzero((data != 0).any(axis=0))
    columns = np.ascontiguousarray((data[:, live] * codes[:, None]).T)
    rng = np.random.default_rng(seed)
    attempt = 0
    while not deadline.passed and (deadline.left is not None or attempt < WALKS):
        side = -1 if attempt % 2 == 0 else 1
        needs = np.where(codes == side, 2, 1)
        weights = np.zeros((2, len(live)), dtype=np.int64)
        if _anneal(columns, needs, weight_bound, STEPS * (1 + attempt // 4), rng, weights):
            found = np.zeros((data.shape[1], 2), dtype=np.int64)
            found[live] = weights.T
            return found, side
        attempt += 1
    return None


@njit(cache=True, error_model="numpy")
def _anneal(columns, needs, bound, steps, rng, weights):
    """Change the weights, which are 0 at first, until nothing is missing; returns whether that happened."""
    inputs, rows = columns.shape
    sums, moved = np.zeros((2, rows), np.int64), np.zeros(rows, np.int64)
    # By row and neuron: what the row still needs if that neuron is wrong.
    lacks = np.zeros((2, rows), np.int64)
    cost, zeros = 0, np.full(2, rows)
    for k in range(rows):
        lacks[:, k] = needs[k]
        cost += 2 * needs[k] + 2
    rate = math.log(_COLD / _HOT) / steps
    for n in range(steps):
        j, i = int(rng.random() * 2), int(rng.random() * inputs)
        old = weights[j, i]
        if rng.random() < 0.7:
            new = old + (1 if rng.random() < 0.5 else -1)
        else:
            new = int(rng.random() * (2 * bound + 1)) - bound
        second, by_second = i, 0
        if rng.random() < 0.5:
            second = int(rng.random() * inputs)
            by_second = old - new if rng.random() < 0.8 else new - old
            if second == i or abs(weights[j, second] + by_second) > bound:
                continue
        if abs(new) > bound or new == old:
            continue
        by, own_zeros, missing = new - old, 0, 0
        for k in range(rows):
            m = sums[j, k] + by * columns[i, k] + by_second * columns[second, k]
            moved[k] = m
            own_zeros += m == 0
            missing += max(0, lacks[j, k] - (m >= 1))
        total = 2 * missing + own_zeros + zeros[1 - j]
        if total <= cost - _HOT * math.exp(rate * n) * math.log(1.0 - rng.random()):
            cost, zeros[j] = total, own_zeros
            weights[j, i] = new
            weights[j, second] += by_second
            for k in range(rows):
                sums[j, k] = moved[k]
                lacks[1 - j, k] = needs[k] - (moved[k] >= 1)
            if cost == 0:
                return True
    return False
