"""The definition of a stage: what it asks for, how it judges a network, and what it passes to the next stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network
from bemi.problem.problem import KEEP_LABELS, Keep, Objective, Problem, better
from bemi.problem.soft_margin import SoftMargin
from bemi.stages.result import StageResult

Parameters = Mapping[str, Any]
"""Values of the training parameters that stages read, by name."""


class Handover(NamedTuple):
    """The input of the next stage: a problem, whose rows are all it sees, and what its network must preserve."""

    problem: Problem
    keep: Keep = KEEP_LABELS


class Beginning(NamedTuple):
    """The input of the first stage, and the network that it starts from."""

    problem: Problem
    network: Network


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
    uses_gap
        Whether it may stop within a gap; otherwise it is always solved to optimality.
    allows_hidden_layers
        Whether its networks may have hidden layers.
    quick
        Whether it is cheap enough to run even if no time is left.
    parameters
        Training parameters that it reads, and their defaults.
    handover_parameters
        The same for those that it reads only if another stage follows.
    weighs_rows
        Whether row weights, limits on the signs of weights and a limit on links have a meaning for it as the first
        stage, and for those after it.
    begin
        Maps a problem and the parameters to what it starts from as the first stage; None to start from the default
        first network.
    handover
        Maps its input, its report and the parameters to the input of the next stage.
    shortfall
        By how much rows that it was not trained on violate it; None to require confidently right outputs.
    gives_chances
        Whether the scores of its networks, which have no hidden layer, can become chances of the classes.
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
    uses_gap: bool = True
    allows_hidden_layers: bool = True
    quick: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    handover_parameters: Mapping[str, Any] = field(default_factory=dict)
    weighs_rows: bool = False
    begin: Callable[[Problem, Parameters], Beginning] | None = None
    handover: Callable[[Handover, StageResult, Parameters], Handover] = same_rows
    shortfall: Shortfall | None = None
    gives_chances: bool = False
    counts_outputs: bool = False
    shows_gap: bool = False
    list_title: str = ""

    def value(self, problem: Problem, network: Network, keep: Keep = KEEP_LABELS) -> Any:
        """Objective of a network, an integer or a rational; None if the network is infeasible."""
        return self.objective(problem, network, keep)

    def better(self, value: Objective | None, other: Objective | None) -> bool:
        """Whether one objective beats another; None, an infeasible network, beats nothing."""
        return better(value, other, maximised=self.maximised)
