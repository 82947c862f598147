"""Runs on tables that need no files: results that can be worked out again, and runs that go on where they were."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab.datasets import DatasetError, storage
from bemi_lab.datasets.tables import load_table
from bemi_lab.experiments import comparison
from bemi_lab.experiments.folder import NoResults, OtherRun
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular import run as runner
from bemi_lab.experiments.tabular.results import read
from bemi_lab.experiments.tabular.spec import Grid, load
from bemi_lab.experiments.tabular.splits import split

SETTINGS = Settings(dataset="tables")
GRID = Grid(("accuracy",), ("iris", "wine"), ("per-class-20", "per-class-100", "fold"), ("svc", "random-forest"), 2)


@pytest.fixture(autouse=True)
def no_files(monkeypatch, tmp_path):
    """No data folder and an empty cache."""
    monkeypatch.delenv("BEMI_DATA", raising=False)
    monkeypatch.setattr(storage, "cache_folder", lambda: tmp_path / "cache")


def small(*grids, **changes):
    return replace(load("tables"), grids=grids or (GRID,), **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tables"
    runner.reproduce(small(), SETTINGS, folder, n_jobs=1)
    return folder


def test_every_system_on_every_split(folder):
    run = read(folder)
    assert set(run.measurements) == {"svc", "random-forest"}
    for measurements in run.measurements.values():
        # Neither table has 100 rows of a class to train with.
        assert [(m["table"], m["split"], m["sample"]) for m in measurements] == [
            (table, way, sample) for table in ("iris", "wine") for way in ("fold", "per-class-20") for sample in (0, 1)
        ]


def test_accuracies_are_those_of_the_classifiers(folder):
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    run, rows = read(folder), load_table("wine")
    train, test = split("per-class-20").draw(rows.y, 1)
    scaler = StandardScaler().fit(rows.X.iloc[train])
    machine = SVC().fit(scaler.transform(rows.X.iloc[train]), rows.y[train])
    expected = np.mean(machine.predict(scaler.transform(rows.X.iloc[test])) == rows.y[test])
    assert run.values("svc", "per-class-20", "wine", "accuracy")[1] == pytest.approx(expected, abs=1e-6)


def test_nothing_is_measured_twice(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in (folder / "results").iterdir()}
    asked = []

    def counted(system, rows, way, sample, settings):
        asked.append((system, rows.name, way, sample))
        return {"table": rows.name, "split": way, "sample": sample, "accuracy": 0.5}

    subject = replace(runner.SUBJECT, measured=counted)
    monkeypatch.setattr(
        comparison, "results", lambda call, arguments, order, n: ((i, call(*arguments(i, 1, 1))) for i in order)
    )
    run = comparison.reproduce(subject, small(), SETTINGS, folder, n_jobs=1)
    assert not asked
    assert run["visits"][-1]["models"] == 0
    assert {path.name: path.read_bytes() for path in (folder / "results").iterdir()} == before
    more = replace(GRID, splits=("per-class-20",), tables=("iris",), systems=("svc",), samples=4)
    comparison.reproduce(subject, small(more), SETTINGS, folder, n_jobs=1)
    assert asked == [("svc", "iris", "per-class-20", 2), ("svc", "iris", "per-class-20", 3)]
    assert len(read(folder).measurements["svc"]) == 10


def test_what_two_grids_show_is_measured_once(tmp_path):
    one = replace(GRID, tables=("iris",), splits=("fold",), systems=("svc",), samples=1)
    runner.reproduce(small(one, replace(one, samples=2)), SETTINGS, tmp_path, n_jobs=1)
    assert [m["sample"] for m in read(tmp_path).measurements["svc"]] == [0, 1]


def test_there_are_five_folds(tmp_path):
    grid = replace(GRID, tables=("iris",), splits=("fold",), systems=("svc",), samples=9)
    runner.reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    assert len(read(tmp_path).measurements["svc"]) == 5


def test_one_table_alone(tmp_path):
    grid = replace(GRID, splits=("fold",), systems=("svc",))
    runner.reproduce(small(grid), replace(SETTINGS, dataset="iris"), tmp_path, samples=1, n_jobs=1)
    assert [m["table"] for m in read(tmp_path).measurements["svc"]] == ["iris"]
    with pytest.raises(OtherRun, match="dataset 'iris', not 'tables'"):
        runner.reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    with pytest.raises(ValueError, match="tables has no table 'glass'; it has iris, wine"):
        runner.reproduce(small(grid), replace(SETTINGS, dataset="glass"), tmp_path / "other", n_jobs=1)


def test_a_full_run_needs_its_tables_and_a_quick_one_does_without(tmp_path):
    grid = replace(GRID, tables=("glass", "iris"), splits=("fold",), systems=("svc",), samples=1)
    with pytest.raises(DatasetError, match=r"glass\.csv is not here"):
        runner.reproduce(small(grid), SETTINGS, tmp_path / "full", n_jobs=1)
    assert not (tmp_path / "full").exists()
    quick = small(grid, needs_all_tables=False)
    assert runner.remarks(quick) == ["tables that are not here are left out: glass"]
    runner.reproduce(quick, SETTINGS, tmp_path / "quick", n_jobs=1)
    assert [m["table"] for m in read(tmp_path / "quick").measurements["svc"]] == ["iris"]


def test_it_is_not_divided(tmp_path):
    with pytest.raises(ValueError, match="cannot be divided among machines; run it without --shard"):
        runner.reproduce(small(), SETTINGS, tmp_path, shard=(1, 2))


def test_the_paper_has_no_tables(tmp_path):
    with pytest.raises(ValueError, match="it is not known which rows the paper takes in tables"):
        runner.reproduce(small(), replace(SETTINGS, images="paper"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_damaged_results_are_said_to_be_damaged(tmp_path):
    grid = replace(GRID, tables=("iris",), splits=("fold",), systems=("svc",), samples=1)
    runner.reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    (tmp_path / "results" / "svc.json").write_text("{")
    with pytest.raises(NoResults, match="has a damaged file"):
        runner.reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)


def test_what_a_run_stores_is_json_with_a_line_per_measurement(folder):
    for path in (folder / "results").iterdir():
        text = path.read_text()
        assert text.count("\n") == len(json.loads(text)["measurements"]) + 2
    visit = json.loads((folder / "run.json").read_text())["visits"][0]
    assert visit["models"] == 16
    assert "scikit-learn" in visit["packages"]
