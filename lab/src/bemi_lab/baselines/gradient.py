"""Gradient descent for binarised networks: the baselines GD_b and GD_t.

GD_b is the method of Hubara et al. (2016), as Toro Icarte et al. (2019) use it: every link has a real *latent* weight
in [-1, 1], of which the network sees only the sign.  GD_t gives every link two latent weights and uses the mean of
their signs, so zeros occur: weights in {-1, 0, 1}.

A sign has no useful slope.  The *straight-through* estimator passes the gradient unchanged if the argument lies in
[-1, 1] and stops it elsewhere.  Latent weights are clipped to [-1, 1], so their gradient always passes.  For neurons,
sums need a unit, since sums over raw pixels run to tens of thousands.  Hubara et al. use batch normalisation, which
would give the network biases and factors that are not small integers.  Here every layer has one fixed unit, see
:func:`units`: the typical size of its sums under random signs.  The gradient and the loss use it; the sign of a sum
does not depend on it, so the network itself still has small integer weights.

The loss is the squared hinge ``max(0, 1 - y s)^2``, averaged over all rows and outputs, with output sums s in their
unit and codes y; Adam minimises it on all rows at once.
A start for GD_b has no zeros: :func:`without_zeros` makes such a network of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers, Rows
from bemi.limits import Deadline
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi_lab.baselines.starts import best_code, own_sizes, separates

Floats = NDArray[np.floating]

HINGE_MARGIN = 1.0
"""Output sums of at least this size, in their unit, on the right side cost nothing."""


@dataclass(frozen=True, eq=False)
class Descent:
    """The result of gradient descent: the best network seen, with most rows right, then the smallest loss.

    The last network may be worse, since a small step can flip many signs.
    """

    network: Network
    loss: float
    steps: int
    seconds: float
    finished: bool  # the loss reached zero; all outputs are then right


class Activation(NamedTuple):
    """The activation of weights and neurons, and the slope that the gradient uses for it."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


STRAIGHT_THROUGH = Activation(
    value=lambda argument: 2 * (argument >= 0).astype(argument.dtype) - 1,
    slope=lambda argument: (np.abs(argument) <= 1).astype(argument.dtype),
)


class Pass(NamedTuple):
    """Weights that the network sees, sums of every layer in their units, the loss, and its gradient by latents."""

    weights: list[Floats]
    sums: list[Floats]
    loss: float
    gradient: list[Floats]


def units(data: Floats, hidden_layers: Sequence[int]) -> list[float]:
    """Unit of the sums of each layer: the root of the mean squared norm of the layer's inputs.

    It is the standard deviation of a sum of these inputs under random signs.
    """
    squared_norm = float((data.astype(np.float64) ** 2).sum(axis=1).mean())
    return [math.sqrt(squared_norm) or 1.0, *(math.sqrt(n) for n in hidden_layers)]


def forward_and_back(
    latents: Sequence[Floats],
    fed: Sequence[Floats],
    data: Floats,
    codes: Floats,
    units: Sequence[float],
    activation: Activation,
) -> Pass:
    """The loss and its gradient.

    Latent weights of a layer have the shape (1 or 2, inputs, neurons); ``fed`` is 1 for its neurons with incoming
    links, and 0 for the others.
    """
    weights = [
        activation.value(latent).sum(axis=0) * (on / len(latent)) for latent, on in zip(latents, fed, strict=True)
    ]
    signals: list[Floats] = [data]
    sums: list[Floats] = []
    for w, unit in zip(weights, units, strict=True):
        sums.append(signals[-1] @ w / unit)
        signals.append(activation.value(sums[-1]))
    missing = np.maximum(0, HINGE_MARGIN - codes * sums[-1])

    slope = -2 / missing.size * codes * missing
    gradient = []
    for layer in reversed(range(len(latents))):
        by_weight = signals[layer].T @ slope * (fed[layer] / (len(latents[layer]) * units[layer]))
        gradient.append(activation.slope(latents[layer]) * by_weight)
        if layer:
            slope = slope @ weights[layer].T / units[layer] * activation.slope(sums[layer - 1])
    return Pass(weights, sums, float((missing**2).mean()), gradient[::-1])


