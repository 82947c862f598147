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
