"""The other systems: how each of them trains one network on all classes, alone and from a written-down network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from bemi.engines.monolithic import min_weight_goal, solve_goal
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Objective, Problem
from bemi.programs.encoding import Goal
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines import objectives, smaller
from bemi_lab.baselines.gradient import descend, loss, without_zeros
from bemi_lab.baselines.improvement import AT_ITS_BEST, improved, improved_neurons, train_in_batches
from bemi_lab.baselines.margins import CP, by_class, fixed_activations, warm_started, widest_margins
from bemi_lab.baselines.objectives import MAX_CORRECT, MIN_HINGE, SAT_MARGIN, RowObjective
from bemi_lab.baselines.starts import Detection, Start

PRICE = 1
"""Cost of a hidden neuron, in confidently right outputs, in the weighted objective."""

Objectives = Callable[[Problem], Goal]


class Train(Protocol):
    """Maps a problem, overall limits and a MILP solver to reports in order: as published, or from a start."""

    def __call__(
        self, problem: Problem, limits: Limits, solver: str, start: Start | None = None
    ) -> list[StageResult]: ...


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
        The training function.
    takes_start
        Whether it can also begin with a network that fits all rows.
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
    value: Value
    takes_start: bool = True
    detection: Detection = "outputs"
    grid: int | None = None
    only_bits: bool = True
    needs_cp: bool = False
    ignores_constant_inputs: bool = False


def by_cp(train: Train, problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
    """The same system by constraint programming."""
    return train(problem, limits, CP, start)


def cp_margins(problem: Problem) -> Goal:
    return objectives.max_margin(problem, step=Fraction(0))


def fewest_links(problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
    """Fewest links by one program; from a start its neurons lose some, then short codes of neurons with few links."""
    if start is None:
        return [solve_goal(min_weight_goal(problem), start=None, limits=limits, solver=solver)]
    clock = limits.deadline()
    assert start.network is not None

    def made(network: Network) -> Iterator[Network]:
        yield smaller.fewest_links(problem, network, clock.share(1 / 8), limits.seed)
        for other in smaller.thinner_codes(problem, start, clock.share(1 / 2), limits.seed):
            yield smaller.fewest_links(problem, other, clock.share(1 / 4), limits.seed)

    return [improved(min_weight_goal(problem), start.network, made(start.network), limits, clock, solver)]


def sum_over_rows(
    objective: RowObjective,
    begin: Callable[[Problem], Network],
    problem: Problem,
    limits: Limits,
    solver: str,
    start: Start | None = None,
) -> list[StageResult]:
    """A program that always has a network, though a poor one; from a start neuron by neuron."""
    goal = objective.goal(problem)
    if start is None:
        return [solve_goal(goal, start=begin(problem), limits=limits, solver=solver)]
    clock = limits.deadline()
    assert start.network is not None
    made = improved_neurons(objective.values(problem), problem, start.network, clock, limits.seed)
    return [improved(goal, start.network, made, limits, clock, solver)]


def price_on_neurons(problem: Problem) -> Goal:
    return objectives.min_neurons(problem, price=PRICE)


def with_price_on_neurons(
    problem: Problem, limits: Limits, solver: str, start: Start | None = None
) -> list[StageResult]:
    """Sat-Margin with a price on neurons; from a start, smaller networks that are fully confident."""
    goal = price_on_neurons(problem)
    if start is None:
        return [solve_goal(goal, start=silent(problem), limits=limits, solver=solver)]
    clock = limits.deadline()
    assert start.network is not None
    made = smaller.smaller_networks(problem, start, clock, limits.seed)
    return [improved(goal, start.network, made, limits, clock, solver)]


def fewest_neurons_after(
    problem: Problem, limits: Limits, solver: str, start: Start | None = None
) -> list[StageResult]:
    """Sat-Margin, then the fewest hidden neurons that preserve its result."""
    clock = limits.deadline()
    (first,) = sum_over_rows(SAT_MARGIN, silent, problem, limits.until(clock.share(1 / 2)), solver, start)
    assert first.network is not None
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    if start is None:
        return [first, solve_goal(goal, start=first.network, limits=limits.until(clock), solver=solver)]
    made = smaller.smaller_networks(problem, start, clock, limits.seed)
    return [first, improved(goal, first.network, made, limits.until(clock), clock, solver)]


def by_gradient(
    ternary: bool, problem: Problem, limits: Limits, solver: str, start: Start | None = None
) -> list[StageResult]:
    """Gradient descent; GD_b, which has no zeros, begins with a network of the start's kind without them."""
    dense = begin = None
    if start is not None:
        until = limits.deadline()
        dense = None if ternary else without_zeros(problem, start.network)
        begin, limits = dense or start.network, limits.until(until)
    clock = Deadline()
    found = descend(problem, ternary=ternary, seconds=limits.seconds, steps=limits.nodes, seed=limits.seed, start=begin)
    message = f"{found.steps} steps" + ("" if found.finished else "; the loss did not reach zero")
    if begin is not None and found.network == begin and found.finished:
        message = AT_ITS_BEST
    if dense is not None and found.network == dense:
        message = "the start with its zeros filled: it reaches the bound"
    result = StageResult.of(
        *("squared-hinge", problem, found.network, rational(found.loss), Fraction(0)),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if found.finished else Outcome.LIMIT,
        message=message,
    )
    return [result]


