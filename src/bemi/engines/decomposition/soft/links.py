"""Min-Weight after soft margins: the fewest links whose objective stays under a ceiling.

    min |supp w|   subject to   f(w) <= V,   w integer in {-P..P},   f the soft-margin objective.

A price theta on the ceiling turns it into ``min |supp w| + theta (f(w) - V)``, which is a soft-margin problem with the
price ``psi(p) = [p != 0] / theta + p^2 / 2`` of a weight.  Its linear program has the slopes of psi's lower convex
envelope.  Any theta > 0 and any of its multipliers bound the links of every network under the ceiling,

    links >= theta (t sum_k nu_k mu_k - V) + sum_i min(0, 1 - theta max_{p in -P..P} (p g_i - p^2 / 2)),

summed over the outputs; the best theta is found by golden-section search.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from bemi.engines.decomposition.soft.margins import squared
from bemi.engines.decomposition.soft.program import (
    DENOMINATOR,
    Floats,
    Multipliers,
    SoftRows,
    descend,
    linear_program,
    most_integer,
    soft_rows,
)
from bemi.network import Network
from bemi.problem.keep import KeepObjective
from bemi.problem.problem import Problem
from bemi.products import Integers
from bemi.programs.limits import Deadline, Limits
from bemi.stages.result import Outcome, StageResult
from bemi.stages.stage import Stage

_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 9  # of the search for theta
_RANGE = (-2.0, 4.0)  # of log10 theta, in links per hundredth of the ceiling
_HALVINGS = 8  # of the price of links in the search for weights


def run(stage: Stage, problem: Problem, *, start: Network, keep: KeepObjective, limits: Limits) -> StageResult:
    """Fewest links with a soft-margin objective under a ceiling, which ``start`` satisfies."""
    clock, ceiling = limits.deadline(), keep.ceiling
    parts = [soft_rows(problem, output) for output in range(problem.codes.shape[1])]
    bound, proof, theta = _bound(parts, start.weights[0], ceiling, clock)
    network = _reduced(problem, parts, start, ceiling, theta, clock)
    optimal = network.links == bound
    return StageResult.of(
        *(stage.name, problem, network, network.links, bound),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if optimal else Outcome.LOCAL,
        message="" if optimal else "stopped after a search; the bound is that of its linear program",
        certificate=proof,
    )


def _bound(
    parts: list[SoftRows], near: Integers, ceiling: Fraction, deadline: Deadline
) -> tuple[int, dict | None, Fraction]:
    """The best bound found, its proof, and its theta."""
    best: tuple[int, dict | None, Fraction] = (0, None, Fraction(100) / max(Fraction(1), ceiling))
    known: dict[float, Fraction] = {}

    def proved(position: float) -> Fraction:
        nonlocal best
        if position not in known:
            unit = 100 / max(1.0, float(ceiling))
            theta = Fraction(max(1, round(10**position * unit * 2**20)), 2**20)
            total = -theta * ceiling
            lists = []
            for output, soft in enumerate(parts):
                multipliers = _multipliers(soft, near[:, output], float(theta))
                total += _part(soft, multipliers, theta)
                lists.append(multipliers)
            known[position] = total
            if math.ceil(total) > best[0]:
                proof = {
                    "theta": f"{theta.numerator:x}/{theta.denominator:x}",
                    "denominator": DENOMINATOR,
                    "outputs": [{"multipliers": multipliers} for multipliers in lists],
                }
                best = math.ceil(total), proof, theta
        return known[position]

    low, high = _RANGE
    for _ in range(_STEPS):
        if deadline.passed:
            break
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if proved(left) > proved(right):
            high = right
        else:
            low = left
    return best


def _multipliers(soft: SoftRows, near: Integers, theta: float) -> Multipliers:
    points, slopes = envelope(soft.weight_bound, theta)
    _, prices = linear_program(soft, points, slopes, near.astype(np.float64))
    return soft.multipliers(prices)


def envelope(weight_bound: int, theta: float) -> tuple[Floats, Floats]:
    """Breakpoints and slopes of the lower convex envelope of ``[p != 0] / theta + p^2 / 2`` over -P..P."""
    steps = np.arange(1, weight_bound + 1)
    rises = (1 / theta + steps**2 / 2) / steps
    tangent = int(steps[np.argmin(rises)])  # the envelope is straight from 0 to here
    beyond = np.arange(tangent, weight_bound)
    points = np.concatenate([[0], [tangent], beyond + 1]).astype(np.float64)
    slopes = np.concatenate([[rises[tangent - 1]], beyond + 0.5])
    return np.concatenate([-points[:0:-1], points]), np.concatenate([-slopes[::-1], slopes])


def _part(soft: SoftRows, multipliers: Multipliers, theta: Fraction) -> Fraction:
    """One output's share of the bound, exactly."""
    g, gain = soft.combination(multipliers)
    values, counts = np.unique(most_integer(g, soft.weight_bound), return_counts=True)
    total = theta * gain
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        total += count * min(Fraction(0), 1 - theta * Fraction(int(value), 2 * DENOMINATOR))
    return total


def _reduced(
    problem: Problem, parts: list[SoftRows], start: Network, ceiling: Fraction, theta: Fraction, deadline: Deadline
) -> Network:
    """Descend with a price on links, halved if the ceiling is exceeded; then remove links one by one."""
    best = start
    price = 2.0 / float(theta)
    for _ in range(_HALVINGS):
        if deadline.passed:
            break
        columns = []
        for output, soft in enumerate(parts):
            weights = start.weights[0][:, output].copy()
            psi = squared(soft.weight_bound) + price * (np.arange(-soft.weight_bound, soft.weight_bound + 1) != 0)
            descend(soft, weights, psi)
            columns.append(weights)
        network = Network((np.stack(columns, axis=1),), problem.weight_bound)
        if problem.soft_value(network) <= ceiling:
            network = _stripped(problem, parts, network, ceiling)
            if network.links < best.links:
                best = network
            price *= 1.4
        else:
            price /= 2
    return best if best.links < start.links else _stripped(problem, parts, start, ceiling)


def _stripped(problem: Problem, parts: list[SoftRows], network: Network, ceiling: Fraction) -> Network:
    """Remove links, the cheapest first, as long as the objective stays under the ceiling."""
    weights = network.weights[0].copy()
    costs = [
        (_loss(soft, weights[:, output], i), output, i)
        for output, soft in enumerate(parts)
        for i in np.flatnonzero(weights[:, output]).tolist()
    ]
    for _, output, i in sorted(costs):
        kept, weights[i, output] = weights[i, output], 0
        if problem.soft_value(Network((weights,), network.weight_bound)) > ceiling:
            weights[i, output] = kept
            break
    return Network((weights,), network.weight_bound)


def _loss(soft: SoftRows, weights: Integers, i: int) -> float:
    """How much the objective rises without weight i."""
    y = soft.rows @ weights
    t = float(soft.t)
    without = np.maximum(0, t - y + soft.rows[:, i] * weights[i]).sum() - np.maximum(0, t - y).sum()
    return float(soft.limit * without - weights[i] ** 2 / 2)
