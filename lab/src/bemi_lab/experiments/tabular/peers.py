"""Other classifiers for tables: scikit-learn's, and XGBoost, explainable boosting and FasterRisk where installed.

They see one-hot categories, medians for missing numbers and a column that says what was missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

LOGISTIC_GRID = {"C": np.logspace(-3, 3, 7)}
SVC_GRID = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 0.01, 0.1, 1]}
FOLDS = 5


def lacking(package: str) -> str | None:
    """What has to be installed before a package can be used, if anything."""
    if find_spec(package) is None:
        return package
    # FasterRisk 0.1.10 calls what NumPy 2.3 no longer has.
    return "numpy < 2.3 for fasterrisk" if package == "fasterrisk" and not hasattr(np.ndarray, "tostring") else None


def random_forest(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), RandomForestClassifier(random_state=seed))


def logistic_regression(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), StandardScaler(), _logistic())


def logistic_regression_by_accuracy(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), StandardScaler(), _tuned(_logistic(), LOGISTIC_GRID, y, seed, "accuracy"))


def logistic_regression_by_loss(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), StandardScaler(), _tuned(_logistic(), LOGISTIC_GRID, y, seed, "neg_log_loss"))


def svc(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), StandardScaler(), SVC())


def svc_tuned(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), StandardScaler(), _tuned(SVC(), SVC_GRID, y, seed, "accuracy"))


def boosting(y: NDArray[Any], seed: int) -> Pipeline:
    return make_pipeline(_columns(), HistGradientBoostingClassifier(random_state=seed))


def xgboost(y: NDArray[Any], seed: int) -> BaseEstimator:
    from xgboost import XGBClassifier

    return NumberedClasses(make_pipeline(_columns(), XGBClassifier(random_state=seed, n_jobs=1)))


def explainable_boosting(y: NDArray[Any], seed: int) -> BaseEstimator:
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(interactions=0, outer_bags=4, random_state=seed, n_jobs=1)
    return NumberedClasses(make_pipeline(_columns(), model))


class NumberedClasses(ClassifierMixin, BaseEstimator):
    """A classifier that wants classes 0, 1, 2, ..., for labels of any kind."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> NumberedClasses:
        self.encoder_ = LabelEncoder().fit(y)
        self.classes_ = self.encoder_.classes_
        self.model.fit(X, self.encoder_.transform(y))
        return self

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        return self.encoder_.inverse_transform(self.model.predict(X))

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return self.model.predict_proba(X)


class FasterRisk(ClassifierMixin, BaseEstimator):
    """FasterRisk's best card of at most ``links`` lines with points -5..5, for two classes.

    It sees the bits of :class:`bemi.TableBits` as 0 and 1, without the constant since it has an intercept of its own.
    """

    def __init__(self, links: int, thresholds: int) -> None:
        self.links = links
        self.thresholds = thresholds

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> FasterRisk:
        from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

        from bemi import TableBits

        self.bits_ = TableBits(thresholds=self.thresholds).fit(X)
        self.classes_ = np.unique(y)
        targets = np.where(y == self.classes_[1], 1.0, -1.0)
        optimizer = RiskScoreOptimizer(X=self._ones(X), y=targets, k=self.links, lb=-5, ub=5)
        with warnings.catch_warnings():
            # It calls what NumPy calls old.
            warnings.simplefilter("ignore", DeprecationWarning)
            optimizer.optimize()
        multiplier, intercept, points = optimizer.get_models(model_index=0)
        self.card_ = RiskScoreClassifier(multiplier, intercept, points)
        return self

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        chance = np.asarray(self.card_.predict_prob(self._ones(X)), dtype=np.float64)
        return np.stack([1 - chance, chance], axis=1)

    def _ones(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return (np.asarray(self.bits_.transform(X))[:, :-1] > 0).astype(np.float64)


def _columns() -> BaseEstimator:
    """Numbers with medians for missing ones and a column for each that was missing; one column per category."""
    numbers = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing", missing_values=np.nan),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=5000)


def _tuned(model: BaseEstimator, grid: Mapping[str, Any], y: NDArray[Any], seed: int, scoring: str) -> GridSearchCV:
    # With fewer rows of a class than folds some folds would have none of it to test.
    folds = int(min(FOLDS, max(2, np.unique(y, return_counts=True)[1].min())))
    return GridSearchCV(model, grid, scoring=scoring, cv=StratifiedKFold(folds, shuffle=True, random_state=seed))
