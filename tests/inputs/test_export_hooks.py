"""What transforms hand to the exports is made of: types of C, and fields of a page's form."""

import ctypes
import json
import math

import pytest

from bemi.inputs.export_hooks import SIGNED, UNSIGNED, bits_of, number_field, range_of, read_macro, smallest_type


@pytest.mark.parametrize("kind", [*SIGNED, *UNSIGNED])
def test_sizes_and_ranges_are_those_of_c(kind):
    own = getattr(ctypes, f"c_{kind.removesuffix('_t')}")
    low, high = range_of(kind)
    assert bits_of(kind) == 8 * ctypes.sizeof(own)
    assert (own(low).value, own(high).value) == (low, high)
    assert own(high + 1).value == low


def test_the_smallest_type_that_holds_a_range():
    assert smallest_type(-128, 127) == "int8_t"
    assert smallest_type(-129, 0) == "int16_t"
    assert smallest_type(0, 2**15) == "int32_t"
    assert smallest_type(0, 255, UNSIGNED) == "uint8_t"
    assert smallest_type(0, 256, UNSIGNED) == "uint16_t"


def test_values_read_are_cast():
    assert read_macro("POINTS", "int8_t") == {"BEMI_READ_POINTS(place)": "((int8_t)BEMI_READ8(place))"}


@pytest.mark.parametrize(
    ("low", "high", "decimals", "step"),
    [
        (0, 100, 0, 1),
        (0.0, 1.0, 6, 0.01),
        (0.0, 1.0, 1, 0.1),
        (0, 1e6, 0, 10000),
        (1e-30, 9e-30, 36, 1e-32),
        (5, 5, 0, 1),
    ],
)
def test_steps_are_powers_of_ten_that_divide_the_range_into_hundreds_at_most(low, high, decimals, step):
    field = number_field("x", low, (low + high) / 2, high, decimals)
    assert math.isclose(field["step"], step)
    assert field["low"] <= low <= high <= field["high"]
    assert high == low or (high - low) / field["step"] <= 1000


def test_the_largest_doubles_have_a_field():
    field = number_field("x", -1.7e308, 0.0, 1.7e308, -299)
    assert field["low"] < 0 < field["high"]
    json.dumps(field, allow_nan=False)
