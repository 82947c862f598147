"""The continuous SVM, and the resolution that fits it into few bits."""

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import highspy
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from bemi.engines.decomposition.soft import resolution as resolution_module
from bemi.engines.decomposition.soft.resolution import STEP, choose_resolution, continuous_weights
from bemi.problem import ROW_WEIGHT_UNIT, Problem, row_hinges


def rows_of(count=80, inputs=12, seed=0):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(count, inputs))
    signs = np.where(data[:, :4].sum(axis=1) + rng.normal(0, 1, count) > 0, 1, -1)
    return data / np.linalg.norm(data, axis=1)[:, None], signs


@pytest.mark.parametrize("price", [0.5, 10.0])
def test_the_machine_is_scikit_learns(price):
    rows, signs = rows_of()
    weights = np.random.default_rng(1).uniform(0.2, 3, len(rows))
    machine = LinearSVC(loss="hinge", C=price, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    machine.fit(rows, signs, sample_weight=weights)
    v = continuous_weights(rows * signs[:, None], price * weights, tolerance=1e-8)
    assert np.allclose(v, machine.coef_[0], atol=1e-4)


@pytest.mark.parametrize("hinges", [1, 2])
def test_the_machine_within_a_box_minimises_its_objective(hinges):
    rows, signs = rows_of(40, 5)
    signed, limits = rows * signs[:, None], np.linspace(0.5, 3, 40)
    low, high = np.array([0.0, -np.inf, -np.inf, 0.0, -0.3]), np.array([np.inf, 0.0, np.inf, 1.0, 0.3])
    v = continuous_weights(signed, limits, hinges, low=low, high=high, tolerance=1e-9)
    assert ((v >= low) & (v <= high)).all()

    # The same as a quadratic program, with a slack for every hinge.
    targets = np.repeat([1.0] if hinges == 1 else [0.5, 1.5], 40)
    found = quadratic_program(
        squared=5,
        costs=np.concatenate([np.zeros(5), np.tile(limits / hinges, hinges)]),
        table=np.hstack([np.tile(signed, (hinges, 1)), np.eye(40 * hinges)]),
        targets=targets,
        low=np.concatenate([low, 0 * targets]),
        high=np.concatenate([high, np.full(len(targets), np.inf)]),
    )
    assert np.allclose(v, found[:5], atol=1e-4)


def normalised_rows(data, signs):
    """``s_k x^k / nu_k`` for the non-zero rows, and which these are."""
    nonzero = np.flatnonzero(data.any(axis=1))
    norms = [isqrt(int(row @ row)) for row in data[nonzero]]
    return data[nonzero] * (signs[nonzero] / norms)[:, None], nonzero


def quadratic_program(squared, costs, table, targets, low, high):
    """The point x in a box with ``table @ x >= targets`` that minimises half its first squares plus ``costs @ x``."""
    lp, hessian, model, highs = highspy.HighsLp(), highspy.HighsHessian(), highspy.HighsModel(), highspy.Highs()
    rows, lp.num_col_ = table.shape
    lp.num_row_ = rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, low, high
    lp.row_lower_, lp.row_upper_ = targets, np.full(rows, highspy.kHighsInf)
    sparse = csr_array(table)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = sparse.indptr, sparse.indices, sparse.data
    hessian.dim_, hessian.format_ = lp.num_col_, highspy.HessianFormat.kTriangular
    hessian.start_ = np.minimum(np.arange(lp.num_col_ + 1), squared)
    hessian.index_, hessian.value_ = np.arange(squared), np.ones(squared)
    model.lp_, model.hessian_ = lp, hessian
    highs.setOptionValue("output_flag", False)
    highs.passModel(model)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.array(highs.getSolution().col_value)


def test_many_rows_need_no_matrix_of_all_pairs():
    rng = np.random.default_rng(0)
    rows = rng.choice([-1.0, 1.0], (30_000, 10)) / np.sqrt(10)
    signs = np.where(rows[:, 0] + rng.normal(0, 0.3, 30_000) > 0, 1.0, -1.0)
    v = continuous_weights(rows * signs[:, None], np.ones(30_000))  # 30,000 x 30,000 numbers would be 7 GB
    assert np.argmax(np.abs(v)) == 0


def test_of_many_rows_the_machine_sees_a_part_with_every_row_of_a_rare_class(monkeypatch):
    rng = np.random.default_rng(0)
    data = rng.integers(-9, 10, (4000, 6))
    codes = np.where(data[:, :2].sum(axis=1) > 12, 1, -1)[:, None]
    weights = rng.integers(1, 4, 4000) * ROW_WEIGHT_UNIT
    problem = Problem(data, codes, (), 7, row_weights=weights)
    rare = codes[:, 0] > 0
    assert 20 < rare.sum() < 400
    whole = resolution_module.continuous_svm(problem, 0, 1.0, 1, None)
    seen = []

    def counted(rows, limits, *arguments, **options):
        seen.append((len(rows), limits.sum()))
        return continuous_weights(rows, limits, *arguments, **options)

    monkeypatch.setattr(resolution_module, "_PRODUCTS", 30 * 6 * 1000)
    monkeypatch.setattr(resolution_module, "continuous_weights", counted)
    part = resolution_module.continuous_svm(problem, 0, 1.0, 1, None)
    ((count, total),) = seen
    nonzero = data.any(axis=1)
    assert count == pytest.approx(500 + rare.sum(), abs=2)
    assert total == pytest.approx((weights[nonzero] / ROW_WEIGHT_UNIT).sum(), rel=0.01)
    rows, nonzero = normalised_rows(data, codes[:, 0])

    def objective(v):
        return v @ v / 2 + (weights[nonzero] / ROW_WEIGHT_UNIT) @ np.maximum(0, 1 - rows @ v)

    assert objective(part) <= 1.1 * objective(whole) < objective(np.zeros(6))


def bits(rows=60, inputs=17, weight_bound=7):
    rng = np.random.default_rng(2)
    data = np.concatenate([rng.choice([-1, 1], (rows, inputs - 1)), np.ones((rows, 1), dtype=int)], axis=1)
    codes = np.where(data[:, :5].sum(axis=1) > 0, 1, -1)[:, None]
    return Problem(data, codes, (), weight_bound, uncounted=(inputs - 1,))


def test_rows_of_bits_can_reach_the_target_exactly():
    soft, _ = choose_resolution(bits(), 10.0)
    (t,) = soft.resolutions
    assert (t * 4).denominator == 1  # isqrt(17) is 4
    soft, _ = choose_resolution(bits(), 10.0, hinges=2)
    assert all((hinge.target * 4).denominator == 1 for hinge in row_hinges(soft, 0))
    mixed = bits()
    other, _ = choose_resolution(replace(mixed, data=mixed.data * np.arange(1, 61)[:, None]), 10.0)
    assert (other.resolutions[0] / STEP).denominator == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 31), st.integers(1, 40))
