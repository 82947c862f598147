"""Two neurons that split: neurons against all weight vectors, bounds against all networks, forged proofs."""

from __future__ import annotations

import copy
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import AllNetworks

from bemi import BeMiClassifier, Network, save, verify
from bemi.certificate import CertificateError, Rows
from bemi.certificate.neurons import splits_bound
from bemi.engines import observed
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.max_margin import few_splits
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.neuron import exhaustive
from bemi.limits import FOREVER, Limits
from bemi.problem import Problem, sum_of_margins
from bemi.stages import Outcome


def checked(problem: Problem, proof: dict) -> int:
    distinct = distinct_rows(problem)
    rows = Rows(distinct.data.tolist(), distinct.codes.tolist(), distinct.layers, distinct.weight_bound)
    return splits_bound(rows, proof)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("inputs", "bound", "level"), [(5, 1, 0), (3, 2, 2), (2, 5, 4)])
def test_neurons_are_all_with_these_signs_and_margins(inputs, bound, level, constant):
    rng = np.random.default_rng(inputs)
    data = rng.integers(0, 9, (7, inputs))
    data[5:, 0] -= 12
    signs = np.array([1, 1, 0, 0, 0, 0, 0])
    expected = set()
    for weights in product(range(-bound, bound + 1), repeat=inputs):
        sums = data @ np.array(weights)
        kept = (np.abs(sums) > level).all() and (sums * signs >= 0).all()
        if kept and (constant or (sums.min() < 0 < sums.max())):
            expected.add((weights, int(np.abs(sums).min())))
    found = exhaustive.neurons(data, signs, bound, level=level, room=10_000, constant=constant)
    assert found.complete
    assert {(tuple(w), m) for w, m in zip(found.weights.T.tolist(), found.margins.tolist(), strict=True)} == expected
    few = exhaustive.neurons(data, signs, bound, level=level, room=2, constant=constant)
    assert sorted(few.margins.tolist()) == sorted(m for _, m in expected)[-2:]
    assert not exhaustive.neurons(data, signs, bound, most_nodes=3).complete


@settings(max_examples=150, deadline=None)
@given(rows=st.integers(2, 9), bound=st.sampled_from((1, 2)), seed=st.integers(0, 10**6), low=st.sampled_from((-6, 0)))
def test_the_bound_holds_for_all_networks(rows, bound, seed, low):
    rng = np.random.default_rng(seed)
    inputs, hidden = (2, 3) if bound == 1 else (1, 3)
    data = rng.integers(low, 9, (rows, inputs))
    problem = Problem(data, rng.choice([-1, 1], (rows, 1)), (hidden,), bound)
    assume(few_splits.applicable(problem))
    found = few_splits.two_splits(problem, FOREVER)
    assume(found.bound is not None)
    assert checked(problem, found.proof) == found.bound
    best = AllNetworks.of(problem).best("mm")
    assert best is None or best <= found.bound
    assert found.network is None or sum_of_margins(problem, found.network) <= best


def test_where_splitting_neurons_have_the_larger_margins_there_is_no_bound():
    rng = np.random.default_rng(41)
    problem = Problem(rng.integers(-6, 9, (3, 2)), rng.choice([-1, 1], (3, 1)), (3,), 1)
    found = few_splits.two_splits(problem, FOREVER)
    assert found.bound is None
    assert sum_of_margins(problem, found.network) == AllNetworks.of(problem).best("mm")


