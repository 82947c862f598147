"""The compiled part of :mod:`bemi.stages.resolution`: the continuous support vector machine."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(cache=True)
def multipliers(gram: Floats, price: float, sweeps: int, tolerance: float) -> Floats:
    """Dual of the continuous SVM by coordinate descent: ``min 1/2 a.G a - sum a``, ``0 <= a <= C``."""
    rows = len(gram)
    a = np.zeros(rows)
    gradient = np.full(rows, -1.0)
    for _ in range(sweeps):
        largest = 0.0
        for k in range(rows):
            before = a[k]
            after = min(price, max(0.0, before - gradient[k] / gram[k, k]))
            if after != before:
                a[k] = after
                gradient += (after - before) * gram[k]
                largest = max(largest, abs(after - before))
        if largest <= tolerance:
            break
    return a
