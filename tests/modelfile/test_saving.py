"""Models come back from files exactly as they were, and nothing else is taken for a model."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import release_models
from given_networks import give_networks
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import joined, split, with_digest, written
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from soft_margins import soft_margins

from bemi import (
    BeMiClassifier,
    ConstantInput,
    FewBitClassifier,
    ImageScenarios,
    IntegerHog,
    Network,
    NoiseScenarios,
    ScorecardClassifier,
    load,
    save,
    verify,
)
from bemi.certificate import CertificateError
from bemi.estimators import ESTIMATORS, Classifier
from bemi.inputs.registry import TRANSFORMS
from bemi.modelfile.container import MEMBERS, PARTS, SCHEMA, ModelFileError
from bemi.modelfile.header import ESTIMATORS as STAGES_IN_FILES
from bemi.modelfile.header import RECORDED_SETTINGS, SELECTION
from bemi.report import training_summary

FAST = {"hidden_layers": (2,), "node_limit": 1, "time_limit": 5}
SOFT = {"soft": True, "weight_bound": 7}
LIMITED = SOFT | {"inputs": ConstantInput(), "max_links": 2, "monotone": {0: -1}}
DATA = np.array([[5, 1, 0], [0, 5, 1], [1, 0, 5], [6, 1, 0], [0, 7, 1], [2, 0, 5]])


def fitted(labels=(0, 1, 2, 0, 1, 2), *, soft=False, **parameters) -> Classifier:
    """The paper's networks, or ones with soft margins."""
    if soft:
        model = soft_margins(**{"node_limit": 1, "time_limit": None} | parameters)
    else:
        model = BeMiClassifier(**FAST | parameters)
    return model.fit(DATA, np.array(labels))


SCALE = {"decimals": [0, 1, -2], "centres": [0, 0, 0], "multipliers": [1, 2, 3], "shifts": [1, 2, 3]}


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.bemi"
    save(fitted(), path)
    return path.read_bytes()


def contents(path):
    schema, header, _ = split(path.read_bytes())
    return schema, json.loads(header)


@pytest.mark.parametrize(
    ("labels", "parameters"),
    [
        ((0, 1, 2, 0, 1, 2), {}),
        (("b", "a", "ü", "b", "a", "ü"), {"ties": "abstain"}),
        ((0.0, 1.0, 2.0, 0.0, 1.0, 2.0), {"weight_bound": 3, "hidden_layers": ()}),
        ((True, False, True, True, False, True), {"stages": ("sm", "mw"), "time_limit": (3, 2)}),
        ((0, 1, 2, 0, 1, 2), SOFT | {"C": 2.5, "mw_loss": 0.1, "time_limit": (3, 2)}),
        (
            ("b", "a", "ü", "b", "a", "ü"),
            LIMITED | {"inputs": None, "hinges": 2, "class_weight": {"a": 2.0, "ü": 0.5}},
        ),
        ((0, 1, 2, 0, 1, 2), {"subset_size": 3, "weight_bound": 200, "stages": ("sm",), "random_state": 7}),
    ],
)
def test_round_trip(tmp_path, labels, parameters):
    model = fitted(labels, **parameters)
    save(model, tmp_path / "m.bemi")
    copy = load(tmp_path / "m.bemi")
    assert isinstance(copy, FewBitClassifier if parameters.get("soft") else BeMiClassifier)
    # What the rows are was asked when the rest was chosen; a file says what was chosen.
    assert copy.get_params() == model.get_params() | ({"kind": "auto"} if parameters.get("soft") else {})
    assert copy.ensemble_.training.settings == model.ensemble_.training.settings
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
    with pytest.raises(ModelFileError, match="has model format 9, this release of bemi reads formats 7 to 8"):
        load(path)


def test_a_stored_file_of_format_7_is_read():
    """It is ``BeMiClassifier(hidden_layers=(2,), node_limit=20, time_limit=None).fit(DATA, ["b", "a", "ü"] * 2)``."""
    path = Path(__file__).parent / "models" / "format7.bemi"
    model = load(path)
    rows = np.array([[5, 1, 0], [0, 5, 1], [1, 0, 5], [-5, -1, 0], [0, -5, -1], [-1, 0, -5]])
    assert model.predict(rows).tolist() == ["b", "a", "ü", "ü", "b", "a"]
    assert verify(path).networks == 3


