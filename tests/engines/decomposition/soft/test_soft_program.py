"""The linear program of one output against another solver's, written out in full."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog
from soft_brute import problems

from bemi.engines.decomposition.soft import program as module
from bemi.engines.decomposition.soft.program import linear_program
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.engines.decomposition.soft.terms import soft_rows
from bemi.problem import Problem


def in_full(soft, low, high, link_price=0.0):
    """Optimum of the linear program with every value of every weight and every term; None if it is infeasible."""
    pairs = [(i, p) for i in range(len(low)) for p in range(low[i], high[i] + 1)]
    rows = soft.precise(np.arange(len(soft.data)))
    terms = [(h, k) for h in range(len(soft.targets)) for k in range(len(rows))]
    cost = [p * p / 2 + link_price * (p != 0) for _, p in pairs] + [soft.limits[k] for _, k in terms]
    reach = np.array([[p * rows[k, i] for i, p in pairs] for _, k in terms]).reshape(len(terms), len(pairs))
    upper, most = -np.hstack([reach, np.eye(len(terms))]), [-float(soft.targets[h]) for h, _ in terms]
    if soft.max_links is not None:
        upper = np.vstack([upper, [soft.counted[i] and p != 0 for i, p in pairs] + [0] * len(terms)])
        most.append(soft.max_links)
    once = np.array([[float(i == j) for j, _ in pairs] + [0.0] * len(terms) for i in range(len(low))])
    found = linprog(cost, A_ub=upper, b_ub=most, A_eq=once, b_eq=np.ones(len(low)), method="highs")
    return found.fun if found.status == 0 else None


def proved(soft, relaxed, low, high):
    return float(soft.proved(soft.numerators(relaxed.prices), low, high))


def start_of(soft):
    """Weights and multipliers to start from: none."""
    inputs = soft.data.shape[1]
    return np.zeros(inputs, dtype=np.int64), np.zeros(inputs), np.zeros((len(soft.targets), len(soft.data)))


@given(problems())
@settings(max_examples=60)
def test_its_multipliers_prove_the_optimum_over_boxes(case):
    problem, _ = case
    soft = soft_rows(problem, 0)
    program = linear_program(soft, *start_of(soft))
    low, high = soft.low.copy(), soft.high.copy()
    boxes = [(soft.low, soft.high), (np.minimum(low + 1, high), high), (low, np.maximum(high - 1, low)), (low, high)]
    optima = [in_full(soft, lower, upper) for lower, upper in boxes]
    assert optima[0] is not None, "the whole box has an optimum"
    for (lower, upper), optimum in zip(boxes, optima, strict=True):
        if optimum is not None:
            relaxed = program.solve(lower, upper)
            assert (relaxed.weights >= lower - 1e-6).all()
            assert (relaxed.weights <= upper + 1e-6).all()
            assert proved(soft, relaxed, lower, upper) == pytest.approx(optimum, rel=1e-6, abs=1e-4)


def table(rows, inputs, seed=0):
    rng = np.random.default_rng(seed)
    data = np.concatenate([rng.choice([-1, 1], (rows, inputs - 1)), np.ones((rows, 1), dtype=int)], axis=1)
    codes = np.where(data[:, : inputs // 2].sum(axis=1) + rng.normal(0, 2, rows) > 0, 1, -1)[:, None]
    return Problem(data, codes, (), 3, uncounted=(inputs - 1,))


@pytest.mark.parametrize(("hinges", "max_links"), [(1, None), (2, None), (1, 4), (2, 4)])
def test_terms_and_columns_that_are_left_out_are_added_where_needed(monkeypatch, hinges, max_links):
    problem = table(60, 8)
    soft_margin, _ = choose_resolution(problem, 3.0, hinges, max_links)
    soft = soft_rows(replace(problem, soft=soft_margin), 0)
    monkeypatch.setattr(module, "_FEW", 10)
    relaxed = linear_program(soft, *start_of(soft)).solve(soft.low, soft.high)
    assert proved(soft, relaxed, soft.low, soft.high) == pytest.approx(in_full(soft, soft.low, soft.high), rel=1e-6)


@pytest.mark.parametrize("link_price", [0.3, 5.0])
def test_links_may_have_a_price(link_price):
    problem = table(40, 8)
    soft_margin, _ = choose_resolution(problem, 3.0)
    soft = soft_rows(replace(problem, soft=soft_margin), 0)
    relaxed = linear_program(soft, *start_of(soft), link_price).solve(soft.low, soft.high)
    g, gain = soft.combination(soft.numerators(relaxed.prices))
    points = np.arange(-3, 4)
    each = points * (g[:, None] / 2**32) - points**2 / 2 - link_price * (points != 0)
    assert float(gain) - each.max(axis=1).sum() == pytest.approx(in_full(soft, soft.low, soft.high, link_price))


def test_a_program_without_room_still_proves_a_bound(monkeypatch):
    problem = table(60, 8)
    soft_margin, _ = choose_resolution(problem, 3.0)
    soft = soft_rows(replace(problem, soft=soft_margin), 0)
    monkeypatch.setattr(module, "_ENTRIES", 100)
    weights, near, prices = start_of(soft)
    relaxed = linear_program(soft, weights, near, prices + soft.limits).solve(soft.low, soft.high)
    bound = soft.proved(soft.numerators(relaxed.prices), soft.low, soft.high)
    assert bound <= Fraction(in_full(soft, soft.low, soft.high)) + Fraction(1, 10**6)
