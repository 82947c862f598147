"""The experiment on signals from its file to its tables, on made-up windows."""

import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab.datasets import DatasetError, Split, load, signals
from bemi_lab.datasets.registry import SETS
from bemi_lab.experiments import spec, subjects
from bemi_lab.experiments.on_signals import SYSTEMS, statistics
from bemi_lab.experiments.report import section
from bemi_lab.experiments.results import read
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Grid, Settings
from bemi_lab.experiments.subjects import System

GRID = Grid(
    ("as-recorded", "minirocket", "statistics-forest"),
    ("per-class-2", "per-class-5"),
    ("one", "two"),
    ("accuracy", "accuracy-by-set", "training", "lower-gain"),
    samples=2,
)
SETTINGS = Settings("signals", time_limit=5.0)


class Threshold:
    """A stand-in for a classifier of another package: the class whose mean loudness is nearest."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.loudness = [np.abs(X[y == label]).mean() for label in self.classes_]
        return self

    def predict(self, X):
        loud = np.abs(X).mean(axis=(1, 2))
        return self.classes_[np.abs(loud[:, None] - np.array(self.loudness)).argmin(axis=1)]


def waves(rows, time, channels, classes=4, seed=0):
    """Windows of noisy waves, whose frequency tells the class, and the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    turns = np.arange(time) / time * (2 + 3 * y[:, None, None] + np.arange(channels)[:, None])
    signal = 900 * np.sin(2 * np.pi * (turns + rng.random((rows, channels, 1)))) + rng.normal(0, 250, turns.shape)
    return np.rint(signal).astype(int).transpose(0, 2, 1), y


@signals._reader
def made(name):
    X, y = waves(40, 24, 1, seed=len(name))
    return X / 10, y


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    monkeypatch.setattr(signals, "made", made, raising=False)
    for name in ("one", "two"):
        monkeypatch.setitem(SETS, name, replace(SETS["Trace"], name=name, package="numpy", reader="signals.made"))
    monkeypatch.setitem(SYSTEMS, "minirocket", System("minirocket", "MiniRocket", lambda *_: Threshold()))


def small(*grids):
    return replace(spec.load("signals"), grids=grids or (GRID,))


@pytest.fixture
def folder(tmp_path):
    reproduce(small(), SETTINGS, tmp_path, n_jobs=1)
    return tmp_path


def test_what_is_measured(folder):
    run = read(folder)
    assert Counter(record["system"] for record in run.systems) == dict.fromkeys(GRID.systems, 8)
    first = next(record for record in run.systems if record["system"] == "as-recorded")
    assert first["gap"] <= first["largest_gap"]
    assert first["certified"]
    assert {record["system"] for record in run.systems if "gap" in record} == {"as-recorded"}
    windows = load("one")
    X, y = windows.train_X, windows.train_y
    train, test = Split.parse("per-class-5").of_windows(y, None, 1)
    model = Threshold().fit(X[train], y[train])
    found = run.values("minirocket", "per-class-5", "one", "accuracy")[1]
    assert found == pytest.approx(np.mean(model.predict(X[test]) == y[test]), abs=1e-6)
    lower = run.values("minirocket", "per-class-5", "one", "lower_gain")[1]
    assert lower == pytest.approx(np.mean(model.predict(0.7 * X[test]) == y[test]), abs=1e-6)


def test_nothing_is_measured_twice(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in (folder / "results").iterdir()}
    run = reproduce(small(), SETTINGS, folder, n_jobs=1)
    assert [visit["models"] for visit in run["visits"]] == [24, 0]
    assert {path.name: path.read_bytes() for path in (folder / "results").iterdir()} == before
    more = reproduce(small(replace(GRID, samples=3, systems=("minirocket",))), SETTINGS, folder, n_jobs=1)
    assert more["visits"][-1]["models"] == 4


def test_tables_of_the_report(folder, monkeypatch):
    experiment = small()
    monkeypatch.setattr(spec, "load", lambda name: experiment)
    run, shown = read(folder), section(folder)
    assert list(shown.tables) == list(GRID.report)
    accuracy = shown.tables["accuracy"]
    assert accuracy.headings[1] == "2 per class (2 sets)"
    ours, other, _ = accuracy.rows
    assert ours[1] == pytest.approx(
        100 * np.mean([run.mean("as-recorded", "per-class-2", "accuracy", [name]) for name in ("one", "two")])
    )
    assert ours[2].mean == pytest.approx(ours[1] - other[1])
    assert other[2] is None
    by_set = shown.tables["accuracy-by-set"].rows
    assert [row[:2] for row in by_set] == [[f"{n} per class", name] for n in (2, 5) for name in ("one", "two")]
    assert by_set[0][-1] == pytest.approx(by_set[0][2] - by_set[0][3])
    # Only our models prove something.
    assert {row[1] for row in shown.tables["training"].rows} == {"ours"}
    gain = shown.tables["lower-gain"].rows[0]
    assert gain[4].mean == pytest.approx(gain[3] - gain[2])


def test_a_set_with_too_few_windows_does_not_take_part(tmp_path):
    grid = replace(GRID, splits=("per-class-9", "per-class-10"), systems=("minirocket",), samples=1)
    reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    assert {record["split"] for record in read(tmp_path).systems} == {"per-class-9"}


def test_one_set_alone(tmp_path):
    grid = replace(GRID, systems=("minirocket",), splits=("per-class-2",))
    reproduce(small(grid), replace(SETTINGS, dataset="two"), tmp_path, samples=1, n_jobs=1)
    assert [record["dataset"] for record in read(tmp_path).systems] == ["two"]
    with pytest.raises(ValueError, match="signals has no signal 'three'; it has one, two"):
        reproduce(small(grid), replace(SETTINGS, dataset="three"), tmp_path)
    with pytest.raises(ValueError, match="without --shard"):
        reproduce(small(grid), SETTINGS, tmp_path, shard=(1, 2))


def test_missing_packages_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(SETS, "one", replace(SETS["one"], package="no_such_package"))
    monkeypatch.setitem(SYSTEMS, "minirocket", System("minirocket", "MiniRocket", lambda *_: None, "nor_this"))
    with pytest.raises(
        DatasetError, match=r'one comes with the package no_such_package; install it with: pip install "bemi'
    ):
        reproduce(small(), SETTINGS, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    quick = replace(small(), needs_all=False)
    (line,) = subjects.remarks(quick)
    assert line.startswith("left out: signals one and systems that need nor_this; install what is missing with: pip")
    reproduce(quick, SETTINGS, tmp_path / "quick", samples=1, n_jobs=1)
    assert {(r["dataset"], r["system"]) for r in read(tmp_path / "quick").systems} == {
        ("two", "as-recorded"),
        ("two", "statistics-forest"),
    }


def test_statistics():
    X = np.array([[[1.0], [3.0], [1.0], [3.0]], [[2.0], [2.0], [2.0], [2.0]]])
    found = statistics(X)
    assert found.shape == (2, 17)
    assert found[0, :4].tolist() == [2, 1, 0, 1]
    assert found[1, :4].tolist() == [2, 0, 0, 0]
    assert found[0, 14] == 1.0


@pytest.mark.parametrize("name", ["minirocket", "warping"])
def test_other_classifiers_see_channels_first(name, monkeypatch):
    pytest.importorskip("aeon")
    monkeypatch.undo()
    X, y = waves(30, 24, 2)
    model = SYSTEMS[name].make(X, 0, SETTINGS).fit(X[:20] / 10, y[:20])
    assert np.mean(model.predict(X[20:] / 10) == y[20:]) > 0.8
    assert "aeon" in sys.modules
