"""What an engine returns for one stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

from bemi.limits import Deadline
from bemi.network import Network
from bemi.problem.problem import Objective, Problem
from bemi.problem.soft_margin import SoftMargin

Proof = Literal["certified", "solver", "none"]


class ClaimMismatch(RuntimeError):
    """A solver's claim does not hold when recomputed from the weights in exact integers."""


class Outcome(Enum):
    """Why a stage ended; each member has a human-readable sentence.  Whether the stage ran is recorded separately."""

    OPTIMAL = "solved to optimality"
    WITHIN_GAP = "solved to the requested gap"
    LIMIT = "stopped at a time or node limit"
    LOCAL = "stopped after a local search"
    INFEASIBLE = "no network satisfies this stage on these rows"
    NOT_FOUND = "found no network within its limit"
    NO_START = "the network to start from does not keep the margins"
    NO_TIME = "no time was left for it"
    NO_ROWS = "no row is confidently right, so there is nothing to train on"
    TOO_LARGE = "values are too large for a solver's tolerances; scale the data down or use input_scaling='per-feature'"
    FAILED = "the solver failed"

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        return self.value

    @property
    def label(self) -> str:
        """The outcome as written to files."""
        return self.name.lower()

    @classmethod
    def from_label(cls, label: str) -> Outcome:
        """The outcome of that :attr:`label`; ValueError if there is none."""
        for outcome in cls:
            if outcome.label == label:
                return outcome
        raise ValueError(f"unknown outcome {label!r}")

    @property
    def successful(self) -> bool:
        """Whether the stage reached its goal, so that no message is needed."""
        return self in (Outcome.OPTIMAL, Outcome.WITHIN_GAP)

    @classmethod
    def of(cls, objective: Objective, bound: Objective, gap: float, otherwise: Outcome) -> Outcome:
        """Optimal, or within the gap, if a feasible network and a bound prove it; otherwise what stopped the stage."""
        if objective == bound:
            return cls.OPTIMAL
        return cls.WITHIN_GAP if relative_gap(objective, bound) <= gap else otherwise


class Exact(Fraction):
    """A rational that people read as a number: formats like a float, and shows six digits; its value is exact."""

    def __format__(self, spec: str) -> str:
        if not spec or spec[-1].isdigit():
            spec += "g" if "." in spec else ".6g"
        return format(float(self), spec)

    def __repr__(self) -> str:
        return format(self)


def relative_gap(objective: Objective, bound: Objective) -> float:
    """``|bound - objective| / max(1, |objective|)``."""
    reached = Fraction(objective)
    return float(abs(bound - reached)) / max(1.0, abs(float(reached)))


@dataclass(frozen=True, eq=False)
class StageResult:
    """What one stage did to one network.

    Attributes
    ----------
    stage
        Name of the stage, see :mod:`bemi.stages.registry`.
    network
        The network after the stage, or the one before it if the stage could not run.  None in a report read from a
        model file, which stores only the final network.
    objective, bound
        Objective recomputed from the weights, and a proven bound on every network's objective.  None if the stage could
        not run and left the network unchanged.  Rationals for soft margins, which print as
        numbers, integers otherwise.
    seconds
        Wall time; NaN in a report read from a model file.
    proof
        What supports the bound: ``"certified"`` can be checked without a solver, ``"solver"`` is a solver's claim,
        ``"none"`` means that there is no bound.
    links
        Non-zero weights after the stage.
    rows
        Training rows that the stage saw.
    outcome
        Why the stage ended.
    message
        Human-readable: why the stage could not run, or what stopped it; empty if it reached its goal.
    certificate
        Proof of the bound for :mod:`bemi.certificate`, if ``proof`` is ``"certified"`` and the bound is better than the
        trivial one.
    soft
        Price and resolutions of the soft-margin objective, in the soft-margin stage.
    """

    stage: str
    network: Network | None
    objective: Objective | None
    bound: Objective | None
    seconds: float
    proof: Proof
    links: int
    rows: int
    outcome: Outcome
    message: str = ""
    certificate: dict[str, Any] | None = None
    soft: SoftMargin | None = None

    def __post_init__(self) -> None:
        for name in ("objective", "bound"):
            value = getattr(self, name)
            if type(value) is Fraction:
                object.__setattr__(self, name, Exact(value))

    @classmethod
    def of(
        cls,
        stage: str,
        problem: Problem,
        network: Network | None,
        objective: Objective | None,
        bound: Objective | None,
        *,
        clock: Deadline,
        proof: Proof,
        outcome: Outcome,
        message: str | None = None,
        certificate: dict[str, Any] | None = None,
        soft: SoftMargin | None = None,
    ) -> StageResult:
        """The report of a stage that ends now; links, rows and seconds follow from the rest.

        Without a message, the outcome provides the text.
        """
        if message is None:
            message = "" if outcome.successful else outcome.sentence
        links = 0 if network is None else network.links
        rows, seconds = len(problem.data), clock.elapsed
        return cls(
            *(stage, network, objective, bound, seconds, proof, links, rows, outcome, message, certificate, soft)
        )

    @classmethod
    def unchanged(
        cls,
        stage: str,
        problem: Problem,
        network: Network | None,
        *,
        clock: Deadline,
        outcome: Outcome,
        message: str | None = None,
    ) -> StageResult:
        """The report of a stage that could not run and leaves the network unchanged."""
        return cls.of(stage, problem, network, None, None, clock=clock, proof="none", outcome=outcome, message=message)

    @property
    def ran(self) -> bool:
        """Whether the stage found a feasible network; if not, ``outcome`` and ``message`` say why."""
        return self.objective is not None

    @property
    def gap(self) -> float:
        """Distance to the bound, ``|bound - objective| / max(1, |objective|)``; infinite if the stage did not run."""
        if self.objective is None or self.bound is None:
            return math.inf
        return relative_gap(self.objective, self.bound)
