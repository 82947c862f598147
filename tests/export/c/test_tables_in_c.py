"""From the cells of a table to a label: Python beside C, which is given readings."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bemi_lab.benchmarks.boards import run, size
from compiled_c import SANITIZED, SCALING_HOST, answers, board, compiled, needs_gcc, stack_used
from exported_models import expected
from mixed_tables import new_rows, table_model, wild_readings
from soft_margins import soft_margins

from bemi import ConstantInput, TableBits
from bemi.export.c import export, write
from bemi.inputs.fixed_point import LARGEST_READING, MISSING

TABLES = Path(os.environ.get("BEMI_DATA", "no data folder"), "tables")
FILES = sorted(TABLES.glob("*.csv"))
QUICK = {"weight_bound": 7, "C": 1.0, "time_limit": None, "node_limit": 2}


def indices(classifier, rows):
    return classifier.ensemble_.class_indices(classifier.predict(rows))


def sensors(rows, seed=0):
    """Readings of sensors far from zero, in many units: pascal, kelvin, volts, a counter."""
    rng = np.random.default_rng(seed)
    X = rng.normal([101325.0, 293.15, 2.5e-4, 2048.0, 3e9], [300.0, 8.0, 3e-5, 40.0, 5e6], (rows, 5))
    X[:, 3] = np.rint(X[:, 3])
    score = (X[:, 0] - 101325) / 300 + (X[:, 1] - 293.15) / 8 - (X[:, 3] - 2048) / 40
    return X, score


def scaled_model(mode, classes=3):
    X, score = sensors(120)
    labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    transform = ConstantInput() if mode == "centred" else None
    return soft_margins(**QUICK, input_scaling=mode, inputs=transform).fit(X, labels)


def beyond(X, factor):
    """The rows, some cells of which are far outside what was seen in training."""
    far = np.random.default_rng(1).random(X.shape) < 0.2
    return np.where(far, (X - X.mean(axis=0)) * factor + X.mean(axis=0), X)


@needs_gcc
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("mode", "factor"), [("centred", 1e6), ("per-feature", 50.0), ("common", 50.0)])
def test_raw_readings_are_scaled_as_in_python(mode, factor, classes, tmp_path):
    classifier = scaled_model(mode, classes)
    made = write(classifier, tmp_path)
    assert "void bemi_scale(const int32_t reading[BEMI_INPUTS], bemi_input_t x[BEMI_INPUTS]);" in made.header
    X = beyond(sensors(500, seed=1)[0], factor)
    labels = indices(classifier, X)
    for flags in (("-O2",), SANITIZED):
        program = compiled(tmp_path, *flags, host=SCALING_HOST)
        assert np.array_equal(answers(program, classifier.fixed_point_inputs(X), "int32_t"), labels)


@needs_gcc
def test_every_reading_of_32_bits_is_scaled(tmp_path):
    classifier = scaled_model("centred")
    write(classifier, tmp_path)
    scaling = classifier.input_scaling_
    readings = np.random.default_rng(2).integers(MISSING, LARGEST_READING + 1, (1000, 5))
    readings[:400] = scaling.scale.centres + readings[:400] // 10 ** np.random.default_rng(3).integers(3, 9, (400, 5))
    readings[400], readings[401] = MISSING, LARGEST_READING
    readings = np.clip(readings, MISSING, LARGEST_READING)
    integers = np.clip(scaling.scale.scaled(readings), -scaling.limit, scaling.limit)
    program = compiled(tmp_path, *SANITIZED, host=SCALING_HOST)
    assert np.array_equal(answers(program, readings, "int32_t"), expected(classifier, integers))


def test_integers_need_no_scaling():
    X = np.random.default_rng(0).integers(0, 9, (30, 4))
    classifier = soft_margins(**QUICK).fit(X, X[:, 0] > 4)
    made = export(classifier)
    assert "bemi_scale" not in made.header + made.source + made.example
    assert np.array_equal(classifier.fixed_point_inputs(X), X)


@needs_gcc
@pytest.mark.parametrize("optimize", ["speed", "size"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "inputs",
    [{}, {"values": True}, {"rules": 60}, {"similarities": 20}, {"values": True, "similarities": 20, "rules": 9}],
)
def test_cells_of_a_table(inputs, classes, optimize, tmp_path):
    classifier = table_model(**inputs, classes=classes)
    write(classifier, tmp_path, optimize=optimize)
    X = new_rows(400)
    readings = wild_readings(classifier.transform_, 1000)
    for flags in (("-O2",), SANITIZED):
        program = compiled(tmp_path, "-Wconversion", *flags)
        assert np.array_equal(answers(program, classifier.fixed_point_inputs(X), "int32_t"), indices(classifier, X))
        assert np.array_equal(answers(program, readings, "int32_t"), expected(classifier, readings))


@needs_gcc
def test_outputs_without_a_link_are_not_computed(tmp_path):
    full, light = table_model(classes=4), table_model(classes=4, stages=("soft", "mw"), mw_loss=0.5)
    used = np.any([network.weights[0].any(axis=1) for network in light.ensemble_.networks], axis=0)
    assert used.sum() < light.transform_.n_outputs - 3
    made = write(light, tmp_path)
    assert f"bemi_value_t z[{used.sum()}];" in made.source
    assert made.costs.flash < export(full).costs.flash
    X = new_rows(200)
    assert np.array_equal(answers(compiled(tmp_path, "-O2"), light.fixed_point_inputs(X), "int32_t"), indices(light, X))


def test_the_header_says_what_a_reading_is():
    made = export(table_model())
    pressure = table_model().transform_.columns_[1]
    assert f"  x[1] = pressure * 10^{pressure.decimals}\n" in made.header
    assert "  x[4] = blood: one of its levels, -1 for any other\n" in made.header
    assert "enum {\n    BEMI_BLOOD_0 = 0, /* 0 */\n    BEMI_BLOOD_A = 1, /* A */\n    BEMI_BLOOD_AB = 2," in made.header
    assert "#define BEMI_MISSING (-2147483647L - 1)" in made.header
    scaled = export(scaled_model("centred"))
    decimals = scaled_model("centred").input_scaling_.scale.decimals
    assert f"  reading[1] = feature 1 * 10^{decimals[1]}\n" in scaled.header


@needs_gcc
@pytest.mark.skipif(not FILES, reason="BEMI_DATA is not set, or has no tables")
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_real_tables(file, values, tmp_path):
    table = pd.read_csv(file)
    X, y = table.drop(columns="label"), table["label"]
    chosen = np.random.default_rng(0).permutation(len(X))[:200]
    classifier = soft_margins(**QUICK, inputs=TableBits(values=values)).fit(X.iloc[chosen], y.iloc[chosen])
    write(classifier, tmp_path)
    program = compiled(tmp_path, "-O2")
    assert np.array_equal(answers(program, classifier.fixed_point_inputs(X), "int32_t"), indices(classifier, X))
    readings = wild_readings(classifier.transform_, 500)
    assert np.array_equal(answers(program, readings, "int32_t"), expected(classifier, readings))


@needs_gcc
@pytest.mark.skipif(not FILES, reason="BEMI_DATA is not set, or has no tables")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_numbers_of_real_tables(file, tmp_path):
    table = pd.read_csv(file)
    X, y = table.drop(columns="label").select_dtypes("number").fillna(0.0), table["label"]
    if not X.shape[1]:
        pytest.skip("no column of numbers")
    chosen = np.random.default_rng(0).permutation(len(X))[:200]
    classifier = soft_margins(**QUICK, input_scaling="centred", inputs=ConstantInput())
    classifier.fit(X.iloc[chosen], y.iloc[chosen])
    write(classifier, tmp_path)
    program = compiled(tmp_path, "-O2", host=SCALING_HOST)
    assert np.array_equal(answers(program, classifier.fixed_point_inputs(X), "int32_t"), indices(classifier, X))


MODELS = {
    "bits": lambda: table_model(classes=4),
    "values and bits": lambda: table_model(values=True, classes=4),
    "two classes, values and bits": lambda: table_model(values=True),
    "similarities": lambda: table_model(similarities=20, thresholds=0),
    "rules": lambda: table_model(rules=40),
    "unknown rows": lambda: table_model(values=True, classes=4, reject=0.3),
    "unknown rows, a card": lambda: table_model(probabilities=True, reject=0.3),
}


@pytest.mark.parametrize("device", [board("cortex_m3"), board("riscv32"), board("atmega328p")])
@pytest.mark.parametrize("name", MODELS)
def test_tables_on_devices(device, name, tmp_path):
    classifier = MODELS[name]()
    made = write(classifier, tmp_path)
    readings = wild_readings(classifier.transform_, 40)
    found = run(device, tmp_path, readings)
    assert np.array_equal(found.predictions, expected(classifier, readings))
    if device.name == "cortex_m3":
        built = size(device, tmp_path)
        assert (built.ram, built.undefined) == (0, ())
        assert built.flash <= made.costs.flash <= 1.35 * built.flash
        assert found.instructions.max() <= made.costs.instructions
        assert stack_used(device, tmp_path) <= made.costs.stack
