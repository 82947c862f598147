"""The compiled part of :class:`bemi.products.Rows`: integers to floats and their extremes in one pass over memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.compiling.loops import njit


@njit(cache=True)
def fill_with(floats: NDArray[np.float32], integers: NDArray[np.int64]) -> tuple[np.int64, np.int64]:
    """Copy integers, shape (rows, columns), into an array of floats; returns the extremes of them and 0."""
    low = high = np.int64(0)
    for row in range(integers.shape[0]):
        for column in range(integers.shape[1]):
            value = integers[row, column]
            floats[row, column] = value
            low = min(low, value)
            high = max(high, value)
    return low, high
