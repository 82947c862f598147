"""Toro Icarte et al.'s hybrids: constraint programming finds a network, mixed-integer programs enlarge its margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bemi.engines.monolithic import solve_goal
from bemi.engines.start import initial_network
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem, one_hot
from bemi.programs.encoding import Goal
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines import objectives
from bemi_lab.baselines.margins import largest_margins
from bemi_lab.baselines.starts import Start, own_sizes

CP = "cpsat"
"""The solver for constraint programs."""

CP_OPTIONS: dict[str, Any] = {"linearization_level": 0, "symmetry_level": 0, "cp_model_probing_level": 0}
"""No linear relaxation, no search for symmetry, no probing: on ten classes it finds a network in half the time."""

NOT_BY_CLASS = " with one activation for each class, of those that rounding finds a neuron for"
"""Added to the message if activations by class are infeasible: this proves nothing about other networks."""

Margins = Callable[[Problem, Network, Callable[[int], Limits], str], Network]
"""Enlarges all margins of a network for its activations, given limits by the number of neurons left, and a solver."""


def find(goal: Goal, limits: Limits, hint: Network | None = None) -> StageResult:
    """Any feasible network, from constraint programming; the hint itself if it is feasible."""
    return solve_goal(goal, start=hint, limits=limits, solver=CP, **CP_OPTIONS)


def warm_started(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """HW: a network from constraint programming, then margins from there in the remaining time."""
    clock = limits.deadline()
    found = find(objectives.feasible(problem), limits)
    if not found.ran:
        return [found]
    goal = objectives.max_margin(problem)
    return [found, solve_goal(goal, start=found.network, limits=limits.until(clock), solver=solver)]


def fixed_activations(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """HA: a network from constraint programming; then its activations are fixed, and each neuron is its own program."""
    clock = limits.deadline()
    found = find(objectives.feasible(problem), limits)
    if found.network is None:
        return [found]
    return [found, _with_margins(problem, found.network, limits, clock, solver, margins_by_programs)]


def fixed_activations_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """HA from a network: it is constraint programming's hint, and its answer if all rows are right.

    The engine's neuron enlarges the margins.
    """
    clock = limits.deadline()
    found = find(objectives.feasible(problem), limits, start.network)
    if found.network is None:
        return [found]

    def by_engine(problem: Problem, network: Network, share: Callable[[int], Limits], solver: str) -> Network:
        return largest_margins(problem, network, share, solver=solver, program=start.dichotomies.program)

    return [found, _with_margins(problem, found.network, limits, clock, solver, by_engine)]


def by_class(problem: Problem, limits: Limits, solver: str) -> list[StageResult]:
    """HA on classes instead of rows: constraint programming chooses one activation for each class and neuron.

    With one input per class, a first-layer neuron can have any sign on any class.  A network on these few inputs gives
    one on the rows if single neurons can separate the classes in the same way.  Such neurons are found by a linear
    program and rounding; a separation for which none is found is forbidden, and the search continues.
    """
    clock = limits.deadline()
    if not problem.hidden_layers:
        raise ValueError("activations by class need a hidden layer; use HA as it is")
    classes = problem.codes.shape[1]
    codes = one_hot(np.arange(classes), classes)
    sizes = tuple(own_sizes(problem))
    on_classes = Problem(np.eye(classes, dtype=np.int64), codes, sizes, problem.weight_bound).with_biases()
    labels = problem.codes.argmax(axis=1)
    forbidden: list[Integers] = []
    known: dict[bytes, Integers] = {}
    while True:
        settled = find(objectives.feasible(on_classes, forbidden), limits.until(clock))
        if settled.network is None:
            message = settled.message + (NOT_BY_CLASS if settled.outcome is Outcome.INFEASIBLE else "")
            return [replace(settled, seconds=clock.elapsed, rows=len(labels), message=message)]
        signs = sign(settled.network.pre_activations(on_classes.data)[0])
        first = np.zeros(problem.layers[:2], dtype=np.int64)
        failed = len(forbidden)
        for j, wanted in enumerate(signs[:, : sizes[0]].T):
            if wanted.tobytes() not in known:
                neuron = Problem(problem.data, wanted[labels][:, None], (), problem.weight_bound)
                found = initial_network(neuron, clock.left)
                if not neuron.all_right(found):
                    forbidden += [wanted, -wanted]
                    continue
                known[wanted.tobytes()] = found.weights[0][:, 0]
            first[:, j] = known[wanted.tobytes()]
        if len(forbidden) == failed:
            network = Network((first, *settled.network.weights[1:]), problem.weight_bound)
            report = replace(settled, network=network, seconds=clock.elapsed, links=network.links, rows=len(labels))
            return [report, _with_margins(problem, network, limits, clock, solver, margins_by_programs)]


def _with_margins(
    problem: Problem, network: Network, limits: Limits, deadline: Deadline, solver: str, enlarged: Margins
) -> StageResult:
    clock = Deadline()

    def share(neurons: int) -> Limits:
        return limits.until(deadline.share(1 / neurons))

    network = enlarged(problem, network, share, solver)
    goal = objectives.max_margin(problem)
    value = goal.value(network)
    assert value is not None
    return StageResult.of(
        *(goal.name, problem, network, goal.in_report_units(value), goal.in_report_units(goal.trivial)),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if value == goal.trivial else Outcome.LOCAL,
        message="largest margins for these activations, of every neuron whose program was solved in its time",
    )


def margins_by_programs(problem: Problem, network: Network, share: Callable[[int], Limits], solver: str) -> Network:
    """Give every neuron of a network the largest margin that leaves all activations unchanged, by a program for each.

    For given activations, a neuron's margin depends only on its own weights: a layer of one neuron with known inputs
    and output.
    """
    sums = network.pre_activations(problem.data)
    inputs = [problem.data, *(sign(s) for s in sums[:-1])]
    outputs = [*(sign(s) for s in sums[:-1]), problem.codes]
    weights = [w.copy() for w in network.weights]
    neurons = [(layer, j) for layer, size in enumerate([*own_sizes(problem), problem.layers[-1]]) for j in range(size)]
    for done, (layer, j) in enumerate(neurons):
        alone = Problem(inputs[layer], outputs[layer][:, [j]], (), problem.weight_bound)
        start = Network((weights[layer][:, [j]],), problem.weight_bound)
        limits = share(len(neurons) - done)
        result = solve_goal(objectives.max_margin(alone), start=start, limits=limits, solver=solver)
        assert result.network is not None
        weights[layer][:, j] = result.network.weights[0][:, 0]
    return Network(tuple(weights), problem.weight_bound)
