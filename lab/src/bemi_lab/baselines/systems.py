"""The other systems: how each of them trains one network on all classes, alone and from a written-down network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from bemi.engines.monolithic import min_weight_goal
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import Objective, Problem
from bemi.programs.encoding import Goal
from bemi.stages.result import StageResult
from bemi_lab.baselines import from_start, objectives, published
from bemi_lab.baselines.batches import train_in_batches
from bemi_lab.baselines.gradient import loss
from bemi_lab.baselines.hybrids import CP, by_class, fixed_activations, fixed_activations_of, warm_started
from bemi_lab.baselines.row_values import MAX_CORRECT, MIN_HINGE, SAT_MARGIN, RowObjective
from bemi_lab.baselines.starts import Detection, Start

__all__ = ["CP", "SYSTEMS", "System"]

Train = Callable[[Problem, Limits, str], list[StageResult]]
"""Maps a problem, overall limits and a MILP solver to reports in order."""

TrainFrom = Callable[[Problem, Start, Limits, str], list[StageResult]]
"""The same from a network that fits all rows."""

Value = Callable[[Problem, Network], Objective | None]
"""The objective of a network on a problem; None if it is not feasible."""


@dataclass(frozen=True)
class System:
    """A system of another paper.

    Attributes
    ----------
    title, paper
        The name its authors give it, and their paper.
    train
        The training function, as published.
    train_from
        The same from a network that fits all rows; None if there is none.
    value
        The objective, to rate that network.
    detection
        Where that network detects the classes.
    grid
        Value of the largest input, and of the constant input for biases, if inputs are scaled.  None for unscaled
        inputs and a constant input of 1.
    only_bits
        Whether weights are in {-1, 0, 1} only.
    needs_cp
        Whether it needs constraint programming.
    ignores_constant_inputs
        Whether inputs that are the same in all rows get no links, be they zero or not.
    """

    title: str
    paper: str
    train: Train
    train_from: TrainFrom | None
    value: Value
    detection: Detection = "outputs"
    grid: int | None = None
    only_bits: bool = True
    needs_cp: bool = False
    ignores_constant_inputs: bool = False


def _value(goal: Callable[[Problem], Goal], problem: Problem, network: Network) -> Objective | None:
    made = goal(problem)
    value = made.value(network)
    return None if value is None else made.in_report_units(value)


def _icarte(
    title: str,
    goal: Callable[[Problem], Goal],
    train: Train,
    train_from: TrainFrom | None,
    *,
    paper: str = "Toro Icarte et al. 2019",
    needs_cp: bool = False,
) -> System:
    """Integer inputs as they are, weights of -1, 0 and 1, and no links from constant inputs."""
    return System(
        *(title, paper, train, train_from, partial(_value, goal)),
        detection="hidden",
        needs_cp=needs_cp,
        ignores_constant_inputs=True,
    )


def _hubara(title: str, paper: str, ternary: bool) -> System:
    def value(problem: Problem, network: Network) -> Objective:
        return published.rational(loss(problem, network))

    return System(
        title, paper, partial(published.by_gradient, ternary), partial(from_start.gradient_of, ternary), value
    )


def _yorke(title: str, goal: Callable[[Problem], Goal], train: Train, train_from: TrainFrom) -> System:
    """Inputs of 0..1 with four decimals, and any weight bound."""
    value = partial(_value, goal)
    return System(
        *(title, "Thorbjarnarson and Yorke-Smith 2023", train, train_from, value), grid=10_000, only_bits=False
    )


def _yorke_rows(title: str, objective: RowObjective, begin: Callable[[Problem], Network]) -> System:
    train = partial(published.solve_from, objective, begin)
    return _yorke(title, objective.goal, train, partial(from_start.rows_of, objective))


_MARGINS, _SAT = objectives.max_margin, objectives.sat_margin

SYSTEMS: Mapping[str, System] = {
    "mip-max-margin": _icarte(
        "MIP max-margin", _MARGINS, partial(published.solve, _MARGINS), partial(from_start.margins_of, _MARGINS)
    ),
    "mip-min-weight": _icarte(
        "MIP min-weight", min_weight_goal, partial(published.solve, min_weight_goal), from_start.links_of
    ),
    "cp-max-margin": _icarte(
        "CP max-margin",
        published.cp_margins,
        partial(published.solve_by_cp, published.cp_margins),
        from_start.margins_by_cp,
        needs_cp=True,
    ),
    "cp-min-weight": _icarte(
        "CP min-weight",
        min_weight_goal,
        partial(published.solve_by_cp, min_weight_goal),
        from_start.links_by_cp,
        needs_cp=True,
    ),
    "hw": _icarte("HW", _MARGINS, warm_started, from_start.warm_started_of, needs_cp=True),
    "ha": _icarte("HA", _MARGINS, fixed_activations, fixed_activations_of, needs_cp=True),
    "ha-by-class": _icarte(
        *("HA by class", _MARGINS, by_class, None), paper="Toro Icarte et al. 2019; first step ours", needs_cp=True
    ),
    "gd-b": _hubara("GD_b", "Hubara et al. 2016", False),
    "gd-t": _hubara("GD_t", "Hubara et al. 2016, adapted by Toro Icarte et al. 2019", True),
    "max-correct": _yorke_rows("Max-Correct", MAX_CORRECT, published.one_answer),
    "min-hinge": _yorke_rows("Min-Hinge", MIN_HINGE, published.silent),
    "sat-margin": _yorke_rows("Sat-Margin", SAT_MARGIN, published.silent),
    "min-neurons": _yorke(
        "Sat-Margin, price on neurons",
        published.price_on_neurons,
        published.solve_with_price_on_neurons,
        from_start.neurons_of,
    ),
    "min-neurons-after": _yorke(
        "Sat-Margin, fewest neurons",
        published.neurons_alone,
        published.fewest_neurons_after,
        from_start.fewest_neurons_of,
    ),
    "batches": _yorke("Sat-Margin in batches", _SAT, train_in_batches, from_start.batches_of),
}
"""All systems, by the name that :class:`bemi_lab.baselines.BaselineClassifier` takes."""
