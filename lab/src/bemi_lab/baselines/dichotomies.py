"""Dichotomies of classes: which of them one neuron can realise, how widely, and which of them make a good code.

A dichotomy gives every class a sign.  A first-layer neuron that realises it has that sign on all training rows of the
class.  Several dichotomies together give every class a code; two classes are as far apart as the number of dichotomies
that separate them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.linear_program import NeuronBound, NeuronLP
from bemi.engines.decomposition.neuron.rounding import integer_weights
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.problem.problem import Problem

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

    Parameters
    ----------
    problem
        Rows with one output per class.
    deadline
        When to stop looking at further dichotomies.
    seed
        Of the order in which they are looked at.
    """

    def __init__(self, problem: Problem, deadline: Deadline, seed: int = 0) -> None:
        self.problem = problem
        self.labels: Integers = problem.codes.argmax(axis=1)
        self.program = NeuronLP(problem.data, problem.weight_bound)
        rng = np.random.default_rng(seed)
        found: list[tuple[Integers, NeuronBound]] = []
        self.looked_at = 0
        for signs in rng.permutation(_candidates(problem.codes.shape[1], rng)):
            if deadline.passed:
                break
            self.looked_at += 1
            bound = self.program.solve(signs[self.labels])
            if bound.bound >= 1:
                found.append((signs, bound))
        self.signs: Integers = np.array([signs for signs, _ in found], dtype=np.int64).reshape(
            len(found), problem.codes.shape[1]
        )
        self.bounds = [bound for _, bound in found]
        self._neurons: dict[int, Integers | None] = {}

    @cached_property
    def margins(self) -> Floats:
        """Largest margin of each dichotomy, with continuous weights."""
        return np.array([bound.value for bound in self.bounds])

    @cached_property
    def widest(self) -> int:
        """The largest margin of any neuron: that of one that has the same sign on all rows, if inputs allow it."""
        return self.problem.margin_caps()[0]

    def neuron(self, index: int, proposals: int = PROPOSALS, deadline: Deadline | None = None) -> Integers | None:
        """Integer weights that realise a dichotomy with a large margin; None if none were found."""
        if index not in self._neurons:
            signs = self.signs[index][self.labels]
            weights, margin = widest_neuron(self.program, signs, proposals=proposals, deadline=deadline)
            self._neurons[index] = weights if margin >= 1 else None
        return self._neurons[index]

    def forget(self, index: int) -> None:
        """Leave a dichotomy out of all further codes: it has no integer neuron."""
        self.margins[index] = -np.inf


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
