"""Alternatives to few-bit networks: scikit-learn's classifiers, untuned, on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

NAMES = ("linear SVM", "RBF SVM", "logistic regression", "1-NN")

REFERENCE = "linear SVM, same inputs"
"""A linear SVM in floating point on the same inputs that the networks see."""

Predict = Callable[[NDArray], NDArray]
"""From rows to labels."""


def fitted(train_X: NDArray, train_y: NDArray, *, images: bool, names: Sequence[str] = NAMES) -> dict[str, Predict]:
    """The alternatives of these names, trained; SVMs vote one-versus-one, as BeMi does.

    Pixels share one unit and are only scaled to [0, 1]; columns of a table are standardised.
    """
    largest = max(1.0, float(np.abs(train_X).max())) if images else 1.0
    scaler = StandardScaler().fit(train_X)

    def scaled(X: NDArray) -> NDArray:
        return X / largest if images else scaler.transform(X)

    rows = scaled(train_X)
    # Equivalent to gamma="scale"; kernels given as functions are matrix products, many times faster on many rows.
    gamma = 1.0 / (rows.shape[1] * float(rows.var()) or 1.0)
    models: dict[str, ClassifierMixin] = {
        "linear SVM": SVC(kernel=linear_kernel),
        "RBF SVM": SVC(kernel=partial(rbf_kernel, gamma=gamma)),
        "logistic regression": LogisticRegression(max_iter=2000),
        "1-NN": KNeighborsClassifier(1),
    }
    return {name: partial(_predict, models[name].fit(rows, train_y), scaled) for name in names}


def _predict(model: ClassifierMixin, scaled: Predict, X: NDArray) -> NDArray:
    return model.predict(scaled(X))


def fitted_reference(train_inputs: NDArray, train_y: NDArray, *, transformed: bool) -> Predict:
    """``SVC(kernel="linear", C=10)`` with the label of its largest decision value.

    Transformed inputs are divided by their length rounded down, as in the soft-margin objective; raw ones by their
    largest value.
    """
    largest = max(1.0, float(np.abs(train_inputs).max()))

    def scaled(inputs: NDArray) -> NDArray:
        if not transformed:
            return inputs / largest
        return inputs / np.maximum(1.0, np.floor(np.sqrt((inputs.astype(np.float64) ** 2).sum(axis=1))))[:, None]

    machine = SVC(kernel=linear_kernel, C=10.0).fit(scaled(train_inputs), train_y)

    def predict(inputs: NDArray) -> NDArray:
        decision = machine.decision_function(scaled(inputs))
        return machine.predict(scaled(inputs)) if decision.ndim == 1 else machine.classes_[decision.argmax(axis=1)]

    return predict
