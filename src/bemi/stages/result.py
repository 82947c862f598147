"""What an engine hands back for one stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from bemi.network import Network
from bemi.problem.soft_margin import SoftMargin

Proof = Literal["certified", "solver", "none"]


INFEASIBLE = "no network satisfies this stage on these rows"
"""Message of a stage that is proved to have no solution."""


class ClaimMismatch(RuntimeError):
    """A solver's claim does not hold when recomputed from the weights in exact integers."""


@dataclass(frozen=True, eq=False)
class StageResult:
    """Outcome of one stage on one network.

    Attributes
    ----------
    stage
        ``"sm"``, ``"mm"``, ``"ml2"`` or ``"mw"``.
    network
        The network after the stage; the one before it if the stage could not run.  None in a report that was read from
        a model file, which keeps only the final network.
    objective, bound
        Objective recomputed from the weights, and a proven bound on every network's objective.  None if the stage left
        the network as it was because it could not run.  Rationals in ``"ml2"``, integers elsewhere.
    seconds
        Wall time; not a number in a report that was read from a model file.
    proof
        Who stands behind the bound: ``"certified"`` can be checked without a solver, ``"solver"`` is a solver's word,
        ``"none"`` where there is no bound.
    links
        Non-zero weights after the stage.
    rows
        Training rows that the stage saw.
    message
        What a person should know: why the stage could not run, or what stopped it.
    certificate
        What proves the bound to :mod:`bemi.certificate`, where ``proof`` is ``"certified"`` and more than the trivial
        bound is claimed.
    soft
        Price and resolutions of the soft-margin objective, in ``"ml2"``.
    """

    stage: str
    network: Network | None
    objective: int | Fraction | None
    bound: int | Fraction | None
    seconds: float
    proof: Proof
    links: int
    rows: int
    message: str = ""
    certificate: dict[str, Any] | None = None
    soft: SoftMargin | None = None

    @property
    def ran(self) -> bool:
        """Whether the stage found a feasible network; if not, ``message`` says why."""
        return self.objective is not None

    @property
    def gap(self) -> float:
        """Distance to the bound, ``|bound - objective| / max(1, |objective|)``; infinite if the stage did not run."""
        if self.objective is None or self.bound is None:
            return math.inf
        reached = Fraction(self.objective)
        return float(abs(self.bound - reached)) / max(1.0, abs(float(reached)))
