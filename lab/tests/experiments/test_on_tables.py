"""Systems on tables: what is measured of a model, against scikit-learn and plain loops, and what each system sees."""

import numpy as np
import pandas as pd
import pytest
from bemi_lab import classifiers
from bemi_lab.datasets import Dataset, Split, load
from bemi_lab.experiments.on_tables import (
    OTHERS,
    SYSTEMS,
    FasterRisk,
    calibration_error,
    measure,
    quality,
    shifted,
    thousandfold,
)
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.subjects import Job, System
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

CHANCE = np.random.default_rng(1)


def measured(system, dataset, split, sample, settings):
    return measure(SYSTEMS[system], dataset, Job(system, dataset.name, split, sample), settings)


def test_calibration_error():
    chances, happened = CHANCE.random(500), CHANCE.random(500) < 0.4
    chances[:2] = 0, 1
    expected = 0.0
    for tenth in range(10):
        upper = 1.1 if tenth == 9 else (tenth + 1) / 10
        inside = [i for i in range(500) if tenth / 10 <= chances[i] < upper]
        if inside:
            apart = sum(chances[i] for i in inside) / len(inside) - sum(happened[i] for i in inside) / len(inside)
            expected += len(inside) / 500 * abs(apart)
    assert calibration_error(happened, chances) == pytest.approx(expected)
    assert calibration_error([1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0]) == 0


def test_two_classes():
    X = CHANCE.normal(size=(200, 3))
    y = np.where(X[:, 0] + CHANCE.normal(size=200) > 0, "up", "down")
    model = LogisticRegression().fit(X[:100], y[:100])
    found = quality(model, X[100:], y[100:])
    chances = model.predict_proba(X[100:])
    assert found["accuracy"] == model.score(X[100:], y[100:])
    assert found["log_loss"] == pytest.approx(log_loss(y[100:], chances))
    assert found["auc"] == pytest.approx(roc_auc_score(y[100:] == "up", chances[:, 1]))


def test_more_classes_have_no_curve():
    X = CHANCE.normal(size=(90, 3))
    y = np.repeat([0, 1, 2], 30)
    found = quality(RandomForestClassifier(5, random_state=0).fit(X, y), X, y)
    assert set(found) == {"accuracy", "log_loss"}


def test_ours_says_what_was_proved():
    rows = load("iris")
    settings = Settings(dataset="tables", time_limit=5.0)
    found = measured("recommended", rows, "per-class-20", 1, settings)
    train, test = Split.parse("per-class-20").of_table(rows.train_y, 1)
    assert found["accuracy"] * len(test) == pytest.approx(round(found["accuracy"] * len(test)), abs=1e-3)
    assert found["accuracy"] > 0.85
    assert 0 <= found["gap"] <= found["largest_gap"]
    assert found["certified"]
    assert found["links"] > 0
    assert 0.8 < found["expected"] <= 1
    assert len(train) == 60


def test_seeds_move_samples_but_not_folds():
    rows = load("iris")
    first, second = (Settings(dataset="tables", seed=seed) for seed in (0, 2))
    forest = [measured("svc", rows, "per-class-20", 2 - s.seed, s)["accuracy"] for s in (first, second)]
    assert forest[0] == forest[1]
    folds = [measured("svc", rows, "fold", 2, s)["accuracy"] for s in (first, second)]
    assert folds[0] == folds[1]


def test_other_models_have_no_training_record():
    X = pd.DataFrame({"a": CHANCE.normal(size=60)})
    found = measured(
        "svc", Dataset.without_test("made", X, np.repeat(["x", "y"], 30)), "fold", 0, Settings(dataset="tables")
    )
    assert set(found) == {"seconds", "accuracy"}


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
    model = OTHERS["random-forest"][1](LABELS[:60], 3).fit(train, LABELS[:60])
    same = RandomForestClassifier(random_state=3).fit(prepared(train, train), LABELS[:60])
    assert np.array_equal(model.predict_proba(test), same.predict_proba(prepared(train, test)))


