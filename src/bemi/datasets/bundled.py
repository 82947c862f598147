"""Small sets that scikit-learn brings along."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from bemi.datasets.dataset import Dataset, Rows
from bemi.datasets.description import Description, StoredFile

LOADERS = {"digits": load_digits, "breast-cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}


def build(known: Description, files: Mapping[str, StoredFile]) -> Dataset:
    """All rows; none of these sets has files of its own."""
    bunch = LOADERS[known.name]()
    y = bunch.target.astype(np.int64)
    if known.shape is not None:
        X: Rows = bunch.data.astype(np.int64)
        return Dataset(known.name, X, y, X[:0], y[:0], shape=known.shape)
    X = bunch.data.astype(np.float64)
    features, classes = (tuple(map(str, names)) for names in (bunch.feature_names, bunch.target_names))
    return Dataset(known.name, X, y, X[:0], y[:0], feature_names=features, class_names=classes)


DIGITS = Description(
    name="digits",
    train=1797,
    test=0,
    features=64,
    classes=10,
    source=(
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (1998), UCI Machine Learning Repository, "
        "doi:10.24432/C50P49; its test part"
    ),
    licence="CC BY 4.0",
    build=build,
    shape=(8, 8),
)

BREAST_CANCER = Description(
    name="breast-cancer",
    train=569,
    test=0,
    features=30,
    classes=2,
    source=(
        "W. Wolberg, O. Mangasarian, W. N. Street: Breast Cancer Wisconsin (Diagnostic) (1995), UCI Machine Learning "
        "Repository, doi:10.24432/C5DW2B"
    ),
    licence="CC BY 4.0",
    build=build,
)

WINE = Description(
    name="wine",
    train=178,
    test=0,
    features=13,
    classes=3,
    source="S. Aeberhard, M. Forina: Wine (1992), UCI Machine Learning Repository, doi:10.24432/C5PC7J",
    licence="CC BY 4.0",
    build=build,
)

IRIS = Description(
    name="iris",
    train=150,
    test=0,
    features=4,
    classes=3,
    source=(
        "R. A. Fisher: Iris (1936), UCI Machine Learning Repository, doi:10.24432/C56C76; without the two errors there"
    ),
    licence="CC BY 4.0",
    build=build,
)
