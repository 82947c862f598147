"""The systems that are compared on images: what is recommended, and others on the same inputs in floating point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import SVC

from bemi.exact import Integers

Make = Callable[[NDArray, float], ClassifierMixin]
"""An unfitted classifier for training rows, and the price C that our networks have on them."""


@dataclass(frozen=True)
class System:
    """A system; ours if it makes no classifier.  Others see the plain rows, or those that our model chose."""

    name: str
    title: str
    make: Make | None = None
    as_chosen: bool = False
    lacking: str | None = None


RECOMMENDED = "recommended"

LOGISTIC = 10.0
"""C of logistic regression, in our prices: 100 on few rows and 10 on copies were the best of 1, 10 and 100 on other
training images.  Machines did best there with our prices, of 1 and 10."""


def unit_length(inputs: Integers) -> NDArray[np.float64]:
    """Rows divided by their length rounded down, as in the soft-margin objective."""
    rows = inputs.astype(np.float64)
    return rows / np.maximum(1.0, np.floor(np.sqrt((rows**2).sum(axis=1))))[:, None]


def _linear(rows: NDArray, price: float) -> ClassifierMixin:
    # Kernels given as functions are matrix products, many times faster on many rows.
    return SVC(kernel=linear_kernel, C=price, break_ties=True)


def _rbf(rows: NDArray, price: float) -> ClassifierMixin:
    # Equivalent to gamma="scale".
    gamma = 1.0 / (rows.shape[1] * float(rows.var()) or 1.0)
    return SVC(kernel=partial(rbf_kernel, gamma=gamma), C=price, break_ties=True)


def _logistic(rows: NDArray, price: float) -> ClassifierMixin:
    return LogisticRegression(C=LOGISTIC * price, max_iter=2000)


def _every() -> Iterable[System]:
    yield System(RECOMMENDED, "ours, recommended")
    others = {
        "linear-svm": ("linear SVM", _linear),
        "rbf-svm": ("RBF SVM", _rbf),
        "logistic-regression": ("logistic regression", _logistic),
    }
    for name, (title, make) in others.items():
        yield System(f"{name}-as-chosen", f"{title}, rows as ours", make, as_chosen=True)
    for name, (title, make) in others.items():
        yield System(name, f"{title}, plain rows", make)


SYSTEMS = {system.name: system for system in _every()}
"""All systems by name."""
