"""The soft-margin stage: what multipliers prove, the tree, its limits and its reasons for ending."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from soft_brute import best, by_hand, problems, proved
from strategies import run_only

from bemi.certificate import Rows
from bemi.certificate.softmargins import Restrictions, SoftMargins
from bemi.engines.decomposition.soft import margins, svm_kernel
from bemi.engines.decomposition.soft import margins as module
from bemi.engines.decomposition.soft import program as program_module
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.engines.decomposition.soft.terms import DENOMINATOR, most_integer
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import Outcome


@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=5))
def test_the_best_integer_weight_for_a_price(cases):
    g, low, width = (np.array(part) for part in zip(*cases, strict=True))
    found = most_integer(g, low, low + width)
    every = [max(2 * p * v - p * p * DENOMINATOR for p in range(a, a + d + 1)) for v, a, d in cases]
    assert found.tolist() == every


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


@pytest.mark.parametrize("seconds", [0.0, 20.0])
def test_without_time_the_bound_is_weaker_but_holds(looks, seconds):
    problem, start = many_bits(6000, 80)
    short = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(seconds=seconds))
    whole = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3, gap=0.005))
    assert short.seconds < seconds + 50
    assert 0 <= short.bound <= whole.objective
    assert whole.bound <= short.objective


def test_rows_that_say_nothing():
    problem = Problem(np.zeros((3, 2), dtype=int), np.array([[1], [-1], [1]]))
    soft, start = choose_resolution(problem, 10.0)
    result = run_only("soft", "outputs", problem=replace(problem, soft=soft), start=start, limits=Limits())
    assert result.objective == result.bound == 0


def noisy_bits(rows=60, inputs=13, weight_bound=3, hinges=1, max_links=None, price=3.0):
    rng = np.random.default_rng(3)
    data = np.concatenate([rng.choice([-1, 1], (rows, inputs - 1)), np.ones((rows, 1), dtype=int)], axis=1)
    codes = np.where(data[:, :6].sum(axis=1) + rng.normal(0, 2, rows) > 0, 1, -1)[:, None]
    problem = Problem(data, codes, (), weight_bound, uncounted=(inputs - 1,))
    soft, start = choose_resolution(problem, price, hinges, max_links)
    return replace(problem, soft=soft), start


def size(tree):
    return 1 if "multipliers" in tree else 1 + sum(map(size, tree["children"]))


def replayed(problem, result):
    """The bound that the independent checker finds in the certificate."""

    def written(value):
        return f"{value.numerator:x}/{value.denominator:x}"

    rows = Rows(problem.data.tolist(), problem.codes.tolist(), list(problem.layers), problem.weight_bound)
    soft = {
        "price": written(problem.soft.price),
        "resolutions": [written(t) for t in problem.soft.resolutions],
        "hinges": problem.soft.hinges,
        "max_links": problem.soft.max_links,
    }
    checker = SoftMargins(rows, soft, Restrictions(uncounted=frozenset(problem.uncounted)))
    weights = [matrix.tolist() for matrix in result.network.weights]
    assert checker.objective(weights) == result.objective
    return checker.bound(result.certificate)


@pytest.mark.parametrize(("hinges", "max_links"), [(1, None), (2, None), (1, 4), (2, 4)])
def test_it_closes_the_gap_that_the_root_leaves(hinges, max_links):
    problem, start = noisy_bits(hinges=hinges, max_links=max_links)
    root = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=0))
    whole = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3000, gap=1e-4))
    assert size(root.certificate["outputs"][0]) == 1
    assert size(whole.certificate["outputs"][0]) > 1
    assert root.gap > 1e-3 > 1e-4 >= whole.gap
    assert root.bound < whole.bound <= replayed(problem, whole) <= whole.objective <= root.objective
    assert root.bound <= replayed(problem, root)


@pytest.mark.parametrize(("gap", "made"), [(0.3, 0), (1e-4, 1)])
def test_a_program_too_small_for_its_terms_is_made_only_if_the_gap_asks_for_it(monkeypatch, gap, made):
    problem, start = noisy_bits(rows=300)
    monkeypatch.setattr(program_module, "_ENTRIES", 10 * 13)
    programs = []

    def counted(*arguments):
        programs.append(arguments)
        return program_module.linear_program(*arguments)

    monkeypatch.setattr(module, "linear_program", counted)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=5, gap=gap))
    assert len(programs) == made
    assert result.bound <= replayed(problem, result) <= result.objective
    assert result.gap <= 0.3


def test_a_machine_that_is_interrupted_goes_on_where_it_stopped():
    rng = np.random.default_rng(0)
    rows = np.sign(rng.normal(size=(500, 12)) + 0.3).astype(np.float32) / np.float32(12**0.5)
    limits, target = np.full(500, 2.0), np.array([1.0])
    low, high = np.full(12, -7.0), np.full(12, 7.0)

    def solved(*pieces):
        a, order, shrunk = np.zeros(500), np.arange(500), np.array([500, np.inf])
        for steps in pieces:
            w, change = svm_kernel.solve(rows, np.ones(500), limits, target, low, high, a, order, shrunk, steps, 1e-9)
        assert sorted(order) == list(range(500))
        assert change <= 1e-9
        return w @ w / 2 + limits @ np.maximum(0, 1 - rows @ w), a, shrunk[0]

    whole, a, _ = solved(10**7)
    parts, b, left = solved(*[700] * 20, 10**7)
    assert parts == pytest.approx(whole, rel=1e-6)
    assert b.sum() == pytest.approx(a.sum(), rel=1e-3)
    assert left == 500  # in the end all rows have been looked at again


def test_a_node_limit_makes_it_reproducible():
    problem, start = noisy_bits(max_links=4)
    runs = [
        run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=15, seed=2)) for _ in range(2)
    ]
    assert runs[0].network == runs[1].network
    assert runs[0].certificate == runs[1].certificate
    assert 1 < size(runs[0].certificate["outputs"][0]) <= 31


def test_a_hopeless_gap_is_given_up(monkeypatch):
    problem, start = noisy_bits(rows=80, inputs=40, price=30.0, weight_bound=1)
    monkeypatch.setattr(margins, "NODES", 33)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits())
    assert size(result.certificate["outputs"][0]) <= 2 * module._FIRST_LOOK + 1
    assert result.gap > 0
    assert result.outcome is Outcome.LOCAL
    assert "rises too slowly" in result.message


def test_a_limit_is_named():
    problem, start = noisy_bits(rows=80, inputs=40, price=30.0, weight_bound=1)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3, gap=0))
    assert result.outcome is Outcome.LIMIT
    assert result.message == Outcome.LIMIT.sentence


def test_a_proof_stays_small(monkeypatch):
    problem, start = noisy_bits()
    monkeypatch.setattr(module, "_MULTIPLIERS", 500)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3000))
    leaves = []

    def collect(tree):
        if "multipliers" in tree:
            leaves.append(len(tree["multipliers"]))
        else:
            for child in tree["children"]:
                collect(child)

    collect(result.certificate["outputs"][0])
    assert sum(leaves) < 500 + 3 * len(problem.data)


def test_depth_is_limited(monkeypatch):
    problem, start = noisy_bits()
    monkeypatch.setattr(module, "_DEPTH", 2)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3000))
    assert size(result.certificate["outputs"][0]) <= 7
    assert result.bound <= replayed(problem, result)
