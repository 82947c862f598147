"""What is measured of a model, against scikit-learn and plain loops."""

import numpy as np
import pandas as pd
import pytest
from bemi_lab.datasets.tables import Rows, load_table
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.measure import calibration_error, measured, quality
from bemi_lab.experiments.tabular.splits import split
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

RNG = np.random.default_rng(1)


def test_calibration_error():
    chances, happened = RNG.random(500), RNG.random(500) < 0.4
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
    X = RNG.normal(size=(200, 3))
    y = np.where(X[:, 0] + RNG.normal(size=200) > 0, "up", "down")
    model = LogisticRegression().fit(X[:100], y[:100])
    found = quality(model, X[100:], y[100:])
    chances = model.predict_proba(X[100:])
    assert found["accuracy"] == model.score(X[100:], y[100:])
    assert found["log_loss"] == pytest.approx(log_loss(y[100:], chances))
    assert found["auc"] == pytest.approx(roc_auc_score(y[100:] == "up", chances[:, 1]))


def test_more_classes_have_no_curve():
    X = RNG.normal(size=(90, 3))
    y = np.repeat([0, 1, 2], 30)
    found = quality(RandomForestClassifier(5, random_state=0).fit(X, y), X, y)
    assert set(found) == {"accuracy", "log_loss"}


def test_ours_says_what_was_proved():
    rows = load_table("iris")
    settings = Settings(dataset="tables", time_limit=5.0)
    found = measured("recommended", rows, "per-class-20", 1, settings)
    train, test = split("per-class-20").draw(rows.y, 1)
    assert (found["table"], found["split"], found["sample"]) == ("iris", "per-class-20", 1)
    assert found["accuracy"] * len(test) == pytest.approx(round(found["accuracy"] * len(test)), abs=1e-3)
    assert found["accuracy"] > 0.85
    assert 0 <= found["gap"] <= found["largest_gap"]
    assert found["certified"]
    assert found["links"] > 0
    assert 0.8 < found["expected"] <= 1
    assert len(train) == 60


def test_seeds_move_samples_but_not_folds():
    rows = load_table("iris")
    first, second = (Settings(dataset="tables", seed=seed) for seed in (0, 2))
    forest = [measured("svc", rows, "per-class-20", 2 - s.seed, s)["accuracy"] for s in (first, second)]
    assert forest[0] == forest[1]
    folds = [measured("svc", rows, "fold", 2, s)["accuracy"] for s in (first, second)]
    assert folds[0] == folds[1]


def test_other_models_have_no_training_record():
    X = pd.DataFrame({"a": RNG.normal(size=60)})
    found = measured("svc", Rows("made", X, np.repeat(["x", "y"], 30)), "fold", 0, Settings(dataset="tables"))
    assert set(found) == {"table", "split", "sample", "seconds", "accuracy"}
