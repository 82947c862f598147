"""Time limits are kept within a tenth; the clock counts processor time here, so a busy machine changes nothing."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bemi import limits as clock
from bemi.engines.decomposition import engine
from bemi.engines.start import initial_network
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import KeepObjective, Problem
from bemi.problem.soft_margin import SoftMargin


def noisy(rows: int, inputs: int) -> Problem:
    """Sparse bytes with classes that overlap, for soft margins."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (rows, inputs)) * (rng.random((rows, inputs)) < 0.4)
    codes = np.where(data @ rng.normal(size=(inputs, 1)) + rng.normal(size=(rows, 1)) * 600 > 0, 1, -1)
    return Problem(data, codes, (), 7, soft=SoftMargin(Fraction(10), (Fraction(20),), 1, None))


@pytest.fixture
def processor_time(monkeypatch):
    # Compilation is apart.
    small = noisy(60, 20)
    engine.run("soft", small, start=initial_network(small, 0.0), limits=Limits(seconds=1.0))
    monkeypatch.setattr(clock, "now", time.process_time)
    # The time of several threads would be added up, and that of threads that wait for a core, too.
    with threadpool_limits(1):
        yield


def test_soft_margins_with_many_rows(processor_time):
    large, seconds = noisy(4500, 588), 2.0
    start = initial_network(large, 0.0)
    began = time.process_time()
    found = engine.run("soft", large, start=start, limits=Limits(seconds=seconds))
    taken = time.process_time() - began
    assert found.objective is not None
    assert 0.5 * seconds < taken < 1.1 * seconds


def test_links_after_soft_margins_with_many_rows(processor_time):
    large, seconds = noisy(4500, 588), 1.0
    start = Network((np.where(large.data.T @ large.codes > 0, 1, -1),), large.weight_bound)
    keep = KeepObjective(large.soft_value(start) * Fraction(101, 100))
    began = time.process_time()
    found = engine.run("mw", large, start=start, keep=keep, limits=Limits(seconds=seconds))
    taken = time.process_time() - began
    assert found.objective is not None
    assert 0.5 * seconds < taken < 1.1 * seconds
