"""Reader of UCI Heart Disease: patients of four clinics, diseased or not (doi:10.24432/C52P4X)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bemi_lab.datasets.dataset import Dataset
from bemi_lab.datasets.description import Description, StoredFile
from bemi_lab.datasets.sets import HEART_DISEASE_ROWS

FEATURES = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
    *("thalach", "exang", "oldpeak", "slope", "ca", "thal"),
)
DIAGNOSES = ("0", "1", "2", "3", "4")
MISSING = "?"
NEVER_ZERO = ("trestbps", "chol")
"""Blood pressure and cholesterol: nobody lives with none, so a zero there is an unmarked missing value."""

NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)", re.ASCII)


def build(known: Description, files: Mapping[str, StoredFile]) -> Dataset:
    """Stack the clinics' tables: NaN for missing values, class 1 for every diagnosis except 0.

    Cells marked ``?`` and zeros in ``trestbps`` and ``chol`` are missing.  They stay NaN here: imputed values must be
    computed from training rows only, and only the caller knows which rows these are.
    """
    table = np.concatenate([read(files[name], rows) for name, rows in HEART_DISEASE_ROWS.items()])
    X, y = table[:, :-1], (table[:, -1] > 0).astype(np.int64)
    for name in NEVER_ZERO:
        column = X[:, FEATURES.index(name)]
        column[column == 0] = np.nan
    return Dataset(known.name, X, y, X[:0], y[:0], feature_names=FEATURES, class_names=known.class_names)


def read(file: StoredFile, rows: int) -> NDArray[np.float64]:
    """Features and diagnosis in one clinic's file; raises DatasetError at the first malformed line."""
    lines = file.content.decode("ascii", errors="replace").removesuffix("\n").split("\n")
    table = [_row(file, number, line) for number, line in enumerate(lines, start=1)]
    if len(table) != rows:
        raise file.unusable(f"it has {len(table)} rows, should have {rows}")
    return np.array(table)


def _row(file: StoredFile, number: int, line: str) -> list[float]:
    *cells, diagnosis = line.split(",")
    if len(cells) != len(FEATURES):
        raise file.unusable(f"line {number} has {len(cells) + 1} columns, should have {len(FEATURES) + 1}")
    for name, cell in zip(FEATURES, cells, strict=True):
        if cell != MISSING and not NUMBER.fullmatch(cell):
            raise file.unusable(f"{name} in line {number} is {cell!r}, should be a number or {MISSING}")
    if diagnosis not in DIAGNOSES:
        raise file.unusable(f"the diagnosis in line {number} is {diagnosis!r}, should be 0 to 4")
    return [np.nan if cell == MISSING else float(cell) for cell in (*cells, diagnosis)]
