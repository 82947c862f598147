"""The other systems' programs against brute force over all networks, with every definition written anew."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from bemi_lab.baselines import objectives
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bemi import Network
from bemi.engines.monolithic import solve_goal
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.programs import linearize
from bemi.stages import Outcome, get

from .brute_force import (
    ANY_LAYERS,
    HIDDEN_LAYERS,
    Case,
    Networks,
    Task,
    min_hinge,
    tasks,
)

SEEDS = st.integers(0, 2**32 - 1)


def referee(task: Task, solver: str, seed: int | None) -> None:
    """The optimum must be brute force's, and the network that comes back must be worth it."""
    start = None
    if seed is not None:
        start = Networks.random(task.case, np.random.default_rng(seed)).network(0, task.case.bound)
    report = solve_goal(task.goal, start=start, limits=Limits(), solver=solver)
    best = task.best()
    if best is None:
        assert report.objective is None
        assert report.network is start
        assert report.outcome is Outcome.INFEASIBLE
        assert report.message == Outcome.INFEASIBLE.sentence
        return
    assert float(report.objective) == pytest.approx(best, rel=1e-12)
    assert report.objective == report.bound
    assert task.worth(Networks.of(report.network)) == pytest.approx(best, rel=1e-12)
    assert report.links == Networks.of(report.network).links()


@settings(max_examples=120)
@given(tasks(), st.none() | SEEDS)
def test_every_goal_reaches_the_optimum(task, seed):
    referee(task, "highs", seed)


@pytest.mark.slow
@settings(max_examples=2_000)
@given(tasks(), st.none() | SEEDS)
def test_every_goal_reaches_the_optimum_at_length(task, seed):
    referee(task, "highs", seed)


# CP-SAT starts a process for every program, half a second each.
@pytest.mark.parametrize("backend", ["cpsat"], indirect=True)
@settings(max_examples=6)
@given(task=tasks(), seed=st.none() | SEEDS)
def test_a_few_goals_reach_the_optimum(backend, task, seed):
    referee(task, backend, seed)


@pytest.mark.parametrize("make", ANY_LAYERS + HIDDEN_LAYERS)
def test_two_hidden_neurons_and_two_outputs(make):
    """All 531,441 networks on exclusive or, which needs both hidden neurons."""
    data = np.array([[0, 0], [3, 3], [3, 0], [0, 3]])
    codes = np.array([[1, -1], [1, -1], [-1, 1], [-1, 1]])
    task = make(Case(data, codes, (2,)), np.random.default_rng(5))
    referee(task, "highs", None)


@given(tasks(), SEEDS)
def test_values_are_what_the_definitions_say(task, seed):
    rng = np.random.default_rng(seed)
    everything = Networks.all_of(task.case)
    worth = task.worth(everything)
    # Feasible networks are rare among random ones.
    chosen = [*rng.integers(len(worth), size=10), *rng.permutation(np.flatnonzero(~np.isnan(worth)))[:5]]
    networks = [everything.network(index, task.case.bound) for index in chosen]
    for network, wanted in zip(networks, worth[chosen], strict=True):
        value = task.goal.value(network)
        if np.isnan(wanted):
            assert value is None
        else:
            assert float(value * task.goal.unit) == pytest.approx(wanted, rel=1e-12)
            beyond = task.goal.trivial - value
            assert beyond >= 0 if task.goal.maximised else beyond <= 0


@given(tasks(), SEEDS)
def test_a_network_is_feasible_in_the_program_exactly_if_it_is_by_definition(task, seed):
    # Inputs that are always zero have no columns; they have tests of their own.
    assume(task.case.data.any(axis=0).all())
    built = task.goal.program()
    rng = np.random.default_rng(seed)
    everything = Networks.all_of(task.case)
    feasible = np.flatnonzero(~np.isnan(task.worth(everything)))
    chosen = [*rng.integers(len(everything.biases[0]), size=3), *rng.permutation(feasible)[:3]]
    for index in chosen:
        # Only Min-Weight has an order of neurons.
        network = built.canonical(everything.network(index, task.case.bound))
        point = built.encode(network)
        assert built.decode(point) == network
        (worth,) = task.worth(Networks.of(network))
        for milp in (built.milp, linearize(built.milp)):
            if np.isnan(worth):
                assert milp.residual(point) > 0.5
            else:
                assert milp.residual(point) < 1e-9
                assert float(milp.cost @ point * task.goal.unit) == pytest.approx(worth, rel=1e-12)


