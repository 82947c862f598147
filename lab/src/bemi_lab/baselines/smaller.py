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
from bemi.engines.decomposition.neuron import exhaustive
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import Network, sign
from bemi.problem.problem import Problem, one_hot
from bemi_lab.baselines.starts import Start, best_code, layer_for, networks_on_code, own_sizes

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
                weights[layer][:, j] = few_links(problem, signs, present, deadline, seed, proposals)
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
    fewest = max(1, (problem.codes.shape[1] - 1).bit_length())
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
    known, sizes = start.dichotomies, own_sizes(problem)
    classes, bound = problem.codes.shape[1], problem.weight_bound
    if len(sizes) not in (1, 2) or not len(known.signs):
        return
    confident = -(-(sizes[-1] + 1) // 4)
    fewest = max(1, (classes - 1).bit_length())
    if len(sizes) == 1:
        for length in range(fewest, sizes[0] + 1):
            usable = np.where(np.isfinite(known.margins), 0.0, np.inf)
            chosen = best_code(known.signs, length, distance=confident, prices=usable, seed=seed)
            if chosen is None or deadline.passed:
                continue
            network = _stacked(problem, start, chosen, [], known.signs[chosen])
            if network is not None:
                yield network
        return
    relative = known.margins / known.margins[np.isfinite(known.margins)].mean()
    for below, attempt in product(range(fewest, sizes[0] + 1), range(TRIES)):
        if (2 * bound + 1) ** (below + 1) > MOST_FUNCTIONS or deadline.passed:
            return
        usable = np.where(np.isfinite(known.margins), 0.0, np.inf)
        gains = np.where(np.isfinite(relative), relative, 0.0) ** 2 / (1 + attempt)
        first = best_code(known.signs, below, distance=1, gains=gains, prices=usable, seed=seed + attempt)
        if first is None:
            continue
        signs, weights = threshold_functions(known.signs[first].T, bound)
        for length in range(fewest, min(sizes[1], len(signs)) + 1):
            second = best_code(signs, length, distance=confident, seed=seed)
            if second is None or deadline.passed:
                continue
            network = _stacked(problem, start, first, [weights[second].T], signs[second])
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


def _stacked(
    problem: Problem, start: Start, first: Integers, above: list[Integers], carried: Integers
) -> Network | None:
    """The network on these dichotomies, with given weights of a second layer, and outputs that detect the code.

    Weights are zero for neurons that are not used; None if a dichotomy has no integer neuron, or outputs cannot detect.
    """
    known = start.dichotomies
    neurons = [known.neuron(index) for index in first.tolist()]
    found = [neuron for neuron in neurons if neuron is not None]
    if len(found) < len(neurons):
        return None
    layers = [np.stack(found, axis=1), *above]
    weights = [np.zeros(shape, dtype=np.int64) for shape in zip(problem.layers[:-2], problem.layers[1:-1], strict=True)]
    for layer, (full, part) in enumerate(zip(weights, layers, strict=True)):
        if layer == 0:
            full[:, : part.shape[1]] = part
        else:
            full[: len(part) - 1, : part.shape[1]] = part[:-1]
            full[-1, : part.shape[1]] = part[-1]
    classes, length = problem.codes.shape[1], len(carried)
    confident = -(-(own_sizes(problem)[-1] + 1) // 4)
    constants = max(0, length - confident - 1)
    if length + constants > own_sizes(problem)[-1]:
        return None
    patterns = np.concatenate([carried.T, np.ones((classes, constants + 1), dtype=np.int64)], axis=1)
    last = layer_for(patterns, one_hot(np.arange(classes), classes), problem.weight_bound)
    if last is None:
        return None
    outputs = np.zeros((problem.layers[-2], classes), dtype=np.int64)
    outputs[: length + constants] = last[:-1]
    outputs[-1] = last[-1]
    return Network((*weights, outputs), problem.weight_bound)
