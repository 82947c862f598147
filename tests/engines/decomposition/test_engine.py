"""The decomposition against brute force, and its promises on data that are too large for it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import AllNetworks, keeping, tiny_class_problems, tiny_problems
from sklearn.datasets import load_digits, load_wine
from strategies import run_only

from bemi import Network
from bemi.certificate import Rows
from bemi.certificate.combinations import combined_links_bound, combined_margins_bound
from bemi.certificate.links import links_bound
from bemi.certificate.margins import MarginProof
from bemi.certificate.neurons import listed_links_bound
from bemi.certificate.widest import widest_bound
from bemi.engines import initial_network, observed
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import get
from bemi.training import train

NO_LIMIT = Limits()


def proved_margin_bound(problem: Problem, proof: dict) -> int:
    distinct = distinct_rows(problem)
    rows = Rows(distinct.data.tolist(), distinct.codes.tolist(), distinct.layers, distinct.weight_bound)
    match proof["kind"]:
        case "single-neurons":
            return widest_bound(rows, proof)
        case "combinations":
            return combined_margins_bound(rows, proof)
    return MarginProof(rows, proof).bound()


def referee(problem: Problem) -> None:
    """Value and bound of every stage equal brute force's, and every certificate proves what is claimed."""
    sm = engine.run("sm", problem, start=initial_network(problem), limits=NO_LIMIT)
    assert sm.objective == sm.bound == AllNetworks.of(problem).best("sm")
    seen = problem.rows(problem.confident_rows(sm.network))
    if not len(seen.data):
        return
    everything = AllNetworks.of(seen)
    mm = engine.run("mm", seen, start=sm.network, limits=NO_LIMIT)
    assert mm.objective == mm.bound == everything.best("mm")
    if mm.certificate is not None:
        assert everything.best("mm") <= proved_margin_bound(seen, mm.certificate) <= mm.bound
    if not mm.ran:
        assert mm.network == sm.network
        return
    margins = mm.network.margins(seen.data, seen.codes)
    mw = engine.run("mw", seen, start=mm.network, keep=keeping(margins), limits=NO_LIMIT)
    assert mw.objective == mw.bound == everything.best("mw", margins)
    if mw.certificate is not None:
        rows = Rows(seen.data.tolist(), seen.codes.tolist(), seen.layers, seen.weight_bound)
        needed = [m.tolist() for m in margins]
        checks = {"smallest-neurons": listed_links_bound, "combinations": combined_links_bound}
        check = checks.get(mw.certificate["kind"], links_bound)
        assert mw.bound <= check(rows, needed, mw.certificate) <= everything.best("mw", margins)


NO_NEED = Problem(np.array([[1, 2], [-1, 0], [-1, 2]]), np.array([[-1], [-1], [1]]), (3,), 1)
"""Here wide-margin neurons need no margin at all to make a better network."""


@settings(max_examples=200)
@given(problem=tiny_problems())
@example(problem=NO_NEED)
def test_every_stage_equals_brute_force(problem):
    referee(problem)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(problem=tiny_problems())
def test_every_stage_equals_brute_force_at_length(problem):
    referee(problem)


@settings(max_examples=100)
@given(problem=tiny_class_problems())
def test_every_stage_equals_brute_force_for_several_classes(problem):
    referee(problem)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(problem=tiny_class_problems())
def test_every_stage_equals_brute_force_for_several_classes_at_length(problem):
    referee(problem)


@settings(max_examples=150)
@given(problem=tiny_problems(), nodes=st.integers(1, 20))
def test_bounds_hold_however_early_the_search_stops(problem, nodes):
    best = AllNetworks.of(problem).best("mm")
    report = engine.run("mm", problem, start=initial_network(problem), limits=Limits(nodes=nodes))
    assert report.ran == (best is not None)  # enumeration and the solver find a network of any tiny problem
    if report.ran:
        assert report.objective <= best <= report.bound


def digits(a: int, b: int, per_class: int = 10, hidden: tuple[int, ...] = (4, 4), bound: int = 1) -> Problem:
    X, y = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in (a, b)])
    return Problem(X[chosen], np.repeat([[1], [-1]], per_class, axis=0), hidden, bound)


