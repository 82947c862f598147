"""Min-Weight after soft margins: the fewest links whose objective stays under a ceiling.

    min |supp w|   subject to   f(w) <= V,   w integer in low..high,   f the soft-margin objective.

A price theta on the ceiling turns it into ``min |supp w| + theta (f(w) - V)``, which is a soft-margin problem with the
price ``psi(p) = [p != 0] / theta + p^2 / 2`` of a weight.  Any theta > 0 and any multipliers of its linear program
bound the links of every network under the ceiling,

    links >= theta (sum_kh T_h nu_k mu_kh - V) + sum_i min(0, 1 - theta max_{p in l_i..u_i} (p g_i - p^2 / 2)),

summed over the outputs; the best theta is found by golden-section search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from bemi.engines.decomposition.soft.program import linear_program
from bemi.engines.decomposition.soft.search import Search
from bemi.engines.decomposition.soft.terms import DENOMINATOR, SoftRows, most_integer, soft_rows
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import KeepObjective, Problem
from bemi.stages.result import Outcome

_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 9  # of the search for theta
_RANGE = (-2.0, 4.0)  # of log10 theta, in links per hundredth of the ceiling
_HALVINGS = 8  # of the price of links in the search for weights


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: fewest links with a soft-margin objective under the ceiling, and the bound of multipliers."""
    clock, start, keep = limits.deadline(), state.network, state.keep
    assert isinstance(keep, KeepObjective)
    if start is None:
        return Finding(outcome=Outcome.NO_START, message="the network to start from is above the ceiling")
    parts = [
        Search.of(soft_rows(problem, output), start.weights[0][:, output]) for output in range(problem.codes.shape[1])
    ]
    bound, proof, theta = _bound(parts, start.weights[0], keep.ceiling, clock)
    network = _reduced(problem, parts, start, keep.ceiling, theta, clock)
    message = "stopped after a search; the bound is that of its linear program"
    return Finding(network, bound=bound, proof=proof, outcome=Outcome.LOCAL, message=message)


def _bound(
    parts: list[Search], near: Integers, ceiling: Fraction, deadline: Deadline
) -> tuple[int, dict | None, Fraction]:
    """The best bound found, its proof, and its theta."""
    best: tuple[int, dict | None, Fraction] = (0, None, Fraction(100) / max(Fraction(1), ceiling))
    known: dict[float, Fraction] = {}

    def proved(position: float) -> Fraction:
        nonlocal best
        if position not in known:
            unit = 100 / max(1.0, float(ceiling))
            theta = Fraction(max(1, round(10**position * unit * 2**20)), 2**20)
            found = [_multipliers(part.soft, near[:, j], float(theta), deadline) for j, part in enumerate(parts)]
            total = sum(
                (_part(part.soft, numerators, theta) for part, numerators in zip(parts, found, strict=True)),
                -theta * ceiling,
            )
            known[position] = total
            if math.ceil(total) > best[0]:
                proof = {
                    "kind": "links-under-ceiling",
                    "theta": f"{theta.numerator:x}/{theta.denominator:x}",
                    "denominator": DENOMINATOR,
                    "outputs": [
                        {"multipliers": part.soft.multipliers(numerators)}
                        for part, numerators in zip(parts, found, strict=True)
                    ],
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


def _multipliers(soft: SoftRows, near: Integers, theta: float, deadline: Deadline) -> Integers:
    """Multipliers of the linear program with a price of ``1 / theta`` per link, without a limit on links."""
    short = soft.heights[:, None] > soft.sums(near)
    prices = np.where(short, soft.limits, 0.0)
    program = linear_program(replace(soft, max_links=None), near, near.astype(np.float64), prices, 1 / theta)
    return soft.numerators(program.solve(soft.low, soft.high, deadline).prices)


def _part(soft: SoftRows, numerators: Integers, theta: Fraction) -> Fraction:
    """One output's share of the bound, exactly."""
    g, gain = soft.combination(numerators)
    values, counts = np.unique(most_integer(g, soft.low, soft.high), return_counts=True)
    total = theta * gain
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        total += count * min(Fraction(0), 1 - theta * Fraction(int(value), 2 * DENOMINATOR))
    return total


def _reduced(
    problem: Problem, parts: list[Search], start: Network, ceiling: Fraction, theta: Fraction, deadline: Deadline
) -> Network:
    """Descend with a price on links, halved if the ceiling is exceeded; then remove links one by one."""
    best = start
    price = 2.0 / float(theta)
    for _ in range(_HALVINGS):
        if deadline.passed:
            break
        columns = []
        for output, part in enumerate(parts):
            weights = start.weights[0][:, output].copy()
            replace(part, link_price=price).descend(weights, deadline)
            columns.append(weights)
        network = Network((np.stack(columns, axis=1),), problem.weight_bound)
        if problem.soft_value(network) <= ceiling:
            network = _stripped(problem, parts, network, ceiling, deadline)
            if network.links < best.links:
                best = network
            price *= 1.4
        else:
            price /= 2
    return best if best.links < start.links else _stripped(problem, parts, start, ceiling, deadline)


def _stripped(
    problem: Problem, parts: list[Search], network: Network, ceiling: Fraction, deadline: Deadline
) -> Network:
    """Remove links, the cheapest first, as long as the objective stays under the ceiling."""
    weights = network.weights[0].copy()
    costs = [
        (loss, output, i)
        for output, part in enumerate(parts)
        for loss, i in _losses(part.soft, weights[:, output], deadline)
    ]
    for _, output, i in sorted(costs):
        if deadline.passed:
            break
        kept, weights[i, output] = weights[i, output], 0
        if problem.soft_value(Network((weights,), network.weight_bound)) > ceiling:
            weights[i, output] = kept
            break
    return Network((weights,), network.weight_bound)


def _losses(soft: SoftRows, weights: Integers, deadline: Deadline) -> Iterator[tuple[float, int]]:
    """How much the objective rises without a weight, and which, for every link; without time left, for some."""
    sums = soft.exact_sums(weights)
    value = soft.value(weights, sums)
    for i in np.flatnonzero(weights).tolist():
        if deadline.passed:
            return
        without = weights.copy()
        without[i] = 0
        yield soft.value(without, sums - weights[i] * soft.factors * soft.data[:, i]) - value, i
