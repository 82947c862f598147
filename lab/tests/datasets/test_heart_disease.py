"""The clinics' files: values, missing values, lines that are refused."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bemi_lab.datasets import DatasetError, readers
from bemi_lab.datasets.registry import SETS
from bemi_lab.datasets.storage import StoredFile

LINE = "63,1,4,140,260,0,1,112,1,-.5,2,?,3.0,2"


def read(text: str, rows: int = 2) -> np.ndarray:
    return readers.read_clinic(StoredFile(Path("here", "processed.va.data"), text.encode()), rows)


def test_read():
    table = read(f"{LINE}\n{LINE[:-1]}0\n")
    assert np.array_equal(table[0], [63, 1, 4, 140, 260, 0, 1, 112, 1, -0.5, 2, np.nan, 3, 2], equal_nan=True)
    assert table[:, -1].tolist() == [2, 0]


def test_zeros_that_no_patient_can_have_are_missing(monkeypatch):
    cells = {"processed.va.data": (LINE, 2), "processed.cleveland.data": ("50,0,1,0,0,0,0,99,0,0,1,0,3,0", 1)}
    monkeypatch.setattr(readers, "ROWS", {name: rows for name, (_, rows) in cells.items()})
    files = {name: StoredFile(Path(name), f"{line}\n".encode() * rows) for name, (line, rows) in cells.items()}
    data = readers.heart_disease(SETS["heart-disease"], files)
    assert data.train_y.tolist() == [1, 1, 0]
    zeros = [50, 0, 1, np.nan, np.nan, 0, 0, 99, 0, 0, 1, 0, 3]
    assert np.array_equal(data.train_X[2], zeros, equal_nan=True)
    assert np.isnan(data.train_X).sum() == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1 has 1 columns, should have 14"),
        (f"{LINE}\n", "it has 1 rows, should have 2"),
        (f"{LINE}\n" * 3, "it has 3 rows, should have 2"),
        (f"{LINE}\n{LINE}\n\n", "line 3 has 1 columns"),
        (f"{LINE}\n{LINE},1\n", "line 2 has 15 columns, should have 14"),
        (f"{LINE}\n{LINE[3:]}\n", "line 2 has 13 columns"),
        (f"{LINE}\n{LINE.replace('260', 'high')}\n", "chol in line 2 is 'high', should be a number or ?"),
        (f"{LINE}\n{LINE.replace('260', '')}\n", "chol in line 2 is ''"),
        (f"{LINE}\n{LINE.replace('260', 'nan')}\n", "chol in line 2 is 'nan'"),
        (f"{LINE}\n{LINE.replace('260', '2_60')}\n", "chol in line 2 is '2_60'"),
        (f"{LINE}\n{LINE.replace('260', '²')}\n", "chol in line 2 is"),
        (f"{LINE}\n{LINE[:-1]}?\n", "the diagnosis in line 2 is '?', should be 0 to 4"),
        (f"{LINE}\n{LINE[:-1]}5\n", "the diagnosis in line 2 is '5'"),
        (f"{LINE}\r\n{LINE}\r\n", r"the diagnosis in line 1 is '2\r'"),
    ],
)
def test_refused(text, words):
    with pytest.raises(DatasetError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith(f"{Path('here', 'processed.va.data')} is damaged or the wrong file: ")
    assert words in message
    assert "\n" not in message


def test_real_values_are_those_of_the_files_in_order(real_set):
    data = real_set("heart-disease")
    sites = ("cleveland", "hungarian", "switzerland", "va")
    folder = Path(os.environ["BEMI_DATA"], "heart-disease")
    frames = [pd.read_csv(folder / f"processed.{site}.data", header=None, na_values="?") for site in sites]
    table = pd.concat(frames).to_numpy(dtype=float)
    assert np.array_equal(data.train_y, table[:, 13] != 0)
    # All as pandas reads it, but for the zeros of blood pressure and cholesterol.
    table[:, [3, 4]] = np.where(table[:, [3, 4]] == 0, np.nan, table[:, [3, 4]])
    assert np.array_equal(data.train_X, table[:, :13], equal_nan=True)


def test_real_counts(real_set):
    data = real_set("heart-disease")
    assert np.bincount(data.train_y).tolist() == [411, 509]
    assert not data.has_test
    assert data.test_X.shape == (0, 13)
    assert data.class_names == ("absence", "presence")
    missing = dict(zip(data.feature_names, np.isnan(data.train_X).sum(axis=0).tolist(), strict=True))
    # The published counts of "?", and 172 zeros in chol and one in trestbps.
    assert missing == {
        **{"age": 0, "sex": 0, "cp": 0, "trestbps": 59 + 1, "chol": 30 + 172, "fbs": 90, "restecg": 2},
        **{"thalach": 55, "exang": 55, "oldpeak": 62, "slope": 309, "ca": 611, "thal": 486},
    }
