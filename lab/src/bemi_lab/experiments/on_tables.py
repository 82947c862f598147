"""Real tables: our models and other classifiers on the same splits, what they get right, how good their probabilities
are, and what was proved.

Others are scikit-learn's, and XGBoost, CatBoost, explainable boosting and FasterRisk where installed.  They see one-hot
categories, medians for missing numbers and a column that says what was missing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bemi.ensemble.ensemble import Ensemble
from bemi_lab import classifiers, datasets
from bemi_lab.datasets import Dataset, Split
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.subjects import Job, Subject, System

CARD_LINKS = (5, 10)
"""Lines of the scorecards."""

BINS = 10
"""Of equal width, for the calibration error."""

LOGISTIC_GRID = {"C": np.logspace(-3, 3, 7)}
SVC_GRID = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 0.01, 0.1, 1]}
FOLDS = 5


@dataclass(frozen=True)
class TableSystem(System):
    """A system, and what is done to a table before; ``make`` takes rows, labels, a seed and settings.

    A good system should not mind other numbers for the same table.
    """

    change: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    @property
    def lacking(self) -> str | None:
        # FasterRisk 0.1.10 calls what NumPy 2.3 no longer has.
        if self.needs == "fasterrisk" and find_spec(self.needs) and not hasattr(np.ndarray, "tostring"):
            return "numpy < 2.3 for fasterrisk"
        return super().lacking


def shifted(X: pd.DataFrame) -> pd.DataFrame:
    """Every number is larger by 100 standard deviations of its column."""
    return X.assign(**{name: X[name] + 100 * X[name].std() for name in _numeric(X)})


def thousandfold(X: pd.DataFrame) -> pd.DataFrame:
    """Every number is in a unit that is a thousandth of the old."""
    return X.assign(**{name: X[name] * 1000.0 for name in _numeric(X)})


def _numeric(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes("number").columns)


def _systems() -> Iterator[TableSystem]:
    def recommended(X: pd.DataFrame, y: NDArray[Any], seed: int, settings: Settings) -> BaseEstimator:
        return classifiers.few_bit(X, **settings.limits)

    yield TableSystem("recommended", "FewBitClassifier", recommended)
    yield TableSystem(
        "recommended-shifted", "FewBitClassifier, features + 100 standard deviations", recommended, change=shifted
    )
    yield TableSystem("recommended-thousandfold", "FewBitClassifier, features x 1000", recommended, change=thousandfold)
    for C in (1, 10):
        yield TableSystem(
            *(f"bits-C{C}", f"ours, bits, C = {C}"),
            lambda X, y, seed, settings, C=C: classifiers.soft(inputs="bits", C=float(C), **settings.limits),
        )
    for links in CARD_LINKS:
        yield TableSystem(
            *(f"card-{links}", f"ours, {links} links"),
            lambda X, y, seed, settings, links=links: classifiers.scorecard(links, **settings.limits),
        )
        yield TableSystem(
            *(f"fasterrisk-{links}", f"FasterRisk, {links} links"),
            lambda X, y, seed, settings, links=links: FasterRisk(links, classifiers.CARD_THRESHOLDS),
            "fasterrisk",
        )
    for name, (title, make, needs) in OTHERS.items():
        yield TableSystem(name, title, lambda X, y, seed, settings, make=make: make(y, seed), needs)


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


def _scaled(model: BaseEstimator) -> Pipeline:
    return make_pipeline(_columns(), StandardScaler(), model)


def logistic_regression_by_loss(y: NDArray[Any], seed: int) -> Pipeline:
    return _scaled(_tuned(_logistic(), LOGISTIC_GRID, y, seed, "neg_log_loss"))


def _xgboost(y: NDArray[Any], seed: int) -> BaseEstimator:
    from xgboost import XGBClassifier

    return NumberedClasses(make_pipeline(_columns(), XGBClassifier(random_state=seed, n_jobs=1)))


def _explainable_boosting(y: NDArray[Any], seed: int) -> BaseEstimator:
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(interactions=0, outer_bags=4, random_state=seed, n_jobs=1)
    return NumberedClasses(make_pipeline(_columns(), model))


def _catboost(y: NDArray[Any], seed: int) -> BaseEstimator:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False)
    return NumberedClasses(make_pipeline(_columns(), model))


OTHERS: dict[str, tuple[str, Callable[[NDArray[Any], int], BaseEstimator], str | None]] = {
    "random-forest": (
        "random forest",
        lambda y, seed: make_pipeline(_columns(), RandomForestClassifier(random_state=seed)),
        None,
    ),
    "logistic-regression": ("logistic regression, C = 1", lambda y, seed: _scaled(_logistic()), None),
    "logistic-regression-by-accuracy": (
        "logistic regression, C by accuracy",
        lambda y, seed: _scaled(_tuned(_logistic(), LOGISTIC_GRID, y, seed, "accuracy")),
        None,
    ),
    "logistic-regression-by-loss": ("logistic regression, C by log-loss", logistic_regression_by_loss, None),
    "svc": ("SVC", lambda y, seed: _scaled(SVC()), None),
    "svc-tuned": ("SVC, tuned", lambda y, seed: _scaled(_tuned(SVC(), SVC_GRID, y, seed, "accuracy")), None),
    "boosting": (
        "gradient boosting",
        lambda y, seed: make_pipeline(_columns(), HistGradientBoostingClassifier(random_state=seed)),
        None,
    ),
    "xgboost": ("XGBoost", _xgboost, "xgboost"),
    "catboost": ("CatBoost", _catboost, "catboost"),
    "explainable-boosting": ("explainable boosting", _explainable_boosting, "interpret"),
}
"""Other classifiers by name: title, from labels and a seed to a model, and the package that it needs."""


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

        self.bits_ = classifiers.card_bits(self.thresholds).fit(X)
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


def measure(system: TableSystem, dataset: Dataset, job: Job, settings: Settings) -> dict[str, Any]:
    """Train a system on a split, on one core, and measure it on the split's test rows."""
    X, y, split = dataset.table, dataset.train_y, Split.parse(job.split)
    X = X if system.change is None else system.change(X)
    # Folds are numbered; other samples have seeds.
    seed = job.sample if split.samples else settings.seed + job.sample
    train, test = split.of_table(y, seed)
    with threadpool_limits(1):
        began = time.process_time()
        model = system.make(X.iloc[train], y[train], seed, settings).fit(X.iloc[train], y[train])
        seconds = time.process_time() - began
        found = quality(model, X.iloc[test], y[test])
    return {
        "seconds": round(seconds, 3),
        **{name: round(value, 6) for name, value in found.items()},
        **what_was_proved(model),
        **_choice(model),
    }


