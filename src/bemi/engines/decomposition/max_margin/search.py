"""Max-Margin by decomposition: search the dichotomies, round each neuron, finish the upper layers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bemi.engines.decomposition.max_margin.dichotomies import Search
from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.max_margin.upper import widest_margins
from bemi.engines.decomposition.neuron.linear_program import NeuronBound, NeuronLP, Signs
from bemi.engines.decomposition.neuron.rounding import integer_weights
from bemi.engines.decomposition.neuron.weight_trees import WidestTree
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

SEARCH_SHARE, ROUNDING_SHARE = 0.83, 0.85
"""Fractions of the time limit at which the proof search and the local search for integer weights must end.

The last seconds of rounding gain next to nothing; if unused, they go to Min-Weight, which gains a lot.
"""

LEAST_ROUNDING = 0.08
"""Part of the time limit reserved for integer weights, however long the search took."""

FIRST_PROPOSALS = 500_000
"""Proposals of the local search for each neuron in the first round; every round doubles them."""

MOST_PROPOSALS = 400_000_000
"""Maximum proposals of the local search; tens of seconds."""

PROPOSALS_PER_NODE = 20_000
"""How a node limit translates into proposals."""

CLOSED_ROWS, CLOSED_INPUTS, CLOSED_NODES, CLOSED_SHARE = 14, 40, 2000, 0.2
"""Tight rows, or inputs, up to which the weights of a dichotomy are branched on; nodes, and share of the time left."""

CANDIDATES = 4
"""Sign matrices that are rounded; the best of the linear programs need not be the best on integers."""


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: a bound from the search over dichotomies, and integer weights for the best of these."""
    clock, goal = limits.deadline(), state.goal
    rounding_deadline = clock.share(ROUNDING_SHARE)
    distinct = distinct_rows(problem)
    tree = Search(distinct, Budget(limits.nodes, clock.share(SEARCH_SHARE)))
    tree.run()
    if limits.seconds is not None:
        rounding_deadline = rounding_deadline.at_least(LEAST_ROUNDING * limits.seconds)
    network, value = None, state.value
    history = tree.incumbent.history
    if state.network is not None and goal.better(value, tree.incumbent.value) and problem.hidden_layers:
        # If the search finds no better signs, those of the start may still have better weights.
        history = [*history, sign(state.network.pre_activations(distinct.data)[0]).astype(np.int8)]
    if history:
        rounding = Rounding(distinct, tree.instance.lp, tree.bound, limits, rounding_deadline)
        for candidate in rounding.networks(history, tree.incumbent.alternatives):
            reached = goal.value(candidate)
            if goal.better(reached, value):
                network, value = candidate, reached
    if value is None:
        # Every feasible network has a positive objective.
        return Finding(outcome=Outcome.INFEASIBLE if tree.bound <= 0 else Outcome.NOT_FOUND)
    return Finding(network, bound=tree.bound, proof=tree.proof, outcome=Outcome.LIMIT)


def distinct_rows(problem: Problem) -> Problem:
    """The problem without duplicate rows of equal codes."""
    rows = np.unique(np.concatenate([problem.data, problem.codes], axis=1), axis=0)
    data, codes = np.split(rows, [problem.data.shape[1]], axis=1)
    return replace(problem, data=data, codes=codes)


_Plan = tuple[Signs, tuple[Integers, ...], int]


@dataclass
class _Rounded:
    """The best integer weights found so far for one dichotomy."""

    signs: Signs
    relaxed: NeuronBound
    multipliers: Integers
    weights: Integers | None = None
    margin: int = 0
    final: bool = False  # no better weights exist


