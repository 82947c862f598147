"""Training on rows and on those of their variants that matter.

A variant of a row is a further constraint of the same program.  Most are satisfied already by the network that the rows
alone give, so they enter *lazily*: train, look which variants the network violates, take up the worst of them, train
again, until no variant is violated that is not in, or the rounds or the time are used up.

A variant is violated

* in soft margins, if it has a loss: ``s w.x < nu t`` for some output, w being the weights after ``"ml2"``;
* in the paper's stages, if the network is not confidently right on it.

What is claimed, and certified, is about the rows in the last training: the given ones and the variants taken up.  Soft
margins claim more where no variant is violated in the end: the variants left out have no loss, and a loss can only add
to the objective, so value and bound are those of the program with *all* variants, for the resolution t of the last
training.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.engines.resolution import settle
from bemi.network import Network, confidence_threshold
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import SoftMargin, row_norms
from bemi.products import Integers
from bemi.training.pipeline import Training, train

MOST_ROUNDS = 10
"""Trainings of one network; most end after three to five."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Rows that a training may take up, and their codes."""

    data: NDArray[np.integer]
    codes: Integers

    def beside(self, problem: Problem, taken: NDArray[np.bool_]) -> Problem:
        """The problem on its own rows, and after them on some of these."""
        data = np.concatenate([problem.data, self.data[taken]])
        return replace(problem, data=data, codes=np.concatenate([problem.codes, self.codes[taken]]))


def train_lazily(problem: Problem, variants: Variants, stages: tuple[str, ...], **settings: Any) -> Training:
    """Train one network as :func:`bemi.training.pipeline.train` does, taking up the variants that it violates.

    A round takes up at most as many variants as there are given rows, the worst first.  Every round has all of the time
    limit, but none begins after that much time has passed in all.

    Parameters
    ----------
    problem
        The given rows.
    variants
        What may be taken up.
    stages, **settings
        As in :func:`bemi.training.pipeline.train`.
    """
    began = time.perf_counter()
    limit = settings.get("time_limit")
    seconds = np.inf if limit is None else float(np.sum(limit))
    taken = np.zeros(len(variants.data), dtype=bool)
    if stages[0] == "ml2":
        # The continuous machine costs little and finds most of the variants that matter.
        for _ in range(MOST_ROUNDS):
            soft, network = settle(variants.beside(problem, taken), settings.get("C", 10.0))
            if not take_worst(taken, soft_shortfall(network, soft, variants), len(problem.data)):
                break
    for rounds in range(1, MOST_ROUNDS + 1):
        training = train(variants.beside(problem, taken), stages, **settings)
        missing = shortfall(training, variants)
        last = rounds == MOST_ROUNDS or time.perf_counter() - began > seconds
        trained = taken.copy()
        violated = take_worst(taken, missing, len(problem.data))
        if last or not violated:
            break
    added = tuple(np.flatnonzero(trained).tolist())
    return replace(training, added=added, rounds=rounds, violated=violated)


def take_worst(taken: NDArray[np.bool_], missing: NDArray[np.float64], most: int) -> int:
    """Mark at most so many of the violated variants that are not in yet, the worst first; how many there are."""
    violated = np.flatnonzero((missing > 0) & ~taken)
    taken[violated[np.argsort(-missing[violated], kind="stable")[:most]]] = True
    return len(violated)


def shortfall(training: Training, variants: Variants) -> NDArray[np.float64]:
    """By how much the constraint of each variant is violated, 0 where it holds.

    Whether it holds is decided in integers; by how much says only which ones are worst.
    """
    soft_margins = training.reports.get("ml2")
    if soft_margins is not None:
        assert soft_margins.network is not None
        assert soft_margins.soft is not None
        return soft_shortfall(soft_margins.network, soft_margins.soft, variants)
    network = training.network
    threshold = confidence_threshold(network.layers, network.weight_bound)
    reached = network.pre_activations(variants.data)[-1] * variants.codes
    return np.maximum(0, threshold - reached).max(axis=1, initial=0).astype(np.float64)


def soft_shortfall(network: Network, soft: SoftMargin, variants: Variants) -> NDArray[np.float64]:
    """``max(0, t - s w.x / nu)``, of several outputs the largest; 0 for rows of zeros, which have no loss."""
    sums = (network.pre_activations(variants.data)[-1] * variants.codes).tolist()
    found = np.zeros(len(sums))
    for k, (norm, reached) in enumerate(zip(row_norms(variants.data), sums, strict=True)):
        if norm:
            pairs = zip(soft.resolutions, reached, strict=True)
            found[k] = max(0.0, *((t.numerator * norm - t.denominator * y) / (t.denominator * norm) for t, y in pairs))
    return found