class Adam:
    """Adam by Kingma & Ba (2015) with their constants; updates arrays in place and clips them to [-1, 1]."""

    def __init__(self, arrays: Sequence[Floats], learning_rate: float) -> None:
        self._arrays = arrays
        self._rate = learning_rate
        self._first = [np.zeros_like(a) for a in arrays]
        self._second = [np.zeros_like(a) for a in arrays]
        self._steps = 0

    def step(self, gradient: Sequence[Floats]) -> None:
        self._steps += 1
        first_bias, second_bias = 1 - 0.9**self._steps, 1 - 0.999**self._steps
        for a, first, second, g in zip(self._arrays, self._first, self._second, gradient, strict=True):
            first += 0.1 * (g - first)
            second += 0.001 * (g * g - second)
            a -= self._rate / first_bias * first / (np.sqrt(second / second_bias) + 1e-8)
            np.clip(a, -1, 1, out=a)


LATENT = 0.5
"""Size of the latent weights of a given network."""


def _set_latents(latents: Sequence[Floats], weights: Sequence[Integers]) -> None:
    """Latent weights whose signs give the weights of a network; with one per link, those of zeros stay random."""
    for latent, w in zip(latents, weights, strict=True):
        latent[:, w != 0] = LATENT * w[w != 0]
        if len(latent) == 2:
            latent[0, w == 0], latent[1, w == 0] = LATENT, -LATENT


def loss(problem: Problem, network: Network) -> float:
    """The loss of a network as gradient descent measures it."""
    unit = units(problem.data[:, problem.live].astype(np.float64), problem.hidden_layers)[-1]
    sums = network.pre_activations(problem.data)[-1] / unit
    return float((np.maximum(0, HINGE_MARGIN - problem.codes * sums) ** 2).mean())


def descend(
    problem: Problem,
    *,
    ternary: bool,
    seconds: float | None,
    steps: int | None = None,
    learning_rate: float = 0.01,
    seed: int = 0,
    start: Network | None = None,
) -> Descent:
    """Train a network by gradient descent until the loss is zero or a limit is reached.

    Weights are in {-1, 0, 1} if ``ternary`` (GD_t), otherwise in {-1, 1} (GD_b).  Latent weights start uniformly at
    random, or half-way on the side of a start's weights, where GD_b draws those of zeros.  Inputs that are zero in all
    training rows get weight 0, since the rows say nothing about them, even in GD_b, which otherwise has no zeros.  With
    a limit of steps alone, the same seed gives the same network.
    """
    if problem.weight_bound != 1:
        raise ValueError(
            f"gradient descent trains weights in -1..1; weight_bound must be 1, got {problem.weight_bound}"
        )
    if len(problem.data) == 0:
        raise ValueError("gradient descent needs at least one training row")
    if seconds is None and steps is None:
        raise ValueError("gradient descent may never reach zero loss; give a limit of seconds or of steps")
    clock = Deadline.after(seconds)
    live = problem.live
    # Sums of integers are exact below this limit, in any order.
    largest = max(np.abs(problem.data).sum(axis=1).max(), *problem.layers)
    dtype: type[np.floating] = np.float32 if largest < Rows.EXACT else np.float64
    data, codes = problem.data[:, live].astype(dtype), problem.codes.astype(dtype)
    rng = np.random.default_rng(seed)
    latents: list[Floats] = []
    fed: list[Floats] = []
    for inputs, neurons in pairwise((len(live), *problem.layers[1:])):
        latents.append(rng.uniform(-1, 1, (2 if ternary else 1, inputs, neurons)).astype(dtype))
        fed.append(np.ones(neurons, dtype))
    if start is not None:
        _set_latents(latents, [start.weights[0][live], *start.weights[1:]])
    if problem.biased:
        for on in fed[:-1]:
            on[-1] = 0
    sizes = units(data, problem.hidden_layers)
    adam = Adam(latents, learning_rate)
    best, most_right, taken = None, -1, 0
    while True:
        now = forward_and_back(latents, fed, data, codes, sizes, STRAIGHT_THROUGH)
        right = int(((now.sums[-1] >= 0) == (codes > 0)).all(axis=1).sum())
        if best is None or (right, -now.loss) > (most_right, -best.loss):
            best, most_right = now, right
        if now.loss == 0 or taken == steps or clock.passed:
            break
        adam.step(now.gradient)
        taken += 1
    weights = [w.astype(np.int64) for w in best.weights]
    first = np.zeros(problem.layers[:2], dtype=np.int64)
    first[live] = weights[0]
    network = Network((first, *weights[1:]))
    return Descent(network, best.loss, taken, clock.elapsed, best.loss == 0)


