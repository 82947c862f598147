"""Fewer links for Toro Icarte et al.'s objective, and fewer hidden neurons for Thorbjarnarson and Yorke-Smith's.

Links: neurons lose those that no row needs, on short codes.  Neurons: outputs are confident, with sums of at least q on
the right side, if the last hidden layer carries a code of k dichotomies that keeps all classes q apart, and k - q
constant signs, one of which is the bias.  Layers below need only as many neurons as let these dichotomies be threshold
functions of their signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.min_weight.separators import Task, stripped, walked
from bemi.engines.decomposition.neuron.exhaustive import best_neuron
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import Network
from bemi.problem.problem import Problem, one_hot
from bemi_lab.baselines.starts import (
    Start,
    best_code,
    confident,
    fewest_signs,
    layer_for,
    network_of,
    networks_on_code,
    own_sizes,
    signals,
)

LISTED = 40
"""Dichotomies, those with the widest margins first, whose links are counted to choose a code."""

LONGEST = 2
"""Codes of up to this many dichotomies more than the fewest are tried."""

FEW_INPUTS = 24
"""Neurons with no more inputs are searched exactly."""

_PROPOSALS = 500_000  # of the walk over supports of one neuron


def fewest_links(
    problem: Problem, network: Network, deadline: Deadline, seed: int = 0, proposals: int = _PROPOSALS
) -> Network:
    """Remove links from every neuron of a network that is right, as long as no activation changes.

    Neurons over few signs are listed by their links; first-layer neurons lose links that no row needs, and a walk over
    smaller supports looks for others.  Neurons that nothing reads lose all their links.
    """
    weights, layers = [w.copy() for w in network.weights], list(signals(problem, network))
    sizes = [*own_sizes(problem), problem.layers[-1]]
    for layer in reversed(range(len(sizes))):
        inputs, outputs = layers[layer]
        for j in range(sizes[layer]):
            signs, present = outputs[:, j], weights[layer][:, j]
            unread = layer < len(sizes) - 1 and not weights[layer + 1][j].any()
            if unread or (signs > 0).all():
                weights[layer][:, j] = 0  # a sum of 0 counts as +1
            elif layer:
                weights[layer][:, j] = _fewest_over_signs(inputs, signs, present, problem.weight_bound)
            else:
                weights[layer][:, j] = few_links(problem, signs, present, deadline, seed, proposals)
    return Network(tuple(weights), problem.weight_bound)


def _fewest_over_signs(inputs: Integers, signs: Integers, present: Integers, bound: int) -> Integers:
    rows = np.unique(np.column_stack([inputs, signs]), axis=0)
    links = int(np.count_nonzero(present))
    if inputs.shape[1] > FEW_INPUTS or links <= 1:
        return present
    fewer = best_neuron(rows[:, :-1], rows[:, -1], bound, most_links=links - 1).weights
    return present if fewer is None else fewer


def few_links(
    problem: Problem, signs: Integers, present: Integers, deadline: Deadline, seed: int = 0, proposals: int = _PROPOSALS
) -> Integers:
    """A first-layer neuron with few links and the signs that the present one has."""
    live = problem.live
    plus: NDArray[np.bool_] = signs > 0
    task = Task(problem.data[:, live], plus, problem.weight_bound, 1, (False, False))
    known = stripped(task, present[live], False, seed)
    found = None
    if not deadline.passed:
        found = walked(task, known, 2, proposals=proposals, seed=seed, deadline=deadline)
    weights = np.zeros_like(present)
    weights[live] = (found or known).weights[:, 0]
    return weights


def thinner_codes(
    problem: Problem, start: Start, deadline: Deadline, seed: int, proposals: int = _PROPOSALS
) -> Iterator[Network]:
    """Networks on short codes whose neurons have few links."""
    known, sizes = start.dichotomies, own_sizes(problem)
    if not sizes or not len(known.signs):
        return
    prices = np.full(len(known.signs), np.inf)
    thin: dict[int, Integers] = {}
    listing = deadline.share(1 / 2)
    for index in np.argsort(-known.margins, kind="stable")[:LISTED].tolist():
        neuron = None if listing.passed else known.neuron(index, deadline=listing)
        if neuron is not None:
            signs = known.signs[index][known.labels]
            thin[index] = few_links(problem, signs, neuron, listing.share(1 / LISTED), seed, proposals)
            prices[index] = np.count_nonzero(thin[index])
    fewest = fewest_signs(problem)
    for length in range(fewest, min(fewest + LONGEST, sizes[0]) + 1):
        chosen = best_code(known.signs, length, distance=1, prices=prices, seed=seed)
        if chosen is None:
            continue
        weights = np.stack([thin[index] for index in chosen.tolist()], axis=1)
        yield from networks_on_code(problem, weights, known.signs[chosen])


MOST_FUNCTIONS = 60_000
"""Weight vectors of a neuron over the first layer's signs that are listed."""

