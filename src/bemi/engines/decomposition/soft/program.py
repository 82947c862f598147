"""One output under soft margins with any convex price of its weights: a linear program, and a descent by exchanges.

    min  sum_i psi(w_i) + c sum_k max(0, t - a_k.w),   a_k = s_k x^k / nu_k

where psi, given at breakpoints, has increasing slopes.  A weight is its lowest breakpoint plus one segment per slope,
and because slopes increase the segments fill in order: the linear program is exact for each weight alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import highspy
import numpy as np
from numba import njit
from numpy.typing import NDArray

from bemi.problem.problem import Problem
from bemi.problem.soft_margin import normalised_rows, row_norms
from bemi.products import Integers

Floats = NDArray[np.float64]
Multipliers = list[list[int]]
"""Pairs of row and numerator over :data:`DENOMINATOR`."""

DENOMINATOR = 2**32
"""Common denominator of the multipliers on the rows ``x^k`` themselves."""

_ROUNDS = 8  # of widening the segments
_PARTNERS = 48  # moves that are tried in pairs


@dataclass(frozen=True, eq=False)
class SoftRows:
    """The rows of one output: normalised in floating point for the search, exact for the proof."""

    data: Integers
    signs: Integers
    norms: list[int]
    nonzero: NDArray[np.intp]  # rows that are not zero
    rows: Floats  # a_k of these rows
    weight_bound: int
    price: Fraction
    t: Fraction

    @property
    def limit(self) -> float:
        """Penalty on margin violations, C t."""
        return float(self.price * self.t)

    def multipliers(self, prices: Floats) -> Multipliers:
        """Prices of the non-zero rows as integers that satisfy ``nu_k mu_k <= C t`` exactly."""
        found = []
        for k, y in zip(self.nonzero.tolist(), prices.tolist(), strict=True):
            top = self.price * self.t * DENOMINATOR / self.norms[k]
            numerator = min(top.numerator // top.denominator, int(y / self.norms[k] * DENOMINATOR))
            if numerator > 0:
                found.append([k, numerator])
        return found

    def combination(self, multipliers: Multipliers) -> tuple[Integers, Fraction]:
        """``g = sum_k mu_k s_k x^k`` times :data:`DENOMINATOR`, and ``t sum_k nu_k mu_k``."""
        if not multipliers:
            return np.zeros(self.data.shape[1], dtype=np.int64), Fraction(0)
        rows, numerators = (list(part) for part in zip(*multipliers, strict=True))
        # |x_i| <= nu + 1, so no entry of g is larger than this sum.
        largest = sum(n * (self.norms[k] + 1) for k, n in multipliers)
        kind = np.int64 if 4 * self.weight_bound * largest < 2**62 else object
        g = (np.array(numerators, dtype=kind) * self.signs[rows].astype(kind)) @ self.data[rows].astype(kind)
        return g, self.t * Fraction(sum(n * self.norms[k] for k, n in multipliers), DENOMINATOR)


def soft_rows(problem: Problem, output: int) -> SoftRows:
    assert problem.soft is not None
    signs = problem.codes[:, output]
    rows, nonzero = normalised_rows(problem.data, signs)
    return SoftRows(
        problem.data,
        signs,
        row_norms(problem.data),
        nonzero,
        rows,
        problem.weight_bound,
        problem.soft.price,
        problem.soft.resolutions[output],
    )


def most_integer(g: Integers, weight_bound: int) -> Integers:
    """``max_{p in -P..P} (2 p g - p^2 D)`` for ``g`` over the denominator D: twice D times ``max_p (p g - p^2/2)``."""
    p = np.minimum((2 * np.abs(g) + DENOMINATOR) // (2 * DENOMINATOR), weight_bound)  # the nearest to |g| / D
    return p * (2 * np.abs(g) - p * DENOMINATOR)


def linear_program(soft: SoftRows, breakpoints: Floats, slopes: Floats, near: Floats) -> tuple[Floats, Floats]:
    """Weights and row prices of the linear program; segments become columns only where needed.

    The first segments are those around ``near``.
    """
    rows = soft.rows
    last = len(slopes)
    low = np.clip(np.searchsorted(breakpoints, near, side="left") - 1, 0, last - 1)
    high = np.clip(np.searchsorted(breakpoints, near, side="right"), 1, last)
    live = np.flatnonzero(np.abs(rows).any(axis=0))
    weights, prices = np.zeros(rows.shape[1]), np.zeros(len(rows))
    lengths = np.diff(breakpoints)
    for _ in range(_ROUNDS):
        steps = (high - low)[live]
        owner = np.repeat(live, steps)
        segment = np.repeat(low[live], steps) + np.arange(len(owner)) - np.repeat(np.cumsum(steps) - steps, steps)
        base = breakpoints[low[live]]
        need = float(soft.t) - rows[:, live] @ base
        solution = _solved(rows[:, owner], slopes[segment], lengths[segment], soft.limit, need)
        if solution is None:
            break
        filled, prices = solution
        weights = np.zeros(rows.shape[1])
        weights[live] = base
        np.add.at(weights, owner, filled)
        # If the prices call for a breakpoint outside the segments, more segments are needed.
        wanted = np.searchsorted(slopes, prices @ rows)
        outside = ((wanted < low) | (wanted > high))[live]
        if not outside.any():
            break
        low, high = np.minimum(low, wanted), np.maximum(high, np.maximum(wanted, 1))
        low = np.minimum(low, last - 1)
    return weights, prices


def _solved(table: Floats, cost: Floats, lengths: Floats, limit: float, need: Floats) -> tuple[Floats, Floats] | None:
    count, segments = table.shape
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("presolve", "off")
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = segments + count, count
    lp.col_cost_ = np.concatenate([cost, np.full(count, limit)])
    lp.col_lower_ = np.zeros(segments + count)
    lp.col_upper_ = np.concatenate([lengths, np.full(count, np.inf)])
    lp.row_lower_, lp.row_upper_ = need, np.full(count, np.inf)
    whole = np.hstack([table, np.eye(count)])
    where, columns = np.nonzero(whole)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(where, np.arange(count + 1)).astype(np.int32)
    lp.a_matrix_.index_ = columns.astype(np.int32)
    lp.a_matrix_.value_ = whole[where, columns]
    highs.passModel(lp)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = highs.getSolution()
    return np.array(solution.col_value)[:segments], np.maximum(0.0, np.array(solution.row_dual))


def descend(soft: SoftRows, weights: Integers, price_of_weight: Floats) -> float:
    """Improve integer weights in place by moves of one weight and of two; returns the objective.

    ``price_of_weight[p + P]`` is psi(p), which need not be convex here.
    """
    columns = np.ascontiguousarray(soft.rows.T)
    return _descend(columns, weights, price_of_weight, soft.weight_bound, soft.limit, float(soft.t), _PARTNERS)


@njit(cache=True)
def _hinge(y, t):
    total = 0.0
    for k in range(len(y)):
        if y[k] < t:
            total += t - y[k]
    return total


@njit(cache=True)
def _descend(columns, w, psi, bound, limit, t, partners):
    # A move m of weight m // 3: one up, one down, or to zero.
    n, count = columns.shape
    y = np.zeros(count)
    price = 0.0
    for i in range(n):
        price += psi[w[i] + bound]
        if w[i] != 0:
            y += w[i] * columns[i]
    slack = _hinge(y, t)
    changes = np.empty(3 * n)
    target = np.empty(3 * n, dtype=np.int64)
    while True:
        best, move, second = -1e-9, -1, -1
        for m in range(3 * n):
            i = m // 3
            target[m] = w[i] + 1 - 2 * (m % 3) if m % 3 < 2 else 0
            changes[m] = np.inf
            if abs(target[m]) > bound or (m % 3 == 2 and abs(w[i]) < 2):
                continue
            d = target[m] - w[i]
            total = 0.0
            for k in range(count):
                left = t - y[k] - d * columns[i, k]
                if left > 0.0:
                    total += left
            changes[m] = psi[target[m] + bound] - psi[w[i] + bound] + limit * (total - slack)
            if changes[m] < best:
                best, move = changes[m], m
        if move < 0:
            order = np.argsort(changes)[:partners]
            for a in range(len(order)):
                first = order[a]
                i = first // 3
                if changes[first] == np.inf:
                    break
                d = target[first] - w[i]
                for b in range(a):
                    other = order[b]
                    j = other // 3
                    if i == j:
                        continue
                    e = target[other] - w[j]
                    total = 0.0
                    for k in range(count):
                        left = t - y[k] - d * columns[i, k] - e * columns[j, k]
                        if left > 0.0:
                            total += left
                    change = psi[target[first] + bound] - psi[w[i] + bound] + psi[target[other] + bound]
                    change += limit * (total - slack) - psi[w[j] + bound]
                    if change < best:
                        best, move, second = change, first, other
        if move < 0:
            return price + limit * slack
        for m in (move, second):
            if m >= 0:
                i = m // 3
                price += psi[target[m] + bound] - psi[w[i] + bound]
                y += (target[m] - w[i]) * columns[i]
                w[i] = target[m]
        slack = _hinge(y, t)
