"""Exact products of integers: prepared rows and weights, multiplied in floating point wherever that is exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


PRE_ACTIVATION_LIMIT = 2**31
"""Pre-activations stay below this, so that Python, 32-bit devices and the solvers' doubles agree exactly."""


def too_large(largest: float) -> ValueError:
    """The error for values whose pre-activations would leave the exact range."""
    return ValueError(
        f"values are too large: pre-activations may reach {largest:.3g}, the exact range ends at "
        f"{PRE_ACTIVATION_LIMIT}; scale the data down or use input_scaling='per-feature'"
    )


class Rows:
    """Integer rows, prepared for exact products.

    Attributes
    ----------
    integers
        The rows, of any type.
    low, high
        Their smallest and largest value and 0, as floats.
    """

    EXACT = 2**24
    """Single precision holds all integers up to here."""

    def __init__(self, integers: Integers) -> None:
        self.integers = integers
        self.low, self.high = float(integers.min(initial=0)), float(integers.max(initial=0))
        exact = -self.EXACT < self.low <= self.high < self.EXACT
        self._floats: NDArray = integers.astype(np.float32 if exact else np.float64)

    def times(self, weights: Weights) -> NDArray:
        """The products, shape (rows, neurons): integers, of any dtype."""
        if self.integers.size == 0 or weights.integers.size == 0:
            return self.integers @ weights.integers
        # Two bounds on every partial sum: the first is fast, the second may be smaller.
        largest = max(self.high, -self.low) * weights.largest_sum
        if largest >= self.EXACT:
            # As floats: the magnitude of the smallest 64-bit integer does not fit its type.
            largest = min(largest, np.abs(self._floats).sum(axis=1, dtype=np.float64).max() * weights.largest)
        if largest >= PRE_ACTIVATION_LIMIT:
            raise too_large(largest)
        # Floating point is many times faster than integers.  No sum here can be invalid, yet linear algebra libraries
        # raise the processor's flag now and then by computing with uninitialised memory that is never read.
        with np.errstate(invalid="ignore"):
            if largest < self.EXACT:
                products = self._floats.astype(np.float32, copy=False) @ weights.single
                return products[:, : weights.integers.shape[1]]
            return self._floats.astype(np.float64, copy=False) @ weights.integers.astype(np.float64)


class Weights:
    """Integer weights, shape (inputs, neurons), prepared for exact products."""

    def __init__(self, integers: Integers) -> None:
        self.integers = integers
        self.single = integers.astype(np.float32)
        columns = integers.shape[1]
        if columns > 8:
            # Products are fastest if the number of columns is a multiple of eight.
            self.single = np.pad(self.single, ((0, 0), (0, -columns % 8)))
        sizes = np.abs(integers)
        self.largest, self.largest_sum = int(sizes.max(initial=0)), int(sizes.sum(axis=0).max(initial=0))


_ENTRIES_AT_A_TIME, _ROWS_AT_A_TIME = 2**18, 2**12
"""Numbers, and rows of which more is made, that are prepared at a time: rows may be many."""


def in_pieces(rows: NDArray) -> Iterator[NDArray]:
    """The rows of a matrix some at a time, in order; at least one piece."""
    step = max(1, _ENTRIES_AT_A_TIME * len(rows) // max(1, rows.size))
    return (rows[start : start + step] for start in range(0, max(1, len(rows)), step))


def shortest(values: NDArray) -> NDArray[np.integer]:
    """Integers in the shortest type that holds them; sums and negations need a longer one."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    kinds = (np.dtype(f"{sign}{size}") for size in (1, 2, 4, 8) for sign in "iu")
    return values.astype(next(k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max), copy=False)


def signed(values: NDArray[np.integer]) -> Integers:
    """Integers in the shortest type with a sign that holds all of their own, without a copy if that has one."""
    kind = np.promote_types(values.dtype, np.int8)
    return values.astype(kind if kind.kind == "i" else np.int64, copy=False)


def shortest_of_pieces(call: Callable[[NDArray], NDArray], rows: NDArray) -> NDArray[np.integer]:
    """What a function makes of rows, some at a time and in the shortest type that holds it: they may be many."""
    starts = range(0, max(1, len(rows)), _ROWS_AT_A_TIME)
    return joined((call(rows[start : start + _ROWS_AT_A_TIME]) for start in starts), len(rows))


def joined(parts: Iterable[NDArray], rows: int) -> NDArray[np.integer]:
    """Arrays of integers one after the other, so many rows in all, in the shortest type; one at a time is in memory."""
    made: NDArray[np.integer] = np.empty(0, dtype=np.int8)
    filled = 0
    for part in map(shortest, parts):
        if not filled:
            made = np.empty((rows, *part.shape[1:]), dtype=part.dtype)
        made = made.astype(np.promote_types(made.dtype, part.dtype), copy=False)
        made[filled : filled + len(part)] = part
        filled += len(part)
    if filled != rows:
        raise ValueError(f"expected {rows} rows, got {filled}")
    return made


def exact_product(inputs: NDArray, weights: Integers) -> Integers:
    """Matrix product of integers, the inputs in any type."""
    prepared = Weights(weights)
    parts = (Rows(part).times(prepared) for part in in_pieces(inputs))
    return np.concatenate([part.astype(np.int64) for part in parts])
