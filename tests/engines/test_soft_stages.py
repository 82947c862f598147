"""Soft margins and Min-Weight after them: every engine against all networks of a tiny problem."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC
from soft_brute import allowed, by_hand, problems
from strategies import run_only

from bemi import Network
from bemi.certificate import Rows
from bemi.certificate.softmargins import Restrictions, SoftMargins
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.engines.monolithic import run as monolithic
from bemi.limits import Limits
from bemi.problem import KeepObjective, Problem, row_norms


def checker_of(problem):
    """The certificate checker on a problem; None if its signs are more than certificates can say."""
    soft, outputs = problem.soft, problem.codes.shape[1]
    if problem.signs is not None and outputs > 1:
        return None
    rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound)
    claim = {
        "price": f"{soft.price.numerator:x}/{soft.price.denominator:x}",
        "resolutions": [f"{t.numerator:x}/{t.denominator:x}" for t in soft.resolutions],
        "hinges": soft.hinges,
        "max_links": soft.max_links,
    }
    omega = None if problem.row_weights is None else problem.row_weights.tolist()
    signs = None if problem.signs is None else problem.signs[:, 0].tolist()
    return SoftMargins(rows, claim, Restrictions(omega, signs, frozenset(problem.uncounted)))


def value_by_hand(problem, network):
    return sum(by_hand(problem, column, j) for j, column in enumerate(network.weights[0].T.tolist()))


@given(problems(), st.sampled_from([0.0, 0.01, 0.2]))
@settings(max_examples=60, deadline=None)
def test_both_stages_against_every_network(case, loss):
    problem, start = case
    outputs = range(problem.codes.shape[1])
    columns = [[(by_hand(problem, c, j), sum(w != 0 for w in c)) for c in allowed(problem, j)] for j in outputs]
    values = [tuple(map(sum, zip(*parts, strict=True))) for parts in product(*columns)]
    best = min(value for value, _ in values)
    assert problem.allows(start)
    assert problem.soft_value(start) == value_by_hand(problem, start)
    checker = checker_of(problem)

    whole = monolithic("soft", problem, start=start, limits=Limits())
    assert problem.allows(whole.network)
    assert whole.objective == best == value_by_hand(problem, whole.network)
    assert whole.bound <= best
    assert float(best - whole.bound) <= 1e-5 * max(1.0, float(best))

    ours = run_only("soft", "outputs", problem=problem, start=start, limits=Limits())
    assert ours.objective == value_by_hand(problem, ours.network) >= best
    assert 0 <= ours.bound <= best
    assert ours.objective <= problem.soft_value(start)
    if checker is not None:
        assert checker.objective([ours.network.weights[0].tolist()]) == ours.objective
        assert ours.bound <= checker.bound(ours.certificate) <= best

    ceiling = (1 + Fraction(loss)) * best
    fewest = min(links for value, links in values if value <= ceiling)
    keep = KeepObjective(ceiling)
    whole = monolithic("mw", problem, start=whole.network, keep=keep, limits=Limits())
    assert whole.objective == fewest == whole.network.links
    assert whole.bound <= fewest
    assert keep.holds(problem, whole.network)
    ours = run_only("mw", "soft links", problem=problem, start=whole.network, keep=keep, limits=Limits())
    assert keep.holds(problem, ours.network)
    assert ours.bound <= fewest <= ours.objective == ours.network.links
    if checker is not None and ours.certificate is not None:
        assert ours.bound <= checker.links_bound(ceiling, ours.certificate) <= fewest


def few_images(per_class=10, weight_bound=7, price=10.0):
    rng = np.random.default_rng(5)
    templates = rng.integers(0, 256, (2, 60))
    data = np.clip(np.repeat(templates, per_class, axis=0) + rng.integers(-120, 121, (2 * per_class, 60)), 0, 255)
    problem = Problem(data, np.repeat([[1], [-1]], per_class, axis=0), (), weight_bound)
    soft, start = choose_resolution(problem, price)
    return replace(problem, soft=soft), start


def test_the_continuous_machine_is_scikit_learns():
    problem, start = few_images(weight_bound=127)
    rows = problem.data / np.array(row_norms(problem.data))[:, None]
    machine = LinearSVC(loss="hinge", C=10.0, fit_intercept=False, tol=1e-8, max_iter=200_000)
    v = machine.fit(rows, problem.codes[:, 0]).coef_[0]
    (t,) = problem.soft.resolutions
    assert float(t) == pytest.approx(127 / np.abs(v).max(), rel=1e-3)
    assert np.abs(start.weights[0][:, 0] - float(t) * v).max() < 0.6


@pytest.mark.parametrize("weight_bound", [1, 3, 7, 15])
def test_certified_gaps_are_small_on_images(weight_bound):
    problem, start = few_images(weight_bound=weight_bound)
    largest = {1: 0.1, 3: 0.06, 7: 0.02, 15: 0.01}[weight_bound]
    report = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(gap=largest / 2))
    assert report.proof == "certified"
    assert report.gap < largest
    sparse = run_only(
        "mw",
        "soft links",
        problem=problem,
        start=report.network,
        keep=KeepObjective(report.objective * Fraction(11, 10)),
        limits=Limits(),
    )
    assert sparse.links < report.links
    assert 0 < sparse.bound <= sparse.links


def test_the_same_seed_gives_the_same_weights():
    problem, start = few_images()
    runs = [
        run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=20, seed=3)) for _ in range(2)
    ]
    assert runs[0].network == runs[1].network
    assert runs[0].certificate == runs[1].certificate


def test_rows_of_zeros_say_nothing():
    data = np.array([[3, 4], [0, 0], [-3, 1]])
    codes = np.array([[1], [-1], [-1]])
    soft, _ = choose_resolution(Problem(data, codes), 10.0)
    with_zeros = Problem(data, codes, soft=soft)
    without = with_zeros.rows(np.array([True, False, True]))
    for weights in ([[1], [0]], [[0], [1]], [[-1], [1]]):
        network = Network((np.array(weights),))
        assert with_zeros.soft_value(network) == without.soft_value(network)
