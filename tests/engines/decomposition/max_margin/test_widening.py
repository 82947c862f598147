"""Larger margins for a network that fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from oracle import AllNetworks, tiny_problems
from strategies import run_only

from bemi import Network
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.max_margin import widening
from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.max_margin.widening import splits, widened
from bemi.engines.decomposition.sat_margin.annealing import most_confident, with_margins
from bemi.limits import Deadline, Limits
from bemi.problem import Problem
from bemi.stages import get

BETWEEN = Problem(
    np.array([[9, 2], [8, 3], [6, 6], [5, 6], [2, 8], [1, 9]]), np.array([[1, 1, -1, -1, 1, 1]]).T, (4,), 3
)
"""One class on both sides of the other: two neurons have to split."""

FITS = Network((np.array([[1, -2, 1, 1], [-2, 1, 1, -3]]), np.array([[2], [2], [1], [0]])), 3)
"""Two neurons that split, a constant, and one that splits for nothing."""


def overlapping(bound: int, seed: int = 0) -> tuple[Problem, Network]:
    """Rows that no single neuron tells apart, and a network that a local search finds for them."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 60, (60, 6))
    codes = np.where(np.abs(data[:, 0] - data[:, 1]) < 20, 1, -1)[:, None]
    problem = Problem(data, codes, (5,), bound)
    found = most_confident(problem, initial_network(problem), proposals=300_000)
    return problem.rows(problem.confident_rows(found)), found


def test_a_neuron_that_no_row_needs_becomes_a_constant():
    assert splits(BETWEEN, FITS) == 3
    found = widened(BETWEEN, FITS, budget=Budget(), limits=Limits())
    assert splits(BETWEEN, found) == 2
    assert BETWEEN.margin_caps()[0] == 30
    assert found.margins(BETWEEN.data, BETWEEN.codes)[0][2:].tolist() == [30, 30]


def test_opposite_dichotomies_count_once_and_constants_not():
    first = np.array([[2, -2, 1, 1], [-1, 1, 1, -2]])
    assert splits(BETWEEN, Network((first, np.ones((4, 1))), 2)) == 2


@pytest.mark.parametrize("bound", [3, 7])
def test_it_gains_much_on_a_network_that_merely_fits(bound):
    problem, start = overlapping(bound)
    found = widened(problem, start, budget=Budget(nodes=60), limits=Limits(nodes=60))
    assert get("mm").value(problem, found) > 3 * get("mm").value(problem, start)


@settings(max_examples=60, deadline=None)
@given(tiny_problems())
def test_it_never_loses_and_never_beats_brute_force(problem):
    assume(problem.hidden_layers)
    start = with_margins(problem, initial_network(problem), proposals=2_000)
    value = get("mm").value(problem, start)
    assume(value is not None)
    found = widened(problem, start, budget=Budget(nodes=20), limits=Limits(nodes=20))
    assert value <= get("mm").value(problem, found) <= AllNetworks.of(problem).best("mm")


def test_a_node_limit_makes_it_deterministic():
    problem, start = overlapping(3, seed=1)
    first, second = (widened(problem, start, budget=Budget(nodes=25), limits=Limits(nodes=25)) for _ in range(2))
    assert first == second


def test_no_time_gives_the_start_back():
    problem, start = overlapping(3)
    assert widened(problem, start, budget=Budget(deadline=Deadline.after(0.0)), limits=Limits(seconds=0.0)) == start


def test_max_margin_starts_from_it():
    problem, start = overlapping(7)
    limits = Limits(nodes=40)
    before = run_only("mm", "dichotomies", problem=problem, start=start, limits=limits)
    after = engine.run("mm", problem, start=start, limits=limits)
    assert after.objective == get("mm").value(problem, after.network) <= after.bound
    assert after.objective > before.objective


def test_where_one_neuron_is_enough_nothing_is_widened(monkeypatch):
    rng = np.random.default_rng(1)
    data = rng.integers(0, 60, (40, 12))
    data[:20, :6] += 60
    problem = Problem(data, np.repeat([[1], [-1]], 20, axis=0), (4,), 1)
    monkeypatch.setattr(widening, "widened", None)
    report = engine.run("mm", problem, start=initial_network(problem), limits=Limits(nodes=40))
    assert report.objective == get("mm").value(problem, report.network)
