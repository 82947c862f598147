"""The layers above the first, once the first layer's signs are fixed: a tiny network on few distinct codes.

One or two upper layers on few patterns are solved by listing all neurons.  A neuron of the second layer matters by two
things: how it divides the patterns of the first layer, and its margin.  So of all its weights only the best for each
dichotomy of the patterns are kept, a few dozen.  Every choice of dichotomies for the second layer fixes what the
outputs see, and then each output is chosen by itself, again from all weights.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
from numpy.typing import NDArray

from bemi.engines import monolithic
from bemi.engines.start import initial_network
from bemi.exact import Integers
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import KeepMargins, Problem


def upper_bounds(layers: tuple[int, ...], weight_bound: int) -> Integers:
    """``G[h, d]``: the largest possible sum of all margins above the first layer for a pair of rows.

    The pair is separated by h first-layer neurons and d outputs.  With h_1 = h, h_L = d and 1 <= h_l <= n_l between,

    ::

        G[h, d] = P max sum_{l >= 2} [h_l h_{l-1} + (n_l - h_l)(n_{l-1} - h_{l-1})]

    since a neuron that separates the pair has a margin of at most P times its separating inputs, and any other neuron
    at most P times the other inputs.
    """
    sizes = layers[1:]
    table = np.zeros((sizes[0] + 1, sizes[-1] + 1), dtype=np.int64)
    for separated in range(sizes[-1] + 1):
        best = {separated: 0}
        for below, here in reversed(list(pairwise(range(len(sizes))))):
            counts = range(sizes[0] + 1) if below == 0 else range(1, sizes[below] + 1)
            best = {
                h: max(
                    weight_bound * (g * h + (sizes[here] - g) * (sizes[below] - h)) + value for g, value in best.items()
                )
                for h in counts
            }
        if len(sizes) > 1:
            table[list(best), separated] = list(best.values())
    return table


def upper_problem(problem: Problem, signs: Integers) -> Problem:
    """The upper layers as a separate problem: first-layer signs in, codes out, each distinct row once."""
    rows = np.unique(np.concatenate([signs, problem.codes], axis=1), axis=0)
    inputs, codes = rows[:, : signs.shape[1]], rows[:, signs.shape[1] :]
    return Problem(inputs, codes, problem.hidden_layers[1:], problem.weight_bound)


def widest_margins(problem: Problem, signs: Integers, limits: Limits) -> Network | None:
    """The upper layers with the largest sum of margins for these first-layer signs, or None if none was found.

    One or two distinct rows are solved in closed form.  For more, all neurons are listed if there are few enough;
    otherwise the solver is called.
    """
    upper = upper_problem(problem, signs)
    if len(upper.data) <= 2:
        return _two_rows(upper)
    if len(np.unique(upper.data, axis=0)) < len(upper.data):
        return None  # equal signs, different codes
    if can_list(upper):
        listed, complete = widest_listed(upper)
        if complete:
            return listed
    start = initial_network(upper)
    report = monolithic.max_margin(upper, start=start, limits=replace(limits, gap=0.0))
    return report.network if report.ran else None


def fewest_links(problem: Problem, network: Network, margins: list[Integers], limits: Limits) -> Network:
    """Upper layers with the fewest links that preserve the margins for the network's own first-layer signs.

    Parameters
    ----------
    network
        The whole network; its upper layers have the margins.
    margins
        Of the upper layers only.
    """
    signs = np.where(network.pre_activations(problem.data)[0] >= 0, 1, -1)
    upper = upper_problem(problem, signs)
    start = Network(network.weights[1:], network.weight_bound)
    report = monolithic.min_weight(
        upper, start=start, keep=KeepMargins(tuple(margins)), limits=replace(limits, gap=0.0)
    )
    assert report.network is not None
    return report.network


def _two_rows(upper: Problem) -> Network | None:
    """Exact solution for one row, or two rows with different codes, by dynamic programming over the layers.

    All that matters about a layer is how many of its neurons separate the two rows.  A separating neuron uses all
    separating inputs, any other neuron all other inputs; both then have the largest possible margin.
    """
    sizes = upper.layers
    first, last = upper.data[0], upper.data[-1]
    differs = first != last
    if len(upper.data) == 2 and not differs.any():
        return None
    goal = int((upper.codes[0] != upper.codes[-1]).sum())
    # best[l][h]: largest sum of margins of the layers after l if h neurons of layer l separate, and the next h.
    best: list[dict[int, tuple[int, int]]] = [{} for _ in sizes]
    best[-1] = {goal: (0, -1)}
    for layer in range(len(sizes) - 2, -1, -1):
        counts = [int(differs.sum())] if layer == 0 else list(range(sizes[layer] + 1))
        for h in counts:
            options = []
            for g, (value, _) in best[layer + 1].items():
                rest = sizes[layer + 1] - g
                # A neuron without inputs has no margin.
                if (g and not h) or (rest and h == sizes[layer]):
                    continue
                options.append((upper.weight_bound * (g * h + rest * (sizes[layer] - h)) + value, g))
            if options:
                best[layer][h] = max(options)
    h = int(differs.sum())
    if h not in best[0]:
        return None
    weights = []
    signal = first
    for layer, size in enumerate(sizes[1:]):
        h = best[layer][h][1]
        if layer == len(sizes) - 2:
            separating: NDArray[np.bool_] = upper.codes[0] != upper.codes[-1]
            wanted = upper.codes[0]
        else:
            separating = np.arange(size) < h
            wanted = np.ones(size, dtype=np.int64)
        taken = differs[:, None] == separating[None, :]
        weights.append(upper.weight_bound * signal[:, None] * taken * wanted[None, :])
        signal, differs = wanted, separating
    return Network(tuple(weights), upper.weight_bound)


_MOST_COLUMNS = 2500
_MOST_WORK = 100_000_000  # sums of all outputs over all choices for the second layer: about a second
_CHUNK = 4_000_000  # sums at a time


def can_list(upper: Problem) -> bool:
    """Whether :func:`widest_listed` is for upper layers of this shape; it may still find them too large."""
    sizes = upper.layers[:-1]
    return len(sizes) <= 2 and all((2 * upper.weight_bound + 1) ** n <= _MOST_COLUMNS for n in sizes)


def widest_listed(upper: Problem) -> tuple[Network | None, bool]:
    """The network with the largest sum of margins, None if there is none; and whether the listing was complete.

    Parameters
    ----------
    upper
        Distinct patterns in, codes out, and at most one hidden layer.
    """
    patterns, codes = upper.data, upper.codes
    columns = _columns(upper.layers[-2], upper.weight_bound)
    if not upper.hidden_layers:
        best, margins = _outputs(patterns[None], columns, codes)
        return (None if margins.min() < 1 else Network((columns[best[0]].T,), upper.weight_bound)), True
    weights, dichotomies, margins = _neurons(patterns, _columns(upper.layers[0], upper.weight_bound))
    size = upper.hidden_layers[0]
    kinds = len(np.unique(codes.T, axis=0))
    choices = math.comb(len(weights) + size - 1, size)
    if choices * len(columns) * len(patterns) * kinds > _MOST_WORK:
        return None, False
    chosen = np.array(list(combinations_with_replacement(range(len(weights)), size)), dtype=np.int64)
    if not len(chosen):
        return None, True
    below = margins[chosen].sum(axis=1)
    # Most margin first, so that what cannot be better any more is left out.
    order = np.argsort(-below, kind="stable")
    most = upper.weight_bound * size * codes.shape[1]
    step = max(1, _CHUNK // (len(columns) * len(patterns)))
    network, value = None, 0
    for begin in range(0, len(order), step):
        part = order[begin : begin + step]
        if below[part[0]] + most <= value:
            break
        shown = dichotomies[chosen[part]].transpose(0, 2, 1)
        best, reached = _outputs(shown, columns, codes)
        total = np.where((reached >= 1).all(axis=1), reached.sum(axis=1) + below[part], 0)
        at = int(np.argmax(total))
        if total[at] > value:
            value = int(total[at])
            second = weights[chosen[part[at]]].T
            network = Network((second, columns[best[at]].T), upper.weight_bound)
    return network, True


def _columns(inputs: int, bound: int) -> Integers:
    """All weights of a neuron with that many inputs."""
    return np.array(list(product(range(-bound, bound + 1), repeat=inputs)), dtype=np.int64)


def _neurons(patterns: Integers, columns: Integers) -> tuple[Integers, NDArray[np.float32], Integers]:
    """For every dichotomy of the patterns, + on the first: the weights of largest margin, its signs, the margin."""
    sums = columns @ patterns.T
    margins = np.abs(sums).min(axis=1)
    usable = np.flatnonzero((margins >= 1) & (sums[:, 0] > 0))
    usable = usable[np.argsort(-margins[usable], kind="stable")]
    signs = np.sign(sums[usable])
    _, first = np.unique(signs, axis=0, return_index=True)
    first.sort()
    return columns[usable[first]], signs[first].astype(np.float32), margins[usable[first]]


def _outputs(shown: NDArray, columns: Integers, codes: Integers) -> tuple[Integers, Integers]:
    """For each choice and output, the column with the largest margin, and that margin; ``shown`` is (choices, patterns,
    neurons).
    """
    sums = shown.astype(np.float32) @ columns.T.astype(np.float32)
    best = np.zeros((len(shown), codes.shape[1]), dtype=np.int64)
    reached = np.zeros_like(best)
    for output, code in enumerate(codes.T):
        margins = (sums * code[None, :, None].astype(np.float32)).min(axis=1)
        best[:, output] = margins.argmax(axis=1)
        reached[:, output] = np.take_along_axis(margins, best[:, output, None], axis=1)[:, 0].astype(np.int64)
    return best, reached