def test_no_other_resolution_loses_clearly_less_to_rounding_and_clipping(seed, weight_bound, inputs):
    """A resolution r represents the weights v by numbers j / r with integers j in -P..P."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-50, 51, (30, inputs))
    codes = rng.choice([-1, 1], (30, 1))
    rows, nonzero = normalised_rows(data, codes[:, 0])
    v = continuous_weights(rows, np.full(len(nonzero), 1.0))
    assume(np.abs(v).max(initial=0) > 1e-3)

    def lost(resolution):
        values = np.arange(-weight_bound, weight_bound + 1) / resolution
        return (np.abs(v[:, None] - values).min(axis=1) ** 2).sum()

    (t,) = choose_resolution(Problem(data, codes, (), weight_bound), 1.0)[0].resolutions
    widest = weight_bound / np.abs(v).max()
    assert lost(float(t)) <= 1.02 * min(lost(share * widest) for share in (1, 1.25, 1.5, 2, 2.5, 3, 4)) + 1e-6 * (v @ v)


def test_weights_and_signs_enter_the_machine():
    problem = bits()
    free, _ = choose_resolution(problem, 1.0)
    heavy = np.full(len(problem.data), 3 * ROW_WEIGHT_UNIT)
    assert choose_resolution(replace(problem, row_weights=heavy), 1.0)[0].resolutions == (
        choose_resolution(problem, 3.0)[0].resolutions
    )
    signs = np.zeros((17, 1), dtype=int)
    signs[0] = -1
    _, start = choose_resolution(replace(problem, signs=signs), 1.0)
    assert start.weights[0][0, 0] <= 0
    assert choose_resolution(problem, 1.0)[1].weights[0][0, 0] > 0
    assert free.hinges == 1


@pytest.mark.parametrize("hinges", [1, 2])
def test_with_a_limit_on_links_the_resolution_is_that_of_the_inputs_kept(hinges):
    problem = bits()
    soft, start = choose_resolution(problem, 3.0, hinges, max_links=5)
    assert (soft.hinges, soft.max_links) == (hinges, 5)
    kept = np.flatnonzero(start.weights[0][:16, 0])
    assert set(kept) <= set(range(5))  # the inputs that decide
    columns = [*range(5), 16]
    rows, _ = normalised_rows(problem.data, problem.codes[:, 0])
    v = continuous_weights(np.ascontiguousarray(rows[:, columns]), np.full(60, 3.0), hinges)
    (t,) = soft.resolutions
    assert 0 <= 7 / np.abs(v).max() * 1.05 - float(t) <= hinges / 4  # so far are multiples apart


def test_contradictory_rows_get_a_resolution():
    soft, start = choose_resolution(Problem(np.array([[1, 2], [1, 2]]), np.array([[1], [-1]])), 10.0)
    assert soft.resolutions == (Fraction(1),)
    assert not start.weights[0].any()
