"""From a network to a better one: networks made from it, part by part, and the whole program if it is small."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from bemi.engines.monolithic import solve_goal
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.programs.encoding import Goal
from bemi.stages.result import Outcome, StageResult

LARGEST_COLUMNS = 3000
"""Programs up to this size are solved as a whole at the end; on larger ones a solver finds nothing in minutes."""

UNCHANGED = "the start as it is: nothing better was found"
AT_ITS_BEST = "the start as it is: it reaches the bound"


def improved(
    goal: Goal, start: Network, made: Iterable[Network], limits: Limits, clock: Deadline, solver: str, **native: Any
) -> StageResult:
    """The best of a start and of the networks made from it; then the whole program from there, if it is small.

    Parameters
    ----------
    goal, start
        What to reach, and the network to start from; it need not be feasible.
    made
        Networks made from the start, until the time is up; they may depend on each other, and none need be better.
    limits, clock
        Limits, and the clock that runs until their end.
    solver, native
        The solver of the whole program, and its own parameters.
    """
    best, tried = start, 0
    if goal.value(start) != goal.trivial:
        for network in made:
            tried += 1
            if goal.better(goal.value(network), goal.value(best)):
                best = network
            if goal.value(best) == goal.trivial or clock.passed:
                break
    if goal.value(best) != goal.trivial and _columns(goal.problem) <= LARGEST_COLUMNS:
        return solve_goal(goal, start=best, limits=limits.until(clock), solver=solver, **native)
    value = goal.value(best)
    if value is None:
        return StageResult.unchanged(goal.name, goal.problem, None, clock=clock, outcome=Outcome.NOT_FOUND)
    optimal = value == goal.trivial
    message = f"the best of {tried} networks made from the start"
    if best == start:
        message = AT_ITS_BEST if optimal else UNCHANGED
    return StageResult.of(
        *(goal.name, goal.problem, best, goal.in_report_units(value), goal.in_report_units(goal.trivial)),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if optimal else Outcome.LOCAL,
        message=message,
    )


def _columns(problem: Problem) -> int:
    """Columns of a program: weights, activations and products."""
    first, *above = pairwise(problem.layers)
    live = len(problem.live) * first[1]
    products = sum(a * b for a, b in above)
    return live + products + len(problem.data) * (products + sum(problem.hidden_layers))
