"""Toro Icarte et al.'s margins: their hybrids of constraint and mixed-integer programming, and the engine's margins.

In a hybrid, constraint programming finds a network, and mixed-integer programs enlarge its margins.

For given activations, a neuron's margin depends on its own weights alone.  Over all activations, first-layer margins
dominate the sum, and a neuron that is constant on the rows has a larger one than any that splits them.  So the best
codes are short, and their dichotomies wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.monolithic import solve_goal
from bemi.engines.start import initial_network
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem, one_hot
from bemi.programs.encoding import Goal
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines.improvement import improved, report
from bemi_lab.baselines.objectives import feasible, max_margin
from bemi_lab.baselines.starts import (
    PROPOSALS,
    Start,
    best_code,
    fewest_signs,
    networks_on_code,
    own_sizes,
    signals,
    widest_neuron,
)

FEW_INPUTS = 24
"""Neurons with no more inputs are solved exactly; with more, the engine rounds the linear program."""

CODES = 3
"""Codes that are tried for larger margins, after the one of the start."""

LONGEST = 5
"""Codes of up to this many dichotomies more than the fewest are tried."""

_PATIENT = 4 * PROPOSALS  # in the final network


Improve = Callable[[int, Integers, Integers, Integers, Limits], Integers]
"""From a layer, inputs of a neuron, its signs on the rows, its weights and limits to better weights."""


def _neuron_by_neuron(problem: Problem, network: Network, share: Callable[[int], Limits], improve: Improve) -> Network:
    """Better weights for every neuron of a network that is right, with all activations unchanged.

    ``share`` gives the limits of the next neuron, by the number of neurons that are left.
    """
    weights, layers = [w.copy() for w in network.weights], list(signals(problem, network))
    neurons = [(layer, j) for layer, size in enumerate([*own_sizes(problem), problem.layers[-1]]) for j in range(size)]
    for done, (layer, j) in enumerate(neurons):
        (inputs, signs), column = layers[layer], weights[layer][:, j]
        weights[layer][:, j] = improve(layer, inputs, signs[:, j], column, share(len(neurons) - done))
    return Network(tuple(weights), problem.weight_bound)


def _by_program(
    inputs: Integers, signs: Integers, present: Integers, bound: int, limits: Limits, solver: str
) -> Integers:
    """The neuron of the largest margin with these signs, by its own program, from the present one."""
    rows = np.unique(np.column_stack([inputs, signs]), axis=0)
    goal = max_margin(Problem(rows[:, :-1], rows[:, -1:], (), bound))
    found = solve_goal(goal, start=Network((present[:, None],), bound), limits=limits, solver=solver).network
    assert found is not None
    return found.weights[0][:, 0]


def margins_by_programs(problem: Problem, network: Network, share: Callable[[int], Limits], solver: str) -> Network:
    """Give every neuron the largest margin that leaves all activations unchanged, by a program for each."""

    def improve(layer: int, inputs: Integers, signs: Integers, present: Integers, limits: Limits) -> Integers:
        return _by_program(inputs, signs, present, problem.weight_bound, limits, solver)

    return _neuron_by_neuron(problem, network, share, improve)


def largest_margins(
    problem: Problem,
    network: Network,
    share: Callable[[int], Limits],
    *,
    solver: str = "highs",
    program: NeuronLP | None = None,
    proposals: int = _PATIENT,
) -> Network:
    """The same by the engine: over many inputs by a linear program, which may be given, and integers near it."""
    known: dict[bytes, Integers] = {}

    def improve(layer: int, inputs: Integers, signs: Integers, present: Integers, limits: Limits) -> Integers:
        nonlocal program
        if len(problem.live) <= FEW_INPUTS or layer:
            return _by_program(inputs, signs, present, problem.weight_bound, limits, solver)
        program = program or NeuronLP(problem.data, problem.weight_bound)
        if signs.tobytes() not in known:
            weights, _ = widest_neuron(program, signs, start=present, proposals=proposals, deadline=limits.deadline())
            known[signs.tobytes()] = weights
        return _wider(problem, signs, present, known[signs.tobytes()])

    return _neuron_by_neuron(problem, network, share, improve)


def _wider(problem: Problem, signs: Integers, present: Integers, found: Integers) -> Integers:
    """The better of two neurons with these signs; a found one may lack them."""
    alone = max_margin(Problem(problem.data, signs[:, None], (), problem.weight_bound))
    before, after = (alone.value(Network((w[:, None],), problem.weight_bound)) for w in (present, found))
    return found if alone.better(after, before) else present


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
    fewest = fewest_signs(problem)
    ranked = []
    for length in range(fewest, min(fewest + LONGEST, sizes[0]) + 1):
        prices = (constant - known.margins) / max(1.0, constant)
        chosen = best_code(known.signs, length, distance=1, prices=prices, seed=seed)
        if chosen is not None and not deadline.passed:
            ranked.append((float(prices[chosen].sum()), chosen))
    for _, chosen in sorted(ranked, key=lambda pair: pair[0]):
        weights = known.weights(chosen, deadline)
        if weights is not None:
            yield from islice(networks_on_code(problem, weights, known.signs[chosen]), 1)


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


def widest_margins(
    objective: Callable[[Problem], Goal], problem: Problem, limits: Limits, solver: str, start: Start | None = None
) -> list[StageResult]:
    """Margins by one program; from a start neuron by neuron, for its activations and those of codes with wide
    dichotomies."""
    if start is None:
        return [solve_goal(objective(problem), start=None, limits=limits, solver=solver)]
    clock, program = limits.deadline(), start.dichotomies.program
    assert start.network is not None

    def enlarged(network: Network, share_of_time: float) -> Network:
        part = clock.share(share_of_time)
        return largest_margins(problem, network, lambda n: limits.until(part.share(1 / n)), program=program)

    def made(network: Network) -> Iterator[Network]:
        yield enlarged(network, 1 / (CODES + 2))
        codes = wider_codes(problem, start, clock, limits.seed)
        for number, other in enumerate(islice(codes, CODES)):
            yield enlarged(other, 1 / (CODES + 1 - number))

    native = CP_OPTIONS if solver == CP else {}
    return [improved(objective(problem), start.network, made(start.network), limits, clock, solver, **native)]


def warm_started(problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
    """HW: a network from constraint programming, whose hint is the start, then margins in the remaining time."""
    clock = limits.deadline()
    found = find(feasible(problem), limits, None if start is None else start.network)
    if start is not None:
        return [found, *widest_margins(max_margin, problem, limits.until(clock), solver, start)]
    if not found.ran:
        return [found]
    goal = max_margin(problem)
    return [found, solve_goal(goal, start=found.network, limits=limits.until(clock), solver=solver)]


def fixed_activations(problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
    """HA: a network from constraint programming; then its activations are fixed, and each neuron is its own program.

    A start is constraint programming's hint, and its answer if all rows are right; the engine enlarges its margins.
    """
    clock = limits.deadline()
    found = find(feasible(problem), limits, None if start is None else start.network)
    if found.network is None:
        return [found]
    enlarge: Margins = margins_by_programs
    if start is not None:
        enlarge = partial(_by_engine, start.dichotomies.program)
    return [found, _with_margins(problem, found.network, limits, clock, solver, enlarge)]


def _by_engine(
    program: NeuronLP, problem: Problem, network: Network, share: Callable[[int], Limits], solver: str
) -> Network:
    return largest_margins(problem, network, share, solver=solver, program=program)


def by_class(problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
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
        settled = find(feasible(on_classes, forbidden), limits.until(clock))
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
    words = "largest margins for these activations, of every neuron whose program was solved in its time"
    return report(max_margin(problem), network, clock, words)
