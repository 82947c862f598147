"""Scaling in C beside scaling in Python, on any reading of 32 bits."""

import numpy as np
from compiled_c import library, needs_gcc, on_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.inputs.fixed_point import LARGEST_SHIFT, MOST_BITS, FixedPoint
from bemi.inputs.fixed_point_c import c_code
from bemi.inputs.fixed_point_inputs import LARGEST_READING, MISSING

pytestmark = needs_gcc

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


def in_c(scale, low, high, folder, rows):
    code = c_code(scale, low, high)
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


@settings(max_examples=40)
@given(st.lists(COLUMN, min_size=1, max_size=30), RANGE, st.integers(0, 2**32 - 1))
def test_the_same_integers_as_python(tmp_path_factory, columns, ends, seed):
    scale, (low, high) = scale_of(columns), ends
    rows = readings_for(scale, low, high, seed)
    found = in_c(scale, low, high, tmp_path_factory.mktemp("c"), rows)
    # -2^31 has no positive counterpart and is one of many values that Python refuses.
    assert np.array_equal(found, np.clip(scale.scaled(rows), max(low, -(2**31) + 1), high))


def test_products_have_64_bits_only_where_they_need_them(tmp_path):
    near, far = scale_of([(2048, 26000, 13)] * 3), scale_of([(101325, 20000, 30)])
    for scale, limit, kind in ((near, 127, "uint32_t"), (near, 2**31 - 1, "uint64_t"), (far, 127, "uint64_t")):
        code = c_code(scale, -limit, limit)
        assert code.macros["bemi_product_t"] == kind
        rows = readings_for(scale, -limit, limit, 0)
        assert np.array_equal(in_c(scale, -limit, limit, tmp_path, rows), np.clip(scale.scaled(rows), -limit, limit))
    assert [table.kind for table in c_code(far, -127, 127).tables] == ["int32_t", "uint16_t", "uint8_t"]
