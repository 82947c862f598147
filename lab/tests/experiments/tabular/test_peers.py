"""Other classifiers on tables with text and missing cells."""

import numpy as np
import pandas as pd
import pytest
from bemi_lab.experiments.tabular import peers
from sklearn.ensemble import RandomForestClassifier

RNG = np.random.default_rng(5)
ROWS = 80
COLOUR = RNG.choice(["red", "green", "blue"], ROWS)
SIZE = RNG.normal(size=ROWS)
LABELS = np.where((COLOUR == "red") ^ (SIZE > 0.5), "yes", "no")
TABLE = pd.DataFrame({"colour": COLOUR, "size": SIZE, "noise": RNG.normal(size=ROWS)})
TABLE.loc[::7, "colour"] = np.nan
TABLE.loc[::9, "size"] = np.nan


def prepared(train: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """One-hot categories, medians, and columns that say what was missing, worked out cell by cell."""
    columns = []
    for name in ("size", "noise"):
        known = sorted(value for value in train[name] if value == value)
        middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
        columns.append([middle if value != value else value for value in rows[name]])
    columns.append([float(value != value) for value in rows["size"]])
    for level in ("blue", "green", "missing", "red"):
        columns.append([float(("missing" if pd.isna(value) else value) == level) for value in rows["colour"]])
    return np.array(columns).T


def test_a_forest_sees_medians_one_hot_columns_and_what_was_missing():
    train, test = TABLE[:60], TABLE[60:]
    model = peers.random_forest(LABELS[:60], 3).fit(train, LABELS[:60])
    same = RandomForestClassifier(random_state=3).fit(prepared(train, train), LABELS[:60])
    assert np.array_equal(model.predict_proba(test), same.predict_proba(prepared(train, test)))


@pytest.mark.parametrize(
    "make",
    [
        peers.logistic_regression,
        peers.logistic_regression_by_accuracy,
        peers.logistic_regression_by_loss,
        peers.svc,
        peers.svc_tuned,
        peers.boosting,
    ],
)
def test_every_classifier_takes_text_and_missing_cells(make):
    model = make(LABELS, 0).fit(TABLE, LABELS)
    again = make(LABELS, 0).fit(TABLE, LABELS)
    assert np.mean(model.predict(TABLE) == LABELS) > 0.6
    assert np.array_equal(model.predict(TABLE), again.predict(TABLE))
    unseen = TABLE.assign(colour="purple")
    assert set(model.predict(unseen)) <= {"yes", "no"}


@pytest.mark.parametrize(("package", "make"), [("xgboost", peers.xgboost), ("interpret", peers.explainable_boosting)])
def test_classifiers_of_other_packages(package, make):
    pytest.importorskip(package)
    model = make(LABELS, 0).fit(TABLE, LABELS)
    assert list(model.classes_) == ["no", "yes"]
    assert np.mean(model.predict(TABLE) == LABELS) > 0.8
    assert np.array_equal(model.classes_[model.predict_proba(TABLE).argmax(axis=1)], model.predict(TABLE))


def test_fasterrisk():
    if peers.lacking("fasterrisk") is not None:
        pytest.skip(f"needs {peers.lacking('fasterrisk')}")
    model = peers.FasterRisk(links=3, thresholds=4).fit(TABLE, LABELS)
    assert np.count_nonzero(model.card_.coefficients) <= 3
    assert np.abs(model.card_.coefficients).max() <= 5
    assert np.mean(model.predict(TABLE) == LABELS) > 0.6


def test_a_class_with_few_rows_is_in_every_fold():
    labels = LABELS.copy()
    labels[:3] = "perhaps"
    model = peers.logistic_regression_by_accuracy(labels, 0).fit(TABLE, labels)
    assert model[-1].cv.n_splits == 3
