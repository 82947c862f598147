"""The widest margins of one or two upper layers on few patterns, by listing all neurons.

A neuron of the second layer matters by two things: how it divides the patterns of the first layer, and its margin.  So
of all its weights only the best for each dichotomy of the patterns are kept, a few dozen.  Every choice of dichotomies
for the second layer fixes what the outputs see, and then each output is chosen by itself, again from all weights.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network
from bemi.problem.problem import Problem

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
