"""Sigmoids fitted to held-out scores, beside other libraries' machines and logistic regressions."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.ensemble import Sigmoid
from bemi.ensemble.probabilities import UNIT
from bemi.problem import ROW_WEIGHT_UNIT, Problem, SoftMargin
from bemi.training import calibration
from bemi.training.calibration import FOLDS, fitted_sigmoid, held_out_scores, platt


def noisy(rows, seed=0, inputs=12):
    """Bits of which some tell the classes apart, and a constant."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((rows, inputs)) < 0.5, -1, 1)
    X[:, -1] = 1
    codes = np.where(X[:, :3].sum(axis=1) + rng.normal(0, 2, rows) > 0.5, 1, -1)
    return Problem(X, codes[:, None], weight_bound=7)


def begun(problem, price=1.0, **soft):
    """The problem with soft margins, and the network that training would start from."""
    margins, network = choose_resolution(problem, price, **soft)
    return Problem(**(vars(problem) | {"soft": margins})), network


def smoothed_regression(scores, codes, weights, c):
    """scikit-learn's logistic regression on rows that count partly for each class: Platt's targets."""
    positive, negative = weights[codes > 0].sum(), weights[codes < 0].sum()
    targets = np.where(codes > 0, (positive + c) / (positive + 2 * c), c / (negative + 2 * c))
    found = LogisticRegression(C=1e9, tol=1e-10, max_iter=10_000).fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], len(scores)),
        np.concatenate([weights * targets, weights * (1 - targets)]),
    )
    return found.coef_[0, 0], found.intercept_[0]


@pytest.mark.parametrize("smoothing", [1.0, 0.25])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_the_sigmoid_is_a_regression_with_smoothed_targets(unit, weighted, smoothing):
    rng = np.random.default_rng(3)
    codes = np.where(rng.random(200) < 0.3, 1, -1)
    scores = codes + rng.normal(0, 2, 200)
    weights = rng.uniform(0.2, 3, 200) if weighted else np.ones(200)
    slope, intercept = platt(unit * scores, codes, weights, smoothing)
    expected = smoothed_regression(scores, codes, weights, smoothing)
    assert (unit * slope, intercept) == pytest.approx(expected, abs=1e-4)


def test_a_weight_of_two_is_a_row_given_twice():
    rng = np.random.default_rng(4)
    codes = np.where(rng.random(60) < 0.5, 1, -1)
    scores = codes + rng.normal(0, 2, 60)
    twice = np.repeat(np.arange(60), np.where(np.arange(60) < 20, 2, 1))
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    repeated = platt(scores[twice], codes[twice], np.ones(len(twice)))
    assert platt(scores, codes, weights) == pytest.approx(repeated, abs=1e-5)


def test_separable_scores_have_a_finite_slope():
    codes = np.repeat([1, -1], 4)
    slope, intercept = platt(codes * 10.0, codes, np.ones(8))
    assert 10 * slope + intercept == pytest.approx(np.log(5), abs=1e-3), "5 of 6 with one more row of each class"


@pytest.mark.parametrize("scores", [np.linspace(-1, 1, 9), np.zeros(9)])
def test_scores_that_say_nothing_or_the_opposite_leave_the_share_of_the_class(scores):
    codes = np.repeat([1, -1], [6, 3])
    slope, intercept = platt(scores, codes, np.ones(9))
    targets = np.repeat([7 / 8, 1 / 5], [6, 3])
    assert slope == 0
    assert 1 / (1 + np.exp(-intercept)) == pytest.approx(targets.mean(), abs=1e-5)


def test_held_out_scores_are_those_of_machines_without_the_fold():
    problem, network = begun(noisy(80))
    scores = held_out_scores(problem, network, FOLDS, seed=7)
    rows, codes = problem.data / np.floor(np.sqrt((problem.data**2).sum(axis=1)))[:, None], problem.codes[:, 0]
    exact = {"loss": "hinge", "C": 1.0, "fit_intercept": False, "tol": 1e-8, "max_iter": 200_000}
    every = problem.data @ LinearSVC(**exact).fit(rows, codes).coef_[0]
    own = problem.data @ network.weights[0][:, 0]
    factor = np.linalg.lstsq(every[:, None], own, rcond=None)[0][0]
    for seen, left in StratifiedKFold(FOLDS, shuffle=True, random_state=7).split(rows, codes):
        machine = LinearSVC(**exact).fit(rows[seen], codes[seen]).coef_[0]
        assert scores[left] == pytest.approx(factor * (problem.data[left] @ machine), abs=0.02 * np.abs(own).max())


def test_machines_without_a_fold_keep_limits_on_links():
    problem, network = begun(noisy(80), max_links=2)
    scores = held_out_scores(problem, network, FOLDS, seed=0)
    for _, left in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(problem.data, problem.codes[:, 0]):
        # Two links of bits: at most four different scores.
        assert len(np.unique(scores[left].round(6))) <= 4


