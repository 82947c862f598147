"""Radii against every input near a point."""

from itertools import product

import numpy as np
import pytest
from given_networks import give_networks
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi import BeMiClassifier, Network
from bemi.ensemble import exact_radius, network_radius
from bemi.ensemble.radius import UNLIMITED

REACH = 6


def classifier(seed, hidden, ties, classes=3, subsets=None):
    """An ensemble with random weights: robustness is about networks, however they came about."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-4, 5, (3 * classes, 2)), np.repeat(np.arange(classes), 3)
    settings_ = {"hidden_layers": hidden, "weight_bound": 2, "stages": ("sm",), "node_limit": 1, "time_limit": None}
    model = BeMiClassifier(ties=ties, subsets=subsets, **settings_).fit(X, y)
    networks = {
        key: Network(tuple(rng.integers(-2, 3, w.shape) for w in network.weights), 2)
        for key, network in model.networks_.items()
    }
    give_networks(model, networks, splitting={key: n.splitting_neurons(X) for key, n in networks.items()})
    return model, rng.integers(-6, 7, (4, 2))


def nearest_other(model, row, norm):
    """Smallest distance of an input with another label, up to REACH; and the same for another set of leaders."""
    offsets = np.array(list(product(range(-REACH, REACH + 1), repeat=2)))
    distance = np.abs(offsets).max(axis=1) if norm == "linf" else np.abs(offsets).sum(axis=1)
    near = distance <= REACH
    outcome = model.vote(row + offsets[near])
    here = model.vote(row[None])
    other = outcome.label != here.label[0]
    lead = (outcome.dominant != here.dominant[0]).any(axis=1)
    found = [distance[near][changed].min(initial=REACH + 1) for changed in (other, lead)]
    return found[0], found[1]


@given(st.integers(0, 10_000), st.sampled_from([(), (2,), (2, 2)]), st.sampled_from(["margin", "abstain"]))
@settings(max_examples=20)
def test_no_input_within_the_radius_has_another_label(seed, hidden, ties):
    model, rows = classifier(seed, hidden, ties)
    radii = model.certified_radius(rows)
    for norm in ("linf", "l1"):
        for row, radius in zip(rows, getattr(radii, norm), strict=True):
            label, _ = nearest_other(model, row, norm)
            assert label > min(radius, REACH)


@given(st.integers(0, 10_000), st.sampled_from([(), (2,)]))
@settings(max_examples=10)
def test_exact_radii_are_exact(seed, hidden):
    model, rows = classifier(seed, hidden, "abstain")
    bound, exact = model.certified_radius(rows), model.certified_radius(rows, exact=True)
    single = model.vote(rows).dominant.sum(axis=1) == 1
    for norm in ("linf", "l1"):
        assert (getattr(exact, norm) >= np.minimum(getattr(bound, norm), 2 * np.abs(rows).max(axis=1) + 1)).all()
        for row, radius in zip(rows[single], getattr(exact, norm)[single], strict=True):
            _, lead = nearest_other(model, row, norm)
            farthest = 2 * np.abs(row).max() + 1
            assert min(radius, REACH, farthest) == min(lead - 1, REACH, farthest)


def test_two_classes_by_hand():
    # w.x = 3 * 2 - 1 * 4 = 2 with |w| summing to 3: linf radius 0, since 3 > 2; largest weight 2: l1 radius 1.
    network = Network((np.array([[2], [-1]]),), 2)
    first = np.array([[2], [-3], [0], [-1]])
    assert network_radius(network, first, "linf").tolist() == [0, 0, 0, 0]
    assert network_radius(network, first, "l1").tolist() == [1, 1, 0, 0]
    assert network_radius(Network((np.zeros((2, 1)),)), first, "l1").tolist() == [UNLIMITED] * 4


def test_exact_radii_are_for_pairs():
    rng = np.random.default_rng(0)
    model = BeMiClassifier(hidden_layers=(2,), stages=("sm",), subset_size=3, node_limit=1, time_limit=None)
    model.fit(rng.integers(0, 9, (9, 2)), np.repeat(range(3), 3))
    with pytest.raises(ValueError, match="two classes"):
        model.certified_radius([[1, 2]], exact=True)


PAIRS = [(0, 1), (0, 2), (0, 3), (2, 3)]


@given(st.integers(0, 10_000), st.sampled_from(["margin", "abstain"]))
@settings(max_examples=20)
def test_radii_hold_where_classes_are_in_different_numbers_of_networks(seed, ties):
    model, rows = classifier(seed, (), ties, classes=4, subsets=PAIRS)
    radii = model.certified_radius(rows)
    for norm in ("linf", "l1"):
        for row, radius in zip(rows, getattr(radii, norm), strict=True):
            label, _ = nearest_other(model, row, norm)
            assert label > min(radius, REACH)


@given(st.integers(0, 10_000))
@settings(max_examples=8)
def test_exact_radii_are_exact_there_too(seed):
    model, rows = classifier(seed, (), "abstain", classes=4, subsets=PAIRS)
    exact = model.certified_radius(rows, exact=True)
    single = model.vote(rows).dominant.sum(axis=1) == 1
    for norm in ("linf", "l1"):
        for row, radius in zip(rows[single], getattr(exact, norm)[single], strict=True):
            _, lead = nearest_other(model, row, norm)
            farthest = 2 * np.abs(row).max() + 1
            assert min(radius, REACH, farthest) == min(lead - 1, REACH, farthest)


def test_exact_radii_are_exact_where_one_weight_is_much_larger():
    """Far along one input the label changes sooner than anywhere in the box that the program looks at."""
    point = np.full(14, 10)
    network = Network((np.array([7, 1, 1, 1, 1, 2, 1, 2, 1, 1, 1, 2, 2, 1])[:, None],), 7)
    total = int(point @ network.weights[0][:, 0])
    nearest = total // 7 + 1
    found = exact_radius([network], np.array([[0, 1]]), 2, point, 0, "l1")
    assert found == min(nearest - 1, 2 * 10 + 1)
