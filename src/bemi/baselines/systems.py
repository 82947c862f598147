"""The other systems: how each of them trains one network on all classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np

from bemi.baselines import neighbourhoods, objectives
from bemi.baselines.batches import train_in_batches
from bemi.baselines.gradient import descend
from bemi.baselines.hybrids import CP, by_class, fixed_activations, warm_started
from bemi.baselines.neighbourhoods import Objective
from bemi.engines.monolithic import min_weight_goal, solve_goal
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.programs.goal import Goal
from bemi.programs.limits import Deadline, Limits
from bemi.stages.result import Outcome, StageResult

PRICE = 1
"""Cost of a hidden neuron, in confidently right outputs, in the weighted objective."""

Train = Callable[[Problem, Limits, str], list[StageResult]]
"""Maps a problem, overall limits and a MILP solver to reports in order."""


@dataclass(frozen=True)
class System:
    """A system of another paper.

    Attributes
    ----------
    title, paper
        The name its authors give it, and their paper.
    train
        The training function.
    grid
        Value of the largest input, and of the constant input for biases, if inputs are scaled.  None for unscaled
        inputs and a constant input of 1.
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


def _solve(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """One program, one solver."""
    return [solve_goal(objective(problem), start=None, limits=limits, solver=solver)]


def _in_parts(
    objective: Objective, start: Callable[[Problem], Network], problem: Problem, limits: Limits, solver: str
) -> list[StageResult]:
    return [neighbourhoods.solve(objective, start(problem), problem, limits, solver)]


def _solve_by_cp(objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, _: str) -> list[StageResult]:
    return _solve(objective, problem, limits, CP)


def _fewest_neurons_after(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """Sat-Margin, then the fewest hidden neurons that preserve its result."""
    clock = limits.deadline()
    (first,) = _in_parts(objectives.sat_margin, silent, problem, limits.until(clock.share(1 / 2)), solver)
    assert first.network is not None
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    return [first, solve_goal(goal, start=first.network, limits=limits.until(clock), solver=solver)]


def _by_gradient(ternary: bool, problem: Problem, limits: Limits, _: str) -> list[StageResult]:
    clock = Deadline()
    found = descend(problem, ternary=ternary, seconds=limits.seconds, steps=limits.nodes, seed=limits.seed)
    loss, network = Fraction(found.loss).limit_denominator(10**9), found.network
    message = f"{found.steps} steps" + ("" if found.finished else "; the loss did not reach zero")
    result = StageResult.of(
        *("squared-hinge", problem, network, loss, Fraction(0)),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if found.finished else Outcome.LIMIT,
        message=message,
    )
    return [result]


def silent(problem: Problem) -> Network:
    """A network without links: all its outputs are 0."""
    return Network(tuple(np.zeros(shape, dtype=np.int64) for shape in pairwise(problem.layers)), problem.weight_bound)


def one_answer(problem: Problem) -> Network:
    """A network that always gives the first class, through its biases only."""
    weights = [w.copy() for w in silent(problem).weights]
    weights[-1][-1, 1:] = -problem.weight_bound
    return Network(tuple(weights), problem.weight_bound)


_ICARTE = "Toro Icarte et al. 2019"
_HUBARA = "Hubara et al. 2016"


def _yorke(title: str, train: Train) -> System:
    """Inputs of 0..1 with four decimals, and any weight bound."""
    return System(title, "Thorbjarnarson and Yorke-Smith 2023", train, grid=10_000, only_bits=False)


SYSTEMS: Mapping[str, System] = {
    "mip-max-margin": System("MIP max-margin", _ICARTE, partial(_solve, objectives.max_margin)),
    "mip-min-weight": System("MIP min-weight", _ICARTE, partial(_solve, min_weight_goal)),
    "cp-max-margin": System(
        "CP max-margin", _ICARTE, partial(_solve_by_cp, partial(objectives.max_margin, step=Fraction(0))), needs_cp=True
    ),
    "cp-min-weight": System("CP min-weight", _ICARTE, partial(_solve_by_cp, min_weight_goal), needs_cp=True),
    "hw": System("HW", _ICARTE, warm_started, needs_cp=True),
    "ha": System("HA", _ICARTE, fixed_activations, needs_cp=True),
    "ha-by-class": System("HA by class", f"{_ICARTE}; first step ours", by_class, needs_cp=True),
    "gd-b": System("GD_b", _HUBARA, partial(_by_gradient, False)),
    "gd-t": System("GD_t", f"{_HUBARA}, adapted by {_ICARTE}", partial(_by_gradient, True)),
    "max-correct": _yorke("Max-Correct", partial(_in_parts, objectives.max_correct, one_answer)),
    "min-hinge": _yorke("Min-Hinge", partial(_in_parts, objectives.min_hinge, silent)),
    "sat-margin": _yorke("Sat-Margin", partial(_in_parts, objectives.sat_margin, silent)),
    "min-neurons": _yorke(
        "Sat-Margin, price on neurons", partial(_in_parts, partial(objectives.min_neurons, price=PRICE), silent)
    ),
    "min-neurons-after": _yorke("Sat-Margin, fewest neurons", _fewest_neurons_after),
    "batches": _yorke("Sat-Margin in batches", train_in_batches),
}
"""All systems, by the name that :class:`bemi.baselines.BaselineClassifier` takes."""
