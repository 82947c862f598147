"""Kinds of columns in CSV files, in training and for a model."""

from __future__ import annotations

import csv
import random

import numpy as np
import pandas as pd
import pytest

from bemi import ConstantInput, TableBits
from bemi.inputs import Inputs
from bemi.inputs.table.text import number_in, numbers_in
from bemi.io import NO_RULES, ColumnRules, DataFileError, ModelColumns, features, features_for, read_cells

TABLE = ModelColumns(("n", "c"), (None, ("a", "b")), takes_missing=True)


@pytest.fixture
def told():
    return []


@pytest.fixture
def cells(tmp_path, told):
    def of(*lines):
        path = tmp_path / "data.csv"
        path.write_text("\n".join(lines) + "\n")
        return read_cells(path, told.append)

    return of


def plain(frame):
    """Cells of a frame, NaN as None, to compare."""
    return {name: [None if v is None or v != v else v for v in frame[name]] for name in frame}


def test_numbers_categories_and_missing_cells(cells, told):
    given = cells("n,i,c,m", "1.5,1,red,NA", "?,2, blue ,3", ",3,N/A,4e1", "-2,4,red,None")
    found = features(given, NO_RULES, told.append)
    assert plain(found) == {
        "n": [1.5, None, None, -2.0],
        "i": [1.0, 2.0, 3.0, 4.0],
        "c": ["red", "blue", None, "red"],
        "m": [None, 3.0, 40.0, None],
    }
    assert [str(t) for t in found.dtypes] == ["float64", "float64", "object", "float64"]
    assert found["c"][2] is None
    assert not told


def test_rules_of_the_user(cells, told):
    given = cells("a,b,c,d", "1.0,1,x,9", "2.0,-999,y,8", "1,-999.0,-,7")
    rules = ColumnRules(categorical=("a",), numeric=("b",), drop=("d",), missing=("-999", "-"))
    found = features(given, rules, told.append)
    assert plain(found) == {"a": ["1", "2", "1"], "b": [1.0, None, None], "c": ["x", "y", None]}


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (ColumnRules(drop=("z",)), "--drop: .* has no column 'z'; its columns are 'a', 'label'"),
        (ColumnRules(numeric=("label",)), "--numeric names 'label', the column with the labels"),
        (ColumnRules(drop=("a",), numeric=("a",)), "--drop and --numeric both name 'a'"),
    ],
)
def test_rules_for_columns_that_are_not_there(cells, rules, words):
    with pytest.raises(DataFileError, match=words):
        rules.check(cells("a,label", "1,2"), "label")


def test_numbers_are_forced(cells, told):
    given = cells("a,b", "1,1", "x,2")
    assert plain(features(given, NO_RULES, told.append))["a"] == ["1", "x"]
    with pytest.raises(DataFileError, match=r"row 2 \(line 3\), column 'a' holds 'x', which is not a finite number"):
        features(given, ColumnRules(numeric=("a",)), told.append)


def test_infinite_values_are_refused(cells, told):
    for text in ("inf", "-Infinity", "1e999"):
        with pytest.raises(DataFileError, match=rf"row 2 \(line 3\), column 'a' holds '{text}', which is not a finite"):
            features(cells("a", "1", text), NO_RULES, told.append)


def test_decimal_commas(cells, told):
    given = cells("a;b;c;d;e", "1,5;1,5;1,5;x;1", "2;2.5;n,m;1,5;2", ",5;3,5;7;2,5;3", "-1e3;1;8;y;4")
    found = plain(features(given, NO_RULES, told.append))
    assert found["a"] == [1.5, 2.0, 0.5, -1000.0]
    assert found["b"] == ["1,5", "2.5", "3,5", "1"], "points and commas: text"
    assert found["c"] == ["1,5", "n,m", "7", "8"]
    assert found["d"] == ["x", "1,5", "2,5", "y"]
    assert found["e"] == [1.0, 2.0, 3.0, 4.0]
    assert any("with decimal commas" in line and "'a'" in line for line in told)
    assert plain(features(cells("a,b", '"1,5",1', '"2,5",2'), NO_RULES, told.append))["a"] == ["1,5", "2,5"]


@pytest.mark.parametrize(
    ("header", "first", "left_out"),
    [
        ("", range(12), True),
        ("Unnamed: 0", range(5, 17), True),
        ("", [f"car {k}" for k in range(12)], True),
        ("id", range(12), True),
        ("id", range(1, 13), True),
        ("id", range(2, 14), False),
        ("id", [*range(11), 5], False),
        ("id", range(10), False),
    ],
)
def test_an_index_is_left_out(cells, told, header, first, left_out):
    lines = [f"{header},x", *(f"{k},{n / 2}" for n, k in enumerate(first))]
    found = features(cells(*lines), NO_RULES, told.append)
    name = header or "Unnamed: 0"
    assert list(found) == (["x"] if left_out else [name, "x"])
    assert told == ([f"column {name!r} looks like an index and is left out; --keep makes it a feature"] * left_out)


