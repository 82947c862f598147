"""Sat-Margin where no neuron per output bit separates the rows: local search for the most confident outputs.

All weights of all layers take part.  A step changes one weight, or two weights of one first-layer neuron in opposite
directions, which moves sums less where inputs are alike.  What a row is worth depends only on its code and on the signs
that the first layer gives it, so it is looked up in a table; a step touches only rows where a sign changes.  A walk
that cools down minimises, summed over the rows,

    - confident outputs - pull * (nearness of the others to the threshold) + a little * zeros,

where zeros counts the hidden sums that are exactly 0 on a row with only confident outputs.  Such rows are what
Max-Margin gets to see, and a sum of 0 has no margin: among networks with equally many confident outputs, one without
zeros is kept, because Max-Margin can start from it.
"""

from __future__ import annotations

import math
import time
from itertools import pairwise

import numpy as np
from numba import njit

from bemi.network import Network, confidence_threshold
from bemi.problem.measures import confident_outputs_bound
from bemi.problem.problem import Problem
from bemi.products import exact_product

PROPOSALS = 3_000_000
"""Proposals if nothing else ends the search."""

PROPOSALS_PER_NODE = 2_000
"""How a node limit translates into proposals."""

_CHUNK = 50_000  # proposals between two looks at the clock
# Where in the whole search each walk ends, its first and last temperature in confidently right outputs, and what a sum
# of exactly 0 costs.
_WALKS = ((0.12, 0.6, 0.1, 0.1), (0.36, 0.6, 0.1, 0.2), (0.72, 0.6, 0.1, 0.2), (1.0, 0.6, 0.1, 0.4))
_REPAIRS = ((0.1, 0.3, 0.1, 0.4), (0.4, 0.6, 0.1, 0.4), (1.0, 0.6, 0.1, 0.4))  # the same where zeros must go
_PULL = 0.8  # what an output that is just short of confident is worth
_UPPER, _JUMP, _PAIR = 0.1, 0.3, 0.5  # shares of steps: above the first layer, to any value, of two weights
_SLOT_BITS = 12
_SLOTS = 1 << _SLOT_BITS  # of the tables; an entry that loses its slot is computed anew
_PATTERN_BITS = 60


@njit(cache=True)
def _evaluate(key, neurons, codes, upper, sizes, threshold, signal, above, entry):
    """What a row with this code and these first-layer signs is worth.

    ``entry`` becomes its score, its confident outputs, whether all are, and if so the zeros above the first layer.
    """
    depth = sizes.shape[0]
    code = codes[key >> neurons]
    zeros = 0
    for i in range(sizes[0]):
        signal[i] = 1 if (key >> i) & 1 else -1
    for layer in range(1, depth):
        for j in range(sizes[layer]):
            total = 0
            for i in range(sizes[layer - 1]):
                total += signal[i] * upper[layer - 1, i, j]
            above[j] = total
        if layer < depth - 1:
            for i in range(sizes[layer]):
                if above[i] == 0:
                    zeros += 1
                signal[i] = 1 if above[i] >= 0 else -1
    outputs = sizes[depth - 1]
    count = 0
    pull = 0.0
    for j in range(outputs):
        value = above[j] * code[j]
        if value >= threshold:
            count += 1
        else:
            # Upper sums are small integers: nearness to the threshold is worth something.
            pull += max(0.0, 1.0 - (threshold - value) / (2.0 * threshold))
    entry[0] = count + _PULL * pull
    entry[1] = count
    entry[2] = 1.0 if count == outputs else 0.0
    entry[3] = zeros if count == outputs else 0.0


