"""Which texts are numbers, and which are probably not categories."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier, TableBits
from bemi.inputs.table.text import ColumnWarning, number_in, trouble_with_text


@pytest.mark.parametrize("text", ["0", "-1", "+2.5", ".5", "3.", "1e5", "-1.5E-3", "007"])
def test_numbers_are_those_of_python(text):
    assert number_in(text) == float(text)


@pytest.mark.parametrize("text", ["", "x", "1,5", "1_000", "0x10", "nan", "1e", "--1", "1 2", "True", "\u0661"])
def test_what_is_no_number(text):
    assert math.isnan(number_in(text))


def test_infinity_is_a_number_that_the_caller_refuses():
    assert number_in("inf") == number_in("1e999") == -number_in("-Infinity") == math.inf


@pytest.mark.parametrize(
    "text",
    [
        *("2024-01-31", "2024/1/5", "31.01.2024", "1/31/24", "31 Jan 2024", "5-Mar-24", "January 31, 2024"),
        *("2024-01-31 12:30", "2024-01-31T12:30:15.5Z", "12:30", "9:05 pm", "12:30:59"),
    ],
)
def test_dates(text):
    assert trouble_with_text([text]) == ("holds dates or times, such as", text)


@pytest.mark.parametrize("text", ["1.2.3", "2024", "20-30", "may", "3:1 mix", "10.0.0.1", "2024-01", "1/2"])
def test_what_is_no_date(text):
    assert trouble_with_text([text]) is None


def test_most_texts_must_be_dates():
    assert trouble_with_text(["2024-01-31", "never", "always"]) is None
    assert trouble_with_text(["never", "2024-01-31", "2024-02-01"]) is not None


def test_few_texts_are_categories_even_if_most_are_numbers():
    assert trouble_with_text(["0", "1", "2", "3+"]) is None


def test_numbers_with_a_text_among_them():
    found = trouble_with_text([*map(str, range(30)), "n.a."])
    assert found == ("holds numbers, but also text, such as", "n.a.")


def test_identifiers():
    names = [f"id{k}" for k in range(10_000)]
    assert trouble_with_text(names) == ("looks like an identifier, with 10,000 different texts such as", "id0")
    assert trouble_with_text(names[:1000]) is None
    assert trouble_with_text(names[:21], most=20) is not None


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"2024-01-{day:02}" for day in range(1, 31)], "column 'x' holds dates or times, such as '2024-01-01'"),
        ([*map(str, range(29)), "?"], "column 'x' holds numbers, but also text, such as '[?]'"),
    ],
)
def test_a_data_frame_is_judged_as_a_file_is(cells, words):
    X = pd.DataFrame({"x": cells, "y": range(30)})
    with pytest.raises(ValueError, match=words):
        BeMiClassifier(inputs=TableBits()).fit(X, [0, 1] * 15)
    assert TableBits(categorical=["x"]).fit(X).columns_[0].levels is not None


@pytest.mark.parametrize("transform", [None, "constant"])
def test_text_without_table_bits_names_the_column(transform):
    from bemi.inputs import registry

    X = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["1", None, "red", "2"]})
    with pytest.raises(ValueError, match="column 'b' holds 'red' in row 2, which is not a number"):
        BeMiClassifier(inputs=registry.make(transform or "none")).fit(X, [0, 1, 0, 1])


def numbered(rows=60):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"mass": np.round(rng.normal(20, 5, rows), 2), "gap": rng.integers(0, 40, rows)})
    return table, np.where(table["mass"] + table["gap"] > 40, "yes", "no")


def card(table, y):
    return ScorecardClassifier(3, inputs=TableBits(), C=1).fit(table, y)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda cell: f" {cell} ", "'mass', 'gap': text that is numbers, read as such"),
        (lambda cell: str(cell).replace(".", ","), "'mass': text that is numbers with decimal commas"),
    ],
)
def test_numbers_written_as_text_are_numbers_and_a_warning_names_the_columns(written, words):
    table, y = numbered()
    with pytest.warns(ColumnWarning) as told:
        model = card(table.map(written), y)
    assert any(words in str(line.message) for line in told)
    plain = card(table, y)
    assert model.transform_.parameters() == plain.transform_.parameters()
    for new in (table, table.map(written), table.astype(object)):
        assert (model.predict(new) == plain.predict(table)).all()


def test_blank_text_among_numbers_is_missing():
    table, y = numbered()
    blank = table.astype(str)
    blank.loc[:5, "mass"] = [" ", "", " ", "", " ", ""]
    with pytest.warns(UserWarning, match="text that is numbers"):
        model = card(blank, y)
    assert model.transform_.columns_[0].levels is None
    assert model.transform_.columns_[0].has_missing


def test_pandas_categories_stay_categories():
    table, y = numbered()
    model = card(table.astype({"gap": str}).astype({"gap": "category"}), y)
    assert model.transform_.columns_[1].levels is not None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_identifiers_and_an_index_are_named_in_a_warning(place):
    table, y = numbered()
    table.insert(place, "row", np.arange(len(table)))
    table["patient"] = [f"p{n}" for n in range(len(table))]
    with pytest.warns(ColumnWarning) as told:
        card(table, y)
    words = [str(line.message) for line in told]
    assert [line.split(":")[0] for line in words] == ["column 'patient'", "column 'row'"]
    assert {line.filename for line in told} == {__file__}


def test_labels_that_look_measured_are_named_in_a_warning():
    table, _ = numbered(90)
    y = [str(place // 3 + 0.5) for place in range(90)]
    with pytest.warns(ColumnWarning, match="y looks continuous: 30 different numbers in 90 rows"):
        FewBitClassifier(inputs=TableBits(2), C=1).training_tasks(table, y)


@pytest.mark.parametrize("offset", [0, 1e9, 1e11, 1e12, 1e15])
@pytest.mark.parametrize("made", [FewBitClassifier, ScorecardClassifier])
def test_a_separating_column_far_from_zero_works_or_says_what_to_do(made, offset, recwarn):
    y = np.arange(300) >= 150
    table = pd.DataFrame({"time": offset + np.arange(300.0), "noise": np.random.default_rng(0).normal(size=300)})
    clf = made(C=3.0, inputs=TableBits(9), time_limit=1.0).fit(table, y)
    told = [str(warning.message) for warning in recwarn if warning.category is ColumnWarning]
    assert bool(told) == (offset > 1e9)
    assert clf.score(table, y) > 0.99 or told
    if told:
        (line,) = told
        assert line.startswith("column 'time': 300 different numbers become ")
        middle = float(line.split("subtract ")[1].split()[0])
        nearer = table.assign(time=table["time"] - middle)
        assert made(C=3.0, inputs=TableBits(9), time_limit=1.0).fit(nearer, y).score(nearer, y) > 0.99


def test_a_table_of_which_rounding_leaves_nothing_is_refused_with_the_reason():
    with pytest.raises(
        ValueError, match=r"no column carries information: .*; column 'time': 300 different .* subtract"
    ):
        TableBits().fit(pd.DataFrame({"time": 1e12 + np.arange(300.0)}))


def test_networks_without_a_table_say_what_rounding_loses():
    X = np.column_stack([1e12 + np.arange(40.0), np.arange(40.0) % 7 / 2, np.full(40, 3.0)])
    with pytest.warns(ColumnWarning, match=r"^1 feature \('feature 0'\): too small differences between large numbers"):
        BeMiClassifier(node_limit=1).fit(X, np.arange(40) >= 20)


@pytest.mark.parametrize(("made", "what"), [(timedelta(hours=1), "durations"), (date(2024, 1, 1), "dates")])
def test_python_dates_and_durations_are_refused(made, what):
    column = pd.Series([made] * 20, dtype=object)
    with pytest.raises(ValueError, match=f"column 'when' holds {what}; replace it by numbers"):
        FewBitClassifier().fit(pd.DataFrame({"when": column}), np.arange(20) % 2)
