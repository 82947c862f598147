"""The soft-margin stage: every output is one neuron, solved by a linear program, rounding and exchanges.

The price of a weight is ``psi(p) = p^2 / 2``, so the slopes between integers are ``p + 1/2``.  Any multipliers with
``0 <= nu_k mu_k <= C t`` prove

    f(w) >= t sum_k nu_k mu_k - sum_i max_{p in -P..P} (p g_i - p^2 / 2),   g = sum_k mu_k s_k x^k,

over all integer weights, so those of the linear program are rounded and the bound is recomputed exactly.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

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
from bemi.problem.problem import Problem
from bemi.products import Integers
from bemi.programs.limits import Deadline, Limits
from bemi.stages.result import Outcome, StageResult
from bemi.stages.stage import Stage

KICKS = 100
"""Maximum kicks of the exchange search per output."""

_KICK = 3  # weights that a kick moves
_BOUND_STEP = 2**30  # bounds are rounded down to multiples of its inverse, so that they are short numbers


def run(stage: Stage, problem: Problem, *, start: Network, limits: Limits) -> StageResult:
    """Solve the soft-margin stage; ``start`` tells the linear program where to look."""
    assert problem.soft is not None
    clock = limits.deadline()
    kicks = KICKS if limits.nodes is None else min(KICKS, limits.nodes)
    outputs = range(problem.codes.shape[1])
    parts = [soft_rows(problem, output) for output in outputs]
    relaxed, proofs = [], []
    bound = Fraction(0)
    for output, soft in zip(outputs, parts, strict=True):
        weights, multipliers, proved = _relaxed(soft, start.weights[0][:, output])
        relaxed.append(weights)
        proofs.append(multipliers)
        bound += proved
    best = [_rounded(soft, weights) for soft, weights in zip(parts, relaxed, strict=True)]
    network = Network((np.stack(best, axis=1),), problem.weight_bound)
    value = problem.soft_value(network)
    if float(value - bound) > limits.gap * max(1.0, float(value)):
        for output in outputs:
            best[output] = _kicked(parts[output], best[output], relaxed[output], kicks, limits.seed, clock)
        network = Network((np.stack(best, axis=1),), problem.weight_bound)
        value = problem.soft_value(network)
    start_value = problem.soft_value(start)
    if start_value < value:
        network, value = start, start_value
    return StageResult.of(
        *(stage.name, problem, network, value, bound),
        clock=clock,
        proof="certified",
        outcome=Outcome.of(value, bound, limits.gap, Outcome.LOCAL),
        message="",
        certificate={"denominator": DENOMINATOR, "outputs": [{"multipliers": proof} for proof in proofs]},
        soft=problem.soft,
    )


def squared(weight_bound: int) -> Floats:
    """``p^2 / 2`` for p in -P..P."""
    return np.arange(-weight_bound, weight_bound + 1) ** 2 / 2.0


def _relaxed(soft: SoftRows, near: Integers) -> tuple[Floats, Multipliers, Fraction]:
    """The linear program's weights, its multipliers and the bound that these prove."""
    points = np.arange(-soft.weight_bound, soft.weight_bound + 1).astype(np.float64)
    weights, prices = linear_program(soft, points, points[:-1] + 0.5, near.astype(np.float64))
    multipliers = soft.multipliers(prices)
    g, gain = soft.combination(multipliers)
    exact = gain - Fraction(int(most_integer(g, soft.weight_bound).sum()), 2 * DENOMINATOR)
    rounded = Fraction(int(exact * _BOUND_STEP // 1), _BOUND_STEP)
    # Without multipliers the bound is 0.
    return weights, multipliers if rounded > 0 else [], max(Fraction(0), rounded)


def _rounded(soft: SoftRows, relaxed: Floats) -> Integers:
    weights = np.clip(np.rint(relaxed), -soft.weight_bound, soft.weight_bound).astype(np.int64)
    descend(soft, weights, squared(soft.weight_bound))
    return weights


def _kicked(soft: SoftRows, weights: Integers, relaxed: Floats, kicks: int, seed: int, deadline: Deadline) -> Integers:
    """Round some weights that are fractional in the linear program the other way, and descend again."""
    loose = np.flatnonzero(np.abs(relaxed - np.rint(relaxed)) > 1e-6)
    if not len(loose):
        return weights
    psi = squared(soft.weight_bound)
    best = weights.copy()
    lowest = descend(soft, best, psi)
    rng = np.random.default_rng(seed)
    for _ in range(kicks):
        if deadline.passed:
            break
        trial = best.copy()
        chosen = rng.choice(loose, min(_KICK, len(loose)), replace=False)
        up, down = np.ceil(relaxed[chosen]), np.floor(relaxed[chosen])
        trial[chosen] = np.where(trial[chosen] >= up, down, up).astype(np.int64)
        value = descend(soft, trial, psi)
        if value < lowest:
            best, lowest = trial, value
    return best
