"""The stages' programs against the forward pass: a network is feasible in one exactly as it is in the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import keeping, networks, tiny_problems

from bemi import Network
from bemi.problem import Problem
from bemi.programs import linearize, max_margin, min_weight, sat_margin
from bemi.solvers import highs
from bemi.stages import get

PROGRAMS = {"sm": sat_margin, "mm": max_margin, "mw": min_weight}

problem_and_network = tiny_problems().flatmap(lambda p: st.tuples(st.just(p), networks(p)))


@given(problem_and_network, st.sampled_from(("sm", "mm", "mw")))
def test_decode_inverts_encode(pair, stage):
    problem, network = pair
    built = PROGRAMS[stage](problem)
    live = built.canonical(network)
    assert built.decode(built.encode(live)) == live
    if len(problem.live) == problem.layers[0]:
        assert built.decode(built.encode(network)) == network


@given(problem_and_network, st.sampled_from(("sm", "mm", "mw")))
def test_canonical_form_is_feasible_exactly_if_the_network_is(pair, stage):
    problem, network = pair
    value = get(stage).value(problem, network)
    built = PROGRAMS[stage](problem)
    canonical = built.canonical(network)
    point = built.encode(canonical)
    for milp in (built.milp, linearize(built.milp)):
        if value is None:
            assert milp.residual(point) > 0.5
        else:
            assert milp.residual(point) < 1e-9
            assert milp.cost @ point == get(stage).value(problem, canonical)
            if stage != "mw":
                assert milp.cost @ point == value


@given(problem_and_network)
def test_min_weight_keeps_the_margins_of_a_feasible_network(pair):
    problem, network = pair
    # Codes that the network gives, so that no more than a sum of 0 makes it infeasible.
    problem = replace(problem, codes=network.forward(problem.data))
    assume(get("mm").value(problem, network) is not None)
    margins = network.margins(problem.data, problem.codes)
    built = min_weight(problem, keeping(margins))
    assert built.milp.residual(built.encode(built.canonical(network))) < 1e-9
    tighter = [m.copy() for m in margins]
    tighter[0][0] += 1
    raised = min_weight(problem, keeping(tighter))
    assert raised.milp.residual(raised.encode(network)) > 0.5


@settings(max_examples=60)
@given(problem_and_network)
def test_with_fixed_weights_the_program_is_the_forward_pass(pair):
    """A solver that may choose everything but the weights can only choose what the network computes."""
    problem, network = pair
    built = sat_margin(problem)
    network = built.canonical(network)
    point = built.encode(network)
    milp = built.milp
    for columns in built.encoding.w:
        milp.col_lower[columns] = milp.col_upper[columns] = point[columns]
    solution = highs.solve(milp)
    assert np.allclose(solution.x, point)
    assert solution.objective == get("sm").value(problem, network)


def test_dead_inputs_have_no_columns_and_come_back_as_zeros():
    data = np.array([[0, 3, 0, 1], [0, 1, 0, 4]])
    built = max_margin(Problem(data, np.array([[1], [-1]]), (2,), 1))
    assert built.encoding.w[0].shape == (2, 2)
    network = built.decode(highs.solve(built.milp).x)
    assert network.layers == (4, 2, 1)
    assert not network.weights[0][[0, 2]].any()


def test_first_layer_products_need_no_columns():
    problem = Problem(np.arange(1, 13).reshape(4, 3), np.array([[1], [-1], [1], [-1]]), (2,), 1)
    built = sat_margin(problem)
    # 6 + 2 weights, 4 x 2 activations, 4 x 2 products of the last layer, 4 marks of a right output.
    assert len(built.milp.cost) == 8 + 8 + 8 + 4


@pytest.mark.parametrize("stage", ["sm", "mm"])
def test_big_m_is_the_rows_own(stage):
    problem = Problem(np.array([[1, 2], [100, 200]]), np.array([[1], [-1]]), (2,), 1)
    flat = linearize(PROGRAMS[stage](problem).milp)
    largest = np.abs(flat.A.toarray()).max(axis=1)
    light = [row for row in flat.A.toarray() if 2 in np.abs(row) and 200 not in np.abs(row)]
    assert max(np.abs(row).max() for row in light) <= 3 + 3 + 1
    # P ||x||_1 plus the largest margin, which the light row sets.
    assert largest.max() <= 300 + 3


def test_interchangeable_neurons_have_one_order():
    problem = Problem(np.array([[5, 1], [1, 7]]), np.array([[1], [-1]]), (2,), 1)
    network = Network((np.array([[1, 1], [-1, 1]]), np.array([[1], [0]])), 1)
    built = max_margin(problem)
    swapped = network.reordered(0, [1, 0])
    assert built.canonical(network) == built.canonical(swapped)
    assert built.milp.residual(built.encode(built.canonical(network))) == 0
