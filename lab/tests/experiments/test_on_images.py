"""The experiment on images from its file to its tables, on three of scikit-learn's digits."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab import classifiers, datasets
from bemi_lab.experiments import on_images, spec
from bemi_lab.experiments.on_images import training_images, unit_length
from bemi_lab.experiments.report import section
from bemi_lab.experiments.results import read
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Grid, Settings
from sklearn.svm import SVC

GRID = Grid(
    ("recommended", "linear-svm-as-chosen", "linear-svm"),
    ("per-class-1", "per-class-4"),
    ("digits",),
    ("accuracy", "choices", "training"),
    samples=2,
)
SETTINGS = Settings("images", time_limit=2.0)


@pytest.fixture(autouse=True, scope="module")
def three_digits():
    digits = datasets.load("digits")
    kept = digits.train_y < 3
    few = replace(digits, train_X=digits.train_X[kept], train_y=digits.train_y[kept])
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(on_images, "load", lambda name: few)
        changed.setattr("bemi.training.folds.MOST_VARIANTS", 30)
        changed.setattr("bemi.augment.images.MOST_COPIES", 5)
        yield
    training_images.cache_clear()
    on_images._loaded.cache_clear()


def small(*grids):
    return replace(spec.load("accuracy"), grids=grids or (GRID,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    reproduce(small(), SETTINGS, folder, n_jobs=1)
    return folder


def test_our_model_is_what_fitting_the_recommended_one_gives():
    drawn = training_images("digits", "per-class-4", 1, SETTINGS)
    X, y = drawn.images.train_X, drawn.images.train_y
    choice, _ = drawn.choice
    whole = classifiers.few_bit(X, time_limit=2.0).fit(X, y)
    assert choice.name == whole.choice_.name
    assert choice.accuracies == whole.choice_.accuracies
    assert drawn.model(**choice.candidate.settings).fit(X, y).networks_ == whole.networks_


def test_others_see_the_rows_that_our_model_is_trained_on():
    drawn = training_images("digits", "per-class-4", 0, SETTINGS)
    plain, (chosen, _) = drawn.plain, drawn.as_chosen
    assert plain.train.shape[0] == 12
    assert chosen.train.shape[0] == 12 * (1 + 5)
    assert (plain.price, chosen.price) == (10.0, 1.0)
    X, y = drawn.images.train_X, drawn.images.train_y
    model = drawn.model(**drawn.choice[0].candidate.settings).fit(X, y)
    assert np.array_equal(model.ensemble_.inputs.of(X), chosen.train[:12])
    assert np.array_equal(model.ensemble_.inputs.of(drawn.images.test_X), chosen.test)
    # Rows that training added are among the copies, with their labels.
    known = {(label, row.tobytes()) for row, label in zip(chosen.train, chosen.labels, strict=True)}
    used = model.ensemble_.training.rows
    assert len(used.rows) > 12
    labels = model.classes_[used.targets]
    assert {(label, row.tobytes()) for row, label in zip(used.integers, labels, strict=True)} <= known


def test_what_is_measured(folder):
    run = read(folder)
    assert Counter(record["system"] for record in run.systems) == dict.fromkeys(GRID.systems, 4)
    first = next(record for record in run.systems if record["system"] == "recommended")
    assert first["gap"] <= first["largest_gap"]
    assert first["certified"]
    assert first["deforming"] < first["cpu"]
    assert first["choosing"] < first["cpu"]
    drawn = training_images("digits", "per-class-4", 1, SETTINGS)
    rows = drawn.plain
    svm = SVC(kernel="linear", C=10.0, break_ties=True).fit(unit_length(rows.train), rows.labels)
    right = np.mean(svm.predict(unit_length(rows.test)) == drawn.images.test_y)
    assert run.values("linear-svm", "per-class-4", "digits", "accuracy")[1] == pytest.approx(right, abs=1e-6)


def test_tables_of_the_report(folder, monkeypatch):
    experiment = small()
    monkeypatch.setattr(spec, "load", lambda name: experiment)
    run, shown = read(folder), section(folder)
    assert list(shown.tables) == list(GRID.report)
    accuracy = shown.tables["accuracy"]
    assert accuracy.headings == ["data set", "system", "1", "4"]
    values = [100 * a for a in run.values("recommended", "per-class-4", "digits", "accuracy").values()]
    ours = accuracy.rows[0]
    assert (ours[3].low, ours[3].mean, ours[3].high) == pytest.approx((min(values), np.mean(values), max(values)))
    assert shown.tables["choices"].rows[0] == ["digits", "1 per class", "straightened images, deformed: 2"]
    assert [row[2] for row in shown.tables["training"].rows] == [2, 2]
