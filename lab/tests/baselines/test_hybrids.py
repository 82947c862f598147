"""Hybrids: margins for given activations, and the three ways to come by activations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from bemi_lab.baselines import margins
from bemi_lab.baselines.margins import by_class, fixed_activations, margins_by_programs, warm_started
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi import Network, solvers
from bemi.limits import Limits
from bemi.stages import Outcome

from .brute_force import Case, Networks, cases, largest_margin, signs_and_margins, without_limit

needs_cp = pytest.mark.skipif("cpsat" not in solvers.installed(), reason="solver cpsat is not installed")


@settings(max_examples=40)
@given(cases(), st.integers(0, 2**32 - 1))
def test_every_neuron_gets_the_largest_margin_that_keeps_its_signs(case, seed):
    network = Networks.random(case, np.random.default_rng(seed)).network(0, case.bound)
    before, smaller = signs_and_margins(case, network)
    case = replace(case, codes=before[-1])
    after, larger = signs_and_margins(case, margins_by_programs(case.problem, network, without_limit, "highs"))
    inputs = [case.data, *before[:-1]]
    for layer, signs in enumerate(before):
        assert np.array_equal(after[layer], signs)
        assert (larger[layer] >= smaller[layer]).all()
        best = [largest_margin(inputs[layer], case.unit if layer == 0 else 1, s, case.bound) for s in signs.T]
        assert larger[layer].tolist() == pytest.approx(best)


def test_every_neuron_has_an_equal_part_of_what_is_left():
    case = Case(np.array([[3, 0], [0, 3]]), np.array([[1, -1], [-1, 1]]), (2, 1))
    network = Networks.random(case, np.random.default_rng(0)).network(0, 1)
    asked = []

    def share(parts: int) -> Limits:
        asked.append(parts)
        return Limits()

    margins_by_programs(case.problem, network, share, "highs")
    assert asked == [5, 4, 3, 2, 1]


def blobs(classes: int = 3, rows: int = 2, hidden: tuple[int, ...] = (3,)) -> Case:
    """Rows around one corner of a cube per class, all far from zero."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(classes), rows)
    corners = np.array(list(product((-20, 20), repeat=3)))[[0, 3, 5, 6]]
    data = corners[labels] + rng.integers(-4, 4, (len(labels), 3), endpoint=True)
    return Case(data, np.where(labels[:, None] == np.arange(classes), 1, -1), hidden)


@needs_cp
@pytest.mark.parametrize("train", [warm_started, fixed_activations, by_class])
def test_all_rows_are_right_and_margins_grow(train):
    case = blobs(hidden=(3, 2))
    first, second = train(case.problem, Limits(nodes=100), "highs")
    assert (first.stage, second.stage) == ("feasible", "max-margin")
    totals = []
    for report in (first, second):
        nets = Networks.of(report.network)
        assert nets.right(case)
        assert report.links == nets.links()
        assert report.rows == len(case.data)
        totals.append(nets.margins(case, step=0.001)[0])
    assert first.objective == 0
    assert float(second.objective) == pytest.approx(totals[1], rel=1e-9)
    assert totals[1] >= totals[0]
    assert second.bound >= second.objective
    if train is not warm_started:
        for before, after in zip(*(signs_and_margins(case, r.network)[0] for r in (first, second)), strict=True):
            assert np.array_equal(before, after)


@needs_cp
def test_activations_by_class_are_the_same_for_all_rows_of_a_class():
    case = blobs(classes=4)
    _, report = by_class(case.problem, Limits(nodes=200), "highs")
    assert Networks.of(report.network).right(case)
    for signs in signs_and_margins(case, report.network)[0]:
        for label in range(4):
            assert len(np.unique(signs[case.codes[:, label] > 0], axis=0)) == 1


@needs_cp
def test_signs_that_no_neuron_can_have_are_forbidden(monkeypatch):
    """Four classes in the four quadrants: no neuron tells both diagonals apart."""
    corners = np.array([[9, 9], [9, -9], [-9, 9], [-9, -9]])
    labels = np.repeat(np.arange(4), 3)
    data = corners[labels] + np.random.default_rng(2).integers(-3, 3, (12, 2), endpoint=True)
    case = Case(data, np.where(labels[:, None] == np.arange(4), 1, -1), (2,))
    upwards, diagonal = np.array([1, -1, 1, -1]), np.array([1, -1, -1, 1])
    # A network on classes that is right, and that no network on rows can follow.
    first = np.zeros((5, 3))
    first[:4, 0], first[:4, 1] = upwards, diagonal
    misleading = Network((first, np.stack([upwards, diagonal, -np.ones(4)])))
    honest, values = margins.find, []

    def find(goal, limits):
        values.append(goal.value(misleading))
        report = honest(goal, limits)
        return replace(report, network=misleading) if len(values) == 1 else report

    monkeypatch.setattr(margins, "find", find)
    reports = by_class(case.problem, Limits(nodes=200), "highs")
    nets = Networks.of(reports[-1].network)
    assert nets.right(case)
    signs = nets.sums(case)[0][0] >= 0
    assert all(not np.array_equal(s, d) for s in signs.T for d in (diagonal[labels] > 0, diagonal[labels] < 0))
    assert values[:2] == [0, None]


@needs_cp
def test_contradictions_end_the_search_by_class_without_a_claim_about_other_networks():
    case = Case(np.array([[1, 2], [1, 2]]), np.array([[1, -1], [-1, 1]]), (2,))
    (report,) = by_class(case.problem, Limits(), "highs")
    assert report.network is None
    assert report.outcome is Outcome.INFEASIBLE
    assert report.message.startswith(Outcome.INFEASIBLE.sentence)
    assert "rounding" in report.message


@needs_cp
@pytest.mark.parametrize("train", [warm_started, fixed_activations, by_class])
def test_without_time_there_is_no_network(train):
    (report,) = train(blobs().problem, Limits(seconds=1e-6), "highs")
    assert report.network is None
    assert report.objective is None
    assert "within its limit" in report.message


def test_activations_by_class_need_a_hidden_layer():
    with pytest.raises(ValueError, match="need a hidden layer"):
        by_class(blobs(hidden=()).problem, Limits(), "highs")