@pytest.mark.parametrize("make", [make for _, make, needs in OTHERS.values() if needs is None])
def test_every_classifier_takes_text_and_missing_cells(make):
    model = make(LABELS, 0).fit(TABLE, LABELS)
    again = make(LABELS, 0).fit(TABLE, LABELS)
    assert np.mean(model.predict(TABLE) == LABELS) > 0.6
    assert np.array_equal(model.predict(TABLE), again.predict(TABLE))
    unseen = TABLE.assign(colour="purple")
    assert set(model.predict(unseen)) <= {"yes", "no"}


@pytest.mark.parametrize(("package", "make"), [(needs, make) for _, make, needs in OTHERS.values() if needs])
def test_classifiers_of_other_packages(package, make):
    pytest.importorskip(package)
    # An additive model can learn a sum of columns, but not LABELS, where the colour reverses what the size means.
    labels = np.where((COLOUR == "red") + SIZE > 0.5, "yes", "no")
    model = make(labels, 0).fit(TABLE, labels)
    assert list(model.classes_) == ["no", "yes"]
    assert np.mean(model.predict(TABLE) == labels) > 0.8
    assert np.array_equal(model.classes_[model.predict_proba(TABLE).argmax(axis=1)], model.predict(TABLE))


def test_fasterrisk():
    if SYSTEMS["fasterrisk-5"].lacking is not None:
        pytest.skip(f"needs {SYSTEMS['fasterrisk-5'].lacking}")
    model = FasterRisk(links=3, thresholds=4).fit(TABLE, LABELS)
    assert np.count_nonzero(model.card_.coefficients) <= 3
    assert np.abs(model.card_.coefficients).max() <= 5
    assert np.mean(model.predict(TABLE) == LABELS) > 0.6


def test_a_class_with_few_rows_is_in_every_fold():
    labels = LABELS.copy()
    labels[:3] = "perhaps"
    model = OTHERS["logistic-regression-by-accuracy"][1](labels, 0).fit(TABLE, labels)
    assert model[-1].cv.n_splits == 3


FEW_ROWS = pd.DataFrame({"a": [1.0, 2.0, np.nan, 5.0], "kind": ["x", "y", "x", "y"], "b": [3, 3, 4, 8]})


def test_shifted_by_a_hundred_standard_deviations():
    moved = shifted(FEW_ROWS)
    assert moved["kind"].tolist() == FEW_ROWS["kind"].tolist()
    values = [1.0, 2.0, 5.0]
    spread = (sum((value - 8 / 3) ** 2 for value in values) / 2) ** 0.5
    assert moved["a"].dropna().tolist() == pytest.approx([value + 100 * spread for value in values])
    assert moved["a"].isna().tolist() == [False, False, True, False]
    assert np.ptp(moved["b"]) == pytest.approx(5)


def test_thousandfold():
    assert thousandfold(FEW_ROWS)["b"].tolist() == [3000, 3000, 4000, 8000]
    assert thousandfold(FEW_ROWS)["kind"].tolist() == FEW_ROWS["kind"].tolist()


def test_names_are_keys():
    assert all(system.name == name for name, system in SYSTEMS.items())


def test_a_system_without_its_package_cannot_run():
    def make(*_):
        raise AssertionError

    assert System("other", "other", make, needs="no_such_package").lacking == "no_such_package"
    assert SYSTEMS["random-forest"].lacking is None


def test_ours_has_the_users_limits():
    rows = load("iris")
    settings = Settings(dataset="tables", time_limit=3.5, gap=0.02, node_limit=7)
    model = SYSTEMS["recommended"].make(rows.table, rows.train_y, 0, settings)
    chosen = model.get_params()
    assert (chosen["time_limit"], chosen["gap"], chosen["node_limit"]) == (3.5, 0.02, 7)


def test_a_card_has_few_lines():
    rows = load("breast-cancer")
    model = classifiers.scorecard(3, time_limit=2.0).fit(rows.table[:150], rows.train_y[:150])
    (network,) = model.networks_.values()
    weights = network.weights[0][:, 0]
    assert np.count_nonzero(weights[:-1]) <= 3
    assert np.abs(weights).max() <= 5
    assert model.predict_proba(rows.table[:5]).shape == (5, 2)
