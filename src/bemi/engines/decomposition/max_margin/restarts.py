"""Networks with margins from many starts, each with larger margins: where several must split, the first is often poor.

Every start is raised by walks over all weights, then widened neuron by neuron.  Starts are of two kinds in turn, and
each has other random numbers:

- two neurons that split, found by a walk (:mod:`bemi.engines.decomposition.max_margin.pairs`), and constants,
  whose margins are by far the widest where inputs have one sign;
- a walk over all weights that ends when all rows are right and no sum is 0
  (:mod:`bemi.engines.decomposition.sat_margin.annealing`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.max_margin.pairs import annealed_pair
from bemi.engines.decomposition.max_margin.raising import raised
from bemi.engines.decomposition.max_margin.upper import widest_margins
from bemi.engines.decomposition.max_margin.widening import splits, widened
from bemi.engines.decomposition.neuron.widest import widest
from bemi.engines.decomposition.sat_margin.annealing import proposals_within, with_margins
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem, better, sum_of_margins

PATIENCE = 40
"""Starts without a better network after which the search may end; it goes on for as many as were made before."""

PROPOSALS = 1_000_000
"""Proposals of a walk over all weights."""

_PAIR_SHARE, _CONSTANT_SHARE, _RAISING_SHARE, _WIDENING_SHARE = 0.1, 0.2, 0.1, 0.2  # of the time left
_UPPER_SECONDS = 1.0


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the best of the widened networks, that of the stage among them."""
    given, known = state.network, state.network or state.start
    assert known is not None
    clock = limits.deadline()
    budget = Budget(limits.nodes, clock)
    constant = _constant(problem, clock.share(_CONSTANT_SHARE))
    best, value = None, state.value
    tried = latest = 0
    while tried < max(PATIENCE, 2 * latest) and not budget.spent:
        tried += 1
        budget.used += 1
        seed = limits.seed + tried
        start = None
        if constant is not None and tried % 2:
            start = _with_pair(problem, constant, seed, clock.share(_PAIR_SHARE), limits)
            if start is None:
                constant = None  # pairs are rare, or there is none
        if start is None:
            start, given = given, None
        if start is None:
            proposals = min(PROPOSALS, proposals_within(limits))
            start = with_margins(problem, known, proposals=proposals, seed=seed, deadline=clock)
        if sum_of_margins(problem, start) is None:
            continue
        part = budget.part(_RAISING_SHARE)
        start = raised(problem, start, budget=part, seed=seed)
        budget.used += part.used
        part = budget.part(_WIDENING_SHARE)
        wider = widened(problem, start, budget=part, limits=replace(limits, seed=seed))
        budget.used += part.used
        if better(sum_of_margins(problem, wider), value, maximised=True):
            best, value, latest = wider, sum_of_margins(problem, wider), tried
    return Finding(best)


def needed(problem: Problem, state: StageState) -> bool:
    """Whether there is no network, or one with more neurons that split than outputs."""
    if state.start is None:
        return False
    return state.network is None or splits(problem, state.network) > problem.layers[-1]


def _constant(problem: Problem, deadline: Deadline) -> Integers | None:
    """The weights of the widest constant neuron, if there is one output and room for two that split and a constant."""
    if problem.layers[1] < 3 or problem.layers[-1] > 1:
        return None
    return widest(problem.data, np.ones(len(problem.data), np.int64), problem.weight_bound, deadline).weights


def _with_pair(problem: Problem, constant: Integers, seed: int, deadline: Deadline, limits: Limits) -> Network | None:
    found = annealed_pair(problem.data, problem.codes[:, 0], problem.weight_bound, seed=seed, deadline=deadline)
    if found is None:
        return None
    others = np.repeat(constant[:, None], problem.layers[1] - 2, axis=1)
    first = np.concatenate([found[0], others], axis=1)
    upper = widest_margins(problem, sign(problem.data @ first), replace(limits, seconds=_UPPER_SECONDS))
    return None if upper is None else Network((first, *upper.weights), problem.weight_bound)
