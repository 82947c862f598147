"""The start of the soft-margin stage: the continuous SVM, and the resolution that fits it into few bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import HINGE_TARGETS, ROW_WEIGHT_UNIT, SoftMargin, row_factors, row_norms

Floats = NDArray[np.float64]

STEP = Fraction(1, 2**10)
"""Resolutions are multiples of this, so that they are short numbers, unless all rows have the same norm."""

_RANGES = np.linspace(1.0, 4.0, 121)
"""Resolutions to choose from, as multiples of the one at which the largest continuous weight becomes P."""

TARGETS = {hinges: tuple(map(float, sorted(shares, reverse=True))) for hinges, shares in HINGE_TARGETS.items()}
"""Targets of a row's margin in the continuous machine, by the number of hinges, the largest first."""

CLIPPED = 1.05
"""By how much a resolution may exceed the one that fits the largest weight, so that targets times nu are integers."""

_PRODUCTS = 4 * 10**8  # multiplications that the continuous machine may take
_SHARE = 4  # or so many times all entries, if these are more
_PASSES = 30  # over the rows, which it should be able to take with these; of more rows, it sees a part
_TOLERANCE = 1e-4
_SMALLEST = 1e-6
_DROPPED = 0.25  # share of the surplus inputs that are left out at a time


def choose_resolution(
    problem: Problem, price: float, hinges: int = 1, max_links: int | None = None
) -> tuple[SoftMargin, Network]:
    """The soft-margin objective for a problem, and the rounded continuous solution ``t v``.

    v is the continuous SVM of the output; with a limit on links, that on the inputs that are best to keep.
    """
    bound = problem.weight_bound
    resolutions, columns = [], []
    for output in range(problem.codes.shape[1]):
        v = continuous_svm(problem, output, float(price), hinges, max_links)
        # Contradictory rows give weights that are zero up to rounding; no resolution fits these.
        fits = np.abs(v).max(initial=0.0) > _SMALLEST
        t = _short(_least_squares(v, bound), problem.data, hinges) if fits else Fraction(bound)
        resolutions.append(t)
        columns.append(np.clip(np.rint(float(t) * v), -bound, bound).astype(np.int64))
    return (
        SoftMargin(Fraction(price), tuple(resolutions), hinges, max_links),
        Network((np.stack(columns, axis=1),), bound),
    )


def _least_squares(v: Floats, bound: int) -> float:
    """The resolution t with the least ``|v - Q(t v) / t|^2``, where Q rounds to integers in -P..P.

    A larger t rounds most weights more finely and clips the largest ones, as a quantizer does (Max 1960).
    """
    resolutions = _RANGES * (bound / np.abs(v).max())
    v = v[v != 0]
    scaled = resolutions[:, None] * v
    lost = (scaled - np.clip(np.rint(scaled), -bound, bound)) / resolutions[:, None]
    return float(resolutions[np.argmin((lost**2).sum(axis=1))])


def continuous_weights(
    rows: NDArray,
    limits: Floats,
    hinges: int = 1,
    *,
    factors: Floats | None = None,
    low: Floats | None = None,
    high: Floats | None = None,
    tolerance: float = _TOLERANCE,
) -> Floats:
    """Weights v of the continuous SVM ``min 1/2 |v|^2 + sum_k limit_k loss(a_k.v)`` without an intercept.

    The loss of a margin y is ``max(0, 1 - y)``, with two hinges ``(max(0, 1/2 - y) + max(0, 3/2 - y)) / 2``.

    Parameters
    ----------
    rows, factors
        ``a_k = factor_k rows_k``; None for factors of 1.
    limits
        Price of each row: C times the row's weight.
    hinges
        1 or 2.
    low, high
        Smallest and largest value of each weight; None for no limit.
    tolerance
        The machine stops once no row's margin changes by more than this in a pass.
    """
    # Imported here because Numba is slow to import.
    from bemi.engines.decomposition.soft.svm_kernel import solve

    inputs = rows.shape[1]
    low = np.full(inputs, -np.inf) if low is None else low
    high = np.full(inputs, np.inf) if high is None else high
    steps = max(_PASSES * len(rows), _PRODUCTS // max(1, inputs))
    factors = np.ones(len(rows)) if factors is None else factors
    begun = np.zeros(len(rows)), np.arange(len(rows)), np.array([len(rows), np.inf])
    weights, _ = solve(rows, factors, limits / hinges, np.array(TARGETS[hinges]), low, high, *begun, steps, tolerance)
    return weights


def continuous_svm(problem: Problem, output: int, price: float, hinges: int, max_links: int | None) -> Floats:
    """The continuous machine of an output, on a part of many rows; if links are limited, on the best inputs to keep."""
    chosen, counts = _part(problem, output)
    rows = np.ascontiguousarray(problem.data[chosen])
    factors, limits = row_factors(problem.codes[chosen, output], row_norms(rows)), price * counts
    signs = np.zeros(rows.shape[1]) if problem.signs is None else problem.signs[:, output]
    low, high = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
    weights = continuous_weights(rows, limits, hinges, factors=factors, low=low, high=high)
    if max_links is None:
        return weights
    counted = np.zeros(rows.shape[1], dtype=bool)
    counted[problem.counted] = True
    kept = np.arange(rows.shape[1])
    while (surplus := int(counted[kept].sum()) - max_links) > 0:
        # Inputs with the smallest weights go first; the others' weights then change.
        strength = np.where(counted[kept], np.abs(weights[kept]), np.inf)
        weakest = np.argsort(strength, kind="stable")[: math.ceil(_DROPPED * surplus)]
        kept = np.delete(kept, weakest)
        columns = np.ascontiguousarray(rows[:, kept])
        weights = np.zeros(rows.shape[1])
        weights[kept] = continuous_weights(columns, limits, hinges, factors=factors, low=low[kept], high=high[kept])
    return weights


def _part(problem: Problem, output: int) -> tuple[slice | NDArray[np.intp], Floats]:
    """Rows that the continuous machine can settle, equally many of either sign, and how much each counts."""
    weights = np.ones(len(problem.data)) if problem.row_weights is None else problem.row_weights / ROW_WEIGHT_UNIT
    most = max(_PRODUCTS, _SHARE * problem.data.size) // (_PASSES * max(1, problem.data.shape[1]))
    if len(weights) <= most:
        return slice(None), weights
    rng, counts, parts = np.random.default_rng(0), np.zeros(len(weights)), []
    for sign in (-1, 1):
        own = np.flatnonzero(problem.codes[:, output] == sign)
        part = np.sort(rng.permutation(own)[: most // 2])
        if len(part):
            counts[part] = weights[part] * (weights[own].sum() / weights[part].sum())
        parts.append(part)
    chosen = np.sort(np.concatenate(parts))
    return chosen, counts[chosen]


def _short(resolution: float, data: Integers, hinges: int) -> Fraction:
    """A short number near a resolution t.

    The margins of rows with the same norm nu are multiples of ``1 / nu``.  If all rows have it, as rows of bits do,
    integer weights reach a target exactly only if the target times nu is an integer; otherwise each row on the margin
    falls short or exceeds it, and no weights come close to the continuous optimum.
    """
    norms = set(row_norms(data).tolist()) - {0}
    if len(norms) == 1:
        (norm,) = norms
        apart = math.lcm(*(share.denominator for share in HINGE_TARGETS[hinges]))
        if (steps := math.floor(CLIPPED * resolution * norm / apart)) >= 1:
            return Fraction(apart * steps, norm)
    return max(1, round(resolution / float(STEP))) * STEP
