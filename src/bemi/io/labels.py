"""The labels of a file: integers or text, as a model knows them, and no measurements."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bemi.inputs.table.cells import number_in
from bemi.io.cells import Cells, DataFileError
from bemi.io.known import Known

MANY_CLASSES = 20
"""With more different numbers than this, labels may be measurements."""


def labels(cells: Cells, name: str) -> np.ndarray:
    """Integers if every label is written as an integer would be printed, otherwise text."""
    column = cells.table[name].str.strip()
    empty = np.flatnonzero(column == "")
    if len(empty):
        raise DataFileError(f"{cells.place(int(empty[0]), name)} is empty")
    texts = column.to_numpy(dtype=object)
    try:
        numbers = column.astype(np.int64).to_numpy()
    except (ValueError, OverflowError):
        return texts
    return numbers if np.array_equal(numbers.astype(str), texts) else texts


def check_classes(y: np.ndarray, place: str) -> None:
    """Raise DataFileError if labels are numbers that look measured rather than given."""
    different = pd.unique(y)
    values = np.array([number_in(str(label)) for label in different])
    if len(values) <= MANY_CLASSES or np.isnan(values).any():
        return
    if (values != np.rint(values)).sum() > MANY_CLASSES or 2 * len(values) > len(y):
        raise DataFileError(
            f"{place} looks continuous: {len(values):,} different numbers in {len(y):,} rows, such as {different[0]}; "
            "bemi tells classes apart: name another column with --target, or replace the numbers by a few classes"
        )


def known_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels in the type of a model's classes; labels of no class stay as they are."""
    known = Known(classes.tolist())
    found = np.empty(len(y), dtype=object)
    found[:] = [known.find(label, label) for label in y.tolist()]
    return found
