"""The other systems: how each of them trains one network on all classes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from bemi.baselines import objectives
from bemi.baselines.batches import train_in_batches
from bemi.baselines.gradient import descend
from bemi.engines.monolithic import reach
from bemi.engines.result import StageResult
from bemi.network import Network, sign
from bemi.problem import Problem
from bemi.programs.program import Limits
from bemi.programs.stages import Goal, stage_goal

CP = "cpsat"
"""The solver that stands for constraint programming."""

PRICE = 1
"""What a hidden neuron costs, in confidently right outputs, where neurons are minimised by weight."""

Train = Callable[[Problem, Limits, str], list[StageResult]]
"""From a problem, limits for everything together, and a solver for mixed-integer programs, to reports in their order."""


@dataclass(frozen=True)
class System:
    """A system of another paper.

    Attributes
    ----------
    title, paper
        What its authors call it, and who they are.
    train
        How it trains.
    grid
        What the largest input becomes, where inputs are scaled; a bias of 1 is worth as much.  None for inputs as they
        are, and biases of 1.
    only_bits
        Whether weights are in {-1, 0, 1} only.
    needs_cp
        Whether it needs constraint programming.
    """

    title: str
    paper: str
    train: Train
    grid: int | None = None
    only_bits: bool = True
    needs_cp: bool = False


class _Clock:
    """What is left of a time limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began = time.perf_counter()

    def share(self, parts: int = 1) -> Limits:
        """One of so many equal parts of the time that is left."""
        if self._limits.seconds is None:
            return self._limits
        left = self._limits.seconds - (time.perf_counter() - self._began)
        return replace(self._limits, seconds=max(0.0, left) / parts)


def _solve(
    objective: Callable[[Problem], Goal],
    start: Callable[[Problem], Network] | None,
    problem: Problem,
    limits: Limits,
    solver: str,
) -> list[StageResult]:
    """One program, one solver."""
    network = None if start is None else start(problem)
    return [reach(objective(problem), start=network, limits=limits, solver=solver)]


def _solve_by_cp(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, _: str) -> list[StageResult]:
    return _solve(objective, None, problem, limits, CP)


