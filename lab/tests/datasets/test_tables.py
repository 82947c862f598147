"""The real tables: found by name, exactly as published, with text and missing cells."""

import csv
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bemi_lab.datasets import DatasetError, is_here, load
from bemi_lab.datasets.registry import SETS
from bemi_lab.datasets.storage import DataFile
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

TABLES = {name: known for name, known in SETS.items() if known.folder == "tables"}


@pytest.fixture(params=list(TABLES))
def path(request) -> Path:
    """The file of a table, if BEMI_DATA has it."""
    path = Path(os.environ.get("BEMI_DATA", "nowhere"), "tables", f"{request.param}.csv")
    if not path.exists():
        pytest.skip(f"tables/{path.name} is not in BEMI_DATA")
    return path


def test_tables_are_as_described(path):
    with open(path, newline="") as stream:
        header, *lines = csv.reader(stream)
    known, rows = TABLES[path.stem], load(path.stem)
    X = rows.table
    assert (len(lines), len(header) - 1) == (known.rows, known.features) == X.shape
    assert len({line[-1] for line in lines}) == known.classes == len(np.unique(rows.train_y))
    assert sum(cell == "" for line in lines for cell in line) == X.isna().sum().sum()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == known.files[0].sha256
    for position, column in enumerate(header[:-1]):
        for line, value in zip(lines, X[column], strict=True):
            if line[position] == "":
                assert pd.isna(value)
            else:
                assert value == line[position] if isinstance(value, str) else value == float(line[position])


@pytest.fixture
def nothing_here(tmp_path, monkeypatch, cache) -> Path:
    """An empty data folder and an empty cache."""
    monkeypatch.setenv("BEMI_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "tables"


@pytest.mark.parametrize(
    ("name", "bundled"), [("breast-cancer", load_breast_cancer), ("iris", load_iris), ("wine", load_wine)]
)
def test_some_come_from_scikit_learn(name, bundled, nothing_here):
    rows, known = load(name), bundled(as_frame=True)
    assert is_here(name)
    assert np.array_equal(rows.table.to_numpy(), known.data.to_numpy())
    assert list(rows.table.columns) == list(known.data.columns)
    assert np.array_equal(rows.train_y, known.target)


def test_a_missing_file_says_where_it_belongs(nothing_here, cache):
    assert not is_here("glass")
    with pytest.raises(DatasetError) as caught:
        load("glass")
    assert str(caught.value) == (
        f"glass.csv is not here and cannot be downloaded; put it into {nothing_here} or {cache / 'tables'} "
        "(BEMI_DATA names the folder of tables/)"
    )


def test_a_wrong_file_is_refused(nothing_here):
    nothing_here.mkdir(parents=True)
    (nothing_here / "glass.csv").write_text("a,label\n1,2\n")
    with pytest.raises(DatasetError, match=r"it has 12 bytes, should have 10649; put the set's glass.csv there$"):
        load("glass")


def test_only_empty_cells_are_missing(nothing_here, monkeypatch):
    content = b"colour,size,label\nNone,1.5,a\n,,b\nNA,2,a\n"
    digest = hashlib.sha256(content).hexdigest()
    tiny = replace(SETS["glass"], name="tiny", files=(DataFile("tiny.csv", len(content), digest),))
    monkeypatch.setitem(SETS, "tiny", tiny)
    nothing_here.mkdir(parents=True)
    (nothing_here / "tiny.csv").write_bytes(content)
    rows = load("tiny")
    assert rows.table["colour"].tolist()[::2] == ["None", "NA"]
    assert rows.table.isna().to_numpy().tolist() == [[False, False], [True, True], [False, False]]
    assert rows.table["size"].dtype == np.float64
    assert rows.train_y.tolist() == ["a", "b", "a"]
