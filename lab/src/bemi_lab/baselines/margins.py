"""Larger margins for Toro Icarte et al.'s objective: neuron by neuron, and with fewer neurons that split the classes.

For given activations, a neuron's margin depends on its own weights alone.  Over all activations, first-layer margins
dominate the sum, and a neuron that is constant on the rows has a larger one than any that splits them.  So the best
codes are short, and their dichotomies wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bemi.engines.decomposition.neuron import exhaustive
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.monolithic import solve_goal
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi_lab.baselines import objectives
from bemi_lab.baselines.dichotomies import PROPOSALS, best_code, widest_neuron
from bemi_lab.baselines.starts import Detection, Start, network_on_code, own_sizes

FEW_INPUTS = 24
"""Neurons with no more inputs are solved exactly; with more, the engine rounds the linear program."""

LONGEST = 5
"""Codes of up to this many dichotomies more than the fewest are tried."""

_FAST = PROPOSALS  # of a neuron's search in candidates
_PATIENT = 4 * PROPOSALS  # in the final network


def largest_margins(
    problem: Problem,
    network: Network,
    share: Callable[[int], Limits],
    *,
    solver: str = "highs",
    program: NeuronLP | None = None,
    proposals: int = _PATIENT,
) -> Network:
    """Give every neuron of a network that is right the largest margin that leaves all activations unchanged.

    Neurons over many inputs are the engine's: a linear program and a search for integers near it.  Over few inputs the
    neuron is listed, and its small program solved from there.

    Parameters
    ----------
    problem, network
        The rows, and a network that is right on all of them.
    share
        From the number of neurons that are left to the limits of the next one.
    solver
        For the small programs.
    program
        The linear program of first-layer neurons, if there is one already.
    proposals
        Steps of the search for integers.
    """
    sums = network.pre_activations(problem.data)
    inputs = [problem.data, *(sign(s) for s in sums[:-1])]
    outputs = [*(sign(s) for s in sums[:-1]), problem.codes]
    weights = [w.copy() for w in network.weights]
    neurons = [(layer, j) for layer, size in enumerate([*own_sizes(problem), problem.layers[-1]]) for j in range(size)]
    known: dict[bytes, Integers] = {}
    for done, (layer, j) in enumerate(neurons):
        limits = share(len(neurons) - done)
        signs, present = outputs[layer][:, j], weights[layer][:, j]
        if len(problem.live) <= FEW_INPUTS or layer:
            weights[layer][:, j] = _few_inputs(inputs[layer], signs, present, problem.weight_bound, limits, solver)
            continue
        program = program or NeuronLP(problem.data, problem.weight_bound)
        if signs.tobytes() not in known:
            found, _ = widest_neuron(program, signs, start=present, proposals=proposals, deadline=limits.deadline())
            known[signs.tobytes()] = found
        weights[layer][:, j] = _wider(problem, signs, present, known[signs.tobytes()])
    return Network(tuple(weights), problem.weight_bound)


def _wider(problem: Problem, signs: Integers, present: Integers, found: Integers) -> Integers:
    """The better of two neurons with these signs; a found one may lack them."""
    alone = objectives.max_margin(Problem(problem.data, signs[:, None], (), problem.weight_bound))
    before, after = (alone.value(Network((w[:, None],), problem.weight_bound)) for w in (present, found))
    return found if alone.better(after, before) else present


def _few_inputs(
    inputs: Integers, signs: Integers, present: Integers, bound: int, limits: Limits, solver: str
) -> Integers:
    """A neuron over few inputs with the largest margin."""
    rows = np.unique(np.column_stack([inputs, signs]), axis=0)
    alone = Problem(rows[:, :-1], rows[:, -1:], (), bound)
    goal = objectives.max_margin(alone)
    best = Network((present[:, None],), bound)
    listed = exhaustive.neurons(alone.data, alone.codes[:, 0], bound)
    for column in listed.weights.T:
        other = Network((column[:, None],), bound)
        if goal.better(goal.value(other), goal.value(best)):
            best = other
    found = solve_goal(goal, start=best, limits=limits, solver=solver).network
    assert found is not None
    return found.weights[0][:, 0]


def wider_codes(problem: Problem, start: Start, deadline: Deadline, seed: int) -> Iterator[Network]:
    """Networks on codes whose dichotomies and constant neurons together have the widest margins, the shortest first.

    ::

        max  sum_i margin_i + (n_1 - k) M

    over k dichotomies i that give every class its own code, where M is the margin of a constant neuron.
    """
    known, sizes = start.dichotomies, own_sizes(problem)
    if not sizes or not len(known.signs):
        return
    constant = float(known.program.solve(np.ones(len(problem.data), dtype=np.int8)).value)
    fewest = max(1, (problem.codes.shape[1] - 1).bit_length())
    ranked = []
    for length in range(fewest, min(fewest + LONGEST, sizes[0]) + 1):
        prices = (constant - known.margins) / max(1.0, constant)
        chosen = best_code(known.signs, length, distance=1, prices=prices, seed=seed)
        if chosen is not None and not deadline.passed:
            ranked.append((float(prices[chosen].sum()), chosen))
    for _, chosen in sorted(ranked, key=lambda pair: pair[0]):
        neurons = [known.neuron(index, _FAST, deadline) for index in chosen]
        if any(neuron is None for neuron in neurons):
            continue
        weights = np.stack([neuron for neuron in neurons if neuron is not None], axis=1)
        ways: tuple[Detection, ...] = ("hidden", "outputs")
        for detection in ways:
            network = network_on_code(problem, weights, known.signs[chosen], detection)
            if network is not None and problem.all_right(network):
                yield network
                break
