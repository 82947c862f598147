"""Links of listed neurons and pairs: against all networks, and forged proofs."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import AllNetworks

from bemi import BeMiClassifier, save, verify
from bemi.certificate import CertificateError, Rows
from bemi.certificate.neurons import listed_links_bound
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.max_margin import few_splits
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


def halves() -> tuple[Problem, list[np.ndarray]]:
    """Rows whose code is the OR of two half spaces, and the margins of the best network."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 20, (40, 4))
    data[:, -1] += 100
    first, second = data[:, 0] - data[:, 1], data[:, 1] - data[:, 2]
    keep = (first != 0) & (second != 0)
    codes = np.where((first > 0) | (second > 0), 1, -1)
    problem = Problem(data[keep], codes[keep, None], (5,), 1)
    network = few_splits.two_splits(problem, FOREVER).network
    assert network is not None
    return problem, network.margins(problem.data, problem.codes)


PROBLEM, MARGINS = halves()


@pytest.fixture(scope="module")
def proof() -> dict:
    network = few_splits.two_splits(PROBLEM, FOREVER).network
    assert network is not None
    found = smallest_neurons(PROBLEM, network, KeepMargins(tuple(MARGINS)), FOREVER)
    assert found.proof is not None
    assert found.proof["pair"] is not None
    assert found.network is not None
    assert found.bound == found.network.links == checked(PROBLEM, MARGINS, found.proof)
    return found.proof


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p["single"][0].__setitem__(1, p["single"][0][1] + 1), "this margin has fewer links|out of range"),
        (lambda p: p["single"].append([1, 2]), "this margin has fewer links"),
        (lambda p: p["single"].append([1, 0]), "out of range"),
        (lambda p: p["pair"].update(links=p["pair"]["links"] + 1), "a pair of neurons has fewer links"),
        (lambda p: p["pair"].update(wide=1), "a neuron that splits has this margin"),
        (lambda p: p["pair"].update(wide=p["pair"]["wide"] + 1), "bad margin of constant neurons"),
        (lambda p: p["pair"]["rows"].reverse(), "not listed for a row of the other code"),
        (lambda p: p["pair"]["rows"].pop(), "not one row per code"),
        (lambda p: p.update(order=p["order"][1:]), "does not have every input once"),
    ],
)
def test_forged_proofs_are_refused(proof, change, reason):
    forged = copy.deepcopy(proof)
    change(forged)
    with pytest.raises(CertificateError, match=reason):
        checked(PROBLEM, MARGINS, forged)


def test_a_pair_is_not_needed_if_one_neuron_suffices(proof):
    separable = Problem(PROBLEM.data, np.sign(PROBLEM.data[:, :1] - PROBLEM.data[:, 1:2]), (5,), 1)
    with pytest.raises(CertificateError, match="a neuron is right on all rows"):
        checked(separable, MARGINS, proof)


def test_larger_weights_are_listed_where_only_constants_have_the_margin():
    """With P = 15 and eight inputs there are 10^12 neurons, but hardly any has the largest margin."""
    rng = np.random.default_rng(0)
    data = rng.integers(1, 30, (60, 8))
    problem = Problem(data, rng.choice([-1, 1], (60, 1)), (2,), 15)
    margins = [np.array([int(15 * data.sum(axis=1).min())] * 2), np.array([1])]
    network = few_splits.Network((np.full((8, 2), 15), np.full((2, 1), 15)), 15)
    found = smallest_neurons(problem, network, KeepMargins(tuple(margins)), FOREVER)
    assert found.proof is not None
    assert found.bound == 2 * 8 + 1 == checked(problem, margins, found.proof)


def test_a_model_with_such_a_proof_is_verified(tmp_path):
    classifier = BeMiClassifier((5,), stages=("mm", "mw"), node_limit=5, time_limit=None)
    save(classifier.fit(PROBLEM.data, -PROBLEM.codes[:, 0]), tmp_path / "m")
    (reports,) = classifier.reports_.values()
    assert reports["mw"].certificate["kind"] in ("smallest-neurons", "combinations")
    assert verify(tmp_path / "m").certified["mw"] == 1