def rational(loss: float) -> Fraction:
    return Fraction(loss).limit_denominator(10**9)


def silent(problem: Problem) -> Network:
    """A network without links: all its outputs are 0."""
    return Network(tuple(np.zeros(shape, dtype=np.int64) for shape in pairwise(problem.layers)), problem.weight_bound)


def one_answer(problem: Problem) -> Network:
    """A network that always gives the first class, through its biases only."""
    weights = [w.copy() for w in silent(problem).weights]
    weights[-1][-1, 1:] = -problem.weight_bound
    return Network(tuple(weights), problem.weight_bound)


def _value(goal: Objectives, problem: Problem, network: Network) -> Objective | None:
    made = goal(problem)
    value = made.value(network)
    return None if value is None else made.in_report_units(value)


def _icarte(title: str, goal: Objectives, train: Train, *, needs_cp: bool = False, **more: Any) -> System:
    """Integer inputs as they are, weights of -1, 0 and 1, and no links from constant inputs."""
    known: dict[str, Any] = {"paper": "Toro Icarte et al. 2019", "detection": "hidden", "ignores_constant_inputs": True}
    return System(title, train=train, value=partial(_value, goal), needs_cp=needs_cp, **known | more)


def _hubara(title: str, paper: str, ternary: bool) -> System:
    def value(problem: Problem, network: Network) -> Objective:
        return rational(loss(problem, network))

    return System(title, paper, partial(by_gradient, ternary), value)


def _yorke(title: str, goal: Objectives, train: Train) -> System:
    """Inputs of 0..1 with four decimals, and any weight bound."""
    paper, value = "Thorbjarnarson and Yorke-Smith 2023", partial(_value, goal)
    return System(title, paper, train, value, grid=10_000, only_bits=False)


def _yorke_rows(title: str, objective: RowObjective, begin: Callable[[Problem], Network]) -> System:
    return _yorke(title, objective.goal, partial(sum_over_rows, objective, begin))


_MARGINS, _CP_MARGINS = (partial(widest_margins, goal) for goal in (objectives.max_margin, cp_margins))
_MAX = objectives.max_margin

SYSTEMS: Mapping[str, System] = {
    "mip-max-margin": _icarte("MIP max-margin", _MAX, _MARGINS),
    "mip-min-weight": _icarte("MIP min-weight", min_weight_goal, fewest_links),
    "cp-max-margin": _icarte("CP max-margin", cp_margins, partial(by_cp, _CP_MARGINS), needs_cp=True),
    "cp-min-weight": _icarte("CP min-weight", min_weight_goal, partial(by_cp, fewest_links), needs_cp=True),
    "hw": _icarte("HW", _MAX, warm_started, needs_cp=True),
    "ha": _icarte("HA", _MAX, fixed_activations, needs_cp=True),
    "ha-by-class": _icarte(
        *("HA by class", _MAX, by_class),
        needs_cp=True,
        takes_start=False,
        paper="Toro Icarte et al. 2019; first step ours",
    ),
    "gd-b": _hubara("GD_b", "Hubara et al. 2016", False),
    "gd-t": _hubara("GD_t", "Hubara et al. 2016, adapted by Toro Icarte et al. 2019", True),
    "max-correct": _yorke_rows("Max-Correct", MAX_CORRECT, one_answer),
    "min-hinge": _yorke_rows("Min-Hinge", MIN_HINGE, silent),
    "sat-margin": _yorke_rows("Sat-Margin", SAT_MARGIN, silent),
    "min-neurons": _yorke("Sat-Margin, price on neurons", price_on_neurons, with_price_on_neurons),
    "min-neurons-after": _yorke("Sat-Margin, fewest neurons", objectives.min_neurons, fewest_neurons_after),
    "batches": _yorke("Sat-Margin in batches", objectives.sat_margin, train_in_batches),
}
"""All systems, by the name that :class:`bemi_lab.baselines.BaselineClassifier` takes."""
