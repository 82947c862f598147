"""Neurons of which most are right: against all networks, from starts with sums of 0, and chosen by Sat-Margin."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import AllNetworks

from bemi import Network
from bemi.engines import Finding, initial_network, observed
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.max_margin import few_splits
from bemi.engines.decomposition.max_margin.few_splits import PATIENCE, majority
from bemi.engines.decomposition.sat_margin import alternation, annealing
from bemi.limits import FOREVER, Limits
from bemi.problem import Problem, sum_of_margins

OUTPUT = np.array([1, 1, 1, 1, 0])


def confident(seed: int, bound: int = 1) -> tuple[Problem, Network]:
    """A network with four neurons, and rows on which three of these are right, 0 counting as +1."""
    rng = np.random.default_rng(seed)
    data = rng.integers(1, 12, (40, 5))
    data[:, -1] += 6
    network = Network((bound * rng.choice([-1, 0, 1], (5, 5)), bound * OUTPUT[:, None]), bound)
    total = network.pre_activations(data)[1][:, 0]
    keep = np.abs(total) >= 2 * bound
    return Problem(data[keep], np.sign(total[keep])[:, None], (5,), bound), network


@pytest.mark.parametrize("bound", [1, 15])
@pytest.mark.parametrize("seed", [0, 2, 10, 13, 25])
def test_sums_of_zero_are_repaired_on_all_rows(seed, bound):
    problem, start = confident(seed, bound)
    assert problem.confident_rows(start).all()
    assert sum_of_margins(problem, start) is None
    found = majority(problem, start, seed=0, deadline=FOREVER)
    assert found is not None
    assert sum_of_margins(problem, found) > 0
    assert found == majority(problem, start, seed=0, deadline=FOREVER)
    assert found.splitting_neurons(problem.data).sum() <= 3


def test_three_of_four_neurons_are_enough():
    """If three of four neurons are right on every row, two of any three are."""
    rng = np.random.default_rng(1)
    first = rng.choice([-1, 1], (6, 5))
    data = rng.integers(1, 40, (60, 6))
    sums = data @ first
    total = np.sign(sums) @ OUTPUT
    keep = (np.abs(total) >= 2) & (sums != 0).all(axis=1)
    problem = Problem(data[keep], np.sign(total[keep])[:, None], (5,), 1)
    start = Network((first, OUTPUT[:, None]))
    found = majority(problem, start, seed=0, deadline=FOREVER)
    assert found is not None
    assert sum_of_margins(problem, found) > sum_of_margins(problem, start)
    assert found.splitting_neurons(problem.data).sum() <= 3


def test_no_network_is_better_than_the_best():
    checked = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rows, low = int(rng.integers(2, 9)), int(rng.choice((-6, 0)))
        problem = Problem(rng.integers(low, 9, (rows, 2)), rng.choice([-1, 1], (rows, 1)), (3,), 1)
        start = Network((rng.integers(-1, 2, (2, 3)), rng.integers(-1, 2, (3, 1))))
        network = majority(problem, start, patience=PATIENCE, seed=seed, deadline=FOREVER)
        if network is not None:
            assert 0 < sum_of_margins(problem, network) <= AllNetworks.of(problem).best("mm")
            checked += 1
    assert checked >= 10


def test_five_neurons_take_over_where_three_do_not_suffice():
    """Rows in three dimensions that need three of five half spaces, which no three of them replace."""
    rng = np.random.default_rng(8)
    first = np.array([[1, -1, 0, 1, 0], [-1, 0, 1, 1, 1], [0, 1, -1, -1, 0], [0, 0, 0, -1, -1]])
    data = rng.integers(1, 60, (400, 4))
    sums = data @ first
    data, sums = data[(sums != 0).all(axis=1)], sums[(sums != 0).all(axis=1)]
    problem = Problem(data, np.sign(np.sign(sums).sum(axis=1))[:, None], (5,), 1)
    start = Network((first, OUTPUT[:, None]))
    found = majority(problem, start, seed=0, deadline=FOREVER)
    assert found is not None
    assert sum_of_margins(problem, found) > 0
    assert found.weights[1].all()


def test_max_margin_starts_from_a_network_with_sums_of_zero():
    """Neither pairs nor a local search is needed."""
    problem, start = confident(13)
    with observed(without={"repair", "pairs"}):
        found = engine.run("mm", problem, start=start, limits=Limits(nodes=1))
    assert found.objective is not None
    assert found.objective >= sum_of_margins(problem, majority(problem, start, seed=0, deadline=FOREVER))


def noisy(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 60, (50, 6))
    data[:, -1] += 30
    sums = data[:, 0] - data[:, 1] + data[:, 2] - data[:, 3]
    return Problem(data, np.where(sums + rng.normal(0, 36, 50) > 0, 1, -1)[:, None], (5,), 1)


def test_sat_margin_prefers_rows_on_which_max_margin_has_a_start(monkeypatch):
    """Of two networks with equally many confident rows, the first does not lead on and the second does."""
    problem, start = confident(13)
    first, second = start, Network((start.weights[0][:, [1, 0, 2, 3, 4]], start.weights[1]))
    real = majority

    def only_for_the_second(seen, network, **options):
        return None if network is first else real(seen, network, **options)

    monkeypatch.setattr(few_splits, "majority", only_for_the_second)
    monkeypatch.setattr(few_splits, "two_splits", lambda *_: Finding())
    assert alternation.best_for_max_margin(problem, [first, second], Limits(), FOREVER) == (second, True)
    assert alternation.best_for_max_margin(problem, [first], Limits(), FOREVER) == (first, False)


def test_the_clock_has_no_say_in_sat_margin(monkeypatch):
    """With a time limit the search counts its steps, and ends before the limit."""
    monkeypatch.setattr(alternation, "RESTARTS_PER_SECOND", 0.1)
    monkeypatch.setattr(annealing, "SHORT", 10_000)
    problem, limits = noisy(0), Limits(seconds=100.0)
    assert alternation.restarts_within(limits) == 10
    start = initial_network(problem)
    clock = limits.deadline()
    with observed(without={"solver"}) as contributions:
        first, second = (engine.run("sm", problem, start=start, limits=limits) for _ in range(2))
    assert "alternation" in [c.strategy for c in contributions]
    assert first.network == second.network
    assert clock.elapsed < 50
