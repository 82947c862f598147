"""Models come back from files exactly as they were, and nothing else is taken for a model."""

from __future__ import annotations

import hashlib
import json
import os
import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from bemi import BeMiClassifier, IntegerHog, load, save, verify
from bemi.certificate import CertificateError
from bemi.modelfile import ModelFileError
from bemi.scenarios import NoiseScenarios

FAST = {"hidden_layers": (2,), "node_limit": 1, "time_limit": 5}
DATA = np.array([[5, 1, 0], [0, 5, 1], [1, 0, 5], [6, 1, 0], [0, 7, 1], [2, 0, 5]])


def fitted(labels=(0, 1, 2, 0, 1, 2), **parameters) -> BeMiClassifier:
    return BeMiClassifier(**(FAST | parameters)).fit(DATA, np.array(labels))


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.bemi"
    save(fitted(), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("labels", "parameters"),
    [
        ((0, 1, 2, 0, 1, 2), {}),
        (("b", "a", "ü", "b", "a", "ü"), {"ties": "abstain"}),
        ((0.0, 1.0, 2.0, 0.0, 1.0, 2.0), {"weight_bound": 3, "hidden_layers": ()}),
        ((True, False, True, True, False, True), {"stages": ("sm", "mw"), "time_limit": (3, 2)}),
        (
            (0, 1, 2, 0, 1, 2),
            {"stages": ("ml2", "mw"), "hidden_layers": (), "weight_bound": 7, "C": 2.5, "mw_loss": 0.1},
        ),
        ((0, 1, 2, 0, 1, 2), {"subset_size": 3, "weight_bound": 200, "stages": ("sm",), "random_state": 7}),
    ],
)
def test_round_trip(tmp_path, labels, parameters):
    model = fitted(labels, **parameters)
    save(model, tmp_path / "m.bemi")
    copy = load(tmp_path / "m.bemi")
    assert copy.get_params() == model.get_params()
    assert copy.networks_ == model.networks_
    assert list(copy.reports_) == list(model.reports_)
    grid = np.random.default_rng(0).integers(-5, 9, (200, 3))
    before, after = model.vote(grid), copy.vote(grid)
    assert np.array_equal(before.label, after.label)
    assert before.label.dtype == after.label.dtype
    for key, reports in model.reports_.items():
        for stage, report in reports.items():
            again = copy.reports_[key][stage]
            assert (again.objective, again.bound, again.gap, again.links) == (
                report.objective,
                report.bound,
                report.gap,
                report.links,
            )


def test_scaling_and_names_come_back(tmp_path):
    iris = load_iris(as_frame=True)
    names = pd.Series(iris.target_names[iris.target], dtype=object)
    model = BeMiClassifier(hidden_layers=(), node_limit=5).fit(iris.data, names)
    save(model, tmp_path / "iris.bemi")
    copy = load(tmp_path / "iris.bemi")
    assert np.array_equal(copy.predict(iris.data), model.predict(iris.data))
    assert copy.feature_names_in_.tolist() == list(iris.data.columns)