@pytest.mark.parametrize("pair", [(5, 8), (1, 8), (4, 9)])
def test_what_a_search_leaves_open_is_in_its_bound(pair):
    """One image of small norm: its margin is small, so many dichotomies are in question, and one node settles few."""
    problem = digits(*pair, per_class=20)
    data = problem.data.copy()
    data[0] //= 3
    problem = replace(problem, data=data)
    start = initial_network(problem)
    early, late = (
        run_only("mm", "dichotomies", problem=problem, start=start, limits=Limits(nodes=nodes)) for nodes in (1, 100)
    )
    assert '["O"]' in json.dumps(early.certificate)
    assert early.bound > early.certificate["value"]
    assert early.bound == proved_margin_bound(problem, early.certificate) >= late.bound
    assert late.gap < 0.01


@pytest.mark.parametrize("hidden", [(), (1,), (4, 4), (10, 3)])
@pytest.mark.parametrize("bound", [1, 3, 15])
def test_small_images_are_nearly_closed_and_certified(hidden, bound):
    problem = digits(4, 9, hidden=hidden, bound=bound)
    report = engine.run("mm", problem, start=initial_network(problem), limits=Limits(seconds=5, gap=0.02))
    assert report.proof == "certified"
    assert report.gap < 0.03
    assert proved_margin_bound(problem, report.certificate) <= report.bound


def test_signed_data():
    X, y = load_wine(return_X_y=True)
    X = np.rint(20 * (X - X.mean(axis=0)) / X.std(axis=0)).astype(int)
    chosen = np.concatenate([np.flatnonzero(y == c)[:15] for c in (0, 2)])
    problem = Problem(X[chosen], np.repeat([[1], [-1]], 15, axis=0), (3,), 15)
    report = engine.run("mm", problem, start=initial_network(problem), limits=Limits(seconds=5, gap=0.1))
    assert report.gap <= 0.1
    assert proved_margin_bound(problem, report.certificate) <= report.bound


def test_three_classes():
    X, y = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:6] for c in (0, 1, 2)])
    codes = np.repeat([[1, 1], [1, -1], [-1, 1]], 6, axis=0)
    problem = Problem(X[chosen], codes, (4, 4), 1)
    trained = train(problem, time_limit=6.0)
    assert trained.reports["sm"].objective == 36
    mm = trained.reports["mm"]
    assert mm.objective <= mm.bound == proved_margin_bound(problem, mm.certificate)


def test_node_limits_make_it_deterministic():
    problem = digits(3, 8)
    first, second = (train(problem, time_limit=None, limits=Limits(nodes=50, seed=4)) for _ in range(2))
    assert first.network == second.network
    for stage in first.reports:
        assert first.reports[stage].certificate == second.reports[stage].certificate


def test_short_limits_still_give_a_network_and_a_bound():
    problem = digits(1, 7, per_class=40)
    trained = train(problem, time_limit=1e-6)
    assert trained.network.layers == problem.layers
    sm, mm = trained.reports["sm"], trained.reports["mm"]
    seen = problem.rows(problem.confident_rows(sm.network))
    assert mm.objective == get("mm").value(seen, mm.network)
    assert mm.objective <= proved_margin_bound(seen, mm.certificate) <= mm.bound


def test_equal_rows_with_different_codes_are_infeasible():
    problem = Problem(np.array([[3, 1], [3, 1]]), np.array([[1], [-1]]), (2,), 1)
    start = initial_network(problem)
    report = engine.run("mm", problem, start=start, limits=NO_LIMIT)
    assert not report.ran
    assert "no network satisfies" in report.message


def test_a_solver_that_ran_into_its_limit_is_named():
    rng = np.random.default_rng(2)
    problem = Problem(rng.integers(-10, 11, (12, 6)), rng.choice([-1, 1], (12, 1)), (3,), 3)
    report = engine.run("mw", problem, start=initial_network(problem), limits=Limits(nodes=1))
    assert report.message == "the solver stopped at its time or node limit"


def test_zero_start_is_no_obstacle():
    problem = digits(0, 1)
    zero = Network(tuple(np.zeros(s) for s in pairwise(problem.layers)))
    report = engine.run("mm", problem, start=zero, limits=Limits(seconds=2, gap=0.05))
    assert report.objective == get("mm").value(problem, report.network)


def test_decomposition_is_the_default():
    problem = digits(0, 1, per_class=2)
    with observed() as contributions:
        train(problem, time_limit=None, limits=Limits(nodes=1))
    assert "dichotomies" in [contribution.strategy for contribution in contributions]
