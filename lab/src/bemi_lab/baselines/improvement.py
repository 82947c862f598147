"""From a network to a better one: whole neurons, one after the other, then the whole program if it is small.

Objectives that are sums over rows fall apart.  With all other neurons fixed, a hidden neuron decides between two values
of every row: the row wants one sign, and the difference is its price.  The engine's neuron then gives as many prices'
worth of rows what they want.  An output decides over its own sum, and its few weights are changed one and two at a
time.  No solver is involved.

Batch training (Thorbjarnarson and Yorke-Smith) solves many small programs, or improves neurons on them, and averages
their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.exhaustive import best_agreement
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.monolithic import solve_goal
from bemi.engines.start import separator
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.programs.encoding import Goal, Within
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines.objectives import SAT_MARGIN, RowValues, sat_margin
from bemi_lab.baselines.starts import Start, own_sizes, widest_neuron

LARGEST_COLUMNS = 3000
"""Programs up to this size are solved as a whole at the end; on larger ones a solver finds nothing in minutes."""

UNCHANGED = "the start as it is: nothing better was found"
AT_ITS_BEST = "the start as it is: it reaches the bound"


def improved(
    goal: Goal, start: Network, made: Iterable[Network], limits: Limits, clock: Deadline, solver: str, **native: Any
) -> StageResult:
    """The best of a start, which need not be feasible, and of the networks made from it, until the time is up.

    If the whole program is small, it is then solved from there.  The clock runs until the end of the limits.
    """
    best, tried = start, 0
    if goal.value(start) != goal.trivial:
        for network in made:
            tried += 1
            if goal.better(goal.value(network), goal.value(best)):
                best = network
            if goal.value(best) == goal.trivial or clock.passed:
                break
    if goal.value(best) != goal.trivial and _columns(goal.problem) <= LARGEST_COLUMNS:
        return solve_goal(goal, start=best, limits=limits.until(clock), solver=solver, **native)
    value = goal.value(best)
    if value is None:
        return StageResult.unchanged(goal.name, goal.problem, None, clock=clock, outcome=Outcome.NOT_FOUND)
    message = f"the best of {tried} networks made from the start"
    if best == start:
        message = AT_ITS_BEST if value == goal.trivial else UNCHANGED
    return report(goal, best, clock, message)


def report(goal: Goal, network: Network, clock: Deadline, message: str, outcome: Outcome | None = None) -> StageResult:
    """The result of a search whose bound is the trivial one."""
    value = goal.value(network)
    assert value is not None
    return StageResult.of(
        *(goal.name, goal.problem, network, goal.in_report_units(value), goal.in_report_units(goal.trivial)),
        clock=clock,
        proof="certified",
        outcome=outcome or (Outcome.OPTIMAL if value == goal.trivial else Outcome.LOCAL),
        message=message,
    )


def _columns(problem: Problem) -> int:
    """Columns of a program: weights, activations and products."""
    first, *above = pairwise(problem.layers)
    live = len(problem.live) * first[1]
    products = sum(a * b for a, b in above)
    return live + products + len(problem.data) * (products + sum(problem.hidden_layers))


FEW_INPUTS = 17
"""Neurons with no more inputs are searched over all their weights, as far as the search's own limit allows."""

PROPOSALS = 100_000
"""Steps of the search for integer weights of a neuron over many inputs."""


def improved_neurons(
    values: RowValues, problem: Problem, start: Network, deadline: Deadline, seed: int = 0, within: Within | None = None
) -> Iterator[Network]:
    """Ever better networks, each with one neuron replaced; ends when a whole round over the neurons brings nothing.

    ``values`` says what each row is worth; ``within`` has the smallest and largest weights, if tighter than -P and P.
    """
    rng = np.random.default_rng(seed)
    network, worth = start, _worth(values, problem, start)
    last = len(problem.hidden_layers)
    while True:
        found = False
        order = [(last, j) for j in range(problem.layers[-1])]
        for layer in reversed(range(last)):
            order += [(layer, int(j)) for j in rng.permutation(own_sizes(problem)[layer])]
        for layer, j in order:
            if deadline.passed:
                return
            replace = _output if layer == last else _hidden
            column = replace(values, problem, network, layer, j, deadline)
            if column is None:
                continue
            if within is not None:
                column = np.clip(column, within[0][layer][:, j], within[1][layer][:, j])
            weights = [w.copy() for w in network.weights]
            weights[layer][:, j] = column
            changed = Network(tuple(weights), network.weight_bound)
            reached = _worth(values, problem, changed)
            if reached > worth:
                network, worth, found = changed, reached, True
                yield network
        if not found:
            return


