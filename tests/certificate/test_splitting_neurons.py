"""A proof by neurons that split (R42), as bemi 0.2.0 wrote it: genuine, and forged."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bemi.certificate import CertificateError, Rows
from bemi.certificate.neurons import splits_bound
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.problem import Problem


def checked(problem: Problem, proof: dict) -> int:
    distinct = distinct_rows(problem)
    rows = Rows(distinct.data.tolist(), distinct.codes.tolist(), distinct.layers, distinct.weight_bound)
    return splits_bound(rows, proof)


def stripes() -> Problem:
    """Rows whose code is the OR of two half spaces, with a large common part, so that constants have large margins."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 20, (40, 4))
    data[:, -1] += 100
    first, second = data[:, 0] - data[:, 1], data[:, 1] - data[:, 2]
    keep = (first != 0) & (second != 0)
    codes = np.where((first > 0) | (second > 0), 1, -1)
    return Problem(data[keep], codes[keep, None], (5,), 1)


PROBLEM = stripes()


BOUND = 366


@pytest.fixture
def proof() -> dict:
    return {"kind": "splitting-neurons", "constant": 121, "other": 1, "pairs": [[1, 0], [6, 2]], "order": [3, 0, 1, 2]}


def test_a_genuine_proof_is_accepted(proof):
    assert checked(PROBLEM, proof) == BOUND


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
