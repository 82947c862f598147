"""The compiled part of :mod:`bemi.engines.decomposition.soft.resolution`: the continuous support vector machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.jit import njit

Floats = NDArray[np.float64]


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def solve(
    rows: NDArray,
    factors: Floats,
    limits: Floats,
    targets: Floats,
    low: Floats,
    high: Floats,
    a: Floats,
    order: NDArray[np.int64],
    shrunk: Floats,
    steps: int,
    tolerance: float,
) -> tuple[Floats, float]:
    """Dual coordinate descent for ``min 1/2 |w|^2 + sum_k limit_k sum_h max(0, target_h - a_k.w)``, low <= w <= high.

    ``a_k = factor_k rows_k``: rows may be integers of any type, so that many of them take little memory.

    ``targets`` decrease.  ``a[k]`` in ``0..len(targets) * limit_k`` is the sum of row k's multipliers; that of a larger
    target is filled first, because it gains more.  It is changed in place.  With ``g`` their sum over the rows, the
    weights are g clipped to the box, so only g is kept and memory is linear in the rows.  Rows whose multiplier is at a
    corner and should stay there are left out until the others have settled.  One step visits one row; the order is
    random and always the same.  Returns the weights and the last pass's largest change of a row's product.

    ``order`` lists the rows, those left out last; ``shrunk`` is how many are not left out, and the largest change in
    the pass before.  Both are changed in place, so that another call goes on where this one stopped: begin with all
    rows in order, their number and infinity.
    """
    count, inputs = rows.shape
    g = np.zeros(inputs)
    squares = np.zeros(count)
    for k in range(count):
        for i in range(inputs):
            entry = factors[k] * rows[k, i]
            squares[k] += entry * entry
            g[i] += a[k] * entry
    w = np.minimum(np.maximum(g, low), high)
    state = np.uint32(2463534242)
    left, settled, worst = int(shrunk[0]), shrunk[1], np.inf
    while steps > 0:
        worst = 0.0
        place = 0
        while place < left:
            state ^= state << np.uint32(13)
            state ^= state >> np.uint32(17)
            state ^= state << np.uint32(5)
            other = place + np.int64(state) % (left - place)
            k = order[other]
            order[other] = order[place]
            order[place] = k
            steps -= 1
            if squares[k] == 0.0:  # without its other inputs a row may be zero
                place += 1
                continue
            y = 0.0
            for i in range(inputs):
                y += rows[k, i] * w[i]
            y *= factors[k]
            # The first multiplier, larger targets first, that is not full.
            before, after, slack = a[k], 0.0, np.inf
            for h in range(len(targets)):
                after = before + (targets[h] - y) / squares[k]
                if after <= h * limits[k]:
                    after = h * limits[k]
                    break
                if after < (h + 1) * limits[k]:
                    break
                after = (h + 1) * limits[k]
            change = after - before
            if change == 0.0:
                for h in range(len(targets)):
                    slack = min(slack, abs(y - targets[h]))
                if slack > settled:
                    left -= 1
                    order[place] = order[left]
                    order[left] = k
                    continue
            else:
                a[k] = after
                worst = max(worst, abs(change) * squares[k])
                change *= factors[k]
                for i in range(inputs):
                    g[i] += change * rows[k, i]
                    w[i] = min(max(g[i], low[i]), high[i])
            place += 1
        if worst <= tolerance:
            if left == count:
                break
            left, settled, worst = count, np.inf, np.inf
        else:
            settled = worst
    shrunk[0], shrunk[1] = left, settled
    return w, worst
