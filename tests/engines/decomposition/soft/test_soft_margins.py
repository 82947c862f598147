"""The soft-margin stage against every network of a tiny problem, and its bound against its proof."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from soft_brute import best, by_hand, problems, proved
from strategies import run_only

from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.limits import Limits
from bemi.problem.problem import Problem


@given(problems())
@settings(max_examples=150)
def test_it_finds_and_proves_the_best_network_of_tiny_problems(case):
    problem, start = case
    smallest = best(problem)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits())
    assert problem.allows(result.network)
    columns = result.network.weights[0].T.tolist()
    assert result.objective == sum(by_hand(problem, column, j) for j, column in enumerate(columns))
    bounds = [proved(problem, result.certificate, output) for output in range(len(smallest))]
    assert all(bound <= least for bound, least in zip(bounds, smallest, strict=True))
    assert 0 <= result.bound <= sum(bounds)
    # The tree closes the gap up to the precision of its linear programs.
    assert result.objective == sum(smallest)
    assert result.gap < 1e-5


def many_bits(rows, inputs, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, 10))
    cuts = rng.normal(size=inputs - 1)
    data = np.where(hidden[:, np.arange(inputs - 1) % 10] > cuts, 1, -1)
    data = np.concatenate([data, np.ones((rows, 1), dtype=int)], axis=1)
    codes = np.where(hidden @ rng.normal(size=10) + rng.normal(0, 2, rows) > 0, 1, -1)[:, None]
    problem = Problem(data, codes, (), 7)
    soft, start = choose_resolution(problem, 1.0)
    return replace(problem, soft=soft), start


def test_thousands_of_rows_take_memory_in_proportion_and_leave_a_small_gap():
    problem, start = many_bits(4000, 60)
    tracemalloc.start()
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3, gap=0.005))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.gap <= 0.005
    assert peak < 12 * problem.data.nbytes < len(problem.data) ** 2 * 8


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_without_time_the_bound_is_weaker_but_holds(seconds):
    problem, start = many_bits(6000, 80)
    short = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(seconds=seconds))
    whole = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3, gap=0.005))
    assert short.seconds < seconds + 5
    assert 0 <= short.bound <= whole.objective
    assert whole.bound <= short.objective


def test_rows_that_say_nothing():
    problem = Problem(np.zeros((3, 2), dtype=int), np.array([[1], [-1], [1]]))
    soft, start = choose_resolution(problem, 10.0)
    result = run_only("soft", "outputs", problem=replace(problem, soft=soft), start=start, limits=Limits())
    assert result.objective == result.bound == 0
