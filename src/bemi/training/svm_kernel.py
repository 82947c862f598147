"""The compiled part of :mod:`bemi.training.choice`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.jit import njit

Floats = NDArray[np.float64]


@njit(cache=True)
def solve(gram: Floats, limits: Floats, targets: Floats, a: Floats, sweeps: int, tolerance: float) -> None:
    """Dual of the continuous SVM by coordinate descent, from products of signed rows; changes ``a`` in place.

    Maximises ``sum_k gain_k(a_k) - 1/2 a.G a`` over ``0 <= a_k <= limit_k``, where a row's multiplier gains its largest
    target first: with the H targets ``1 = T_1 > ... > T_H`` each has a share ``limit_k / H`` of the price.
    """
    rows, parts = len(gram), len(targets)
    y = gram @ a
    for _ in range(sweeps):
        worst = 0.0
        for k in range(rows):
            before = a[k]
            after = 0.0
            for h in range(parts):
                after = before + (targets[h] - y[k]) / gram[k, k]
                low, high = h * limits[k] / parts, (h + 1) * limits[k] / parts
                if after <= low:
                    after = low
                    break
                if after < high:
                    break
                after = high
            if after != before:
                a[k] = after
                for j in range(rows):
                    y[j] += (after - before) * gram[k, j]
                worst = max(worst, abs(after - before) * gram[k, k])
        if worst <= tolerance:
            break
