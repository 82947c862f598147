"""Max-Margin with several outputs: brute force on tiny problems, and upper layers that can use the first one."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import AllNetworks
from strategies import run_only

from bemi.certificate import Rows
from bemi.certificate.margins import MarginProof
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.limits import Limits
from bemi.problem import Problem, class_codes
from bemi.stages import get
from bemi.training import train


def tiny(seed: int) -> Problem:
    """Two to five codes of two or three outputs, at most 3^10 networks."""
    rng = np.random.default_rng(seed)
    hidden, inputs, outputs = [((2,), 2, 2), ((3,), 1, 2), ((1, 2), 1, 2), ((2,), 2, 3), ((2, 2), 1, 2)][seed % 5]
    codes = class_codes(1 << outputs)
    labels = rng.integers(0, min(len(codes), int(rng.integers(2, 6))), int(rng.integers(2, 6)))
    data = rng.integers(-6, 9, (len(labels), inputs))
    if seed % 2:
        # Each output the sign of an input, so that many of these have networks.
        codes_of = np.where(data >= 0, 1, -1)[:, np.arange(outputs) % inputs]
        return Problem(data, codes_of, hidden, 1)
    return Problem(data, codes[labels], hidden, 1)


def proved(problem: Problem, proof: dict) -> int:
    distinct = distinct_rows(problem)
    rows = Rows(distinct.data.tolist(), distinct.codes.tolist(), distinct.layers, distinct.weight_bound)
    return MarginProof(rows, proof).bound()


@pytest.mark.parametrize("part", range(4))
def test_tiny_problems_equal_brute_force(part):
    feasible = 0
    for seed in range(50 * part, 50 * part + 50):
        problem = tiny(seed)
        best = AllNetworks.of(problem).best("mm")
        start = initial_network(problem)
        own = run_only("mm", "dichotomies", problem=problem, start=start, limits=Limits(nodes=200))
        assert best is None or own.bound is None or own.bound >= best
        if own.certificate is not None:
            assert (best or 0) <= proved(problem, own.certificate) <= own.bound
        report = engine.run("mm", problem, start=start, limits=Limits())
        assert report.objective == best
        assert best is None or report.bound == best
        feasible += best is not None
    assert feasible > 5


def test_six_classes_find_upper_layers_for_wide_margins():
    """One neuron stays constant; without upper layers that fit, all four would have to split."""
    rng = np.random.default_rng(0)
    centres = rng.integers(20, 200, (10, 60))
    data = np.concatenate([np.clip(c + rng.integers(-20, 21, (3, 60)), 0, 255) for c in centres])
    problem = Problem(data, np.repeat(class_codes(10), 3, axis=0), (4, 4), 1)
    training = train(problem, ("sm", "mm"), time_limit=None, limits=Limits(nodes=100))
    report = training.reports["mm"]
    assert report.rows == 18
    seen = problem.rows(problem.confident_rows(training.reports["sm"].network))
    assert report.objective == get("mm").value(seen, report.network) <= report.bound
    assert proved(seen, report.certificate) == report.bound
    margins = report.network.margins(seen.data, seen.codes)
    assert margins[0].max() == np.abs(seen.data).sum(axis=1).min()
