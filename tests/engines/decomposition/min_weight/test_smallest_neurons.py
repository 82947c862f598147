"""Links of the smallest neurons, against all networks."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import AllNetworks

from bemi import Network
from bemi.certificate import Rows
from bemi.certificate.neurons import listed_links_bound
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.min_weight.enumeration import smallest_neurons
from bemi.limits import FOREVER, Limits
from bemi.problem import KeepMargins, Problem


def checked(problem: Problem, margins: list[np.ndarray], proof: dict) -> int:
    rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound)
    return listed_links_bound(rows, [m.tolist() for m in margins], proof)


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.sampled_from(((2, (3,), 1), (3, (2,), 1), (1, (3,), 2), (2, (2, 1), 1))),
    rows=st.integers(1, 8),
    seed=st.integers(0, 10**6),
    low=st.sampled_from((-6, 0)),
)
def test_the_bound_holds_for_all_networks(sizes, rows, seed, low):
    inputs, hidden, bound = sizes
    rng = np.random.default_rng(seed)
    problem = Problem(rng.integers(low, 9, (rows, inputs)), rng.choice([-1, 1], (rows, 1)), hidden, bound)
    report = engine.run("mm", problem, start=initial_network(problem), limits=Limits())
    assume(report.ran)
    margins = report.network.margins(problem.data, problem.codes)
    keep = KeepMargins(tuple(margins))
    found = smallest_neurons(problem, report.network, keep, FOREVER)
    best = AllNetworks.of(problem).best("mw", margins)
    assert found.bound <= best
    assert found.network is None or keep.holds(problem, found.network)
    assert found.proof is None or checked(problem, margins, found.proof) == found.bound


def test_larger_weights_are_listed_where_only_constants_have_the_margin():
    """With P = 15 and eight inputs there are 10^12 neurons, but hardly any has the largest margin."""
    rng = np.random.default_rng(0)
    data = rng.integers(1, 30, (60, 8))
    problem = Problem(data, rng.choice([-1, 1], (60, 1)), (2,), 15)
    margins = [np.array([int(15 * data.sum(axis=1).min())] * 2), np.array([1])]
    network = Network((np.full((8, 2), 15), np.full((2, 1), 15)), 15)
    found = smallest_neurons(problem, network, KeepMargins(tuple(margins)), FOREVER)
    assert found.proof is not None
    assert found.bound == 2 * 8 + 1 == checked(problem, margins, found.proof)
