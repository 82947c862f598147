"""First-layer weights for sums that grow by a few inputs at a time; ``runtime/lots.c`` reads them.

A transform that hands over its outputs as it finds them (:class:`bemi.inputs.export_hooks.CWindow`) needs no array for
them: only the sums of the neurons are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bemi.exact import Integers
from bemi.inputs.export_hooks import LOT, LOT_OFFSET

BITS = 4
"""Bits of a weight."""


@dataclass(frozen=True)
class Lots:
    """Weights of all neurons.

    Attributes
    ----------
    words
        For each lot of inputs, a word for each neuron: weights plus P, four bits each, lowest bits first.
    starts
        For each neuron, what its sum starts with: the products of constant inputs, and what takes back that the others
        come plus :data:`LOT_OFFSET`.
    largest
        No sum exceeds this, nor a part of it.
    """

    words: tuple[int, ...]
    starts: tuple[int, ...]
    largest: int


def in_lots(columns: Integers, order: Sequence[int], constant: int, weight_bound: int) -> Lots:
    """Weights in lots.

    Parameters
    ----------
    columns
        Weights of shape (inputs, neurons).
    order
        Inputs in the order in which they are handed over.
    constant
        Value of all others, whose products the sums start with.
    weight_bound
        The paper's P.
    """
    own = columns[list(order)]
    padded = np.pad(own, ((0, -len(own) % LOT), (0, 0))).reshape(-1, LOT, own.shape[1])
    words = ((padded + weight_bound) << (BITS * np.arange(LOT))[:, None]).sum(axis=1)
    starts = constant * (columns.sum(axis=0) - own.sum(axis=0)) - LOT_OFFSET * own.sum(axis=0)
    largest = weight_bound * (3 * 2 * LOT_OFFSET * len(own) + abs(constant) * (len(columns) - len(own)))
    return Lots(tuple(words.reshape(-1).tolist()), tuple(starts.tolist()), largest)


def save_memory(inputs: int, neurons: int, weight_bound: int) -> bool:
    """Whether weights have four bits, and the sums of the neurons take no more room than the inputs."""
    return 2 * weight_bound < 2**BITS and 4 * neurons <= inputs
