"""The experiment on signals from its file to its tables, on made-up windows."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab.experiments import experiment_types
from bemi_lab.experiments.signal import peers, sets
from bemi_lab.experiments.signal import run as runner
from bemi_lab.experiments.signal.reports import REPORTS
from bemi_lab.experiments.signal.section import section
from bemi_lab.experiments.signal.spec import load
from bemi_lab.experiments.signal.systems import SYSTEMS, System
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.results import read
from bemi_lab.experiments.tabular.spec import Grid
from exported_models import waves

GRID = Grid(
    ("accuracy", "accuracy-by-set", "training", "lower-gain"),
    ("one", "two"),
    ("per-class-2", "per-class-5"),
    ("as-recorded", "minirocket", "statistics-forest"),
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


def made(name):
    X, y = waves(40, 24, 1, seed=len(name))
    return X / 10, y


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    for name in ("one", "two"):
        monkeypatch.setitem(sets.SETS, name, ("numpy", made))
    monkeypatch.setitem(SYSTEMS, "minirocket", System("minirocket", "MiniRocket", lambda *_: Threshold()))


def small(*grids):
    return replace(load("signals"), grids=grids or (GRID,))


@pytest.fixture
def folder(tmp_path):
    runner.reproduce(small(), SETTINGS, tmp_path, n_jobs=1)
    return tmp_path


def test_what_is_measured(folder):
    run = read(folder)
    assert {system: len(found) for system, found in run.measurements.items()} == dict.fromkeys(GRID.systems, 8)
    first = run.measurements["as-recorded"][0]
    assert first["gap"] <= first["largest_gap"]
    assert first["certified"]
    assert "gap" not in run.measurements["minirocket"][0]
    windows = sets.load_set("one")
    train, test = runner.draw("per-class-5").of(windows, 1)
    model = Threshold().fit(windows.X[train], windows.y[train])
    found = run.values("minirocket", "per-class-5", "one", "accuracy")[1]
    assert found == pytest.approx(np.mean(model.predict(windows.X[test]) == windows.y[test]), abs=1e-6)
    lower = run.values("minirocket", "per-class-5", "one", "lower_gain")[1]
    assert lower == pytest.approx(np.mean(model.predict(0.7 * windows.X[test]) == windows.y[test]), abs=1e-6)


def test_nothing_is_measured_twice(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in (folder / "results").iterdir()}
    run = runner.reproduce(small(), SETTINGS, folder, n_jobs=1)
    assert [visit["models"] for visit in run["visits"]] == [24, 0]
    assert {path.name: path.read_bytes() for path in (folder / "results").iterdir()} == before
    more = runner.reproduce(small(replace(GRID, samples=3, systems=("minirocket",))), SETTINGS, folder, n_jobs=1)
    assert more["visits"][-1]["models"] == 4


def test_tables_of_the_report(folder, monkeypatch):
    monkeypatch.setattr("bemi_lab.experiments.tabular.results.load", lambda name: small())
    run, shown = read(folder), section(folder)
    assert list(shown.tables) == list(GRID.report)
    accuracy = shown.tables["accuracy"]
    assert accuracy.headings[1] == "2 per class (2 sets)"
    ours, other, _ = accuracy.rows
    assert ours[1] == pytest.approx(
        100 * np.mean([m["accuracy"] for m in run.measurements["as-recorded"][::1] if m["split"] == "per-class-2"])
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
    assert "Signals: our models beside others, accuracy" in shown.brief


def test_a_set_with_too_few_windows_does_not_take_part(tmp_path):
    grid = replace(GRID, splits=("per-class-9", "per-class-10"), systems=("minirocket",), samples=1)
    runner.reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    assert {m["split"] for m in read(tmp_path).measurements["minirocket"]} == {"per-class-9"}


def test_one_set_alone(tmp_path):
    grid = replace(GRID, systems=("minirocket",), splits=("per-class-2",))
    runner.reproduce(small(grid), replace(SETTINGS, dataset="two"), tmp_path, samples=1, n_jobs=1)
    assert [m["table"] for m in read(tmp_path).measurements["minirocket"]] == ["two"]
    with pytest.raises(ValueError, match="signals has no set 'three'; it has one, two"):
        runner.reproduce(small(grid), replace(SETTINGS, dataset="three"), tmp_path)
    with pytest.raises(ValueError, match="without --shard"):
        runner.reproduce(small(grid), SETTINGS, tmp_path, shard=(1, 2))


def test_missing_packages_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sets.SETS, "one", ("no_such_package", made))
    monkeypatch.setitem(SYSTEMS, "minirocket", System("minirocket", "MiniRocket", lambda *_: None, "nor_this"))
    with pytest.raises(ValueError, match=r'signals needs no_such_package, nor_this; install with: pip install "bemi'):
        runner.reproduce(small(), SETTINGS, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert runner.remarks(small()) == []
    quick = replace(small(), needs_all_tables=False)
    (line,) = runner.remarks(quick)
    assert line.startswith("signals one and systems that need nor_this are left out")
    runner.reproduce(quick, SETTINGS, tmp_path / "quick", samples=1, n_jobs=1)
    assert {m["table"] for m in read(tmp_path / "quick").measurements["as-recorded"]} == {"two"}


@pytest.mark.parametrize("name", ["signals", "signals-recommended"])
def test_the_file(name):
    experiment = load(name)
    assert experiment_types.of(name).load is load
    assert experiment.dataset == "signals"
    for grid in experiment.grids:
        assert set(grid.systems) <= SYSTEMS.keys()
        assert set(grid.tables) <= sets.SETS.keys()
        assert set(grid.report) <= REPORTS.keys()
    assert len(experiment.grids[0].tables) == 9
    quick = load(name, quick=True)
    assert {grid.samples for grid in quick.grids} == {1}
    assert not quick.needs_all_tables


def test_statistics():
    X = np.array([[[1.0], [3.0], [1.0], [3.0]], [[2.0], [2.0], [2.0], [2.0]]])
    found = peers.statistics(X)
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
