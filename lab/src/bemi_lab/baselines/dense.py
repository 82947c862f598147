"""A network without zeros, for gradient descent on the signs of latent weights."""

from __future__ import annotations

from itertools import product

import numpy as np

from bemi.exact import Integers
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi_lab.baselines.dichotomies import best_code, separates
from bemi_lab.baselines.starts import own_sizes

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
