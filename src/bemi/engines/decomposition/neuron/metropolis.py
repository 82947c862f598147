"""What the Metropolis walks over the integer weights of one neuron share.

Both rate a point by ``sum_k exp((u - y_k) / tau)`` over its signed pre-activations y.  A step multiplies every term by
a number that depends on the column alone, so with these factors tabulated a step is rated by one dot product.

The compiled functions are inlined into the walks, which call them millions of times.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.jit import njit

PARTNERS = 8
"""Partners per column: a proposal changes one weight, or that of a column and of one of its partners."""

TERMS_STAY_EXACT = 64
"""Accepted steps after which the terms are computed anew: products of rounded factors drift."""

fast_part = njit(fastmath=True, error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of a part of a walk whose floating-point sums may be reordered."""


@fast_part
def first_state(seed):
    """State of the random numbers (xorshift, 64 bits) for a seed; never 0."""
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
    return np.uint64(1) if state == np.uint64(0) else state


@fast_part
def next_state(state):
    """The next 64 random bits, which are also the state."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@fast_part
def below(bits, width, count):
    """A number from 0 to ``count - 1``, made of random bits."""
    return np.int64((bits * np.uint64(count)) >> np.uint64(width))


@fast_part
def uniform(state):
    """A number in (0, 1]."""
    return (np.float64(state >> np.uint64(12)) + 1.0) * 2.0**-52


@njit(cache=True, fastmath=True, error_model="numpy")
def soft_terms(y, u, tau, terms):
    """Set the terms ``exp((u - y_k) / tau)`` and return their sum."""
    total = np.float32(0)
    for k in range(y.shape[0]):
        terms[k] = math.exp(max(-60.0, min(30.0, (u - y[k]) / tau)))
        total += terms[k]
    return total


@fast_part
def copy_weights(source, target):
    """Copy in a loop: an assignment of arrays takes a second to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@fast_part
def smallest(values):
    """The smallest value, in a loop for the same reason."""
    found = values[0]
    for k in range(1, values.shape[0]):
        found = min(found, values[k])
    return found


@fast_part
def rated(terms, factors):
    """The sum of the terms after a step with these factors."""
    total = np.float32(0)
    for k in range(terms.shape[0]):
        total += terms[k] * factors[k]
    return total


@fast_part
def rated_pair(terms, factors, other):
    """The same for a step of two weights."""
    total = np.float32(0)
    for k in range(terms.shape[0]):
        total += terms[k] * factors[k] * other[k]
    return total


@fast_part
def take_step(y, terms, by, column, factors):
    """Change a weight ``by`` so much: update pre-activations and terms."""
    for k in range(terms.shape[0]):
        y[k] += by * column[k]
        terms[k] *= factors[k]


@fast_part
def take_pair(y, terms, by, column, factors, by_other, other_column, other_factors):
    """The same for two weights."""
    for k in range(terms.shape[0]):
        y[k] += by * column[k] + by_other * other_column[k]
        terms[k] *= factors[k] * other_factors[k]


def partner_columns(columns: Integers, count: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """For each column the partners whose sum or difference with it is shortest, with the relative sign."""
    n = len(columns)
    count = min(count, n - 1)
    if count <= 0:
        return np.zeros((n, 0), np.int32), np.zeros((n, 0), np.int8)
    c = columns.astype(np.float32)
    g = c @ c.T
    q = np.diag(g).copy()
    dist = q[None, :] - 2 * np.abs(g)
    np.fill_diagonal(dist, np.inf)
    idx = np.argpartition(dist, count - 1, axis=1)[:, :count]
    sign = np.where(np.take_along_axis(g, idx, 1) > 0, -1, 1)
    return idx.astype(np.int32), sign.astype(np.int8)