def _worth(values: RowValues, problem: Problem, network: Network) -> int:
    return int(values(network.pre_activations(problem.data)[-1]).sum())


def wanted_signs(
    values: RowValues, problem: Problem, network: Network, layer: int, j: int
) -> tuple[Integers, Integers, Integers]:
    """Inputs of a hidden neuron, the sign that every row wants of it, and what that is worth to the row."""
    sums = network.pre_activations(problem.data)
    signals = sign(sums[layer])
    upper = network.weights[layer + 1 :]
    worth = []
    for forced in (1, -1):
        signal = signals.copy()
        signal[:, j] = forced
        for w in upper[:-1]:
            signal = sign(signal @ w)
        worth.append(values(signal @ upper[-1]))
    gain = worth[0] - worth[1]
    return (sign(sums[layer - 1]) if layer else problem.data), np.where(gain >= 0, 1, -1), np.abs(gain)


def _hidden(
    values: RowValues, problem: Problem, network: Network, layer: int, j: int, deadline: Deadline
) -> Integers | None:
    """Weights of a hidden neuron that give the rows what they want; None if they already have it."""
    inputs, targets, prices = wanted_signs(values, problem, network, layer, j)
    present = network.weights[layer][:, j]
    priced = (prices > 0) & (sign(inputs @ present) != targets)
    if not priced.any():
        return None
    needs = prices > 0
    if layer or inputs.shape[1] <= FEW_INPUTS:
        rows, group = np.unique(np.column_stack([inputs[needs], targets[needs]]), axis=0, return_inverse=True)
        total = np.bincount(group.reshape(-1), weights=prices[needs]).astype(np.int64)
        # Prices of squared losses may be large; only their proportions matter.
        total //= max(1, int(total.max()) >> 30)
        found = best_agreement(rows[:, :-1], rows[:, -1], total, problem.weight_bound)
        return found.weights[:, 0] if found.weights.size else None
    program = NeuronLP(inputs[needs], problem.weight_bound)
    if program.solve(targets[needs].astype(np.int8)).bound >= 1:
        weights, margin = widest_neuron(program, targets[needs], proposals=PROPOSALS, deadline=deadline)
        if margin >= 1:
            return weights
    alone = Problem(inputs[needs], targets[needs][:, None], (), problem.weight_bound)
    return separator(alone, targets[needs], deadline)


def _output(
    values: RowValues, problem: Problem, network: Network, layer: int, j: int, deadline: Deadline
) -> Integers | None:
    """Weights of an output after the best changes of one weight and of two; None if there are none."""
    sums = network.pre_activations(problem.data)
    inputs = sign(sums[layer - 1]) if layer else problem.data
    outputs, column, bound = sums[layer].copy(), network.weights[layer][:, j].copy(), problem.weight_bound
    worth, changed = int(values(outputs).sum()), False
    moves = [
        (i, by) for i in np.flatnonzero(inputs.any(axis=0)).tolist() for by in range(-2 * bound, 2 * bound + 1) if by
    ]
    if len(moves) > 4 * FEW_INPUTS * bound:
        return None  # without a hidden layer, outputs have many inputs
    steps: list[tuple[tuple[int, int], ...]] = [((i, by),) for i, by in moves]
    steps += [(a, b) for n, a in enumerate(moves) for b in moves[:n] if a[0] != b[0]]
    for step in steps:
        if deadline.passed:
            break
        trial = column.copy()
        for i, by in step:
            trial[i] += by
        if np.abs(trial).max() > bound:
            continue
        moved = outputs.copy()
        moved[:, j] = inputs @ trial
        reached = int(values(moved).sum())
        if reached > worth:
            outputs, column, worth, changed = moved, trial, reached, True
    return column if changed else None


EPOCHS = 3
"""How many times all batches are solved, within bounds that close in on the previous epoch's average."""

BATCHES = 4
"""Number of batches per epoch, as balanced in classes as the rows allow."""


