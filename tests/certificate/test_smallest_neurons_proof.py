"""A proof by the smallest neurons and a pair (R52), as bemi 0.2.0 wrote it: genuine, and forged."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bemi.certificate import CertificateError, Rows
from bemi.certificate.neurons import listed_links_bound
from bemi.problem import Problem


def checked(problem: Problem, margins: list[np.ndarray], proof: dict) -> int:
    rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound)
    return listed_links_bound(rows, [m.tolist() for m in margins], proof)


def halves() -> Problem:
    """Rows whose code is the OR of two half spaces."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 20, (40, 4))
    data[:, -1] += 100
    first, second = data[:, 0] - data[:, 1], data[:, 1] - data[:, 2]
    keep = (first != 0) & (second != 0)
    codes = np.where((first > 0) | (second > 0), 1, -1)
    return Problem(data[keep], codes[keep, None], (5,), 1)


PROBLEM, MARGINS = halves(), [np.array([1, 1, 121, 121, 121]), np.array([1])]


@pytest.fixture
def proof() -> dict:
    pair = {"wide": 121, "rows": [1, 2], "links": 4}
    return {"kind": "smallest-neurons", "single": [[121, 4], [1, 1]], "pair": pair, "order": [3, 0, 1, 2]}


def test_a_genuine_proof_is_accepted(proof):
    assert checked(PROBLEM, MARGINS, proof) == 19


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
