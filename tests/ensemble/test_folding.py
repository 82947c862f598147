from itertools import pairwise, product

import numpy as np
import pytest
from given_networks import give_networks
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi import BeMiClassifier, Network
from bemi.ensemble import FoldedEnsemble, FoldedNetwork, class_subsets
from bemi.ensemble.folding import WIDEST_TABLE
from bemi.exact import Rows
from bemi.problem import ABSTAIN, decode_outputs


def random_network(rng, layers, bound):
    # Few values, so that neurons are constant, repeat one another and cancel often.
    values = [0, 0, 1, bound, -1] if rng.random() < 0.5 else [0, 1, 1]
    return Network(tuple(rng.choice(values, (a, b)) for a, b in pairwise(layers)), bound)


def plain_votes(network, subset, inputs):
    chosen = decode_outputs(network.forward(inputs), len(subset))
    return np.array([ABSTAIN if c == ABSTAIN else subset[c] for c in chosen])


@given(
    st.lists(st.integers(1, 5), max_size=2),
    st.integers(2, 3),
    st.tuples(st.integers(-2, 2), st.integers(0, 2)),
    st.integers(0, 10_000),
)
@settings(max_examples=200)
def test_within_the_range_votes_are_those_of_the_networks(hidden, size, limits, seed):
    rng = np.random.default_rng(seed)
    low, high = limits[0], limits[0] + limits[1]
    subsets = class_subsets(4, size)
    layers = (3, *hidden, 1 if size == 2 else 2)
    networks = [random_network(rng, layers, 2) for _ in subsets]
    splitting = rng.random((len(subsets), layers[1])) < 0.5
    # A neuron without links never splits.
    splitting &= np.array([network.weights[0].any(axis=0) for network in networks])
    parts = zip(networks, subsets, splitting, strict=True)
    ensemble = FoldedEnsemble(FoldedNetwork.of(*part, low, high) for part in parts)
    inputs = np.array(list(product(range(low, high + 1), repeat=3)))
    expected = [plain_votes(network, subset, inputs) for network, subset in zip(networks, subsets, strict=True)]
    assert np.array_equal(ensemble.votes(Rows(inputs)), np.stack(expected, axis=1))
    for column, (network, splits) in enumerate(zip(networks, splitting, strict=True)):
        weights = network.weights[0][:, splits]
        distances = np.abs(inputs @ weights) * (2**24 // np.abs(weights).sum(axis=0))
        nearest = distances.min(axis=1) if splits.any() else np.zeros(len(inputs))
        assert np.array_equal(ensemble.evidence(Rows(inputs))[:, column], nearest)


def test_evidence_is_the_nearest_splitting_neuron_in_whole_numbers():
    network = Network((np.array([[1, 1, 0], [-1, 1, 2]]), np.array([[1], [1], [0]])), 2)
    inputs = np.array([[10, 4], [3, 3]])

    def evidence(splitting):
        return FoldedEnsemble([FoldedNetwork.of(network, np.arange(2), np.array(splitting))]).evidence(Rows(inputs))[
            :, 0
        ]

    # |10 - 4| and |10 + 4|, each times floor(2^24 / 2).
    assert evidence([True, True, False]).tolist() == [6 * 2**23, 0]
    assert evidence([False, False, True]).tolist() == [8 * 2**23, 6 * 2**23]
    assert evidence([False, False, False]).tolist() == [0, 0]


def test_what_cannot_matter_is_gone():
    # Neuron 0 is +1 on inputs of at least 0, neuron 3 repeats neuron 1, and neuron 2 reaches no output.
    first = np.array([[1, 1, -1, 1], [1, -1, 0, -1]])
    network = Network((first, np.array([[1], [1], [0], [1]])), 1)
    folded = FoldedNetwork.of(network, np.array([4, 7]), np.array([False, True, True, False]), low=0)
    assert folded.fixed.tolist() == [1, 0, 0, 0]
    assert folded.neurons.tolist() == [1]
    assert folded.table.tolist() == [7, 4]
    assert folded.split.tolist() == [1, 2], "evidence does not ask what reaches the output"
    anything = FoldedNetwork.of(network, np.array([4, 7]), np.array([False, True, True, False]))
    assert anything.fixed.tolist() == [0, 0, 0, 0]


def test_a_network_may_turn_out_constant():
    network = Network((np.array([[1], [1]]), np.array([[1]])), 1)
    folded = FoldedNetwork.of(network, np.array([0, 1]), np.array([False]), low=0)
    assert (folded.neurons.tolist(), folded.table.tolist()) == ([], [0])
    assert FoldedEnsemble([folded]).votes(Rows(np.array([[3, 4], [0, 0]]))).tolist() == [[0], [0]]


def test_too_many_neurons_for_a_table_are_computed():
    rng = np.random.default_rng(5)
    wide = WIDEST_TABLE + 3
    networks = [Network(tuple(rng.integers(-3, 4, shape) for shape in ((6, wide), (wide, 3), (3, 1))), 3) for _ in "ab"]
    constant = Network((np.zeros((6, wide), dtype=int), *networks[0].weights[1:]), 3)
    networks.insert(1, constant)
    subsets = class_subsets(3, 2)
    parts = [FoldedNetwork.of(n, s, np.zeros(wide, dtype=bool)) for n, s in zip(networks, subsets, strict=True)]
    assert [part.table is None for part in parts] == [True, False, True]
    inputs = rng.integers(-9, 10, (500, 6))
    expected = [plain_votes(network, subset, inputs) for network, subset in zip(networks, subsets, strict=True)]
    assert np.array_equal(FoldedEnsemble(parts).votes(Rows(inputs)), np.stack(expected, axis=1))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_classifier_answers_the_same_outside_the_range_of_its_training_rows(sign):
    X = np.array([[5, 0, 1], [6, 1, 0], [0, 5, 1], [1, 6, 0], [0, 1, 5], [1, 0, 7]])
    y = np.array([0, 0, 1, 1, 2, 2])
    classifier = BeMiClassifier(hidden_layers=(3,), stages=("sm", "mm"), ties="abstain").fit(X, y)
    probes = sign * np.array(list(product(range(9), repeat=3)))
    votes = np.stack([plain_votes(n, list(key), probes) for key, n in classifier.networks_.items()], axis=1)
    counts = np.stack([(votes == c).sum(axis=1) for c in range(3)], axis=1)
    assert np.array_equal(classifier.vote(probes).counts, counts)


def test_networks_that_are_exchanged_after_a_prediction_are_used():
    X, y = np.array([[5, 0], [6, 1], [0, 5], [1, 6]]), np.array([0, 0, 1, 1])
    classifier = BeMiClassifier(hidden_layers=(), stages=("sm",)).fit(X, y)
    before = classifier.predict(X)
    (key,) = classifier.networks_
    give_networks(classifier, {key: Network(tuple(-w for w in classifier.networks_[key].weights), 1)})
    assert (classifier.predict(X) != before).all()


def test_very_large_weights_fold_without_overflow():
    X, y = np.eye(16, dtype=int), np.arange(16) % 2
    for bound in (2**20, 2**30):
        network = Network((np.where(y == 0, bound, -bound)[:, None],), bound)
        folded = FoldedNetwork.of(network, np.array([0, 1]), np.array([True]))
        assert folded.fixed.tolist() == [0], "either sign is possible"
        classifier = BeMiClassifier((), weight_bound=bound, stages=("sm",), node_limit=1).fit(X, y)
        assert classifier.score(X, y) == 1.0
