"""What bemi writes, bemi verifies, whatever its size: rows in pieces, and the budget that a check needs."""

from __future__ import annotations

import gzip
import json
import math
import warnings

import numpy as np
import pytest
import second_checker
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi import FewBitClassifier, save, verify
from bemi.certificate import CertificateError, Sizes, arithmetic, needed_budget, reading, training_record
from bemi.modelfile import saving


def fitted(rows: int, features: int, classes: int, largest: int, seed: int = 0, **settings) -> FewBitClassifier:
    """A classifier of random integers, of which the first tell the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.integers(-largest, largest + 1, size=(rows, features))
    X[:, 0] += largest * y
    given = {"C": 1.0, "weight_bound": 3, "node_limit": 3, **settings}
    return FewBitClassifier("table", inputs=None, copies=None, probabilities=False, **given).fit(X, y)


def saved(clf: FewBitClassifier, path) -> float:
    """Save a model; returns the budget that it needs, which a warning names."""
    stated = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "needed_budget", lambda *sizes: stated.append(needed_budget(*sizes)) or stated[0])
        patch.setattr(saving, "DEFAULT_BUDGET", 0)
        with pytest.warns(UserWarning, match="--budget") as caught:
            save(clf, path)
    assert any(str(told.message).endswith(f"--budget {math.ceil(stated[0])}") for told in caught)
    return stated[0]


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
    kept=st.sampled_from([{}, {"mw_loss": 0.1}, {"max_links": 3}]),
)
def test_what_is_written_is_verified(tmp_path_factory, rows, features, classes, largest, kept):
    path = tmp_path_factory.mktemp("sizes") / "model.bemi"
    clf = fitted(rows, features, classes, largest, **kept)
    needed = saved(clf, path)
    checked = verify(path, budget=needed)
    assert checked.networks == classes * (classes - 1) // 2
    # Counted up to how many lengths fall short: all of them at most.
    networks, lengths = checked.networks * (2 if "mw_loss" in kept else 1), min(rows, 1500)
    assert needed - networks * lengths**2 / 4e6 <= checked.steps <= needed
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


def leaves_of(node):
    """The multipliers of each leaf of a tree."""
    if "multipliers" in node:
        yield node["multipliers"]
    for child in node.get("children", ()):
        yield from leaves_of(child)


@pytest.mark.parametrize(("price", "digits"), [(0.1, 0), (1e9, 50)], ids=["64 bits", "more"])
def test_trees_are_counted(tmp_path, price, digits):
    """Rows of one length, so that all steps are counted exactly."""
    rng = np.random.default_rng(0)
    X = np.array([rng.permutation([100] * 6 + [0] * 6) for _ in range(80)])
    y = (X[:, 0] + X[:, 1] > 100) ^ (rng.random(80) < 0.2)
    clf = FewBitClassifier("table", inputs=None, copies=None, probabilities=False, C=price, gap=1e-9, node_limit=20)
    needed = saved(clf.fit(X, y), tmp_path / "model.bemi")
    (tree,) = clf.reports_[False, True]["soft"].certificate["outputs"]
    leaves = list(leaves_of(tree))
    assert len(leaves) > 1
    assert {arithmetic.low_digits(sum(m for _, m in leaf), len(leaf), 100) for leaf in leaves} == {digits}
    steps = verify(tmp_path / "model.bemi").steps
    assert steps <= needed <= steps + 1e-4
    with pytest.raises(CertificateError, match="--budget"):
        verify(tmp_path / "model.bemi", budget=steps - 2e-6)


def test_rows_that_are_not_kept_are_counted_each_time(model, monkeypatch):
    needed = verify(model).steps
    monkeypatch.setattr(arithmetic, "MOST_BYTES", 1)
    assert verify(model).certified == {"soft": 3}
    assert verify(model).steps >= needed


def test_long_proofs_need_a_larger_budget():
    leaf = {"multipliers": [[k, 1] for k in range(10)] * 100}
    sizes = Sizes(rows=10, inputs=10**4, live=10**4, lengths=10, largest=10)
    few = needed_budget(10**4, b"", sizes, 1, [(10, [{"outputs": [leaf]}])])
    many = needed_budget(10**4, b"", sizes, 1, [(10, [{"outputs": [{"split": [0, 0], "children": [leaf] * 3000}]}])])
    text = needed_budget(10**4, b"[" * 10**7, sizes, 1, [])
    assert few < 10
    assert many > 3000
    assert text > 3000
