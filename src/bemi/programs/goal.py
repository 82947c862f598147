"""A goal: a program, and the exact integer check of a network that is meant to solve it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

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
    """

    name: str
    problem: Problem
    maximised: bool
    program: Callable[[], StageProgram]
    value: Callable[[Network], int | None]
    trivial: int
    unit: Fraction | int = 1

    def in_report_units(self, value: int) -> Objective:
        """An objective in the units of reports."""
        scaled = value * Fraction(self.unit)
        return int(scaled) if scaled.denominator == 1 else scaled

    def better(self, value: int | None, other: int | None) -> bool:
        """Whether one objective beats another."""
        return better(value, other, maximised=self.maximised)
