"""What a user would take instead of few-bit networks: scikit-learn's classifiers, untuned, on the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

NAMES = ("linear SVM", "RBF SVM", "logistic regression", "1-NN")

REFERENCE = "linear SVM, same inputs"
"""A linear machine in floating point on the very inputs that the networks see."""


def accuracies(
    train_X: NDArray, train_y: NDArray, test_X: NDArray, test_y: NDArray, *, images: bool
) -> dict[str, float]:
    """Test accuracy of each alternative; SVMs vote one-versus-one, as BeMi does.

    Pixels share one unit and are only brought into [0, 1]; columns of a table are standardised.
    """
    models: dict[str, ClassifierMixin] = {
        "linear SVM": SVC(kernel="linear"),
        "RBF SVM": SVC(),
        "logistic regression": LogisticRegression(max_iter=2000),
        "1-NN": KNeighborsClassifier(1),
    }
    if images:
        largest = max(1.0, float(np.abs(train_X).max()))
        train_X, test_X = train_X / largest, test_X / largest
    found = {}
    for name, model in models.items():
        pipeline = model if images else make_pipeline(StandardScaler(), model)
        found[name] = float(pipeline.fit(train_X, train_y).score(test_X, test_y))
    return found


def reference_accuracy(
    train_inputs: NDArray, train_y: NDArray, test_inputs: NDArray, test_y: NDArray, *, transformed: bool
) -> float:
    """Accuracy of ``SVC(kernel="linear", C=10)`` with the label of its largest decision value.

    Transformed inputs are divided by their length rounded down, as in the soft-margin objective; raw ones by their
    largest value.
    """

    def scaled(inputs: NDArray) -> NDArray:
        if not transformed:
            return inputs / max(1.0, float(np.abs(train_inputs).max()))
        return inputs / np.maximum(1.0, np.floor(np.sqrt((inputs.astype(np.float64) ** 2).sum(axis=1))))[:, None]

    machine = SVC(kernel="linear", C=10.0).fit(scaled(train_inputs), train_y)
    decision = machine.decision_function(scaled(test_inputs))
    if decision.ndim == 1:
        return float(machine.score(scaled(test_inputs), test_y))
    return float(np.mean(machine.classes_[decision.argmax(axis=1)] == test_y))
