"""Weights of rows and classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from bemi.problem import ROW_WEIGHT_UNIT
from bemi.settings import SETTINGS
from bemi.training.training_set import class_weights, given_weights, in_units

CLASSES = np.array(["a", "b", "c"])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2], r"one number for each of 3 rows, its shape is \(2,\)"),
        ([[1], [2], [3]], r"its shape is \(3, 1\)"),
        (2.0, r"its shape is \(\)"),
        (["a", "b", "c"], "one number for each of 3 rows"),
        ([1, np.nan, 2], "must be finite, it is nan in row 1"),
        ([1, 2, np.inf], "must be finite, it is inf in row 2"),
        ([1, -0.5, 2], r"must be at least 0, it is -0.5 in row 1"),
        ([0, 0, 0], "is zero for every row"),
    ],
)
def test_bad_weights_are_refused(weights, words):
    with pytest.raises(ValueError, match=words):
        given_weights(weights, 3)


def test_weights_of_any_kind_are_taken():
    for weights in ([1, 0, 2], (1.0, 0.0, 2.0), np.array([1, 0, 2], dtype=object), np.array([True, False, True]) * 1):
        assert given_weights(weights, 3)[1] == 0
    assert given_weights(None, 3).tolist() == [1, 1, 1]


@given(st.lists(st.integers(0, 2), min_size=3, max_size=30).filter(lambda y: len(set(y)) == 3))
def test_class_weights_are_scikit_learns(targets):
    targets, ones = np.array(targets), np.ones(len(targets))
    for given_ in ("balanced", None, {"a": 2, "c": 0.5}, {"b": 3.0, "a": 1.0, "c": 9.0}):
        expected = compute_class_weight(given_, classes=CLASSES, y=CLASSES[targets])
        assert class_weights(given_, CLASSES, targets, ones) == pytest.approx(expected)


def test_balanced_classes_have_equal_totals():
    weights, targets = np.array([1.0, 3.0, 2.0, 0.5, 4.0]), np.array([0, 0, 1, 2, 2])
    totals = np.bincount(targets, weights * class_weights("balanced", CLASSES, targets, weights)[targets])
    assert totals == pytest.approx(np.full(3, weights.sum() / 3))


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ("even", "class_weight must be None, 'balanced' or weights by label, got 'even'"),
        ([1, 2], "class_weight must be None"),
        ({0: 0}, "positive numbers, got 0 for class 0"),
        ({0: -1.0}, "positive numbers"),
        ({0: np.inf}, "positive numbers"),
        ({0: "1"}, "positive numbers"),
    ],
)
def test_bad_class_weights_are_refused(class_weight, words):
    with pytest.raises(ValueError, match=words):
        SETTINGS["class_weight"].values.check("class_weight", class_weight)


def test_a_class_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="class_weight names 'd', which is not a class"):
        class_weights({"d": 1}, CLASSES, np.arange(3), np.ones(3))


def test_units():
    assert in_units(np.ones(3)) is None
    assert in_units(np.array([1.0, 2.5])).tolist() == [ROW_WEIGHT_UNIT, 5 * ROW_WEIGHT_UNIT // 2]
    with pytest.raises(
        ValueError, match="has the weight 1e-06, too small beside the unit 1/65536; multiply all weights"
    ):
        in_units(np.array([1.0, 1e-6]))
    with pytest.raises(ValueError, match="the largest possible is 2147483648; divide all weights"):
        in_units(np.array([1.0, 1e10]))
