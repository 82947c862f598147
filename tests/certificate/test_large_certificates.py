"""What bemi writes, bemi verifies, whatever its size: rows in pieces, and the budget that a check needs."""

from __future__ import annotations

import gzip
import json
import warnings

import numpy as np
import pytest
import second_checker
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi import FewBitClassifier, save, verify
from bemi.certificate import CertificateError, needed_budget, reading, training_record
from bemi.modelfile import saving


def fitted(rows: int, features: int, classes: int, largest: int, seed: int = 0) -> FewBitClassifier:
    """A classifier of random integers, of which the first tell the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.integers(-largest, largest + 1, size=(rows, features))
    X[:, 0] += largest * y
    clf = FewBitClassifier("table", inputs=None, C=1.0, copies=None, weight_bound=3, probabilities=False, node_limit=3)
    return clf.fit(X, y)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "model.bemi"
    save(fitted(60, 7, 3, 300), path)
    return path


@settings(max_examples=12, deadline=None)
@given(
    rows=st.integers(4, 1500),
    features=st.integers(1, 40),
    classes=st.integers(2, 4),
    largest=st.sampled_from([1, 100, 127, 128, 30_000, 10**6]),
)
def test_what_is_written_is_verified(tmp_path_factory, rows, features, classes, largest):
    path = tmp_path_factory.mktemp("sizes") / "model.bemi"
    clf = fitted(rows, features, classes, largest)
    save(clf, path)
    needed = saving._needed_budget(clf.ensemble_)
    assert verify(path, budget=needed).networks == classes * (classes - 1) // 2
    assert [list(row) for row in training_record(path).rows] == clf.training_rows_.tolist()
    if rows * features < 2000:
        assert second_checker.proved(path)


@pytest.mark.parametrize("piece", [1, 37, 1000])
def test_rows_may_be_cut_anywhere(model, monkeypatch, piece):
    monkeypatch.setattr(reading, "_BEGIN", reading.re.compile(b"(?!)"))
    whole = training_record(model)
    monkeypatch.undo()
    monkeypatch.setattr(reading, "_PIECE", piece)
    record = training_record(model)
    assert list(record.rows) == list(whole.rows)
    assert record.labels == whole.labels
    assert verify(model).networks == 3


def test_rows_in_pieces_and_as_a_whole_prove_the_same(model, tmp_path):
    path = tmp_path / "spaced.cert"
    claims = json.loads(gzip.decompress((model.parent / "model.bemi.cert").read_bytes()))
    path.write_bytes(gzip.compress(json.dumps(claims, indent=1).encode()))
    assert verify(model, path).certified == verify(model).certified


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.replace(b'"rows":[[', b'"rows":[[1,'), "one value per model input"),
        (lambda t: t.replace(b'"rows":[[', b'"rows":[[[],'), "not an integer"),
        (lambda t: t.replace(b'"rows":[[', b'"rows":[["",'), "not a bemi certificate"),
        (lambda t: t.replace(b'"rows":[[', b'"rows":[[1.5,'), "not a bemi certificate"),
        (lambda t: t.replace(b'"rows":[[', b'"rows":[[9999999999,'), "not in"),
        (lambda t: t[: t.index(b"]]") + 2] + b',"rows":[]' + t[t.index(b"]]") + 2 :], "given twice"),
        (lambda t: t[: t.index(b"],[") + 1] + t[t.index(b"]]") + 1 :], "label per training row"),
        (lambda t: t[: t.index(b"]]")], "cut off"),
    ],
)
def test_rows_that_are_not_the_models(model, tmp_path, change, reason):
    text = gzip.decompress((model.parent / "model.bemi.cert").read_bytes())
    path = tmp_path / "changed.cert"
    path.write_bytes(gzip.compress(change(text)))
    with pytest.raises(CertificateError, match=reason):
        verify(model, path)


def test_rows_count_towards_the_budget_before_they_are_kept(model):
    with pytest.raises(CertificateError, match="--budget"):
        training_record(model, budget=60 * 7 * 16 / 1e6 - 1e-6)


def test_a_model_that_needs_a_larger_budget_says_so(model, tmp_path, monkeypatch):
    clf = fitted(60, 7, 3, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(clf, tmp_path / "quiet.bemi")
    monkeypatch.setattr(saving, "DEFAULT_BUDGET", 0.001)
    with pytest.warns(UserWarning, match="--budget"):
        save(clf, tmp_path / "told.bemi")


def test_long_proofs_need_a_larger_budget():
    leaf = {"multipliers": [[k, 1] for k in range(1000)]}
    few = needed_budget(10**4, 10, 10, 10, [(10, [{"outputs": [leaf]}])])
    many = needed_budget(10**4, 10, 10, 10, [(10, [{"outputs": [{"split": [0, 0], "children": [leaf] * 5000}]}])])
    assert few < 1
    assert many > 3000
