"""What a stage is: what it asks for, how a network is judged by it, and what it hands to the next stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.network import Network
from bemi.problem.keep import KEEP_LABELS, Keep
from bemi.problem.measures import Objective, better
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import SoftMargin
from bemi.products import Integers
from bemi.stages.result import StageResult

Parameters = Mapping[str, Any]
"""Values of the training parameters that stages read, by name."""


class Handover(NamedTuple):
    """What the next stage is run on: a problem, whose rows are all that it sees, and what its network must keep."""

    problem: Problem
    keep: Keep = KEEP_LABELS


class Beginning(NamedTuple):
    """What the first stage is run on, and the network that it starts from."""

    problem: Problem
    network: Network


def same_rows(seen: Handover, report: StageResult, parameters: Parameters) -> Handover:
    """The next stage sees what this one saw, and must keep no more than this one had to."""
    return seen


Shortfall = Callable[[Network, SoftMargin | None, NDArray[np.integer], Integers], NDArray[np.float64]]
"""From a network, soft margins, rows and their codes to what each row lacks; 0 for a row that satisfies the stage."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One thing that training asks of a network.

    Attributes
    ----------
    name
        What options and files call it.
    title, asks_for, measure
        What people call it, what it asks for, and what its objective is a number of, in words.
    time_share
        Its part of a time limit for all stages, relative to the parts of the others.
    maximised
        Whether a larger objective is better.
    objective
        From a problem, a network and what it must keep to the objective in exact numbers; None if the network is not
        feasible.
    trivial_bound
        A bound on the objective that anybody can check by hand.
    may_follow
        Names of the stages that may stand directly before it.
    may_be_first
        Whether a list may begin with it.
    whole_numbers
        Whether the objective is an integer, and so are all columns of its program; otherwise it is a rational.
    uses_gap
        Whether it may stop within a gap; otherwise its objective is always wanted exactly.
    allows_hidden_layers
        Whether its networks may have hidden layers.
    quick
        Whether it costs so little that it runs even where no time is left.
    parameters
        Training parameters that it reads, and their defaults.
    begin
        From a problem and the parameters to what it starts from as the first stage; None to start from the first
        network of any training.
    handover
        From what it saw, its report and the parameters to what the next stage gets.
    shortfall
        By how much rows that it was not trained on fail it; None to ask for confidently right outputs.
    counts_outputs
        Whether the objective is a number of outputs, of which reports show the share.
    shows_gap
        Whether a progress bar shows its gap.
    list_title
        What a training that begins with it is called as a whole; empty to call it by its stages.
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
    may_be_first: bool = True
    whole_numbers: bool = True
    uses_gap: bool = True
    allows_hidden_layers: bool = True
    quick: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict)
    begin: Callable[[Problem, Parameters], Beginning] | None = None
    handover: Callable[[Handover, StageResult, Parameters], Handover] = same_rows
    shortfall: Shortfall | None = None
    counts_outputs: bool = False
    shows_gap: bool = False
    list_title: str = ""

    def value(self, problem: Problem, network: Network, keep: Keep = KEEP_LABELS) -> Any:
        """Objective of a network, an integer or a rational; None if the network is not feasible."""
        return self.objective(problem, network, keep)

    def better(self, value: Objective | None, other: Objective | None) -> bool:
        """Whether one objective beats another; None, an infeasible network, beats nothing."""
        return better(value, other, maximised=self.maximised)
