"""Packed weights: each weight ``w`` in ``-P..P`` is stored as ``w + P``, most significant bit first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network, bits_per_weight

_WEIGHTS_AT_A_TIME = 2**16
"""How many weights are unpacked at once; a multiple of 8, so that each chunk begins at a whole byte."""


def packed_weights(network: Network) -> bytes:
    """All weights of a network, layer by layer; the last byte is padded with zeros."""
    numbers = np.concatenate([w.reshape(-1) for w in network.weights]) + network.weight_bound
    digits = np.empty((len(numbers), bits_per_weight(network.weight_bound)), dtype=np.uint8)
    for place, digit in enumerate(reversed(digits.T)):
        digit[:] = (numbers >> place) & 1
    return np.packbits(digits).tobytes()


def unpacked_networks(packed: bytes, layers: tuple[int, ...], weight_bound: int, count: int) -> Iterator[Network]:
    """The networks that were packed one after another; ValueError if the bytes do not fit."""
    shapes = list(pairwise(layers))
    weights = sum(a * b for a, b in shapes)
    size = -(-weights * bits_per_weight(weight_bound) // 8)
    if len(packed) != size * count:
        raise ValueError("the weights do not fit the layers")
    for start in range(0, len(packed), size):
        flat = _unpacked(np.frombuffer(packed, dtype=np.uint8, count=size, offset=start), weights, weight_bound)
        parts = np.split(flat, np.cumsum([a * b for a, b in shapes])[:-1])
        yield Network(tuple(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)), weight_bound)


def _unpacked(packed: NDArray[np.uint8], count: int, weight_bound: int) -> Integers:
    bits = bits_per_weight(weight_bound)
    if int(packed[-1]) % (1 << (8 * len(packed) - count * bits)):
        raise ValueError("there are unexpected bytes after the weights")
    weights = np.zeros(count, dtype=np.int64)
    for start in range(0, count, _WEIGHTS_AT_A_TIME):
        part = weights[start : start + _WEIGHTS_AT_A_TIME]
        first = start * bits // 8
        digits = np.unpackbits(packed[first : first + -(-len(part) * bits // 8)], count=len(part) * bits)
        for digit in digits.reshape(len(part), bits).T:
            part <<= 1
            part |= digit
        part -= weight_bound
    return weights
