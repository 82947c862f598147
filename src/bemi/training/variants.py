"""Training on rows and on those of their variants that matter.

A variant of a row is a further constraint of the same program.  The network trained on the rows alone satisfies most of
them, so they are added *lazily*: train, find the variants that the network violates, add the worst of them, and train
again, until no variant that was left out is violated, or the rounds or the time are used up.

A variant is violated

* by the measure of the first stage that has one: in soft margins, if it has a loss, ``s w.x < nu t`` for some output,
  w being the weights after that stage;
* in the paper's stages, which have none, if the network is not confidently right on it.

Claims and certificates refer to the rows of the last training: the given ones and the added variants.  Soft margins
claim more if no variant is violated in the end: the variants left out have no loss, and a loss can only add to the
objective, so value and bound are those of the program with *all* variants, for the resolution t of the last training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.engines.start import OWN_STARTS, first_network
from bemi.exact import Integers
from bemi.limits import Deadline
from bemi.network import confidence_threshold
from bemi.problem.problem import Problem
from bemi.stages.registry import get
from bemi.training.pipeline import Training, stage_parameters, train

MOST_ROUNDS = 10
"""Maximum rounds per network; most need three to five."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Rows that training may add, their codes, and their weights if the given rows have weights."""

    data: NDArray[np.integer]
    codes: Integers
    row_weights: Integers | None = None

    def appended_to(self, problem: Problem, taken: NDArray[np.bool_]) -> Problem:
        """The problem with some of these rows after its own."""
        data = np.concatenate([problem.data, self.data[taken]])
        codes = np.concatenate([problem.codes, self.codes[taken]])
        weights = problem.row_weights
        if weights is not None and self.row_weights is not None:
            weights = np.concatenate([weights, self.row_weights[taken]])
        return replace(problem, data=data, codes=codes, row_weights=weights)


def train_lazily(problem: Problem, variants: Variants, stages: tuple[str, ...], **settings: Any) -> Training:
    """Train one network as :func:`bemi.training.pipeline.train` does, adding the variants that it violates.

    A round adds at most as many variants as there are given rows, the worst first.  Every round has the full time
    limit, but none begins once that much time has passed in total.

    Parameters
    ----------
    problem
        The given rows.
    variants
        Rows that may be added.
    stages, **settings
        As in :func:`bemi.training.pipeline.train`.
    """
    limit = settings.get("time_limit")
    deadline = Deadline.after(None if limit is None else float(np.sum(limit)))
    taken = np.zeros(len(variants.data), dtype=bool)
    _take_from_first_networks(problem, variants, stages, settings, taken)
    for rounds in range(1, MOST_ROUNDS + 1):
        training = train(variants.appended_to(problem, taken), stages, **settings)
        missing = shortfall(training, variants)
        last = rounds == MOST_ROUNDS or deadline.passed
        trained = taken.copy()
        violated = take_worst(taken, missing, len(problem.data))
        if last or not violated:
            break
    added = tuple(np.flatnonzero(trained).tolist())
    return replace(training, added=added, rounds=rounds, violated=violated)


def _take_from_first_networks(
    problem: Problem, variants: Variants, stages: tuple[str, ...], settings: Mapping[str, Any], taken: NDArray[np.bool_]
) -> None:
    """Mark variants that the start network violates, if the first stage has its own way to begin.

    This is cheap compared to training, and finds most of the variants that matter.
    """
    first = get(stages[0])
    if stages[0] not in OWN_STARTS or first.shortfall is None:
        return
    parameters = stage_parameters(stages, settings)
    for _ in range(MOST_ROUNDS):
        begun, network = first_network(stages[0], variants.appended_to(problem, taken), parameters)
        missing = first.shortfall(network, begun.soft, variants.data, variants.codes)
        if not take_worst(taken, missing, len(problem.data)):
            break


def take_worst(taken: NDArray[np.bool_], missing: NDArray[np.float64], most: int) -> int:
    """Mark at most ``most`` violated variants that are not in yet, worst first; returns how many such there are."""
    violated = np.flatnonzero((missing > 0) & ~taken)
    taken[violated[np.argsort(-missing[violated], kind="stable")[:most]]] = True
    return len(violated)


def shortfall(training: Training, variants: Variants) -> NDArray[np.float64]:
    """By how much the constraint of each variant is violated, 0 where it holds.

    Whether it holds is decided in exact integers; the amount only ranks the variants.
    """
    for name, report in training.reports.items():
        stage = get(name)
        if stage.shortfall is not None:
            assert report.network is not None
            return stage.shortfall(report.network, report.soft, variants.data, variants.codes)
    network = training.network
    threshold = confidence_threshold(network.layers, network.weight_bound)
    reached = network.pre_activations(variants.data)[-1] * variants.codes
    return np.maximum(0, threshold - reached).max(axis=1, initial=0).astype(np.float64)
