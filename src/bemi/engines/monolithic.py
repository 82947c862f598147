"""The paper's own approach: the whole stage as one mixed-integer program for the solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from bemi import solvers
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import KEEP_LABELS, Keep, Objective, Problem
from bemi.programs import stages as programs
from bemi.programs.encoding import Goal, StageProgram
from bemi.programs.program import LARGEST_COEFFICIENT, Solution, Status, integer_bound, largest_coefficient
from bemi.stages.registry import get
from bemi.stages.result import ClaimMismatch, Outcome, Proof, StageResult


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
    return RUNNERS[stage](problem, start=start, keep=keep, limits=limits, solver=solver)


def sat_margin(
    problem: Problem, *, start: Network, keep: Keep = KEEP_LABELS, limits: Limits, solver: str = "highs"
) -> StageResult:
    """Most confidently right outputs."""
    goal = _goal("sm", problem, lambda: programs.sat_margin(problem))
    return solve_goal(goal, start=start, limits=limits, solver=solver)


def max_margin(
    problem: Problem, *, start: Network, keep: Keep = KEEP_LABELS, limits: Limits, solver: str = "highs"
) -> StageResult:
    """The largest sum of margins."""
    goal = _goal("mm", problem, lambda: programs.max_margin(problem))
    return solve_goal(goal, start=start, limits=limits, solver=solver)


def min_weight(
    problem: Problem, *, start: Network, keep: Keep = KEEP_LABELS, limits: Limits, solver: str = "highs"
) -> StageResult:
    """The fewest links."""
    goal = min_weight_goal(problem, keep)
    return solve_goal(goal, start=start, limits=limits, solver=solver, tolerant=keep.solvers_may_miss)


def min_weight_goal(problem: Problem, keep: Keep = KEEP_LABELS) -> Goal:
    """Min-Weight as a goal."""
    return _goal("mw", problem, lambda: programs.min_weight(problem, keep), keep)


def _goal(name: str, problem: Problem, program: Callable[[], StageProgram], keep: Keep = KEEP_LABELS) -> Goal:
    """A stage whose objective is an integer as a goal."""
    stage = get(name)
    return Goal(
        stage.name,
        problem,
        stage.maximised,
        program,
        lambda network: stage.value(problem, network, keep),
        stage.trivial_bound(problem),
    )


def solve_goal(
    goal: Goal,
    *,
    start: Network | None,
    limits: Limits,
    solver: str = "highs",
    tolerant: bool = False,
    **native: Any,
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
    tolerant
        Whether a solver's network may miss the goal within its tolerance; such a network is ignored.
    native
        Parameters of the solver by their own names.
    """
    clock = limits.deadline()
    trivial = goal.trivial

    def result(
        network: Network | None,
        value: int | None,
        bound: int | None,
        proof: Proof,
        outcome: Outcome,
        message: str | None = None,
    ) -> StageResult:
        objective, proved = (None if v is None else goal.in_report_units(v) for v in (value, bound))
        return StageResult.of(
            *(goal.name, goal.problem, network, objective, proved),
            clock=clock,
            proof=proof,
            outcome=outcome,
            message=message,
        )

    value = None if start is None else goal.value(start)
    if value == trivial:
        return result(start, value, trivial, "certified", Outcome.OPTIMAL)
    backend = solvers.get(solver)
    built = goal.program()
    if largest_coefficient(built.milp) > LARGEST_COEFFICIENT:
        if value is None:
            return result(start, None, None, "none", Outcome.TOO_LARGE)
        return result(start, value, trivial, "certified", Outcome.TOO_LARGE)
    point = None if start is None or value is None else built.encode(built.canonical(start))
    solution = backend.solve(built.milp, start=point, limits=limits.until(clock), **native)
    network, value = _recompute(goal, built, solution, start, value, tolerant)
    if value is None:
        return result(start, None, None, "none", *_why_nothing(solution))
    if not math.isfinite(solution.bound):
        bound = trivial
    else:
        claimed = integer_bound(solution.bound, goal.maximised)
        bound = min(trivial, claimed) if goal.maximised else max(trivial, claimed)
    proof: Proof = "certified" if bound == trivial else "solver"
    return result(network, value, bound, proof, *_why_ended(solution, value, bound))