def test_the_hinge_loss_is_reported_in_the_units_of_the_paper():
    case = Case(np.array([[0], [0]]), np.array([[1, -1], [-1, 1]]), (1,))
    report = solve_goal(min_hinge(case, None).goal, start=None, limits=Limits())
    # Equal rows give equal sums s; B is 2, and one row wants y = 1, the other -1:
    # (1/2 - s)^2 + (1/2 + s)^2 per output is smallest at s = 0.
    assert report.objective == 2 * (Fraction(1, 4) + Fraction(1, 4)) == 1
    assert min_hinge(case, None).goal.unit == Fraction(1, 4 * 2**2)


def test_a_neuron_may_not_have_forbidden_signs():
    """One hidden neuron that must copy the class has just two ways to do so."""
    problem = Problem(np.array([[0], [2]]), np.array([[1, -1], [-1, 1]]), (1,)).with_biases()
    signs = np.array([1, -1])
    for forbidden, possible in (([], True), ([signs], True), ([-signs], True), ([signs, -signs], False)):
        report = solve_goal(objectives.feasible(problem, forbidden), start=None, limits=Limits())
        assert report.ran is possible


def test_an_input_that_is_always_zero_keeps_to_its_bounds():
    problem = Problem(np.array([[0, 3], [0, 5]]), np.array([[1, -1], [-1, 1]]), (1,)).with_biases(4)
    low = [np.array([[1, 0], [-1, 0], [-1, 0]]), np.full((2, 2), -1)]
    high = [np.ones((3, 2), dtype=int), np.ones((2, 2), dtype=int)]
    report = solve_goal(objectives.sat_margin(problem, within=(low, high)), start=None, limits=Limits())
    assert report.objective == 4
    assert report.network.weights[0][0].tolist() == [1, 0]


def test_without_biases_confidence_is_still_measured_as_with_one():
    """One hidden neuron and P = 3: B is 6, so a sum of 1 is right and not confident, one of 2 is."""
    problem = Problem(np.array([[1]]), np.array([[1]]), (1,), 3)
    for weight, confident in ((1, 0), (2, 1)):
        network = Network((np.array([[1]]), np.array([[weight]])), 3)
        assert objectives.sat_margin(problem).value(network) == get("sm").value(problem, network) == confident


@pytest.mark.parametrize("make", [objectives.sat_margin, objectives.min_hinge, objectives.min_neurons])
def test_confidence_needs_a_hidden_layer(make):
    with pytest.raises(ValueError, match="at least one hidden layer"):
        make(Problem(np.array([[0], [2]]), np.array([[1], [-1]])).with_biases())


@settings(max_examples=30)
@given(tasks(), SEEDS)
def test_without_time_nothing_is_worse_than_the_start(task, seed):
    start = Networks.random(task.case, np.random.default_rng(seed)).network(0, task.case.bound)
    report = solve_goal(task.goal, start=start, limits=Limits(seconds=0.0))
    (worth,) = task.worth(Networks.of(start))
    (reached,) = task.worth(Networks.of(report.network))
    if np.isnan(reached):
        assert np.isnan(worth)
        assert report.network == start
        assert report.objective is None
    else:
        assert float(report.objective) == pytest.approx(reached)
        assert np.isnan(worth) or (reached >= worth if task.goal.maximised else reached <= worth)
        assert report.objective <= report.bound if task.goal.maximised else report.objective >= report.bound
