"""What an engine returns for one stage, as an object and as plain data for files."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bemi.checks import counted
from bemi.limits import Deadline
from bemi.network import Network
from bemi.problem.problem import Objective, Problem
from bemi.problem.soft_margin import SoftMargin

Proof = Literal["none", "solver", "computed", "certified"]
"""What supports a bound, the strongest last."""


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
        """The outcome as human-readable text."""
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
    """An exact rational that prints as a decimal number with six digits and formats like a float."""

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
        What supports the bound: ``"certified"`` can be checked without a solver, ``"computed"`` is the result of our
        own search in exact integers, ``"solver"`` is a solver's claim, ``"none"`` means that there is no bound.
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

    Examples
    --------
    >>> from bemi import BeMiClassifier
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], [0, 0, 1, 1]
    >>> clf = BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> result = clf.reports_[0, 1]["mm"]
    >>> result.objective, result.bound, result.proof
    (9, 9, 'certified')
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

    def __repr__(self) -> str:
        if not self.ran:
            return f"StageResult({self.stage}: {self.message or self.outcome.label})"
        numbers = f"objective {self.objective}, bound {self.bound}, gap {100 * self.gap:.2f} %"
        return f"StageResult({self.stage}: {numbers}, {self.proof}, {counted(self.links, 'link')})"

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


_FIELDS = ("stage", "proof", "links", "rows", "message")


class CompactResult(StageResult):
    """A report whose network and certificate stay compressed until they are needed.

    An ensemble may have thousands of networks, and most networks and proofs of single stages are never read.
    """

    def __init__(self, network: Network, certificate: dict[str, Any] | None, **others: Any) -> None:
        large = [network.layers, network.weight_bound, flat_weights(network), certificate]
        self.__dict__.update(others, _packed=zlib.compress(json.dumps(large, separators=(",", ":")).encode(), 1))

    @property
    def network(self) -> Network:
        layers, weight_bound, weights, _ = self._unpacked()
        return network_of(layers, weight_bound, weights)

    @property
    def certificate(self) -> dict[str, Any] | None:
        return self._unpacked()[3]

    def _unpacked(self) -> Any:
        return json.loads(zlib.decompress(self.__dict__["_packed"]))


def compacted(report: StageResult) -> CompactResult:
    """The same report in less memory."""
    return CompactResult(**{field.name: getattr(report, field.name) for field in fields(StageResult)})


def stage_record(report: StageResult) -> dict[str, Any]:
    """What a file stores about a stage, apart from its weights, its certificate and its seconds."""
    record = {name: getattr(report, name) for name in _FIELDS}
    record |= {"objective": _written(report.objective), "bound": _written(report.bound)}
    record["outcome"] = report.outcome.label
    if report.soft is not None:
        soft = report.soft
        record["soft"] = {
            "price": _written(soft.price),
            "resolutions": [_written(t) for t in soft.resolutions],
            "hinges": soft.hinges,
            "max_links": soft.max_links,
        }
    return record


def stage_result(record: dict[str, Any], network: Network | None, seconds: float, certificate: Any) -> StageResult:
    """The report that a record was made from."""
    known = {name: record[name] for name in _FIELDS}
    known |= {
        "objective": _read(record["objective"]),
        "bound": _read(record["bound"]),
        "outcome": Outcome.from_label(record["outcome"]),
    }
    soft = record.get("soft")
    if soft is not None:
        price, resolutions = Fraction(_read(soft["price"])), tuple(Fraction(_read(t)) for t in soft["resolutions"])
        soft = SoftMargin(price, resolutions, soft["hinges"], soft["max_links"])
    return StageResult(network=network, seconds=seconds, certificate=certificate, soft=soft, **known)


def stage_claim(report: StageResult) -> dict[str, Any]:
    """Everything a stage claims: its numbers, the network after it, and the proof of its bound."""
    assert report.network is not None
    return stage_record(report) | {"weights": flat_weights(report.network), "certificate": report.certificate}


def _written(number: int | Fraction | None) -> int | str | None:
    """A rational as text in hexadecimal, which has no limit on its length; an integer as it is."""
    return f"{number.numerator:x}/{number.denominator:x}" if isinstance(number, Fraction) else number


def _read(number: int | str | None) -> Any:
    if not isinstance(number, str):
        return number
    numerator, denominator = number.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))


def flat_weights(network: Network) -> list[int]:
    return np.concatenate([w.reshape(-1) for w in network.weights]).tolist()


def network_of(sizes: Sequence[int], weight_bound: int, weights: list[int]) -> Network:
    shapes = list(pairwise(sizes))
    parts = np.split(np.array(weights, dtype=np.int64), np.cumsum([a * b for a, b in shapes])[:-1])
    return Network(tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)), weight_bound)
