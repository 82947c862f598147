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
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers, exact_product
from bemi.jit import njit
from bemi.limits import FOREVER, Deadline, Limits
from bemi.network import Network, confidence_threshold
from bemi.problem.problem import Problem, confident_outputs_bound
from bemi.stages.result import Outcome

Floats = NDArray[np.float64]

PROPOSALS = 3_000_000
"""Proposals if nothing else ends the search."""

PROPOSALS_PER_NODE = 2_000
"""How a node limit translates into proposals."""

_SOURCES = {
    None: "is the number of outputs",
    "last-layer": "is what the last layer allows",
}
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


# What the walk is made of: called by compiled code only, so without wrappers for Python, and inlined, because it runs
# millions of times.  Parts allocate nothing, so they need no reference counts, with which the walk is 5 times slower
# (``_nrt`` is an option that Numba does not document).  No divisor is ever 0; the error model only spares the checks.
_called = njit(_nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_part = njit(_nrt=False, forceinline=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_allocating = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


class _Task(NamedTuple):
    """What stays the same in all walks of a search.

    Attributes
    ----------
    columns, which, codes
        Columns of the data, shape (inputs, rows); per row the number of its code; and the codes.
    sizes
        Neurons per layer, without the inputs.
    bound, threshold
        P, and the output from which on a row counts as confident.
    everything
        Outputs in all; a walk ends where all are confident and no sum is 0.
    share
        Share of steps above the first layer.
    """

    columns: Integers
    which: Integers
    codes: Integers
    sizes: Integers
    bound: int
    threshold: int
    everything: int
    share: float


class _Weights(NamedTuple):
    """Weights of the first layer, (inputs, neurons), and above it, (layers, from, to) as large as the widest layer."""

    first: Integers
    upper: Integers


class _Cooling(NamedTuple):
    """First and last temperature of a walk, what a sum of 0 costs, and the number of steps."""

    hot: float
    cold: float
    zero_cost: float
    steps: int


class _Tables(NamedTuple):
    """What rows are worth by key, for the present upper weights and for those that are tried.

    A key is the number of a code followed by a pattern of signs.  A slot is valid for one key, and for a version of
    the upper weights.  ``signal`` and ``above`` are room for an evaluation.
    """

    entries: Floats
    keys: Integers
    versions: Integers
    version: Integers
    signal: Integers
    above: Integers


class _Rows(NamedTuple):
    """Per row: its key, its first-layer sums that are 0, and what it is worth; then the same for a step that is tried.

    ``touched`` lists the rows that a step of the first layer changes, ``tried`` what these would be worth, and
    ``moved`` holds the new sums of all rows.
    """

    key: Integers
    zero: Integers
    worth: Floats
    touched: Integers
    tried: Floats
    moved: Integers


class _Step(NamedTuple):
    """A weight and its new value, and in the first layer perhaps a second weight of the same neuron.

    ``layer`` is -1 for the first layer.
    """

    layer: int
    i: int
    j: int
    old: int
    new: int
    second: int
    by_second: int


@_called
def _evaluate(task, upper, neurons, tables, side, key, slot):
    """Put into a slot of a table what a row with this code and these first-layer signs is worth.

    The entry is its score, its confident outputs, whether all are, and if so the zeros above the first layer.
    """
    codes, sizes, threshold, signal, above = task.codes, task.sizes, task.threshold, tables.signal, tables.above
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
    tables.keys[side, slot], tables.versions[side, slot] = key, tables.version[side]
    entry = tables.entries[side, slot]
    entry[0] = count + _PULL * pull
    entry[1] = count
    entry[2] = 1.0 if count == outputs else 0.0
    entry[3] = zeros if count == outputs else 0.0


@_part
def _look_up(task, upper, neurons, tables, side, key, tried, n):
    """Set ``tried[n]`` to what a row with this key is worth, from a table; what it lacks is computed first."""
    slot = (key ^ (key >> _SLOT_BITS)) & (_SLOTS - 1)
    if tables.keys[side, slot] != key or tables.versions[side, slot] != tables.version[side]:
        _evaluate(task, upper, neurons, tables, side, key, slot)
    for q in range(4):
        tried[n, q] = tables.entries[side, slot, q]


@_part
def _read_rows(which, sums, rows):
    """Set the keys and the zeros of all rows from their first-layer sums."""
    neurons = sums.shape[0]
    for k in range(which.shape[0]):
        rows.key[k] = which[k] << neurons
        for j in range(neurons):
            if sums[j, k] >= 0:
                rows.key[k] |= 1 << j
            if sums[j, k] == 0:
                rows.zero[k] += 1


@_part
def _propose(task, weights, rng):
    """Draw a step; returns it and whether it stays within the bounds."""
    inputs, neurons = weights.first.shape
    sizes, bound = task.sizes, task.bound
    layer = -1
    if rng.random() < task.share:
        layer = int(rng.random() * (sizes.shape[0] - 1))
        i, j = int(rng.random() * sizes[layer]), int(rng.random() * sizes[layer + 1])
        old = weights.upper[layer, i, j]
    else:
        i, j = int(rng.random() * inputs), int(rng.random() * neurons)
        old = weights.first[i, j]
    if bound == 1 or rng.random() >= _JUMP:
        new = old + (1 if rng.random() < 0.5 else -1)
        if abs(new) > bound:
            new = 2 * old - new
    else:
        new = int(rng.random() * (2 * bound + 1)) - bound
    second, by_second = i, 0
    allowed = True
    if layer < 0 and rng.random() < _PAIR:
        second = int(rng.random() * inputs)
        by_second = old - new if rng.random() < 0.8 else new - old
        allowed = second != i and abs(weights.first[second, j] + by_second) <= bound
    return _Step(layer, i, j, old, new, second, by_second), allowed


@_part
def _skip_draws(rng, bound):
    """Pass over the numbers of one step: walks used to draw a step here, and seeds keep their results."""
    for _ in range(4 if bound == 1 else 5):
        rng.random()


@_part
def _rate_all(task, weights, tables, side, rows, zero_cost):
    """What all rows are worth under the upper weights: score, confident outputs, and zeros."""
    neurons = weights.first.shape[1]
    tables.version[side] = max(tables.version[0], tables.version[1]) + 1
    tried = rows.tried
    total, count, zeros = 0.0, 0.0, 0.0
    for k in range(rows.key.shape[0]):
        _look_up(task, weights.upper, neurons, tables, side, rows.key[k], tried, k)
        more = tried[k, 3] + tried[k, 2] * rows.zero[k]
        total += tried[k, 0] - zero_cost * more
        count += tried[k, 1]
        zeros += more
    return total, count, zeros


@_part
def _keep_all(rows):
    for k in range(rows.key.shape[0]):
        for q in range(4):
            rows.worth[k, q] = rows.tried[k, q]


@_part
def _rate_touched(task, weights, tables, side, rows, sums, step, zero_cost, total, count, zeros):
    """The three numbers after a step of the first layer, and the number of rows that it touches."""
    columns, zero, worth, tried, moved = task.columns, rows.zero, rows.worth, rows.tried, rows.moved
    neurons = weights.first.shape[1]
    i, j, by = step.i, step.j, step.new - step.old
    n_touched = np.int64(0)
    for k in range(moved.shape[0]):
        moved[k] = sums[j, k] + by * columns[i, k] + step.by_second * columns[step.second, k]
    for k in range(moved.shape[0]):
        a, b = sums[j, k], moved[k]
        turns = (a >= 0) != (b >= 0)
        if turns or (a == 0) != (b == 0):
            new_key = rows.key[k] ^ (1 << j) if turns else rows.key[k]
            _look_up(task, weights.upper, neurons, tables, side, new_key, tried, n_touched)
            rows.touched[n_touched] = k
            more = tried[n_touched, 3] + tried[n_touched, 2] * (zero[k] + int(b == 0) - int(a == 0))
            more -= worth[k, 3] + worth[k, 2] * zero[k]
            total += tried[n_touched, 0] - worth[k, 0] - zero_cost * more
            count += tried[n_touched, 1] - worth[k, 1]
            zeros += more
            n_touched += 1
    return total, count, zeros, n_touched


@_part
def _take_step(weights, rows, sums, step, n_touched):
    """Take a step of the first layer that was rated before."""
    j = step.j
    weights.first[step.i, j] = step.new
    weights.first[step.second, j] += step.by_second
    for n in range(n_touched):
        k = rows.touched[n]
        a, b = sums[j, k], rows.moved[k]
        rows.zero[k] += int(b == 0) - int(a == 0)
        if (a >= 0) != (b >= 0):
            rows.key[k] ^= 1 << j
        for q in range(4):
            rows.worth[k, q] = rows.tried[n, q]
    for k in range(rows.moved.shape[0]):
        sums[j, k] = rows.moved[k]


@_part
def _copy_weights(source, target):
    """Copy in loops: an assignment of arrays takes seconds to compile."""
    for i in range(source.first.shape[0]):
        for j in range(source.first.shape[1]):
            target.first[i, j] = source.first[i, j]
    for layer in range(source.upper.shape[0]):
        for i in range(source.upper.shape[1]):
            for j in range(source.upper.shape[2]):
                target.upper[layer, i, j] = source.upper[layer, i, j]


@_allocating
def _new_tables(widest):
    return _Tables(
        np.empty((2, _SLOTS, 4)),
        np.full((2, _SLOTS), -1),
        np.zeros((2, _SLOTS), np.int64),
        np.zeros(2, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest, np.int64),
    )


@_allocating
def _new_rows(count):
    return _Rows(
        np.empty(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, 4)),
        np.empty(count, np.int64),
        np.zeros((count, 4)),
        np.empty(count, np.int64),
    )


@njit(cache=True, error_model="numpy")
def _walk(task, weights, sums, cooling, rng, kept, best):
    """Metropolis walk; changes weights and sums in place, and puts the best weights into ``kept``.

    ``best`` is the pair of their confident outputs and their zeros; the new pair is returned.
    """
    tables = _new_tables(max(weights.upper.shape[1], weights.first.shape[1]))
    rows = _new_rows(task.columns.shape[1])
    _read_rows(task.which, sums, rows)
    zero_cost, steps = cooling.zero_cost, cooling.steps
    rate = math.log(cooling.cold / cooling.hot) / steps
    best_count, best_zeros = best
    total, count, zeros = 0.0, 0.0, 0.0
    present = np.int64(0)  # the table of the present upper weights; a literal would have parts compiled twice
    # Before the first step, the rows are rated where the walk starts, which may be the best point so far.
    for n in range(-1, steps):
        if n < 0:
            _skip_draws(rng, task.bound)
            t, c, z = _rate_all(task, weights, tables, present, rows, zero_cost)
            _keep_all(rows)
        else:
            step, allowed = _propose(task, weights, rng)
            if not allowed:
                continue
            least = total + cooling.hot * math.exp(rate * n) * math.log(1.0 - rng.random())
            if step.layer >= 0:
                weights.upper[step.layer, step.i, step.j] = step.new
                t, c, z = _rate_all(task, weights, tables, 1 - present, rows, zero_cost)
                if t < least:
                    weights.upper[step.layer, step.i, step.j] = step.old
                    continue
                present = 1 - present
                _keep_all(rows)
            else:
                t, c, z, n_touched = _rate_touched(
                    task, weights, tables, present, rows, sums, step, zero_cost, total, count, zeros
                )
                if t < least:
                    continue
                _take_step(weights, rows, sums, step, n_touched)
        total, count, zeros = t, c, z
        if count > best_count or (count == best_count and zeros < best_zeros):
            best_count, best_zeros = int(count), int(zeros)
            _copy_weights(weights, kept)
            if best_count == task.everything and best_zeros == 0:
                break
    return best_count, best_zeros


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy for Sat-Margin: most confident outputs, then fewest sums of 0, so that Max-Margin has a start."""
    assert state.start is not None
    network = most_confident(
        problem,
        state.start,
        proposals=proposals_within(limits),
        seed=limits.seed,
        deadline=limits.deadline(),
        most=None if state.bound is None else int(state.bound),
    )
    source = _SOURCES[None if state.proof is None else state.proof["kind"]]
    message = f"stopped after a local search; the bound {source}"
    return Finding(network, start=network, outcome=Outcome.LOCAL, message=message)


def proposals_within(limits: Limits) -> int:
    """Proposals of a search: from the node limit, else from the time limit, else a constant."""
    if limits.nodes is not None:
        return limits.nodes * PROPOSALS_PER_NODE
    return PROPOSALS if limits.seconds is None else 10**12


def most_confident(
    problem: Problem,
    start: Network,
    *,
    proposals: int = PROPOSALS,
    seed: int = 0,
    deadline: Deadline = FOREVER,
    most: int | None = None,
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
        When the search stops regardless.
    most
        A bound on the confidently right outputs of every network, if one is known: the search stops there.
    """
    threshold = confidence_threshold(problem.layers, problem.weight_bound)
    most = confident_outputs_bound(problem) if most is None else most
    return _search(problem, start, threshold, most, _WALKS, proposals, seed, deadline)


def with_margins(
    problem: Problem, start: Network, *, proposals: int = PROPOSALS, seed: int = 0, deadline: Deadline = FOREVER
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
    deadline: Deadline,
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
    task = _Task(
        np.ascontiguousarray(scale * data.T),
        which.reshape(-1),
        codes,
        sizes,
        problem.weight_bound,
        threshold,
        everything,
        _UPPER if hidden else 0.0,
    )
    kept = _Weights(start.weights[0][live].copy(), np.zeros((len(sizes) - 1, sizes.max(), sizes.max()), dtype=np.int64))
    for layer, matrix in enumerate(start.weights[1:] or [np.eye(problem.layers[1], dtype=np.int64)]):
        kept.upper[layer, : matrix.shape[0], : matrix.shape[1]] = matrix
    rng = np.random.default_rng(seed)
    clock, used = deadline.share(1.0), 0
    best = (-1, 0)

    def progress() -> float:
        return max(used / proposals, clock.progress)

    for end, hottest, coldest, zero_cost in walks:
        weights = _Weights(kept.first.copy(), kept.upper.copy())
        sums = np.ascontiguousarray((scale * exact_product(data, weights.first) - shift).T)
        first = progress()
        while best != (everything, 0) and (now := progress()) < end:
            steps = min(_CHUNK, max(1, proposals - used))
            done = (now - first) / (end - first)
            after = min(1.0, done + steps / proposals / (end - first))
            hot, cold = (hottest * (coldest / hottest) ** x for x in (done, after))
            best = _walk(task, weights, sums, _Cooling(hot, cold, zero_cost, steps), rng, kept, best)
            used += steps
    first_layer = np.zeros(problem.layers[:2], dtype=np.int64)
    first_layer[live] = kept.first
    above = [kept.upper[n, :a, :b] for n, (a, b) in enumerate(pairwise(sizes))]
    return Network((first_layer, *(above if hidden else ())), problem.weight_bound)
