"""Two neurons whose AND or OR is the code."""

from __future__ import annotations

import numpy as np

from bemi.engines.decomposition.max_margin.pairs import annealed_pair
from bemi.limits import FOREVER


def test_a_walk_finds_a_pair_that_needs_larger_weights():
    """Half spaces with weights of 2 and 3, which no ternary neurons replace."""
    rng = np.random.default_rng(3)
    data = rng.integers(0, 30, (80, 5))
    sums = data @ np.array([[3, -2], [-2, 3], [0, -2], [-2, 0], [1, 1]])
    data, sums = data[(sums != 0).all(axis=1)], sums[(sums != 0).all(axis=1)]
    codes = np.where((sums > 0).any(axis=1), 1, -1)
    assert annealed_pair(data, codes, 1, seed=0, deadline=FOREVER) is None
    found = annealed_pair(data, codes, 3, seed=0, deadline=FOREVER)
    assert found is not None
    weights, side = found
    right = codes[:, None] * (data @ weights) > 0
    assert right[codes == side].all()
    assert right.any(axis=1).all()
    assert (data @ weights != 0).all()
    again = annealed_pair(data, codes, 3, seed=0, deadline=FOREVER)
    assert again is not None
    assert (again[0] == weights).all()
