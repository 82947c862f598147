"""A network that fits all training rows, written down instead of searched for.

Rows of few images are nearly independent, so one neuron can realise almost any dichotomy of classes.  First-layer
neurons that realise a code with large distances give every row of a class the same signs, and all layers above see one
pattern per class.  What they must do is a small problem, neuron by neuron: *carry* the code to the outputs, which
detect their own class, or *detect* the classes in the second layer already and carry what was detected.

Weights are small, so the threshold of a detector comes from constant signs.  Of n neurons below it, k carry the code
and n - k are constant: with classes at least d apart and a threshold of k - d, sums are at least d on the right side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bemi.engines.decomposition.neuron import exhaustive
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import Network
from bemi.problem.codes import one_hot
from bemi.problem.problem import Problem
from bemi_lab.baselines.dichotomies import Dichotomies, best_code

LISTING_SHARE = 0.25
"""Part of the time for the margins of dichotomies; a random part of them is used if there is no time for all."""

Detection = Literal["outputs", "hidden"]
"""Whether outputs detect their class, or the second layer does."""

_TRIES = 20  # codes that are tried if dichotomies turn out to have no integer neuron
_MOST_INPUTS = 24  # signs for which a neuron is searched exactly


@dataclass(frozen=True, eq=False)
class Start:
    """A network that was written down.

    Attributes
    ----------
    network
        It fits all rows; None if there is none.
    message
        What it is made of, or why there is none.
    dichotomies
        Dichotomies of classes that single neurons can realise.
    """

    network: Network | None
    message: str
    dichotomies: Dichotomies


def fitting_network(problem: Problem, deadline: Deadline, *, detection: Detection = "outputs", seed: int = 0) -> Start:
    """A network that fits all rows of a problem with one output per class, if the engine can write one down.

    Dichotomies with large margins are preferred: margin and accuracy on new images go together.
    """
    known = Dichotomies(problem, deadline.share(LISTING_SHARE), seed)
    if not problem.hidden_layers:
        return _without_hidden_layer(problem, known)
    if not len(known.signs):
        return Start(None, f"none of {known.looked_at} dichotomies of classes is separable by one neuron", known)
    relative = known.margins / known.margins.mean()
    reason = "the hidden layers are too small for a code of these classes"
    for length, distance in _shapes(problem):
        for _ in range(_TRIES):
            usable = np.where(np.isfinite(known.margins), 0.0, np.inf)
            chosen = best_code(known.signs, length, distance=distance, gains=relative**2, prices=usable, seed=seed)
            if chosen is None or deadline.passed:
                reason = (
                    f"no {length} separable dichotomies give codes {distance} apart" if chosen is None else "no time"
                )
                break
            neurons = [known.neuron(index) for index in chosen]
            lost = [index for index, neuron in zip(chosen, neurons, strict=True) if neuron is None]
            for index in lost:
                known.forget(index)
            if lost:
                reason = "dichotomies that are separable with continuous weights are not with integers"
                continue
            weights = np.stack([neuron for neuron in neurons if neuron is not None], axis=1)
            network = network_on_code(problem, weights, known.signs[chosen], detection)
            if network is not None and problem.all_right(network):
                return Start(network, f"{length} dichotomies of classes, codes at least {distance} apart", known)
            reason = (
                f"no outputs tell codes of {length} dichotomies apart with weights of at most {problem.weight_bound}"
            )
            break
    return Start(None, reason, known)


def _shapes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Lengths of codes and distances between classes, the best first.

    With ``q = ceil(B / 4)``, where a sum is confident, and n neurons in the last hidden layer, the longest code that
    leaves enough constant neurons for a threshold of k - q has ``k = (n + 1 + q) // 2``.
    """
    sizes = own_sizes(problem)
    classes, last = problem.codes.shape[1], sizes[-1]
    confident = -(-(last + 1) // 4)
    least = max(1, (classes - 1).bit_length())
    preferred = min(*sizes, (last + 1 + confident) // 2)
    lengths = [preferred, *range(preferred + 1, min(sizes) + 1), *range(preferred - 1, least - 1, -1)]
    for distance in range(confident, 0, -1):
        for length in lengths:
            if least <= length and distance <= length:
                yield length, distance


def own_sizes(problem: Problem) -> list[int]:
    """Neurons of each hidden layer without the constant one."""
    return [size - problem.biased for size in problem.hidden_layers]


def _without_hidden_layer(problem: Problem, known: Dichotomies) -> Start:
    """Outputs that each separate their class from all others."""
    columns = []
    for output in problem.codes.T:
        index = np.flatnonzero((known.signs[:, known.labels] == output).all(axis=1))
        opposite = np.flatnonzero((known.signs[:, known.labels] == -output).all(axis=1))
        neuron = (
            known.neuron(int(index[0])) if len(index) else known.neuron(int(opposite[0])) if len(opposite) else None
        )
        if neuron is None:
            return Start(None, "not every class is separable from all others by one neuron", known)
        columns.append(neuron if len(index) else -neuron)
    network = Network((np.stack(columns, axis=1),), problem.weight_bound)
    return Start(network, "one neuron for each class", known)


def network_on_code(problem: Problem, neurons: Integers, signs: Integers, detection: Detection) -> Network | None:
    """The network whose first layer has these neurons, with these signs on the classes; the others are constant.

    None if a neuron above cannot do what it should.
    """
    sizes, classes = own_sizes(problem), problem.codes.shape[1]
    own_class = one_hot(np.arange(classes), classes)
    first = np.zeros(problem.layers[:2], dtype=np.int64)
    first[:, : neurons.shape[1]] = neurons
    weights = [first]
    carried = signs.T
    patterns = _padded(carried, problem.layers[1])
    for layer, size in enumerate(sizes[1:], start=1):
        if detection == "hidden" and classes <= size:
            carried = own_class
        found = layer_for(patterns, carried, problem.weight_bound)
        if found is None:
            return None
        full = np.zeros((len(found), problem.layers[layer + 1]), dtype=np.int64)
        full[:, : found.shape[1]] = found
        weights.append(full)
        patterns = _padded(carried, problem.layers[layer + 1])
    last = layer_for(patterns, own_class, problem.weight_bound)
    return None if last is None else Network((*weights, last), problem.weight_bound)


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
        listed = exhaustive.neurons(patterns, signs, bound)
        if len(listed.margins):
            return listed.weights[:, int(listed.margins.argmax())]
        if listed.complete:
            return None
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
