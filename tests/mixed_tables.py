"""Tables with numbers, text and missing cells, and rows that try every path through them."""

from functools import cache

import numpy as np
import pandas as pd
from soft_margins import soft_margins

from bemi import BeMiClassifier, TableBits
from bemi.inputs.fixed_point import LARGEST_READING, MISSING


def patients(rows, seed=0):
    """A table of every kind of column, and labels that depend on most of them."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows),
            "pressure": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(101325.0, 900.0, rows)),
            "smoker": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 2, rows)),
            "dose": np.round(rng.exponential(0.4, rows), 2),
            "blood": rng.choice(["A", "B", "AB", "0"], rows).astype(object),
            "sex": rng.choice(["f", "m"], rows).astype(object),
            "ward": [None if rng.random() < 0.15 else f"ward <{n}>" for n in rng.integers(0, 3, rows)],
            "grade": rng.integers(1, 4, rows),
        }
    )
    risk = (
        (table["age"] - 55) / 15
        + 1.5 * (table["smoker"] == 1)
        + 2.0 * (table["blood"] == "AB")
        + np.where(table["ward"].isna(), 1.5, 0.0)
        - 2.0 * table["dose"]
    )
    return table, risk.to_numpy() + rng.normal(0.0, 0.7, rows)


@cache
def table_model(*, values=False, classes=2, thresholds=5, similarities=0, rules=0, **settings):
    """A classifier of the table, two classes or more."""
    X, risk = patients(160)
    edges = np.quantile(risk, np.arange(1, classes) / classes)
    labels = np.array(["low", "high"] if classes == 2 else [f"risk {i}" for i in range(classes)], dtype=object)
    made = {"thresholds": thresholds, "values": values, "similarities": similarities, "rules": rules}
    transform = TableBits(**made, categorical=["grade"])
    chosen = {"weight_bound": 7, "inputs": transform} | ({} if "hidden_layers" in settings else {"C": 1.0}) | settings
    estimator = BeMiClassifier if "hidden_layers" in settings else soft_margins
    return estimator(time_limit=None, node_limit=20, **chosen).fit(X, labels[np.digitize(risk, edges)])


def new_rows(rows, seed=1):
    """Rows with unknown levels, empty columns and values beyond all thresholds."""
    rng = np.random.default_rng(seed)
    table, _ = patients(rows, seed)
    for name in table:
        table[name] = table[name].astype(object)
        table.loc[rng.random(rows) < 0.1, name] = None
    for name in ("age", "pressure", "dose"):
        wild = rng.random(rows) < 0.1
        table.loc[wild, name] = rng.choice([1e300, -1e300, 0.5, -0.5, 2.5e9, -1e-9], wild.sum())
    for name in ("blood", "sex", "ward"):
        table.loc[rng.random(rows) < 0.1, name] = "never seen"
    return table


def wild_readings(table_bits, rows, seed=2):
    """Readings of any kind: around every threshold and level, extreme, missing."""
    rng = np.random.default_rng(seed)
    found = rng.integers(MISSING, LARGEST_READING + 1, (rows, table_bits.n_features_in_))
    for place, column in enumerate(table_bits.columns_):
        near = np.array([*column.thresholds, *range(len(column.levels or ())), column.centre, MISSING, LARGEST_READING])
        chosen = rng.random(rows) < 0.8
        found[chosen, place] = rng.choice(near, chosen.sum()) + rng.integers(-1, 2, chosen.sum())
        usual = rng.random(rows) < 0.3
        reach = 1 + max(column.thresholds, default=0) - min(column.thresholds, default=0)
        found[usual, place] = column.centre + rng.integers(-reach, reach + 1, usual.sum())
    return np.clip(found, MISSING, LARGEST_READING)
