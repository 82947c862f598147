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
from bemi.programs.stages import StageProgram
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines import objectives, smaller
from bemi_lab.baselines.gradient import descend, loss, without_zeros
from bemi_lab.baselines.improvement import AT_ITS_BEST, improved, improved_neurons, report, train_in_batches
from bemi_lab.baselines.margins import CP, by_class, fixed_activations, warm_started, widest_margins
from bemi_lab.baselines.objectives import MAX_CORRECT, MIN_HINGE, SAT_MARGIN, RowObjective
from bemi_lab.baselines.starts import Detection, Start

PRICE = 1
"""Cost of a hidden neuron, in confidently right outputs, in the weighted objective."""


class Train(Protocol):
    """Maps a problem, overall limits and a MILP solver to reports in order: as published, or from a start."""

    def __call__(
        self, problem: Problem, limits: Limits, solver: str, start: Start | None = None
    ) -> list[StageResult]: ...


@dataclass(frozen=True)
class System:
    """A system of another paper.

    Examples
    --------
    >>> from bemi_lab import baselines
    >>> baselines.SYSTEMS["min-hinge"].title
    'Min-Hinge'
    """

    title: str  # the name its authors give it
    paper: str
    train: Train
    goal: Callable[[Problem], Goal]  # its objective, which also rates the network that it starts from
    takes_start: bool = True  # it can also begin with a network that fits all rows
    detection: Detection = "outputs"  # where that network detects the classes
    grid: int | None = None  # value of the largest input, and of the constant one for biases, if inputs are scaled
    only_bits: bool = True  # weights are in {-1, 0, 1}
    needs_cp: bool = False  # it needs constraint programming
    ignores_constant_inputs: bool = False  # that are the same in all rows, be they zero or not

    def value(self, problem: Problem, network: Network) -> Objective | None:
        """The objective of a network, None if it is not feasible.

        Examples
        --------
        >>> from bemi import Network
        >>> from bemi.problem.problem import Problem
        >>> import numpy as np
        >>> problem = Problem(np.array([[1, 0], [0, 1]]), np.array([[1, -1], [-1, 1]]), (), 1)
        >>> baselines.SYSTEMS["max-correct"].value(problem, Network((np.array([[1, -1], [-1, 1]]),)))
        2
        """
        goal = self.goal(problem)
        value = goal.value(network)
        return None if value is None else goal.in_report_units(value)


