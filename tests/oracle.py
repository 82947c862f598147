"""Brute force over every network of a tiny architecture: the referee for programs, solvers and engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from bemi import Network
from bemi.problem import Keep, KeepLabels, KeepMargins, Problem, class_codes

ARCHITECTURES = (
    # hidden layers, inputs, outputs, weight bound: at most 3^10 networks each
    ((), 2, 1, 1),
    ((), 2, 2, 2),
    ((), 3, 1, 3),
    ((1,), 3, 1, 1),
    ((2,), 2, 1, 1),
    ((2,), 2, 2, 1),
    ((2,), 3, 1, 1),
    ((1,), 2, 1, 2),
    ((1,), 2, 1, 3),
    ((1, 1), 2, 1, 2),
    ((2, 1), 2, 1, 1),
    ((2, 2), 2, 1, 1),
    ((3,), 2, 1, 1),
)

CLASS_ARCHITECTURES = (
    # hidden layers, inputs, weight bound: at most 3^10 networks for five classes, that is three outputs
    ((), 2, 1),
    ((), 2, 2),
    ((), 3, 1),
    ((1,), 2, 1),
    ((1,), 2, 2),
    ((2,), 2, 1),
    ((1, 1), 2, 1),
    ((2, 1), 2, 1),
)


@st.composite
def tiny_problems(draw: st.DrawFn) -> Problem:
    """Problems small enough to try every network: up to six rows, signed or not, with repeats and contradictions."""
    hidden, inputs, outputs, bound = draw(st.sampled_from(ARCHITECTURES))
    rows = draw(st.integers(1, 6))
    low = draw(st.sampled_from((-4, 0)))
    high = draw(st.sampled_from((1, 4, 50)))
    cell = st.integers(low, high)
    data = draw(st.lists(st.lists(cell, min_size=inputs, max_size=inputs), min_size=rows, max_size=rows))
    codes = draw(
        st.lists(st.lists(st.sampled_from((-1, 1)), min_size=outputs, max_size=outputs), min_size=rows, max_size=rows)
    )
    return Problem(np.array(data), np.array(codes), hidden, bound)


@st.composite
def tiny_class_problems(draw: st.DrawFn) -> Problem:
    """Problems of two to five classes, small enough to try every network."""
    hidden, inputs, bound = draw(st.sampled_from(CLASS_ARCHITECTURES))
    codes = class_codes(draw(st.integers(2, 5)))
    labels = draw(st.lists(st.integers(0, len(codes) - 1), min_size=2, max_size=6))
    cell = st.integers(draw(st.sampled_from((-4, 0))), draw(st.sampled_from((1, 4, 50))))
    row = st.lists(cell, min_size=inputs, max_size=inputs)
    data = draw(st.lists(row, min_size=len(labels), max_size=len(labels)))
    return Problem(np.array(data), codes[labels], hidden, bound)


def keeping(margins: Sequence[np.ndarray] | None) -> Keep:
    """What Min-Weight must keep: margins, or without them just the labels."""
    return KeepLabels() if margins is None else KeepMargins(tuple(margins))


@lru_cache(maxsize=16)
def _all_weights(layers: tuple[int, ...], bound: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Links of every network and its weights, per layer (inputs, neurons, networks): the longest axis is the last."""
    sizes = [a * b for a, b in pairwise(layers)]
    weights = np.indices((2 * bound + 1,) * sum(sizes)).reshape(sum(sizes), -1) - bound
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    return (weights != 0).sum(axis=0), [p.reshape(*shape, -1) for p, shape in zip(parts, pairwise(layers), strict=True)]


@dataclass(frozen=True)
class AllNetworks:
    """Every network of a problem's architecture, and what each is worth.

    The forward pass is written out again here, in another way than in ``bemi.network``.
    """

    links: np.ndarray  # (networks,)
    margins: list[np.ndarray]  # per layer (networks, n_l)
    correct: np.ndarray  # (networks,): every row classified right
    confident: np.ndarray  # (networks,): number of confidently right outputs

    @classmethod
    def of(cls, problem: Problem) -> AllNetworks:
        layers, bound = problem.layers, problem.weight_bound
        links, parts = _all_weights(layers, bound)
        signal = problem.data[:, :, None]
        margins = []
        for part in parts:
            sums = sum(signal[:, i, None] * part[None, i] for i in range(len(part)))
            margins.append(np.abs(sums).min(axis=0).T)
            signal = np.where(sums < 0, -1, 1)
        signed = sums * problem.codes[:, :, None]
        margins[-1] = signed.min(axis=0).T
        fan_in = layers[-2]
        # Twice the paper's scaled output, compared without division: 2 s / (P (n + 1)) >= 1/2.
        confident = 4 * signed >= bound * (fan_in + 1) if problem.hidden_layers else signed > 0
        return cls(
            links=links,
            margins=margins,
            correct=(signal == problem.codes[:, :, None]).all(axis=(0, 1)),
            confident=confident.sum(axis=(0, 1)),
        )

    def best(self, stage: str, margins: list[np.ndarray] | None = None) -> int | None:
        """Optimal objective of a stage, or None if no network is feasible."""
        if stage == "sm":
            return int(self.confident.max())
        if stage == "mm":
            feasible = np.all([(m >= 1).all(axis=1) for m in self.margins], axis=0)
            total = sum(m.sum(axis=1) for m in self.margins)
            return int(total[feasible].max()) if feasible.any() else None
        if margins is None:
            feasible = self.correct
        else:
            feasible = np.all(
                [(have >= need).all(axis=1) for have, need in zip(self.margins, margins, strict=True)], axis=0
            )
        return int(self.links[feasible].min()) if feasible.any() else None


@st.composite
def networks(draw: st.DrawFn, problem: Problem) -> Network:
    """A random network of a problem's architecture."""
    bound = problem.weight_bound
    weights = []
    for shape in pairwise(problem.layers):
        size = shape[0] * shape[1]
        cells = draw(st.lists(st.integers(-bound, bound), min_size=size, max_size=size))
        weights.append(np.array(cells, dtype=np.int64).reshape(shape))
    return Network(tuple(weights), bound)
