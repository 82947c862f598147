"""Problems and input scaling."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import AllNetworks, tiny_problems

from bemi import Network
from bemi.inputs import InputScaling
from bemi.problem import Problem
from bemi.stages import get

CODES = np.array([[1], [-1]])


@given(tiny_problems())
def test_trivial_bounds_hold(problem):
    everything = AllNetworks.of(problem)
    assert everything.best("sm") <= get("sm").trivial_bound(problem)
    best = everything.best("mm")
    assert best is None or best <= get("mm").trivial_bound(problem)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0.5, 1], [1, 2]], CODES), "integer data"),
        (([[1, 2]], CODES), "tables of equally many rows"),
        (([[1], [2]], [[0], [1]]), "codes must be"),
        (([[1], [2]], CODES, (0,)), "hidden_layers"),
        (([[1], [2]], CODES, (), 0), "weight_bound"),
        (([[2**31], [2]], CODES), "too large"),
        (([[2**29], [2]], CODES, (), 7), "too large"),
        (([[1], [2]], CODES, (2, 8), 2**28), "weight_bound=268435456 is too large for hidden_layers"),
    ],
)
def test_bad_problems_are_refused(arguments, words):
    data, codes, *rest = arguments
    with pytest.raises(ValueError, match=words):
        Problem(np.array(data), np.array(codes), *rest)


def test_integer_values_of_any_type_are_taken_as_they_are():
    for dtype, kept in ((np.uint8, np.int64), (np.int16, np.int16), (np.float64, np.int64)):
        problem = Problem(np.array([[255, 3], [0, 1]], dtype=dtype), CODES)
        assert problem.data.dtype == kept
        assert problem.data.tolist() == [[255, 3], [0, 1]]


def test_equal_rows_with_different_codes_lower_the_bound():
    data = np.array([[3, 1], [3, 1], [3, 1], [1, 3]])
    codes = np.array([[1, 1], [1, -1], [-1, -1], [-1, -1]])
    assert get("sm").trivial_bound(Problem(data, codes)) == 2 + 2 + 2


def test_live_inputs():
    assert Problem(np.array([[0, 1, 0], [0, 0, -2]]), CODES).live.tolist() == [1, 2]


def test_biases_are_links_from_something_constant():
    problem = Problem(np.array([[3, -2], [1, 5]]), CODES, (2, 1), 2)
    biased = problem.with_biases(7)
    assert biased.data.tolist() == [[3, -2, 7], [1, 5, 7]]
    assert biased.layers == (3, 3, 2, 1)
    assert (biased.weight_bound, biased.biased, problem.biased) == (2, True, False)
    assert np.array_equal(biased.codes, CODES)
    assert problem.layers == (2, 2, 1, 1)
    one = biased.rows(np.array([False, True]))
    assert one.biased
    assert one.data.tolist() == [[1, 5, 7]]
    assert Problem(np.array([[1], [2]]), CODES).with_biases().data.tolist() == [[1, 1], [2, 1]]


@given(tiny_problems(), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_a_network_of_a_biased_problem_adds_its_biases(problem, unit, seed):
    rng = np.random.default_rng(seed)
    bound = problem.weight_bound
    biased = problem.with_biases(unit)
    arrays, signal = [], problem.data
    pairs = list(pairwise(problem.layers))
    for layer, (inputs, neurons) in enumerate(pairs):
        weights = rng.integers(-bound, bound, (inputs, neurons), endpoint=True)
        biases = rng.integers(-bound, bound, neurons, endpoint=True)
        sums = signal @ weights + biases * (unit if layer == 0 else 1)
        signal = np.where(sums < 0, -1, 1)
        constant = int(layer < len(pairs) - 1)
        arrays.append(np.pad(np.concatenate([weights, biases[None]]), ((0, 0), (0, constant))))
    network = Network(tuple(arrays), bound)
    assert network.layers == biased.layers
    assert np.array_equal(network.pre_activations(biased.data)[-1], sums)


def test_a_constant_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="too large"):
        Problem(np.array([[1], [2]]), CODES).with_biases(2**31)


def test_auto_leaves_integers_alone():
    for values in (np.array([[0, 255], [3, 7]], dtype=np.uint8), np.array([[0.0, 255.0], [-3.0, 7.0]])):
        scaling = InputScaling.fit(values)
        assert scaling.scale is None
        assert np.array_equal(scaling(values), values.astype(int))
        assert (scaling.low, scaling.high) == (int(values.min()), 255)


def test_scaling_multiplies_rounds_and_keeps_zero():
    X = np.array([[0.5, -20.0, 0.0], [0.25, 10.0, 0.0], [0.0, 0.0, 0.0]])
    per_feature = InputScaling.fit(X)
    assert per_feature(X).tolist() == [[127, -127, 0], [64, 64, 0], [0, 0, 0]]
    common = InputScaling.fit(X, "common")
    assert common(X).tolist() == [[3, -127, 0], [2, 64, 0], [0, 0, 0]]
    assert (common.low, common.high) == (-127, 64)


def test_the_largest_magnitude_becomes_the_grid():
    X = np.array([[0.5, -0.2], [0.1, 0.3]])
    assert InputScaling.fit(X, "common", 10_000)(X).tolist() == [[10_000, -4_000], [2_000, 6_000]]
    assert InputScaling.fit(X, "per-feature", 3)(X).tolist() == [[3, -2], [1, 3]]
    pixels = InputScaling.fit([[255, 0], [51, 0]], "common", 10_000)
    assert pixels([[255, 51], [0, -255]]).tolist() == [[10_000, 2_000], [0, -10_000]]
    assert (pixels.low, pixels.high) == (0, 10_000)
    assert InputScaling.fit([[0, 0]], "common", 10_000)([[0, 3]]).tolist() == [[0, 0]]
    assert InputScaling.fit([[255]], grid=10_000).scale is None  # integers need no grid


def test_per_feature_scales_integers_too():
    assert InputScaling.fit([[1000], [500]], "per-feature")([[1000], [500]]).tolist() == [[127], [64]]


@pytest.mark.parametrize(
    ("X", "mode", "words"),
    [
        ([[0.5]], None, "integer features"),
        ([[1.0]], "minmax", "input_scaling must be one of"),
        ([[1e12]], "auto", "too large"),
    ],
)
def test_scaling_refuses(X, mode, words):
    with pytest.raises(ValueError, match=words):
        InputScaling.fit(X, mode)


def test_tiny_and_huge_magnitudes_survive_scaling():
    X = np.array([[1e300, 1e-310], [0.5, 0.0]])
    assert InputScaling.fit(X)(X).tolist() == [[127, 0], [0, 0]]
