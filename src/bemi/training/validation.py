"""Rows and labels as they are given to a classifier: scikit-learn's checks, and ours where text is allowed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from bemi.checks import check_finite
from bemi.inputs.signal.samples import as_rows, as_windows
from bemi.inputs.table.cells import as_given, as_pandas, as_table, check_names_differ, check_no_text
from bemi.inputs.table.text import ColumnWarning, look_continuous
from bemi.inputs.transform import Takes


def check_given(X: Any) -> None:
    """Raise an error for rows that cannot be learnt from: none, no columns, repeated names, complex, or sparse ones."""
    rows = as_given(X)
    shape: Any = rows.shape
    if len(shape) > 0 and shape[0] == 0:
        raise ValueError(f"there are no rows to train on: X has the shape {shape}")
    if len(shape) == 2 and shape[1] == 0:
        counted = f"0 feature(s) (shape={shape}) while a minimum of 1 is required"
        raise ValueError(f"the rows have no columns: {counted}; give some")
    check_names_differ(rows)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers, such as real and imaginary parts as columns")


def check_all_labelled(y: Any) -> None:
    """Raise ValueError for a row without a label."""
    labels = np.asarray(y, dtype=object)
    missing = np.flatnonzero(pd.isna(labels)) if labels.ndim == 1 else np.empty(0, dtype=int)
    if len(missing):
        raise ValueError(f"row {missing[0]} has no label (Input y contains NaN or None); leave such rows out")


def labels_of(y: ArrayLike, rows: Any, *, warn: bool = False) -> NDArray:
    """Checked labels, one for each row; ``warn`` of a column instead of a list."""
    check_all_labelled(y)
    labels: NDArray = column_or_1d(y, warn=warn)
    check_consistent_length(rows, labels)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def warn_if_continuous(y: ArrayLike) -> None:
    """Warn of labels that are numbers and look measured rather than given."""
    labels = np.asarray(y, dtype=object).ravel()
    different = pd.unique(labels)
    if any(isinstance(label, float) and not label.is_integer() for label in different.tolist()):
        return  # no labels at all: the checks of labels refuse them
    if look_continuous([str(label) for label in different.tolist()], len(labels)):
        count = f"{len(different):,} different numbers in {len(labels):,} rows"
        words = f"y looks continuous: {count}; each is a class, replace them by a few classes"
        warnings.warn(words, ColumnWarning, stacklevel=5)


def training_rows(estimator: Any, X: ArrayLike, y: ArrayLike, takes: Takes, *, reset: bool) -> tuple[Any, NDArray]:
    """Checked rows and labels; the estimator learns names and number of the features if ``reset``."""
    X = as_pandas(X)
    check_given(X)
    if takes is Takes.RAW_COLUMNS:
        # The transform reads and checks the cells; scikit-learn's validation would reject text.
        rows = as_table(X)
        validate_data(estimator, rows, skip_check_array=True, reset=reset)
        return rows, labels_of(y, rows, warn=True)
    if takes is Takes.WINDOWS:
        windows = _windows(estimator, X, reset=reset)
        return windows, labels_of(y, windows, warn=True)
    check_no_text(X)
    check_all_labelled(y)
    checked, labels = validate_data(estimator, X, y, reset=reset, ensure_all_finite=False)
    check_finite(checked, getattr(estimator, "feature_names_in_", None))
    check_classification_targets(labels)
    return checked, labels


def rows_to_predict(estimator: Any, X: ArrayLike, takes: Takes) -> Any:
    """Rows of the right shape and names; the ensemble checks their values."""
    X = as_pandas(X)
    if takes is Takes.RAW_COLUMNS:
        return as_table(X)
    if takes is Takes.WINDOWS:
        return _windows(estimator, X, reset=False)
    check_no_text(X)
    return validate_data(estimator, X, reset=False, ensure_all_finite=False)


def _windows(estimator: Any, X: ArrayLike, *, reset: bool) -> NDArray:
    """Windows in two or three dimensions; the transform checks their shape."""
    check_no_text(X)
    windows = as_windows(X)
    if windows.ndim == 2:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    elif reset:
        # Three dimensions have no names, and scikit-learn would count only the second of them.
        validate_data(estimator, as_rows(windows), skip_check_array=True)
    return windows


def check_new_classes(known: NDArray, y: NDArray, has_rows: bool) -> None:
    """Raise ValueError unless the labels are of new classes, or of all if the known classes' rows are not there."""
    given: NDArray = np.unique(y)
    texts = [labels.dtype.kind in "OUS" for labels in (given, known)]
    if texts[0] != texts[1]:
        raise ValueError(f"new classes must have the same type as the known ones, {known.dtype}")
    old, new = set(known.tolist()), set(given.tolist())
    if not new - old:
        raise ValueError("y has no new class")
    if has_rows and new & old:
        raise ValueError(f"{sorted(new & old)[0]!r} is a class already; give rows of new classes only")
    if not has_rows and old - new:
        raise ValueError(
            "the rows of known classes are needed where a model was read from a file, makes copies of rows or rejects "
            "unknown ones, or where groups are given: give rows of all classes; class "
            f"{sorted(old - new)[0]!r} has none"
        )
