"""From files, or from scikit-learn, to data sets: MNIST's format, UCI Heart Disease, CSV files, bundled sets."""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from bemi_lab.datasets.registry import Description
from bemi_lab.datasets.sampling import Dataset
from bemi_lab.datasets.storage import StoredFile

Files = Mapping[str, StoredFile]

IMAGES_MAGIC, LABELS_MAGIC = 0x0803, 0x0801
"""First word of an idx file: unsigned bytes in three dimensions or in one."""


def idx(known: Description, files: Files) -> Dataset:
    """Read the four files; their headers must be exactly those that the description implies."""
    assert known.shape is not None
    arrays: list[NDArray[np.int64]] = []
    for part, count in (("train", known.train), ("t10k", known.test)):
        images = read_idx(files[f"{part}-images-idx3-ubyte.gz"], IMAGES_MAGIC, (count, *known.shape))
        file = files[f"{part}-labels-idx1-ubyte.gz"]
        labels = read_idx(file, LABELS_MAGIC, (count,))
        if labels.max(initial=0) >= known.classes:
            raise file.unusable(f"it has the label {labels.max()}, the largest should be {known.classes - 1}")
        # Bytes would wrap around in the first sum or difference.
        arrays += [images.reshape(count, -1).astype(np.int64), labels.astype(np.int64)]
    train_X, train_y, test_X, test_y = arrays
    return Dataset(known.name, train_X, train_y, test_X, test_y, shape=known.shape, class_names=known.class_names)


def read_idx(file: StoredFile, magic: int, dimensions: tuple[int, ...]) -> NDArray[np.uint8]:
    """The array in a compressed idx file."""
    try:
        content = gzip.decompress(file.content)
    except (OSError, EOFError, zlib.error) as error:
        raise file.unusable(f"reading it failed: {' '.join(str(error).split())}") from None
    header = (magic, *dimensions)
    found = tuple(int.from_bytes(content[start : start + 4], "big") for start in range(0, 4 * len(header), 4))
    if found != header:
        raise file.unusable(f"its header is {found}, should be {header}")
    body = content[4 * len(header) :]
    if len(body) != math.prod(dimensions):
        raise file.unusable(f"{len(body)} bytes follow its header, should be {math.prod(dimensions)}")
    return np.frombuffer(body, dtype=np.uint8).reshape(dimensions)


FEATURES = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
    *("thalach", "exang", "oldpeak", "slope", "ca", "thal"),
)
ROWS = {
    "processed.cleveland.data": 303,
    "processed.hungarian.data": 294,
    "processed.switzerland.data": 123,
    "processed.va.data": 200,
}
"""Rows of each clinic's file, in the order in which the data set has them."""

DIAGNOSES = ("0", "1", "2", "3", "4")
MISSING = "?"
NEVER_ZERO = ("trestbps", "chol")
"""Blood pressure and cholesterol: nobody lives with none, so a zero there is an unmarked missing value."""

NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)", re.ASCII)


def heart_disease(known: Description, files: Files) -> Dataset:
    """Patients of four clinics (doi:10.24432/C52P4X): NaN for missing values, class 1 for every diagnosis except 0.

    Cells marked ``?`` and zeros in ``trestbps`` and ``chol`` are missing.  They stay NaN here: imputed values must be
    computed from training rows only, and only the caller knows which rows these are.
    """
    table = np.concatenate([read_clinic(files[name], rows) for name, rows in ROWS.items()])
    X, y = table[:, :-1], (table[:, -1] > 0).astype(np.int64)
    for name in NEVER_ZERO:
        column = X[:, FEATURES.index(name)]
        column[column == 0] = np.nan
    return Dataset.without_test(known.name, X, y, feature_names=FEATURES, class_names=known.class_names)


def read_clinic(file: StoredFile, rows: int) -> NDArray[np.float64]:
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


LOADERS = {"digits": load_digits, "breast-cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}


def bundled(known: Description, files: Files) -> Dataset:
    """A small data set that is part of scikit-learn."""
    bunch = LOADERS[known.name]()
    y = bunch.target.astype(np.int64)
    if known.shape is not None:
        X = bunch.data.astype(np.int64)
        return Dataset.without_test(known.name, X, y, shape=known.shape)
    X = bunch.data.astype(np.float64)
    features, classes = (tuple(map(str, names)) for names in (bunch.feature_names, bunch.target_names))
    return Dataset.without_test(known.name, X, y, feature_names=features, class_names=classes)


def csv(known: Description, files: Files) -> Dataset:
    """A CSV file as a DataFrame: text is a category, and an empty cell is missing."""
    # Only an empty cell is missing; pandas would also read a category named "None" or "NA" as missing.
    (file,) = files.values()
    content = pd.read_csv(io.BytesIO(file.content), keep_default_na=False, na_values=[""])
    X = content.drop(columns="label")
    return Dataset.without_test(known.name, X, content["label"].to_numpy(), feature_names=tuple(X.columns))
