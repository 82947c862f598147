"""Batch training (Thorbjarnarson and Yorke-Smith): many small programs whose weights are averaged."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bemi.engines.monolithic import solve_goal
from bemi.exact import Integers
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.programs.encoding import Within
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines import objectives
from bemi_lab.baselines.neighbourhoods import improved_neurons
from bemi_lab.baselines.row_values import SAT_MARGIN

EPOCHS = 3
"""How many times all batches are solved, within bounds that close in on the previous epoch's average."""

BATCHES = 4
"""Number of batches per epoch, as balanced in classes as the rows allow."""


def train_in_batches(problem: Problem, limits: Limits, solver: str, start: Network | None = None) -> list[StageResult]:
    """Solve Sat-Margin on batches of rows, average the networks by how many of all rows each gets right, and repeat.

    In epoch e of E a weight may be at most ``P (1 - e / E)`` away from its average in the previous epoch; ``e = 0`` is
    free.  Validation uses all training rows, of which each batch saw a part.  The best network is returned: the one
    with the most confidently right outputs on all rows.

    From a start, the first average is that network, and batches improve the rounded average neuron by neuron instead of
    by the program.
    """
    clock = limits.deadline()
    rng = np.random.default_rng(limits.seed)
    goal = objectives.sat_margin(problem)
    bound = problem.weight_bound
    mean: list[NDArray[np.float64]] = [np.zeros(shape) for shape in pairwise(problem.layers)]
    if start is not None:
        mean = [w.astype(np.float64) for w in start.weights]
    best = _rounded(mean, bound)
    solved = 0
    for epoch in range(EPOCHS):
        within = _around(mean, bound * (1 - epoch / EPOCHS), bound)
        networks = []
        for rows in _parts(problem, rng):
            share = limits.until(clock.share(1 / (EPOCHS * BATCHES - solved)))
            solve = _by_program if start is None else _by_neurons
            networks.append(solve(problem.rows(rows), _rounded(mean, bound), within, share, solver))
            solved += 1
        votes = np.array([_right(problem, network) for network in networks], dtype=np.float64)
        shares = votes / votes.sum() if votes.any() else np.full(len(votes), 1 / len(votes))
        mean = [
            np.einsum("n,nij->ij", shares, np.stack(layer))
            for layer in zip(*(network.weights for network in networks), strict=True)
        ]
        best = max([best, *networks, _rounded(mean, bound)], key=lambda network: goal.value(network) or 0)
    value = goal.value(best)
    report = StageResult.of(
        *(goal.name, problem, best, value, goal.trivial),
        clock=clock,
        proof="certified",
        outcome=Outcome.OPTIMAL if value == goal.trivial else Outcome.LOCAL,
        message=_outcome_in_words(solved, best, start),
    )
    return [report]


def _outcome_in_words(solved: int, best: Network, start: Network | None) -> str:
    if best == start:
        return f"{solved} batches; the start as it is: no batch gave anything better"
    return f"{solved} batches" if best.links else "no batch gave anything better than a network without links"


def _by_program(rows: Problem, start: Network, within: Within, limits: Limits, solver: str) -> Network:
    found = solve_goal(objectives.sat_margin(rows, within=within), start=start, limits=limits, solver=solver)
    assert found.network is not None
    return found.network


def _by_neurons(rows: Problem, start: Network, within: Within, limits: Limits, solver: str) -> Network:
    best = start
    for network in improved_neurons(SAT_MARGIN.values(rows), rows, start, limits.deadline(), limits.seed, within):
        best = network
    return best


def _rounded(mean: list[NDArray[np.float64]], bound: int) -> Network:
    return Network(tuple(np.rint(layer).astype(np.int64) for layer in mean), bound)


def _around(mean: list[NDArray[np.float64]], distance: float, bound: int) -> Within:
    """Bounds on weights within the distance of the average; the rounded average itself always satisfies them."""
    nearest = [np.rint(layer).astype(np.int64) for layer in mean]
    low = [np.minimum(n, np.ceil(m - distance)) for n, m in zip(nearest, mean, strict=True)]
    high = [np.maximum(n, np.floor(m + distance)) for n, m in zip(nearest, mean, strict=True)]
    return (
        [np.clip(layer, -bound, bound).astype(np.int64) for layer in low],
        [np.clip(layer, -bound, bound).astype(np.int64) for layer in high],
    )


def _parts(problem: Problem, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """Rows of each batch: shuffled, then dealt class by class."""
    labels = problem.codes.argmax(axis=1)
    order = rng.permutation(len(labels))
    dealt = order[np.argsort(labels[order], kind="stable")]
    batch = np.empty(len(labels), dtype=np.int64)
    batch[dealt] = np.arange(len(labels)) % BATCHES
    return [batch == b for b in range(BATCHES) if (batch == b).any()]


def _right(problem: Problem, network: Network) -> int:
    """Rows whose largest output is that of their class."""
    sums: Integers = network.pre_activations(problem.data)[-1]
    return int((sums.argmax(axis=1) == problem.codes.argmax(axis=1)).sum())