def test_an_index_is_kept_if_asked_for(cells, told):
    given = cells("id,x", *(f"{k},{k / 2}" for k in range(12)))
    assert list(features(given, ColumnRules(keep_index=True), told.append)) == ["id", "x"]
    assert list(features(given, ColumnRules(numeric=("id",)), told.append)) == ["id", "x"]
    assert not told


def test_a_column_that_counts_the_rows_but_is_not_the_first_is_a_feature_and_named(cells, told):
    given = cells("x,id", *(f"{k / 2},{k}" for k in range(12)))
    assert list(features(given, NO_RULES, told.append)) == ["x", "id"]
    assert told == ["column that only counts the rows, to be left out with --drop: 'id'"]


def test_empty_and_constant_columns_are_told(cells, told):
    given = cells("a,e,k,,q", "1,,x,,7", "2,NA,x,,7", "3,,x,,")
    assert list(features(given, NO_RULES, told.append)) == ["a", "k", "q"]
    assert told == [
        "columns without any value, left out: 'e', 'Unnamed: 3'",
        "constant column, no information: 'k'",
    ]
    with pytest.raises(DataFileError, match="no feature columns"):
        features(cells("a,b", ",", "NA,?"), NO_RULES, told.append)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([f"2024-01-{k + 1:02}" for k in range(30)], "column 'x' holds dates or times, such as '2024-01-01' in row 1"),
        ([f"n{k}" for k in range(30)], "column 'x' looks like an identifier, with 30 different texts such as 'n0'"),
        ([f"n{k // 2}" for k in range(22)], None),
        ([f"n{k % 16}" for k in range(30)], "looks like an identifier, with 16 different"),
        ([f"n{k % 15}" for k in range(30)], None),
        ([*map(str, range(29)), "n.a."], r"holds numbers, but also text, such as 'n.a.' in row 30 \(line 31\)"),
    ],
)
def test_text_that_is_hardly_a_category(cells, told, column, words):
    given = cells("y,x", *(f"0.5,{cell}" for cell in column))
    if words is not None:
        with pytest.raises(DataFileError, match=words + ".*; correct it, leave the column out with --drop, or"):
            features(given, NO_RULES, told.append)
    rules = ColumnRules(categorical=("x",) if words else ())
    assert plain(features(given, rules, told.append))["x"] == column


def test_ten_thousand_levels(cells, told):
    given = cells("y,x", *(f"1,n{k // 3}" for k in range(30_000)))
    with pytest.raises(DataFileError, match="column 'x' looks like an identifier, with 10,000 different texts"):
        features(given, NO_RULES, told.append)


def test_columns_for_a_model_are_found_by_name(cells, told):
    given = cells("c,extra,n", "b,x,1.5", "a,y,?", "NA,,2")
    assert plain(features_for(given, TABLE, ("NA", "?"), told.append)) == {"n": [1.5, None, 2.0], "c": ["b", "a", None]}
    with pytest.raises(DataFileError, match=r"lacks the model's column 'n' \(1 missing in all\)"):
        features_for(cells("c", "b"), TABLE, (), told.append)
    assert not told


def test_unseen_categories_are_counted(cells, told):
    given = cells("n,c", "1,z", "2,a", "3,z", "4,y", "5,")
    assert plain(features_for(given, TABLE, (), told.append))["c"] == ["z", "a", "z", "y", None]
    assert told == ["column 'c': 3 rows have categories not seen in training: 'z', 'y'"]


def test_a_number_where_a_category_was_is_compared_as_text(cells, told):
    given = cells("c", "1", "1.0", "2", "a")
    columns = ModelColumns(("c",), (("1", "a"),), takes_missing=True)
    assert plain(features_for(given, columns, (), told.append))["c"] == ["1", "1", "2", "a"]
    assert told == ["column 'c': 1 rows have categories not seen in training: '2'"]


def test_a_category_of_the_model_is_never_missing(cells, told):
    columns = ModelColumns(("c",), (("None", "a"),), takes_missing=True)
    assert plain(features_for(cells("c", "None", "NA", "a"), columns, ("None", "NA"), told.append))["c"] == [
        *("None", None, "a")
    ]


