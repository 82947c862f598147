"""A network without zeros, for gradient descent on the signs of latent weights."""

from __future__ import annotations

from itertools import product

import numpy as np

from bemi.baselines.starts import own_sizes
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.products import Integers

MOST_INPUTS = 17
"""Neurons with more inputs keep their zeros."""


def without_zeros(problem: Problem, network: Network | None) -> Network | None:
    """A network with the same activations on the rows and weights of -1 and 1 alone, where there is one.

    First-layer neurons have so many inputs that each zero can take the better of two signs.  Neurons over few signs
    are searched among all weights.  A neuron for which this fails keeps its zeros.
    """
    if network is None:
        return None
    sums = network.pre_activations(problem.data)
    inputs = [problem.data, *(sign(s) for s in sums[:-1])]
    outputs = [sign(s) for s in sums]
    weights = [w.copy() for w in network.weights]
    for layer, size in enumerate([*own_sizes(problem), problem.layers[-1]]):
        for j in range(size):
            present = weights[layer][:, j]
            fill = _filled if inputs[layer].shape[1] > MOST_INPUTS else _listed
            found = fill(inputs[layer], outputs[layer][:, j], present)
            if np.array_equal(sign(inputs[layer] @ found), outputs[layer][:, j]):
                weights[layer][:, j] = found
    return Network(tuple(weights), network.weight_bound)


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


def _listed(inputs: Integers, signs: Integers, present: Integers) -> Integers:
    """Of all weights of -1 and 1 those with the largest margin."""
    rows = np.unique(np.column_stack([inputs, signs]), axis=0)
    choices = np.array(list(product((-1, 1), repeat=inputs.shape[1])), dtype=np.int8)
    margins = (choices.astype(np.int32) @ (rows[:, :-1] * rows[:, -1:]).T.astype(np.int32)).min(axis=1)
    return choices[int(margins.argmax())].astype(np.int64)
