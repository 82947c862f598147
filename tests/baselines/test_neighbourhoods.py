"""A network improved a part at a time."""

import numpy as np
import pytest

from bemi.baselines import objectives
from bemi.baselines.neighbourhoods import _free, _improved, _parts, _random_hidden, solve
from bemi.baselines.systems import one_answer, silent
from bemi.engines.monolithic import solve_goal
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.programs.limits import Limits

OBJECTIVES = {"min-hinge": objectives.min_hinge, "sat-margin": objectives.sat_margin}


def problem(seed, rows=6, hidden=(2, 2)):
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 3
    data = rng.integers(0, 9, size=(rows, 3)) + 9 * np.eye(3, dtype=int)[labels]
    return Problem(data, np.where(labels[:, None] == np.arange(3), 1, -1), hidden).with_biases()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_a_part_only_changes_its_own_weights_and_never_for_the_worse(name, seed):
    given = problem(seed)
    goal = OBJECTIVES[name](given)
    network = _random_hidden(given, silent(given), np.random.default_rng(seed))
    parts = _parts(given, np.random.default_rng(seed))
    for layer, neuron in (next(parts) for _ in range(9)):
        after = _improved(OBJECTIVES[name], given, network, layer, neuron, Limits(), "highs")
        changed = [a != b for a, b in zip(network.weights, after.weights, strict=True)]
        if neuron is None:
            assert not any(change.any() for change in changed[:-1])
        else:
            changed[layer][:, neuron] = False
            for out in changed[layer + 1 : layer + 2]:
                out[neuron, :] = False
            assert not any(change.any() for change in changed)
        assert not goal.better(goal.value(network), goal.value(after))
        assert all((w[:, -1] == 0).all() for w in after.weights[:-1]), "constant neurons stay constant"
        network = after


def test_a_part_is_solved_to_its_optimum():
    """The output layer of a network: all 3^9 of them."""
    given = problem(0, hidden=(2,))
    goal = objectives.min_hinge(given)
    network = _random_hidden(given, silent(given), np.random.default_rng(0))
    after = _improved(objectives.min_hinge, given, network, 1, None, Limits(), "highs")
    every = np.array(np.meshgrid(*[(-1, 0, 1)] * 9)).reshape(9, -1).T.reshape(-1, 3, 3)
    assert goal.value(after) == min(goal.value(Network((network.weights[0], w))) for w in every)


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_at_a_network_that_no_part_improves_and_below_no_bound(seed):
    given = problem(seed)
    goal = objectives.min_hinge(given)
    found = solve(objectives.min_hinge, silent(given), given, Limits(nodes=1, seed=seed), "highs")
    again = solve(objectives.min_hinge, silent(given), given, Limits(nodes=1, seed=seed), "highs")
    assert found.network == again.network
    assert found.objective == goal.in_report_units(goal.value(found.network))
    assert found.bound <= found.objective < goal.in_report_units(goal.value(silent(given)))
    assert found.links == found.network.links
    best = solve_goal(goal, start=None, limits=Limits()).objective
    assert best <= found.objective


def test_the_start_comes_back_where_nothing_is_better():
    given = problem(1)
    found = solve(objectives.max_correct, one_answer(given), given, Limits(seconds=0.05), "highs")
    assert objectives.max_correct(given).value(found.network) >= 2


def test_free_weights():
    network = Network((np.array([[1, -1], [0, 1]]), np.array([[1], [-1]])))
    low, high = _free(network, 1)
    assert low[0].tolist() == [[1, -1], [0, -1]]
    assert high[0].tolist() == [[1, 1], [0, 1]]
    assert (low[1].tolist(), high[1].tolist()) == ([[1], [-1]], [[1], [1]])
    low, high = _free(Network(network.weights[1:]), None)
    assert (low[0].tolist(), high[0].tolist()) == ([[-1], [-1]], [[1], [1]])
