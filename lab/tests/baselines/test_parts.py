"""What is made from a network part by part: larger margins, fewer links, fewer neurons, and no zeros."""

from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest
from bemi_lab import datasets
from bemi_lab.baselines import objectives, smaller
from bemi_lab.baselines.gradient import loss, without_zeros
from bemi_lab.baselines.margins import largest_margins, wider_codes
from bemi_lab.baselines.smaller import fewest_links, smaller_networks, thinner_codes, threshold_functions
from bemi_lab.baselines.starts import Start, fitting_network
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi import Network
from bemi.engines.monolithic import min_weight_goal
from bemi.limits import FOREVER
from bemi.network import sign
from bemi.problem import Problem, one_hot

from .brute_force import Case, Networks, cases, largest_margin, signs_and_margins, without_limit


@pytest.fixture(scope="module")
def problem() -> Problem:
    rows = datasets.sample(datasets.load("digits"), 2, 0, seed=5)
    return Problem(rows.train_X.astype(int), one_hot(rows.train_y, 10), (16, 16)).with_biases()


@pytest.fixture(scope="module")
def start(problem) -> Start:
    return fitting_network(problem, FOREVER, detection="hidden")


def activations(problem: Problem, network: Network) -> list[np.ndarray]:
    return [sign(sums) for sums in network.pre_activations(problem.data)]


# Margins.


@settings(max_examples=40)
@given(cases(), st.integers(0, 2**32 - 1))
def test_every_neuron_over_few_inputs_gets_the_largest_margin(case, seed):
    network = Networks.random(case, np.random.default_rng(seed)).network(0, case.bound)
    before, _ = signs_and_margins(case, network)
    case = Case(case.data, before[-1], case.hidden, case.bound, case.unit)
    after, margins = signs_and_margins(case, largest_margins(case.problem, network, without_limit))
    inputs = [case.data, *before[:-1]]
    for layer, signs in enumerate(before):
        assert np.array_equal(after[layer], signs)
        best = [largest_margin(inputs[layer], case.unit if layer == 0 else 1, s, case.bound) for s in signs.T]
        assert margins[layer].tolist() == pytest.approx(best)


def test_margins_over_many_inputs_grow_and_activations_stay(problem, start):
    goal = objectives.max_margin(problem)
    wider = largest_margins(problem, start.network, without_limit, proposals=20_000)
    assert goal.value(wider) > goal.value(start.network)
    for a, b in zip(activations(problem, wider), activations(problem, start.network), strict=True):
        assert np.array_equal(a, b)
    # No neuron has more than its linear program allows, and what is constant has that.
    first = np.abs(problem.data @ wider.weights[0])[:, :16].min(axis=0)
    assert first.max() == np.abs(problem.data).sum(axis=1).min()


def test_short_codes_have_more_constant_neurons_and_larger_margins(problem, start):
    goal = objectives.max_margin(problem)
    networks = list(islice(wider_codes(problem, start, FOREVER, 0), 2))
    assert networks
    for network in networks:
        assert problem.all_right(network)
        splits = (np.ptp(activations(problem, network)[0], axis=0) > 0).sum()
        assert 4 <= splits <= 9
    enlarged = [largest_margins(problem, n, without_limit, proposals=20_000) for n in (networks[0], start.network)]
    assert goal.value(enlarged[0]) > goal.value(enlarged[1])


# Links.


def test_links_are_lost_and_rows_stay_right(problem, start):
    goal = min_weight_goal(problem)
    thin = fewest_links(problem, start.network, FOREVER, proposals=200_000)
    assert problem.all_right(thin)
    assert goal.value(thin) < start.network.links / 5
    assert all(np.abs(w).max() <= 1 for w in thin.weights)


def test_short_codes_have_fewer_links(problem, start, monkeypatch):
    monkeypatch.setattr(smaller, "LISTED", 16)
    codes = islice(thinner_codes(problem, start, FOREVER, 0, proposals=20_000), 2)
    networks = [fewest_links(problem, network, FOREVER, proposals=20_000) for network in codes]
    assert all(problem.all_right(network) for network in networks)
    assert min(n.links for n in networks) < fewest_links(problem, start.network, FOREVER, proposals=20_000).links


@settings(max_examples=30)
@given(cases(), st.integers(0, 2**32 - 1))
def test_removing_links_changes_no_output(case, seed):
    network = Networks.random(case, np.random.default_rng(seed)).network(0, case.bound)
    case = Case(case.data, activations(case.problem, network)[-1], case.hidden, case.bound, case.unit)
    thin = fewest_links(case.problem, network, FOREVER)
    assert case.problem.all_right(thin)
    assert thin.links <= network.links


# Neurons.


def test_threshold_functions_are_all_there_are():
    rng = np.random.default_rng(3)
    patterns = np.where(rng.random((5, 3)) < 0.5, 1, -1)
    signs, weights = threshold_functions(patterns, 1)
    listed = set()
    for *w, bias in product((-1, 0, 1), repeat=4):
        sums = [sum(a * b for a, b in zip(pattern, w, strict=True)) + bias for pattern in patterns.tolist()]
        if 0 not in sums and len({s > 0 for s in sums}) == 2:
            listed.add(tuple((1 if s > 0 else -1) * (1 if sums[0] > 0 else -1) for s in sums))
    assert {tuple(s) for s in signs.tolist()} == listed
    assert len(signs) == len(listed)
    assert np.array_equal(np.sign(weights @ np.column_stack([patterns, np.ones(5, dtype=int)]).T), signs)


@pytest.mark.parametrize("hidden", [(16, 16), (16,)])
def test_smaller_networks_are_fully_confident(problem, hidden):
    problem = Problem(problem.data[:, :-1], problem.codes, hidden).with_biases()
    start = fitting_network(problem, FOREVER)
    priced, confident = objectives.min_neurons(problem, price=1), objectives.sat_margin(problem)
    networks = list(smaller_networks(problem, start, FOREVER, 0))
    assert networks
    for network in networks:
        assert confident.value(network) == problem.codes.size
    assert max(map(priced.value, networks)) >= priced.value(start.network) + (2 if len(hidden) == 2 else 0)


# No zeros.


@pytest.mark.parametrize("hidden", [(16, 16), (16,)])
def test_a_network_without_zeros_is_right_and_confident(problem, hidden):
    problem = Problem(problem.data[:, :-1], problem.codes, hidden).with_biases()
    dense = without_zeros(problem, fitting_network(problem, FOREVER).network)
    live = problem.live
    assert np.abs(dense.weights[0][live][:, :16]).min() == 1
    assert not dense.weights[0][np.setdiff1d(np.arange(65), live)].any()
    for weights, last in zip(dense.weights[1:], dense.layers[2:], strict=True):
        own = weights if last == 10 else weights[:, :-1]
        assert np.abs(own).min() == np.abs(own).max() == 1
    assert problem.all_right(dense)
    assert loss(problem, dense) == 0
    assert objectives.sat_margin(problem).value(dense) == problem.codes.size


def test_no_network_without_zeros_where_rows_of_a_class_differ():
    data, codes = np.array([[9, 0], [0, 9], [-9, 0]]), np.array([[1, -1], [1, -1], [-1, 1]])
    problem = Problem(data, codes, (2, 2)).with_biases()
    first = np.array([[1, -1, 0], [1, 1, 0], [1, 1, 0]])
    second = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    network = Network((first, second, np.array([[1, -1], [0, 0], [0, -1]])))
    assert activations(problem, network)[0][:2].tolist() == [[1, -1, 1], [1, 1, 1]]
    assert without_zeros(problem, network) is None
    assert without_zeros(problem, None) is None