def test_a_stored_file_of_format_8_is_read():
    """It is the classifier below, fitted to ``(DATA, ["b", "a", "ü"] * 2)``; without its certificate."""
    path = Path(__file__).parent / "models" / "format8.bemi"
    model = load(path)
    written = FewBitClassifier(
        inputs=ConstantInput(level=127),
        copies=NoiseScenarios(0.8, 4),
        C=10.0,
        weight_bound=3,
        mw_loss=0.01,
        probabilities=False,
        node_limit=20,
        time_limit=None,
        gap=0.01,
    )
    assert isinstance(model, FewBitClassifier)
    assert repr(model) == repr(written)
    rows = np.array([[5, 1, 0], [0, 5, 1], [1, 0, 5], [-5, -1, 0], [0, -5, -1], [-1, 0, -5]])
    assert model.predict(rows).tolist() == ["b", "a", "ü", "a", "b", "a"]
    assert model.ensemble_.training.given_rows == 6


RELEASED = sorted(release_models.MODELS.glob("*/*.bemi"))


@pytest.mark.parametrize("path", RELEASED, ids=[f"{path.stem} of {path.parent.name}" for path in RELEASED])
def test_files_of_releases_are_read_verified_and_label_the_same(path):
    expected = json.loads((path.parent / "labels.json").read_text(encoding="utf-8"))[path.stem]
    model = load(path)
    assert "".join(model.predict(release_models.rows_of(path.stem))) == expected
    assert verify(path).networks == 3


@pytest.mark.parametrize(("schema", "advice"), [(6, "train the model again"), (9, "use a newer release of bemi")])
def test_other_formats_are_refused_with_advice(tmp_path, model_bytes, schema, advice):
    path = tmp_path / "m.bemi"
    path.write_bytes(with_digest(joined(schema, *split(model_bytes)[1:])))
    with pytest.raises(ModelFileError, match=f"has model format {schema}, .* reads formats 7 to 8; {advice}"):
        load(path)


def test_a_transform_comes_back(tmp_path):
    digits = load_digits()
    X, y = digits.data[:60].astype(int), digits.target[:60]
    settings = {"weight_bound": 3, "node_limit": 1, "time_limit": None}
    model = soft_margins(inputs=IntegerHog(orientations=8), **settings).fit(X, y)
    save(model, tmp_path / "m.bemi")
    copy = load(tmp_path / "m.bemi")
    assert copy.get_params()["inputs__orientations"] == 8
    assert copy.n_features_in_ == 64
    assert copy.networks_ == model.networks_
    assert np.array_equal(copy.predict(digits.data), model.predict(digits.data))
    assert verify(tmp_path / "m.bemi").certified["soft"] == 45


def test_a_part_of_the_sets_comes_back(tmp_path):
    for subsets in (2, [(0, 2), (1, 2)]):
        model = fitted(subsets=subsets)
        save(model, tmp_path / "m.bemi")
        assert contents(tmp_path / "m.bemi")[0] == 8
        copy = load(tmp_path / "m.bemi")
        assert copy.networks_ == model.networks_
        assert list(copy.networks_) == list(model.networks_)
        assert copy.subsets == (2 if subsets == 2 else ((0, 2), (1, 2)))
        grid = np.random.default_rng(0).integers(-5, 9, (100, 3))
        assert np.array_equal(copy.predict(grid), model.predict(grid))
        assert verify(tmp_path / "m.bemi").networks == 2


