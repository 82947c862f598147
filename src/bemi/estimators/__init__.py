"""The scikit-learn estimators, and their files."""

from __future__ import annotations

import os

from bemi.ensemble.ensemble import ensemble_of
from bemi.estimators.base import Classifier
from bemi.estimators.bemi import BeMiClassifier
from bemi.estimators.few_bit import FewBitClassifier
from bemi.estimators.scorecard import ScorecardClassifier
from bemi.modelfile import saving
from bemi.modelfile.container import ModelFileError

ESTIMATORS: dict[str, type[Classifier]] = {
    estimator.NAME: estimator for estimator in (BeMiClassifier, FewBitClassifier, ScorecardClassifier)
}
"""The estimators by their names in model files."""

__all__ = ["ESTIMATORS", "BeMiClassifier", "Classifier", "FewBitClassifier", "ScorecardClassifier", "load", "save"]


def save(classifier: Classifier, path: str | os.PathLike) -> None:
    """Write a fitted classifier to a file atomically.

    The file holds no times: the same networks give the same bytes.  A certificate is written next to it, which
    :func:`bemi.verify` uses to check everything the model claims.  A classifier read from a file has no certificate.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> bemi.save(clf, mkdtemp() + "/pets.bemi")
    """
    saving.write(ensemble_of(classifier), path)


def load(path: str | os.PathLike) -> Classifier:
    """Read a fitted classifier from a file written by :func:`save`.

    Raises :class:`bemi.modelfile.container.ModelFileError`, with the reason, for any other file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> path = mkdtemp() + "/pets.bemi"
    >>> bemi.save(clf, path)
    >>> bemi.load(path).predict([[0, 5, 2]])
    array(['cat'], dtype='<U3')
    """
    ensemble = saving.read(path)
    try:
        return ESTIMATORS[ensemble.training.settings["estimator"]].from_ensemble(ensemble)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error
