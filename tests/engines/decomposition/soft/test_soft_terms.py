"""What multipliers prove, in integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bemi.engines.decomposition.soft.terms import DENOMINATOR, most_integer


@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=5))
def test_the_best_integer_weight_for_a_price(cases):
    g, low, width = (np.array(part) for part in zip(*cases, strict=True))
    found = most_integer(g, low, low + width)
    every = [max(2 * p * v - p * p * DENOMINATOR for p in range(a, a + d + 1)) for v, a, d in cases]
    assert found.tolist() == every
