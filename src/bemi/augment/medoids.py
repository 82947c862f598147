"""Choose training rows if there are too many for the solver: the medoids of each class.

k-medoids picks k rows that minimise the sum of the distances from all rows to the nearest picked one.  A medoid is a
row, not a mean, so integers stay integers and images stay images.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_integer

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
    from bemi.augment.medoids_kernel import build, swap

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
