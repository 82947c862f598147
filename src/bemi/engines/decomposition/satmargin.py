"""Sat-Margin where no neuron per output bit separates the rows: local search for the most confident outputs.

All weights of all layers take part.  A step changes one weight by one; a first-layer step updates one column of
pre-activations, and the small layers above are computed anew.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numba import njit

from bemi.network import Integers, Network, confidence_threshold, exact_product
from bemi.problem import Problem

PROPOSALS = 1_000_000
"""Proposals if nothing else ends the search."""

PROPOSALS_PER_NODE = 2_000
"""How a node limit translates into proposals."""

_CHUNK = 20_000  # proposals between two looks at the clock
_TEMPERATURE = (1.5, 0.1)  # first and last, in confidently right outputs
_PULL = 0.5  # what an output that is just short of confident is worth


@njit(cache=True)
def _score(first, upper, sizes, codes, threshold, signal, above):
    """Confidently right outputs, and with the pull of those that are nearly so."""
    rows = first.shape[0]
    depth = sizes.shape[0]
    count = 0
    pull = 0.0
    for k in range(rows):
        for j in range(sizes[0]):
            above[j] = first[k, j]
        for layer in range(1, depth):
            for i in range(sizes[layer - 1]):
                signal[i] = 1 if above[i] >= 0 else -1
            for j in range(sizes[layer]):
                total = 0
                for i in range(sizes[layer - 1]):
                    total += signal[i] * upper[layer - 1, i, j]
                above[j] = total
        for j in range(sizes[depth - 1]):
            value = above[j] * codes[k, j]
            if value >= threshold:
                count += 1
            elif depth > 1:
                # Upper sums are small integers: nearness to the threshold is worth something.
                pull += max(0.0, 1.0 - (threshold - value) / (2.0 * threshold))
    return count, pull


@njit(cache=True)
def _anneal(
    data,
    codes,
    sizes,
    bound,
    threshold,
    weights,
    upper,
    first,
    temperature,
    pull_weight,
    per,
    rng,
    kept,
    kept_upper,
    best,
):
    """Metropolis walk; changes weights, upper and first in place, keeps the best point, returns its count."""
    inputs, neurons = weights.shape
    depth = sizes.shape[0]
    widest = upper.shape[1]
    signal = np.empty(max(widest, neurons), np.int64)
    above = np.empty(max(widest, neurons), np.int64)
    rows = data.shape[0]
    count, pull = _score(first, upper, sizes, codes, threshold, signal, above)
    score = count + pull_weight * pull
    upper_weights = 0
    for layer in range(1, depth):
        upper_weights += sizes[layer - 1] * sizes[layer]
    # Upper weights are few, so each of them is tried more often than a first-layer weight.
    share = 0.0 if upper_weights == 0 else 0.3
    for _ in range(per):
        step = 1 if rng.random() < 0.5 else -1
        in_upper = rng.random() < share
        if in_upper:
            layer = 1 + int(rng.random() * (depth - 1))
            i = int(rng.random() * sizes[layer - 1])
            j = int(rng.random() * sizes[layer])
            if abs(upper[layer - 1, i, j] + step) > bound:
                step = -step
            upper[layer - 1, i, j] += step
        else:
            layer = 0
            i = int(rng.random() * inputs)
            j = int(rng.random() * neurons)
            if abs(weights[i, j] + step) > bound:
                step = -step
            weights[i, j] += step
            for k in range(rows):
                first[k, j] += step * data[k, i]
        new_count, new_pull = _score(first, upper, sizes, codes, threshold, signal, above)
        new = new_count + pull_weight * new_pull
        if new >= score or rng.random() < math.exp((new - score) / temperature):
            score = new
            if new_count > best:
                best = new_count
                kept[:] = weights
                kept_upper[:] = upper
        elif in_upper:
            upper[layer - 1, i, j] -= step
        else:
            weights[i, j] -= step
            for k in range(rows):
                first[k, j] -= step * data[k, i]
    return best


def most_confident(
    problem: Problem, start: Network, *, proposals: int = PROPOSALS, seed: int = 0, deadline: float | None = None
) -> Network:
    """A network with at least as many confidently right outputs as ``start``.

    Parameters
    ----------
    problem, start
        What to fit, and the network to start from.
    proposals, seed
        How long to search; the result is the same for the same values.
    deadline
        Moment of ``time.perf_counter`` after which the search ends all the same.
    """
    live = problem.live
    if not len(live):
        return start
    data = np.ascontiguousarray(problem.data[:, live])
    sizes = np.array(problem.layers[1:])
    widest = int(sizes.max())
    kept = start.weights[0][live].copy()
    kept_upper = np.zeros((max(1, len(sizes) - 1), widest, widest), dtype=np.int64)
    for layer, matrix in enumerate(start.weights[1:]):
        kept_upper[layer, : matrix.shape[0], : matrix.shape[1]] = matrix
    best = int(start.confident(problem.data, problem.codes).sum())
    threshold = confidence_threshold(problem.layers, problem.weight_bound)
    rng = np.random.default_rng(seed)
    runs = max(1, proposals // (10 * _CHUNK))
    for _ in range(runs):
        weights, upper = kept.copy(), kept_upper.copy()
        first = exact_product(data, weights)
        for progress in np.arange(10) / 9.0:
            if best == problem.codes.size or (deadline is not None and time.perf_counter() >= deadline):
                return _network(problem, live, kept, kept_upper)
            temperature = _TEMPERATURE[0] * (_TEMPERATURE[1] / _TEMPERATURE[0]) ** progress
            size = max(1, min(_CHUNK, proposals // (10 * runs)))
            best = int(
                _anneal(
                    data,
                    problem.codes,
                    sizes,
                    problem.weight_bound,
                    threshold,
                    weights,
                    upper,
                    first,
                    temperature,
                    _PULL,
                    size,
                    rng,
                    kept,
                    kept_upper,
                    best,
                )
            )
    return _network(problem, live, kept, kept_upper)


def _network(problem: Problem, live: Integers, weights: Integers, upper: Integers) -> Network:
    first = np.zeros(problem.layers[:2], dtype=np.int64)
    first[live] = weights
    above = []
    for layer, (inputs, size) in enumerate(zip(problem.layers[1:], problem.layers[2:], strict=False)):
        above.append(upper[layer, :inputs, :size])
    return Network((first, *above), problem.weight_bound)
