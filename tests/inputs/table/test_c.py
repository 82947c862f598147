"""Bits of a table in C beside those in Python, on any reading of 32 bits."""

from dataclasses import replace

import numpy as np
import pytest
from compiled_c import library, needs_gcc, on_rows
from mixed_tables import table_model, wild_readings

from bemi import TableBits
from bemi.inputs.table.outputs import Constant, Value

pytestmark = needs_gcc

NEURON = "void neuron(const int32_t *x, int32_t *z) { *z = bemi_neuron(x); }"
OUTPUTS = "void outputs(const int32_t *x, int32_t *z) { bemi_transform(x, z); }"


def fitted(*, values=True):
    return table_model(values=values).transform_


def in_c(bits, used, folder, rows):
    return on_rows(library(folder, bits.c_piece(0, 0, used), OUTPUTS).outputs, rows, len(used))


@pytest.mark.parametrize("values", [False, True])
def test_all_outputs(values, tmp_path):
    bits = fitted(values=values)
    rows = wild_readings(bits, 500)
    every = range(bits.n_outputs)
    assert np.array_equal(in_c(bits, every, tmp_path, rows), bits.from_readings(rows))


def test_some_outputs(tmp_path):
    bits, rng = fitted(), np.random.default_rng(0)
    rows = wild_readings(bits, 200)
    expected = bits.from_readings(rows)
    kinds = {type(output) for output in bits.outputs_}
    chosen = [np.flatnonzero(rng.random(bits.n_outputs) < share) for share in (0.1, 0.3, 0.5, 0.8)]
    chosen += [[place for place, output in enumerate(bits.outputs_) if type(output) is kind] for kind in kinds]
    for used in chosen:
        assert np.array_equal(in_c(bits, list(used), tmp_path, rows), expected[:, used])


def test_readings_take_the_fewest_bytes(tmp_path):
    bits = fitted(values=False)
    columns = list(bits.columns_)
    for largest, kind in ((2**15 - 1, "int16_t"), (2**15, "int32_t")):
        columns[0] = replace(columns[0], thresholds=(-largest - 1, largest))
        changed = TableBits.from_parameters(bits.parameters() | {"columns": [columns[0].record()]})
        tables = {table.name: table.kind for table in changed.c_piece(0, 0, range(3)).tables}
        assert tables == {"bemi_columns": "uint8_t", "bemi_readings": kind}
        rows = np.array([[-(2**31)], [-largest - 2], [-largest - 1], [largest - 1], [largest], [2**31 - 1]])
        assert np.array_equal(in_c(changed, range(3), tmp_path, rows), changed.from_readings(rows))


@pytest.mark.parametrize(("values", "constant"), [(False, 2), (True, 32), (False, 101), (True, 5)])
def test_the_sum_of_a_neuron(values, constant, tmp_path):
    bits, rng = fitted(values=values), np.random.default_rng(1)
    bits = TableBits.from_parameters(bits.parameters() | {"constant": constant})
    rows = wild_readings(bits, 200)
    expected = bits.from_readings(rows)
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
    readings = bits.c_piece(0, 0, [*age, bits.n_outputs - 1]).readings
    assert [reading.name for reading in readings if reading.used] == ["age"]
    assert [reading.name for reading in readings] == [column.name for column in bits.columns_]
