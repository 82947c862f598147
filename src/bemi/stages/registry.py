"""The stages of training: what each asks for, how it judges a network, and what it passes to the next one.

To add a stage, add an entry to :data:`STAGES`, strategies to the ``RUNNERS`` of each engine, and a rule to the
certificate checker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network
from bemi.problem.problem import (
    KEEP_LABELS,
    Keep,
    KeepMargins,
    KeepObjective,
    Objective,
    Problem,
    better,
    confident_outputs,
    confident_outputs_bound,
    sum_of_margins,
    sum_of_margins_bound,
)
from bemi.problem.soft_margin import SoftMargin, lacking, row_hinges, row_norms
from bemi.stages.result import StageResult

Parameters = Mapping[str, Any]
"""Values of the training parameters that stages read, by name."""


class Handover(NamedTuple):
    """The input of the next stage: a problem, whose rows are all it sees, and what its network must preserve."""

    problem: Problem
    keep: Keep = KEEP_LABELS


def same_rows(seen: Handover, report: StageResult, parameters: Parameters) -> Handover:
    """The next stage sees the same rows, and must preserve no more than this one had to."""
    return seen


Shortfall = Callable[[Network, SoftMargin | None, NDArray[np.integer], Integers], NDArray[np.float64]]
"""Maps a network, soft margins, rows and codes to each row's shortfall; 0 for a row that satisfies the stage."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One goal of training.

    Attributes
    ----------
    name
        Its name in options and files.
    title, asks_for, measure
        Its title, what it asks for, and what its objective measures, in words.
    time_share
        Its share of a time limit for all stages, relative to those of the others.
    maximised
        Whether a larger objective is better.
    objective
        Maps a problem, a network and what it must preserve to the exact objective; None if the network is infeasible.
    trivial_bound
        A bound on the objective that can be checked by hand.
    may_follow
        Names of the stages that may come directly before it.
    whole_numbers
        Whether the objective and all columns of its program are integers; otherwise the objective is a rational.
    usual_gap
        The gap within which it stops if none is given.
    allows_hidden_layers
        Whether its networks may have hidden layers.
    quick
        Whether it is cheap enough to run even if no time is left.
    parameters
        Settings that it reads (:mod:`bemi.settings`), beside those that all stages have.
    handover_parameters
        The same for those that it reads only if another stage follows.
    handover
        Maps its input, its report and the parameters to the input of the next stage.
    shortfall
        By how much rows that it was not trained on violate it; None to require confidently right outputs.
    counts_outputs
        Whether the objective is a number of outputs, which reports show as a share.
    shows_gap
        Whether a progress bar shows its gap.
    list_title
        Title of a training that begins with it; empty to list its stages instead.
    """

    name: str
    title: str
    asks_for: str
    measure: str
    time_share: int
    maximised: bool
    objective: Callable[[Problem, Network, Keep], Objective | None]
    trivial_bound: Callable[[Problem], int]
    may_follow: tuple[str, ...] = ()
    whole_numbers: bool = True
    usual_gap: float = 0.01
    allows_hidden_layers: bool = True
    quick: bool = False
    parameters: tuple[str, ...] = ()
    handover_parameters: tuple[str, ...] = ()
    handover: Callable[[Handover, StageResult, Parameters], Handover] = same_rows
    shortfall: Shortfall | None = None
    counts_outputs: bool = False
    shows_gap: bool = False
    list_title: str = ""

    def value(self, problem: Problem, network: Network, keep: Keep = KEEP_LABELS) -> Any:
        """Objective of a network, an integer or a rational; None if the network is infeasible."""
        return self.objective(problem, network, keep)

    def better(self, value: Objective | None, other: Objective | None) -> bool:
        """Whether one objective beats another; None, an infeasible network, beats nothing."""
        return better(value, other, maximised=self.maximised)


def _confident_rows(seen: Handover, report: StageResult, parameters: Parameters) -> Handover:
    """The paper's T-hat: later stages see only the rows that are confidently right."""
    assert report.network is not None
    return Handover(seen.problem.rows(seen.problem.confident_rows(report.network)), seen.keep)


def _margins_reached(seen: Handover, report: StageResult, parameters: Parameters) -> Handover:
    """Later stages must preserve the margins, if there are any."""
    if not report.ran:
        return seen
    assert report.network is not None
    margins = report.network.margins(seen.problem.data, seen.problem.codes)
    return Handover(seen.problem, KeepMargins(tuple(margins)))


def _objective_reached(seen: Handover, report: StageResult, parameters: Parameters) -> Handover:
    """Later stages may raise the soft-margin objective by a given fraction."""
    assert report.network is not None
    ceiling = (1 + Fraction(parameters["mw_loss"])) * seen.problem.soft_value(report.network)
    return Handover(seen.problem, KeepObjective(ceiling))


