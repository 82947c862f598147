"""Networks from many starts: with constants where inputs have one sign, and never worse than what is known."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import run_only

from bemi.engines import initial_network
from bemi.engines.decomposition.max_margin import restarts
from bemi.limits import Limits
from bemi.problem import Problem, sum_of_margins


@pytest.mark.parametrize("hidden", [(3,), (4, 4)])
def test_constants_are_found_where_two_neurons_that_split_suffice(hidden, monkeypatch):
    monkeypatch.setattr(restarts, "PATIENCE", 4)
    rng = np.random.default_rng(3)
    data = rng.integers(1, 256, (30, 12)) * (rng.random((30, 12)) < 0.5)
    sums = data @ rng.integers(-1, 2, (12, 2))
    data, sums = data[(sums != 0).all(axis=1)], sums[(sums != 0).all(axis=1)]
    codes = np.where((sums > 0).all(axis=1, keepdims=True), 1, -1)
    problem = Problem(data, codes, hidden, 1)
    constant = int(data.sum(axis=1).min())
    found = run_only("mm", "restarts", problem=problem, start=initial_network(problem), limits=Limits(nodes=200))
    assert found.objective == sum_of_margins(problem, found.network) > (hidden[0] - 2) * constant
    again = run_only("mm", "restarts", problem=problem, start=found.network, limits=Limits(nodes=1))
    assert again.objective >= found.objective
