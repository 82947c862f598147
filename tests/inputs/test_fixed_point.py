"""Readings, values in units of a power of ten, and their scaling in integers: in Python, beside rationals, and in C."""

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from compiled_c import library, needs_gcc, on_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.inputs import FixedPoint
from bemi.inputs.fixed_point import (
    FINEST,
    LARGEST_READING,
    LARGEST_SHIFT,
    MISSING,
    MOST_BITS,
    decimals_for,
    fixed_point_inputs,
    in_units,
    spread,
)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=20), st.integers(0, 3))
def test_short_decimals_are_written_exactly(units, decimals):
    values = np.array(units) / 10.0**decimals
    found = decimals_for(values)
    assert 0 <= found <= decimals
    again = fixed_point_inputs(values[:, None], np.array([found]))[:, 0] / 10.0**found
    assert np.array_equal(again, values)
    # No fewer decimals would do.
    assert found == 0 or not np.array_equal(np.round(values, found - 1), values)


@given(st.floats(-1e5, 1e5), st.integers(-3, 4))
def test_a_reading_is_the_value_rounded_to_its_unit(value, decimals):
    (found,) = fixed_point_inputs(np.array([[value]]), np.array([decimals]))[0].tolist()
    exact = Decimal(value) * Decimal(10) ** decimals
    # The product is rounded once in double precision before it is rounded to an integer.
    assert abs(found - exact) <= Decimal("0.5000001")
    if abs(exact - exact.to_integral_value(ROUND_HALF_EVEN)) < Decimal("0.49"):
        assert found == int(exact.to_integral_value(ROUND_HALF_EVEN))


def test_missing_and_huge_cells():
    found = fixed_point_inputs(np.array([[np.nan, 1e300, -1e300, 2.5]]), np.array([0, 0, 3, 0]))
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


COLUMN = st.tuples(
    st.integers(-LARGEST_READING, LARGEST_READING) | st.integers(-300, 300),
    st.integers(0, 2**MOST_BITS - 1),
    st.integers(1, LARGEST_SHIFT) | st.integers(1, 20),
)
RANGE = st.tuples(st.integers(-(2**31), 0), st.integers(1, 2**31 - 1)) | st.sampled_from(
    [(-127, 127), (0, 255), (-(2**15), 2**15 - 1), (0, 2**16 - 1), (0, 1)]
)


def scale_of(columns):
    centres, multipliers, shifts = np.array(columns, dtype=np.int64).T
    return FixedPoint(np.zeros_like(centres), centres, multipliers, shifts)


def scaled_in_c(scale, low, high, folder, rows):
    code = scale.c_code(low, high)
    count = len(scale.centres)
    text = f"""void all(const int32_t *x, int32_t *z)
    {{ uint_fast16_t i; for (i = 0; i < {count}; i++) z[i] = bemi_fixed_point(x[i], i); }}"""
    return on_rows(library(folder, code, text).all, rows, count)


def readings_for(scale, low, high, seed):
    """Readings anywhere, at the ends, around the centre and around where integers leave the range."""
    rng = np.random.default_rng(seed)
    anywhere = rng.integers(MISSING, LARGEST_READING + 1, (40, len(scale.centres)))
    near = scale.centres + rng.integers(-3, 4, (10, len(scale.centres)))
    edges = [
        scale.centres + ((end << scale.shifts) // np.maximum(scale.multipliers, 1)) + step
        for end in (max(low, -(2**20)), min(high, 2**20))
        for step in (-2, -1, 0, 1, 2)
    ]
    ends = [np.full_like(scale.centres, end) for end in (MISSING, MISSING + 1, -1, 0, 1, LARGEST_READING)]
    return np.clip(np.concatenate([anywhere, near, np.stack(edges + ends)]), MISSING, LARGEST_READING)


@needs_gcc
@settings(max_examples=40)
@given(st.lists(COLUMN, min_size=1, max_size=30), RANGE, st.integers(0, 2**32 - 1))
def test_c_gives_the_same_integers_as_python(tmp_path_factory, columns, ends, seed):
    scale, (low, high) = scale_of(columns), ends
    rows = readings_for(scale, low, high, seed)
    found = scaled_in_c(scale, low, high, tmp_path_factory.mktemp("c"), rows)
    # -2^31 has no positive counterpart and is one of many values that Python refuses.
    assert np.array_equal(found, np.clip(scale.scaled(rows), max(low, -(2**31) + 1), high))


@needs_gcc
def test_products_have_64_bits_only_where_they_need_them(tmp_path):
    near, far = scale_of([(2048, 26000, 13)] * 3), scale_of([(101325, 20000, 30)])
    for scale, limit, kind in ((near, 127, "uint32_t"), (near, 2**31 - 1, "uint64_t"), (far, 127, "uint64_t")):
        code = scale.c_code(-limit, limit)
        assert code.macros["bemi_product_t"] == kind
        rows = readings_for(scale, -limit, limit, 0)
        assert np.array_equal(
            scaled_in_c(scale, -limit, limit, tmp_path, rows), np.clip(scale.scaled(rows), -limit, limit)
        )
    assert [table.kind for table in far.c_code(-127, 127).tables] == ["int32_t", "uint16_t", "uint8_t"]