@njit(cache=True)
def _walk(
    columns,
    which,
    codes,
    sizes,
    bound,
    threshold,
    everything,
    weights,
    upper,
    sums,
    share,
    hot,
    cold,
    zero_cost,
    steps,
    rng,
    kept,
    kept_upper,
    best,
):
    """Metropolis walk; changes weights, upper and sums in place, keeps the best point.

    ``best`` is the pair of its confident outputs and its zeros; the new pair is returned.
    """
    inputs, neurons = weights.shape
    rows = columns.shape[1]
    depth = sizes.shape[0]
    widest = max(upper.shape[1], neurons)
    signal, above = np.empty(widest, np.int64), np.empty(widest, np.int64)
    # Two tables, for the present upper weights and for those that are tried.  A slot is valid for a key, which is the
    # number of a code followed by a pattern of signs, and for a version of the upper weights.
    table, keys, versions = np.empty((2, _SLOTS, 4)), np.full((2, _SLOTS), -1), np.zeros((2, _SLOTS), np.int64)
    present = 0
    version = np.zeros(2, np.int64)
    key = np.empty(rows, np.int64)
    zero = np.zeros(rows, np.int64)  # first-layer sums that are 0
    worth, tried = np.zeros((rows, 4)), np.zeros((rows, 4))
    for k in range(rows):
        key[k] = which[k] << neurons
        for j in range(neurons):
            if sums[j, k] >= 0:
                key[k] |= 1 << j
            if sums[j, k] == 0:
                zero[k] += 1
    touched, moved = np.empty(rows, np.int64), np.empty(rows, np.int64)
    total, count, zeros = 0.0, 0.0, 0.0
    best_count, best_zeros = best
    cooling = math.log(cold / hot) / steps
    for step in range(-1, steps):
        in_upper = step < 0 or rng.random() < share
        layer = 0
        if in_upper and step >= 0:
            layer = int(rng.random() * (depth - 1))
            i, j = int(rng.random() * sizes[layer]), int(rng.random() * sizes[layer + 1])
            old = upper[layer, i, j]
        else:
            i, j = int(rng.random() * inputs), int(rng.random() * neurons)
            old = weights[i, j]
        if bound == 1 or rng.random() >= _JUMP:
            new = old + (1 if rng.random() < 0.5 else -1)
            if abs(new) > bound:
                new = 2 * old - new
        else:
            new = int(rng.random() * (2 * bound + 1)) - bound
        by = new - old
        second, by_second = i, 0
        if not in_upper and rng.random() < _PAIR:
            second = int(rng.random() * inputs)
            by_second = -by if rng.random() < 0.8 else by
            if second == i or abs(weights[second, j] + by_second) > bound:
                continue
        allowed = total + hot * math.exp(cooling * step) * math.log(1.0 - rng.random())
        t, c, z = total, count, zeros
        if in_upper:
            # Before the first step, this only adds up what the rows are worth.
            if step >= 0:
                upper[layer, i, j] = new
            other = 1 - present
            version[other] = version.max() + 1
            t, c, z = 0.0, 0.0, 0.0
            for k in range(rows):
                slot = (key[k] ^ (key[k] >> _SLOT_BITS)) & (_SLOTS - 1)
                if keys[other, slot] != key[k] or versions[other, slot] != version[other]:
                    _evaluate(key[k], neurons, codes, upper, sizes, threshold, signal, above, table[other, slot])
                    keys[other, slot], versions[other, slot] = key[k], version[other]
                for q in range(4):
                    tried[k, q] = table[other, slot, q]
                more = tried[k, 3] + tried[k, 2] * zero[k]
                t += tried[k, 0] - zero_cost * more
                c += tried[k, 1]
                z += more
            if t < allowed and step >= 0:
                upper[layer, i, j] = old
                continue
            present = other
            worth[:] = tried
        else:
            n_touched = 0
            for k in range(rows):
                moved[k] = sums[j, k] + by * columns[i, k] + by_second * columns[second, k]
            for k in range(rows):
                a, b = sums[j, k], moved[k]
                turns = (a >= 0) != (b >= 0)
                if turns or (a == 0) != (b == 0):
                    new_key = key[k] ^ (1 << j) if turns else key[k]
                    slot = (new_key ^ (new_key >> _SLOT_BITS)) & (_SLOTS - 1)
                    if keys[present, slot] != new_key or versions[present, slot] != version[present]:
                        _evaluate(new_key, neurons, codes, upper, sizes, threshold, signal, above, table[present, slot])
                        keys[present, slot], versions[present, slot] = new_key, version[present]
                    for q in range(4):
                        tried[n_touched, q] = table[present, slot, q]
                    touched[n_touched] = k
                    more = tried[n_touched, 3] + tried[n_touched, 2] * (zero[k] + int(b == 0) - int(a == 0))
                    more -= worth[k, 3] + worth[k, 2] * zero[k]
                    t += tried[n_touched, 0] - worth[k, 0] - zero_cost * more
                    c += tried[n_touched, 1] - worth[k, 1]
                    z += more
                    n_touched += 1
            if t < allowed:
                continue
            weights[i, j] = new
            weights[second, j] += by_second
            for n in range(n_touched):
                k = touched[n]
                a, b = sums[j, k], moved[k]
                zero[k] += int(b == 0) - int(a == 0)
                if (a >= 0) != (b >= 0):
                    key[k] ^= 1 << j
                for q in range(4):
                    worth[k, q] = tried[n, q]
            for k in range(rows):
                sums[j, k] = moved[k]
        total, count, zeros = t, c, z
        if count > best_count or (count == best_count and zeros < best_zeros):
            best_count, best_zeros = int(count), int(zeros)
            kept[:] = weights
            kept_upper[:] = upper
            if best_count == everything and best_zeros == 0:
                break
    return best_count, best_zeros


