"""The compiled part of :mod:`bemi.augment.medoids`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.jit import njit

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@njit(cache=True)
def build(distances: Floats, k: int) -> Places:
    """Choose medoids greedily: each is the row that lowers the sum most, the first one in a tie."""
    rows = len(distances)
    nearest = np.full(rows, np.inf)
    taken = np.zeros(rows, dtype=np.bool_)
    medoids = np.empty(k, dtype=np.int64)
    for place in range(k):
        best, least = -1, np.inf
        for candidate in range(rows):
            if taken[candidate]:
                continue
            total = 0.0
            for row in range(rows):
                total += min(nearest[row], distances[candidate, row])
            if total < least:
                best, least = candidate, total
        medoids[place] = best
        taken[best] = True
        nearest = np.minimum(nearest, distances[best])
    return medoids


@njit(cache=True)
def swap(distances: Floats, medoids: Places) -> None:
    """Swap medoids for other rows, in place, as long as the sum falls: FasterPAM by Schubert and Rousseeuw (2021).

    If a row becomes a medoid in place of medoid i, each row moves to it if that is nearer than its own medoid, or, if i
    was its own, to the nearer of the new one and its second.  One pass over the rows gives the change for all i.
    """
    rows = len(distances)
    is_medoid = np.zeros(rows, dtype=np.bool_)
    is_medoid[medoids] = True
    own, first, second, loss = _nearest(distances, medoids)
    # Without a tolerance, changes due to rounding could repeat forever.
    tolerance = 1e-9 * (1.0 + first.sum())
    unchanged, candidate = 0, 0
    while unchanged < rows:
        if not is_medoid[candidate]:
            change = loss.copy()
            shared = 0.0
            for row in range(rows):
                d = distances[candidate, row]
                if d < first[row]:
                    shared += d - first[row]
                    change[own[row]] += first[row] - second[row]
                elif d < second[row]:
                    change[own[row]] += d - second[row]
            place = int(np.argmin(change))
            if change[place] + shared < -tolerance:
                is_medoid[medoids[place]] = False
                is_medoid[candidate] = True
                medoids[place] = candidate
                own, first, second, loss = _nearest(distances, medoids)
                unchanged = 0
                candidate = (candidate + 1) % rows
                continue
        unchanged += 1
        candidate = (candidate + 1) % rows


@njit(cache=True)
def _nearest(distances: Floats, medoids: Places) -> tuple[Places, Floats, Floats, Floats]:
    """For each row, the index of its medoid and the distances to it and to the second; for each medoid, the cost of
    removing it."""
    rows, k = len(distances), len(medoids)
    own = np.zeros(rows, dtype=np.int64)
    first = np.full(rows, np.inf)
    second = np.full(rows, np.inf)
    for place in range(k):
        for row in range(rows):
            d = distances[medoids[place], row]
            if d < first[row]:
                own[row], second[row], first[row] = place, first[row], d
            elif d < second[row]:
                second[row] = d
    if k == 1:
        # There is no second medoid: a large distance, so that a lone medoid is swapped but never dropped.
        second[:] = 1.0 + 2.0 * distances.max()
    loss = np.zeros(k)
    for row in range(rows):
        loss[own[row]] += second[row] - first[row]
    return own, first, second, loss
