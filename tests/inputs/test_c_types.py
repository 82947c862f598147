import ctypes

import pytest

from bemi.inputs.c_types import SIGNED, UNSIGNED, bits_of, range_of, read_macro, smallest_type


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
