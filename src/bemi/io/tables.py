"""Tables in CSV and NPZ files: features and labels, for training and as a fitted model takes them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from bemi.inputs.table.text import look_continuous
from bemi.io import MISSING_TOKENS
from bemi.io.cells import Cells, Known, Tell, read_cells
from bemi.io.columns import NO_RULES, ColumnRules, ModelColumns, features, features_for, no_column
from bemi.io.sources import DataFileError


def labels(cells: Cells, name: str) -> np.ndarray:
    """Integers if every label is written as an integer would be printed, otherwise text."""
    column = cells.texts(name).str.strip()
    empty = np.flatnonzero(column == "")
    if len(empty):
        raise DataFileError(f"{cells.place(int(empty[0]), name)} is empty")
    return as_labels(column)


def as_labels(column: pd.Series) -> np.ndarray:
    """Integers if every text is written as an integer would be printed, otherwise the texts."""
    texts = column.to_numpy(dtype=object)
    try:
        numbers = column.astype(np.int64).to_numpy()
    except (ValueError, OverflowError):
        return texts
    return numbers if np.array_equal(numbers.astype(str), texts) else texts


def check_classes(y: np.ndarray, place: str) -> None:
    """Raise DataFileError if labels are numbers that look measured rather than given."""
    different = pd.unique(y)
    if look_continuous([str(label) for label in different.tolist()], len(y)):
        count = f"{len(different):,} different numbers in {len(y):,} rows"
        raise DataFileError(
            f"{place} looks continuous: {count}, such as {different[0]}; bemi predicts "
            "classes: name another column with --target, or replace the numbers by a few classes"
        )


def known_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels in the type of a model's classes; labels of no class stay as they are."""
    known = Known(classes.tolist())
    found = np.empty(len(y), dtype=object)
    found[:] = [known.find(label, label) for label in y.tolist()]
    return found


CSV_TARGET, NPZ_TARGET = "label", "y"
"""Names of the labels where the user gives none."""


def _silently(line: str) -> None:
    """Drop the line."""


def read_labelled(
    path: Path, target: str | None, rules: ColumnRules = NO_RULES, tell: Tell = _silently
) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and labels for training.

    CSV: a header row, one column named ``target`` (default ``label``).  Columns of numbers are float64 with NaN where
    cells are missing; other columns are text with None there.  NPZ: an array ``X`` and one named ``target`` (default
    ``y``).

    Parameters
    ----------
    path
        The file.
    target
        Where the labels are.
    rules
        What the user says about the columns of a CSV file.
    tell
        Gets the lines that the user should see, such as that a column is left out.
    """
    if is_npz(path):
        if rules != NO_RULES:
            raise DataFileError(f"{path} has no named columns; options about columns are for CSV files")
        X, y = _labelled_arrays(path, target)
        check_classes(y, f"{path}: {target or NPZ_TARGET!r}")
        return X, y
    cells, name = read_cells(path, tell), target or CSV_TARGET
    if name not in cells.packed:
        raise DataFileError(f"{no_column(cells, name)}; name the one with the labels by --target")
    rules.check(cells, name)
    y = labels(cells, name)
    check_classes(y, f"{path}: column {name!r}")
    return features(cells.having(own for own in cells.names if own != name), rules, tell), y


def read_test(
    path: Path,
    target: str | None,
    columns: ModelColumns,
    classes: np.ndarray,
    missing: tuple[str, ...] = MISSING_TOKENS,
    tell: Tell = _silently,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and labels in the form that a model expects, even if it was trained on a file of another kind."""
    if is_npz(path):
        X, y = _labelled_arrays(path, target)
        return X, known_labels(y, classes)
    cells, name = read_cells(path, tell), target or CSV_TARGET
    if name not in cells.packed:
        raise DataFileError(f"{no_column(cells, name)}; name the one with the labels by --target")
    X = features_for(cells.having(own for own in cells.names if own != name), columns, missing, tell)
    return _as_named(X, columns), known_labels(labels(cells, name), classes)


def read_features(
    path: Path, columns: ModelColumns, missing: tuple[str, ...] = MISSING_TOKENS, tell: Tell = _silently
) -> pd.DataFrame:
    """Features alone, in the form that a model expects."""
    if is_npz(path):
        return _npz_features(path, read_npz(path))
    return _as_named(features_for(read_cells(path, tell), columns, missing, tell), columns)


def row_shape(path: Path) -> tuple[int, ...] | None:
    """Shape of each row of an NPZ file whose rows are images; None where rows are flat."""
    if not is_npz(path):
        return None
    shape = read_npz(path)["X"].shape[1:]
    return shape if len(shape) in (2, 3) else None


def is_npz(path: Path) -> bool:
    """Whether a file has arrays, by its name."""
    return path.suffix.lower() == ".npz"


def _labelled_arrays(path: Path, target: str | None) -> tuple[pd.DataFrame, np.ndarray]:
    arrays = read_npz(path)
    X, name = _npz_features(path, arrays), target or NPZ_TARGET
    if name not in arrays:
        raise DataFileError(f"{path} has no array {name!r}; it has {', '.join(arrays)}")
    y = arrays[name]
    if y.shape != (len(X),):
        raise DataFileError(f"{path}: {name!r} must hold one label per row of 'X', its shape is {y.shape}")
    return X, y


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an NPZ file by name."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataFileError(f"{path} is not an NPZ file of plain arrays") from None


def _npz_features(path: Path, arrays: dict[str, np.ndarray]) -> pd.DataFrame:
    if "X" not in arrays:
        raise DataFileError(f"{path} has no array 'X'; it has {', '.join(arrays) or 'none'}")
    X = arrays["X"]
    if X.ndim < 2 or X.dtype.kind not in "biuf":
        raise DataFileError(f"{path}: 'X' must be a numeric table, its shape is {X.shape} and its type {X.dtype}")
    return pd.DataFrame(X.reshape(len(X), -1))


def _as_named(features: pd.DataFrame, columns: ModelColumns) -> pd.DataFrame:
    """The same without names if the model knows none: scikit-learn treats numbered columns like a plain array."""
    return features if columns.names is not None else features.set_axis(range(features.shape[1]), axis=1)
