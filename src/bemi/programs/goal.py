"""A goal: a program, and the exact check of a network that is meant to solve it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bemi.network import Network
from bemi.problem.measures import Objective, better
from bemi.problem.problem import Problem
from bemi.programs.stages import StageProgram


@dataclass(frozen=True, eq=False)
class Goal:
    """What a network should achieve on a problem.

    Attributes
    ----------
    name, problem, maximised
        Its name, the data, and whether a larger objective is better.
    program
        Builds the program.
    value
        Maps a network to its objective, or None if the network is infeasible.
    trivial
        A bound on the objective that can be checked by hand.
    unit
        The value of one unit of the objective in reports.
    rational
        Whether objectives are rationals instead of integers.
    solvers_may_miss
        Whether a solver's network may miss the goal within the solver's tolerance; such a network is ignored.
    """

    name: str
    problem: Problem
    maximised: bool
    program: Callable[[], StageProgram]
    value: Callable[[Network], Any]
    trivial: int
    unit: Fraction | int = 1
    rational: bool = False
    solvers_may_miss: bool = False

    def in_report_units(self, value: Objective) -> Objective:
        """An objective in the units of reports."""
        if self.unit == 1:
            return value
        scaled = value * Fraction(self.unit)
        return int(scaled) if scaled.denominator == 1 else scaled

    def better(self, value: Objective | None, other: Objective | None) -> bool:
        """Whether one objective beats another."""
        return better(value, other, maximised=self.maximised)