def quality(model: BaseEstimator, X: Any, y: NDArray[Any]) -> dict[str, float]:
    """Accuracy; with probabilities also log-loss; of two classes the area under the curve and calibration error."""
    found = {"accuracy": float(np.mean(model.predict(X) == y))}
    if hasattr(model, "predict_proba"):
        chances = np.asarray(model.predict_proba(X), dtype=np.float64)
        chances /= chances.sum(axis=1, keepdims=True)  # XGBoost's are of single precision
        found["log_loss"] = float(log_loss(y, chances, labels=model.classes_))
        if len(model.classes_) == 2:
            second = y == model.classes_[1]
            found["auc"] = float(roc_auc_score(second, chances[:, 1]))
            found["calibration_error"] = calibration_error(second, chances[:, 1])
    return found


def calibration_error(happened: ArrayLike, chances: ArrayLike) -> float:
    """Expected calibration error: how far chance and frequency are apart, on average over the rows of all bins."""
    happened, chances = np.asarray(happened, dtype=np.float64), np.asarray(chances, dtype=np.float64)
    bins = np.minimum((chances * BINS).astype(int), BINS - 1)
    surplus = np.bincount(bins, weights=happened - chances, minlength=BINS)
    return float(np.abs(surplus).sum() / len(chances))


def what_was_proved(model: BaseEstimator) -> dict[str, Any]:
    """What our models say about themselves: gaps and links."""
    ensemble = getattr(model, "ensemble_", None)
    if not isinstance(ensemble, Ensemble):
        return {}
    results = [report for reports in ensemble.reports for report in reports.values() if report.ran]
    gaps = [result.gap for result in results]
    return {
        "gap": round(float(np.mean(gaps)), 6),
        "largest_gap": round(float(np.max(gaps)), 6),
        "certified": all(result.proof == "certified" for result in results),
        "links": sum(network.links for network in ensemble.networks),
    }


def _choice(model: BaseEstimator) -> dict[str, Any]:
    """Which settings a model chose when it was fitted, and what accuracy it expected."""
    choice = getattr(model, "choice_", None)
    if choice is None or choice.expected is None:
        return {}
    return {"choice": choice.name, "expected": round(choice.expected, 6)}


def _samples(dataset: Dataset, name: str, wanted: int) -> int:
    split = Split.parse(name)
    return min(wanted, split.samples or wanted) if split.suits_table(dataset.train_y) else 0


SYSTEMS = {system.name: system for system in _systems()}
"""All systems by name."""

SUBJECT = Subject(
    noun="table",
    systems=SYSTEMS,
    load=datasets.load,
    measure=measure,
    samples=_samples,
    packages=("numpy", "scikit-learn", "xgboost", "catboost", "interpret-core", "fasterrisk"),
)
