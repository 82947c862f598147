"""Soft margins and Min-Weight after them: every engine against all networks of a tiny problem."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from bemi.engines.decomposition.soft import links as softlinks
from bemi.engines.decomposition.soft import margins as softmargin
from bemi.engines.monolithic import run as monolithic
from bemi.network import Network
from bemi.problem.keep import KeepObjective
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import row_norms
from bemi.programs.limits import Limits
from bemi.stages.registry import get
from bemi.stages.resolution import choose_resolution


@st.composite
def problems(draw):
    """Up to four inputs, six rows (some may be zero), signed values, one or two outputs, P up to 2."""
    inputs = draw(st.integers(1, 4))
    outputs = draw(st.integers(1, 2)) if inputs <= 2 else 1
    rows = draw(st.integers(1, 6))
    data = draw(st.lists(st.lists(st.integers(-5, 6), min_size=inputs, max_size=inputs), min_size=rows, max_size=rows))
    codes = draw(
        st.lists(st.lists(st.sampled_from([-1, 1]), min_size=outputs, max_size=outputs), min_size=rows, max_size=rows)
    )
    problem = Problem(np.array(data), np.array(codes), (), draw(st.integers(1, 2)))
    soft, start = choose_resolution(problem, draw(st.sampled_from([0.25, 1.0, 10.0])))
    return replace(problem, soft=soft), start


def by_hand(problem, weights):
    """The objective in fractions, written out."""
    total = Fraction(0)
    for j, t in enumerate(problem.soft.resolutions):
        column = [int(w) for w in weights[:, j]]
        total += Fraction(sum(w * w for w in column), 2)
        for row, code in zip(problem.data.tolist(), problem.codes[:, j].tolist(), strict=True):
            square = sum(v * v for v in row)
            norm = 0
            while (norm + 1) ** 2 <= square:
                norm += 1
            if norm:
                y = Fraction(code * sum(a * b for a, b in zip(row, column, strict=True)), norm)
                total += problem.soft.price * t * max(Fraction(0), t - y)
    return total


def every_network(problem):
    bound, shape = problem.weight_bound, (problem.data.shape[1], problem.codes.shape[1])
    for values in product(range(-bound, bound + 1), repeat=shape[0] * shape[1]):
        yield np.array(values).reshape(shape)


@given(problems(), st.sampled_from([0.0, 0.01, 0.2]))
@settings(max_examples=60)
def test_both_stages_against_every_network(case, loss):
    problem, start = case
    values = [(by_hand(problem, weights), int(np.count_nonzero(weights))) for weights in every_network(problem)]
    best = min(value for value, _ in values)
    assert problem.soft_value(start) == by_hand(problem, start.weights[0])

    whole = monolithic("ml2", problem, start=start, limits=Limits())
    assert whole.objective == best == problem.soft_value(whole.network)
    assert whole.bound <= best
    assert float(best - whole.bound) <= 1e-5 * max(1.0, float(best))

    ours = softmargin.run(get("ml2"), problem, start=start, limits=Limits())
    assert ours.objective == by_hand(problem, ours.network.weights[0]) >= best
    assert 0 <= ours.bound <= best
    assert ours.objective <= problem.soft_value(start)

    ceiling = (1 + Fraction(loss)) * best
    fewest = min(links for value, links in values if value <= ceiling)
    whole = monolithic("mw", problem, start=whole.network, keep=KeepObjective(ceiling), limits=Limits())
    assert whole.objective == fewest == whole.network.links
    assert whole.bound <= fewest
    ours = softlinks.run(get("mw"), problem, start=whole.network, keep=KeepObjective(ceiling), limits=Limits())
    assert problem.soft_value(ours.network) <= ceiling
    assert ours.bound <= fewest <= ours.objective == ours.network.links


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
    report = softmargin.run(get("ml2"), problem, start=start, limits=Limits(gap=0.0))
    assert report.proof == "certified"
    assert report.gap < {1: 0.1, 3: 0.06, 7: 0.02, 15: 0.01}[weight_bound]
    sparse = softlinks.run(
        get("mw"),
        problem,
        start=report.network,
        keep=KeepObjective(report.objective * Fraction(11, 10)),
        limits=Limits(),
    )
    assert sparse.links < report.links
    assert 0 < sparse.bound <= sparse.links


def test_the_same_seed_gives_the_same_weights():
    problem, start = few_images()
    runs = [softmargin.run(get("ml2"), problem, start=start, limits=Limits(nodes=20, seed=3)) for _ in range(2)]
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
