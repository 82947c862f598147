"""The soft-margin objective: squared weights, and a penalty for rows whose margin is too small.

For one output with signs s_k, ``nu_k = isqrt(sum_i (x^k_i)^2)``, a price C, a resolution t and row weights omega_k,

    f(w) = 1/2 sum_i w_i^2 + C t sum_k omega_k max(0, t - s_k w.x^k / nu_k),   w integer in {-P..P},

is the linear support vector machine on the normalised rows ``x^k / nu_k``, stretched so that its weights fill the range
of few-bit integers: with ``w = t v`` it is ``t^2`` times ``1/2 |v|^2 + C sum_k omega_k max(0, 1 - s_k v.x^k / nu_k)``.
With two hinges per row the second part is

    C t / 2 sum_k omega_k ( max(0, t/2 - s_k w.x^k / nu_k) + max(0, 3t/2 - s_k w.x^k / nu_k) ),

which follows the logistic loss more closely and is still piecewise linear: of rows of which a share p has the sign +1,
the best margin is t/2 for p between 1/2 and 2/3, and 3t/2 above.  A hinge at 0 would instead leave every margin with p
between 1/3 and 2/3 at 0, where the sign says nothing.  All values are exact rationals.  Rows of zeros carry no
information and are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.checks import check_choice, check_integer
from bemi.exact import Integers, exact_product, in_pieces

ROW_WEIGHT_UNIT = 2**16
"""Denominator of row weights."""

LARGEST_ROW_WEIGHT = 2**31
"""Largest weight of a row."""

HINGE_TARGETS = {1: (Fraction(1),), 2: (Fraction(1, 2), Fraction(3, 2))}
"""Targets of a row's hinges as multiples of t, by the number of hinges."""

_EXACT = 2**62
"""Sums below this fit into 64 bits."""


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
        1, or 2 for two hinges per row: targets t/2 and 3t/2 at half the price each.
    max_links
        Maximum links of each output, not counting those of the problem's uncounted inputs; None for no limit.
    """

    price: Fraction
    resolutions: tuple[Fraction, ...]
    hinges: int = 1
    max_links: int | None = None

    def __post_init__(self) -> None:
        check_soft_parameters(self.hinges, self.max_links)
        if self.price <= 0 or any(t <= 0 for t in self.resolutions):
            raise ValueError("the price and the resolutions of soft margins must be positive")


class Hinge(NamedTuple):
    """A penalty of ``price * max(0, target - s w.x / nu)``."""

    target: Fraction
    price: Fraction


def check_soft_parameters(hinges: object, max_links: object) -> None:
    """Raise ValueError unless these are a number of hinges and a limit on links."""
    check_choice("hinges", int(hinges) if isinstance(hinges, np.integer) else hinges, tuple(HINGE_TARGETS))
    check_integer("max_links", max_links, 1, optional=True)


def row_hinges(soft: SoftMargin, output: int) -> tuple[Hinge, ...]:
    """The hinges of a row of weight 1."""
    t = soft.resolutions[output]
    return tuple(Hinge(share * t, soft.price * t / soft.hinges) for share in HINGE_TARGETS[soft.hinges])


def row_norms(data: NDArray[np.integer]) -> Integers:
    """``isqrt(sum_i x_i^2)`` of every row."""
    largest = max(abs(int(data.min(initial=0))), abs(int(data.max(initial=0))))
    if largest**2 * data.shape[1] >= _EXACT:
        return np.array([math.isqrt(sum(value**2 for value in row)) for row in data.tolist()], dtype=np.int64)
    parts = (part.astype(np.int64, copy=False) for part in in_pieces(data))
    squares = np.concatenate([np.einsum("ki,ki->k", part, part) for part in parts])
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    # Rounding may leave the root one off.
    roots -= roots**2 > squares
    return roots + ((roots + 1) ** 2 <= squares)


def row_factors(signs: Integers, norms: Integers) -> NDArray[np.float64]:
    """``s_k / nu_k`` of every row, by which it is multiplied in the objective; 0 for rows of zeros."""
    return np.divide(signs, norms, out=np.zeros(len(norms)), where=norms > 0)


def soft_value(
    data: Integers, codes: Integers, weights: Integers, soft: SoftMargin, row_weights: Integers | None = None
) -> Fraction:
    """The objective summed over the outputs, for weights of shape (inputs, outputs)."""
    sums = exact_product(data, weights) * codes
    norms = row_norms(data)
    total = Fraction(int((weights**2).sum()), 2)
    for output in range(len(soft.resolutions)):
        for target, price in row_hinges(soft, output):
            total += price * missing_margin(sums[:, output], norms, target, row_weights)
    return total


def missing_margin(sums: Integers, norms: Integers, target: Fraction, row_weights: Integers | None = None) -> Fraction:
    """``sum_k omega_k max(0, target - y_k / nu_k)`` over the rows with nu_k > 0, for sums ``y_k = s_k w.x^k``.

    The numerators of rows with equal norms are added up in integers, so there are only as many fractions as norms.
    """
    omega = np.full(len(norms), ROW_WEIGHT_UNIT) if row_weights is None else row_weights
    missing = lacking(sums, norms, target)
    if int(omega.max(initial=0)) * int(missing.max(initial=0)) * len(norms) >= _EXACT:
        missing, omega = missing.astype(object), omega.astype(object)
    distinct, group = np.unique(norms, return_inverse=True)
    numerators: NDArray = np.zeros(len(distinct), dtype=missing.dtype)
    np.add.at(numerators, group.reshape(-1), omega * missing)
    parts = [(int(n), norm) for n, norm in zip(numerators, distinct.tolist(), strict=True) if n and norm]
    common = math.lcm(*(norm for _, norm in parts))
    whole = sum(n * (common // norm) for n, norm in parts)
    return Fraction(whole, common * target.denominator * ROW_WEIGHT_UNIT)


def lacking(sums: Integers, norms: Integers, target: Fraction) -> NDArray:
    """By how much each row misses a target ``a / b``, ``max(0, a nu_k - b y_k)``: in units of ``1 / (b nu_k)``."""
    a, b = target.numerator, target.denominator
    largest = abs(a) * int(norms.max(initial=0)) + b * int(np.abs(sums).max(initial=0))
    kind: type = np.int64 if largest < _EXACT else object
    return np.maximum(0, a * norms.astype(kind) - b * sums.astype(kind)) * (norms > 0)