def train_in_batches(problem: Problem, limits: Limits, solver: str, start: Start | None = None) -> list[StageResult]:
    """Solve Sat-Margin on batches of rows, average the networks by how many of all rows each gets right, and repeat.

    In epoch e of E a weight may be at most ``P (1 - e / E)`` away from its average in the previous epoch; ``e = 0`` is
    free.  Validation uses all training rows, of which each batch saw a part.  The best network is returned: the one
    with the most confidently right outputs on all rows.

    From a start, the first average is that network, and batches improve the rounded average neuron by neuron instead of
    by the program.
    """
    clock = limits.deadline()
    rng = np.random.default_rng(limits.seed)
    goal = sat_margin(problem)
    bound = problem.weight_bound
    mean: list[NDArray[np.float64]] = [np.zeros(shape) for shape in pairwise(problem.layers)]
    given = None if start is None else start.network
    if given is not None:
        mean = [w.astype(np.float64) for w in given.weights]
    best = _rounded(mean, bound)
    solved = 0
    for epoch in range(EPOCHS):
        within = _around(mean, bound * (1 - epoch / EPOCHS), bound)
        networks = []
        for rows in _parts(problem, rng):
            share = limits.until(clock.share(1 / (EPOCHS * BATCHES - solved)))
            solve = _by_program if given is None else _by_neurons
            networks.append(solve(problem.rows(rows), _rounded(mean, bound), within, share, solver))
            solved += 1
        votes = np.array([_right(problem, network) for network in networks], dtype=np.float64)
        shares = votes / votes.sum() if votes.any() else np.full(len(votes), 1 / len(votes))
        mean = [
            np.einsum("n,nij->ij", shares, np.stack(layer))
            for layer in zip(*(network.weights for network in networks), strict=True)
        ]
        best = max([best, *networks, _rounded(mean, bound)], key=lambda network: goal.value(network) or 0)
    return [report(goal, best, clock, _outcome_in_words(solved, best, given))]


def _outcome_in_words(solved: int, best: Network, start: Network | None) -> str:
    if best == start:
        return f"{solved} batches; the start as it is: no batch gave anything better"
    return f"{solved} batches" if best.links else "no batch gave anything better than a network without links"


def _by_program(rows: Problem, start: Network, within: Within, limits: Limits, solver: str) -> Network:
    found = solve_goal(sat_margin(rows, within=within), start=start, limits=limits, solver=solver)
    assert found.network is not None
    return found.network


def _by_neurons(rows: Problem, start: Network, within: Within, limits: Limits, solver: str) -> Network:
    best = start
    for network in improved_neurons(SAT_MARGIN.values(rows), rows, start, limits.deadline(), limits.seed, within):
        best = network
    return best


def _rounded(mean: list[NDArray[np.float64]], bound: int) -> Network:
    return Network(tuple(np.rint(layer).astype(np.int64) for layer in mean), bound)


def _around(mean: list[NDArray[np.float64]], distance: float, bound: int) -> Within:
    """Bounds on weights within the distance of the average; the rounded average itself always satisfies them."""
    nearest = [np.rint(layer).astype(np.int64) for layer in mean]
    low = [np.minimum(n, np.ceil(m - distance)) for n, m in zip(nearest, mean, strict=True)]
    high = [np.maximum(n, np.floor(m + distance)) for n, m in zip(nearest, mean, strict=True)]
    return (
        [np.clip(layer, -bound, bound).astype(np.int64) for layer in low],
        [np.clip(layer, -bound, bound).astype(np.int64) for layer in high],
    )


def _parts(problem: Problem, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """Rows of each batch: shuffled, then dealt class by class."""
    labels = problem.codes.argmax(axis=1)
    order = rng.permutation(len(labels))
    dealt = order[np.argsort(labels[order], kind="stable")]
    batch = np.empty(len(labels), dtype=np.int64)
    batch[dealt] = np.arange(len(labels)) % BATCHES
    return [batch == b for b in range(BATCHES) if (batch == b).any()]


def _right(problem: Problem, network: Network) -> int:
    """Rows whose largest output is that of their class."""
    sums: Integers = network.pre_activations(problem.data)[-1]
    return int((sums.argmax(axis=1) == problem.codes.argmax(axis=1)).sum())
