"""Searches look at the clock often, and stop when the time is up; a busy machine changes nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from strategies import run_only

from bemi import Network, limits
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.lists import combination
from bemi.limits import Limits
from bemi.problem import KeepObjective, Problem, SoftMargin


def noisy(rows: int, inputs: int) -> Problem:
    """Sparse bytes with classes that overlap, for soft margins."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (rows, inputs)) * (rng.random((rows, inputs)) < 0.4)
    codes = np.where(data @ rng.normal(size=(inputs, 1)) + rng.normal(size=(rows, 1)) * 600 > 0, 1, -1)
    return Problem(data, codes, (), 7, soft=SoftMargin(Fraction(10), (Fraction(20),), 1, None))


class Clock:
    """Goes on by a hundredth of a second whenever somebody looks, however fast the machine is."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks / 100


@pytest.fixture
def clock(monkeypatch):
    ticking = Clock()
    monkeypatch.setattr(limits, "now", ticking)
    return ticking


def test_soft_margins_with_many_rows(clock):
    large, seconds = noisy(4500, 588), 2.0
    start = initial_network(large, 0.0)
    clock.looks = 0
    report = engine.run("soft", large, start=start, limits=Limits(seconds=seconds))
    assert report.objective is not None
    assert 50 * seconds < clock.looks < 110 * seconds


def test_links_after_soft_margins_with_many_rows(clock):
    large, seconds = noisy(4500, 588), 1.0
    start = Network((np.where(large.data.T @ large.codes > 0, 1, -1),), large.weight_bound)
    keep = KeepObjective(large.soft_value(start) * Fraction(101, 100))
    clock.looks = 0
    report = engine.run("mw", large, start=start, keep=keep, limits=Limits(seconds=seconds))
    assert report.objective is not None
    assert 50 * seconds < clock.looks < 110 * seconds


def test_largest_margins_by_lists(clock, monkeypatch):
    monkeypatch.setattr(combination, "STEPS", 100)
    rng = np.random.default_rng(0)
    problem = Problem(rng.integers(-10, 11, (30, 14)), rng.choice([-1, 1], (30, 1)), (3,), 1)
    start, seconds = initial_network(problem), 1.0
    clock.looks = 0
    run_only("mm", "lists", problem=problem, start=start, limits=Limits(seconds=seconds))
    assert 50 * seconds < clock.looks < 110 * seconds
