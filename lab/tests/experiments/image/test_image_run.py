"""The experiment on images from its file to its tables, on three of scikit-learn's digits."""

from dataclasses import replace

import numpy as np
import pytest
from bemi_lab import datasets
from bemi_lab.experiments import comparison, experiment_types
from bemi_lab.experiments.image import lesson as lessons
from bemi_lab.experiments.image import run as runner
from bemi_lab.experiments.image.reports import REPORTS
from bemi_lab.experiments.image.section import section
from bemi_lab.experiments.image.spec import load
from bemi_lab.experiments.image.systems import SYSTEMS, unit_length
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.results import read
from bemi_lab.experiments.tabular.spec import Grid
from sklearn.svm import SVC

from bemi import recommended

GRID = Grid(
    ("accuracy", "choices", "training"),
    ("digits",),
    ("per-class-1", "per-class-4"),
    ("recommended", "linear-svm-as-chosen", "linear-svm"),
    samples=2,
)
SETTINGS = Settings("images", time_limit=2.0)


@pytest.fixture(autouse=True, scope="module")
def three_digits():
    digits = datasets.load("digits")
    kept = digits.train_y < 3
    few = replace(digits, train_X=digits.train_X[kept], train_y=digits.train_y[kept])
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(lessons, "load", lambda name: few)
        changed.setattr("bemi.training.choosing.choice.MOST_VARIANTS", 30)
        changed.setattr("bemi.augment.images.MOST_COPIES", 5)
        yield
    lessons.lesson.cache_clear()
    lessons._loaded.cache_clear()


def small(*grids):
    return replace(load("accuracy"), grids=grids or (GRID,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    runner.reproduce(small(), SETTINGS, folder, n_jobs=1)
    return folder


def test_our_model_is_what_fitting_the_recommended_one_gives():
    learned = lessons.lesson("digits", "per-class-4", 1, SETTINGS)
    X, y = learned.images.train_X, learned.images.train_y
    choice, _ = learned.choice
    whole = recommended(X, time_limit=2.0).fit(X, y)
    assert choice.name == whole.choice_.name
    assert choice.accuracies == whole.choice_.accuracies
    assert learned.model(**choice.candidate.settings).fit(X, y).networks_ == whole.networks_


def test_others_see_the_rows_that_our_model_is_trained_on():
    learned = lessons.lesson("digits", "per-class-4", 0, SETTINGS)
    plain, (chosen, _) = learned.plain, learned.as_chosen
    assert plain.train.shape[0] == 12
    assert chosen.train.shape[0] == 12 * (1 + 5)
    assert (plain.price, chosen.price) == (10.0, 1.0)
    X, y = learned.images.train_X, learned.images.train_y
    model = learned.model(**learned.choice[0].candidate.settings).fit(X, y)
    assert np.array_equal(model.ensemble_.inputs.of(X), chosen.train[:12])
    assert np.array_equal(model.ensemble_.inputs.of(learned.images.test_X), chosen.test)
    # Rows that training added are among the copies, with their labels.
    known = {(label, row.tobytes()) for row, label in zip(chosen.train, chosen.labels, strict=True)}
    used = model.ensemble_.training.rows
    assert len(used.rows) > 12
    labels = model.classes_[used.targets]
    assert {(label, row.tobytes()) for row, label in zip(used.rows, labels, strict=True)} <= known


def test_what_is_measured(folder):
    run = read(folder)
    assert {system: len(found) for system, found in run.measurements.items()} == dict.fromkeys(GRID.systems, 4)
    first = run.measurements["recommended"][0]
    assert first["gap"] <= first["largest_gap"]
    assert first["certified"]
    assert first["deforming"] < first["cpu"]
    assert first["choosing"] < first["cpu"]
    learned = lessons.lesson("digits", "per-class-4", 1, SETTINGS)
    rows = learned.plain
    machine = SVC(kernel="linear", C=10.0, break_ties=True).fit(unit_length(rows.train), rows.labels)
    right = np.mean(machine.predict(unit_length(rows.test)) == learned.images.test_y)
    assert run.values("linear-svm", "per-class-4", "digits", "accuracy")[1] == pytest.approx(right, abs=1e-6)


def test_first_draws_come_first_and_nothing_is_measured_twice(tmp_path):
    measured = []

    def remember(system, dataset, draw, index, settings):
        measured.append((index, draw, system))
        return {"table": dataset, "split": draw, "sample": index, "accuracy": 0.5}

    subject = replace(runner.SUBJECT, measured=remember)
    comparison.reproduce(subject, small(), SETTINGS, tmp_path, n_jobs=1)
    expected = [(index, draw, system) for index in (0, 1) for draw in GRID.splits for system in GRID.systems]
    assert measured == expected
    run = comparison.reproduce(subject, small(), SETTINGS, tmp_path, samples=3, n_jobs=1)
    assert measured[len(expected) :] == [(2, draw, system) for draw in GRID.splits for system in GRID.systems]
    assert [visit["models"] for visit in run["visits"]] == [12, 6]


def test_tables_of_the_report(folder, monkeypatch):
    monkeypatch.setattr("bemi_lab.experiments.tabular.results.load", lambda name: small())
    run, shown = read(folder), section(folder)
    assert list(shown.tables) == list(GRID.report)
    accuracy = shown.tables["accuracy"]
    assert accuracy.headings == ["data set", "system", "1", "4"]
    values = [100 * m["accuracy"] for m in run.measurements["recommended"] if m["split"] == "per-class-4"]
    ours = accuracy.rows[0]
    assert (ours[3].low, ours[3].mean, ours[3].high) == pytest.approx((min(values), np.mean(values), max(values)))
    assert shown.tables["choices"].rows[0] == ["digits", "1 per class", "straightened images, deformed: 2"]
    assert [row[2] for row in shown.tables["training"].rows] == [2, 2]
    assert "Images: what is recommended, accuracy" in shown.brief


def test_the_file():
    experiment = load("accuracy")
    assert experiment_types.of("accuracy").load is load
    assert experiment.dataset == "images"
    (grid,) = experiment.grids
    assert set(grid.systems) == SYSTEMS.keys()
    assert set(grid.report) == REPORTS.keys()
    assert set(grid.tables) <= {listing.name for listing in datasets.available()}
    # The small version needs no download.
    (quick,) = load("accuracy", quick=True).grids
    assert (quick.tables, quick.samples) == (("digits",), 1)
    assert runner.SUBJECT.is_here("digits")
    assert not runner.SUBJECT.is_here("no such images")