MOST_INPUTS = 17
"""Neurons with more inputs are not searched among all weights."""


def without_zeros(problem: Problem, network: Network | None) -> Network | None:
    """A network that is right where the given one is, with weights of -1 and 1 alone; None if none is found.

    First-layer neurons have so many inputs that each zero can take the better of two signs.  Of the layers above, only
    the patterns that they show for each class matter: the dichotomies that dense neurons have are listed, and a code
    with the same distances is chosen among them.
    """
    if network is None:
        return None
    first, labels = network.weights[0].copy(), problem.codes.argmax(axis=1)
    signs = sign(problem.data @ first)
    for j in range(problem.layers[1] - bool(problem.biased and problem.hidden_layers)):
        first[:, j] = _filled(problem.data, signs[:, j], first[:, j])
    weights, signal = [first], sign(problem.data @ first)
    given = [sign(sums) for sums in network.pre_activations(problem.data)]
    for layer, size in enumerate(own_sizes(problem)[1:], start=1):
        patterns = _by_class(signal, labels)
        found = None if patterns is None else _dense_code(patterns, _by_class(given[layer], labels), size)
        if found is None:
            return None
        weights.append(np.concatenate([found, np.zeros((len(found), int(problem.biased)), dtype=np.int64)], axis=1))
        signal = sign(signal @ weights[-1])
    if problem.hidden_layers:
        patterns = _by_class(signal, labels)
        if patterns is None or patterns.shape[1] > MOST_INPUTS:
            return None
        choices = _choices(patterns.shape[1])
        sums = choices @ patterns.T
        wanted = 2 * np.eye(len(patterns), dtype=np.int64) - 1
        weights.append(np.stack([choices[int((sums * w).min(axis=1).argmax())] for w in wanted], axis=1))
    dense = Network(tuple(weights), network.weight_bound)
    return dense if problem.all_right(dense) else None


def _filled(inputs: Integers, signs: Integers, present: Integers) -> Integers:
    """Zeros replaced one by one by the sign that leaves the larger margin; inputs that are always zero stay."""
    weights = present.copy()
    zeros = np.flatnonzero((weights == 0) & inputs.any(axis=0))
    sums = signs * (inputs @ weights)
    # Large columns first: small ones can repair what these break.
    for i in zeros[np.argsort(-np.abs(inputs[:, zeros]).sum(axis=0), kind="stable")]:
        step = signs * inputs[:, i]
        up = bool((sums + step).min() >= (sums - step).min())
        weights[i] = 1 if up else -1
        sums = sums + step if up else sums - step
    return weights


def _by_class(signals: Integers, labels: Integers) -> Integers | None:
    """The pattern that all rows of each class show; None if they differ."""
    patterns = np.stack([signals[np.argmax(labels == label)] for label in range(labels.max() + 1)])
    return patterns if np.array_equal(patterns[labels], signals) else None


def _choices(inputs: int) -> Integers:
    return np.array(list(product((-1, 1), repeat=inputs)), dtype=np.int64)


def _dense_code(patterns: Integers, given: Integers | None, size: int) -> Integers | None:
    """Weights of -1 and 1 for a layer whose code is as long as the given one and keeps classes as far apart."""
    if given is None or patterns.shape[1] > MOST_INPUTS:
        return None
    choices = _choices(patterns.shape[1])
    sums = choices @ patterns.T
    margins = np.where(sums[:, 0] > 0, np.abs(sums).min(axis=1), 0)
    order = np.argsort(-margins, kind="stable")[: int((margins > 0).sum())]
    signs, index = np.unique(np.sign(sums[order]), axis=0, return_index=True)
    widest, weights = margins[order][index], choices[order][index]
    if not len(signs):
        return None
    constant = (signs > 0).all(axis=1)
    split = given[:, np.ptp(given, axis=0) > 0]
    length, distance = split.shape[1], int(separates(split.T).sum(axis=0).min())
    chosen = best_code(signs[~constant], length, distance=distance, gains=widest[~constant] / widest.mean())
    if chosen is None or (length < size and not constant.any()):
        return None
    columns = [*weights[~constant][chosen], *weights[constant][[0] * (size - length)]]
    return np.stack(columns, axis=1)
