"""UCI Heart Disease: 920 patients of four clinics, 13 features, diseased or not (doi:10.24432/C52P4X)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bemi.datasets.dataset import Dataset
from bemi.datasets.description import DataFile, Description, StoredFile

ROWS = {
    "processed.cleveland.data": 303,
    "processed.hungarian.data": 294,
    "processed.switzerland.data": 123,
    "processed.va.data": 200,
}
"""Rows of each file, in the order in which the set has them."""

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
    """All clinics below one another, NaN for missing values, class 1 for every diagnosis but 0.

    Missing are the cells marked ``?`` and the zeros in ``trestbps`` and ``chol``.  They stay missing here: what is put
    in their place must be computed from training rows alone, and only the caller knows which these are.
    """
    table = np.concatenate([read(files[name], rows) for name, rows in ROWS.items()])
    X, y = table[:, :-1], (table[:, -1] > 0).astype(np.int64)
    for name in NEVER_ZERO:
        column = X[:, FEATURES.index(name)]
        column[column == 0] = np.nan
    return Dataset(known.name, X, y, X[:0], y[:0], feature_names=FEATURES, class_names=known.class_names)


def read(file: StoredFile, rows: int) -> NDArray[np.float64]:
    """Features and diagnosis in one clinic's file; the first line that is not as it should be is refused."""
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


HEART_DISEASE = Description(
    name="heart-disease",
    train=sum(ROWS.values()),
    test=0,
    features=len(FEATURES),
    classes=2,
    source=(
        "A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano: Heart Disease (1988), UCI Machine Learning Repository, "
        "doi:10.24432/C52P4X"
    ),
    licence="CC BY 4.0; publications are asked to name the four investigators",
    build=build,
    files=(
        DataFile(
            "processed.cleveland.data",
            18_461,
            "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
        ),
        DataFile(
            "processed.hungarian.data",
            10_263,
            "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
        ),
        DataFile(
            "processed.switzerland.data",
            4_109,
            "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314",
        ),
        DataFile(
            "processed.va.data",
            6_737,
            "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f",
        ),
    ),
    mirrors=("https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/",),
    class_names=("absence", "presence"),
)
