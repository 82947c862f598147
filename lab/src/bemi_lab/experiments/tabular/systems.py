"""The systems that are compared on tables: ours and the others, each one function from training rows to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from bemi.classifier import BeMiClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bemi import TableBits, recommended
from bemi.stages import SOFT_STAGES
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular import peers

Make = Callable[[pd.DataFrame, NDArray[Any], int, Settings], BaseEstimator]
"""An unfitted model for training rows, labels and a seed."""

Change = Callable[[pd.DataFrame], pd.DataFrame]
"""Other numbers for the same table, which a good system should not mind."""

CARD_LINKS = (5, 10)
CARD_THRESHOLDS = 8
CARD_POINTS = 5


@dataclass(frozen=True)
class System:
    """A system: what to call it, how to make it, the package that it needs, and what is done to the table before."""

    name: str
    title: str
    make: Make
    needs: str | None = None
    change: Change | None = None

    @property
    def lacking(self) -> str | None:
        """What has to be installed before it can run, if anything."""
        return None if self.needs is None else peers.lacking(self.needs)


def shifted(X: pd.DataFrame) -> pd.DataFrame:
    """Every number is larger by 100 standard deviations of its column."""
    return X.assign(**{name: X[name] + 100 * X[name].std() for name in _numeric(X)})


def thousandfold(X: pd.DataFrame) -> pd.DataFrame:
    """Every number is in a unit that is a thousandth of the old."""
    return X.assign(**{name: X[name] * 1000.0 for name in _numeric(X)})


def _numeric(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes("number").columns)


def _limits(settings: Settings) -> dict[str, Any]:
    """What the user chose for all of our models."""
    names = ("engine", "solver", "time_limit", "node_limit", "gap")
    return {name: getattr(settings, name) for name in names}


def _recommended(X: pd.DataFrame, y: NDArray[Any], seed: int, settings: Settings) -> BaseEstimator:
    return recommended(X, **_limits(settings))


def _card(links: int) -> Make:
    def make(X: pd.DataFrame, y: NDArray[Any], seed: int, settings: Settings) -> BaseEstimator:
        return card(links, **_limits(settings))

    return make


def card(links: int, **parameters: Any) -> BeMiClassifier:
    """A card of at most this many lines, with chances."""
    return BeMiClassifier(
        hidden_layers=(),
        stages=SOFT_STAGES,
        transform=TableBits(thresholds=CARD_THRESHOLDS),
        weight_bound=CARD_POINTS,
        C=3.0,
        hinges=2,
        max_links=links,
        probabilities=True,
        **parameters,
    )


def _bits(C: float) -> Make:
    def make(X: pd.DataFrame, y: NDArray[Any], seed: int, settings: Settings) -> BaseEstimator:
        own = {"hidden_layers": (), "stages": SOFT_STAGES, "transform": TableBits(), "weight_bound": 7, "C": C}
        return BeMiClassifier(**own, **_limits(settings))

    return make


def _peer(make: Callable[[NDArray[Any], int], BaseEstimator]) -> Make:
    return lambda X, y, seed, settings: make(y, seed)


def _fasterrisk(links: int) -> Make:
    return lambda X, y, seed, settings: peers.FasterRisk(links, CARD_THRESHOLDS)


def _every() -> Iterable[System]:
    yield System("recommended", "ours, recommended", _recommended)
    yield System("recommended-shifted", "ours, features + 100 standard deviations", _recommended, change=shifted)
    yield System("recommended-thousandfold", "ours, features x 1000", _recommended, change=thousandfold)
    yield System("bits-C1", "ours, bits, C = 1", _bits(1.0))
    yield System("bits-C10", "ours, bits, C = 10", _bits(10.0))
    for links in CARD_LINKS:
        yield System(f"card-{links}", f"ours, {links} links", _card(links))
        yield System(f"fasterrisk-{links}", f"FasterRisk, {links} links", _fasterrisk(links), "fasterrisk")
    yield System("random-forest", "random forest", _peer(peers.random_forest))
    yield System("logistic-regression", "logistic regression, C = 1", _peer(peers.logistic_regression))
    yield System(
        "logistic-regression-by-accuracy",
        "logistic regression, C by accuracy",
        _peer(peers.logistic_regression_by_accuracy),
    )
    yield System(
        "logistic-regression-by-loss", "logistic regression, C by log-loss", _peer(peers.logistic_regression_by_loss)
    )
    yield System("svc", "SVC", _peer(peers.svc))
    yield System("svc-tuned", "SVC, tuned", _peer(peers.svc_tuned))
    yield System("boosting", "gradient boosting", _peer(peers.boosting))
    yield System("xgboost", "XGBoost", _peer(peers.xgboost), "xgboost")
    yield System("explainable-boosting", "explainable boosting", _peer(peers.explainable_boosting), "interpret")


SYSTEMS = {system.name: system for system in _every()}
"""All systems by name."""
