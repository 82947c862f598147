"""Weights of the training rows: from what users give, by row and by class, to the integers of a problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.exact import Integers
from bemi.problem.soft_margin import LARGEST_ROW_WEIGHT, ROW_WEIGHT_UNIT

Weights = NDArray[np.float64]


def given_weights(sample_weight: ArrayLike | None, rows: int) -> Weights:
    """One weight per row, all 1 if none are given; ValueError unless they are finite, not negative and not all 0."""
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight)
    if weights.shape != (rows,) or weights.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight must have one number for each of {rows} rows, its shape is {weights.shape}")
    weights = weights.astype(np.float64)
    for wrong, what in ((~np.isfinite(weights), "finite"), (weights < 0, "at least 0")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"sample_weight must be {what}, it is {weights[row]} in row {row}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; give some rows a positive weight")
    return weights


def class_weights(class_weight: Any, classes: NDArray, targets: Integers, weights: Weights) -> Weights:
    """The weight of each class.

    Balanced classes have weights of ``total / (classes * total of the class)``, as in scikit-learn.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        totals = np.bincount(targets, weights, minlength=len(classes))
        return totals.sum() / (len(classes) * totals)
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class; classes are {labels}")
    return np.array([float(class_weight.get(label, 1)) for label in labels])


def in_units(weights: Weights) -> Integers | None:
    """Row weights as a problem takes them; None if all are 1."""
    if (weights == 1).all():
        return None
    if weights.max() > LARGEST_ROW_WEIGHT:
        raise ValueError(
            f"a row has the weight {weights.max():g}, the largest possible is {LARGEST_ROW_WEIGHT}; divide all weights "
            "and multiply C"
        )
    units = np.rint(weights * ROW_WEIGHT_UNIT).astype(np.int64)
    if not units.all():
        raise ValueError(
            f"a row has the weight {weights.min():g}, too small beside the unit 1/{ROW_WEIGHT_UNIT}; multiply all "
            "weights and divide C, or give the row a weight of 0"
        )
    return units
