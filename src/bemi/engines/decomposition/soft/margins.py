"""The soft-margin stage: every output is one neuron, solved by a linear program, descents and a tree.

The continuous machine gives the first multipliers and weights to round.  The linear program of
:mod:`~bemi.engines.decomposition.soft.program` improves both.  If the gap is still too large, dives or kicks
look for better weights (:mod:`~bemi.engines.decomposition.soft.diving`,
:mod:`~bemi.engines.decomposition.soft.search`) and a tree for a better bound
(:mod:`~bemi.engines.decomposition.soft.tree`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np

from bemi.engines.decomposition.soft.diving import DIVES, improved
from bemi.engines.decomposition.soft.program import linear_program
from bemi.engines.decomposition.soft.search import KICKS, Search
from bemi.engines.decomposition.soft.svm_kernel import solve as solve_machine
from bemi.engines.decomposition.soft.terms import DENOMINATOR, Floats, SoftRows, soft_rows
from bemi.engines.decomposition.soft.tree import NODES, Ending, Node, Tree
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

_BOUND_STEP = 2**30  # bounds are rounded down to multiples of its inverse, so that they are short numbers
# Multiplications of the continuous machine between two looks at the clock, and how often.
_PRODUCTS, _PIECES = 5 * 10**7, 20
_TOLERANCE = 1e-3  # of the continuous machine, relative to the largest target
_MACHINE_SHARE, _PROGRAM_SHARE, _SEARCH_SHARE = 0.5, 0.6, 0.3  # of the time left


@dataclass(frozen=True)
class Solved:
    """Weights of one output, the bound on its objective, the proof, and why the search for a better one ended."""

    weights: Integers
    bound: Fraction
    proof: dict[str, Any]
    ending: Ending


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: every output by itself; the start is one of the candidates."""
    assert state.given is not None
    clock = limits.deadline()
    outputs = problem.codes.shape[1]
    parts = []
    for output in range(outputs):
        # One output at a time, so that only its rows are in memory.
        share = clock.share(1 / (outputs - output))
        parts.append(_solved(soft_rows(problem, output), state.given.weights[0][:, output], limits, share))
    endings = {part.ending for part in parts} - {Ending.REACHED}
    return Finding(
        Network((np.stack([part.weights for part in parts], axis=1),), problem.weight_bound),
        bound=sum((part.bound for part in parts), Fraction(0)),
        proof={"kind": "multipliers", "denominator": DENOMINATOR, "outputs": [part.proof for part in parts]},
        outcome=Outcome.LIMIT if endings <= {Ending.LIMIT} else Outcome.LOCAL,
        message="; ".join(ending.value for ending in Ending if ending in endings),
    )


def _solved(soft: SoftRows, start: Integers, limits: Limits, deadline: Deadline) -> Solved:
    """One output, until the gap or a limit is reached."""
    search = Search.of(soft)
    near, prices = _machine(soft, deadline.share(_MACHINE_SHARE))
    weights, value = _better(search, search.rounded(near, deadline), start, deadline)
    numerators, bound = _proved(soft, prices)
    if deadline.passed or not len(soft.nonzero):
        ending = Ending.LIMIT if deadline.passed else Ending.REACHED
        return Solved(weights, *_short(bound, {"multipliers": soft.multipliers(numerators)}), ending)
    program = linear_program(soft, weights, near, prices)
    relaxed = program.solve(soft.low, soft.high, deadline.share(_PROGRAM_SHARE))
    numerators, bound = max((numerators, bound), _proved(soft, relaxed.prices), key=itemgetter(1))
    rounded, reached = search.rounded(relaxed.weights, deadline)
    if reached < value:
        weights, value = rounded, reached
    enough = float(bound) / (1 - limits.gap) if limits.gap < 1 else np.inf
    time = deadline.share(_SEARCH_SHARE)
    if soft.max_links is not None:
        kicks = KICKS if limits.nodes is None else min(KICKS, limits.nodes)
        weights, value = search.kicked(weights, relaxed.weights, kicks, limits.seed, time, enough)
    else:
        weights, value = improved(
            *(program, search, weights, relaxed),
            dives=DIVES if limits.nodes is None else min(DIVES, limits.nodes),
            seed=limits.seed,
            deadline=time,
            enough=enough,
        )
    tree = Tree(soft, program, search, weights, Node(soft.low, soft.high, 0, bound, numerators, relaxed))
    ending = tree.grow(limits.gap, NODES if limits.nodes is None else limits.nodes, deadline)
    return Solved(tree.weights, *_short(tree.bound, tree.root.proof(soft)), ending)


def _machine(soft: SoftRows, deadline: Deadline) -> tuple[Floats, Floats]:
    """Weights of the continuous machine within the box, and its multipliers by term."""
    heights = np.sort(soft.heights)[::-1].copy()
    total = np.zeros(len(soft.nonzero))
    steps = max(len(total), _PRODUCTS // max(1, soft.rows.shape[1]))
    tolerance = _TOLERANCE * float(heights[0])
    low, high = soft.low.astype(np.float64), soft.high.astype(np.float64)
    for _ in range(_PIECES):
        near, change = solve_machine(soft.rows, soft.limits, heights, low, high, total, steps, tolerance)
        if change <= tolerance or deadline.passed:
            break
    # Larger targets fill first.
    prices = np.clip(total - np.arange(len(heights))[:, None] * soft.limits, 0.0, soft.limits)
    return near, prices[np.argsort(np.argsort(-soft.heights))]


def _better(
    search: Search, found: tuple[Integers, float], start: Integers, deadline: Deadline
) -> tuple[Integers, float]:
    """The better of two weights, the second improved first; it may break limits on signs and links."""
    weights = np.clip(start, search.soft.low, search.soft.high)
    search.thinned(weights, np.abs(weights).astype(np.float64))
    value = search.descend(weights, deadline)
    return (weights, value) if value < found[1] else found


def _proved(soft: SoftRows, prices: Floats) -> tuple[Integers, Fraction]:
    """Prices as exact multipliers, and what they prove over all weights."""
    numerators = soft.numerators(prices)
    bound = soft.proved(numerators, soft.low, soft.high)
    assert bound is not None  # no weight is forced to be a link
    return numerators, bound


def _short(bound: Fraction, proof: dict[str, Any]) -> tuple[Fraction, dict[str, Any]]:
    """A bound as a short number; without multipliers it is 0."""
    rounded = Fraction(int(bound * _BOUND_STEP // 1), _BOUND_STEP)
    return (rounded, proof) if rounded > 0 else (Fraction(0), {"multipliers": []})
