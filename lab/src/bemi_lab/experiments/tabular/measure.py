"""One system on one split of a table: what it gets right, how good its chances are, what was proved."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from bemi.ensemble.ensemble import Ensemble
from bemi_lab.datasets.tables import Rows
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.splits import split
from bemi_lab.experiments.tabular.systems import SYSTEMS

BINS = 10
"""Of equal width, for the calibration error."""


def measured(system: str, rows: Rows, split_name: str, index: int, settings: Settings) -> dict[str, Any]:
    """Train a system on a split, on one core, and measure it on the split's test rows."""
    chosen = SYSTEMS[system]
    X = rows.X if chosen.change is None else chosen.change(rows.X)
    way = split(split_name)
    # Folds are numbered; other samples have seeds.
    seed = index if way.samples else settings.seed + index
    train, test = way.draw(rows.y, seed)
    with threadpool_limits(1):
        began = time.perf_counter()
        model = chosen.make(X.iloc[train], rows.y[train], seed, settings).fit(X.iloc[train], rows.y[train])
        seconds = time.perf_counter() - began
        found = quality(model, X.iloc[test], rows.y[test])
    return {
        "table": rows.name,
        "split": split_name,
        "sample": index,
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
