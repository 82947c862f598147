"""Choose training rows if there are too many for the solver: the medoids of each class.

k-medoids picks k rows that minimise the sum of the distances from all rows to the nearest picked one.  A medoid is a
row, not a mean, so integers stay integers and images stay images.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_integer
from bemi.jit import njit

Floats = NDArray[np.float64]


def select_rows(X: ArrayLike, y: ArrayLike, per_class: int) -> NDArray[np.intp]:
    """Indices of at most ``per_class`` rows of each class, in the order of ``X``.

    A class with no more rows than that keeps all of them; a larger one is represented by its medoids, see
    :func:`k_medoids`.
    """
    X, y = np.asarray(X), np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"y must have one label per row ({len(X)}), it has {len(y)}")
    check_integer("per_class", per_class, 1)
    chosen = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        chosen.append(rows if len(rows) <= per_class else rows[k_medoids(X[rows], per_class)])
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.intp)


def k_medoids(X: ArrayLike, k: int) -> NDArray[np.intp]:
    """Sorted indices of k rows with a small total Euclidean distance from all rows to the nearest of them.

    Medoids are first added one by one, each where it lowers the sum most, and then swapped for other rows as long as
    that lowers the sum.  The result is a local optimum: no single swap improves it.  Nothing is random.  Time and
    memory grow with the square of the number of rows.
    """
    # Imported here because loading numba takes a while, and few programs select rows.
    from bemi.augment.medoids import build, swap

    X = np.asarray(X, dtype=np.float64)
    check_integer("k", k, 1)
    if k > len(X):
        raise ValueError(f"k is {k}, but there are only {len(X)} rows")
    distances = _distances(X)
    medoids = build(distances, k)
    swap(distances, medoids)
    return np.sort(medoids)


def _distances(X: Floats) -> Floats:
    squares = (X**2).sum(axis=1)
    found = squares[:, None] + squares - 2 * (X @ X.T)
    np.fill_diagonal(found, 0.0)
    return np.sqrt(np.maximum(found, 0.0))


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
