"""Products of integers are exact, whatever arithmetic computes them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.exact import PRE_ACTIVATION_LIMIT, Rows, Weights, exact_product, joined, shortest_of_pieces


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


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 9000))
def test_rows_in_pieces_are_the_rows_in_the_shortest_type(extremes, columns, rows):
    values = np.resize(np.array([0, *extremes]), (rows, columns))
    made = shortest_of_pieces(lambda part: part, values)
    assert np.array_equal(made, values)
    kinds = [np.dtype(kind) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8")]
    holds = [kind for kind in kinds if (values.astype(kind) == values).all()]
    # Pieces with and without signs may need one type more than the rows together.
    assert made.dtype.itemsize <= 2 * min(kind.itemsize for kind in holds)


def test_joined_rows_are_counted():
    assert joined(iter([np.array([[300]]), np.array([[-1]])]), 2).tolist() == [[300], [-1]]
    with pytest.raises(ValueError, match="expected 3 rows, got 2"):
        joined(iter([np.array([[300]]), np.array([[-1]])]), 3)
