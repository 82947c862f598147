"""Large-neighbourhood search: improves a network part by part, with the same programs and all other weights fixed.

A solver that finds nothing for a whole network in time often does for a layer or a neuron.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from bemi.baselines.objectives import largest_sum
from bemi.engines.monolithic import solve_goal
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.products import Integers
from bemi.programs.encoding import Within
from bemi.programs.goal import Goal
from bemi.programs.limits import Limits
from bemi.stages.result import StageResult

Objective = Callable[..., Goal]
"""Maps a problem, ``within`` (tighter bounds on weights) and ``most`` (the largest sum of an output) to a goal."""

WHOLE_SHARE = 4
"""The whole program gets the time divided by this; it also gives the bound."""

STEPS = 40
"""A neighbourhood may take up to the remaining time divided by this."""

PART_SECONDS = 2.0
"""Seconds that a neighbourhood may always take: some take a second to build."""

LEAST_SECONDS = 0.01
"""The search ends if less time is left for a part."""


def solve(objective: Objective, start: Network, problem: Problem, limits: Limits, solver: str) -> StageResult:
    """Solve the whole program for a while; then improve a network with random hidden layers, part by part.

    Ends when the time is up or no part can be improved.

    Parameters
    ----------
    objective
        The goal.
    start
        A feasible network for the whole program.  The search begins with its outputs on random hidden layers, which
        must be feasible, too.
    problem, limits, solver
        The rows, the limits and the MILP solver.
    """
    clock = limits.deadline()
    goal = objective(problem)
    whole = solve_goal(goal, start=start, limits=limits.until(clock.share(1 / WHOLE_SHARE)), solver=solver)
    if whole.objective == whole.bound or not problem.hidden_layers:
        return whole
    assert whole.network is not None
    rng = np.random.default_rng(limits.seed)
    present = _random_hidden(problem, start, rng)
    best = whole.network
    tried = in_vain = 0
    round_length = 1 + sum(problem.layers[1:])
    for layer, neuron in _parts(problem, rng):
        share = limits.until(clock.share(1 / STEPS, at_least=PART_SECONDS))
        over = share.seconds is not None and share.seconds < LEAST_SECONDS
        if over or in_vain > round_length or goal.value(best) == goal.trivial:
            break
        before, present = present, _improved(objective, problem, present, layer, neuron, share, solver)
        tried += 1
        in_vain = 0 if goal.better(goal.value(present), goal.value(before)) else in_vain + 1
        if goal.better(goal.value(present), goal.value(best)):
            best = present
    value = goal.value(best)
    assert value is not None
    message = f"{tried} parts of the network were solved one after the other"
    return replace(
        whole,
        network=best,
        objective=goal.in_report_units(value),
        links=best.links,
        seconds=clock.elapsed,
        message=message,
    )


def _random_hidden(problem: Problem, outputs: Network, rng: np.random.Generator) -> Network:
    """Hidden layers of random weights under the output layer of a network; constant neurons stay constant."""
    bound = problem.weight_bound
    weights: list[Integers] = []
    for w in outputs.weights[:-1]:
        drawn = rng.integers(-bound, bound, size=w.shape, endpoint=True)
        if problem.biased:
            drawn[:, -1] = 0
        weights.append(drawn)
    weights[0][np.setdiff1d(np.arange(problem.layers[0]), problem.live)] = 0
    return Network((*weights, outputs.weights[-1]), bound)


def _parts(problem: Problem, rng: np.random.Generator) -> Iterator[tuple[int, int | None]]:
    """Outputs one by one, all of them at once, then hidden neurons from the top in random order, repeated forever.

    A part is a layer and one of its neurons, or None for the output layer as a whole.
    """
    last = len(problem.hidden_layers)
    while True:
        yield from ((last, output) for output in range(problem.layers[-1]))
        yield last, None
        for layer in reversed(range(last)):
            for neuron in rng.permutation(problem.hidden_layers[layer] - problem.biased):
                yield layer, int(neuron)


def _improved(
    objective: Objective,
    problem: Problem,
    network: Network,
    layer: int,
    neuron: int | None,
    limits: Limits,
    solver: str,
) -> Network:
    """The network with the best weights into and out of a neuron, or of the output layer if ``neuron`` is None.

    Layers below do not change, so their outputs are data.
    """
    sums = network.pre_activations(problem.data)
    inputs = sign(sums[layer - 1]) if layer else problem.data
    above = replace(problem, data=inputs, hidden_layers=problem.hidden_layers[layer:], uncounted=())
    part = Network(network.weights[layer:], network.weight_bound)
    goal = objective(above, within=_free(part, neuron), most=largest_sum(problem))
    found = solve_goal(goal, start=part, limits=limits, solver=solver).network
    assert found is not None
    return Network((*network.weights[:layer], *found.weights), network.weight_bound)


def _free(network: Network, neuron: int | None) -> Within:
    """Bounds that fix all weights except those into and out of a first-layer neuron; without one, all are free.

    A network of one layer has only outputs, which have no outgoing weights.
    """
    bound = network.weight_bound
    low, high = ([w.copy() for w in network.weights] for _ in range(2))
    for side, end in ((low, -bound), (high, bound)):
        if neuron is None:
            side[0][:] = end
        else:
            side[0][:, neuron] = end
            for out in side[1:2]:
                out[neuron, :] = end
    return low, high
