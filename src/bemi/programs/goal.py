"""A goal: a program, and how exact integers judge a network that is meant to solve it."""

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
        What it is called, on which data, and whether a larger objective is better.
    program
        Builds the program.
    value
        From a network to its objective, or None where the network is not feasible.
    trivial
        A bound on the objective that anybody can check by hand.
    unit
        What a 1 of the objective stands for in reports.
    """

    name: str
    problem: Problem
    maximised: bool
    program: Callable[[], StageProgram]
    value: Callable[[Network], int | None]
    trivial: int
    unit: Fraction | int = 1

    def in_report_units(self, value: int) -> Objective:
        """An objective as reports give it."""
        scaled = value * Fraction(self.unit)
        return int(scaled) if scaled.denominator == 1 else scaled

    def better(self, value: int | None, other: int | None) -> bool:
        """Whether one objective beats another."""
        return better(value, other, maximised=self.maximised)