def most_confident(
    problem: Problem, start: Network, *, proposals: int = PROPOSALS, seed: int = 0, deadline: float | None = None
) -> Network:
    """A network with at least as many confidently right outputs as ``start``.

    A first layer of more than about 60 neurons is not searched; then the start comes back.

    Parameters
    ----------
    problem, start
        What to fit, and the network to start from.
    proposals, seed
        How long to search; the result is the same for the same values.
    deadline
        Moment of ``time.perf_counter`` after which the search ends all the same.
    """
    threshold = confidence_threshold(problem.layers, problem.weight_bound)
    return _search(problem, start, threshold, confident_outputs_bound(problem), _WALKS, proposals, seed, deadline)


def with_margins(
    problem: Problem, start: Network, *, proposals: int = PROPOSALS, seed: int = 0, deadline: float | None = None
) -> Network:
    """A network with all rows right and no sum of 0, so that Max-Margin can start from it, if one is found.

    Parameters as for :func:`most_confident`; without a hidden layer, being strictly right is all there is to it.
    """
    return _search(problem, start, 1, problem.codes.size, _REPAIRS, proposals, seed, deadline)


def _search(
    problem: Problem,
    start: Network,
    threshold: int,
    everything: int,
    walks: tuple[tuple[float, float, float, float], ...],
    proposals: int,
    seed: int,
    deadline: float | None,
) -> Network:
    """The network with most outputs at the threshold, and among these with fewest zeros, until there are no more."""
    live = problem.live
    codes, which = np.unique(problem.codes, axis=0, return_inverse=True)
    if not len(live) or problem.layers[1] + len(codes).bit_length() > _PATTERN_BITS:
        return start
    data = problem.data[:, live]
    hidden = bool(problem.hidden_layers)
    # Without a hidden layer a sum s must be strictly right: 2 s - y has the sign of y just then, and is never 0.
    scale, shift = (1, np.int64(0)) if hidden else (2, problem.codes)
    sizes = np.array(problem.layers[1:] if hidden else problem.layers[1:] * 2)
    columns = np.ascontiguousarray(scale * data.T)
    kept = start.weights[0][live].copy()
    kept_upper = np.zeros((len(sizes) - 1, sizes.max(), sizes.max()), dtype=np.int64)
    for layer, matrix in enumerate(start.weights[1:] or [np.eye(problem.layers[1], dtype=np.int64)]):
        kept_upper[layer, : matrix.shape[0], : matrix.shape[1]] = matrix
    rng = np.random.default_rng(seed)
    began, used = time.perf_counter(), 0
    best = (-1, 0)

    def progress() -> float:
        clock = 0.0 if deadline is None else (time.perf_counter() - began) / max(1e-9, deadline - began)
        return max(used / proposals, clock)

    for end, hottest, coldest, zero_cost in walks:
        weights, upper = kept.copy(), kept_upper.copy()
        sums = np.ascontiguousarray((scale * exact_product(data, weights) - shift).T)
        first = progress()
        while best != (everything, 0) and (now := progress()) < end:
            steps = min(_CHUNK, max(1, proposals - used))
            done = (now - first) / (end - first)
            after = min(1.0, done + steps / proposals / (end - first))
            hot, cold = (hottest * (coldest / hottest) ** x for x in (done, after))
            best = _walk(
                columns,
                which.reshape(-1),
                codes,
                sizes,
                problem.weight_bound,
                threshold,
                everything,
                weights,
                upper,
                sums,
                _UPPER if hidden else 0.0,
                hot,
                cold,
                zero_cost,
                steps,
                rng,
                kept,
                kept_upper,
                best,
            )
            used += steps
    first_layer = np.zeros(problem.layers[:2], dtype=np.int64)
    first_layer[live] = kept
    above = [kept_upper[n, :a, :b] for n, (a, b) in enumerate(pairwise(sizes))]
    return Network((first_layer, *(above if hidden else ())), problem.weight_bound)
