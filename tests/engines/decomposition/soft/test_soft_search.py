"""The search for integer weights: what it says is what it has, it keeps all limits, and dives improve on rounding."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from soft_brute import allowed, best, by_hand, problems

from bemi.engines.decomposition.soft import search as search_module
from bemi.engines.decomposition.soft.program import linear_program
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.engines.decomposition.soft.search import Search, improved
from bemi.engines.decomposition.soft.terms import soft_rows
from bemi.limits import FOREVER, Deadline
from bemi.problem import Problem, SoftMargin


@given(problems())
@settings(max_examples=60)
def test_a_descent_ends_where_no_move_of_one_weight_improves(case):
    problem, start = case
    search = Search.of(soft_rows(problem, 0))
    weights = np.clip(start.weights[0][:, 0], search.soft.low, search.soft.high)
    search.thinned(weights, np.abs(weights).astype(float))
    value = search.descend(weights)
    exact = by_hand(problem, weights.tolist(), 0)
    assert value == pytest.approx(float(exact), abs=1e-6)
    within = set(allowed(problem, 0))
    assert tuple(weights.tolist()) in within
    for i in range(len(weights)):
        for change in (-1, 1):
            moved = weights.copy()
            moved[i] += change
            if tuple(moved.tolist()) in within:
                assert float(by_hand(problem, moved.tolist(), 0)) >= float(exact) - 1e-6


@given(problems())
@settings(max_examples=40)
def test_kicks_reach_the_best_weights_of_tiny_problems_or_stay_above(case):
    problem, _ = case
    search = Search.of(soft_rows(problem, 0))
    near = np.random.default_rng(0).uniform(-1, 1, problem.data.shape[1])
    weights, value = search.rounded(near)
    kicked, lower = search.kicked(weights, near, 20, 0, FOREVER)
    assert tuple(kicked.tolist()) in set(allowed(problem, 0))
    assert float(best(problem)[0]) - 1e-6 <= lower <= value + 1e-9


def bits(rows, inputs, max_links=None):
    rng = np.random.default_rng(1)
    data = np.concatenate([rng.choice([-1, 1], (rows, inputs - 1)), np.ones((rows, 1), dtype=int)], axis=1)
    codes = np.where(data[:, :5].sum(axis=1) + rng.normal(0, 1, rows) > 0, 1, -1)[:, None]
    problem = Problem(data, codes, (), 5, uncounted=(inputs - 1,))
    soft, _ = choose_resolution(problem, 3.0, 1, max_links)
    return replace(problem, soft=soft)


def test_a_link_is_exchanged_for_a_better_one():
    search = Search.of(soft_rows(bits(200, 20, max_links=1), 0))
    gains = []
    for i in range(19):
        single = np.zeros(20, dtype=np.int64)
        single[i] = 1
        gains.append(search.soft.value(single))
    weights = np.zeros(20, dtype=np.int64)
    weights[int(np.argmax(gains))] = 1  # the worst link
    search.descend(weights)
    (kept,) = np.flatnonzero(weights[:19])
    assert kept < 5


def test_the_clock_is_read_inside_a_descent():
    search = Search.of(soft_rows(bits(20_000, 60), 0))
    weights = np.full(60, 5)
    deadline = Deadline.after(0.0)
    search.descend(weights, deadline)
    assert deadline.elapsed < 2.0
    reached = search.soft.value(weights)
    assert search.descend(weights.copy()) <= reached + 1e-9 * reached


@pytest.fixture(scope="module")
def separable():
    """Wide rows that are easy to separate, at a high price: rounding each weight alone is far from optimal."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2, (60, 80))
    codes = np.where(data @ rng.normal(0, 1, 80) > 0, 1, -1)[:, None]
    problem = Problem(data, codes, (), 3)
    soft, start = choose_resolution(problem, 30.0)
    search = Search.of(soft_rows(replace(problem, soft=soft), 0))
    weights = start.weights[0][:, 0].copy()
    search.descend(weights)
    near = weights.astype(np.float64)
    program = linear_program(search.soft, weights, near, np.zeros((1, len(search.soft.data))))
    return program, search, weights, program.solve(search.soft.low, search.soft.high)


def dived(separable, dives=12, enough=-np.inf):
    program, search, weights, relaxed = separable
    return improved(program, search, weights, relaxed, dives=dives, seed=1, deadline=FOREVER, enough=enough)


def test_dives_improve_on_kicks(separable):
    _, search, weights, _ = separable
    kicked, reached = dived(separable, dives=0)
    found, value = dived(separable)
    assert value == pytest.approx(search.soft.value(found))
    assert value < reached <= search.soft.value(weights)
    assert (search.soft.low <= found).all()
    assert (found <= search.soft.high).all()
    assert (kicked != found).any()


def test_dives_stop_at_what_is_enough(separable):
    _, search, weights, _ = separable
    found, value = dived(separable, enough=np.inf)
    assert value == pytest.approx(search.soft.value(weights))
    assert (found == weights).all()


@pytest.mark.parametrize("hinges", [1, 2])
@pytest.mark.parametrize("max_links", [None, 6])
@pytest.mark.parametrize("most", [10**8, 50 * 25])
def test_rows_far_from_their_targets_change_nothing(monkeypatch, hinges, max_links, most):
    rng = np.random.default_rng(3)
    data = rng.integers(-9, 10, size=(400, 25))
    codes = np.where(data[:, :5].sum(axis=1) + rng.normal(0, 4, 400) >= 0, 1, -1)[:, None]
    soft = SoftMargin(Fraction(3), (Fraction(4),), hinges, max_links)
    rows = soft_rows(Problem(data, codes, (), 7, soft=soft), 0)
    start = np.zeros(25, dtype=np.int64)
    results = []
    for near, entries in ((0.5, most), (1e9, 10**8)):
        monkeypatch.setattr(search_module, "_NEAR", near)
        monkeypatch.setattr(search_module, "_ENTRIES", entries)
        search, weights = Search.of(rows, start), start.copy()
        fewer = len(search.near.limits) < 400
        value = search.descend(weights)
        assert value == pytest.approx(rows.value(weights), rel=1e-9)
        assert fewer == (near < 1)
        results.append(value)
        # Weights that are no better than the best known need no exact value, only one that shows it.
        trial, cutoff = start.copy(), value - 1
        shown = search.descend(trial, cutoff=cutoff)
        assert shown <= rows.value(trial) + 1e-6
        assert shown >= cutoff or shown == pytest.approx(rows.value(trial), rel=1e-9)
    assert results[0] == pytest.approx(results[1], rel=0.05)
