"""A network that fits all training rows, written down instead of searched for.

Rows of few images are nearly independent, so one neuron can realise almost any dichotomy of classes.  First-layer
neurons that realise a code with large distances give every row of a class the same signs, and all layers above see one
pattern per class.  What they must do is a small problem, neuron by neuron: *carry* the code to the outputs, which
detect their own class, or *detect* the classes in the second layer already and carry what was detected.

Weights are small, so the threshold of a detector comes from constant signs.  Of n neurons below it, k carry the code
and n - k are constant: with classes at least d apart and a threshold of k - d, sums are at least d on the right side.

A dichotomy gives every class a sign, and several dichotomies together give every class a code; two classes are as far
apart as the number of dichotomies that separate them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.exhaustive import best_neuron
from bemi.engines.decomposition.neuron.linear_program import NeuronBound, NeuronLP
from bemi.engines.decomposition.neuron.rounding import integer_weights
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import Network, sign
from bemi.problem.problem import Problem, one_hot

Floats = NDArray[np.float64]

ALL_UP_TO = 10
"""Up to this many classes all dichotomies are looked at; beyond, single classes and random halves."""

RANDOM = 500
"""Number of random halves."""

PROPOSALS = 200_000
"""Steps of the search for integer weights of a neuron: a tenth of a second for 100 images."""

STARTS = 8
"""Searches for a code, each from other dichotomies."""

_SHORT = 100.0  # price of a pair of classes that is one step too close


class Dichotomies:
    """Dichotomies that single neurons can realise on the rows of a problem, each with its largest margin.

    They are looked at in the order of a seed, until the deadline.
    """

    def __init__(self, problem: Problem, deadline: Deadline, seed: int = 0) -> None:
        self.problem = problem
        self.labels: Integers = problem.codes.argmax(axis=1)
        self.program = NeuronLP(problem.data, problem.weight_bound)
        rng, classes = np.random.default_rng(seed), problem.codes.shape[1]
        found: list[tuple[Integers, NeuronBound]] = []
        self.looked_at = 0
        for signs in rng.permutation(_candidates(classes, rng)):
            if deadline.passed:
                break
            self.looked_at += 1
            bound = self.program.solve(signs[self.labels])
            if bound.bound >= 1:
                found.append((signs, bound))
        self.signs: Integers = np.array([signs for signs, _ in found], dtype=np.int64).reshape(len(found), classes)
        self.bounds = [bound for _, bound in found]
        self._neurons: dict[int, Integers | None] = {}

    @cached_property
    def margins(self) -> Floats:
        """Largest margin of each dichotomy, with continuous weights; -inf if it has no integer neuron."""
        return np.array([bound.value for bound in self.bounds])

    @property
    def prices(self) -> Floats:
        """0 for dichotomies that codes may use, otherwise inf."""
        return np.where(np.isfinite(self.margins), 0.0, np.inf)

    @property
    def gains(self) -> Floats:
        """What a dichotomy adds to the distance of classes: margin and accuracy on new images go together."""
        usable = np.isfinite(self.margins)
        return np.where(usable, self.margins / (self.margins[usable].mean() if usable.any() else 1.0), 0.0) ** 2

    def neuron(self, index: int, deadline: Deadline | None = None) -> Integers | None:
        """Integer weights that realise a dichotomy with a large margin; None if none were found."""
        if index not in self._neurons:
            signs = self.signs[index][self.labels]
            weights, margin = widest_neuron(self.program, signs, deadline=deadline)
            self._neurons[index] = weights if margin >= 1 else None
        return self._neurons[index]

    def weights(self, chosen: Integers, deadline: Deadline | None = None) -> Integers | None:
        """Neurons that realise these dichotomies; None if some have none, which no further code gets."""
        neurons = {index: self.neuron(index, deadline) for index in chosen.tolist()}
        lost = [index for index, neuron in neurons.items() if neuron is None]
        self.margins[lost] = -np.inf
        return None if lost else np.stack([neuron for neuron in neurons.values() if neuron is not None], axis=1)


def widest_neuron(
    program: NeuronLP,
    signs: Integers,
    *,
    start: Integers | None = None,
    proposals: int = PROPOSALS,
    deadline: Deadline | None = None,
    seed: int = 0,
) -> tuple[Integers, int]:
    """Integer weights of a neuron with these signs on the rows of a program, and their margin."""
    bound = program.solve(signs.astype(np.int8))
    multipliers = np.zeros(len(program.data))
    for row, value in bound.multipliers:
        multipliers[row] = value
    weights, margin = integer_weights(
        *(program.data, signs, program.weight_bound, bound.weights, bound.value, multipliers),
        None if start is None else start[program.live],
        proposals=proposals,
        seed=seed,
        deadline=deadline or Deadline(),
    )
    full = np.zeros(program.inputs, dtype=np.int64)
    full[program.live] = weights
    return full, margin


def _candidates(classes: int, rng: np.random.Generator) -> Integers:
    """Dichotomies, one of each and its opposite."""
    if classes <= ALL_UP_TO:
        numbers = np.arange((1 << (classes - 1)) - 1)
        bits = (numbers[:, None] >> np.arange(classes - 1)) & 1
        return np.concatenate([np.ones((len(numbers), 1), dtype=np.int64), 2 * bits - 1], axis=1)
    single = 2 * np.eye(classes, dtype=np.int64) - 1
    halves = np.where(rng.permuted(np.tile(np.arange(classes), (RANDOM, 1)), axis=1) < classes // 2, 1, -1)
    return np.concatenate([single, np.unique(halves, axis=0)])


def separates(signs: Integers) -> NDArray[np.bool_]:
    """Which pairs of classes each dichotomy separates, shape (dichotomies, pairs)."""
    a, b = np.triu_indices(signs.shape[1], 1)
    return signs[:, a] != signs[:, b]


def best_code(
    signs: Integers,
    length: int,
    *,
    distance: int,
    gains: Floats | None = None,
    prices: Floats | None = None,
    seed: int = 0,
    starts: int = STARTS,
) -> Integers | None:
    """Indices of ``length`` dichotomies whose codes are at least ``distance`` apart; None if none are found.

    ::

        min  sum_i price_i + sum_{a < b} exp(-sum_i gain_i [i separates a and b])

    over the chosen dichotomies i, by exchanging one of them at a time, from several random starts.  Without gains the
    second sum is left out.
    """
    usable = np.flatnonzero(np.isfinite(np.zeros(len(signs)) if prices is None else prices))
    if len(usable) < length or not length:
        return None
    apart = separates(signs[usable]).astype(np.float64)
    worth = apart * (0.0 if gains is None else gains[usable, None])
    price = np.zeros(len(usable)) if prices is None else prices[usable]
    rng = np.random.default_rng(seed)

    def cost(near: Floats, gained: Floats) -> Floats:
        short = np.maximum(0.0, distance - near)
        return _SHORT * (short**2).sum(axis=-1) + (0.0 if gains is None else np.exp(-gained).sum(axis=-1))

    best, lowest = None, np.inf
    for _ in range(starts):
        chosen = rng.choice(len(usable), length, replace=False)
        value = np.inf
        while True:
            before = value
            for place in rng.permutation(length):
                others = np.delete(chosen, place)
                near, gained = apart[others].sum(axis=0), worth[others].sum(axis=0)
                trial = price + price[others].sum() + cost(near + apart, gained + worth)
                trial[others] = np.inf
                chosen[place] = int(trial.argmin())
                value = float(trial[chosen[place]])
            if value > before - 1e-9:
                break
        if value < lowest and apart[chosen].sum(axis=0).min() >= distance:
            best, lowest = usable[chosen], value
    return best


def fewest_signs(problem: Problem) -> int:
    """Length of the shortest code that tells all classes apart."""
    return max(1, (problem.codes.shape[1] - 1).bit_length())


def confident(problem: Problem) -> int:
    """A quarter of the largest sum of an output, rounded up, in units of the weight bound."""
    return -(-(own_sizes(problem)[-1] + 1) // 4)


LISTING_SHARE = 0.25
"""Part of the time for the margins of dichotomies; a random part of them is used if there is no time for all."""

Detection = Literal["outputs", "hidden"]
"""Whether outputs detect their class, or the second layer does."""

_TRIES = 20  # codes that are tried if dichotomies turn out to have no integer neuron
_MOST_INPUTS = 24  # signs for which a neuron is searched exactly


@dataclass(frozen=True, eq=False)
class Start:
    """A network that was written down and fits all rows, or None; what it is made of, or why there is none."""

    network: Network | None
    message: str
    dichotomies: Dichotomies


def fitting_network(problem: Problem, deadline: Deadline, *, detection: Detection = "outputs", seed: int = 0) -> Start:
    """A network that fits all rows of a problem with one output per class, if the engine can write one down."""
    known = Dichotomies(problem, deadline.share(LISTING_SHARE), seed)
    if not problem.hidden_layers:
        return _without_hidden_layer(problem, known)
    if not len(known.signs):
        return Start(None, f"none of {known.looked_at} dichotomies of classes is separable by one neuron", known)
    gains, reason = known.gains, "the hidden layers are too small for a code of these classes"
    for length, distance in _shapes(problem):
        for _ in range(_TRIES):
            chosen = best_code(known.signs, length, distance=distance, gains=gains, prices=known.prices, seed=seed)
            if chosen is None:
                reason = f"no {length} separable dichotomies give codes {distance} apart"
                break
            if deadline.passed:
                reason = "no time"
                break
            weights = known.weights(chosen)
            if weights is None:
                reason = "dichotomies that are separable with continuous weights are not with integers"
                continue
            network = network_on_code(problem, weights, known.signs[chosen], detection)
            if network is not None and problem.all_right(network):
                return Start(network, f"{length} dichotomies of classes, codes at least {distance} apart", known)
            bound = problem.weight_bound
            reason = f"no outputs tell codes of {length} dichotomies apart with weights of at most {bound}"
            break
    return Start(None, reason, known)


def _shapes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Lengths of codes and distances between classes, the best first.

    With ``q = ceil(B / 4)``, where a sum is confident, and n neurons in the last hidden layer, the longest code that
    leaves enough constant neurons for a threshold of k - q has ``k = (n + 1 + q) // 2``.
    """
    sizes, least, most = own_sizes(problem), fewest_signs(problem), confident(problem)
    preferred = min(*sizes, (sizes[-1] + 1 + most) // 2)
    lengths = [preferred, *range(preferred + 1, min(sizes) + 1), *range(preferred - 1, least - 1, -1)]
    for distance in range(most, 0, -1):
        for length in lengths:
            if least <= length and distance <= length:
                yield length, distance


def own_sizes(problem: Problem) -> list[int]:
    """Neurons of each hidden layer without the constant one."""
    return [size - problem.biased for size in problem.hidden_layers]


def _without_hidden_layer(problem: Problem, known: Dichotomies) -> Start:
    """Outputs that each separate their class from all others."""
    columns = []
    signs = known.signs[:, known.labels]
    for output in problem.codes.T:
        for side in (1, -1):
            (same,) = np.nonzero((signs == side * output).all(axis=1))
            if len(same):
                neuron = known.neuron(int(same[0]))
                break
        else:
            neuron = None
        if neuron is None:
            return Start(None, "not every class is separable from all others by one neuron", known)
        columns.append(side * neuron)
    network = Network((np.stack(columns, axis=1),), problem.weight_bound)
    return Start(network, "one neuron for each class", known)


def network_on_code(problem: Problem, neurons: Integers, signs: Integers, detection: Detection) -> Network | None:
    """The network whose first layer has these neurons, with these signs on the classes; the others are constant.

    None if a neuron above cannot do what it should.
    """
    sizes, classes = own_sizes(problem), problem.codes.shape[1]
    own_class, carried = one_hot(np.arange(classes), classes), signs.T
    parts, patterns = [neurons], _padded(carried, problem.layers[1])
    for layer, size in enumerate(sizes[1:], start=1):
        if detection == "hidden" and classes <= size:
            carried = own_class
        found = layer_for(patterns, carried, problem.weight_bound)
        if found is None:
            return None
        parts.append(found)
        patterns = _padded(carried, problem.layers[layer + 1])
    last = layer_for(patterns, own_class, problem.weight_bound)
    return None if last is None else network_of(problem, [*parts, last])


def network_of(problem: Problem, parts: Sequence[Integers]) -> Network:
    """The network with these weights of its first neurons, from the first signals below and the bias, the last row."""
    weights = [np.zeros(shape, dtype=np.int64) for shape in pairwise(problem.layers)]
    for full, part in zip(weights, parts, strict=True):
        full[: len(part) - 1, : part.shape[1]] = part[:-1]
        full[-1, : part.shape[1]] = part[-1]
    return Network(tuple(weights), problem.weight_bound)


def signals(problem: Problem, network: Network) -> Iterator[tuple[Integers, Integers]]:
    """Inputs and signs of every layer of a network that is right on all rows."""
    signs = [problem.data, *(sign(sums) for sums in network.pre_activations(problem.data)[:-1]), problem.codes]
    return pairwise(signs)


def networks_on_code(problem: Problem, neurons: Integers, signs: Integers) -> Iterator[Network]:
    """Those that are right on all rows: classes detected in the second layer, or by the outputs."""
    ways: tuple[Detection, ...] = ("hidden", "outputs")
    for detection in ways:
        network = network_on_code(problem, neurons, signs, detection)
        if network is not None and problem.all_right(network):
            yield network


def _padded(signs: Integers, size: int) -> Integers:
    """Signs by class, with a constant +1 for each neuron without links."""
    return np.concatenate([signs, np.ones((len(signs), size - signs.shape[1]), dtype=np.int64)], axis=1)


def layer_for(patterns: Integers, wanted: Integers, bound: int) -> Integers | None:
    """Weights from patterns to wanted signs, one column for each; None if some neuron cannot have its signs.

    A sign that is among the inputs is copied.  Other neurons get the largest margin that there is.
    """
    columns = []
    for signs in wanted.T:
        column = np.zeros(patterns.shape[1], dtype=np.int64)
        same = np.flatnonzero((patterns == signs[:, None]).all(axis=0))
        if len(same):
            column[same[0]] = bound
        else:
            found = _neuron_on_signs(patterns, signs, bound)
            if found is None:
                return None
            column[:] = found
        columns.append(column)
    return np.stack(columns, axis=1)


def _neuron_on_signs(patterns: Integers, signs: Integers, bound: int) -> Integers | None:
    """A neuron of the largest margin over few signs; over many, a correlation with a threshold from constant signs."""
    if patterns.shape[1] <= _MOST_INPUTS:
        found = best_neuron(patterns, signs, bound)
        if found.weights is not None or found.complete:
            return found.weights
    constant = (patterns == patterns[0]).all(axis=0)
    direction = np.where(constant, 0, np.sign(signs @ patterns + (len(signs) * (signs @ patterns == 0))))
    own = patterns[signs > 0]
    if len(own) == 1:
        direction = np.where(constant, 0, own[0])
    best, widest_margin = None, 0
    for threshold in range(int(constant.sum()) + 1):
        weights = bound * direction
        weights[np.flatnonzero(constant)[:threshold]] = -bound * patterns[0, constant][:threshold]
        margin = int((signs * (patterns @ weights)).min())
        if margin > widest_margin:
            best, widest_margin = weights, margin
    return best