TRIES = 3
"""First-layer codes of each length."""


def smaller_networks(problem: Problem, start: Start, deadline: Deadline, seed: int) -> Iterator[Network]:
    """Networks whose outputs are all confident, with few hidden neurons, the smallest first; for one or two layers."""
    known, sizes, bound = start.dichotomies, own_sizes(problem), problem.weight_bound
    if len(sizes) not in (1, 2) or not len(known.signs):
        return
    fewest, distance = fewest_signs(problem), confident(problem)
    if len(sizes) == 1:
        for length in range(fewest, sizes[0] + 1):
            chosen = best_code(known.signs, length, distance=distance, prices=known.prices, seed=seed)
            if chosen is None or deadline.passed:
                continue
            network = _stacked(problem, known.weights(chosen), [], known.signs[chosen])
            if network is not None:
                yield network
        return
    for below, attempt in product(range(fewest, sizes[0] + 1), range(TRIES)):
        if (2 * bound + 1) ** (below + 1) > MOST_FUNCTIONS or deadline.passed:
            return
        gains, prices = known.gains / (1 + attempt), known.prices
        first = best_code(known.signs, below, distance=1, gains=gains, prices=prices, seed=seed + attempt)
        if first is None:
            continue
        signs, weights = threshold_functions(known.signs[first].T, bound)
        for length in range(fewest, min(sizes[1], len(signs)) + 1):
            second = best_code(signs, length, distance=distance, seed=seed)
            if second is None or deadline.passed:
                continue
            network = _stacked(problem, known.weights(first), [weights[second].T], signs[second])
            if network is not None:
                yield network
                break  # longer codes have more neurons


def threshold_functions(patterns: Integers, bound: int) -> tuple[Integers, Integers]:
    """Dichotomies of classes that a neuron with a bias has on their patterns, each once with its weights.

    Sums of 0 are left out, so that the opposite of each is one too; the first class always has +1.  Weights have one
    row for each dichotomy, the bias last.
    """
    inputs = np.concatenate([patterns, np.ones((len(patterns), 1), dtype=np.int64)], axis=1)
    choices = np.array(list(product(range(-bound, bound + 1), repeat=inputs.shape[1])), dtype=np.int64)
    sums = choices @ inputs.T
    strict = (sums > 0).all(axis=1) | ((sums != 0).all(axis=1) & (sums[:, 0] > 0) & (sums < 0).any(axis=1))
    split = strict & (sums < 0).any(axis=1)
    signs, index = np.unique(np.sign(sums[split]), axis=0, return_index=True)
    return signs, choices[split][index]


def _stacked(problem: Problem, first: Integers | None, above: list[Integers], carried: Integers) -> Network | None:
    """The network with these layers, whose outputs detect the code that the last of them carries.

    None if a dichotomy has no integer neuron, or if outputs cannot detect.  Neurons that are not used have no links.
    """
    classes, length = problem.codes.shape[1], len(carried)
    constants = max(0, length - confident(problem) - 1)
    if first is None or length + constants > own_sizes(problem)[-1]:
        return None
    patterns = np.concatenate([carried.T, np.ones((classes, constants + 1), dtype=np.int64)], axis=1)
    last = layer_for(patterns, one_hot(np.arange(classes), classes), problem.weight_bound)
    return None if last is None else network_of(problem, [first, *above, last])
