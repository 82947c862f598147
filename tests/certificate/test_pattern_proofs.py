"""Proofs of Sat-Margin's bound for several outputs: what is refused, and a model with five classes in one network."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bemi import BeMiClassifier, save, verify
from bemi.certificate import CertificateError, certificate_path
from bemi.certificate.confidence import last_layer_bound
from bemi.problem import class_codes

TEN = [tuple(code) for code in class_codes(10).tolist()]


@pytest.mark.parametrize(
    ("proof", "reason"),
    [
        ({"bound": 35}, "lets more outputs be confident"),
        ({"bound": 0}, "lets more outputs be confident"),
        ({"bound": -1}, "bad bound"),
        ({"bound": 36.0}, "bad bound"),
        ({"bound": True}, "bad bound"),
        ({}, "missing"),
        ({"bound": 36, "neurons": 2}, "does not belong: neurons"),
        ([36], "not an object"),
    ],
)
def test_false_proofs_are_refused(proof, reason):
    with pytest.raises(CertificateError, match=reason):
        last_layer_bound(TEN, 4, 1, proof)


def test_a_true_proof_is_accepted_and_a_weaker_one_too():
    assert last_layer_bound(TEN, 4, 1, {"bound": 36}) == 36
    assert last_layer_bound(TEN, 4, 1, {"bound": 38}) == 38


@pytest.mark.parametrize(("neurons", "weight_bound"), [(9, 1), (1000, 1), (4, 10**6)])
def test_work_without_end_is_refused(neurons, weight_bound):
    with pytest.raises(CertificateError, match="too many last layers"):
        last_layer_bound(TEN, neurons, weight_bound, {"bound": 36})


def test_a_search_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("bemi.certificate.confidence._MOST_WORK", 1 << 8)
    with pytest.raises(CertificateError, match="too many last layers"):
        last_layer_bound(TEN[:9], 4, 1, {"bound": 32})


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """Five classes and two neurons below three outputs: 13 of 15 outputs can be confident."""
    X, y = load_digits(n_class=5, return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:4] for c in range(5)])
    path = tmp_path_factory.mktemp("patterns") / "five.bemi"
    classifier = BeMiClassifier((3, 2), subset_size=5, stages=("sm",), node_limit=20, time_limit=None)
    save(classifier.fit(X[chosen], y[chosen]), path)
    return path


def claims_of(model: Path) -> dict:
    return json.loads(gzip.decompress(Path(certificate_path(model)).read_bytes()))


def test_a_network_with_several_outputs_is_verified(model):
    assert verify(model).certified == {"sm": 1}
    (stage,) = claims_of(model)["networks"][0]
    assert stage["objective"] == stage["bound"] == 4 * 13
    assert stage["certificate"] == {"kind": "last-layer", "bound": 4 * 13}


@pytest.mark.parametrize("proof", [None, {"bound": 51}, {"bound": 53}, {"bound": "52"}])
def test_other_proofs_in_the_file_are_refused(model, tmp_path, proof):
    """Without its proof, or with another one, the model's bound does not follow."""
    claims = claims_of(model)
    claims["networks"][0][0]["certificate"] = proof
    path = tmp_path / "changed.cert"
    path.write_bytes(gzip.compress(json.dumps(claims).encode()))
    with pytest.raises(CertificateError):
        verify(model, path)
