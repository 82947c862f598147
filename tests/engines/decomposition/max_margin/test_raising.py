"""Walks with targets: margins grow where no single neuron can change, and never beyond the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import run_only

from bemi.engines import initial_network
from bemi.engines.decomposition.max_margin import raising
from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.max_margin.raising import MOST_NEURONS, raised
from bemi.engines.decomposition.max_margin.widening import widened
from bemi.engines.decomposition.sat_margin.annealing import with_margins
from bemi.limits import Limits
from bemi.problem import Problem, sum_of_margins


def noisy(seed: int, hidden: tuple[int, ...], weight_bound: int, inputs: int = 8, rows: int = 20) -> Problem:
    """Signed rows that a plane separates but for a few."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-10, 11, (rows, inputs))
    sums = data @ rng.integers(-1, 2, inputs)
    codes = np.where(sums >= 0, 1, -1)
    codes[: rows // 8] *= -1
    return Problem(data, codes[:, None], hidden, weight_bound)


@pytest.mark.parametrize("hidden", [(3,), (5,), (4, 4)])
@pytest.mark.parametrize("weight_bound", [1, 3])
def test_margins_grow_and_seeds_repeat(hidden, weight_bound, monkeypatch):
    monkeypatch.setattr(raising, "PATIENCE", 4)
    grown = 0
    for seed in range(3):
        problem = noisy(seed, hidden, weight_bound)
        start = with_margins(problem, initial_network(problem), proposals=200_000)
        if (before := sum_of_margins(problem, start)) is None:
            continue
        found = raised(problem, start, budget=Budget(), seed=seed)
        after = sum_of_margins(problem, found)
        assert after is not None
        assert after >= before
        assert np.abs(found.weights[0]).max() <= weight_bound
        assert all(map(np.array_equal, found.weights[1:], start.weights[1:]))
        again = raised(problem, start, budget=Budget(), seed=seed)
        assert np.array_equal(found.weights[0], again.weights[0])
        grown += after > before
    assert grown


def test_several_neurons_change_where_one_alone_cannot():
    improved = 0
    for seed in range(4):
        problem = noisy(seed, (3,), 1)
        start = with_margins(problem, initial_network(problem), proposals=200_000)
        if sum_of_margins(problem, start) is None:
            continue
        start = widened(problem, start, budget=Budget(), limits=Limits())
        optimum = run_only("mm", "lists", problem=problem, start=start, limits=Limits()).bound
        value, higher = (
            sum_of_margins(problem, network) for network in (start, raised(problem, start, budget=Budget(), seed=0))
        )
        assert value <= higher <= optimum
        improved += higher > value
    assert improved


def test_several_outputs():
    rng = np.random.default_rng(1)
    data = rng.integers(-10, 11, (16, 8))
    signs = np.where(data @ rng.integers(-1, 2, (8, 2)) >= 0, 1, -1)
    problem = Problem(data, signs, (4,), 1)
    start = with_margins(problem, initial_network(problem), proposals=200_000)
    found = raised(problem, start, budget=Budget(), seed=0)
    before, after = sum_of_margins(problem, start), sum_of_margins(problem, found)
    assert before is not None
    assert after is not None
    assert after > before


def test_wide_layers_come_back_as_they_are():
    problem = noisy(0, (MOST_NEURONS + 1,), 1)
    start = with_margins(problem, initial_network(problem), proposals=200_000)
    assert raised(problem, start, budget=Budget(), seed=0) is start
