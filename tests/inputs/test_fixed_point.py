"""Scaling in integers, beside the same in rationals."""

from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bemi.inputs.fixed_point import LARGEST_SHIFT, MOST_BITS, FixedPoint
from bemi.inputs.fixed_point_inputs import LARGEST_READING


@given(
    st.integers(-LARGEST_READING, LARGEST_READING),
    st.integers(-LARGEST_READING, LARGEST_READING),
    st.integers(0, 2**MOST_BITS - 1),
    st.integers(1, LARGEST_SHIFT),
)
def test_an_integer_is_the_nearest_to_the_scaled_distance(reading, centre, multiplier, shift):
    scale = FixedPoint(*(np.array([part]) for part in (0, centre, multiplier, shift)))
    exact = Fraction((reading - centre) * multiplier, 2**shift)
    assert scale.scaled(np.array([[reading]])).tolist() == [[floor(exact + Fraction(1, 2))]]


@given(st.floats(1, 2.0**31), st.integers(1, 10_000))
def test_the_reach_becomes_the_grid(reach, grid):
    whole = np.array([[0], [round(reach)], [-round(reach)]])
    scale = FixedPoint.fit(np.array([0]), np.array([0]), np.array([float(round(reach))]), grid)
    found = scale.scaled(whole)[:, 0].tolist()
    assert found[0] == 0
    # A multiplier of few bits may be off by its last bit.
    assert abs(found[1] - grid) <= max(1, grid // 2**10)
    assert abs(found[2] + grid) <= max(1, grid // 2**10)
    assert 0 < scale.multipliers[0] < 2**MOST_BITS
    assert 1 <= scale.shifts[0] <= LARGEST_SHIFT


def test_a_column_without_reach_carries_nothing():
    scale = FixedPoint.fit(np.array([0, 0]), np.array([7, 7]), np.array([0.0, 5.0]), 127)
    assert scale.scaled(np.array([[7, 7], [100, 12]])).tolist() == [[0, 0], [0, 127]]
    assert scale.values(np.array([[3, 127]])).round(2).tolist() == [[7.0, 12.0]]
