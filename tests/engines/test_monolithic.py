"""The monolithic engine against brute force, on every installed solver."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import AllNetworks, keeping, tiny_problems

from bemi import Network, solvers
from bemi.engines import initial_network, monolithic
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.programs import Solution
from bemi.stages import ClaimMismatch, get

NO_LIMIT = Limits()


def referee(problem: Problem, solver: str) -> None:
    """Every stage's value and bound must be brute force's, for the T-hat and the margins that were returned."""
    zero = Network(tuple(np.zeros(s) for s in pairwise(problem.layers)), problem.weight_bound)

    def run(stage, problem, start, margins=None):
        return monolithic.run(stage, problem, start=start, keep=keeping(margins), limits=NO_LIMIT, solver=solver)

    sm = run("sm", problem, zero)
    assert sm.objective == sm.bound == AllNetworks.of(problem).best("sm")
    seen = problem.rows(problem.confident_rows(sm.network))
    if not len(seen.data):
        return
    everything = AllNetworks.of(seen)
    mm = run("mm", seen, sm.network)
    assert mm.objective == mm.bound == everything.best("mm")
    margins = mm.network.margins(seen.data, seen.codes) if mm.ran else None
    mw = run("mw", seen, mm.network, margins)
    assert mw.objective == mw.bound == everything.best("mw", margins)
    without_margins = run("mw", seen, sm.network)
    assert without_margins.objective == without_margins.bound == everything.best("mw")


IN_THIS_PROCESS = [name for name in solvers.SOLVERS if name != "cpsat"]


@pytest.mark.parametrize("backend", IN_THIS_PROCESS, indirect=True)
@settings(max_examples=80)
@given(problem=tiny_problems())
def test_every_stage_equals_brute_force(backend, problem):
    referee(problem, backend)


@pytest.mark.slow
@pytest.mark.parametrize("backend", IN_THIS_PROCESS, indirect=True)
@settings(max_examples=10_000)
@given(problem=tiny_problems())
def test_every_stage_equals_brute_force_at_length(backend, problem):
    referee(problem, backend)


# CP-SAT starts a process for every program, half a second each.
@pytest.mark.parametrize("backend", ["cpsat"], indirect=True)
@settings(max_examples=2)
@given(problem=tiny_problems())
def test_every_stage_of_a_few_problems_equals_brute_force(backend, problem):
    referee(problem, backend)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpsat"], indirect=True)
@settings(max_examples=300)
@given(problem=tiny_problems())
def test_every_stage_of_more_problems_equals_brute_force(backend, problem):
    referee(problem, backend)


@settings(max_examples=50)
@given(problem=tiny_problems())
def test_start_from_the_initial_network_reaches_the_same_optimum(problem):
    start = initial_network(problem)
    sm = monolithic.run("sm", problem, start=start, limits=NO_LIMIT)
    assert sm.objective == AllNetworks.of(problem).best("sm")
    assert sm.objective >= get("sm").value(problem, start)


def two_points() -> Problem:
    return Problem(np.array([[3, 1], [1, 4]]), np.array([[1], [-1]]), (2,), 1)


def test_limit_hands_back_the_start(backend):
    problem = two_points()
    start = initial_network(problem)
    report = monolithic.run("mm", problem, start=start, limits=Limits(seconds=1e-9), solver=backend)
    assert report.objective >= get("mm").value(problem, start)
    assert report.objective <= report.bound <= get("mm").trivial_bound(problem)


def test_infeasible_stage_leaves_the_network_and_says_so(backend):
    problem = Problem(np.array([[0, 0], [1, 4]]), np.array([[1], [-1]]), (2,), 1)
    start = initial_network(problem)
    report = monolithic.run("mm", problem, start=start, limits=NO_LIMIT, solver=backend)
    assert not report.ran
    assert report.network == start
    assert report.gap == np.inf
    assert "no network satisfies" in report.message


def test_values_beyond_the_solvers_tolerance_are_not_handed_to_it():
    problem = Problem(np.array([[3 * 10**8, 1], [1, 4]]), np.array([[1], [-1]]), (2,), 1)
    start = initial_network(problem)
    report = monolithic.run("mm", problem, start=start, limits=NO_LIMIT)
    assert report.network == start
    assert "too large" in report.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: replace(s, objective=s.objective + 1), "its weights give"),
        (lambda s: replace(s, bound=s.objective - 1), "beyond the solver's proven bound"),
        (lambda s: replace(s, x=None, status=s.status.INFEASIBLE), "claims infeasibility"),
        (lambda s: replace(s, x=np.zeros_like(s.x)), "no feasible network"),
    ],
)
def test_a_false_claim_raises(monkeypatch, change, words):
    honest = solvers.get("highs").solve

    def lying(*args, **kwargs) -> Solution:
        return change(honest(*args, **kwargs))

    monkeypatch.setattr(solvers.get("highs"), "solve", lying)
    problem = two_points()
    start = Network((np.array([[1, 1], [-1, -1]]), np.array([[1], [1]])), 1)
    assert get("mm").value(problem, start) is not None
    with pytest.raises(ClaimMismatch, match=words):
        monolithic.run("mm", problem, start=start, limits=NO_LIMIT)
