"""Searches look at the clock often, and stop when the time is up; a busy machine changes nothing."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from strategies import run_only

from bemi import Network, limits
from bemi.engines import Finding, initial_network, monolithic
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.lists import combination
from bemi.engines.decomposition.sat_margin.annealing import with_margins
from bemi.engines.portfolio import observed
from bemi.limits import Limits
from bemi.problem import KEEP_LABELS, KeepMargins, KeepObjective, Problem, SoftMargin
from bemi.stages import Outcome


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


STAGES = ("sm", "mm", "mw", "labels", "soft", "soft links")
"""Every stage, and Min-Weight with each kind of what must be kept."""

LOOKS_AFTER = 25
"""Looks at the clock after the limit: some by each search, which then ends."""


@functools.cache
def stage(name: str) -> dict[str, Any]:
    """What a stage is run with, on rows that leave its gap open for long."""
    if name.startswith("soft"):
        problem = noisy(400, 60)
        start = initial_network(problem, 0.0)
        keep = KeepObjective(problem.soft_value(start) * Fraction(101, 100)) if name == "soft links" else KEEP_LABELS
        return {"stage": "mw" if name == "soft links" else "soft", "problem": problem, "start": start, "keep": keep}
    rng = np.random.default_rng(3)
    data = rng.integers(0, 60, (200 if name == "sm" else 60, 24))
    sums = data @ rng.integers(-3, 4, (24, 3))
    codes = np.where((sums > 0).sum(axis=1, keepdims=True) > 1, 1, -1)
    codes[: len(codes) // 3 if name == "sm" else 6] *= -1
    problem = Problem(data, codes, (5,), 3)
    start = with_margins(problem, initial_network(problem), proposals=1_000_000)
    if name == "sm":
        return {"stage": name, "problem": problem, "start": initial_network(problem), "keep": KEEP_LABELS}
    seen = problem.rows(problem.confident_rows(start))
    keep = KeepMargins(tuple(start.margins(seen.data, seen.codes))) if name == "mw" else KEEP_LABELS
    return {"stage": "mw" if name == "labels" else name, "problem": seen, "start": start, "keep": keep}


@pytest.mark.parametrize("name", STAGES)
def test_a_time_limit_means_the_same_for_every_stage(name, clock, monkeypatch):
    """Searches stop at the limit; the solver's clock is its own."""
    monkeypatch.setattr(monolithic, "solve", lambda *_: Finding())
    run = stage(name)
    clock.looks = 0
    report = engine.run(**run, limits=Limits(seconds=1.0))
    assert report.ran
    assert clock.looks < 100 + LOOKS_AFTER
    assert report.gap > 0
    # It used its time, or says why not.
    assert report.message
    assert clock.looks >= 90 or report.message != Outcome.LIMIT.sentence


@pytest.mark.parametrize("name", STAGES)
def test_a_gap_means_the_same_for_every_stage(name, clock, monkeypatch):
    """A stage succeeds just if its relative gap is within the one asked for, and starts no search once it is."""
    monkeypatch.setattr(monolithic, "solve", lambda *_: Finding())
    run = stage(name)
    searches = []
    for gap in (0.0, 1e9):
        with observed() as contributions:
            report = engine.run(**run, limits=Limits(seconds=1.0, gap=gap))
        difference = abs(report.bound - report.objective)
        assert report.gap == pytest.approx(float(difference / max(1, abs(report.objective))))
        assert report.outcome.successful == (report.gap <= gap)
        assert (not report.message) == report.outcome.successful
        assert all(each.gap_before > gap for each in contributions)
        searches.append(len(contributions))
    assert 1 <= searches[1] <= searches[0]
