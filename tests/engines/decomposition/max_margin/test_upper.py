"""The layers above the first, for fixed first-layer signs, also by listing: against the solver and all networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import AllNetworks

from bemi.engines import initial_network, monolithic
from bemi.engines.decomposition.max_margin import upper as upper_listing
from bemi.engines.decomposition.max_margin.upper import (
    can_list,
    upper_bounds,
    upper_problem,
    widest_listed,
    widest_margins,
)
from bemi.limits import Limits
from bemi.problem import Problem, class_codes, sum_of_margins
from bemi.stages import get


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


def patterns(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    hidden = () if seed % 3 == 0 else (int(rng.integers(1, 3)),)
    inputs = int(rng.integers(2, 4)) if not hidden else 2
    rows = np.unique(rng.choice([-1, 1], (int(rng.integers(2, 6)), inputs)), axis=0)
    outputs = int(rng.integers(1, 4)) if not hidden else int(rng.integers(1, 3))
    return Problem(rows, rng.choice([-1, 1], (len(rows), outputs)), hidden, 2 if not hidden and outputs == 1 else 1)


def test_it_equals_brute_force():
    feasible = 0
    for seed in range(120):
        problem = patterns(seed)
        network, complete = widest_listed(problem)
        assert complete
        best = AllNetworks.of(problem).best("mm")
        assert best == (None if network is None else sum_of_margins(problem, network))
        feasible += network is not None
    assert 20 < feasible < 110


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_solver_on_four_neurons(seed):
    rng = np.random.default_rng(seed)
    rows = np.array([[1, 1, 1, 1], [1, 1, -1, 1], [1, -1, 1, 1], [1, -1, -1, 1], [-1, 1, 1, 1]])
    problem = Problem(rows, class_codes(8)[rng.permutation(8)[:5]], (3,), 1)
    network, _ = widest_listed(problem)
    solved = monolithic.max_margin(problem, start=initial_network(problem), limits=Limits())
    assert (None if network is None else sum_of_margins(problem, network)) == solved.objective


def test_what_is_too_large_goes_to_the_solver(monkeypatch):
    assert not can_list(Problem([[1] * 12], [[1]], (2,), 1))
    assert not can_list(Problem([[1, 1]], [[1]], (2, 2), 1))
    rows = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1]])
    problem = Problem(rows, class_codes(3), (3, 3), 1)
    listed = widest_margins(problem, rows, Limits())
    monkeypatch.setattr(upper_listing, "_MOST_WORK", 10)
    solved = widest_margins(problem, rows, Limits())
    upper = Problem(rows, class_codes(3), (3,), 1)
    assert sum_of_margins(upper, listed) == sum_of_margins(upper, solved)