class Rounding:
    """Networks with integer weights for complete first-layer signs; each dichotomy is rounded once, up to a flip."""

    def __init__(self, problem: Problem, lp: NeuronLP, bound: int, limits: Limits, deadline: Deadline) -> None:
        self.problem, self.lp, self.bound = problem, lp, bound
        self.gap, self.seed, self.limits, self.deadline = limits.gap, limits.seed, limits, deadline
        self.proposals = MOST_PROPOSALS if limits.nodes is None else limits.nodes * PROPOSALS_PER_NODE
        self._data = problem.data[:, lp.live]
        self._rounded: dict[bytes, _Rounded] = {}

    def networks(self, history: list[Signs], alternatives: list[Signs]) -> list[Network]:
        """Networks for the last few sign matrices; the most promising one gets most of the time.

        The alternatives are for the case that no upper layers go with any of these.
        """
        plans = [plan for signs in history[: -CANDIDATES - 1 : -1] if (plan := self._plan(signs)) is not None]
        others = iter(alternatives)
        while not plans and not self.deadline.passed and (signs := next(others, None)) is not None:
            plans = [plan for plan in [self._plan(signs)] if plan is not None]
        if not plans:
            return []
        size, used = min(FIRST_PROPOSALS, self.proposals), 0
        best = plans[0]
        for plan in plans:
            used += self._improve(plan[0], size, 0)
            best = max(best, plan, key=lambda p: self._value(p[0]) + p[2])
            if self._enough(*best[::2]):
                break
        if not self._enough(*best[::2]):
            self._close(best[0])
        rounds = 1
        while not self._enough(*best[::2]) and used < self.proposals and not self.deadline.passed:
            used += self._improve(best[0], size, rounds)
            size *= 2
            rounds += 1
        return [self._network(signs, upper) for signs, upper, _ in plans if self._value(signs) > 0]

    def _plan(self, signs: Signs) -> _Plan | None:
        """The signs with the best upper layers for them, and the margins of these; None if there are none."""
        if not self.problem.hidden_layers:
            return signs, (), 0
        upper = widest_margins(self.problem, signs.astype(np.int64), self._remaining())
        if upper is None:
            return None
        return signs, upper.weights, sum(int(m.sum()) for m in upper.margins(signs, self.problem.codes))

    def _remaining(self) -> Limits:
        # Some time is always needed: without the upper layers there is no network.
        return self.limits.until(self.deadline.at_least(0.2))

    def _of(self, column: Signs) -> _Rounded:
        """What is known about a dichotomy, flipped so that its first row is +."""
        turned = np.ascontiguousarray(column * column[0])
        key = turned.tobytes()
        if key not in self._rounded:
            relaxed = self.lp.solve(turned)
            multipliers = np.zeros(len(self._data), dtype=np.int64)
            for k, v in relaxed.multipliers:
                multipliers[k] = v
            self._rounded[key] = _Rounded(turned, relaxed, multipliers)
        return self._rounded[key]

    def _value(self, signs: Signs) -> int:
        margins = [self._of(column).margin for column in signs.T]
        return sum(margins) if min(margins) >= 1 else 0

    def _enough(self, signs: Signs, above: int) -> bool:
        value = self._value(signs) + above
        final = all(self._of(column).final for column in signs.T)
        return final or self.bound - value <= self.gap * value

    def _dichotomies(self, signs: Signs) -> list[_Rounded]:
        """The different dichotomies of a sign matrix that may still be rounded better."""
        keys = {(column * column[0]).tobytes(): None for column in signs.T}
        return [r for r in (self._of(np.frombuffer(key, dtype=np.int8)) for key in keys) if not r.final]

    def _close(self, signs: Signs) -> None:
        """Branch on the weights of dichotomies with few tight rows or few inputs."""
        for rounded in self._dichotomies(signs):
            tight = int((rounded.multipliers > 0).sum())
            too_large = tight > CLOSED_ROWS and len(self.lp.live) > CLOSED_INPUTS
            if rounded.weights is None or too_large or self.deadline.passed:
                continue
            signs_now = rounded.signs.astype(np.int64)
            tree = WidestTree(self._data, signs_now, self.problem.weight_bound, above=rounded.margin)
            tree.grow(self.deadline.share(CLOSED_SHARE), CLOSED_NODES)
            if tree.weights is not None:
                rounded.weights, rounded.margin = tree.weights, tree.margin
            rounded.final = tree.bound <= rounded.margin

    def _improve(self, signs: Signs, proposals: int, rounds: int) -> int:
        """One round of local search on every dichotomy that still loses something; returns proposals spent."""
        used = 0
        for rounded in self._dichotomies(signs):
            if rounded.weights is not None and self.deadline.passed:
                continue
            weights, margin = integer_weights(
                self._data,
                rounded.signs.astype(np.int64),
                self.problem.weight_bound,
                rounded.relaxed.weights,
                rounded.relaxed.value,
                rounded.multipliers.astype(np.float64),
                rounded.weights,
                proposals=proposals,
                seed=self.seed + rounds,
                deadline=self.deadline,
            )
            used += proposals
            if rounded.weights is None or margin > rounded.margin:
                rounded.weights, rounded.margin = weights, margin
                rounded.final = margin >= rounded.relaxed.bound
        return used

    def _network(self, signs: Signs, upper: tuple[Integers, ...]) -> Network:
        first = []
        for column in signs.T:
            weights = self._of(column).weights
            assert weights is not None
            first.append(self.lp.all_inputs(weights) * column[0])
        return Network((np.stack(first, axis=1), *upper), self.problem.weight_bound)
