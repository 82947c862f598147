"""Fewer links for Toro Icarte et al.'s objective: neurons without links that no row needs, on short codes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.min_weight.separators import Task, stripped, walked
from bemi.engines.decomposition.neuron import exhaustive
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi_lab.baselines.dichotomies import best_code
from bemi_lab.baselines.starts import Detection, Start, network_on_code, own_sizes

LISTED = 40
"""Dichotomies, those with the widest margins first, whose links are counted to choose a code."""

LONGEST = 2
"""Codes of up to this many dichotomies more than the fewest are tried."""

FEW_INPUTS = 24
"""Neurons with no more inputs are searched exactly."""

_PROPOSALS = 500_000  # of the walk over supports of one neuron


def fewest_links(problem: Problem, network: Network, deadline: Deadline, seed: int = 0) -> Network:
    """Remove links from every neuron of a network that is right, as long as no activation changes.

    Neurons over few signs are listed by their links; first-layer neurons lose links that no row needs, and a walk over
    smaller supports looks for others.  Neurons that nothing reads lose all their links.
    """
    sums = network.pre_activations(problem.data)
    inputs = [problem.data, *(sign(s) for s in sums[:-1])]
    outputs = [*(sign(s) for s in sums[:-1]), problem.codes]
    weights = [w.copy() for w in network.weights]
    sizes = [*own_sizes(problem), problem.layers[-1]]
    for layer in reversed(range(len(sizes))):
        for j in range(sizes[layer]):
            unread = layer < len(sizes) - 1 and not weights[layer + 1][j].any()
            if unread or (outputs[layer][:, j] > 0).all():
                weights[layer][:, j] = 0  # a sum of 0 counts as +1
                continue
            present = weights[layer][:, j]
            signs, bound = outputs[layer][:, j], problem.weight_bound
            if layer:
                weights[layer][:, j] = _fewest_over_signs(inputs[layer], signs, present, bound)
            else:
                weights[layer][:, j] = few_links(problem, signs, present, deadline, seed)
    return Network(tuple(weights), problem.weight_bound)


def _fewest_over_signs(inputs: Integers, signs: Integers, present: Integers, bound: int) -> Integers:
    rows = np.unique(np.column_stack([inputs, signs]), axis=0)
    links = int(np.count_nonzero(present))
    if inputs.shape[1] > FEW_INPUTS or links <= 1:
        return present
    found = exhaustive.neurons(rows[:, :-1], rows[:, -1], bound, most_links=links - 1)
    return found.weights[:, int(found.links.argmin())] if found.weights.size else present


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


def thinner_codes(problem: Problem, start: Start, deadline: Deadline, seed: int) -> Iterator[Network]:
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
            thin[index] = few_links(problem, signs, neuron, listing.share(1 / LISTED), seed)
            prices[index] = np.count_nonzero(thin[index])
    fewest = max(1, (problem.codes.shape[1] - 1).bit_length())
    ways: tuple[Detection, ...] = ("hidden", "outputs")
    for length in range(fewest, min(fewest + LONGEST, sizes[0]) + 1):
        chosen = best_code(known.signs, length, distance=1, prices=prices, seed=seed)
        if chosen is None:
            continue
        weights = np.stack([thin[index] for index in chosen.tolist()], axis=1)
        for detection in ways:
            network = network_on_code(problem, weights, known.signs[chosen], detection)
            if network is not None and problem.all_right(network):
                yield network
