"""Networks that are written down: they fit all rows, with every output confident, or say why there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bemi_lab import datasets
from bemi_lab.baselines import objectives
from bemi_lab.baselines.starts import _neuron_on_signs, fitting_network, layer_for

from bemi.limits import FOREVER, Deadline
from bemi.network import sign
from bemi.problem import Problem, one_hot


@pytest.fixture(scope="module")
def digits():
    return datasets.sample(datasets.load("digits"), 2, 0, seed=5)


def problem_of(rows, hidden=(16, 16), bound: int = 1, unit: int = 1) -> Problem:
    return Problem(rows.train_X.astype(int), one_hot(rows.train_y, 10), hidden, bound).with_biases(unit)


def outputs_by_hand(problem: Problem, network) -> np.ndarray:
    """Row by row, with biases as numbers that are added."""
    found = []
    for row in problem.data:
        signal, unit = row[:-1].tolist(), int(row[-1])
        for layer, weights in enumerate(network.weights):
            last = layer == len(network.weights) - 1
            size = weights.shape[1] - (not last)
            worth = unit if layer == 0 else 1
            sums = [sum(s * int(w) for s, w in zip(signal, weights[:-1, j], strict=True)) for j in range(size)]
            sums = [s + worth * int(weights[-1, j]) for j, s in enumerate(sums)]
            signal = [1 if s >= 0 else -1 for s in sums]
        found.append(sums)
    return np.array(found)


@pytest.mark.parametrize("detection", ["outputs", "hidden"])
def test_ten_classes_fit_and_codes_are_five_apart(digits, detection):
    problem = problem_of(digits)
    start = fitting_network(problem, FOREVER, detection=detection)
    assert start.message == "11 dichotomies of classes, codes at least 5 apart"
    sums = outputs_by_hand(problem, start.network)
    assert np.array_equal(np.where(sums >= 0, 1, -1), problem.codes)
    assert all(np.abs(w).max() <= 1 for w in start.network.weights)
    assert not any(w[:, -1].any() for w in start.network.weights[:-1]), "constant neurons have no incoming links"
    if detection == "outputs":
        assert (problem.codes * sums >= 5).all(), "a quarter of 17, rounded up"
        assert objectives.sat_margin(problem).value(start.network) == problem.codes.size
        assert objectives.min_hinge(problem).value(start.network) == 0


def test_all_rows_of_a_class_have_one_code(digits):
    problem = problem_of(digits)
    network = fitting_network(problem, FOREVER).network
    signs = sign(network.pre_activations(problem.data)[0])
    codes = np.stack([np.unique(signs[digits.train_y == label], axis=0) for label in range(10)])
    assert codes.shape == (10, 1, 17)
    apart = [(codes[a] != codes[b]).sum() for a in range(10) for b in range(a)]
    assert min(apart) >= 5


@pytest.mark.parametrize(("hidden", "bound"), [((8,), 1), ((12, 20), 1), ((16,), 3), ((14, 11, 14), 1)])
def test_other_layers_and_bounds_fit_too(digits, hidden, bound):
    four = np.isin(digits.train_y, (1, 4, 7, 9))
    labels = np.searchsorted((1, 4, 7, 9), digits.train_y[four])
    problem = Problem(digits.train_X[four].astype(int), one_hot(labels, 4), hidden, bound).with_biases()
    start = fitting_network(problem, FOREVER)
    assert problem.all_right(start.network)
    assert start.network.weight_bound == bound


def test_no_hidden_layer(digits):
    problem = problem_of(digits, hidden=())
    assert problem.all_right(fitting_network(problem, FOREVER).network)


def test_the_same_seed_gives_the_same_network(digits):
    problem = problem_of(digits)
    assert fitting_network(problem, FOREVER, seed=3).network == fitting_network(problem, FOREVER, seed=3).network


# Why there is none.


def contradictory(hidden: tuple[int, ...]) -> Problem:
    data = np.array([[3, 1], [3, 1], [1, 3]])
    return Problem(data, one_hot(np.array([0, 1, 1]), 2), hidden).with_biases()


@pytest.mark.parametrize(
    ("hidden", "words"), [((4,), "none of 1 dichotomies of classes is separable"), ((), "not every class is separable")]
)
def test_rows_that_contradict_each_other(hidden, words):
    start = fitting_network(contradictory(hidden), FOREVER)
    assert start.network is None
    assert words in start.message


def test_layers_that_are_too_small(digits):
    start = fitting_network(problem_of(digits, hidden=(3,)), FOREVER)
    assert start.network is None
    assert "too small" in start.message
    # Four neurons have a code for each class, but a bias of 1 is too small a threshold to detect one of them.
    start = fitting_network(problem_of(digits, hidden=(4,)), FOREVER)
    assert start.network is None
    assert "no outputs tell codes of 4 dichotomies apart" in start.message


def test_no_time(digits):
    start = fitting_network(problem_of(digits), Deadline.after(0.0))
    assert start.network is None
    assert "none of 0 dichotomies" in start.message


def test_a_dichotomy_without_an_integer_neuron_is_left_out(digits, monkeypatch):
    problem = problem_of(digits)
    whole = fitting_network(problem, FOREVER)
    honest, refused = type(whole.dichotomies).neuron, []

    def neuron(self, index, *rest, **options):
        if len(refused) < 3 and index not in refused:
            refused.append(index)
        return None if index in refused else honest(self, index, *rest, **options)

    monkeypatch.setattr(type(whole.dichotomies), "neuron", neuron)
    start = fitting_network(problem, FOREVER)
    assert problem.all_right(start.network)
    assert np.isneginf(start.dichotomies.margins[refused]).all()


# Layers on patterns.


def test_wanted_signs_are_copied_or_have_the_largest_margin():
    patterns = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]])
    both = np.array([1, -1, -1, -1])
    layer = layer_for(patterns, np.stack([patterns[:, 1], both], axis=1), 1)
    assert layer[:, 0].tolist() == [0, 1, 0]
    assert layer[:, 1].tolist() == [1, 1, -1]
    exclusive = np.array([1, -1, -1, 1])
    assert layer_for(patterns, exclusive[:, None], 1) is None


def test_many_signs_are_detected_by_their_code():
    """Thirty signs are too many for a list: a correlation with a threshold detects the class."""
    rng = np.random.default_rng(0)
    patterns = np.concatenate([np.where(rng.random((6, 20)) < 0.5, 1, -1), np.ones((6, 10), dtype=int)], axis=1)
    for label in range(6):
        wanted = np.where(np.arange(6) == label, 1, -1)
        weights = _neuron_on_signs(patterns, wanted, 2)
        assert (wanted * (patterns @ weights) > 0).all()
        assert np.abs(weights).max() == 2


def test_inputs_of_other_scales(digits):
    scaled = replace(digits, train_X=digits.train_X * 600)
    assert fitting_network(problem_of(scaled, unit=10_000), FOREVER).network is not None
