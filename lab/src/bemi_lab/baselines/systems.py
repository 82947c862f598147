"""The other systems: how each of them trains one network on all classes, alone and from a written-down network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice, pairwise

import numpy as np

from bemi.engines.monolithic import min_weight_goal, solve_goal
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.measures import Objective
from bemi.problem.problem import Problem
from bemi.programs.goal import Goal
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines import margins, objectives, smaller
from bemi_lab.baselines.gradient import descend, loss, without_zeros
from bemi_lab.baselines.improvement import AT_ITS_BEST, improved, improved_neurons, train_in_batches
from bemi_lab.baselines.margins import CP, CP_OPTIONS, find
from bemi_lab.baselines.objectives import MAX_CORRECT, MIN_HINGE, SAT_MARGIN, RowObjective
from bemi_lab.baselines.starts import Detection, Start

PRICE = 1
"""Cost of a hidden neuron, in confidently right outputs, in the weighted objective."""


def solve(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    return [solve_goal(objective(problem), start=None, limits=limits, solver=solver)]


def solve_by_cp(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, _: str) -> list[StageResult]:
    return solve(objective, problem, limits, CP)


def solve_from(
    objective: RowObjective, begin: Callable[[Problem], Network], problem: Problem, limits: Limits, solver: str
) -> list[StageResult]:
    """One program that always has a network, though a poor one."""
    return [solve_goal(objective.goal(problem), start=begin(problem), limits=limits, solver=solver)]


def price_on_neurons(problem: Problem) -> Goal:
    return objectives.min_neurons(problem, price=PRICE)


def solve_with_price_on_neurons(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    return [solve_goal(price_on_neurons(problem), start=silent(problem), limits=limits, solver=solver)]


def neurons_alone(problem: Problem) -> Goal:
    return objectives.min_neurons(problem)


def fewest_neurons_after(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """Sat-Margin, then the fewest hidden neurons that preserve its result."""
    clock = limits.deadline()
    half = limits.until(clock.share(1 / 2))
    first = solve_goal(objectives.sat_margin(problem), start=silent(problem), limits=half, solver=solver)
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    return [first, solve_goal(goal, start=first.network, limits=limits.until(clock), solver=solver)]


def by_gradient(
    ternary: bool, problem: Problem, limits: Limits, _: str, *, start: Network | None = None
) -> list[StageResult]:
    clock = Deadline()
    found = descend(problem, ternary=ternary, seconds=limits.seconds, steps=limits.nodes, seed=limits.seed, start=start)
    reached, network = rational(found.loss), found.network
    message = f"{found.steps} steps" + ("" if found.finished else "; the loss did not reach zero")
    result = StageResult.of(
        *("squared-hinge", problem, network, reached, Fraction(0)),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if found.finished else Outcome.LIMIT,
        message=AT_ITS_BEST if network == start and found.finished else message,
    )
    return [result]


def rational(loss: float) -> Fraction:
    return Fraction(loss).limit_denominator(10**9)


def cp_margins(problem: Problem) -> Goal:
    return objectives.max_margin(problem, step=Fraction(0))


def silent(problem: Problem) -> Network:
    """A network without links: all its outputs are 0."""
    return Network(tuple(np.zeros(shape, dtype=np.int64) for shape in pairwise(problem.layers)), problem.weight_bound)


def one_answer(problem: Problem) -> Network:
    """A network that always gives the first class, through its biases only."""
    weights = [w.copy() for w in silent(problem).weights]
    weights[-1][-1, 1:] = -problem.weight_bound
    return Network(tuple(weights), problem.weight_bound)


CODES = 3
"""Codes that are tried for larger margins, after the one of the start."""


def margins_of(
    objective: Callable[[Problem], Goal], problem: Problem, start: Start, limits: Limits, solver: str
) -> list[StageResult]:
    """Larger margins: neuron by neuron for the activations of the start, then of codes with wide dichotomies."""
    clock = limits.deadline()
    assert start.network is not None

    def enlarged(network: Network, share_of_time: float) -> Network:
        part = clock.share(share_of_time)

        def share(neurons: int) -> Limits:
            return limits.until(part.share(1 / neurons))

        return margins.largest_margins(problem, network, share, program=start.dichotomies.program)

    def made(network: Network) -> Iterator[Network]:
        yield enlarged(network, 1 / (CODES + 2))
        codes = margins.wider_codes(problem, start, clock, limits.seed)
        for number, other in enumerate(islice(codes, CODES)):
            yield enlarged(other, 1 / (CODES + 1 - number))

    native = CP_OPTIONS if solver == CP else {}
    return [improved(objective(problem), start.network, made(start.network), limits, clock, solver, **native)]


def margins_by_cp(problem: Problem, start: Start, limits: Limits, _: str) -> list[StageResult]:
    return margins_of(cp_margins, problem, start, limits, CP)


def links_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """Fewer links: of the start's neurons, then of short codes of neurons with few links."""
    clock = limits.deadline()
    assert start.network is not None

    def made(network: Network) -> Iterator[Network]:
        yield smaller.fewest_links(problem, network, clock.share(1 / 8), limits.seed)
        for other in smaller.thinner_codes(problem, start, clock.share(1 / 2), limits.seed):
            yield smaller.fewest_links(problem, other, clock.share(1 / 4), limits.seed)

    return [improved(min_weight_goal(problem), start.network, made(start.network), limits, clock, solver)]


