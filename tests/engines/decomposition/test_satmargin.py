"""The local search of Sat-Margin."""

from __future__ import annotations

import numpy as np

from bemi.engines.decomposition import engine
from bemi.engines.decomposition.satmargin import most_confident
from bemi.engines.start import initial_network
from bemi.problem import Problem
from bemi.programs.program import Limits


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
    assert problem.value("sm", found) > problem.value("sm", start)


def test_the_same_seed_gives_the_same_network():
    problem = overlapping(seed=1)
    start = initial_network(problem)
    first, second = (most_confident(problem, start, proposals=20_000, seed=5) for _ in range(2))
    assert first == second


def test_the_engine_reports_what_it_reached_with_a_true_bound():
    problem = overlapping(300)
    start = initial_network(problem)
    report = engine.run("sm", problem, start=start, limits=Limits(seconds=2))
    assert problem.value("sm", start) <= report.objective == problem.value("sm", report.network) <= report.bound
    assert report.proof == "certified"
    assert report.message


def test_no_live_inputs():
    problem = Problem(np.zeros((3, 2), dtype=int), np.array([[1], [1], [-1]]), (2,), 1)
    start = initial_network(problem)
    assert most_confident(problem, start) == start
