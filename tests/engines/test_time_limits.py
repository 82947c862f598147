"""Time limits are kept within a tenth; the clock counts processor time here, so a busy machine changes nothing."""

from __future__ import annotations

import time
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from bemi.engines.decomposition import engine
from bemi.engines.start import initial_network
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import SoftMargin
from bemi.programs import limits
from bemi.programs.limits import Limits


def noisy(rows: int, inputs: int) -> Problem:
    """Sparse bytes with classes that overlap, for soft margins."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (rows, inputs)) * (rng.random((rows, inputs)) < 0.4)
    codes = np.where(data @ rng.normal(size=(inputs, 1)) + rng.normal(size=(rows, 1)) * 600 > 0, 1, -1)
    return Problem(data, codes, (), 7, soft=SoftMargin(Fraction(10), (Fraction(20),), 1, None))


@pytest.mark.parametrize("seconds", [2.0, 3.0])
def test_soft_margins_with_many_rows(monkeypatch, seconds):
    small, large = noisy(60, 20), noisy(4500, 588)
    # Compilation is apart.
    engine.run("ml2", small, start=initial_network(small, 0.0), limits=Limits(seconds=1.0))
    start = initial_network(large, 0.0)
    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=time.process_time))
    began = time.process_time()
    found = engine.run("ml2", large, start=start, limits=Limits(seconds=seconds))
    taken = time.process_time() - began
    assert found.objective is not None
    assert 0.5 * seconds < taken < 1.1 * seconds
