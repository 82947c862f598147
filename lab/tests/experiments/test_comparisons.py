"""Comparisons, on tables that need no files: results that can be worked out again, runs that go on where they were, and
paired differences."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab.datasets import DatasetError, Split, load, storage
from bemi_lab.experiments import on_tables, spec, subjects
from bemi_lab.experiments.results import read
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Grid, Settings
from bemi_lab.experiments.store import NoResults, OtherRun, Store
from bemi_lab.experiments.table import interval
from scipy import stats

SETTINGS = Settings(dataset="tables")
GRID = Grid(
    ("svc", "random-forest"), ("per-class-20", "per-class-100", "fold"), ("iris", "wine"), ("accuracy",), samples=2
)


@pytest.fixture(autouse=True)
def no_files(monkeypatch, tmp_path):
    """No data folder and an empty cache."""
    monkeypatch.delenv("BEMI_DATA", raising=False)
    monkeypatch.setattr(storage, "cache_folder", lambda: tmp_path / "cache")


def small(*grids, **changes):
    return replace(spec.load("tables"), grids=grids or (GRID,), **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tables"
    reproduce(small(), SETTINGS, folder, n_jobs=1)
    return folder


def systems(path):
    """By system, what was measured: data set, split and sample."""
    found = {}
    for record in read(path).systems:
        found.setdefault(record["system"], []).append((record["dataset"], record["split"], record["sample"]))
    return found


def test_every_system_on_every_split(folder):
    # Neither table has 100 rows of a class to train with.
    expected = [(name, way, i) for name in ("iris", "wine") for way in ("fold", "per-class-20") for i in (0, 1)]
    assert systems(folder) == {"random-forest": expected, "svc": expected}


def test_accuracies_are_those_of_the_classifiers(folder):
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    run, rows = read(folder), load("wine")
    train, test = Split.parse("per-class-20").of_table(rows.train_y, 1)
    scaler = StandardScaler().fit(rows.train_X[train])
    svm = SVC().fit(scaler.transform(rows.train_X[train]), rows.train_y[train])
    expected = np.mean(svm.predict(scaler.transform(rows.train_X[test])) == rows.train_y[test])
    assert run.values("svc", "per-class-20", "wine", "accuracy")[1] == pytest.approx(expected, abs=1e-6)


def test_nothing_is_measured_twice(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in (folder / "results").iterdir()}
    asked = []

    def counted(system, dataset, job, settings):
        asked.append((system.name, dataset.name, job.split, job.sample))
        return {"accuracy": 0.5}

    monkeypatch.setattr(on_tables, "SUBJECT", replace(on_tables.SUBJECT, measure=counted))
    run = reproduce(small(), SETTINGS, folder, n_jobs=1)
    assert not asked
    assert run["visits"][-1]["models"] == 0
    assert {path.name: path.read_bytes() for path in (folder / "results").iterdir()} == before
    more = replace(GRID, splits=("per-class-20",), datasets=("iris",), systems=("svc",), samples=4)
    reproduce(small(more), SETTINGS, folder, n_jobs=1)
    assert asked == [("svc", "iris", "per-class-20", 2), ("svc", "iris", "per-class-20", 3)]
    assert len(systems(folder)["svc"]) == 10


def test_first_samples_come_first_and_all_systems_on_a_sample_together(tmp_path, monkeypatch):
    order = []

    def counted(system, dataset, job, settings):
        order.append((job.sample, dataset.name, system.name))
        return {"accuracy": 0.5}

    monkeypatch.setattr(on_tables, "SUBJECT", replace(on_tables.SUBJECT, measure=counted))
    reproduce(small(replace(GRID, splits=("fold",))), SETTINGS, tmp_path, n_jobs=1)
    assert order == [(i, name, system) for i in (0, 1) for name in ("iris", "wine") for system in GRID.systems]


def test_what_two_grids_show_is_measured_once(tmp_path):
    one = replace(GRID, datasets=("iris",), splits=("fold",), systems=("svc",), samples=1)
    reproduce(small(one, replace(one, samples=2)), SETTINGS, tmp_path, n_jobs=1)
    assert systems(tmp_path) == {"svc": [("iris", "fold", 0), ("iris", "fold", 1)]}


def test_there_are_five_folds(tmp_path):
    grid = replace(GRID, datasets=("iris",), splits=("fold",), systems=("svc",), samples=9)
    reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    assert len(systems(tmp_path)["svc"]) == 5


def test_one_table_alone(tmp_path):
    grid = replace(GRID, splits=("fold",), systems=("svc",))
    reproduce(small(grid), replace(SETTINGS, dataset="iris"), tmp_path, samples=1, n_jobs=1)
    assert systems(tmp_path) == {"svc": [("iris", "fold", 0)]}
    with pytest.raises(OtherRun, match="dataset 'iris', not 'tables'"):
        reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    with pytest.raises(ValueError, match="tables has no table 'glass'; it has iris, wine"):
        reproduce(small(grid), replace(SETTINGS, dataset="glass"), tmp_path / "other", n_jobs=1)


def test_a_full_run_needs_its_tables_and_a_quick_one_does_without(tmp_path):
    grid = replace(GRID, datasets=("glass", "iris"), splits=("fold",), systems=("svc",), samples=1)
    with pytest.raises(DatasetError, match=r"glass\.csv is not here"):
        reproduce(small(grid), SETTINGS, tmp_path / "full", n_jobs=1)
    assert not (tmp_path / "full").exists()
    quick = small(grid, needs_all=False)
    assert subjects.remarks(quick) == ["left out: tables glass; see lab/reports/method.md"]
    reproduce(quick, SETTINGS, tmp_path / "quick", n_jobs=1)
    assert systems(tmp_path / "quick") == {"svc": [("iris", "fold", 0)]}


def test_it_is_not_divided(tmp_path):
    with pytest.raises(ValueError, match="cannot be divided among machines; run it without --shard"):
        reproduce(small(), SETTINGS, tmp_path, shard=(1, 2))


def test_the_paper_has_no_tables(tmp_path):
    with pytest.raises(ValueError, match="it is not known which rows the paper takes in tables"):
        reproduce(small(), replace(SETTINGS, images="paper"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_damaged_results_are_said_to_be_damaged(tmp_path):
    grid = replace(GRID, datasets=("iris",), splits=("fold",), systems=("svc",), samples=1)
    reproduce(small(grid), SETTINGS, tmp_path, n_jobs=1)
    (path,) = (tmp_path / "results").iterdir()
    path.write_text("{")
    with pytest.raises(NoResults, match="has a damaged file"):
        read(tmp_path)


def test_a_run_says_what_it_took(folder):
    visit = json.loads((folder / "run.json").read_text())["visits"][0]
    assert visit["models"] == 16
    assert "scikit-learn" in visit["packages"]


def write(folder, **measurements):
    """A run whose systems have these accuracies, by split, data set and sample."""
    store = Store(folder)
    store.open("tables", SETTINGS)
    for system, values in measurements.items():
        for (split, dataset, sample), accuracy in values.items():
            record = {"system": system, "dataset": dataset, "split": split, "sample": sample, "accuracy": accuracy}
            store.write(f"{system}_{dataset}_{split}_{sample}", record)
    return read(folder)


def test_tables_count_alike_however_many_samples_they_have(tmp_path):
    values = {("fold", "iris", 0): 0.9, ("fold", "iris", 1): 0.7, ("fold", "wine", 0): 0.6, ("other", "wine", 0): 0.1}
    run = write(tmp_path, ours=values)
    assert run.by_dataset("ours", "fold", "accuracy", ["iris", "wine", "glass"]) == pytest.approx(
        {"iris": 0.8, "wine": 0.6}
    )
    assert run.mean("ours", "fold", "accuracy", ["iris", "wine"]) == pytest.approx(0.7)
    assert run.mean("ours", "fold", "auc", ["iris", "wine"]) is None
    assert run.has("ours", "other")
    assert not run.has("theirs", "fold")


def test_differences_are_paired_by_sample(tmp_path):
    ours = {("fold", "iris", 0): 0.9, ("fold", "iris", 1): 0.7, ("fold", "wine", 0): 0.6}
    theirs = {("fold", "iris", 1): 0.5, ("fold", "iris", 2): 0.1, ("fold", "glass", 0): 0.6}
    run = write(tmp_path, ours=ours, theirs=theirs)
    found = run.differences("ours", "theirs", "fold", "accuracy", ["iris", "wine", "glass"])
    assert found == pytest.approx({"iris": 0.2})


def test_the_interval_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=14), rng.normal(size=14)
    found = interval((a - b).tolist())
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.mean == pytest.approx(np.mean(a) - np.mean(b))


def test_an_interval_of_one_table_or_none():
    assert interval([]) is None
    only = interval([2.0])
    assert (only.mean, only.low, only.high) == (2, 2, 2)


def test_a_run_without_results(tmp_path):
    Store(tmp_path).open("tables", SETTINGS)
    with pytest.raises(NoResults, match="no finished result yet"):
        read(tmp_path)
