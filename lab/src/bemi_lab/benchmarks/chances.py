"""Chances: how often the likeliest class is not the label, and how good coupled chances are beside other ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from bemi import BeMiClassifier, TableBits, recommended
from bemi.ensemble.probabilities import UNIT
from bemi.ensemble.subsets import class_subsets
from bemi_lab.benchmarks.common import Record, Settings
from bemi_lab.datasets.tables import load_table
from bemi_lab.experiments import markdown
from bemi_lab.experiments.tabular.peers import logistic_regression_by_loss
from bemi_lab.experiments.tabular.splits import split

PAIRS = (
    "banana",
    "breast-cancer",
    "heart920",
    "ionosphere",
    "mammographic",
    "penguin-sex",
    "pima-na",
    "saheart",
    "tictactoe",
    "votes84",
)
SEVERAL = {"iris": 75, "wine": 89, "glass": 107, "contraceptive": 300, "digits": 200}
"""Tables of more than two classes, and their training rows."""

DRAWS = 5


@dataclass(frozen=True)
class Cell:
    """A table and its training rows."""

    table: str
    rows: int

    @property
    def name(self) -> str:
        return f"{self.table} {self.rows}"


CELLS = [*(Cell(table, rows) for rows in (40, 100, 300) for table in PAIRS), *(Cell(*item) for item in SEVERAL.items())]


def measurements(settings: Settings) -> Iterator[Record]:
    for cell in filter(settings.wants, CELLS):
        X, y = _table(cell.table)
        way = split(f"random-{cell.rows}")
        if not way.takes_part(y):
            continue
        for seed in settings.seeds:
            for draw in range(seed * DRAWS, (seed + 1) * DRAWS):
                train, test = way.draw(y, draw)
                known = X.iloc[train], y[train]
                model = _model(cell.table, known[0], settings).fit(*known)
                head = {"cell": cell.name, "seed": draw, "engine": settings.engine, "seconds_limit": settings.seconds}
                yield head | _measured(model, known, (X.iloc[test], y[test]))


def _table(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return pd.DataFrame(X.astype(np.int64)), y
    rows = load_table(name)
    return rows.X, rows.y


def _model(table: str, X: pd.DataFrame, settings: Settings) -> BeMiClassifier:
    options = {"engine": settings.engine, "time_limit": settings.seconds, "probabilities": True}
    if table in SEVERAL and table != "digits":
        soft = {"hidden_layers": (), "weight_bound": 7, "stages": ("soft",)}
        return BeMiClassifier(**soft, transform=TableBits(), C=1.0, **options)
    return recommended(X).set_params(**options)


def _measured(model: BeMiClassifier, train: tuple, test: tuple) -> Record:
    X, y = test
    chances = model.predict_proba(X)
    likeliest, labels = model.classes_[chances.argmax(axis=1)], model.predict(X)
    other = logistic_regression_by_loss(train[1], 0).fit(*train)
    return {
        "differ": float(np.mean(likeliest != labels)),
        "right by label": float(np.mean(labels == y)),
        "right by chance": float(np.mean(likeliest == y)),
        "here": _loss(model, y, chances),
        "Wu, Lin, Weng": _loss(model, y, wu_lin_weng(_pair_chances(model, X), len(model.classes_))),
        "logistic regression": _loss(other, y, other.predict_proba(X)),
    }


def _loss(model: Any, y: NDArray[Any], chances: NDArray[np.float64]) -> float:
    return float(log_loss(y, chances / chances.sum(axis=1, keepdims=True), labels=model.classes_))


def _pair_chances(model: BeMiClassifier, X: pd.DataFrame) -> NDArray[np.float64]:
    """Chance of the first class of every pair in floating point, without tables, shape (rows, pairs)."""
    ensemble = model.ensemble_
    rows = ensemble.inputs.of(X)
    scores = np.stack([network.pre_activations(rows)[0][:, 0] for network in ensemble.networks], axis=1)
    slopes = np.array([sigmoid.slope for sigmoid in ensemble.probabilities.sigmoids]) / UNIT
    intercepts = np.array([sigmoid.intercept for sigmoid in ensemble.probabilities.sigmoids]) / UNIT
    return 1 / (1 + np.exp(-(scores * slopes + intercepts)))


def wu_lin_weng(firsts: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """The chances that minimise ``sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2`` with sum 1 (Wu, Lin and Weng, 2004)."""
    r = np.zeros((len(firsts), classes, classes))
    for column, (i, j) in zip(firsts.T, class_subsets(classes, 2), strict=True):
        r[:, i, j], r[:, j, i] = column, 1 - column
    # The minimum of p'Qp under sum(p) = 1 solves a linear system, row by row.
    q = -r * r.transpose(0, 2, 1)
    q[:, range(classes), range(classes)] = (r**2).sum(axis=1)
    border = np.ones((len(firsts), classes, 1))
    left = np.block([[q, border], [border.transpose(0, 2, 1), np.zeros((len(firsts), 1, 1))]])
    right = np.zeros((len(firsts), classes + 1, 1))
    right[:, -1] = 1
    return np.clip(np.linalg.solve(left, right)[:, :-1, 0], 1e-12, None)


def report(records: Sequence[Record]) -> str:
    by_rows: dict[str, list[Record]] = {}
    for record in records:
        table, rows = record["cell"].rsplit(" ", 1)
        by_rows.setdefault(record["cell"] if table in SEVERAL else f"two classes, {rows} rows", []).append(record)
    columns = ("differ", "right by label", "right by chance", "here", "Wu, Lin, Weng", "logistic regression")
    lines = [
        (
            name,
            len(found),
            *(f"{100 * _mean(found, c):.1f} %" for c in columns[:3]),
            *(f"{_mean(found, c):.3f}" for c in columns[3:]),
        )
        for name, found in by_rows.items()
    ]
    headings = ("table, training rows", "samples", "likeliest class is not the label", *columns[1:3])
    return markdown.table((*headings, *(f"log-loss {c}" for c in columns[3:])), lines)


def _mean(records: Sequence[Record], column: str) -> float:
    """The mean over tables of their means."""
    tables = {record["cell"] for record in records}
    return float(np.mean([np.mean([r[column] for r in records if r["cell"] == table]) for table in tables]))