def _warm_started(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """HW: a network from constraint programming, then margins from there with the time that is left."""
    clock = _Clock(limits)
    found = reach(objectives.feasible(problem), start=None, limits=limits, solver=CP)
    if not found.ran:
        return [found]
    return [found, reach(objectives.max_margin(problem), start=found.network, limits=clock.share(), solver=solver)]


def _fixed_activations(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """HA: a network from constraint programming; then its activations stay, and each neuron is a program of its own."""
    clock = _Clock(limits)
    found = reach(objectives.feasible(problem), start=None, limits=limits, solver=CP)
    if not found.ran:
        return [found]
    assert found.network is not None
    began = time.perf_counter()
    network = margins_of_fixed_activations(problem, found.network, clock.share, solver)
    goal = objectives.max_margin(problem)
    rows, seconds = len(problem.data), time.perf_counter() - began
    message = "the margins are the largest for these activations, where every neuron's program was solved in its time"
    value = goal.value(network)
    return [
        found,
        StageResult(goal.name, network, value, goal.trivial, seconds, "certified", network.links, rows, message),
    ]


def margins_of_fixed_activations(
    problem: Problem, network: Network, share: Callable[[int], Limits], solver: str
) -> Network:
    """Give every neuron of a network the largest margin that leaves all activations as they are.

    For given activations a neuron's margin depends on its own weights alone: a layer of one neuron, whose inputs and
    output are known.
    """
    sums = network.pre_activations(problem.data)
    inputs = [problem.data, *(sign(s) for s in sums[:-1])]
    outputs = [*(sign(s) for s in sums[:-1]), problem.codes]
    weights = [w.copy() for w in network.weights]
    hidden = len(problem.hidden_layers)
    neurons = [
        (layer, j)
        for layer, size in enumerate(problem.layers[1:])
        for j in range(size - (problem.biased and layer < hidden))
    ]
    for done, (layer, j) in enumerate(neurons):
        alone = Problem(inputs[layer], outputs[layer][:, [j]], (), problem.weight_bound)
        start = Network((weights[layer][:, [j]],), problem.weight_bound)
        limits = share(len(neurons) - done)
        result = reach(objectives.max_margin(alone), start=start, limits=limits, solver=solver)
        assert result.network is not None
        weights[layer][:, j] = result.network.weights[0][:, 0]
    return Network(tuple(weights), problem.weight_bound)


def _fewest_neurons_after(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """Sat-Margin, then the fewest hidden neurons that keep what it reached."""
    clock = _Clock(limits)
    first = reach(objectives.sat_margin(problem), start=silent(problem), limits=clock.share(2), solver=solver)
    assert first.network is not None
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    return [first, reach(goal, start=first.network, limits=clock.share(), solver=solver)]


def _by_gradient(ternary: bool, problem: Problem, limits: Limits, _: str) -> list[StageResult]:
    found = descend(problem, ternary=ternary, seconds=limits.seconds, steps=limits.nodes, seed=limits.seed)
    loss, network = Fraction(found.loss).limit_denominator(10**9), found.network
    message = f"{found.steps} steps" + ("" if found.finished else "; the loss did not reach zero")
    rows = len(problem.data)
    result = StageResult(
        "squared-hinge", network, loss, Fraction(0), found.seconds, "certified", network.links, rows, message
    )
    return [result]


def silent(problem: Problem) -> Network:
    """A network without links: all its outputs are 0."""
    shapes = zip(problem.layers, problem.layers[1:], strict=False)
    return Network(tuple(np.zeros(shape, dtype=np.int64) for shape in shapes), problem.weight_bound)


def one_answer(problem: Problem) -> Network:
    """A network that always gives the first class, by its biases alone."""
    weights = [w.copy() for w in silent(problem).weights]
    weights[-1][-1, 1:] = -problem.weight_bound
    return Network(tuple(weights), problem.weight_bound)


_ICARTE = "Toro Icarte et al. 2019"
_YORKE = "Thorbjarnarson and Yorke-Smith 2023"
_HUBARA = "Hubara et al. 2016"
_DECIMALS = 10_000

SYSTEMS: Mapping[str, System] = {
    "mip-max-margin": System("MIP max-margin", _ICARTE, partial(_solve, objectives.max_margin, None)),
    "mip-min-weight": System("MIP min-weight", _ICARTE, partial(_solve, partial(stage_goal, "mw"), None)),
    "cp-max-margin": System(
        "CP max-margin", _ICARTE, partial(_solve_by_cp, partial(objectives.max_margin, step=0)), needs_cp=True
    ),
    "cp-min-weight": System("CP min-weight", _ICARTE, partial(_solve_by_cp, partial(stage_goal, "mw")), needs_cp=True),
    "hw": System("HW", _ICARTE, _warm_started, needs_cp=True),
    "ha": System("HA", _ICARTE, _fixed_activations, needs_cp=True),
    "gd-b": System("GD_b", _HUBARA, partial(_by_gradient, False)),
    "gd-t": System("GD_t", f"{_HUBARA}, adapted by {_ICARTE}", partial(_by_gradient, True)),
    "max-correct": System(
        "Max-Correct", _YORKE, partial(_solve, objectives.max_correct, one_answer), _DECIMALS, only_bits=False
    ),
    "min-hinge": System(
        "Min-Hinge", _YORKE, partial(_solve, objectives.min_hinge, silent), _DECIMALS, only_bits=False
    ),
    "sat-margin": System(
        "Sat-Margin", _YORKE, partial(_solve, objectives.sat_margin, silent), _DECIMALS, only_bits=False
    ),
    "min-neurons": System(
        "Sat-Margin and fewest neurons, weighted",
        _YORKE,
        partial(_solve, partial(objectives.min_neurons, price=PRICE), silent),
        _DECIMALS,
        only_bits=False,
    ),
    "min-neurons-after": System(
        "Sat-Margin, then fewest neurons", _YORKE, _fewest_neurons_after, _DECIMALS, only_bits=False
    ),
    "batches": System("Sat-Margin in batches", _YORKE, train_in_batches, _DECIMALS, only_bits=False),
}
"""All systems, by the name that :class:`bemi.baselines.BaselineClassifier` takes."""
