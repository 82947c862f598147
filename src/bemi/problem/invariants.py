"""What a network must preserve while something else is improved; one type per kind.

``solvers_may_miss`` tells whether a solver's network may violate it within the solver's tolerance, since its rows are
not integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from bemi.exact import Integers
from bemi.network import Network
from bemi.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class KeepMargins:
    """Every neuron keeps a margin of at least this, given per layer."""

    solvers_may_miss: ClassVar[bool] = False

    margins: tuple[Integers, ...]

    def holds(self, problem: Problem, network: Network) -> bool:
        """Whether a network keeps it on the rows of a problem."""
        reached = network.margins(problem.data, problem.codes)
        return all(bool((have >= need).all()) for have, need in zip(reached, self.margins, strict=True))


@dataclass(frozen=True)
class KeepObjective:
    """The soft-margin objective stays at or below a ceiling, within its limits on signs and links."""

    solvers_may_miss: ClassVar[bool] = True

    ceiling: Fraction

    def holds(self, problem: Problem, network: Network) -> bool:
        """Whether a network keeps it on the rows of a problem."""
        return problem.allows(network) and problem.soft_value(network) <= self.ceiling


@dataclass(frozen=True)
class KeepLabels:
    """Every row stays classified right."""

    solvers_may_miss: ClassVar[bool] = False

    def holds(self, problem: Problem, network: Network) -> bool:
        """Whether a network keeps it on the rows of a problem."""
        return problem.all_right(network)


Keep = KeepMargins | KeepObjective | KeepLabels

KEEP_LABELS = KeepLabels()
"""The least that a network must keep."""
