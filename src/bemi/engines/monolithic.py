"""The paper's own approach: the whole stage as one mixed-integer program for the solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from bemi import solvers
from bemi.engines import portfolio
from bemi.engines.portfolio import Finding, StageState, Strategy
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import KEEP_LABELS, Keep, Objective, Problem
from bemi.programs import stages as programs
from bemi.programs.encoding import Goal, StageProgram
from bemi.programs.program import LARGEST_COEFFICIENT, Solution, Status, integer_bound, largest_coefficient
from bemi.stages.registry import get
from bemi.stages.result import Outcome, StageResult

RATIONAL_TOLERANCE = 1e-6
"""Fraction by which a solver's claims about a rational objective may be off, since its arithmetic is inexact."""


def run(
    stage: str,
    problem: Problem,
    *,
    start: Network,
    keep: Keep = KEEP_LABELS,
    limits: Limits,
    solver: str = "highs",
) -> StageResult:
    """Run one stage.

    Parameters
    ----------
    stage, problem
        The stage's name, and the rows that it sees: after Sat-Margin only those of T-hat.
    start
        Network to start from; it is returned unchanged if the stage cannot run.
    keep
        What the network must preserve, in Min-Weight.
    limits, solver
        When to stop, and the name of the MILP solver.
    """
    goal = stage_goal(stage, problem, keep)
    return portfolio.run(goal, RUNNERS[stage], start=start, keep=keep, limits=limits, solver=solver)


def max_margin(problem: Problem, *, start: Network, limits: Limits) -> StageResult:
    """The largest sum of margins."""
    return run("mm", problem, start=start, limits=limits)


def min_weight(problem: Problem, *, start: Network, keep: Keep, limits: Limits) -> StageResult:
    """The fewest links."""
    return run("mw", problem, start=start, keep=keep, limits=limits)


def solve_goal(
    goal: Goal, *, start: Network | None, limits: Limits, solver: str = "highs", **native: Any
) -> StageResult:
    """Solve the program of a goal.

    Parameters
    ----------
    goal
        What to solve.
    start
        Network to start from, feasible or not; it is returned if nothing better is found.
    limits, solver
        When to stop, and the name of the MILP solver.
    native
        Parameters of the solver by their own names.
    """
    strategy = Strategy("solver", 1.0, not_trivially_solved, partial(solve, native=native))
    return portfolio.run(goal, (strategy,), start=start, limits=limits, solver=solver)


PROGRAMS: dict[str, Callable[[Problem, Keep], StageProgram]] = {
    "sm": lambda problem, keep: programs.sat_margin(problem),
    "mm": lambda problem, keep: programs.max_margin(problem),
    "mw": programs.min_weight,
    "soft": lambda problem, keep: programs.soft_margin(problem),
}
"""The program of each stage."""


def stage_goal(name: str, problem: Problem, keep: Keep = KEEP_LABELS) -> Goal:
    """A stage on a problem as a goal."""
    stage = get(name)
    return Goal(
        stage.name,
        problem,
        stage.maximised,
        lambda: PROGRAMS[name](problem, keep),
        lambda network: stage.value(problem, network, keep),
        stage.trivial_bound(problem),
        rational=not stage.whole_numbers,
        solvers_may_miss=keep.solvers_may_miss,
    )


def min_weight_goal(problem: Problem, keep: Keep = KEEP_LABELS) -> Goal:
    """Min-Weight as a goal."""
    return stage_goal("mw", problem, keep)


def approximate_columns(problem: Problem) -> int:
    """Approximate number of columns of a stage's program."""
    rows, sizes = len(problem.data), problem.layers[1:]
    if problem.soft is not None:
        return (len(problem.live) * (2 * problem.weight_bound + 1) + rows) * sizes[0]
    return len(problem.live) * sizes[0] + rows * sum(sizes) + (rows + 1) * sum(a * b for a, b in pairwise(sizes))


def not_trivially_solved(problem: Problem, state: StageState) -> bool:
    """Whether the best network is short of the bound that can be checked by hand."""
    return state.value != state.goal.trivial


def solve(problem: Problem, state: StageState, limits: Limits, native: dict[str, Any] | None = None) -> Finding:
    """The strategy: the goal's program, started from the best network."""
    goal, built = state.goal, state.goal.program()
    if not goal.rational and largest_coefficient(built.milp) > LARGEST_COEFFICIENT:
        return Finding(outcome=Outcome.TOO_LARGE)
    point = None if state.network is None else built.encode(built.canonical(state.network))
    solution = solvers.get(state.solver).solve(built.milp, start=point, limits=limits, **native or {})
    network = None if solution.x is None else built.decode(solution.x)
    if network is not None and goal.solvers_may_miss and goal.value(network) is None:
        network = None
    claimed = None if network is None else _claimed_objective(goal, built, solution)
    bound = _claimed_bound(goal, built, solution) if math.isfinite(solution.bound) else None
    known = state.value is not None or network is not None
    outcome, message = _why_ended(solution) if known else _why_nothing(solution)
    if solution.status is Status.INFEASIBLE:
        outcome, message = Outcome.INFEASIBLE, Outcome.INFEASIBLE.sentence
    return Finding(network, claimed, None, bound, None, "solver", outcome, message)


def _claimed_objective(goal: Goal, built: StageProgram, solution: Solution) -> Objective:
    """What the solver's network must reach.

    A network may be better than claimed: a margin column below its neuron's true margin, a link column at 1 for a zero
    weight.
    """
    assert solution.objective is not None
    if not goal.rational:
        return round(solution.objective)
    claimed = solution.objective + built.constant
    slack = RATIONAL_TOLERANCE * max(1.0, abs(claimed))
    return Fraction(claimed - slack if goal.maximised else claimed + slack)


def _claimed_bound(goal: Goal, built: StageProgram, solution: Solution) -> Objective:
    """The solver's bound, which is no better than this; with a rational objective, minus its tolerance."""
    if not goal.rational:
        return integer_bound(solution.bound, goal.maximised)
    claimed = solution.bound + built.constant
    slack = RATIONAL_TOLERANCE * max(1.0, abs(claimed))
    return Fraction(claimed + slack if goal.maximised else claimed - slack).limit_denominator(2**30)


def _why_ended(solution: Solution) -> tuple[Outcome, str]:
    """Outcome and message of a solver that has a network, unless network and bound meet."""
    if solution.status is Status.OPTIMAL:
        return Outcome.WITHIN_GAP, ""
    outcome = Outcome.FAILED if solution.status is Status.ERROR else Outcome.LIMIT
    return outcome, solution.message or solution.status.message


def _why_nothing(solution: Solution) -> tuple[Outcome, str]:
    """The same of a solver without one."""
    if solution.status is Status.ERROR:
        return Outcome.FAILED, solution.message
    return Outcome.NOT_FOUND, Outcome.NOT_FOUND.sentence


SOLVER = Strategy("solver", 1.0, not_trivially_solved, solve)

RUNNERS = dict.fromkeys(PROGRAMS, (SOLVER,))
"""The strategies for each stage."""
