"""ONNX models run by onnxruntime beside Python: the same labels and votes, by integers alone."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from exported_models import (
    expected,
    expected_probabilities,
    probes,
    rejecting,
    with_networks,
    with_probabilities,
    with_transform,
)
from exported_models import model as exported_model
from mixed_tables import new_rows, table_model, wild_readings
from sklearn.datasets import load_digits, load_wine
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, IntegerHog, Network, save
from bemi.cli import main
from bemi.ensemble.folding import WIDEST_TABLE
from bemi.inputs import InputScaling
from bemi.inputs.fixed_point import LARGEST_READING, MISSING

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from bemi.export.onnx import input_range, model, write  # noqa: E402
from bemi.export.onnx.graph import Graph  # noqa: E402

INTEGERS = {onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}


def run(made, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = made if isinstance(made, str) else made.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    pieces = [session.run(None, {"x": x[i : i + 1000].astype(np.int32)}) for i in range(0, len(x), 1000)]
    return [np.concatenate(parts) for parts in zip(*pieces, strict=True)]


def random_ensemble(X, layers, bound, *, classes=5, seed=0, size=2, density=1.0, **settings):
    """A fitted classifier whose networks are exchanged for random ones, so that votes are at odds and ties abound."""
    rng = np.random.default_rng(seed)
    quick = {"hidden_layers": (), "stages": ("sm",), "node_limit": 1, "subset_size": size}
    classifier = BeMiClassifier(**quick, **settings).fit(X[: 2 * classes], np.arange(2 * classes) % classes)
    sizes = (classifier.training_rows_.shape[1], *layers, int(np.ceil(np.log2(size))))
    networks, splitting = [], []
    for _ in classifier.networks_:
        weights = tuple(
            rng.integers(-bound, bound + 1, shape) * (rng.random(shape) < density) for shape in pairwise(sizes)
        )
        networks.append(Network(weights, bound))
        splitting.append(rng.random(sizes[1]) < 0.7)
    return with_networks(classifier, networks, splitting)


def small_numbers(rows, rng, low=0, high=9, features=6):
    return rng.integers(low, high + 1, (rows, features))


def colour_images(rows, rng, shape=(17, 20, 3)):
    """Noise, slanted bars, flat and black images."""
    images = rng.integers(0, 256, (rows, *shape)) >> rng.integers(0, 9, (rows, 1, 1, 1))
    place = np.arange(shape[1]) - shape[1] // 2 - rng.uniform(-1, 1, (rows, 1, 1)) * (np.arange(shape[0])[:, None] - 8)
    bars = np.where(np.abs(place) < 2, 255, 0)[..., None] >> rng.integers(0, 4, (rows, 1, 1, shape[2]))
    which = rng.integers(0, 4, (rows, 1, 1, 1))
    flat = np.broadcast_to(rng.integers(0, 256, (rows, 1, 1, shape[2])), images.shape)
    return np.choose(which, [images, bars, np.minimum(images + bars, 255), flat]).reshape(rows, -1)


def digit_images(rows, rng):
    """Handwritten digits, the same with noise, and noise alone."""
    X = load_digits().data.astype(int)[rng.integers(0, 1797, rows)]
    noise = rng.integers(-16, 17, X.shape) * rng.integers(0, 2, (rows, 1))
    return np.clip(X * rng.integers(0, 8, (rows, 1)).clip(0, 1) + noise, 0, 16)


def real_table(rows, rng):
    """Measurements of wine, all of them positive, moved to around their means and beyond."""
    X = load_wine().data
    return (X[rng.integers(0, len(X), rows)] - X.mean(axis=0)) * rng.uniform(0.01, 3, (rows, 1))


def trained(make, classes, per_class, **settings):
    X, y = load_digits(n_class=classes, return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in range(classes)])
    X = X[chosen].astype(int)
    return make(X, **settings).fit(X, y[chosen])


def paper(X, **settings):
    return BeMiClassifier(time_limit=None, node_limit=1, **settings)


def soft(X, **settings):
    return soft_margins(time_limit=None, node_limit=1, **settings)


@cache
def paper_digits(ties):
    return trained(paper, 5, 3, ties=ties)


def table(**settings):
    X, y = load_wine(return_X_y=True)
    keep = np.arange(0, len(y), 12)
    return BeMiClassifier(**settings).fit((X - X.mean(axis=0))[keep], y[keep])


def rows_of(make, *arguments, **settings):
    return lambda rows, rng: make(rows, rng, *arguments, **settings)


COUNTED = np.random.default_rng(7)
SMALL = small_numbers(40, COUNTED)
SIGNED = small_numbers(40, COUNTED, -9, 9)
LARGEST = (2**31 - 1) // (6 * 7)
LARGE = small_numbers(40, COUNTED, -LARGEST, LARGEST)
COLOUR = colour_images(40, COUNTED)
UNEVEN = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (2, 5), (4, 5)]
UNEVEN_TRIPLES = [(0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 2, 4), (1, 3, 4), (2, 3, 4)]

CASES = {
    "trained, margin": (lambda: paper_digits("margin"), digit_images),
    "trained, abstain": (lambda: paper_digits("abstain"), digit_images),
    "soft margins": (
        lambda: trained(soft, 6, 4, weight_bound=7),
        digit_images,
    ),
    "three classes each": (lambda: random_ensemble(SMALL, (4, 4), 1, size=3), small_numbers),
    "three classes each, abstain": (lambda: random_ensemble(SMALL, (4, 4), 1, size=3, ties="abstain"), small_numbers),
    "some pairs": (lambda: random_ensemble(SMALL, (3,), 1, classes=6, subsets=UNEVEN), small_numbers),
    "some triples": (lambda: random_ensemble(SMALL, (4,), 2, size=3, subsets=UNEVEN_TRIPLES), small_numbers),
    "some pairs, abstain": (
        lambda: random_ensemble(SMALL, (), 1, classes=6, subsets=UNEVEN, ties="abstain"),
        small_numbers,
    ),
    "wide": (lambda: random_ensemble(SMALL, (WIDEST_TABLE + 4, 3), 7), small_numbers),
    "wide, three classes each": (lambda: random_ensemble(SMALL, (WIDEST_TABLE + 4, 3), 1, size=3), small_numbers),
    # With few links some neurons see the constant alone, and their sign is known.
    "wide, constant input": (
        lambda: random_ensemble(SIGNED, (3 * WIDEST_TABLE, 3), 3, density=0.4, inputs=ConstantInput(6)),
        rows_of(small_numbers, -9, 9),
    ),
    "signed": (lambda: random_ensemble(SIGNED, (4, 4), 7), rows_of(small_numbers, -9, 9)),
    "large": (lambda: random_ensemble(LARGE, (4, 4), 7), rows_of(small_numbers, -LARGEST, LARGEST)),
    "scaled": (lambda: table(time_limit=None, node_limit=1), real_table),
    "constant input": (
        lambda: random_ensemble(real_table(40, COUNTED), (), 7, inputs=ConstantInput()),
        real_table,
    ),
    "bits of a table": (lambda: table_model(classes=5), lambda rows, rng: new_rows(rows)),
    "bits and values of a table, abstain": (
        lambda: table_model(classes=5, values=True, ties="abstain"),
        lambda rows, rng: new_rows(rows),
    ),
    "constant input, counts": (
        lambda: random_ensemble(SMALL, (4,), 2, inputs=ConstantInput(6)),
        small_numbers,
    ),
    "histograms of digits": (lambda: trained(soft, 4, 4, inputs=IntegerHog((8, 8)), weight_bound=7), digit_images),
    "histograms, colour": (
        lambda: random_ensemble(COLOUR, (), 7, inputs=IntegerHog((17, 20, 3))),
        colour_images,
    ),
    "histograms and colours": (
        lambda: random_ensemble(COLOUR, (), 7, inputs=IntegerHog((17, 20, 3), orientations=8, colours=True)),
        colour_images,
    ),
    "histograms, colour, not straightened": (
        lambda: random_ensemble(
            COLOUR, (4,), 7, inputs=IntegerHog((17, 20, 3), orientations=8, straighten=False), ties="abstain"
        ),
        colour_images,
    ),
}
"""By name, how to make a classifier and rows to try it on."""

CLASSIFIERS = {name: cache(make) for name, (make, _) in CASES.items()}


def taken(classifier, X):
    """What the graph takes: readings where the model scales or takes raw columns."""
    inputs = classifier.ensemble_.inputs
    if not inputs.takes_integers:
        return inputs.transform.fixed_point_inputs(X)
    return X if inputs.scaling.scale is None else inputs.scaling.scale.fixed_point_inputs(X)


def check(name, rows, rng):
    """Compare labels and votes; how many rows were tried."""
    classifier, X = CLASSIFIERS[name](), CASES[name][1](rows, rng)
    label, counts = run(model(classifier), taken(classifier, X))
    expected = classifier.vote(X)
    assert np.array_equal(counts, expected.counts)
    index = {c: i for i, c in enumerate(classifier.classes_.tolist())} | {classifier.unclassified_label_: -1}
    assert label.tolist() == [index[c] for c in expected.label.tolist()]
    assert (label == -1).any() == (classifier.ensemble_.ties.name == "abstain")
    assert expected.unclassified.any(), "ties must occur"
    assert len(np.unique(label)) > 2
    return expected


ROWS = 1200


@pytest.mark.parametrize("name", CASES)
def test_labels_and_votes_are_those_of_python(name):
    expected = check(name, ROWS, np.random.default_rng(1))
    if "three" in name or "triples" in name:
        networks = len(CLASSIFIERS[name]().networks_)
        assert (expected.counts.sum(axis=1) < networks).any(), "abstentions must occur"


def test_ordinary_runs_try_20000_rows():
    assert ROWS * len(CASES) >= 20_000


@pytest.mark.slow
def test_a_million_labels_and_votes_are_those_of_python():
    rng = np.random.default_rng()
    for name in CASES:
        for _ in range(-(-1_000_000 // (len(CASES) * 10_000))):
            check(name, 10_000, rng)


def test_networks_without_a_table_are_among_the_cases():
    wide = [name for name in CASES if name.startswith("wide")]
    for name in wide:
        assert any(n.table is None for n in CLASSIFIERS[name]().folded(0).networks)


@pytest.mark.parametrize("name", CASES)
def test_no_number_is_a_float(name):
    made = model(CLASSIFIERS[name]())
    graph = onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True).graph
    known = {v.name: v.type.tensor_type.elem_type for v in (*graph.value_info, *graph.input, *graph.output)}
    known |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    for node in graph.node:
        assert {known[tensor] for tensor in (*node.input, *node.output)} <= INTEGERS, node
        assert not any(a.type in (a.FLOAT, a.FLOATS, a.TENSOR) for a in node.attribute), node
        assert node.op_type not in ("Loop", "Scan", "If")


def patches(rows, rng, shape, maximum):
    """Images that are dark but for a pixel, a line, a column or more, faint, full or noise; the first is black."""
    images = np.zeros((rows, *shape), dtype=int)
    for image in images[1:]:
        top, left = rng.integers(0, shape[0]), rng.integers(0, shape[1])
        height, width = rng.choice([1, 2, 99], 2)
        patch = image[top : top + height, left : left + width]
        patch[:] = [1, maximum, *[rng.integers(0, maximum + 1, patch.shape)] * 3][rng.integers(5)]
    return images.reshape(rows, -1)


@pytest.mark.parametrize(
    ("shape", "maximum", "orientations", "straighten"),
    [
        ((28, 28), 255, 16, True),
        ((8, 8), 16, 16, True),
        ((17, 20, 3), 255, 12, True),
        ((17, 20, 3), 255, 12, False),
        ((17, 20, 3), 1000, 8, True),
        ((1, 1, 1), 1, 8, True),
        ((5, 33, 2), 65535, 16, True),
        ((90, 16), 255, 8, True),
        ((100, 100), 255, 8, True),
    ],
)
def test_histograms_are_those_of_python_bit_for_bit(shape, maximum, orientations, straighten):
    rng = np.random.default_rng(3)
    hog = IntegerHog(shape, maximum, orientations, straighten).fit(np.zeros((1, int(np.prod(shape))), dtype=int))
    X = patches(100, rng, shape, maximum)
    if len(shape) == 3 and shape[2] == 3:
        X = np.concatenate([X, colour_images(100, rng)])
    assert np.array_equal(run(transform_model(hog, X.shape[1]), X)[0], hog.transform(X))


def transform_model(transform, features):
    graph = Graph()
    made = transform.onnx(graph.input("x", np.int32, ("N", features)))
    return graph.model({"y": (made, ("N", None))})


def test_pixels_beyond_the_maximum_count_as_the_maximum():
    hog = IntegerHog(maximum=16).fit(np.zeros((1, 64), dtype=int))
    X = digit_images(20, np.random.default_rng(4))
    beyond = np.where(X == 16, 500, np.where(X == 0, -3, X))
    assert np.array_equal(run(transform_model(hog, 64), beyond)[0], hog.transform(X))


def test_a_transform_without_export_is_refused():
    classifier = with_transform(random_ensemble(SMALL, (), 1, inputs=ConstantInput()), Shifted().fit(SMALL))
    with pytest.raises(
        ValueError, match=r"^the transform Shifted cannot be exported to ONNX: it has no onnx of its own$"
    ):
        model(classifier)


class Shifted(ConstantInput):
    pass


def metadata(made):
    return {p.key: json.loads(p.value) for p in made.metadata_props}


def test_metadata_say_what_the_numbers_mean():
    classifier = CLASSIFIERS["constant input"]()
    found = metadata(model(classifier))
    assert found["classes"] == [0, 1, 2, 3, 4]
    assert found["ties"] == "margin"
    assert found["transform"] == classifier.transform_.parameters()
    assert found["input_range"] == [-(2**31) + 1, 2**31 - 1]
    assert found["missing"] is None
    X = real_table(200, np.random.default_rng(5))
    by_hand = np.rint(X * np.array([10.0 ** column["decimals"] for column in found["columns"]]))
    label, _ = run(model(classifier), by_hand)
    assert np.array_equal(np.array(found["classes"])[label], classifier.predict(X))
    assert metadata(model(paper_digits("margin")))["columns"] is None


def test_metadata_suffice_to_read_a_table():
    classifier = table_model(values=True)
    made = model(classifier)
    found = metadata(made)
    assert (found["missing"], found["input_range"]) == (-(2**31), [-(2**31), 2**31 - 1])
    assert str(found["missing"]) in made.doc_string
    X = new_rows(500)

    def reading(cell, column):
        if cell is None or cell != cell:
            return found["missing"]
        if "levels" in column:
            text = str(cell)
            return column["levels"].index(text) if text in column["levels"] else -1
        # Exact decimals, instead of doubles.
        return max(-(2**31) + 1, min(2**31 - 1, round(Fraction(cell) * Fraction(10) ** column["decimals"])))

    by_hand = [
        [reading(row[column["name"]], column) for column in found["columns"]] for row in X.to_dict(orient="records")
    ]
    label, _ = run(made, np.array(by_hand))
    assert np.array_equal(np.array(found["classes"])[label], classifier.predict(X))


@pytest.mark.parametrize(
    ("values", "similarities", "rules"), [(False, 0, 0), (True, 0, 0), (True, 20, 0), (True, 20, 30)]
)
def test_bits_of_any_readings_are_those_of_python(values, similarities, rules):
    transform = table_model(values=values, similarities=similarities, rules=rules).transform_
    X = np.concatenate([wild_readings(transform, 4000), np.full((1, 8), MISSING), np.full((1, 8), LARGEST_READING)])
    found = run(transform_model(transform, 8), X)[0]
    assert np.array_equal(found, transform.from_fixed_point_inputs(X))
    assert len(np.unique(found)) > (100 if values else 1)


@pytest.mark.parametrize("mode", ["centred", "common", "per-feature"])
def test_scaling_in_the_graph_is_that_of_python(mode):
    """Any readings that Python accepts give the same integers; others saturate."""
    rng = np.random.default_rng(9)
    X = rng.normal([0.001, 2048.0, 101325.0, -7e6, 0.0], [1e-4, 40.0, 900.0, 1e3, 0.0], (50, 5))
    scaling = InputScaling.fit(X, mode)
    found = np.concatenate([scaling.scale.fixed_point_inputs(X), rng.integers(-(2**31) + 1, 2**31, (3000, 5))])
    graph = Graph()
    made = scaling.scale.onnx(graph.input("x", np.int32, ("N", 5)))
    expected = [
        [(int(r) - c) * m * 2 + 2**s >> (s + 1) for r, c, m, s in zip(*row, strict=True)]
        for row in by_column(scaling.scale, found)
    ]
    assert np.array_equal(run(graph.model({"y": (made, ("N", None))}), found)[0], expected)


def by_column(scale, found):
    parts = (scale.centres.tolist(), scale.multipliers.tolist(), scale.shifts.tolist())
    return ((row, *parts) for row in found.tolist())


def test_the_declared_range_is_that_of_the_data():
    assert input_range(CLASSIFIERS["wide"]()) == (-(2**31) + 1, 2**31 - 1)
    assert input_range(CLASSIFIERS["signed"]()) == (-(2**31) + 1, 2**31 - 1)
    assert input_range(CLASSIFIERS["histograms of digits"]()) == (0, 16)


def test_the_command_writes_what_the_function_writes(tmp_path, capsys):
    classifier = paper_digits("abstain")
    save(classifier, tmp_path / "m.bemi")
    write(classifier, tmp_path / "by_function.onnx")
    assert main(["export", "onnx", str(tmp_path / "m.bemi"), "-o", str(tmp_path / "m.onnx"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["input_range"] == [-(2**31) + 1, 2**31 - 1]
    assert told["bytes"] == (tmp_path / "m.onnx").stat().st_size
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "by_function.onnx").read_bytes()
    X = digit_images(300, np.random.default_rng(6))
    label, counts = run(str(tmp_path / "m.onnx"), X)
    assert np.array_equal(np.append(classifier.classes_, -1)[label], classifier.predict(X))
    assert np.array_equal(counts, classifier.vote(X).counts)


def test_without_the_package_the_command_says_what_to_install(tmp_path, monkeypatch, capsys):
    save(paper_digits("margin"), tmp_path / "m.bemi")
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "bemi.export.onnx.graph")
    assert main(["export", "onnx", str(tmp_path / "m.bemi"), "-o", str(tmp_path / "m.onnx")]) == 2
    assert capsys.readouterr().err == "bemi: onnx is not installed; install it with: pip install 'bemi[onnx]'\n"
    assert not (tmp_path / "m.onnx").exists()


def test_a_folder_that_does_not_exist_is_named(tmp_path, capsys):
    assert main(["export", "onnx", "m.bemi", "-o", str(tmp_path / "none" / "m.onnx")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_nothing_else_imports_the_package():
    code = "import sys, bemi.cli, bemi.estimators, bemi.export.onnx; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", with_probabilities())
def test_chances_are_those_of_python(name):
    classifier = exported_model(name)
    made = model(classifier)
    low, high = input_range(classifier)
    high = min(high, 2**20)
    rows = probes(name, 3000, max(low, -high), high)
    label, _, chances = run(made, rows)
    assert np.array_equal(label, expected(classifier, rows))
    assert np.array_equal(chances, expected_probabilities(classifier, rows))
    assert len(np.unique(chances[:, 0])) > 20, "the rows are not all sure"


@pytest.mark.parametrize("name", rejecting())
def test_rejected_rows_are_those_of_python(name):
    classifier = exported_model(name)
    rows = probes(name, 1000, *(max(-(2**20), min(2**20, end)) for end in input_range(classifier)))
    label, *_ = run(model(classifier), rows)
    assert np.array_equal(label, expected(classifier, rows))
    assert 0.1 < (label == -1).mean() < 0.95


@pytest.mark.parametrize("inputs", ["bits", "values"])
def test_rejected_rows_of_tables_are_those_of_python(inputs):
    if inputs == "bits":
        classifier, X = table_model(classes=4, reject=0.1), new_rows(500)
    else:
        X, y = load_wine(return_X_y=True)
        classifier = soft_margins(inputs=ConstantInput(), reject=0.1).fit(X[::2], y[::2])
        X = np.concatenate([X, 1.3 * X])
    label, _ = run(model(classifier), classifier.fixed_point_inputs(X))
    names = np.append(classifier.classes_.astype(object), classifier.unclassified_label_)
    assert np.array_equal(names[label], classifier.predict(X))
    assert 0.1 < (label == -1).mean() < 0.95


@pytest.mark.parametrize("classes", [2, 3])
def test_chances_of_tables_are_those_of_python(classes):
    classifier = table_model(classes=classes, probabilities=True)
    X = new_rows(500)
    label, _, chances = run(model(classifier), classifier.fixed_point_inputs(X))
    assert np.array_equal(classifier.classes_[label], classifier.predict(X))
    assert np.array_equal(chances / chances.sum(axis=1, keepdims=True), classifier.predict_proba(X))


def test_models_without_probabilities_have_no_such_output():
    made = model(exported_model("no hidden layer, P = 7"))
    assert [output.name for output in made.graph.output] == ["label", "counts"]
