"""Models of every kind, as they were written by a release: later versions must read them and label rows the same.

Release 0.2.0 wrote ``models/0.2.0/`` by a version of this script for its one estimator.  Files of a release are never
written again: a later release that writes another format, or another kind of model, adds a folder of its own by
``python tests/modelfile/release_models.py RELEASE``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, IntegerHog, ScorecardClassifier, SignalCounts, TableBits, save
from bemi.estimators import Classifier

MODELS = Path(__file__).parent / "models"
SOFT = {"node_limit": 1, "time_limit": None}


def numbers(rows: int, columns: int, largest: int = 256) -> np.ndarray:
    """Integers that look random and are the same everywhere."""
    k = np.arange(rows * columns, dtype=np.int64)
    return ((k * k * 7 + k * 131) % 1009 % largest).reshape(rows, columns)


def table(rows: int) -> pd.DataFrame:
    """Numbers, text and missing cells."""
    values = numbers(rows, 3, 50)
    colours = np.array(["red", "green", "blue", None], dtype=object)
    age = np.where(values[:, 0] == 7, np.nan, values[:, 0])
    return pd.DataFrame({"age": age, "dose": values[:, 1] / 4, "colour": colours[values[:, 2] % 4]})


def rows_of(kind: str, rows: int = 60) -> np.ndarray | pd.DataFrame:
    """Rows for a kind of model."""
    if kind in ("table", "card"):
        return table(rows)
    if kind == "signal":
        return numbers(rows, 32 * 2).reshape(rows, 32, 2)
    return numbers(rows, 64)


def labels(rows: int = 24) -> np.ndarray:
    return np.array(["a", "b", "ü"], dtype=object)[np.arange(rows) % 3]


def classifiers() -> dict[str, Classifier]:
    """One classifier per kind of content."""
    return {
        "paper": BeMiClassifier(hidden_layers=(2, 2), node_limit=5, time_limit=None),
        "images": soft_margins(weight_bound=7, inputs=IntegerHog(), **SOFT),
        "constant": soft_margins(weight_bound=3, inputs=ConstantInput(), **SOFT),
        "table": soft_margins(weight_bound=15, inputs=TableBits(), probabilities=True, hinges=2, **SOFT),
        "card": ScorecardClassifier(3, **SOFT),
        "signal": soft_margins(weight_bound=3, inputs=SignalCounts(2), **SOFT),
    }


def main(release: str) -> None:
    folder = MODELS / release
    folder.mkdir()
    given = {}
    for kind, classifier in classifiers().items():
        rows = rows_of(kind)
        classifier.fit(rows[:24], labels())
        save(classifier, folder / f"{kind}.bemi")
        given[kind] = "".join(classifier.predict(rows))
    (folder / "labels.json").write_text(json.dumps(given, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
