"""Columns and rows of a network with biases, and with weights in closer bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import networks, tiny_problems

from bemi import Network
from bemi.problem import Problem
from bemi.programs import Encoding
from bemi.programs.stages import sign_rows
from bemi.solvers import highs


def without_links_to_constants(network: Network) -> Network:
    weights = [w.copy() for w in network.weights]
    for w in weights[:-1]:
        w[:, -1] = 0
    return Network(tuple(weights), network.weight_bound)


with_hidden_layers = tiny_problems().filter(lambda p: p.hidden_layers)
biased_problems = st.builds(Problem.with_biases, with_hidden_layers, st.sampled_from((1, 5)))
problem_and_network = biased_problems.flatmap(
    lambda p: st.tuples(st.just(p), networks(p).map(without_links_to_constants))
)


def program_of(encoding: Encoding):
    sign_rows(encoding)
    return encoding.builder.program("max", encoding.w[-1])


@settings(max_examples=60)
@given(problem_and_network)
def test_bounds_without_freedom_leave_one_point_which_is_the_network(pair):
    problem, network = pair
    encoding = Encoding(problem, (network.weights, network.weights))
    solution = highs.solve(program_of(encoding))
    assert np.array_equal(np.rint(solution.x), encoding.encode(network, len(solution.x)))
    assert encoding.decode(solution.x) == network
    signal = problem.data[:, :-1]
    for layer, (weights, active) in enumerate(zip(network.weights, encoding.u, strict=False)):
        bias = weights[-1] * (problem.data[0, -1] if layer == 0 else 1)
        signal = np.where(signal @ weights[:-1] + bias < 0, -1, 1)
        assert np.array_equal(solution.x[active], (signal + 1) // 2)
        assert (signal[:, -1] == 1).all()
        signal = signal[:, :-1]


@given(problem_and_network)
def test_constant_neurons_cannot_have_incoming_links(pair):
    problem, network = pair
    ones = [np.ones_like(w) for w in network.weights]
    for within in (None, ([-w for w in ones], ones)):
        encoding = Encoding(problem, within)
        milp = program_of(encoding)
        for columns in encoding.w[:-1]:
            for side in (milp.col_lower, milp.col_upper):
                assert not side[columns[:, -1]].any()
                assert side[columns[:, :-1]].all()


@given(problem_and_network, st.data())
def test_weights_stay_within_their_bounds(pair, data):
    problem, network = pair
    other = data.draw(networks(problem).map(without_links_to_constants))
    low = [np.minimum(a, b) for a, b in zip(network.weights, other.weights, strict=True)]
    high = [np.maximum(a, b) for a, b in zip(network.weights, other.weights, strict=True)]
    given_low, given_high = [a.copy() for a in low], [a.copy() for a in high]
    encoding = Encoding(problem, (low, high))
    milp = program_of(encoding)
    for index, lowest, highest in zip(encoding.w, low, high, strict=True):
        rows = encoding.live if index is encoding.w[0] else slice(None)
        assert np.array_equal(milp.col_lower[index], lowest[rows])
        assert np.array_equal(milp.col_upper[index], highest[rows])
    for end in (network, other):
        assert milp.residual(encoding.encode(end, len(milp.cost))) < 1e-9
    # The best sum of outgoing links takes all of them to their upper ends.
    found = encoding.decode(highs.solve(milp).x)
    assert np.array_equal(found.weights[-1], high[-1])
    assert all(((a <= w) & (w <= b)).all() for a, w, b in zip(low, found.weights, high, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(low + high, given_low + given_high, strict=True))


def test_inputs_without_columns_get_the_weight_nearest_to_zero():
    problem = Problem(np.array([[0, 0, 0, 4], [0, 0, 0, 5]]), np.array([[1], [-1]]), (2,), 3)
    low = [np.array([[1, -3], [-3, -3], [-1, 2], [0, 0]]), np.zeros((2, 1), dtype=int)]
    high = [np.array([[3, -2], [-1, 3], [1, 2], [0, 0]]), np.zeros((2, 1), dtype=int)]
    encoding = Encoding(problem, (low, high))
    network = encoding.decode(np.zeros(len(program_of(encoding).cost)))
    assert network.weights[0].tolist() == [[1, -2], [-1, 0], [0, 2], [0, 0]]
