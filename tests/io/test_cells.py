"""The cells of CSV files: separators, quotes, encodings, lines, and texts that mean a known value."""

import csv
import io
import random

import pytest

from bemi.io import SEPARATORS, DataFileError, Known, read_cells, separator_of


def cells(tmp_path, content, told=None):
    path = tmp_path / "data.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_cells(path, (told if told is not None else []).append)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_the_separator_is_recognised(tmp_path, separator):
    """Against Python's own writer, with cells that hold all separators, quotes and line breaks."""
    rows = [["a", "b, b", "c;c\tc"], ["1,5", '"x"', "2\n3"], ["2,5", "", " y"], ["3,5", ";", "\t"]]
    file = io.StringIO()
    csv.writer(file, delimiter=separator).writerows(rows)
    found = cells(tmp_path, file.getvalue())
    assert found.separator == separator
    assert [found.names, *map(list, zip(*map(found.texts, found.names), strict=True))] == [
        [cell.lstrip() if cell.strip() else cell for cell in row] for row in rows
    ]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ("a;b;c\n1,5;2,5;x\n", ";"),
        ("mass (a;b),label\n1,x\n", ","),
        ("a\tb,c\n1\t2\n", "\t"),
        ("only\n1\n", ","),
        ("", ","),
        ("a,label\n1,x\n1,2,3\n", ","),
    ],
)
def test_lines_must_agree_on_the_separator(text, separator):
    assert separator_of(text) == separator


def test_the_header_decides_where_lines_disagree():
    assert separator_of("a;b;c\n1;2\n3;4,5\n") == ";"


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    assert cells(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n").names == ["a", "b"]
    assert list(cells(tmp_path, "a,b\n1,é\n".encode("utf-16")).texts("b")) == ["é"]


def test_latin_1_is_read_and_told(tmp_path):
    told: list[str] = []
    found = cells(tmp_path, "a,b\n1,Köln\n2,Århus\n".encode("latin-1"), told)
    assert found.texts("b").tolist() == ["Köln", "Århus"]
    assert found.place(1, "b").endswith("row 2 (line 3), column 'b'")
    assert len(told) == 1
    assert "is not UTF-8; it is read as latin-1" in told[0]
    assert cells(tmp_path, "a,b\n1,Köln\n", told).texts("b").tolist() == ["Köln"]
    assert len(told) == 1


def test_a_file_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(DataFileError, match="is not a text file"):
        cells(tmp_path, b"PK\x03\x04\0\0\0\0")


def test_names_and_cells_have_no_blanks_around_them_where_they_count(tmp_path):
    assert cells(tmp_path, "a , b\n1,2\n").names == ["a", "b"]


def test_rows_are_found_in_the_file(tmp_path):
    """Blank lines and line breaks in quotes, against a file in which each row tells its own line."""
    generator = random.Random(5)
    lines, expected = ['"a\nx",b'], []
    line = 3
    for _ in range(60):
        if generator.random() < 0.3:
            lines.append("")
            line += 1
        expected.append(line)
        if generator.random() < 0.3:
            lines.append(f'"{line}\n\n",2')
            line += 3
        else:
            lines.append(f"{line},2")
            line += 1
    found = cells(tmp_path, "\n".join(lines) + "\n")
    assert [int(cell.split("\n")[0]) for cell in found.texts(found.names[0])] == expected
    assert [found.row(row) for row in range(60)] == [f"row {k + 1} (line {n})" for k, n in enumerate(expected)]


@pytest.mark.parametrize(
    ("values", "given", "found"),
    [
        (["1.0", "-1.0"], "1", "1.0"),
        (["1.0", "-1.0"], "-1", "-1.0"),
        ([1, -1], "1.0", 1),
        ([1, -1], "+1", 1),
        (["1", "x"], 1.0, "1"),
        ([1.5, 2.5], "1.50", 1.5),
        (["01", "1"], "1", "1"),
        (["01", "1"], "01", "01"),
        (["01", "1"], "1.0", None),
        (["a"], "A", None),
        (["nan"], "NaN", None),
        (["100000000000000000001"], "100000000000000000000", None),
        (["inf"], "Infinity", None),
    ],
)
def test_a_text_is_found_as_it_is_or_as_a_number(values, given, found):
    result = Known(values).find(given)
    assert result == found
    assert type(result) is type(found)
