"""Chances from integer scores: exact where they can be, and the same arithmetic in 32 bits everywhere."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.ensemble import ProbabilityTable, Sigmoid
from bemi.ensemble.probabilities import (
    LARGEST_INTERCEPT,
    LARGEST_SLOPE,
    LONGEST_TABLE,
    MOST_CLASSES,
    RECIPROCAL,
    UNIT,
    coupled,
    shares_of,
)


def logistic(z):
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


@given(st.floats(0, 50), st.floats(-20, 20), st.integers(-500, 500))
def test_a_byte_is_the_rounded_chance(slope, intercept, twice):
    found = replace(Sigmoid.of(slope, intercept), moved=None).probability(twice)
    assert abs(found - min(255, max(1, 256 * logistic(slope * twice / 2 + intercept)))) <= 0.5 + 1e-4


@given(
    st.one_of(st.floats(0, 2), st.floats(0, 1e-3), st.just(0.0), st.floats(1, 300)),
    st.floats(-30, 30),
    st.integers(-(2**29), 2**29),
    st.integers(0, 2**29),
    st.sampled_from([None, 0, UNIT]),
)
def test_a_table_follows_its_sigmoid(slope, intercept, lowest, width, moved):
    sigmoid, highest = replace(Sigmoid.of(slope, intercept), moved=moved), min(2**29, lowest + width)
    table = ProbabilityTable.of(sigmoid, lowest, highest)
    assert len(table.entries) <= LONGEST_TABLE
    assert sorted(table.entries) == list(table.entries)
    assert -(2**31) < table.start <= table.end < 2**31
    scores = np.unique(np.clip(np.linspace(table.start - 9, table.end + 9, 60).astype(np.int64), lowest, highest))
    exact = np.array([sigmoid.probability(2 * int(score)) for score in scores])
    if table.shift == 0:
        assert np.array_equal(table(scores), exact)
    # An entry stands for scores at most its width away.
    near = [[sigmoid.probability(2 * (int(score) + way * (1 << table.shift))) for way in (-1, 1)] for score in scores]
    assert all(low <= byte <= high for byte, (low, high) in zip(table(scores), near, strict=True))
    assert table(np.array([-(2**31)])) == table.entries[0] == sigmoid.probability(2 * lowest)
    assert table(np.array([2**31 - 1])) == table.entries[-1] == sigmoid.probability(2 * highest)


@given(
    st.one_of(st.floats(0, 2), st.floats(0, 1e-3), st.just(0.0)),
    st.floats(-30, 30),
    st.integers(-(2**20), -1),
    st.integers(0, 2**20),
)
def test_the_more_probable_class_is_the_sign_of_the_score(slope, intercept, lowest, highest):
    table = ProbabilityTable.of(Sigmoid.of(slope, intercept), lowest, highest)
    scores = np.unique([*range(-3, 3), -(2**22), 2**22, *np.linspace(lowest, highest, 99).astype(np.int64)])
    assert np.array_equal(table(scores) > 128, scores >= 0)
    assert not (table(scores) == 128).any()


def test_sigmoids_stay_in_the_range_of_files():
    assert Sigmoid.of(1e9, -1e9) == Sigmoid(LARGEST_SLOPE, -LARGEST_INTERCEPT)
    assert Sigmoid.of(-0.5, 0.25) == Sigmoid(0, UNIT // 4)
    assert Sigmoid.of(0.5, 0.25).shifted(1.0) == Sigmoid(UNIT // 2, UNIT // 4, UNIT)
    assert Sigmoid(UNIT // 2, UNIT // 4, None).shifted(1.0) == Sigmoid(UNIT // 2, 5 * UNIT // 4, None)


def test_two_classes_share_the_whole():
    firsts = np.arange(1, 256)[:, None]
    chances = coupled(firsts, 2)
    assert np.array_equal(chances[:, 0], 256 * firsts[:, 0])
    assert (chances.sum(axis=1) == 2**16).all()


@pytest.mark.parametrize("classes", [3, 4, 10, 30])
def test_coupling_is_the_closed_form(classes):
    rng = np.random.default_rng(classes)
    pairs = list(combinations(range(classes), 2))
    firsts = rng.integers(1, 256, (200, len(pairs)))
    firsts[:100] = np.where(firsts[:100] < 128, 1, 255)
    found = coupled(firsts, classes)
    assert found.min() >= 1
    assert found.max() < 2**16
    for row, chances in zip(firsts.tolist(), found, strict=True):
        against = {(i, j): Fraction(byte, 256) for (i, j), byte in zip(pairs, row, strict=True)}
        against |= {(j, i): 1 - chance for (i, j), chance in against.items()}
        exact = [1 / (sum(1 / against[i, j] for j in range(classes) if j != i) - (classes - 2)) for i in range(classes)]
        wanted = [float(share / sum(exact)) for share in exact]
        # 1 in 65536 for the rounding of each share before the division by their sum.
        tolerance = (classes + 2) / (2**16 * float(sum(exact))) + 1e-3 * np.array(wanted)
        assert (np.abs(chances / 2**16 - wanted) <= tolerance).all()


@pytest.mark.parametrize("favourite", [0, 2])
def test_coupling_recovers_consistent_chances(favourite):
    chances = np.array([0.05, 0.2, 0.75])[np.roll(np.arange(3), favourite)]
    firsts = [[round(256 * chances[i] / (chances[i] + chances[j])) for i, j in combinations(range(3), 2)]]
    assert coupled(np.array(firsts), 3)[0] / 2**16 == pytest.approx(chances, abs=0.005)


def test_nothing_exceeds_32_bits():
    """The largest sums of reciprocals, and the largest product before the last division."""
    assert (MOST_CLASSES - 1) * RECIPROCAL < 2**31
    largest_share = 2**28 // (RECIPROCAL // 255)
    # The t-th largest of the exact shares is at most 1/t: the odds against a share above 1/t add up to less than t - 1,
    # and in a set of t classes the odds of all ordered pairs add up to at least t (t - 1).
    total = sum(2**16 // t + 1 for t in range(1, MOST_CLASSES + 1))
    assert largest_share * 2**16 + total // 2 < 2**32


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"a": 0.5, "b": 0.5}, "a prior needs a share for every class: class 'c' has none"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "a prior needs a share for every class: 'd' is not a class"),
        ({"a": 1, "b": 0, "c": 1}, "the share of class 'b' must be a positive number, got 0"),
        ({"a": 1, "b": float("nan"), "c": 1}, "the share of class 'b' must be a positive number, got nan"),
    ],
)
def test_a_prior_that_is_none_is_refused(shares, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        shares_of(shares, ["a", "b", "c"])


def test_shares_are_divided_by_their_sum():
    assert shares_of({"b": 1, "a": 3}, ["a", "b"]) == [0.75, 0.25]
