"""Products of integers are exact, whatever arithmetic computes them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.exact import PRE_ACTIVATION_LIMIT, Rows, Weights, exact_product


@pytest.mark.parametrize("columns", [1, 8, 9, 24])
@pytest.mark.parametrize("largest", [3, 2**24 - 1, 2**24, 2**26])
def test_products_are_exact_beyond_single_precision(columns, largest):
    rows = np.array([[largest, -1, 2], [0, 5, -largest]])
    weights = np.random.default_rng(columns).integers(-1, 2, size=(3, columns))
    prepared = Rows(rows)
    assert (prepared.low, prepared.high) == (-largest, largest if largest > 5 else 5)
    assert np.array_equal(prepared.times(Weights(weights)), rows.astype(object) @ weights.astype(object))


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(1, 7), st.integers(1, 20))
def test_products_are_those_of_python_integers(seed, rows, inputs, neurons):
    rng = np.random.default_rng(seed)
    left = rng.integers(-(2**20), 2**20, (rows, inputs))
    right = rng.integers(-20, 21, (inputs, neurons))
    assert np.array_equal(exact_product(left, right), left.astype(object) @ right.astype(object))


def test_sums_beyond_the_limit_are_refused():
    with pytest.raises(ValueError, match="values are too large"):
        exact_product(np.array([[PRE_ACTIVATION_LIMIT]]), np.array([[1]]))
    assert exact_product(np.array([[PRE_ACTIVATION_LIMIT - 1]]), np.array([[1]])) == PRE_ACTIVATION_LIMIT - 1