def test_same_networks_same_bytes(tmp_path):
    save(fitted(n_jobs=1), tmp_path / "one")
    save(fitted(n_jobs=2, verbose=1), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_any_changed_byte_is_refused(tmp_path, model_bytes):
    path = tmp_path / "m.bemi"
    rng = np.random.default_rng(0)
    for position in rng.choice(len(model_bytes), 300, replace=False):
        damaged = bytearray(model_bytes)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load(path)


@settings(max_examples=200)
@given(content=st.binary(max_size=200))
def test_other_files_are_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "other"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a bemi model"):
        load(path)
    path.write_bytes(b"BEMI" + content)
    with pytest.raises(ModelFileError):
        load(path)


def test_cut_off_files_are_refused(tmp_path, model_bytes):
    path = tmp_path / "m.bemi"
    for length in range(0, len(model_bytes), 7):
        path.write_bytes(model_bytes[:length])
        with pytest.raises(ModelFileError):
            load(path)


def test_another_format_version_is_refused_by_name(tmp_path, model_bytes):
    path = tmp_path / "m.bemi"
    path.write_bytes(model_bytes[:4] + b"\x09\x00" + model_bytes[6:])
    with pytest.raises(ModelFileError, match="has model format 9; this release of bemi reads formats 1 to 3"):
        load(path)


def test_format_1_is_still_read(tmp_path):
    model = fitted(stages=("sm", "mm"))
    path = tmp_path / "m.bemi"
    save(model, path)
    content = path.read_bytes()
    length = struct.unpack_from("<4sHI", content)[2]
    header = json.loads(content[10 : 10 + length])
    del header["inputs"], header["transform"], header["settings"]["C"], header["settings"]["mw_loss"]
    packed = json.dumps(header).encode()
    body = b"BEMI" + struct.pack("<HI", 1, len(packed)) + packed + content[10 + length : -32]
    path.write_bytes(body + hashlib.sha256(body).digest())
    assert load(path).networks_ == model.networks_
    assert verify(path).networks == 3


def test_a_transform_comes_back(tmp_path):
    digits = load_digits()
    X, y = digits.data[:60].astype(int), digits.target[:60]
    settings = {"hidden_layers": (), "weight_bound": 3, "stages": ("ml2",), "node_limit": 1, "time_limit": None}
    model = BeMiClassifier(transform=IntegerHog(orientations=8), **settings).fit(X, y)
    save(model, tmp_path / "m.bemi")
    copy = load(tmp_path / "m.bemi")
    assert copy.get_params()["transform__orientations"] == 8
    assert copy.n_features_in_ == 64
    assert copy.networks_ == model.networks_
    assert np.array_equal(copy.predict(digits.data), model.predict(digits.data))
    assert verify(tmp_path / "m.bemi").certified["ml2"] == 45


def contents(path):
    content = path.read_bytes()
    version, length = struct.unpack_from("<4sHI", content)[1:]
    return version, json.loads(content[10 : 10 + length])


def test_a_part_of_the_sets_comes_back(tmp_path):
    for subsets in (2, [(0, 2), (1, 2)]):
        model = fitted(subsets=subsets)
        save(model, tmp_path / "m.bemi")
        assert contents(tmp_path / "m.bemi")[0] == 3
        copy = load(tmp_path / "m.bemi")
        assert copy.networks_ == model.networks_
        assert list(copy.networks_) == list(model.networks_)
        assert copy.subsets == (2 if subsets == 2 else ((0, 2), (1, 2)))
        grid = np.random.default_rng(0).integers(-5, 9, (100, 3))
        assert np.array_equal(copy.predict(grid), model.predict(grid))
        assert verify(tmp_path / "m.bemi").networks == 2


@pytest.mark.parametrize("stages", [("ml2", "mw"), ("sm", "mm")])
def test_added_rows_are_in_the_certificate(tmp_path, stages):
    made = {"scenarios": NoiseScenarios(0.8, 4), "stages": stages, "hidden_layers": ()}
    model = fitted(max_per_class=2, **made)
    added = sum(len(rows) for rows in model.added_rows_.values())
    assert added
    path = tmp_path / "m.bemi"
    save(model, path)
    version, header = contents(path)
    assert (version, header["given_rows"]) == (3, 6)
    assert sum(len(entry["added"]) for entry in header["networks"]) == added
    copy = load(path)
    assert copy.networks_ == model.networks_
    assert copy.max_per_class == 2
    assert copy.scenarios.get_params() == model.scenarios.get_params()
    checked = verify(path)
    assert checked.networks == 3
    assert checked.certified[stages[0]] >= 1
    # Written again, a model that was read is the same file, without a certificate.
    save(copy, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    # A network that leaves out one of its rows, or takes another's, is found out.
    content = path.read_bytes()
    weights = content[10 + struct.unpack_from("<4sHI", content)[2] : -32]
    key = next(index for index, entry in enumerate(header["networks"]) if entry["added"])
    for change in (header["networks"][key]["added"][1:], [header["given_rows"] - 1], [10**6]):
        changed = json.loads(json.dumps(header))
        changed["networks"][key]["added"] = change
        packed = json.dumps(changed).encode()
        body = b"BEMI" + struct.pack("<HI", 3, len(packed)) + packed + weights
        path.write_bytes(body + hashlib.sha256(body).digest())
        with pytest.raises(CertificateError):
            verify(path)


def test_a_model_without_parts_is_written_as_before(model_bytes, tmp_path):
    path = tmp_path / "m.bemi"
    path.write_bytes(model_bytes)
    version, header = contents(path)
    assert version == 2
    assert not {"subsets", "given_rows", "selection"} & header.keys()
    assert {"splitting", "reports"} == header["networks"][0].keys()


def test_subsets_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "m.bemi"
    save(fitted(subsets=[(0, 1), (1, 2)]), path)
    content = path.read_bytes()
    _, header = contents(path)
    weights = content[10 + struct.unpack_from("<4sHI", content)[2] : -32]
    for subsets in ([[1, 2], [0, 1]], [[0, 1], [1, 3]], [[0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 1]]):
        packed = json.dumps(header | {"subsets": subsets}).encode()
        body = b"BEMI" + struct.pack("<HI", 3, len(packed)) + packed + weights
        path.write_bytes(body + hashlib.sha256(body).digest())
        with pytest.raises(ModelFileError):
            load(path)
        with pytest.raises(CertificateError):
            verify(path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.bemi"
    model = fitted()
    save(model, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        save(model, path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.bemi", "m.bemi.cert"]
