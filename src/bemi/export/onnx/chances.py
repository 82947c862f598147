"""Chances of the classes as arithmetic on integer tensors, the same as :mod:`bemi.ensemble.probabilities`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bemi.ensemble.probabilities import CERTAIN, RECIPROCAL, SHARE, WHOLE, Probabilities
from bemi.ensemble.subsets import class_subsets
from bemi.exact import Integers
from bemi.export.onnx.vote import FirstLayer

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor


def chances(sums: Tensor, layer: FirstLayer, probabilities: Probabilities) -> Tensor:
    """Chances in 65536ths, shape (rows, classes), from the sums of the first layer."""
    classes = len(probabilities.prior)
    firsts = _firsts(sums, layer, probabilities)
    if classes == 2:
        whole = firsts * (WHOLE // CERTAIN)
        return whole.concatenated(WHOLE - whole, axis=1)
    first, second = class_subsets(classes, 2).T
    numerator = sums.graph.constant(RECIPROCAL, np.int32)
    reciprocals = (numerator // firsts) @ _one_hot(first, classes)
    reciprocals += (numerator // (CERTAIN - firsts)) @ _one_hot(second, classes)
    shares = sums.graph.constant(SHARE, np.int32) // (reciprocals - (classes - 2) * (RECIPROCAL // CERTAIN))
    wide = shares.at_least(1).cast(np.int64)
    total = wide.sum(1, keep=True)
    return ((wide * WHOLE + total // 2) // total).cast(np.int32).at_least(1)


def _firsts(sums: Tensor, layer: FirstLayer, probabilities: Probabilities) -> Tensor:
    """Chance of the first class of every network in 256ths, shape (rows, networks)."""
    tables = probabilities.tables
    columns = np.array([layer.index(network, np.array([0]))[0] for network in range(len(tables))])
    starts, ends = (np.array([getattr(table, side) for table in tables]) for side in ("start", "end"))
    offsets = np.cumsum([0, *(len(table.entries) for table in tables)])[:-1]
    scores = sums.gather(columns, axis=1).at_least(starts).at_most(ends)
    places = (scores - starts) // np.array([1 << table.shift for table in tables]) + offsets
    every = sums.graph.constant(np.concatenate([table.entries for table in tables]), np.int32)
    return every.gather(places, axis=0)


def _one_hot(labels: Integers, classes: int) -> Integers:
    return (labels[:, None] == np.arange(classes)).astype(np.int64)
