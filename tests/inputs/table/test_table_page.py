"""What a page is given of a table: plain cells, and fields that fit the columns."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from mixed_tables import patients

from bemi import TableBits
from bemi.inputs.export_hooks import number_field
from bemi.inputs.table.page import page_fields, page_piece, page_rows

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
    assert page_rows(TABLE, X) == page_rows(TABLE, X[["code", "text", "flag", "n"]]) == expected
    assert json.loads(json.dumps(expected, allow_nan=False)) == expected


def test_fields_have_the_ranges_of_the_rows():
    n, flag, text, code = page_fields(TABLE, page_rows(TABLE, X))
    assert (n["low"], n["start"], n["high"], n["missing"], n["mayBeEmpty"]) == (0.25, 1.5, 3, True, True)
    assert (flag["choices"], flag["missing"]) == ([0, 1], False)
    assert (text["choices"], text["start"], text["missing"]) == (["a", "b"], "b", True)
    assert (code["choices"], code["start"]) == (["1", "3"], "1")


def test_without_rows_every_threshold_is_within_reach():
    table = TableBits().fit(patients(100)[0])
    for column, field in zip(table.columns_, page_fields(table, None), strict=True):
        if field["kind"] == "number":
            cuts = [threshold / 10**column.decimals for threshold in column.thresholds]
            assert field["low"] < min(cuts) < max(cuts) < field["high"]
            assert field["low"] <= field["start"] <= field["high"]
        else:
            assert field["start"] in field["choices"]


def test_an_empty_column_and_a_constant_one_have_fields():
    given = pd.DataFrame({"empty": [np.nan] * 3, "same": [7, 7, 7], "one level": ["x"] * 3, "n": [1, 2, 3]})
    table = TableBits().fit(given)
    for rows in (None, page_rows(table, given)):
        assert [field["name"] for field in page_fields(table, rows)] == list(given)
    json.dumps(page_piece(table).data, allow_nan=False)


@pytest.mark.parametrize(
    ("low", "high", "decimals", "step"),
    [
        (0, 100, 0, 1),
        (0.0, 1.0, 6, 0.01),
        (0.0, 1.0, 1, 0.1),
        (0, 1e6, 0, 10000),
        (1e-30, 9e-30, 36, 1e-32),
        (5, 5, 0, 1),
    ],
)
def test_steps_are_powers_of_ten_that_divide_the_range_into_hundreds_at_most(low, high, decimals, step):
    field = number_field("x", low, (low + high) / 2, high, decimals)
    assert math.isclose(field["step"], step)
    assert field["low"] <= low <= high <= field["high"]
    assert high == low or (high - low) / field["step"] <= 1000


def test_the_largest_doubles_have_a_field():
    field = number_field("x", -1.7e308, 0.0, 1.7e308, -299)
    assert field["low"] < 0 < field["high"]
    json.dumps(field, allow_nan=False)
