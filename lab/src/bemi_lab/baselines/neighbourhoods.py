"""Neighbourhoods of whole neurons: one after the other gets the best weights for the rows that need it.

Objectives that are sums over rows fall apart.  With all other neurons fixed, a hidden neuron decides between two values
of every row: the row wants one sign, and the difference is its price.  The engine's neuron then gives as many prices'
worth of rows what they want.  An output decides over its own sum, and its few weights are changed one and two at a
time.  No solver is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bemi.engines.decomposition.neuron.exhaustive import best_agreement
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.start import separator
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.programs.encoding import Within
from bemi_lab.baselines.dichotomies import widest_neuron
from bemi_lab.baselines.starts import own_sizes

RowValues = Callable[[Integers], Integers]
"""From output sums, shape (rows, outputs), to what each row is worth; larger is better."""

FEW_INPUTS = 17
"""Neurons with no more inputs are searched over all their weights, as far as the search's own limit allows."""

PROPOSALS = 100_000
"""Steps of the search for integer weights of a neuron over many inputs."""


def improved_neurons(
    values: RowValues,
    problem: Problem,
    start: Network,
    deadline: Deadline,
    seed: int = 0,
    within: Within | None = None,
) -> Iterator[Network]:
    """Ever better networks, each with one neuron replaced; ends when a whole round over the neurons brings nothing.

    Parameters
    ----------
    values
        What each row is worth.
    problem, start
        The rows, and the network to start from.
    deadline, seed
        When to stop, and the seed of the order.
    within
        Smallest and largest weights, if they are tighter than -P and P.
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
            changed = _with_column(network, layer, j, _allowed(column, within, layer, j))
            reached = _worth(values, problem, changed)
            if reached > worth:
                network, worth, found = changed, reached, True
                yield network
        if not found:
            return


def _worth(values: RowValues, problem: Problem, network: Network) -> int:
    return int(values(network.pre_activations(problem.data)[-1]).sum())


def _allowed(column: Integers, within: Within | None, layer: int, j: int) -> Integers:
    return column if within is None else np.clip(column, within[0][layer][:, j], within[1][layer][:, j])


def _with_column(network: Network, layer: int, j: int, column: Integers) -> Network:
    weights = [w.copy() for w in network.weights]
    weights[layer][:, j] = column
    return Network(tuple(weights), network.weight_bound)


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
