"""The local search of Sat-Margin."""

from __future__ import annotations

import numpy as np
import pytest

from bemi import Network
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.sat_margin import annealing as satmargin
from bemi.engines.decomposition.sat_margin.annealing import most_confident, with_margins
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import get


def overlapping(rows: int = 120, seed: int = 0) -> Problem:
    """Two classes that no hyperplane through the origin separates."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-50, 51, (rows, 6))
    inside = np.abs(data[:, 0] + data[:, 1]) < 30
    return Problem(data, np.where(inside, 1, -1)[:, None], (4, 2), 1)


def test_it_never_loses_and_usually_gains():
    problem = overlapping()
    start = initial_network(problem)
    found = most_confident(problem, start, proposals=100_000)
    assert get("sm").value(problem, found) > get("sm").value(problem, start)


def test_the_same_seed_gives_the_same_network():
    problem = overlapping(seed=1)
    start = initial_network(problem)
    first, second = (most_confident(problem, start, proposals=20_000, seed=5) for _ in range(2))
    assert first == second


def test_the_engine_reports_what_it_reached_with_a_true_bound():
    problem = overlapping(300)
    start = initial_network(problem)
    report = engine.run("sm", problem, start=start, limits=Limits(seconds=2))
    assert (
        get("sm").value(problem, start) <= report.objective == get("sm").value(problem, report.network) <= report.bound
    )
    assert report.proof == "certified"
    assert report.message


def test_no_live_inputs():
    problem = Problem(np.zeros((3, 2), dtype=int), np.array([[1], [1], [-1]]), (2,), 1)
    start = initial_network(problem)
    assert most_confident(problem, start) == start


def zeros_on_confident_rows(problem: Problem, network: Network) -> int:
    seen = problem.rows(problem.confident_rows(network))
    return sum(int((sums == 0).sum()) for sums in network.pre_activations(seen.data)[:-1])


def test_among_equal_networks_one_without_zeros_is_kept():
    rng = np.random.default_rng(3)
    data = rng.integers(-9, 10, (60, 6))
    problem = Problem(data, np.where(np.abs(data[:, 0] + data[:, 1]) < 6, 1, -1)[:, None], (4,), 3)
    network = most_confident(problem, initial_network(problem), proposals=600_000)
    assert zeros_on_confident_rows(problem, network) == 0


def test_a_sum_of_zero_is_repaired():
    data = np.array([[1, 1, 1], [2, 1, 1], [1, 2, 0], [1, 3, 0]])
    problem = Problem(data, np.array([[1], [1], [-1], [-1]]), (2,), 1)
    start = Network((np.array([[1, 1], [-1, -1], [0, 0]]), np.array([[1], [1]])), 1)
    assert np.array_equal(start.forward(data), problem.codes)
    assert get("mm").value(problem, start) is None
    assert get("mm").value(problem, with_margins(problem, start, proposals=100_000)) is not None


@pytest.mark.parametrize("outputs", [1, 2])
def test_without_a_hidden_layer_rows_must_be_strictly_right(outputs):
    rng = np.random.default_rng(4)
    data = rng.integers(-3, 4, (80, 5))
    codes = np.where(data[:, :outputs] * data[:, 1:2] + data[:, 2:3] > 0, 1, -1)
    problem = Problem(data, codes, (), 2)
    start = Network((np.zeros((5, outputs)),), 2)
    found = most_confident(problem, start, proposals=200_000)
    assert get("sm").value(problem, found) > 0.6 * codes.size > get("sm").value(problem, start) == 0


def test_the_walk_counts_as_the_problem_does(monkeypatch):
    """What the walk believes it has reached is what the weights give, for several depths and outputs."""
    reached = []
    honest = satmargin._walk

    def watched(*arguments):
        reached.append(honest(*arguments))
        return reached[-1]

    monkeypatch.setattr(satmargin, "_walk", watched)
    rng = np.random.default_rng(5)
    for hidden, outputs, bound in (((3,), 1, 1), ((3, 2), 2, 2), ((2, 3, 2), 1, 3), ((20,), 2, 1), ((), 3, 2)):
        data = rng.integers(-4, 5, (60, 5))
        problem = Problem(data, rng.choice([-1, 1], (60, outputs)), hidden, bound)
        network = most_confident(problem, initial_network(problem), proposals=60_000)
        count, zeros = reached[-1]
        assert count == get("sm").value(problem, network)
        assert zeros == (zeros_on_confident_rows(problem, network) if hidden else 0)


def test_max_margin_runs_on_what_sat_margin_leaves():
    rng = np.random.default_rng(6)
    data = rng.integers(-50, 51, (80, 6))
    problem = Problem(data, np.where(np.abs(data[:, 0] + data[:, 1]) < 30, 1, -1)[:, None], (4,), 3)
    found = most_confident(problem, initial_network(problem), proposals=600_000)
    seen = problem.rows(problem.confident_rows(found))
    report = engine.run("mm", seen, start=found, limits=Limits(nodes=100))
    assert report.objective == get("mm").value(seen, report.network) <= report.bound