def _soft_shortfall(
    network: Network, soft: SoftMargin | None, data: NDArray[np.integer], codes: Integers
) -> NDArray[np.float64]:
    """``max(0, t - s w.x / nu)``, the largest over the outputs; 0 for rows of zeros, which have no loss.

    With several hinges t is the largest target: a row has no loss once it reaches that.
    """
    assert soft is not None
    sums, norms = network.pre_activations(data)[-1] * codes, row_norms(data)
    found = np.zeros(len(data))
    for output in range(codes.shape[1]):
        target = max(hinge.target for hinge in row_hinges(soft, output))
        units = target.denominator * np.maximum(1.0, norms)
        found = np.maximum(found, lacking(sums[:, output], norms, target).astype(np.float64) / units)
    return found


def _soft_objective(problem: Problem, network: Network, keep: Keep) -> Fraction | None:
    return problem.soft_value(network) if problem.allows(network) else None


def _links(problem: Problem, network: Network, keep: Keep) -> int | None:
    return network.links if keep.holds(problem, network) else None


STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            name="sm",
            title="Sat-Margin",
            asks_for="most training rows confidently right",
            measure="outputs confidently right",
            time_share=75,
            maximised=True,
            objective=lambda problem, network, keep: confident_outputs(problem, network),
            trivial_bound=confident_outputs_bound,
            usual_gap=0.0,  # every row counts
            handover=_confident_rows,
            counts_outputs=True,
        ),
        Stage(
            name="mm",
            title="Max-Margin",
            asks_for="largest margins",
            measure="sum of margins",
            time_share=75,
            maximised=True,
            objective=lambda problem, network, keep: sum_of_margins(problem, network),
            trivial_bound=sum_of_margins_bound,
            may_follow=("sm",),
            handover=_margins_reached,
            shows_gap=True,
        ),
        Stage(
            name="soft",
            title="soft margins",
            asks_for="small weights and few rows inside the margin, as in a support vector machine",
            measure="soft-margin objective",
            time_share=75,
            maximised=False,
            objective=_soft_objective,
            trivial_bound=lambda problem: 0,
            whole_numbers=False,
            allows_hidden_layers=False,
            quick=True,
            parameters=("C", "hinges", "max_links"),
            handover_parameters=("mw_loss",),
            handover=_objective_reached,
            shortfall=_soft_shortfall,
            list_title="soft margins",
        ),
        Stage(
            name="mw",
            title="Min-Weight",
            asks_for="fewest links",
            measure="links",
            time_share=10,
            maximised=False,
            objective=_links,
            trivial_bound=lambda problem: 0,
            may_follow=("sm", "mm", "soft"),
            usual_gap=0.1,  # the next percent takes several times as long as all before it
        ),
    )
}
"""Every stage by its name.  The time shares are the paper's proportions in Experiment 2."""

PAPER_STAGES = ("sm", "mm", "mw")
"""The paper's training: Sat-Margin, Max-Margin, Min-Weight."""

SOFT_STAGES = ("soft",)
"""Soft margins alone."""

SPARSE_STAGES = (*SOFT_STAGES, "mw")
"""Soft margins, then fewer links."""


def get(name: str) -> Stage:
    """The stage of that name."""
    if name not in tuple(STAGES):  # of any type, hashable or not
        raise ValueError(f"unknown stage {name!r}; known: {', '.join(STAGES)}")
    return STAGES[name]


def stage_lists() -> list[tuple[str, ...]]:
    """All valid lists of stages, shorter ones first."""
    lists: list[tuple[str, ...]] = []
    longer: list[tuple[str, ...]] = [(name,) for name in STAGES]
    while longer:
        lists += longer
        longer = [(*names, name) for names in longer for name in STAGES if names[-1] in STAGES[name].may_follow]
    return lists


def check_stages(stages: Any, hidden_layers: Sequence[int] = ()) -> tuple[str, ...]:
    """Stage names as a tuple; ValueError unless they are valid for networks with these hidden layers."""
    if isinstance(stages, str) or not isinstance(stages, (tuple, list)):
        raise ValueError(f"stages must be a tuple such as {PAPER_STAGES}, got {stages!r}")
    known = [get(name) for name in stages]
    if not known or any(before.name not in after.may_follow for before, after in pairwise(known)):
        valid = "; ".join(", ".join(names) for names in stage_lists())
        raise ValueError(f"stages must be one of these lists: {valid}; got {stages!r}")
    for stage in known:
        if len(hidden_layers) and not stage.allows_hidden_layers:
            raise ValueError(f"stage {stage.name!r} is for networks without a hidden layer; use hidden_layers=()")
    return tuple(stages)


def parameters_read(stages: Sequence[str]) -> list[str]:
    """The settings that these stages read, in this order."""
    read: list[str] = []
    for place, stage in enumerate(map(get, stages)):
        read += stage.parameters
        if place + 1 < len(stages):
            read += stage.handover_parameters
    return read


def every_parameter() -> set[str]:
    """The settings that any stage reads."""
    return {name for stage in STAGES.values() for name in (*stage.parameters, *stage.handover_parameters)}


def list_title(stages: Iterable[str]) -> str:
    """The title of a list of stages."""
    names = list(stages)
    return get(names[0]).list_title or "+".join(names).upper()
