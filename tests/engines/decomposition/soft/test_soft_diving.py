"""Dives: better integer weights than rounding finds, within the box."""

from dataclasses import replace

import numpy as np
import pytest

from bemi.engines.decomposition.soft.program import linear_program
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.engines.decomposition.soft.search import Search, improved
from bemi.engines.decomposition.soft.terms import soft_rows
from bemi.limits import FOREVER
from bemi.problem.problem import Problem


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
    program = linear_program(search.soft, weights, near, np.zeros((1, len(search.soft.nonzero))))
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
