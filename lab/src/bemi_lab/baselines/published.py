"""The other systems as published: one program for one solver, or gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from bemi.engines.monolithic import solve_goal
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.programs.encoding import Goal
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines import objectives
from bemi_lab.baselines.gradient import descend
from bemi_lab.baselines.hybrids import CP
from bemi_lab.baselines.improvement import AT_ITS_BEST
from bemi_lab.baselines.row_values import RowObjective

PRICE = 1
"""Cost of a hidden neuron, in confidently right outputs, in the weighted objective."""


def solve(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    return [solve_goal(objective(problem), start=None, limits=limits, solver=solver)]


def solve_by_cp(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, _: str) -> list[StageResult]:
    return solve(objective, problem, limits, CP)


def solve_from(
    objective: RowObjective, begin: Callable[[Problem], Network], problem: Problem, limits: Limits, solver: str
) -> list[StageResult]:
    """One program that always has a network, though a poor one."""
    return [solve_goal(objective.goal(problem), start=begin(problem), limits=limits, solver=solver)]


def price_on_neurons(problem: Problem) -> Goal:
    return objectives.min_neurons(problem, price=PRICE)


def solve_with_price_on_neurons(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    return [solve_goal(price_on_neurons(problem), start=silent(problem), limits=limits, solver=solver)]


def neurons_alone(problem: Problem) -> Goal:
    return objectives.min_neurons(problem)


def fewest_neurons_after(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """Sat-Margin, then the fewest hidden neurons that preserve its result."""
    clock = limits.deadline()
    half = limits.until(clock.share(1 / 2))
    first = solve_goal(objectives.sat_margin(problem), start=silent(problem), limits=half, solver=solver)
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    return [first, solve_goal(goal, start=first.network, limits=limits.until(clock), solver=solver)]


def by_gradient(
    ternary: bool, problem: Problem, limits: Limits, _: str, *, start: Network | None = None
) -> list[StageResult]:
    clock = Deadline()
    found = descend(problem, ternary=ternary, seconds=limits.seconds, steps=limits.nodes, seed=limits.seed, start=start)
    reached, network = rational(found.loss), found.network
    message = f"{found.steps} steps" + ("" if found.finished else "; the loss did not reach zero")
    result = StageResult.of(
        *("squared-hinge", problem, network, reached, Fraction(0)),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if found.finished else Outcome.LIMIT,
        message=AT_ITS_BEST if network == start and found.finished else message,
    )
    return [result]


def rational(loss: float) -> Fraction:
    return Fraction(loss).limit_denominator(10**9)


def cp_margins(problem: Problem) -> Goal:
    return objectives.max_margin(problem, step=Fraction(0))


def silent(problem: Problem) -> Network:
    """A network without links: all its outputs are 0."""
    return Network(tuple(np.zeros(shape, dtype=np.int64) for shape in pairwise(problem.layers)), problem.weight_bound)


def one_answer(problem: Problem) -> Network:
    """A network that always gives the first class, through its biases only."""
    weights = [w.copy() for w in silent(problem).weights]
    weights[-1][-1, 1:] = -problem.weight_bound
    return Network(tuple(weights), problem.weight_bound)
