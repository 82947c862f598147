"""Networks improved neuron by neuron: what rows want is what they get more of, and nothing else changes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from bemi_lab.baselines.improvement import improved_neurons, wanted_signs
from bemi_lab.baselines.objectives import MAX_CORRECT, MIN_HINGE, SAT_MARGIN

from bemi import Network
from bemi.limits import FOREVER, Deadline
from bemi.network import sign
from bemi.problem import Problem

OBJECTIVES = {"sat-margin": SAT_MARGIN, "min-hinge": MIN_HINGE, "max-correct": MAX_CORRECT}


def problem_of(seed: int, rows: int = 9, inputs: int = 3, hidden=(3, 3)) -> Problem:
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 3
    data = rng.integers(-9, 9, size=(rows, inputs)) + 9 * np.eye(3, inputs, dtype=int)[labels]
    return Problem(data, np.where(labels[:, None] == np.arange(3), 1, -1), hidden).with_biases()


def random_network(problem: Problem, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    weights = [rng.integers(-1, 1, size=shape, endpoint=True) for shape in pairwise(problem.layers)]
    for w in weights[:-1]:
        w[:, -1] = 0
    return Network(tuple(weights))


def test_values_follow_the_definitions():
    problem = problem_of(0)
    for seed in range(20):
        network = random_network(problem, seed)
        sums = network.pre_activations(problem.data)[-1]
        hinge = sum(max(0, 4 - 4 * y * s) ** 2 for s, y in zip(sums.flat, problem.codes.flat, strict=True))
        assert MIN_HINGE.values(problem)(sums).sum() == -hinge == -MIN_HINGE.goal(problem).value(network)
        # Counts come before losses.
        scale = 9 * 3 * (5 * 4) ** 2 + 1
        confident = SAT_MARGIN.values(problem)(sums).sum()
        assert confident == scale * SAT_MARGIN.goal(problem).value(network) - hinge
        count = MAX_CORRECT.values(problem)(sums).sum() + hinge
        correct = MAX_CORRECT.goal(problem).value(network)
        assert count == scale * correct if correct is not None else count < 0


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("layer", [0, 1])
def test_rows_want_the_sign_that_is_worth_more(name, layer):
    problem, network = problem_of(1), random_network(problem_of(1), 4)
    values = OBJECTIVES[name].values(problem)
    inputs, targets, prices = wanted_signs(values, problem, network, layer, 1)
    assert np.array_equal(inputs, problem.data if layer == 0 else sign(problem.data @ network.weights[0]))
    for k in range(9):
        worth = {}
        for forced in (1, -1):
            signal = problem.data[k]
            for place, w in enumerate(network.weights[:-1]):
                signal = sign(signal @ w)
                if place == layer:
                    signal[1] = forced
            sums = np.tile(signal @ network.weights[-1], (9, 1))
            worth[forced] = values(sums)[k]
        assert prices[k] == abs(worth[1] - worth[-1])
        if prices[k]:
            assert worth[targets[k]] > worth[-targets[k]]


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("inputs", [3, 40])
@pytest.mark.parametrize("seed", range(3))
def test_one_neuron_changes_at_a_time_and_always_for_the_better(name, inputs, seed):
    problem = problem_of(seed, inputs=inputs)
    values = OBJECTIVES[name].values(problem)
    network = random_network(problem, seed)

    def worth(n: Network) -> int:
        return int(values(n.pre_activations(problem.data)[-1]).sum())

    steps = 0
    for after in improved_neurons(values, problem, network, FOREVER, seed):
        changed = [(a != b).any(axis=0).sum() for a, b in zip(network.weights, after.weights, strict=True)]
        assert sum(changed) == 1
        assert worth(after) > worth(network)
        assert all((w[:, -1] == 0).all() for w in after.weights[:-1]), "constant neurons stay constant"
        network, steps = after, steps + 1
    assert steps > 0
    assert next(improved_neurons(values, problem, network, FOREVER, seed + 1), None) is None


def test_a_broken_neuron_is_found_again():
    """One hidden neuron at random: the rows say what it should be, and the engine's neuron gives them all of it."""
    problem = problem_of(0, rows=6, inputs=40, hidden=(3,))
    first = np.zeros((41, 4), dtype=int)
    for label in range(3):
        signs = problem.codes[:, label]
        first[:, label] = np.sign(signs @ problem.data)
    last = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [-1, -1, -1]])
    whole = Network((first, last))
    assert MAX_CORRECT.goal(problem).value(whole) == 6, "the example is what it should be"
    broken = [first.copy(), last]
    broken[0][:, 1] = np.random.default_rng(0).integers(-1, 2, 41)
    networks = list(improved_neurons(MAX_CORRECT.values(problem), problem, Network(tuple(broken)), FOREVER))
    assert MAX_CORRECT.goal(problem).value(networks[-1]) == 6


def test_weights_keep_within_their_bounds():
    problem = problem_of(2)
    network = random_network(problem, 1)
    low, high = [np.minimum(w, 0) for w in network.weights], [np.maximum(w, 0) for w in network.weights]
    values = MIN_HINGE.values(problem)
    networks = list(improved_neurons(values, problem, network, FOREVER, within=(low, high)))
    assert networks
    for after in networks:
        for w, least, most in zip(after.weights, low, high, strict=True):
            assert ((least <= w) & (w <= most)).all()


def test_without_time_nothing_is_tried():
    problem = problem_of(2)
    values = MIN_HINGE.values(problem)
    assert not list(improved_neurons(values, problem, random_network(problem, 1), Deadline.after(0.0)))
