"""Dichotomies of classes: their margins against another solver, and codes against all codes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from bemi_lab.baselines.starts import Dichotomies, best_code, separates, widest_neuron
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bemi.limits import FOREVER, Deadline
from bemi.problem import Problem


def drawn(seed: int, classes: int = 4, rows: int = 2, inputs: int = 6, spread: int = 40) -> Problem:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), rows)
    data = rng.integers(-spread, spread, (len(labels), inputs), endpoint=True)
    return Problem(data, np.where(labels[:, None] == np.arange(classes), 1, -1), (4,)).with_biases()


def margin_by_scipy(problem: Problem, signs: np.ndarray) -> float:
    """max m  s.t.  s_k w x^k >= m,  |w_i| <= 1."""
    inputs = problem.data.shape[1]
    rows = np.column_stack([-(signs[:, None] * problem.data), np.ones(len(signs))])
    found = linprog(
        [0.0] * inputs + [-1.0], A_ub=rows, b_ub=np.zeros(len(signs)), bounds=[(-1, 1)] * inputs + [(0, None)]
    )
    return -float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_margins_are_those_of_another_solver_and_what_is_missing_has_none(seed):
    problem = drawn(seed)
    known = Dichotomies(problem, FOREVER)
    assert known.looked_at == 7
    listed = {tuple(signs): margin for signs, margin in zip(known.signs.tolist(), known.margins, strict=True)}
    for positive in range(7):
        signs = np.array([1, *(2 * ((positive >> i) & 1) - 1 for i in range(3))])
        margin = margin_by_scipy(problem, signs[known.labels])
        if tuple(signs.tolist()) in listed:
            assert listed[tuple(signs.tolist())] == pytest.approx(margin, rel=1e-6)
        else:
            assert margin < 1


@pytest.mark.parametrize("seed", range(6))
def test_neurons_have_the_signs_of_their_dichotomy(seed):
    known = Dichotomies(drawn(seed), FOREVER)
    found = 0
    for index, signs in enumerate(known.signs):
        neuron = known.neuron(index)
        if neuron is not None:
            found += 1
            assert np.abs(neuron).max() <= 1
            assert (signs[known.labels] * (known.problem.data @ neuron) >= 1).all()
    assert found >= 1


def test_a_neuron_never_becomes_worse_than_its_start():
    problem = drawn(0, rows=3, inputs=30)
    known = Dichotomies(problem, FOREVER)
    signs = known.signs[0][known.labels]
    first, margin = widest_neuron(known.program, signs, proposals=1000)
    again, wider = widest_neuron(known.program, signs, start=first, proposals=5000, seed=1)
    assert wider >= margin == (signs * (problem.data @ first)).min()
    assert wider == (signs * (problem.data @ again)).min()


def test_without_time_there_are_no_dichotomies():
    assert len(Dichotomies(drawn(0), Deadline.after(0.0)).signs) == 0


def test_many_classes_have_single_classes_and_halves():
    problem = drawn(0, classes=12, rows=1, inputs=60)
    known = Dichotomies(problem, FOREVER)
    sizes = (known.signs > 0).sum(axis=1)
    assert set(sizes.tolist()) == {1, 6}
    assert (sizes == 1).sum() == 12
    assert len(np.unique(known.signs, axis=0)) == len(known.signs)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 2))
def test_codes_keep_their_distance_and_are_found_where_they_exist(seed, length, distance):
    rng = np.random.default_rng(seed)
    signs = np.unique(np.where(rng.random((9, 4)) < 0.5, 1, -1), axis=0)
    apart = separates(signs)
    possible = [c for c in combinations(range(len(signs)), length) if apart[list(c)].sum(axis=0).min() >= distance]
    found = best_code(signs, length, distance=distance, seed=seed, starts=30)
    if found is None:
        assert not possible
    else:
        assert tuple(sorted(found.tolist())) in possible


@pytest.mark.parametrize("seed", range(10))
def test_the_cheapest_code_of_few(seed):
    rng = np.random.default_rng(seed)
    signs = np.array([[1, *(2 * ((n >> i) & 1) - 1 for i in range(3))] for n in range(7)])
    prices, gains = rng.random(7), rng.random(7)
    prices[2] = np.inf

    def cost(code) -> float:
        apart = separates(signs[list(code)])
        if apart.sum(axis=0).min() < 1:
            return np.inf
        return prices[list(code)].sum() + np.exp(-(apart * gains[list(code), None]).sum(axis=0)).sum()

    best = min(map(cost, combinations(range(7), 3)))
    found = best_code(signs, 3, distance=1, gains=gains, prices=prices, starts=20)
    assert cost(found) == pytest.approx(best)
    assert 2 not in found


def test_classes_that_no_dichotomy_separates_have_no_code():
    assert best_code(np.array([[1, 1, -1], [1, 1, -1]]), 2, distance=1) is None
    assert best_code(np.array([[1, 1, -1]]), 2, distance=1) is None
