"""The soft-margin objective: squared weights, and a penalty for rows whose margin is too small.

For one output with signs s_k, ``nu_k = isqrt(sum_i (x^k_i)^2)``, a price C and a resolution t,

    f(w) = 1/2 sum_i w_i^2 + C t sum_k max(0, t - s_k w.x^k / nu_k),   w integer in {-P..P},

is the linear support vector machine on the normalised rows ``x^k / nu_k``, stretched so that its weights fill the range
of few-bit integers: with ``w = t v`` it is ``t^2`` times ``1/2 |v|^2 + C sum_k max(0, 1 - s_k v.x^k / nu_k)``.  All
values are exact rationals.  Rows of zeros carry no information and are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bemi.products import Integers


@dataclass(frozen=True)
class SoftMargin:
    """What a soft-margin problem has beside its rows.

    Attributes
    ----------
    price
        Penalty C on margin violations.
    resolutions
        The resolution t of every output.
    hinges
        1, or 2 for two hinges per row: targets 0 and 2t at half the price each.
    max_links
        Maximum links of each output, not counting those of the problem's uncounted inputs; None for no limit.
    """

    price: Fraction
    resolutions: tuple[Fraction, ...]
    hinges: int = 1
    max_links: int | None = None


def row_norms(data: NDArray[np.integer]) -> list[int]:
    """``isqrt(sum_i x_i^2)`` of every row."""
    return [math.isqrt(int(square)) for square in (data.astype(object) ** 2).sum(axis=1)] if data.size else []


def normalised_rows(data: Integers, signs: Integers) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """``s_k x^k / nu_k`` in floating point for the non-zero rows, and their indices."""
    norms = np.array(row_norms(data), dtype=np.float64)
    nonzero = np.flatnonzero(norms)
    return np.ascontiguousarray(signs[nonzero, None] * data[nonzero] / norms[nonzero, None]), nonzero


def soft_value(data: Integers, codes: Integers, weights: Integers, soft: SoftMargin) -> Fraction:
    """The objective summed over the outputs, for weights of shape (inputs, outputs)."""
    sums = (data @ weights) * codes
    norms = row_norms(data)
    total = Fraction(int((weights**2).sum()), 2)
    for output, t in enumerate(soft.resolutions):
        missing = [t - Fraction(int(y), n) for y, n in zip(sums[:, output], norms, strict=True) if n and y < t * n]
        total += soft.price * t * sum(missing, Fraction(0))
    return total