@dataclass(frozen=True)
class Program:
    """A system that solves one program; from a start it tries the networks that are ``made`` of it first.

    As published, the program begins with the network of ``begin``, if there is one.
    """

    goal: Callable[[Problem], Goal]
    made: Callable[[Problem, Start, Deadline, Limits], Iterator[Network]]
    begin: Callable[[Problem], Network] | None = None

    def __call__(self, problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
        goal, clock = self.goal(problem), limits.deadline()
        if start is None:
            begin = None if self.begin is None else self.begin(problem)
            return [solve_goal(goal, start=begin, limits=limits, solver=solver)]
        assert start.network is not None
        return [improved(goal, start.network, self.made(problem, start, clock, limits), limits, clock, solver)]


def by_cp(train: Train, problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
    """The same system by constraint programming."""
    return train(problem, limits, CP, start)


def cp_margins(problem: Problem) -> Goal:
    return objectives.max_margin(problem, step=Fraction(0))


def fewer_links(problem: Problem, start: Start, clock: Deadline, limits: Limits) -> Iterator[Network]:
    """The start without links that it can lose, then short codes of neurons with few links."""
    assert start.network is not None
    yield smaller.fewest_links(problem, start.network, clock.share(1 / 8), limits.seed)
    for other in smaller.thinner_codes(problem, start, clock.share(1 / 2), limits.seed):
        yield smaller.fewest_links(problem, other, clock.share(1 / 4), limits.seed)


def sum_over_rows(objective: RowObjective, begin: Callable[[Problem], Network]) -> Program:
    """A program that always has a network, though a poor one; from a start neuron by neuron."""

    def made(problem: Problem, start: Start, clock: Deadline, limits: Limits) -> Iterator[Network]:
        assert start.network is not None
        return improved_neurons(objective.values(problem), problem, start.network, clock, limits.seed)

    return Program(objective.goal, made, begin)


def price_on_neurons(problem: Problem) -> Goal:
    return objectives.min_neurons(problem, price=PRICE)


def smaller_networks(problem: Problem, start: Start, clock: Deadline, limits: Limits) -> Iterator[Network]:
    """Smaller networks that are fully confident."""
    return smaller.smaller_networks(problem, start, clock, limits.seed)


def fewest_neurons_after(
    problem: Problem, limits: Limits, solver: str, start: Start | None = None
) -> list[StageResult]:
    """Sat-Margin, then the fewest hidden neurons that preserve its result."""
    clock = limits.deadline()
    (first,) = MOST_CONFIDENT(problem, limits.until(clock.share(1 / 2)), solver, start)
    assert first.network is not None
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    if start is None:
        return [first, solve_goal(goal, start=first.network, limits=limits.until(clock), solver=solver)]
    made = smaller_networks(problem, start, clock, limits)
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
    goal = squared_hinge(problem)
    outcome = Outcome.OPTIMAL if found.finished else Outcome.LIMIT
    return [report(goal, found.network, clock, message, outcome)]


def squared_hinge(problem: Problem) -> Goal:
    """The loss of gradient descent, which no program minimises."""

    def value(network: Network) -> Fraction:
        return Fraction(loss(problem, network)).limit_denominator(10**9)

    return Goal("squared-hinge", problem, False, _no_program, value, trivial=0, rational=True)


def _no_program() -> StageProgram:
    raise AssertionError("gradient descent has no program")


def silent(problem: Problem) -> Network:
    """A network without links: all its outputs are 0."""
    return Network(tuple(np.zeros(shape, dtype=np.int64) for shape in pairwise(problem.layers)), problem.weight_bound)


def one_answer(problem: Problem) -> Network:
    """A network that always gives the first class, through its biases only."""
    weights = [w.copy() for w in silent(problem).weights]
    weights[-1][-1, 1:] = -problem.weight_bound
    return Network(tuple(weights), problem.weight_bound)


ICARTE: dict[str, Any] = {"paper": "Toro Icarte et al. 2019", "detection": "hidden", "ignores_constant_inputs": True}
"""Integer inputs as they are, weights of -1, 0 and 1, and no links from constant inputs."""

YORKE: dict[str, Any] = {"paper": "Thorbjarnarson and Yorke-Smith 2023", "grid": 10_000, "only_bits": False}
"""Inputs of 0..1 with four decimals, and any weight bound."""

HUBARA = "Hubara et al. 2016"


def _rows(title: str, objective: RowObjective, begin: Callable[[Problem], Network]) -> System:
    return System(title, train=sum_over_rows(objective, begin), goal=objective.goal, **YORKE)


_MARGINS, _CP_MARGINS = (partial(widest_margins, goal) for goal in (objectives.max_margin, cp_margins))
_LINKS, _MAX = Program(min_weight_goal, fewer_links), objectives.max_margin
MOST_CONFIDENT = sum_over_rows(SAT_MARGIN, silent)
PRICED = Program(price_on_neurons, smaller_networks, silent)
BY_CLASS = ICARTE | {"paper": "Toro Icarte et al. 2019; first step ours", "takes_start": False}
WITH_CP = ICARTE | {"needs_cp": True}

SYSTEMS: Mapping[str, System] = {
    "mip-max-margin": System("MIP max-margin", train=_MARGINS, goal=_MAX, **ICARTE),
    "mip-min-weight": System("MIP min-weight", train=_LINKS, goal=min_weight_goal, **ICARTE),
    "cp-max-margin": System("CP max-margin", train=partial(by_cp, _CP_MARGINS), goal=cp_margins, **WITH_CP),
    "cp-min-weight": System("CP min-weight", train=partial(by_cp, _LINKS), goal=min_weight_goal, **WITH_CP),
    "hw": System("HW", train=warm_started, goal=_MAX, **WITH_CP),
    "ha": System("HA", train=fixed_activations, goal=_MAX, **WITH_CP),
    "ha-by-class": System("HA by class", train=by_class, goal=_MAX, **WITH_CP | BY_CLASS),
    "gd-b": System("GD_b", HUBARA, partial(by_gradient, False), squared_hinge),
    "gd-t": System("GD_t", f"{HUBARA}, adapted by Toro Icarte et al. 2019", partial(by_gradient, True), squared_hinge),
    "max-correct": _rows("Max-Correct", MAX_CORRECT, one_answer),
    "min-hinge": _rows("Min-Hinge", MIN_HINGE, silent),
    "sat-margin": _rows("Sat-Margin", SAT_MARGIN, silent),
    "min-neurons": System("Sat-Margin, price on neurons", train=PRICED, goal=price_on_neurons, **YORKE),
    "min-neurons-after": System(
        "Sat-Margin, fewest neurons", train=fewest_neurons_after, goal=objectives.min_neurons, **YORKE
    ),
    "batches": System("Sat-Margin in batches", train=train_in_batches, goal=objectives.sat_margin, **YORKE),
}
"""All systems, by the name that :class:`bemi_lab.baselines.BaselineClassifier` takes."""