def _why_ended(solution: Solution, value: Objective, bound: Objective) -> tuple[Outcome, str]:
    """Outcome and message of a stage that has a network."""
    if value == bound:
        return Outcome.OPTIMAL, ""
    if solution.status is Status.OPTIMAL:
        return Outcome.WITHIN_GAP, ""
    outcome = Outcome.FAILED if solution.status is Status.ERROR else Outcome.LIMIT
    return outcome, solution.message or solution.status.message


def _why_nothing(solution: Solution) -> tuple[Outcome, str]:
    """Outcome and message of a stage without a network."""
    if solution.status is Status.ERROR:
        return Outcome.FAILED, solution.message
    outcome = Outcome.INFEASIBLE if solution.status is Status.INFEASIBLE else Outcome.NOT_FOUND
    return outcome, outcome.sentence


SOFT_TOLERANCE = 1e-6
"""Fraction by which a solver's bound on the soft-margin objective is lowered, since its arithmetic is inexact."""


def soft_margin(
    problem: Problem, *, start: Network, keep: Keep = KEEP_LABELS, limits: Limits, solver: str = "highs"
) -> StageResult:
    """Soft margins: the objective is an exact rational, the bound the solver's minus its tolerance."""
    stage = get("soft").name
    clock = limits.deadline()
    built = programs.soft_margin(problem)
    solution = solvers.get(solver).solve(built.milp, start=built.encode(start), limits=limits.until(clock))
    network, value = start, problem.soft_value(start)
    if solution.x is not None:
        found = built.decode(solution.x)
        reached = problem.soft_value(found)
        assert solution.objective is not None
        claimed = solution.objective + built.constant
        if not problem.allows(found):
            raise ClaimMismatch(f"{stage}: the solver's weights have wrong signs or too many links")
        if float(reached) > claimed + SOFT_TOLERANCE * max(1.0, abs(claimed)):
            raise ClaimMismatch(f"{stage}: the solver claims {claimed}, but its weights give {float(reached)}")
        if reached < value:
            network, value = found, reached
    bound = Fraction(0)
    if math.isfinite(solution.bound):
        claimed = solution.bound + built.constant
        bound = max(bound, Fraction(claimed - SOFT_TOLERANCE * max(1.0, abs(claimed))).limit_denominator(2**30))
    if bound > value:
        raise ClaimMismatch(
            f"{stage}: a network has value {float(value)}, below the solver's proven bound {float(bound)}"
        )
    outcome, message = _why_ended(solution, value, bound)
    return StageResult.of(
        *(stage, problem, network, value, bound),
        clock=clock,
        proof="solver" if bound > 0 else "certified",
        outcome=outcome,
        message=message,
        soft=problem.soft,
    )


RUNNERS = {"sm": sat_margin, "mm": max_margin, "mw": min_weight, "soft": soft_margin}
"""The function for each stage."""


def _recompute(
    goal: Goal,
    built: StageProgram,
    solution: Solution,
    start: Network | None,
    start_value: int | None,
    tolerant: bool,
) -> tuple[Network | None, int | None]:
    """The better of the start and the solver's network, in exact integers; raises if a claim does not hold.

    A network may be better than claimed (a margin column below its neuron's true margin, a link column at 1 for a zero
    weight), but never worse than claimed, nor better than the solver's bound.
    """
    best, value = start, start_value
    if solution.x is not None:
        assert solution.objective is not None
        network = built.decode(solution.x)
        reached = goal.value(network)
        claimed = round(solution.objective)
        if reached is None and tolerant:
            return best, value
        if reached is None or goal.better(claimed, reached):
            truth = "no feasible network" if reached is None else reached
            raise ClaimMismatch(f"{goal.name}: the solver claims {claimed}, but its weights give {truth}")
        if goal.better(reached, value):
            best, value = network, reached
    if value is not None and solution.status is Status.INFEASIBLE:
        raise ClaimMismatch(
            f"{goal.name}: the solver claims infeasibility, but a feasible network with value {value} is known"
        )
    if value is not None and math.isfinite(solution.bound):
        bound = integer_bound(solution.bound, goal.maximised)
        if goal.better(value, bound):
            raise ClaimMismatch(f"{goal.name}: a network has value {value}, beyond the solver's proven bound {bound}")
    return best, value
