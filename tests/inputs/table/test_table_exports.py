"""Bits of a table in C beside those in Python, on any reading of 32 bits, and what a page is given of a table."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from compiled_c import library, needs_gcc, on_rows
from mixed_tables import patients, table_model, wild_readings

from bemi import TableBits
from bemi.inputs.table.columns import Constant, Value

NEURON = "void neuron(const int32_t *x, int32_t *z) { *z = bemi_neuron(x); }"
OUTPUTS = "void outputs(const int32_t *x, int32_t *z) { bemi_transform(x, z); }"


def fitted(*, values=True):
    return table_model(values=values).transform_


def in_c(bits, used, folder, rows):
    return on_rows(library(folder, bits.c_code(0, 0, used), OUTPUTS).outputs, rows, len(used))


@needs_gcc
@pytest.mark.parametrize("values", [False, True])
def test_all_outputs(values, tmp_path):
    bits = fitted(values=values)
    rows = wild_readings(bits, 500)
    every = range(bits.n_outputs)
    assert np.array_equal(in_c(bits, every, tmp_path, rows), bits.from_fixed_point_inputs(rows))


@needs_gcc
def test_some_outputs(tmp_path):
    bits, rng = fitted(), np.random.default_rng(0)
    rows = wild_readings(bits, 200)
    expected = bits.from_fixed_point_inputs(rows)
    kinds = {type(output) for output in bits.outputs_}
    chosen = [np.flatnonzero(rng.random(bits.n_outputs) < share) for share in (0.1, 0.3, 0.5, 0.8)]
    chosen += [[place for place, output in enumerate(bits.outputs_) if type(output) is kind] for kind in kinds]
    for used in chosen:
        assert np.array_equal(in_c(bits, list(used), tmp_path, rows), expected[:, used])


@needs_gcc
def test_readings_take_the_fewest_bytes(tmp_path):
    bits = fitted(values=False)
    columns = list(bits.columns_)
    for largest, kind in ((2**15 - 1, "int16_t"), (2**15, "int32_t")):
        columns[0] = replace(columns[0], thresholds=(-largest - 1, largest))
        changed = TableBits.from_parameters(bits.parameters() | {"columns": [columns[0].record()]})
        tables = {table.name: table.kind for table in changed.c_code(0, 0, range(3)).tables}
        assert tables == {"bemi_columns": "uint8_t", "bemi_readings": kind}
        rows = np.array([[-(2**31)], [-largest - 2], [-largest - 1], [largest - 1], [largest], [2**31 - 1]])
        assert np.array_equal(in_c(changed, range(3), tmp_path, rows), changed.from_fixed_point_inputs(rows))


@needs_gcc
@pytest.mark.parametrize(("values", "constant"), [(False, 2), (True, 32), (False, 101), (True, 5)])
def test_the_sum_of_a_neuron(values, constant, tmp_path):
    bits, rng = fitted(values=values), np.random.default_rng(1)
    bits = TableBits.from_parameters(bits.parameters() | {"constant": constant})
    rows = wild_readings(bits, 200)
    expected = bits.from_fixed_point_inputs(rows)
    plain = np.array([not isinstance(output, Value) for output in bits.outputs_])
    for share in (0.05, 0.2, 1.0):
        weights = rng.integers(-7, 8, bits.n_outputs) * plain * (rng.random(bits.n_outputs) < share)
        found = on_rows(library(tmp_path, bits.c_neuron(weights), NEURON).neuron, rows, 1)
        assert np.array_equal(found[:, 0], expected @ weights)


def test_a_neuron_of_values_or_of_nothing_is_no_card():
    bits = fitted()
    weights = np.zeros(bits.n_outputs, dtype=np.int64)
    assert bits.c_neuron(weights) is None
    weights[[isinstance(output, Constant) for output in bits.outputs_]] = 3
    assert bits.c_neuron(weights) is None
    weights[5:] = 1
    weights[0] = 1
    assert isinstance(bits.outputs_[0], Value)
    assert bits.c_neuron(weights) is None


def test_columns_that_nothing_looks_at_are_told():
    bits = fitted(values=False)
    age = [place for place, name in enumerate(bits.output_names()) if name.startswith("age")]
    readings = bits.c_code(0, 0, [*age, bits.n_outputs - 1]).readings
    assert [reading.name for reading in readings if reading.used] == ["age"]
    assert [reading.name for reading in readings] == [column.name for column in bits.columns_]


X = pd.DataFrame(
    {
        "n": [0.25, np.nan, 1.5, 3.0],
        "flag": [0, 1, 1, 0],
        "text": ["b", None, "a", "b"],
        "code": [3.0, 1.0, np.nan, 1.0],
    }
)
TABLE = TableBits(categorical=["code"]).fit(X)


def test_rows_are_plain_cells_in_the_order_of_the_columns():
    expected = [[0.25, 0.0, "b", "3"], [None, 1.0, None, "1"], [1.5, 1.0, "a", None], [3.0, 0.0, "b", "1"]]
    assert TABLE.page_rows(X) == TABLE.page_rows(X[["code", "text", "flag", "n"]]) == expected
    assert json.loads(json.dumps(expected, allow_nan=False)) == expected


def test_fields_have_the_ranges_of_the_rows():
    n, flag, text, code = TABLE.page_fields(TABLE.page_rows(X))
    assert (n["low"], n["start"], n["high"], n["missing"], n["mayBeEmpty"]) == (0.25, 1.5, 3, True, True)
    assert (flag["choices"], flag["missing"]) == ([0, 1], False)
    assert (text["choices"], text["start"], text["missing"]) == (["a", "b"], "b", True)
    assert (code["choices"], code["start"]) == (["1", "3"], "1")


def test_without_rows_every_threshold_is_within_reach():
    table = TableBits().fit(patients(100)[0])
    for column, field in zip(table.columns_, table.page_fields(None), strict=True):
        if field["kind"] == "number":
            cuts = [threshold / 10**column.decimals for threshold in column.thresholds]
            assert field["low"] < min(cuts) < max(cuts) < field["high"]
            assert field["low"] <= field["start"] <= field["high"]
        else:
            assert field["start"] in field["choices"]


def test_an_empty_column_and_a_constant_one_have_fields():
    given = pd.DataFrame({"empty": [np.nan] * 3, "same": [7, 7, 7], "one level": ["x"] * 3, "n": [1, 2, 3]})
    table = TableBits().fit(given)
    for rows in (None, table.page_rows(given)):
        assert [field["name"] for field in table.page_fields(rows)] == list(given)
    json.dumps(table.page_script().data, allow_nan=False)
