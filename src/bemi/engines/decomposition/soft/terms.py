"""One output under soft margins: its rows, hinges and ranges of weights, and what multipliers prove about it exactly.

    min  1/2 sum_i w_i^2 + sum_k c_k sum_h max(0, T_h - a_k.w),   a_k = s_k x^k / nu_k,   low <= w <= high integer,

where at most ``max_links`` of the counted weights are not zero.  A hinge h of a row k is a *term*.  Any multipliers
with ``0 <= nu_k mu_kh <= c_k`` prove, for all weights in a box,

    f(w) >= sum_kh T_h nu_k mu_kh - sum_i max_{p in l_i..u_i} (p g_i - p^2 / 2),   g = sum_kh mu_kh s_k x^k;

with a limit on links only the largest of the maxima count, see :meth:`SoftRows.proved`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers, exact_product, in_pieces
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import ROW_WEIGHT_UNIT, row_factors, row_hinges, row_norms

Floats = NDArray[np.float64]
Multipliers = list[list[int]]
"""Pairs of term and numerator over :data:`DENOMINATOR`; term ``hinge * rows + row``."""

DENOMINATOR = 2**32
"""Common denominator of the multipliers on the rows ``x^k`` themselves."""

_EXACT = 2**62  # sums below this fit into 64 bits
_ENTRIES_AT_A_TIME = 2**18  # that are converted


@dataclass(frozen=True, eq=False)
class SoftRows:
    """The terms of one output: in floating point for the search, exact for the proof.

    Attributes
    ----------
    data, signs, norms
        All rows as integers of any type, their signs s_k, and nu_k.
    factors
        ``s_k / nu_k``: times the rows they are the a_k.  0 for rows of zeros, which have no limits either.
    targets
        T_h of every hinge.
    limits, tops
        c_k in floating point, and the largest numerators of the rows' multipliers.
    low, high
        Range of each weight.
    counted, max_links
        Which weights count towards the limit on links, and the limit.
    """

    data: Integers
    signs: Integers
    norms: Integers
    factors: Floats
    targets: tuple[Fraction, ...]
    limits: Floats
    tops: Integers
    low: Integers
    high: Integers
    counted: NDArray[np.bool_]
    max_links: int | None

    @property
    def heights(self) -> Floats:
        """The targets in floating point."""
        return np.array([float(target) for target in self.targets])

    def sums(self, weights: NDArray) -> Floats:
        """``a_k.w`` of all rows, in single precision."""
        single = weights.astype(np.float32)
        return self.factors * np.concatenate([part.astype(np.float32) @ single for part in in_pieces(self.data)])

    def precise(self, places: NDArray[np.integer]) -> Floats:
        """``a_k`` of some rows, in double precision."""
        return self.data[places] * self.factors[places, None]

    def exact_sums(self, weights: Integers) -> Floats:
        """``a_k.w`` of all rows for integer weights."""
        return self.factors * exact_product(self.data, weights[:, None])[:, 0]

    def value(self, weights: Integers, sums: Floats | None = None) -> float:
        """The objective of integer weights in floating point; ``sums`` are those of the rows, if they are known."""
        y = self.exact_sums(weights) if sums is None else sums
        missing = sum(np.maximum(0.0, target - y) for target in self.heights)
        return float(self.limits @ missing + (weights**2).sum() / 2)

    def gains(self, prices: Floats) -> Floats:
        """``g`` of the proof in floating point: prices of the terms times their rows."""
        total = prices.sum(axis=0) * self.factors
        used = np.flatnonzero(total)
        return self._combined(used, total[used], np.float64)

    def _combined(self, used: NDArray[np.intp], multiples: NDArray, kind: type) -> NDArray:
        """The sum of multiples of some rows, in numbers of that kind; some at a time, since rows may be many."""
        step = max(1, _ENTRIES_AT_A_TIME // max(1, self.data.shape[1]))
        g: NDArray = np.zeros(self.data.shape[1], dtype=kind)
        for start in range(0, len(used), step):
            g += multiples[start : start + step] @ self.data[used[start : start + step]].astype(kind)
        return g

    def numerators(self, prices: Floats) -> Integers:
        """Prices ``nu_k mu_kh`` of the terms, shape (hinges, rows), as integers within the limits."""
        found = np.maximum(0.0, prices) / np.maximum(1, self.norms) * DENOMINATOR
        return np.minimum(np.minimum(found, self.tops).astype(np.int64), self.tops)

    def multipliers(self, numerators: Integers) -> Multipliers:
        """The positive ones, as the certificate lists them."""
        terms = np.flatnonzero(numerators)
        return np.stack([terms, numerators.reshape(-1)[terms]], axis=1).tolist()

    def combination(self, numerators: Integers) -> tuple[Integers, Fraction]:
        """``g = sum_kh mu_kh s_k x^k`` times :data:`DENOMINATOR`, and ``sum_kh T_h nu_k mu_kh``."""
        total = numerators.sum(axis=0)
        used = np.flatnonzero(total)
        norms = self.norms[used]
        # |x_i| <= nu + 1, so no entry of g is larger than this sum, and four times P times it is still exact.
        largest = float(total[used] @ (norms + 1.0)) * 4 * max(1, int(np.abs([self.low, self.high]).max(initial=1)))
        kind: type = np.int64 if largest < _EXACT else object
        g = self._combined(used, (total[used] * self.signs[used]).astype(kind), kind)
        gains = [int(line[used].astype(kind) @ norms.astype(kind)) for line in numerators]
        gain = sum((t * units for t, units in zip(self.targets, gains, strict=True)), Fraction(0))
        return g, gain / DENOMINATOR

    def proved(self, numerators: Integers, low: Integers, high: Integers) -> Fraction | None:
        """The bound that multipliers prove over a box; None if the box forces more links than there may be.

        Weights whose range is without 0 are forced.  Of the other counted weights only the ``max_links - forced`` with
        the largest positive maxima count.
        """
        g, gain = self.combination(numerators)
        most = most_integer(g, low, high)
        if self.max_links is None:
            return gain - Fraction(int(most.sum()), 2 * DENOMINATOR)
        free = self.counted & (low <= 0) & (high >= 0)
        left = self.max_links - int((self.counted & ~free).sum())
        if left < 0:
            return None
        largest = np.sort(np.maximum(0, most[free]))[::-1][:left]
        return gain - Fraction(int(most[~free].sum()) + int(largest.sum()), 2 * DENOMINATOR)


def soft_rows(problem: Problem, output: int) -> SoftRows:
    """The terms of one output of a problem."""
    assert problem.soft is not None
    signs, norms = problem.codes[:, output], row_norms(problem.data)
    hinges = row_hinges(problem.soft, output)
    price = hinges[0].price
    weights = np.full(len(problem.data), ROW_WEIGHT_UNIT) if problem.row_weights is None else problem.row_weights
    weights = np.where(norms > 0, weights, 0)
    low, high = problem.weight_range()
    live = problem.data.any(axis=0)  # the other weights do not matter and are 0
    counted = np.zeros(problem.data.shape[1], dtype=bool)
    counted[problem.counted] = True
    return SoftRows(
        np.ascontiguousarray(problem.data),
        signs,
        norms,
        row_factors(signs, norms),
        tuple(hinge.target for hinge in hinges),
        float(price) * weights / ROW_WEIGHT_UNIT,
        _tops(price, weights, norms),
        np.where(live, low[:, output], 0),
        np.where(live, high[:, output], 0),
        counted,
        problem.soft.max_links,
    )


def most_integer(g: Integers, low: Integers, high: Integers) -> Integers:
    """``max_{p in l..u} (2 p g - p^2 D)`` for ``g`` over the denominator D: twice D times ``max_p (p g - p^2 / 2)``.

    A parabola in p, so the integer of the range nearest to ``g / D`` is best.
    """
    p = np.minimum(np.maximum((2 * g + DENOMINATOR) // (2 * DENOMINATOR), low), high)
    return p * (2 * g - p * DENOMINATOR)


def _tops(price: Fraction, weights: Integers, norms: Integers) -> Integers:
    """The largest numerators over :data:`DENOMINATOR` with ``nu_k mu_k <= c_k``, if they fit into 64 bits."""
    unit = price.denominator * ROW_WEIGHT_UNIT
    numerator = price.numerator * DENOMINATOR
    pairs, group = np.unique(np.stack([weights, np.maximum(1, norms)]), axis=1, return_inverse=True)
    tops = [min(numerator * weight // (unit * norm), _EXACT) for weight, norm in pairs.T.tolist()]
    return np.array(tops, dtype=np.int64)[group.reshape(-1)]
