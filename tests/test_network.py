"""What a network computes, against the definition written out in plain Python."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import networks, tiny_problems

from bemi import Network
from bemi.network import confidence_threshold

problem_and_network = tiny_problems().flatmap(lambda p: st.tuples(st.just(p), networks(p)))


def plain_pre_activations(network: Network, row: list[int]) -> list[list[int]]:
    signal, layers = row, []
    for w in network.weights:
        sums = [sum(signal[i] * int(w[i, j]) for i in range(len(signal))) for j in range(w.shape[1])]
        layers.append(sums)
        signal = [1 if s >= 0 else -1 for s in sums]
    return layers


@given(problem_and_network)
def test_forward_margins_and_confidence_follow_the_definition(pair):
    problem, network = pair
    plain = [plain_pre_activations(network, row) for row in problem.data.tolist()]
    codes = problem.codes.tolist()
    assert network.forward(problem.data).tolist() == [[1 if s >= 0 else -1 for s in layers[-1]] for layers in plain]
    margins = network.margins(problem.data, problem.codes)
    for layer, values in enumerate(margins[:-1]):
        for j, value in enumerate(values):
            assert value == min(abs(p[layer][j]) for p in plain)
    for j, value in enumerate(margins[-1]):
        assert value == min(p[-1][j] * y[j] for p, y in zip(plain, codes, strict=True))
    bound, fan_in = network.weight_bound, network.layers[-2]
    for p, y, row in zip(plain, codes, network.confident(problem.data, problem.codes).tolist(), strict=True):
        for s, label, confident in zip(p[-1], y, row, strict=True):
            if problem.hidden_layers:
                assert confident == (2 / (bound * (fan_in + 1)) * s * label >= 0.5 - 1e-12)
            else:
                assert confident == (s * label >= 1)


def test_zero_counts_as_plus_one():
    network = Network((np.array([[1], [-1]]),))
    assert network.forward([[3, 3], [2, 3]]).tolist() == [[1], [-1]]


def test_thresholds():
    assert confidence_threshold((784, 4, 4, 1), 1) == 2
    assert confidence_threshold((784, 4, 4, 1), 3) == 4
    assert confidence_threshold((13, 5, 1), 1) == 2
    assert confidence_threshold((13, 1), 7) == 1


@given(problem_and_network, st.randoms(use_true_random=False))
def test_reordering_and_turning_neurons_keep_the_function(pair, random):
    problem, network = pair
    for layer in range(len(network.weights) - 1):
        order = list(range(network.layers[layer + 1]))
        random.shuffle(order)
        assert np.array_equal(network.reordered(layer, order).forward(problem.data), network.forward(problem.data))
        chosen = np.array([random.random() < 0.5 for _ in order])
        if (network.pre_activations(problem.data)[layer] != 0).all():
            turned = network.flipped(layer, chosen)
            assert np.array_equal(turned.forward(problem.data), network.forward(problem.data))
            assert turned.flipped(layer, chosen) == network


def test_links_layers_and_equality():
    network = Network((np.array([[1, 0], [0, -1]]), np.array([[1], [0]])), 1)
    assert network.links == 3
    assert network.layers == (2, 2, 1)
    assert network == Network((np.array([[1, 0], [0, -1]]), np.array([[1], [0]])), 1)
    assert network != Network(network.weights, 2)
    assert hash(network) == hash(pickle.loads(pickle.dumps(network)))


def test_a_network_cannot_be_changed():
    network = pickle.loads(pickle.dumps(Network((np.ones((2, 1)),))))
    with pytest.raises(ValueError, match="read-only"):
        network.weights[0][0, 0] = 0


def test_splitting_neurons():
    network = Network((np.array([[1, 1], [1, -1]]), np.array([[1], [1]])))
    assert network.splitting_neurons([[1, 2], [2, 1]]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("weights", "bound", "words"),
    [
        ((), 1, "at least one layer"),
        ((np.ones(3),), 1, "two-dimensional"),
        ((np.ones((2, 3)), np.ones((2, 1))), 1, "do not fit together"),
        ((np.full((2, 1), 2),), 1, "outside -1..1"),
    ],
)
def test_impossible_networks_are_refused(weights, bound, words):
    with pytest.raises(ValueError, match=words):
        Network(weights, bound)


def test_inputs_beyond_the_exact_range_are_refused():
    network = Network((np.ones((2, 1)),))
    for value in (2**31, -(2**31), 2**63 - 1, -(2**63)):
        with pytest.raises(ValueError, match="too large"):
            network.forward([[value, 1]])


def test_small_unsigned_pixels_do_not_overflow():
    network = Network((np.ones((300, 1)),))
    assert network.pre_activations(np.full((1, 300), 255, dtype=np.uint8))[0].tolist() == [[76500]]


def test_weights_that_are_not_integers_are_refused():
    with pytest.raises(ValueError, match="weights must be integers"):
        Network((np.array([[0.7], [-0.7]]),))
    assert Network((np.array([[1.0], [-1.0]]),)) == Network((np.array([[1], [-1]]),))
