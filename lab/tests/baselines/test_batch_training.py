"""Batch training: what every batch is asked, and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from bemi_lab.baselines import improvement
from bemi_lab.baselines.improvement import BATCHES, EPOCHS, train_in_batches

from bemi import Network
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import StageResult

from .brute_force import Case, Networks


def blobs(rows=(6, 5, 7), bound: int = 1, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), rows)
    corners = np.array([[9000, 1000], [1000, 9000], [8000, 8000]])
    data = corners[labels] + rng.integers(-1000, 1000, (len(labels), 2))
    return Case(data, np.where(labels[:, None] == np.arange(3), 1, -1), (3,), bound, unit=10_000)


@dataclass
class Batch:
    """One program as it was asked and answered."""

    problem: Problem
    low: list[np.ndarray]
    high: list[np.ndarray]
    start: Network
    limits: Limits
    found: Network


@pytest.fixture
def asked(monkeypatch) -> list[Batch]:
    """Every batch, as training comes to it."""
    seen: list[Batch] = []
    bounds = []
    honest_goal, honest_solve = improvement.sat_margin, improvement.solve_goal

    def sat_margin(problem, *, within=None):
        bounds.append(within)
        return honest_goal(problem, within=within)

    def solve_goal(goal, *, start, limits, solver) -> StageResult:
        report = honest_solve(goal, start=start, limits=limits, solver=solver)
        seen.append(Batch(goal.problem, *bounds[-1], start, limits, report.network))
        return report

    monkeypatch.setattr(improvement, "sat_margin", sat_margin)
    monkeypatch.setattr(improvement, "solve_goal", solve_goal)
    return seen


def train(case: Case, **limits) -> StageResult:
    (report,) = train_in_batches(case.problem, Limits(**limits), "highs")
    return report


def rows_of(problem: Problem) -> list[tuple]:
    return sorted(map(tuple, np.concatenate([problem.data, problem.codes], axis=1).tolist()))


def in_epochs(asked: list[Batch]) -> list[list[Batch]]:
    assert len(asked) == EPOCHS * BATCHES
    return [asked[i : i + BATCHES] for i in range(0, len(asked), BATCHES)]


def test_every_epoch_sees_all_rows_once_and_batches_are_even_in_classes(asked):
    case = blobs()
    train(case, nodes=5)
    dealt = []
    for epoch in in_epochs(asked):
        together = [row for batch in epoch for row in rows_of(batch.problem)]
        assert sorted(together) == rows_of(case.problem)
        counts = np.array([(batch.problem.codes > 0).sum(axis=0) for batch in epoch])
        assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
        assert np.ptp(counts.sum(axis=1)) <= 1
        dealt.append(sorted(map(rows_of, (batch.problem for batch in epoch))))
    assert dealt[0] != dealt[1]


# With the seeds 21 and 26, averages come to lie further from all integers than the last distance.
@pytest.mark.parametrize(("bound", "seed"), [(1, 0), (1, 21), (1, 26), (3, 0)])
def test_bounds_close_in_around_the_average(asked, bound, seed):
    case = blobs(bound=bound, seed=seed)
    train(case, nodes=5, seed=seed)
    mean = [np.zeros_like(w, dtype=float) for w in asked[0].found.weights]
    for number, epoch in enumerate(in_epochs(asked)):
        distance = bound * (1 - number / EPOCHS)
        for batch in epoch:
            layers = zip(batch.low, batch.high, mean, batch.start.weights, batch.found.weights, strict=True)
            for low, high, middle, start, found in layers:
                assert np.array_equal(start, np.rint(middle))
                for weights in (low, high):
                    # Nothing lies further away than the distance, except the nearest integer.
                    assert (np.abs(weights - middle) <= np.maximum(distance, 0.5) + 1e-9).all()
                    assert (np.abs(weights) <= bound).all()
                assert (low <= start).all()
                assert (start <= high).all()
                assert (low <= found).all()
                assert (found <= high).all()
        # The average of the epoch, by rows of all data that each network puts into the right class.
        right = []
        for batch in epoch:
            sums = Networks.of(batch.found).sums(case)[-1][0]
            right.append((sums.argmax(axis=1) == case.codes.argmax(axis=1)).sum())
        assert sum(right) > 0
        mean = [
            sum(share * batch.found.weights[layer] for share, batch in zip(right, epoch, strict=True)) / sum(right)
            for layer in range(2)
        ]


def test_the_first_epoch_is_free(asked):
    train(blobs(rows=(2, 2, 2), bound=2), nodes=1)
    for batch in asked[:BATCHES]:
        assert all((low == -2).all() and (high == 2).all() for low, high in zip(batch.low, batch.high, strict=True))
        assert not any(w.any() for w in batch.start.weights)


def test_the_best_network_comes_back_with_its_true_value(asked):
    case = blobs()
    report = train(case, nodes=5)
    value = Networks.of(report.network).confident(case)[0]
    assert report.objective == value
    assert value >= max(Networks.of(batch.found).confident(case)[0] for batch in asked)
    assert report.bound == case.codes.size
    assert report.rows == len(case.data)
    assert report.links == Networks.of(report.network).links()
    assert report.message == "12 batches"


def test_the_result_beats_a_constant_answer():
    case = blobs()
    assert train(case, nodes=50).objective > (case.codes < 0).sum()


def test_a_seed_and_a_node_limit_give_the_same_network_every_time(asked):
    case = blobs()
    assert train(case, nodes=1, seed=3).network == train(case, nodes=1, seed=3).network
    first, again = asked[:BATCHES], asked[EPOCHS * BATCHES :][:BATCHES]
    assert [rows_of(a.problem) for a in first] == [rows_of(b.problem) for b in again]
    train(case, nodes=1, seed=4)
    assert [rows_of(a.problem) for a in first] != [rows_of(b.problem) for b in asked[-EPOCHS * BATCHES :][:BATCHES]]


def test_time_is_shared_out_over_all_batches(asked, looks):
    report = train(blobs(), seconds=1200.0, nodes=1)
    assert asked[0].limits.seconds == pytest.approx(1200 / (EPOCHS * BATCHES), rel=0.1)
    assert report.seconds < 1200
    assert all(batch.limits.seconds <= 1200 for batch in asked)


def test_fewer_rows_than_batches(asked):
    case = blobs(rows=(1, 1, 1))
    report = train(case, nodes=5)
    assert len(asked) == 3 * EPOCHS
    assert report.network is not None


@pytest.mark.parametrize("seed", [0, 5, 6, 7])
def test_inputs_that_only_some_batches_have(seed):
    """An input may be zero in every row of a batch while the average asks for a weight other than 0."""
    labels = np.arange(8) % 2
    data = 10_000 * (np.random.default_rng(seed).random((8, 4)) < 0.6)
    data[:, 0] = 10_000 * (labels == 0)
    case = Case(data, np.where(labels[:, None] == np.arange(2), 1, -1), (1,), unit=10_000)
    report = train(case, nodes=20, seed=seed)
    assert report.objective == Networks.of(report.network).confident(case)[0]