def test_text_where_a_number_was_is_named(cells, told):
    with pytest.raises(DataFileError, match=r"row 2 \(line 3\), column 'n' holds 'x', which is not a finite number"):
        features_for(cells("n,c", "1,a", "x,b"), TABLE, (), told.append)


def test_missing_cells_for_a_model_that_takes_none(cells, told):
    columns = ModelColumns(("n",), (None,))
    for text, what in (("NA", "holds 'NA'"), ("", "is empty")):
        with pytest.raises(DataFileError, match=rf"row 2 \(line 3\), column 'n' {what}.*takes no missing values"):
            features_for(cells("n,z", "1,1", f"{text},1"), columns, ("NA",), told.append)


def test_columns_without_names_are_taken_by_position(cells, told):
    columns = ModelColumns(None, (None, ("x", "y")), takes_missing=True)
    rows = [f"{k / 2},x" for k in range(12)]
    assert list(features_for(cells("a,b", *rows), columns, (), told.append)) == ["a", "b"]
    indexed = cells("id,a,b", *(f"{k},{row}" for k, row in enumerate(rows)))
    assert list(features_for(indexed, columns, (), told.append)) == ["a", "b"]
    assert len(features_for(cells("a,b,c", *(f"{row},1" for row in rows)), columns, (), told.append).columns) == 3


def test_what_a_model_takes():
    table = np.array([[1.0, "x"], [2.0, None], [3.0, "y"]], dtype=object)
    fitted = Inputs.fit(table, "auto", TableBits(), ["n", "c"])
    assert ModelColumns.of(fitted) == ModelColumns(("n", "c"), (None, ("x", "y")), takes_missing=True)
    numbers = Inputs.fit(np.array([[1.0, 2.0], [3.0, 5.5]]), "per-feature", ConstantInput())
    assert ModelColumns.of(numbers) == ModelColumns(None, (None, None))


def random_cell(kind, generator):
    """A cell of a column that has numbers, decimal commas, words, identifiers or some of all."""
    number = f"{generator.uniform(-9, 9):.{generator.randint(0, 6)}f}"
    cells = {
        "numbers": [number],
        "missing": [number, number, "", "NA", " ?"],
        "commas": [number.replace(".", ","), number.replace(".", ","), ""],
        "words": ["red", " green ", 'a "b"', "two\nlines", "1;2"],
        "codes": [str(generator.randint(0, 3)), f"0{generator.randint(0, 3)}", "1.0", "1e0"],
        "ids": [f"id{generator.getrandbits(32)}"],
        "mixed": [number, "1_0", "inf", "\uff11", ".", "e5"],
    }
    return generator.choice(cells[kind])


@pytest.mark.parametrize("seed", range(40))
def test_pieces_of_a_file_make_the_same_columns(tmp_path, monkeypatch, seed):
    """Texts against Python's own reader; columns, messages and errors against those of one piece."""
    generator = random.Random(seed)
    kinds = generator.choices(["numbers", "missing", "commas", "words", "codes"], k=5)
    kinds += [[], [], ["ids"], ["mixed"]][seed % 4]
    rows = [[f"{kind}{k}" for k, kind in enumerate(kinds)]]
    rows += [[random_cell(kind, generator) for kind in kinds] for _ in range(generator.randint(1, 40))]
    path = tmp_path / "data.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=generator.choice(",;\t")).writerows(rows)

    def found(pieces_of):
        monkeypatch.setattr("bemi.io.cells._ROWS", pieces_of)
        told: list[str] = []
        cells = read_cells(path, told.append)
        try:
            return cells, features(cells, NO_RULES, told.append), told
        except DataFileError as error:
            return cells, str(error), told

    _, expected, said = found(1000)
    pieces, columns, told = found(generator.randint(1, 9))
    assert len(pieces.packed[rows[0][0]]) >= len(rows) // 10
    assert [list(pieces.texts(name)) for name in pieces.names] == [
        [cell.lstrip(" ") for cell in column[1:]] for column in zip(*rows, strict=True)
    ]
    assert told == said
    if isinstance(expected, str):
        assert columns == expected
    else:
        pd.testing.assert_frame_equal(columns, expected)


def test_many_texts_are_the_numbers_that_each_of_them_is():
    generator = random.Random(0)
    for _ in range(3000):
        texts = ["".join(generator.choices("0123.e+-E", k=generator.randint(1, 4))) for _ in range(2)]
        texts += generator.choice([[], ["inf"], ["nan"], ["1_0"], ["\uff11"], [""], ["1,5"], ["1e999"]])
        commas = generator.random() < 0.5
        np.testing.assert_array_equal(numbers_in(texts, commas), [number_in(text, commas) for text in texts])
