"""The layers above the first, for fixed first-layer signs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import AllNetworks

from bemi.engines.decomposition.max_margin.upper import upper_bounds, upper_problem, widest_margins
from bemi.limits import Limits
from bemi.problem.problem import Problem
from bemi.stages.registry import get


def test_bounds_of_the_papers_layers():
    assert upper_bounds((784, 4, 4, 1), 1)[1:, 1].tolist() == [11, 12, 16, 20]
    assert upper_bounds((784, 4, 4, 1), 3)[1, 1] == 33


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(2,), (3,), (2, 1), (2, 2), (1, 2)]), st.integers(1, 5))
def test_best_upper_layers_equal_brute_force_and_respect_the_bound(seed, hidden, rows):
    rng = np.random.default_rng(seed)
    problem = Problem(np.ones((rows, 1), dtype=int), rng.choice([-1, 1], (rows, 1)), hidden, 1)
    signs = rng.choice([-1, 1], (rows, hidden[0]))
    best = AllNetworks.of(upper_problem(problem, signs)).best("mm")
    network = widest_margins(problem, signs, Limits())
    if best is None:
        assert network is None
        return
    assert get("mm").value(upper_problem(problem, signs), network) == best
    table = upper_bounds(problem.layers, 1)
    for a in range(rows):
        for b in range(a):
            if problem.codes[a] != problem.codes[b]:
                assert best <= table[(signs[a] != signs[b]).sum(), 1]


@pytest.mark.parametrize("hidden", [(4, 4), (10, 3), (6,)])
def test_one_splitting_neuron_reaches_the_bound(hidden):
    problem = Problem(np.ones((4, 1), dtype=int), np.array([[1], [1], [-1], [-1]]), hidden, 2)
    signs = np.ones((4, hidden[0]), dtype=int)
    signs[2:, 0] = -1
    network = widest_margins(problem, signs, Limits())
    assert get("mm").value(upper_problem(problem, signs), network) == upper_bounds(problem.layers, 2)[1, 1]
