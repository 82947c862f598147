"""Read tables of numbers from CSV and NPZ files; errors name the cell."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


class DataFileError(ValueError):
    """A data file cannot be used; the message says where and why."""


def read_labelled(path: Path, target: str | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and labels.

    CSV: a header row, one column named ``target`` (default ``label``), all others numeric.  NPZ: an array ``X`` and one
    named ``target`` (default ``y``).
    """
    if path.suffix.lower() == ".npz":
        arrays = _read_npz(path)
        features = _npz_features(path, arrays)
        name = target or "y"
        if name not in arrays:
            raise DataFileError(f"{path} has no array {name!r}; it has {', '.join(arrays)}")
        labels = arrays[name]
        if labels.shape != (len(features),):
            raise DataFileError(f"{path}: {name!r} must hold one label per row of 'X', its shape is {labels.shape}")
        return features, labels
    cells = _read_csv(path)
    name = target or "label"
    if name not in cells:
        raise DataFileError(f"{path} has no column {name!r}; its columns are {_some(list(cells.columns))}")
    return _numeric(path, cells.drop(columns=name)), _labels(path, cells[name])


def read_test(
    path: Path, target: str | None, names: list[str] | None, classes: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and labels in the form that a model expects, even if it was trained on a file of another kind."""
    X, y = read_labelled(path, target)
    if names is None:
        X = _numbered(X)
    elif path.suffix.lower() != ".npz":
        X = read_features(path, names)
    return X, known_labels(y, classes)


def row_shape(path: Path) -> tuple[int, ...] | None:
    """Shape of each row of an NPZ file whose rows are images; None where rows are flat."""
    if path.suffix.lower() != ".npz":
        return None
    shape = _read_npz(path)["X"].shape[1:]
    return shape if len(shape) in (2, 3) else None


def read_features(path: Path, names: list[str] | None) -> pd.DataFrame:
    """Features alone; given the names of a model's columns, exactly these columns of a CSV file."""
    if path.suffix.lower() == ".npz":
        return _npz_features(path, _read_npz(path))
    cells = _read_csv(path)
    if names is not None:
        missing = [name for name in names if name not in cells]
        if missing:
            raise DataFileError(f"{path} lacks the model's column {missing[0]!r} ({len(missing)} missing in all)")
        cells = cells[names]
    features = _numeric(path, cells)
    return _numbered(features) if names is None else features


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        cells = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    except pd.errors.EmptyDataError:
        raise DataFileError(f"{path} is empty") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path} is not a CSV table: {' '.join(str(error).split())}") from None
    if not len(cells):
        raise DataFileError(f"{path} has a header but no rows")
    if not isinstance(cells.index, pd.RangeIndex):
        raise DataFileError(f"{path}: rows have more cells than the header, which has {len(cells.columns)}")
    return cells


def _numeric(path: Path, cells: pd.DataFrame) -> pd.DataFrame:
    """All columns as numbers; raises DataFileError at the first cell that is not a finite number."""
    numbers = {}
    for name in cells.columns:
        column = pd.to_numeric(cells[name], errors="coerce")
        bad = np.flatnonzero(column.isna() | ~np.isfinite(column))
        if len(bad):
            text = cells[name].iloc[bad[0]]
            what = "is empty" if text == "" else f"holds {text!r}, which is not a finite number"
            raise DataFileError(f"{path}, row {bad[0] + 1} (line {bad[0] + 2}), column {name!r} {what}")
        numbers[name] = column
    if not numbers:
        raise DataFileError(f"{path} has no feature columns")
    return pd.DataFrame(numbers)


def _labels(path: Path, column: pd.Series) -> np.ndarray:
    """Integers if every label is written as an integer would be printed, otherwise text."""
    empty = np.flatnonzero(column == "")
    if len(empty):
        raise DataFileError(f"{path}, row {empty[0] + 1} (line {empty[0] + 2}), column {column.name!r} is empty")
    texts = column.to_numpy(dtype=object)
    try:
        numbers = column.astype(np.int64).to_numpy()
    except (ValueError, OverflowError):
        return texts
    return numbers if np.array_equal(numbers.astype(str), texts) else texts


def known_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels in the type of a model's classes; labels of no class stay as they are."""
    known = {_as_text(label): label for label in classes.tolist()}
    found = np.empty(len(y), dtype=object)
    found[:] = [known.get(_as_text(label), label) for label in y.tolist()]
    return found


def _as_text(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
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


def _numbered(features: pd.DataFrame) -> pd.DataFrame:
    """The same without names: scikit-learn treats a frame with numbered columns like a plain array."""
    return features.set_axis(range(features.shape[1]), axis=1)


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