def links_by_cp(problem: Problem, start: Start, limits: Limits, _: str) -> list[StageResult]:
    return links_of(problem, start, limits, CP)


def warm_started_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """HW with the start as the hint of its first step."""
    clock = limits.deadline()
    found = find(objectives.feasible(problem), limits, start.network)
    return [found, *margins_of(objectives.max_margin, problem, start, limits.until(clock), solver)]


def rows_of(objective: RowObjective, problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """An objective that is a sum over rows, neuron by neuron."""
    clock = limits.deadline()
    assert start.network is not None
    made = improved_neurons(objective.values(problem), problem, start.network, clock, limits.seed)
    return [improved(objective.goal(problem), start.network, made, limits, clock, solver)]


def neurons_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """Sat-Margin with a price on neurons: smaller networks that are fully confident."""
    clock = limits.deadline()
    assert start.network is not None
    made = smaller.smaller_networks(problem, start, clock, limits.seed)
    return [improved(price_on_neurons(problem), start.network, made, limits, clock, solver)]


def fewest_neurons_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    clock = limits.deadline()
    (first,) = rows_of(SAT_MARGIN, problem, start, limits.until(clock.share(1 / 2)), solver)
    assert first.network is not None
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    made = smaller.smaller_networks(problem, start, clock, limits.seed)
    return [first, improved(goal, first.network, made, limits.until(clock), clock, solver)]


def batches_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    return train_in_batches(problem, limits, solver, start.network)


def gradient_of(ternary: bool, problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """Gradient descent from the start; GD_b, which has no zeros, from a network of the same kind without them."""
    clock = limits.deadline()
    dense = None if ternary else without_zeros(problem, start.network)
    (report,) = by_gradient(ternary, problem, limits.until(clock), solver, start=dense or start.network)
    if dense is not None and report.network == dense:
        report = replace(report, message="the start with its zeros filled: it reaches the bound")
    return [report]


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
        return rational(loss(problem, network))

    return System(title, paper, partial(by_gradient, ternary), partial(gradient_of, ternary), value)


def _yorke(title: str, goal: Callable[[Problem], Goal], train: Train, train_from: TrainFrom) -> System:
    """Inputs of 0..1 with four decimals, and any weight bound."""
    value = partial(_value, goal)
    return System(
        *(title, "Thorbjarnarson and Yorke-Smith 2023", train, train_from, value), grid=10_000, only_bits=False
    )


def _yorke_rows(title: str, objective: RowObjective, begin: Callable[[Problem], Network]) -> System:
    train = partial(solve_from, objective, begin)
    return _yorke(title, objective.goal, train, partial(rows_of, objective))


_MARGINS, _SAT = objectives.max_margin, objectives.sat_margin

SYSTEMS: Mapping[str, System] = {
    "mip-max-margin": _icarte("MIP max-margin", _MARGINS, partial(solve, _MARGINS), partial(margins_of, _MARGINS)),
    "mip-min-weight": _icarte("MIP min-weight", min_weight_goal, partial(solve, min_weight_goal), links_of),
    "cp-max-margin": _icarte(
        "CP max-margin",
        cp_margins,
        partial(solve_by_cp, cp_margins),
        margins_by_cp,
        needs_cp=True,
    ),
    "cp-min-weight": _icarte(
        "CP min-weight",
        min_weight_goal,
        partial(solve_by_cp, min_weight_goal),
        links_by_cp,
        needs_cp=True,
    ),
    "hw": _icarte("HW", _MARGINS, margins.warm_started, warm_started_of, needs_cp=True),
    "ha": _icarte("HA", _MARGINS, margins.fixed_activations, margins.fixed_activations_of, needs_cp=True),
    "ha-by-class": _icarte(
        *("HA by class", _MARGINS, margins.by_class, None),
        paper="Toro Icarte et al. 2019; first step ours",
        needs_cp=True,
    ),
    "gd-b": _hubara("GD_b", "Hubara et al. 2016", False),
    "gd-t": _hubara("GD_t", "Hubara et al. 2016, adapted by Toro Icarte et al. 2019", True),
    "max-correct": _yorke_rows("Max-Correct", MAX_CORRECT, one_answer),
    "min-hinge": _yorke_rows("Min-Hinge", MIN_HINGE, silent),
    "sat-margin": _yorke_rows("Sat-Margin", SAT_MARGIN, silent),
    "min-neurons": _yorke(
        "Sat-Margin, price on neurons",
        price_on_neurons,
        solve_with_price_on_neurons,
        neurons_of,
    ),
    "min-neurons-after": _yorke(
        "Sat-Margin, fewest neurons",
        neurons_alone,
        fewest_neurons_after,
        fewest_neurons_of,
    ),
    "batches": _yorke("Sat-Margin in batches", _SAT, train_in_batches, batches_of),
}
"""All systems, by the name that :class:`bemi_lab.baselines.BaselineClassifier` takes."""
