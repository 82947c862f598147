"""The paper's own way: the whole stage as one mixed-integer program, handed to a solver."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

from bemi import solvers
from bemi.network import Network
from bemi.problem.problem import Keep, Problem
from bemi.programs.limits import Limits
from bemi.programs.program import Solution, Status
from bemi.programs.stages import Goal, StageProgram, program, stage_goal
from bemi.solvers.tolerance import LARGEST_COEFFICIENT, largest_coefficient
from bemi.stages.result import INFEASIBLE, ClaimMismatch, Proof, StageResult


def prepare() -> None:
    """Nothing has to be made ready."""


def run(
    stage: str,
    problem: Problem,
    *,
    start: Network,
    keep: Keep = None,
    limits: Limits,
    solver: str = "highs",
) -> StageResult:
    """Run one stage.

    Parameters
    ----------
    stage, problem
        What to solve; for Max-Margin and Min-Weight the problem holds only the rows of T-hat.
    start
        Network to start from; it comes back unchanged if the stage cannot run.
    keep
        What Min-Weight must keep: margins per layer, or a ceiling on the soft-margin objective, or None.
    limits, solver
        When to stop, and the backend's name.
    """
    if stage == "ml2":
        return _soft_margin(problem, start, limits, solver)
    ceiling = isinstance(keep, Fraction)
    return reach(stage_goal(stage, problem, keep), start=start, limits=limits, solver=solver, tolerant=ceiling)


def reach(
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
        What to reach.
    start
        Network to start from, feasible or not; it comes back where nothing better is found.
    limits, solver
        When to stop, and the backend's name.
    tolerant
        Whether a solver's network may miss the goal by its tolerance; it is then left aside.
    native
        Parameters of the solver by their own names.
    """
    began = time.perf_counter()

    def result(
        network: Network | None, value: int | None, bound: int | None, proof: Proof, message: str = ""
    ) -> StageResult:
        seconds = time.perf_counter() - began
        links = 0 if network is None else network.links
        objective, proved = (None if v is None else goal.shown(v) for v in (value, bound))
        rows = len(goal.problem.data)
        return StageResult(goal.name, network, objective, proved, seconds, proof, links, rows, message)

    trivial = goal.trivial
    value = None if start is None else goal.value(start)
    if value == trivial:
        return result(start, value, trivial, "certified")
    backend = solvers.get(solver)
    built = goal.program()
    if largest_coefficient(built.milp) > LARGEST_COEFFICIENT:
        reason = (
            "values are too large for a solver's tolerances; scale the data down or use input_scaling='per-feature'"
        )
        return result(
            start, value, None if value is None else trivial, "none" if value is None else "certified", reason
        )
    point = None if start is None or value is None else built.encode(built.canonical(start))
    if limits.seconds is not None:
        limits = replace(limits, seconds=max(0.0, limits.seconds - (time.perf_counter() - began)))
    solution = backend.solve(built.milp, start=point, limits=limits, **native)
    network, value = _recompute(goal, built, solution, start, value, tolerant)
    if value is None:
        return result(start, None, None, "none", _why_nothing(solution))
    if not math.isfinite(solution.bound):
        bound = trivial
    else:
        claimed = _proved(solution.bound, goal.maximised)
        bound = min(trivial, claimed) if goal.maximised else max(trivial, claimed)
    message = "" if solution.status is Status.OPTIMAL else solution.message or solution.status.message
    return result(network, value, bound, "certified" if bound == trivial else "solver", message)


def _proved(bound: float, maximised: bool) -> int:
    """The integer that a solver's bound on an integer objective stands for, erring on the weak side."""
    slack = 1e-6 * max(1.0, abs(bound))
    return math.floor(bound + slack) if maximised else math.ceil(bound - slack)


SOFT_TOLERANCE = 1e-6
"""By which share of itself a solver's bound on the soft-margin objective is lowered: its arithmetic is not exact."""


def _soft_margin(problem: Problem, start: Network, limits: Limits, solver: str) -> StageResult:
    """Soft margins: the objective is an exact rational, the bound a solver's word, short of its tolerance."""
    began = time.perf_counter()
    built = program("ml2", problem)
    if limits.seconds is not None:
        limits = replace(limits, seconds=max(0.0, limits.seconds - (time.perf_counter() - began)))
    solution = solvers.get(solver).solve(built.milp, start=built.encode(start), limits=limits)
    network, value = start, problem.soft_value(start)
    if solution.x is not None:
        found = built.decode(solution.x)
        reached = problem.soft_value(found)
        assert solution.objective is not None
        claimed = solution.objective + built.constant
        if float(reached) > claimed + SOFT_TOLERANCE * max(1.0, abs(claimed)):
            raise ClaimMismatch(f"ml2: the solver claims {claimed}, but its weights give {float(reached)}")
        if reached < value:
            network, value = found, reached
    bound = Fraction(0)
    if math.isfinite(solution.bound):
        claimed = solution.bound + built.constant
        bound = max(bound, Fraction(claimed - SOFT_TOLERANCE * max(1.0, abs(claimed))).limit_denominator(2**30))
    if bound > value:
        raise ClaimMismatch(f"ml2: a network has value {float(value)}, below the solver's proven bound {float(bound)}")
    message = "" if solution.status is Status.OPTIMAL else solution.message or solution.status.message
    proof: Proof = "solver" if bound > 0 else "certified"
    seconds = time.perf_counter() - began
    rows = len(problem.data)
    return StageResult(
        "ml2", network, value, bound, seconds, proof, network.links, rows, message, certificate=None, soft=problem.soft
    )


def _recompute(
    goal: Goal,
    built: StageProgram,
    solution: Solution,
    start: Network | None,
    start_value: int | None,
    tolerant: bool,
) -> tuple[Network | None, int | None]:
    """The better of the start and the solver's network, by exact integers; a claim that does not hold raises.

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
        bound = _proved(solution.bound, goal.maximised)
        if goal.better(value, bound):
            raise ClaimMismatch(f"{goal.name}: a network has value {value}, beyond the solver's proven bound {bound}")
    return best, value


def _why_nothing(solution: Solution) -> str:
    if solution.status is Status.INFEASIBLE:
        return INFEASIBLE
    if solution.status is Status.ERROR:
        return solution.message
    return "found no network within its limit"