def stripes(rows: int = 40, inputs: int = 4, hidden: int = 5, bound: int = 1) -> Problem:
    """Rows whose code is the OR of two half spaces, with a large common part, so that constants have large margins."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 20, (rows, inputs))
    data[:, -1] += 100
    first, second = data[:, 0] - data[:, 1], data[:, 1] - data[:, 2]
    keep = (first != 0) & (second != 0)
    codes = np.where((first > 0) | (second > 0), 1, -1)
    return Problem(data[keep], codes[keep, None], (hidden,), bound)


PROBLEM = stripes()


def test_the_best_pair_is_found_and_proved():
    found = few_splits.two_splits(PROBLEM, FOREVER)
    assert found.network is not None
    assert found.bound == sum_of_margins(PROBLEM, found.network) == checked(PROBLEM, found.proof)


def test_the_stage_returns_it_at_once():
    split = Network(
        (np.array([[1, 1, 0, 0, 0], [-1, 0, 1, 0, 0], [0, -1, -1, 0, 0], [0, 0, 0, 1, 1]]), np.ones((5, 1), int))
    )
    with observed(without={"lists"}):
        report = engine.run("mm", PROBLEM, start=split, limits=Limits(seconds=20))
    assert report.outcome is Outcome.OPTIMAL
    assert report.proof == "certified"
    assert report.bound == checked(PROBLEM, report.certificate)


def test_larger_weights_use_the_same_pairs():
    """With P = 15 not all weights can be tried, but multiples of 15 can: the same network with larger margins."""
    small, large = few_splits.two_splits(PROBLEM, FOREVER), few_splits.two_splits(stripes(inputs=8, bound=15), FOREVER)
    assert small.bound is not None
    assert large.bound is None
    assert large.network is not None
    assert sum_of_margins(stripes(inputs=8, bound=15), large.network) is not None


def test_a_walk_finds_a_pair_that_needs_larger_weights():
    """Half spaces with weights of 2 and 3, which no ternary neurons replace."""
    rng = np.random.default_rng(3)
    data = rng.integers(0, 30, (80, 5))
    sums = data @ np.array([[3, -2], [-2, 3], [0, -2], [-2, 0], [1, 1]])
    data, sums = data[(sums != 0).all(axis=1)], sums[(sums != 0).all(axis=1)]
    codes = np.where((sums > 0).any(axis=1), 1, -1)
    assert few_splits.annealed_pair(data, codes, 1, seed=0, deadline=FOREVER) is None
    found = few_splits.annealed_pair(data, codes, 3, seed=0, deadline=FOREVER)
    assert found is not None
    weights, side = found
    right = codes[:, None] * (data @ weights) > 0
    assert right[codes == side].all()
    assert right.any(axis=1).all()
    assert (data @ weights != 0).all()
    again = few_splits.annealed_pair(data, codes, 3, seed=0, deadline=FOREVER)
    assert again is not None
    assert (again[0] == weights).all()
    network = few_splits.of_two(weights, side, np.full((5, 1), 3), Problem(data, codes[:, None], (4,), 3))
    assert sum_of_margins(Problem(data, codes[:, None], (4,), 3), network) is not None


@pytest.fixture(scope="module")
def proof() -> dict:
    found = few_splits.two_splits(PROBLEM, FOREVER)
    assert found.proof is not None
    return found.proof


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p.update(constant=p["constant"] - 1), "a constant neuron has a larger margin"),
        (lambda p: p.update(other=p["other"] - 1), "a neuron that splits has a larger margin"),
        (lambda p: p["pairs"][1].__setitem__(1, p["pairs"][1][1] - 1), "a pair of neurons has larger margins"),
        (lambda p: p["pairs"][1].__setitem__(1, 0), "a pair of neurons has larger margins"),
        (lambda p: p["pairs"].reverse(), "not listed for a row of the other code"),
        (lambda p: p["pairs"].pop(), "not one entry per code"),
        (lambda p: p.update(order=p["order"][1:]), "does not have every input once"),
        (lambda p: p.update(other=p["constant"] + 1), "bad margin of other neurons"),
        (lambda p: p.update(constant=True), "bad margin of constant neurons"),
    ],
)
def test_forged_proofs_are_refused(proof, change, reason):
    forged = copy.deepcopy(proof)
    change(forged)
    with pytest.raises(CertificateError, match=reason):
        checked(PROBLEM, forged)


def test_separable_rows_are_refused(proof):
    separable = Problem(PROBLEM.data, np.sign(PROBLEM.data[:, :1] - PROBLEM.data[:, 1:2]), (5,), 1)
    with pytest.raises(CertificateError, match="a neuron is right on all rows"):
        checked(separable, proof)
    constant = Problem(PROBLEM.data, np.ones_like(PROBLEM.codes), (5,), 1)
    with pytest.raises(CertificateError, match="two codes"):
        checked(constant, proof)
    deep = Problem(PROBLEM.data, PROBLEM.codes, (5, 2), 1)
    with pytest.raises(CertificateError, match="one hidden layer"):
        checked(deep, proof)


def test_the_work_of_the_checker_is_limited(proof, monkeypatch):
    monkeypatch.setattr("bemi.certificate.neurons._MOST_NODES", 20)
    with pytest.raises(CertificateError, match="too many neurons to try"):
        checked(PROBLEM, proof)


def test_a_model_with_such_a_proof_is_verified(tmp_path):
    classifier = BeMiClassifier((5,), stages=("sm", "mm"), node_limit=5, time_limit=None)
    save(classifier.fit(PROBLEM.data, -PROBLEM.codes[:, 0]), tmp_path / "m")
    (report,) = classifier.reports_.values()
    assert report["mm"].certificate["kind"] in ("splitting-neurons", "combinations")
    assert verify(tmp_path / "m").certified["mm"] == 1