@pytest.mark.parametrize(
    "made", [SOFT | {"mw_loss": 0.01, "weight_bound": 1}, {"stages": ("sm", "mm"), "hidden_layers": ()}]
)
def test_added_rows_are_in_the_certificate(tmp_path, made):
    model = fitted(max_per_class=2, copies=NoiseScenarios(0.8, 4), **made)
    added = sum(len(rows) for rows in model.added_rows_.values())
    assert added
    path = tmp_path / "m.bemi"
    save(model, path)
    schema, header = contents(path)
    assert (schema, header["given_rows"]) == (8, 6)
    assert sum(len(entry["added"]) for entry in header["networks"]) == added
    copy = load(path)
    assert copy.networks_ == model.networks_
    assert copy.ensemble_.training.settings["max_per_class"] == 2
    assert copy.copies.get_params() == model.copies.get_params()
    checked = verify(path)
    assert checked.networks == 3
    assert checked.certified["soft" if "soft" in made else "sm"] >= 1
    # Written again, a model that was read is the same file, without a certificate.
    save(copy, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    # A network that leaves out one of its rows, or takes another's, is found out.
    weights = split(path.read_bytes())[2]
    key = next(index for index, entry in enumerate(header["networks"]) if entry["added"])
    for change in (header["networks"][key]["added"][1:], [header["given_rows"] - 1], [10**6]):
        changed = json.loads(json.dumps(header))
        changed["networks"][key]["added"] = change
        path.write_bytes(with_digest(joined(schema, written(changed), weights)))
        with pytest.raises(CertificateError):
            verify(path)


def test_a_model_without_parts_says_nothing_of_them(model_bytes):
    header = json.loads(split(model_bytes)[1])
    assert not {"subsets", "given_rows", "selection"} & header.keys()
    assert {"splitting", "reports"} == header["networks"][0].keys()


def test_subsets_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "m.bemi"
    save(fitted(subsets=[(0, 1), (1, 2)]), path)
    schema, text, weights = split(path.read_bytes())
    header = json.loads(text)
    for subsets in ([[1, 2], [0, 1]], [[0, 1], [1, 3]], [[0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 1]]):
        path.write_bytes(with_digest(joined(schema, written(header | {"subsets": subsets}), weights)))
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


def test_weights_are_packed_into_the_fewest_bits(tmp_path):
    for bound, bits in ((1, 2), (3, 3), (4, 4), (127, 8), (200, 9)):
        model = fitted(weight_bound=bound)
        save(model, tmp_path / "m.bemi")
        weights = split((tmp_path / "m.bemi").read_bytes())[2]
        size = -(-(3 * 2 + 2) * bits // 8)
        assert len(weights) == 3 * size
        for start, network in zip(range(0, len(weights), size), model.networks_.values(), strict=True):
            digits = "".join(f"{byte:08b}" for byte in weights[start : start + size])
            numbers = [int(digits[k * bits : (k + 1) * bits], 2) - bound for k in range(8)]
            assert numbers == [w for layer in network.weights for row in layer.tolist() for w in row]
            assert set(digits[8 * bits :]) <= {"0"}
        assert load(tmp_path / "m.bemi").networks_ == model.networks_
        assert verify(tmp_path / "m.bemi").networks == 3


def test_a_large_network_is_packed_and_unpacked(tmp_path):
    """More weights than are unpacked at once, and not a whole number of bytes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (4, 33_001))
    model = BeMiClassifier(hidden_layers=(2,), weight_bound=2, stages=("sm",), node_limit=1, time_limit=5)
    model.fit(X, [0, 1, 0, 1])
    save(model, tmp_path / "m.bemi")
    assert load(tmp_path / "m.bemi").networks_ == model.networks_


def test_the_solver_and_its_version_are_in_the_file(tmp_path):
    save(fitted(), tmp_path / "m.bemi")
    assert contents(tmp_path / "m.bemi")[1]["solver"] == f"highs {version('highspy')}"
    assert load(tmp_path / "m.bemi").solver_ == f"highs {version('highspy')}"


@pytest.mark.parametrize(
    "parameters",
    [
        {"subsets": [{0, 1}, frozenset((1, 2))]},
        {"subsets": np.array([[0, 1], [1, 2]]), "max_per_class": np.int64(2)},
        {"copies": NoiseScenarios(copies=np.int64(2)), "time_limit": np.array([3.0, 2.0]), "stages": ["sm", "mm"]},
        {"copies": ImageScenarios(np.array([5.0]), shape=np.array([1, 3]), random_state=np.int64(1))},
    ],
)
def test_parameters_of_other_types_are_saved(tmp_path, parameters):
    model = fitted(**parameters)
    save(model, tmp_path / "m.bemi")
    copied = load(tmp_path / "m.bemi")
    assert copied.networks_ == model.networks_
    save(copied, tmp_path / "again.bemi")
    assert (tmp_path / "again.bemi").read_bytes() == (tmp_path / "m.bemi").read_bytes()


def test_what_could_not_be_read_is_not_written(tmp_path):
    class Doubled(ConstantInput):
        NAME = "doubled"

    path = tmp_path / "m.bemi"
    model = fitted(inputs=Doubled())
    with pytest.raises(ValueError, match="cannot be saved: transform must be one of"):
        save(model, path)
    with pytest.raises(ValueError, match="ties must be one of"):
        save(fitted().set_params(ties="loudest"), path)
    assert not list(tmp_path.iterdir())
    TRANSFORMS["doubled"] = Doubled
    try:
        save(model, path)
        assert load(path).networks_ == model.networks_
    finally:
        del TRANSFORMS["doubled"]


def changed(content: bytes, path: tuple, value) -> bytes:
    """A model file with another value at some place of its header, and its digest repaired."""
    schema, text, weights = split(content)
    header = json.loads(text)
    place = header
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return with_digest(joined(schema, written(header), weights))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("bemi",), None, "bemi must be text"),
        (("more",), 1, "the header has an unknown member 'more'"),
        (("inputs",), ..., "the header has no member 'inputs'"),
        (("solver",), 3, "solver must be text"),
        (("training_digest",), "ab", "64 hexadecimal digits"),
        (("settings", "weight_bound"), True, "weight_bound must be an integer"),
        (("settings", "weight_bound"), 1.0, "weight_bound must be an integer"),
        (("settings", "weight_bound"), 2**31, "weight_bound must be an integer in"),
        (("settings", "weight_bound"), "1", "weight_bound must be an integer"),
        (("settings", "estimator"), 3, "estimator must be text"),
        (("settings", "estimator"), "best", "estimator must be one of bemi, few-bit, scorecard, got 'best'"),
        (("settings", "estimator"), ..., "settings has no member 'estimator'"),
        (("settings", "hidden_layers"), [0], "a hidden layer must be an integer in 1"),
        (("settings", "hidden_layers"), [2**31], "a hidden layer must be an integer in 1"),
        (("settings", "hidden_layers"), [1] * 33, "hidden_layers must be a list of 0 to 32"),
        (("settings", "stages"), [["sm"]], "a stage must be text"),
        (("settings", "stages"), [], "stages must be one of these lists"),
        (("settings", "stages"), ["soft"], "'soft' is for networks without a hidden layer"),
        (("settings", "time_limit"), 0, "time_limit must be positive"),
        (("settings", "time_limit"), [1.0], "time_limit must be a list of 3 values"),
        (("settings", "time_limit"), {}, "time_limit must be a number"),
        (("settings", "node_limit"), 0, "node_limit must be an integer"),
        (("settings", "random_state"), "0", "random_state must be an integer"),
        (("settings", "C"), 0, "C must be positive"),
        (("settings", "gap"), -0.1, "gap must be a number of at least 0"),
        (("settings", "engine"), ["monolithic"], "engine must be text"),
        (("settings", "ties"), None, "ties must be one of margin, abstain"),
        (("settings", "subset_size"), 4, "subset_size must be an integer in 2..3"),
        (("settings", "subset_size"), 3, "a network for each of 1 sets of classes, got 3"),
        (("classes",), [0, 2, 1], "labels must be sorted and unique"),
        (("classes",), [0, 1, 1], "labels must be sorted and unique"),
        (("classes",), [0, 1, 2.0], "labels must be numbers or text of the type"),
        (("classes",), [0, 1, 2**63], "a label must be an integer in"),
        (("classes",), [0], "at least two classes"),
        (("classes_dtype",), "<U1", "labels must be numbers or text of the type"),
        (("classes_dtype",), "<M8[s]", "labels must be numbers or text of the type"),
        (("features",), 4, "an input per feature"),
        (("features",), 2**21, "features must be an integer in 1"),
        (("feature_names",), ["a"], "feature_names must be a list of 3 values"),
        (("feature_names",), ["a", "b", "\ud800"], "surrogates not allowed"),
        (("feature_names",), ["a", "b", "a"], "feature_names must be unique"),
        (("input_scaling", "low"), 1, "low must be an integer in"),
        (("input_scaling", "high"), 2**31, "high must be an integer in"),
        (("input_scaling", "limit"), 0, "limit must be an integer in 1"),
        (("input_scaling", "scale"), {"decimals": [0, 0, 0]}, "scale has no member 'centres'"),
        (("input_scaling", "scale"), SCALE | {"shifts": [1, 1]}, "shifts must be a list of 3 values"),
        (("input_scaling", "scale"), SCALE | {"shifts": [1, 1, 0]}, "one of the shifts must be an integer in 1..40"),
        (("input_scaling", "scale"), SCALE | {"multipliers": [1, 1, -1]}, "one of the multipliers must be an integer"),
        (("input_scaling", "scale"), SCALE | {"centres": [1, 1, 1.0]}, "one of the centres must be an integer"),
        (("input_scaling", "scale"), SCALE | {"decimals": [1, 1, 301]}, "one of the decimals must be an integer"),
        (("networks", 0), ..., "a network for each of 3 sets of classes, got 2"),
        (("networks", 0, "splitting"), [1], "splitting must be a list of 2 values"),
        (("networks", 0, "splitting"), [1, True], "a mark of a splitting neuron must be an integer"),
        (("networks", 0, "added"), [6], "a network has an unknown member 'added'"),
        (("networks", 0, "reports", 0), ..., "reports must be a list of 3 values"),
        (("networks", 0, "reports", 0, "stage"), "mm", "the report of stage sm is missing"),
        (("networks", 0, "reports", 0, "bound"), None, "an objective, a bound and a proof, or none"),
        (("networks", 0, "reports", 0, "proof"), "none", "an objective, a bound and a proof, or none"),
        (("networks", 0, "reports", 0, "rows"), 0, "rows must be an integer in 1"),
        (("networks", 0, "reports", 0, "objective"), "1/2", "objective must be an integer"),
        (("settings", "engine"), "steam", "unknown engine 'steam'"),
        (("networks", 0, "reports", 0, "outcome"), "lucky", "has an unknown outcome"),
        (("networks", 0, "reports", 0, "outcome"), 3, "has an unknown outcome"),
        (("networks", 0, "reports", 0, "soft"), {}, "soft belongs to stages of soft margins, and only to them"),
        (("networks", 0, "reports", 2, "links"), 8, "number of links in the weights is not that of the last stage"),
        (("networks", 0, "reports", 0, "message"), "m" * 20_000, "message must be text of at most"),
        (("given_rows",), 6, "a network has no member 'added'"),
        (("given_rows",), None, "a member without a value must be left out"),
        (("subsets",), [[0, 1], [0, 2], [1, 2]], "subsets must be left out if every set of classes has a network"),
        (("selection",), dict.fromkeys(("subsets", "max_per_class", "copies")), "empty selection must be left out"),
        (("selection",), {"subsets": 0, "max_per_class": None, "copies": None}, "subsets must be an integer in 1"),
        (("transform",), {}, "transform must have a name"),
        (("transform",), {"name": "x", "a": [[[[[1]]]]]}, "transform: 'a' is nested too deeply"),
        (("transform",), {"name": "x"}, "transform must be one of integer-hog, constant-input"),
        (
            ("transform",),
            {"name": "constant-input", "version": 1, "inputs": 3, "level": 7},
            "does not map the features to the inputs",
        ),
    ],
)
def test_headers_that_describe_no_model(tmp_path, model_bytes, path, value, message):
    (tmp_path / "m.bemi").write_bytes(changed(model_bytes, path, value))
    with pytest.raises(ModelFileError, match=re.escape(message)) as caught:
        load(tmp_path / "m.bemi")
    assert "m.bemi is damaged: " in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


def saved(tmp_path, **parameters) -> bytes:
    path = tmp_path / "m.bemi"
    save(fitted(**parameters), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("parameters", "path", "value", "message"),
    [
        (SOFT, ("networks", 0, "reports", 0, "objective"), "1/0", "quotient in hexadecimal"),
        (SOFT, ("networks", 0, "reports", 0, "objective"), 3, "quotient in hexadecimal"),
        (SOFT, ("networks", 0, "reports", 0, "objective"), "2/4", "lowest terms"),
        (SOFT, ("networks", 0, "reports", 0, "bound"), "f" * 300 + "/1", "not too large"),
        (SOFT, ("networks", 0, "reports", 0, "soft", "price"), "0/1", "must be positive"),
        (SOFT, ("networks", 0, "reports", 0, "soft", "resolutions"), [], "resolutions must be a list of 1 values"),
        (SOFT, ("networks", 0, "reports", 0, "soft"), ..., "soft belongs to stages of soft margins, and only to them"),
        (SOFT, ("networks", 0, "reports", 0, "soft", "hinges"), 2, "are not those of the settings"),
        (SOFT, ("networks", 0, "reports", 0, "soft", "max_links"), 2, "are not those of the settings"),
        (SOFT, ("networks", 0, "reports", 0, "soft", "max_links"), ..., "soft has no member 'max_links'"),
        (SOFT, ("settings", "hinges"), 3, "hinges must be one of 1, 2, got 3"),
        (SOFT, ("settings", "max_links"), 0, "max_links must be an integer in 1"),
        (SOFT, ("settings", "max_links"), 2, "uncounted belongs to max_links, and only to it"),
        (SOFT, ("settings", "class_weight"), "even", "class_weight must be a list"),
        (SOFT, ("settings", "class_weight"), [[0, 1.0], [0, 2.0]], "class_weight must have different keys"),
        (SOFT, ("settings", "class_weight"), [[[0], 1.0]], "class_weight must have different keys"),
        (SOFT, ("settings", "class_weight"), [[0, -1.0]], "a weight in class_weight must be a number of at least 0"),
        (SOFT, ("settings", "class_weight"), [[0, 0.0]], "class_weight must have positive numbers"),
        (SOFT, ("settings", "monotone"), [[0, 1]], "signs belong to monotone features, and only to them"),
        (SOFT, ("signs",), [0, 0, 0], "signs belong to monotone features, and only to them"),
        (SOFT, ("uncounted",), [], "uncounted belongs to max_links, and only to it"),
        ({}, ("settings", "hinges"), 2, "hinges needs soft margins, which models of estimator bemi do not have"),
        ({}, ("settings", "class_weight"), "balanced", "class_weight needs soft margins"),
        ({}, ("settings", "estimator"), "few-bit", "a model of estimator few-bit cannot have stages sm, mm, mw"),
        (SOFT, ("settings", "estimator"), "bemi", "a model of estimator bemi cannot have stages soft"),
        (SOFT | {"mw_loss": 0.1}, ("settings", "estimator"), "scorecard", "scorecard cannot have stages soft, mw"),
        (SOFT, ("settings", "hidden_layers"), [2], "'soft' is for networks without a hidden layer"),
        (LIMITED, ("settings", "subset_size"), 3, "monotone needs networks on two classes each"),
        (LIMITED, ("settings", "monotone"), [[0, 0]], "a direction in monotone must be -1 or 1"),
        (LIMITED, ("settings", "monotone"), [[0]], "an entry of monotone must be a list of 2 values"),
        (LIMITED, ("settings", "monotone"), [["x", 1]], "monotone names 'x', which is not a feature"),
        (LIMITED, ("settings", "monotone"), [[1, 1]], "signs or uncounted inputs are not those of the transform"),
        (LIMITED, ("signs",), [-1, 0, 0, 0], "signs or uncounted inputs are not those of the transform"),
        (LIMITED, ("signs",), [-1, 0, 0], "signs must be a list of 4 values"),
        (LIMITED, ("signs",), [-2, 0, 0, 0], "a sign must be an integer in -1..1"),
        (LIMITED, ("uncounted",), [], "signs or uncounted inputs are not those of the transform"),
        (LIMITED, ("uncounted",), [4], "an uncounted input must be an integer in 0..3"),
        (LIMITED, ("uncounted",), [3, 3], "uncounted inputs must be sorted and unique"),
        ({"inputs": ConstantInput()}, ("transform", "level"), None, "level must be an integer"),
        ({"inputs": ConstantInput()}, ("transform", "version"), True, "this is version 1"),
        ({"inputs": ConstantInput()}, ("transform", "inputs"), 2, "does not map the features to the inputs"),
        ({"inputs": ConstantInput()}, ("inputs",), 3, "does not map the features to the inputs"),
        ({"copies": NoiseScenarios()}, ("selection", "copies", "copies"), 0, "copies must be an integer"),
        ({"copies": NoiseScenarios()}, ("selection", "copies", "more"), 0, "have other parameters"),
        ({"copies": NoiseScenarios()}, ("selection", "copies", "name"), "x", "one of images, deformations, noise"),
        ({"copies": NoiseScenarios()}, ("networks", 0, "added"), [5], "an added row must be an integer in 6"),
        ({"copies": NoiseScenarios()}, ("networks", 0, "added"), [9, 8], "added rows must be sorted and unique"),
        (SOFT | {"reject": 0.4}, ("known_ranges", "halvings"), [1], "halvings must be those of all pairs"),
        (SOFT | {"reject": 0.4}, ("known_ranges", "halvings"), [1, 32, 1], "a number of halvings must be an integer"),
        (SOFT | {"reject": 0.4}, ("known_ranges", "usual_margin"), 128, "usual_margin must be an integer in 0..127"),
        (
            SOFT | {"reject": 0.4},
            ("known_ranges", "looked_at"),
            [99],
            "a feature of examples must be an integer in 0..",
        ),
        (SOFT | {"reject": 0.4}, ("known_ranges", "examples"), [[]], "examples must be a list of 0 values"),
        (SOFT | {"reject": 0.4}, ("known_ranges", "weights"), [0, 2**16], "a weight must be an integer in 0..32768"),
        ({"ties": "abstain"}, ("classes",), [-1, 0, 1], "needs that label for unclassified rows"),
    ],
)
def test_headers_of_other_models_that_describe_none(tmp_path, parameters, path, value, message):
    (tmp_path / "m.bemi").write_bytes(changed(saved(tmp_path, **parameters), path, value))
    with pytest.raises(ModelFileError, match=re.escape(message)):
        load(tmp_path / "m.bemi")


def test_a_transform_must_take_what_was_seen_in_training(tmp_path):
    model = BeMiClassifier(**FAST, inputs=IntegerHog(maximum=15)).fit(load_digits().data[:9] // 2, [0, 1, 2] * 3)
    save(model, tmp_path / "m.bemi")
    for path, value in (("low", -1), ("high", 16)):
        (tmp_path / "x.bemi").write_bytes(changed((tmp_path / "m.bemi").read_bytes(), ("input_scaling", path), value))
        with pytest.raises(ModelFileError, match="does not accept the integers seen in training"):
            load(tmp_path / "x.bemi")


def test_weights_that_no_network_has(tmp_path):
    content = saved(tmp_path)
    schema, header, weights = split(content)
    path = tmp_path / "m.bemi"
    for wrong, message in (
        (weights[:-1], "the weights do not fit the layers"),
        (weights + b"\0", "the weights do not fit the layers"),
        (b"\xff" + weights[1:], "a weight lies outside -1..1"),
        (bytes([0b01010101]) * len(weights), "number of links in the weights"),
    ):
        path.write_bytes(with_digest(joined(schema, header, wrong)))
        with pytest.raises(ModelFileError, match=message):
            load(path)
    # With P = 3 a network of three weights leaves seven bits of its last byte, which must be zeros.
    schema, header, weights = split(saved(tmp_path, hidden_layers=(), weight_bound=3))
    path.write_bytes(with_digest(joined(schema, header, weights[:-1] + bytes([weights[-1] | 1]))))
    with pytest.raises(ModelFileError, match="unexpected bytes after the weights"):
        load(path)


def test_a_neuron_without_links_splits_nothing(tmp_path):
    model = fitted(stages=("sm",))
    network = next(iter(model.networks_))
    weights = [w.copy() for w in model.networks_[network].weights]
    weights[0][:, 0] = 0
    changed = Network(tuple(weights), 1)
    report = replace(model.reports_[network]["sm"], links=changed.links)
    networks = {**model.networks_, network: changed}
    marks = np.ones_like(model.splitting_[network])
    give_networks(model, networks, splitting={network: marks}, reports={network: {"sm": report}})
    with pytest.raises(ValueError, match="a neuron without links cannot split"):
        save(model, tmp_path / "m.bemi")


@pytest.mark.parametrize(
    "odd",
    [
        lambda text: text.replace(b'"bemi":', b'"bemi": '),
        lambda text: text.replace(b'"features":3', b'"features":3,"features":3'),
        lambda text: text.replace(b'"gap":null', b'"gap":1e-2'),
        lambda text: text.replace(b'"gap":null', b'"gap":NaN'),
        lambda text: text.replace(b'"gap":null', b'"gap":1e999'),
        lambda text: text.replace(b'"gap":null', b'"gap":' + b"[" * 100_000),
        lambda text: text.replace(b'"gap":null', b'"gap":' + b"1" * 5000),
        lambda text: text.decode().encode("utf-16"),
        lambda text: b"[" + text + b"]",
        lambda text: b"\xff" + text,
        lambda text: b"",
    ],
)
def test_a_header_is_written_in_one_way(tmp_path, model_bytes, odd):
    schema, header, weights = split(model_bytes)
    assert odd(header) != header
    (tmp_path / "m.bemi").write_bytes(with_digest(joined(schema, odd(header), weights)))
    with pytest.raises(ModelFileError, match="its header is not"):
        load(tmp_path / "m.bemi")


MEGABYTE = 2**20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({("classes",): list(range(4000)), ("settings", "subset_size"): 12}, "a network for each of"),
        ({("settings", "hidden_layers"): [2**30]}, "splitting must be a list|more than 16777216 weights"),
        ({("inputs",): 2**20, ("features",): 2**20}, "weights do not fit"),
        (
            {("inputs",): 2**20, ("transform",): {"name": "constant-input", "version": 1, "inputs": 2**40, "level": 1}},
            "does not map the features to the inputs",
        ),
        (
            {
                ("inputs",): 2**20,
                ("transform",): {
                    **{"name": "integer-hog", "version": 1, "shape": [2**30, 2**30, 2**30], "maximum": 65535},
                    **{"orientations": 16, "straighten": False},
                },
            },
            "does not map the features to the inputs",
        ),
        ({("classes",): ["a", "b", "c"], ("classes_dtype",): "<U999999999"}, "of the type that classes_dtype names"),
    ],
)
def test_claims_of_size_allocate_nothing(tmp_path, model_bytes, changes, message):
    for path, value in changes.items():
        model_bytes = changed(model_bytes, path, value)
    (tmp_path / "m.bemi").write_bytes(model_bytes)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.bemi")
    assert peak_of_refusing(tmp_path / "m.bemi") < MEGABYTE


def peak_of_refusing(path) -> int:
    """Bytes that it takes to refuse a file."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_large_files_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "m.bemi"
    with open(path, "wb") as file:
        file.truncate(65 * MEGABYTE)
    with pytest.raises(ModelFileError, match="too large"):
        load(path)
    assert peak_of_refusing(path) < MEGABYTE
    # A file that never ends is not read either.
    with pytest.raises(ModelFileError, match="is not a file"):
        load("/dev/zero")


def test_headers_of_many_values_are_refused_before_they_are_parsed(tmp_path, model_bytes):
    schema, _, weights = split(model_bytes)
    path = tmp_path / "m.bemi"
    for header, message in (
        (b"[" + b"[]," * (4 * MEGABYTE) + b"[]]", "too many values"),
        (b'"' + b"x" * (17 * MEGABYTE) + b'"', "its header is too long"),
    ):
        path.write_bytes(with_digest(joined(schema, header, weights)))
        with pytest.raises(ModelFileError, match=message):
            load(path)
        assert peak_of_refusing(path) < 3 * path.stat().st_size


def test_huge_values_of_a_tiny_feature_saturate(tmp_path):
    """Without a warning of NumPy's."""
    model = BeMiClassifier(**FAST, inputs=ConstantInput()).fit(DATA * 1e-200, [0, 1, 2] * 2)
    save(model, tmp_path / "m.bemi")
    copy = load(tmp_path / "m.bemi")
    assert np.array_equal(copy.predict(DATA * 1e300), model.predict(DATA * 1e-100))


def test_parameters_set_after_the_fit_do_not_describe_the_networks(tmp_path):
    X, y = load_iris(return_X_y=True)
    soft = FewBitClassifier(mw_loss=0.01, time_limit=1).fit(X[::5], y[::5])
    trained = soft.ensemble_.training.settings
    soft.set_params(C=trained["C"] / 2, mw_loss=0.0, weight_bound=1)
    save(soft, tmp_path / "m")
    verify(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.ensemble_.training.settings == trained
    assert (loaded.C, loaded.mw_loss, loaded.weight_bound) == (trained["C"], 0.01, 15)
    assert list(training_summary(soft.ensemble_)["stages"]) == ["soft", "mw"]


def test_an_older_certificate_does_not_stay(tmp_path):
    model = fitted()
    save(model, tmp_path / "m")
    assert (tmp_path / "m.cert").exists()
    save(load(tmp_path / "m"), tmp_path / "m")
    assert not (tmp_path / "m.cert").exists()


def test_what_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(BeMiClassifier(), tmp_path / "m")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        save(fitted(), tmp_path / "none" / "m")
    assert caught.value.filename == str(tmp_path / "none" / "m")


def test_a_scorecard_comes_back(tmp_path):
    card = ScorecardClassifier(2, monotone={1: 1}, node_limit=1, time_limit=None).fit(DATA, [0, 1, 2] * 2)
    save(card, tmp_path / "m")
    copy = load(tmp_path / "m")
    assert isinstance(copy, ScorecardClassifier)
    assert (copy.max_lines, copy.monotone, copy.hinges) == (2, {1: 1}, 2)
    assert copy.networks_ == card.networks_
    assert copy.scorecard().text() == card.scorecard().text()
    assert verify(tmp_path / "m").networks == 3


def test_files_know_the_estimators_and_their_stages():
    assert list(STAGES_IN_FILES) == list(ESTIMATORS)
    for name, estimator in ESTIMATORS.items():
        model = estimator(**{"mw_loss": 0.1} if name == "few-bit" else {})
        assert tuple(model._translated(model._settings())["stages"]) == STAGES_IN_FILES[name]


def test_the_documentation_lists_every_member_and_setting():
    page = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text(encoding="utf-8")
    for name in (*MEMBERS, *PARTS, *RECORDED_SETTINGS, *SELECTION, *STAGES_IN_FILES):
        assert re.search(f'`"?{name}"?`', page), name
    assert f"Files have format {SCHEMA}." in page


def test_a_header_of_format_8_is_none_of_format_7(tmp_path, model_bytes):
    (tmp_path / "m").write_bytes(with_digest(joined(7, *split(model_bytes)[1:])))
    with pytest.raises(ModelFileError, match="is damaged: its header is not that of format 7"):
        load(tmp_path / "m")


def test_a_model_of_an_unknown_solver_predicts(tmp_path):
    path = tmp_path / "m.bemi"
    model = fitted()
    save(model, path)
    schema, text, weights = split(path.read_bytes())
    header = json.loads(text)
    header["settings"]["solver"] = "mine\x1b"
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    path.write_bytes(with_digest(joined(schema, text, weights)))
    with pytest.warns(UserWarning, match="which is unknown here"):
        copy = load(path)
    assert copy.predict(DATA).tolist() == model.predict(DATA).tolist()
    with pytest.raises(ValueError, match="unknown solver"):
        copy.fit(DATA, [0, 1, 2, 0, 1, 2])
