"""Readings: values in units of a power of ten."""

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.inputs.fixed_point_inputs import FINEST, LARGEST_READING, MISSING, decimals_for, in_units, readings, spread


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20), st.integers(0, 3))
def test_short_decimals_are_written_exactly(units, decimals):
    values = np.array(units) / 10.0**decimals
    found = decimals_for(values)
    assert 0 <= found <= decimals
    again = readings(values[:, None], np.array([found]))[:, 0] / 10.0**found
    assert np.array_equal(again, values)
    # No fewer decimals would do.
    assert found == 0 or not np.array_equal(np.round(values, found - 1), values)


@given(st.floats(-1e5, 1e5), st.integers(-3, 4))
def test_a_reading_is_the_value_rounded_to_its_unit(value, decimals):
    (found,) = readings(np.array([[value]]), np.array([decimals]))[0].tolist()
    exact = Decimal(value) * Decimal(10) ** decimals
    # The product is rounded once in double precision before it is rounded to an integer.
    assert abs(found - exact) <= Decimal("0.5000001")
    if abs(exact - exact.to_integral_value(ROUND_HALF_EVEN)) < Decimal("0.49"):
        assert found == int(exact.to_integral_value(ROUND_HALF_EVEN))


def test_missing_and_huge_cells():
    found = readings(np.array([[np.nan, 1e300, -1e300, 2.5]]), np.array([0, 0, 3, 0]))
    assert found.tolist() == [[MISSING, LARGEST_READING, -LARGEST_READING, 2]]


def test_long_decimals_get_a_fine_resolution():
    values = np.random.default_rng(0).normal(3, 0.5, 200)
    decimals = decimals_for(values)
    assert FINEST <= spread(values) * 10**decimals <= 10 * FINEST
    # Far from zero, 32 bits are the limit.
    far = decimals_for(values + 1e6)
    assert np.abs((values + 1e6) * 10.0**far).max() <= LARGEST_READING
    assert far < decimals


@pytest.mark.parametrize(("value", "decimals"), [(4e9, -1), (1e300, -291), (1e-300, 300), (0.0, 0), (5.0, 0)])
def test_extreme_units(value, decimals):
    assert decimals_for(np.array([value])) == decimals


@given(st.integers(-(10**9), 10**9), st.integers(-2, 6))
def test_a_reading_in_words_is_its_value(reading, decimals):
    text = in_units(reading, decimals)
    assert Decimal(text) == Decimal(reading).scaleb(-decimals)
    assert "." not in text or not text.endswith(("0", "."))


def test_a_few_outliers_do_not_set_the_spread():
    values = np.concatenate([np.linspace(-1, 1, 100), [1e6]])
    assert 0.9 < spread(values) <= 1.1
    assert spread(np.array([0.0] * 99 + [5.0])) == 5.0