def test_chances_are_calibrated_where_the_truth_is_known():
    """On bits whose log-odds are linear, held-out chances come close to the true ones; training scores are too sure."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 30)) < 0.5, -1, 1)
    X[:, -1] = 1
    true = 1 / (1 + np.exp(-0.8 * X[:, :4].sum(axis=1)))
    problem, network = begun(Problem(X[:150], np.where(rng.random(150) < true[:150], 1, -1)[:, None], weight_bound=7))
    sigmoid = fitted_sigmoid(problem, network, seed=0)
    scores = X[150:] @ network.weights[0][:, 0]
    own = platt((X[:150] @ network.weights[0][:, 0]).astype(float), problem.codes[:, 0], np.ones(150))

    def log_loss(slope, intercept):
        chances = 1 / (1 + np.exp(-slope * scores - intercept))
        return -(true[150:] * np.log(chances) + (1 - true[150:]) * np.log(1 - chances)).mean()

    held_out = log_loss(sigmoid.slope / UNIT, sigmoid.intercept / UNIT)
    assert held_out < log_loss(*own)
    assert held_out < np.log(2)


@pytest.mark.parametrize("of_first", [1, 2, 4])
def test_small_classes_have_fewer_folds_or_none(of_first):
    problem = noisy(40)
    codes = np.repeat([1, -1], [of_first, 40 - of_first])[:, None]
    problem, network = begun(Problem(problem.data, codes, weight_bound=7))
    sigmoid = fitted_sigmoid(problem, network, seed=0)
    if of_first == 1:
        own = network.pre_activations(problem.data)[0][:, 0].astype(float)
        slope, intercept = platt(own, codes[:, 0], np.ones(40))
        assert (sigmoid.slope, sigmoid.intercept) == (round(slope * UNIT), round(intercept * UNIT))
    # Smoothed shares: no row is sure.
    assert sigmoid.slope >= 0
    assert -np.log(42) < sigmoid.intercept / UNIT < np.log(42)


def test_row_weights_move_the_intercept():
    problem, network = begun(noisy(200))
    weights = np.where(problem.codes[:, 0] > 0, 4, 1) * ROW_WEIGHT_UNIT
    heavier = Problem(**(vars(problem) | {"row_weights": weights}))
    plain, weighted = (fitted_sigmoid(p, network, seed=0) for p in (problem, heavier))
    assert weighted.intercept > plain.intercept


def test_the_price_is_that_of_the_training():
    loose, network = begun(noisy(100), price=0.01)
    strict = Problem(**(vars(loose) | {"soft": SoftMargin(Fraction(10), loose.soft.resolutions)}))
    assert fitted_sigmoid(loose, network, seed=0) != fitted_sigmoid(strict, network, seed=0)


def test_differences_below_a_unit_of_the_score_tell_nothing(monkeypatch):
    """Where one class is all that machines know, their scores differ by their tolerance alone."""
    rng = np.random.default_rng(0)
    data = rng.choice([-1, 1], (800, 30))
    data[:, -1] = 2
    codes = np.where(rng.random(800) < 0.2, -1, 1)
    problem, network = begun(Problem(data, codes[:, None], weight_bound=7))
    own = network.pre_activations(data)[0][:, 0]
    for apart in (0.0, 1e-3, 0.4):
        scores = own + apart * codes * rng.random(800)
        monkeypatch.setattr(calibration, "held_out_scores", lambda *_, found=scores: found)
        sigmoid = fitted_sigmoid(problem, network, 0)
        chances = 1 / (1 + np.exp(-(sigmoid.slope * own + sigmoid.intercept) / UNIT))
        assert chances == pytest.approx(np.mean(codes > 0), abs=0.01)
        monkeypatch.setattr(calibration, "held_out_scores", lambda *_, found=own + codes * 2.0: found)
        assert fitted_sigmoid(problem, network, 0).slope > 0


def test_rows_of_a_group_are_scored_together():
    """Every row is there twice: a machine that saw the twin is too sure of it."""
    problem = noisy(40, inputs=30)
    twice = Problem(np.repeat(problem.data, 2, axis=0), np.repeat(problem.codes, 2, axis=0), weight_bound=7)
    trained, network = begun(twice, price=10.0)
    groups = np.repeat(np.arange(40), 2)
    apart = held_out_scores(trained, network, FOLDS, 0, groups)
    leaking = held_out_scores(trained, network, FOLDS, 0)
    codes = twice.codes[:, 0]
    assert (leaking * codes > 0).mean() > (apart * codes > 0).mean() + 0.1
    assert np.array_equal(apart[::2], apart[1::2])
    slopes = [platt(scores, codes, np.ones(len(codes)))[0] for scores in (apart, leaking)]
    assert slopes[0] < 0.7 * slopes[1], "probabilities of rows that were not seen are nearer to one half"
    expected = Sigmoid.of(*platt(apart, codes, np.ones(len(codes))))
    assert fitted_sigmoid(trained, network, 0, groups=groups) == expected
    # A class of one group cannot be left out, so its rows are divided.
    lone = np.where(codes > 0, 0, groups)
    assert np.array_equal(held_out_scores(trained, network, FOLDS, 0, lone), leaking)
