"""Experiments on bundled data: results that can be worked out again, and runs that go on where they were."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from bemi_lab import datasets
from bemi_lab.experiments import results, spec
from bemi_lab.experiments.networks import REFERENCE
from bemi_lab.experiments.noise import noisy_rows
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.store import NoResults, OtherRun, Store
from sklearn.svm import SVC

from bemi import IntegerHog
from bemi.running import Journal
from bemi.training import Task

SETTINGS = Settings(dataset="digits", time_limit=20.0, node_limit=5)


def small(name="exp5", **changes):
    experiment = spec.load(name, quick=True)
    cells = [cell for cell in experiment.cells if cell.weight_bound == 1]
    if "sizes" in changes:
        changes["paper"] = replace(experiment.paper, sizes=changes.pop("sizes"))
    return replace(experiment, **({"cells": tuple(cells), "samples": 2} | changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "exp5"
    reproduce(small(), SETTINGS, folder, n_jobs=1)
    return folder


def test_accuracy_is_that_of_the_networks_on_disk(folder):
    paths = sorted((folder / "results").iterdir())
    assert len(paths) == 4  # two sizes, two samples
    digits = datasets.load("digits")
    for path in paths:
        record = json.loads(path.read_text())
        rows = datasets.sample(digits, record["cell"]["per_class"], record["sample"], seed=0, classes=(4, 9))
        (entry,) = record["networks"]
        network = Journal(folder / "networks").read(entry["file"]).network
        said = np.where(network.forward(rows.test_X)[:, 0] == 1, 4, 9)
        assert record["paper_accuracy"] == pytest.approx(np.mean(said == rows.test_y))
        weights = np.concatenate([w.reshape(-1) for w in network.weights])
        assert record["weights"]["w=0"] == pytest.approx(np.mean(weights == 0))
        assert record["weights"]["others"] == pytest.approx(0)
        confusion = np.array(record["confusion"])
        assert confusion.sum(axis=1).tolist() == [np.sum(rows.test_y == 4), np.sum(rows.test_y == 9)]
        assert np.trace(confusion) / confusion.sum() == pytest.approx(record["paper_accuracy"])
        svm = SVC(kernel="linear").fit(rows.train_X / rows.train_X.max(), rows.train_y)
        assert record["alternatives"]["linear SVM"] == svm.score(rows.test_X / rows.train_X.max(), rows.test_y)


def test_transformed_inputs_and_their_reference(tmp_path):
    experiment = spec.load("accuracy-digits", quick=True)
    cells = [cell for cell in experiment.cells if cell.transform == "hog" and cell.per_class == 2]
    reproduce(replace(experiment, cells=tuple(cells)), SETTINGS, tmp_path, n_jobs=1)
    (path,) = (tmp_path / "results").iterdir()
    record = json.loads(path.read_text())
    rows = datasets.sample(datasets.load("digits"), 2, 0)
    hog = IntegerHog().fit(rows.train_X)
    unit = [x / np.floor(np.linalg.norm(x, axis=1))[:, None] for x in map(hog.transform, (rows.train_X, rows.test_X))]
    machine = SVC(kernel="linear", C=10).fit(unit[0], rows.train_y)
    expected = np.mean(machine.classes_[machine.decision_function(unit[1]).argmax(axis=1)] == rows.test_y)
    assert record["alternatives"][REFERENCE] == pytest.approx(expected)
    assert record["accuracy"] > 0.75
    assert all(n["stages"]["soft"]["proof"] == "certified" for n in record["networks"])


def test_networks_and_alternatives_see_the_same_noise(tmp_path):
    experiment = replace(small(), noise={"shift": (1.0, 2.0)}, radii=(1,), samples=1)
    reproduce(replace(experiment, cells=experiment.cells[:1]), SETTINGS, tmp_path, n_jobs=1)
    (path,) = (tmp_path / "results").iterdir()
    record = json.loads(path.read_text())
    digits = datasets.load("digits")
    rows = datasets.sample(digits, record["cell"]["per_class"], 0, seed=0, classes=(4, 9))
    noisy = noisy_rows(rows.test_X, digits.shape, "shift", 2.0, maximum=16, key=(0, 0))
    network = Journal(tmp_path / "networks").read(record["networks"][0]["file"]).network
    said = np.where(network.forward(noisy)[:, 0] == 1, 4, 9)
    assert record["noise"]["shift"]["bemi"][1] == pytest.approx(np.mean(said == rows.test_y))
    machine = SVC().fit(rows.train_X / 16, rows.train_y)
    assert record["noise"]["shift"]["RBF SVM"][1] == pytest.approx(machine.score(noisy / 16, rows.test_y))
    assert 0 <= record["radii"]["linf"]["1"] <= record["radii"]["l1"]["1"] <= 1


def test_noise_is_for_images(tmp_path):
    experiment = replace(small("exp6"), noise={"shift": (1.0,)}, samples=1)
    with pytest.raises(ValueError, match="breast-cancer has no images"):
        reproduce(experiment, replace(SETTINGS, dataset="breast-cancer"), tmp_path, n_jobs=1)


def test_a_second_run_trains_nothing(folder, monkeypatch):
    before = {path: path.read_bytes() for path in (folder / "results").iterdir()}
    monkeypatch.setattr(Task, "run", lambda task, seconds: pytest.fail("trained again"))
    run = reproduce(small(), SETTINGS, folder, n_jobs=1)
    assert run["visits"][-1]["networks"] == 0
    assert {path: path.read_bytes() for path in (folder / "results").iterdir()} == before


def test_an_interrupted_run_goes_on(folder, tmp_path, monkeypatch):
    trained = []
    original = Task.run

    def interrupted(task, seconds):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(task)
        return original(task, seconds)

    monkeypatch.setattr(Task, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(small(), SETTINGS, tmp_path, n_jobs=1)
    monkeypatch.setattr(Task, "run", lambda task, seconds: trained.append(task) or original(task, seconds))
    trained.clear()
    reproduce(small(), SETTINGS, tmp_path, n_jobs=1)
    assert len(trained) <= 2
    for path in (folder / "results").iterdir():
        again = json.loads((tmp_path / "results" / path.name).read_text())
        assert _without_seconds(again) == _without_seconds(json.loads(path.read_text()))


def _without_seconds(value):
    if isinstance(value, dict):
        return {key: _without_seconds(item) for key, item in value.items() if key != "seconds"}
    return [_without_seconds(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("change", [{"seed": 1}, {"gap": 0.5}, {"engine": "monolithic"}, {"time_limit": 1.0}])
def test_other_settings_are_refused(folder, change):
    with pytest.raises(OtherRun, match=f"holds a run with {next(iter(change))}"):
        reproduce(small(), replace(SETTINGS, **change), folder)


def test_the_papers_images_are_used_and_kept_apart(folder, tmp_path):
    experiment = small(sizes=(10, 2))
    experiment = replace(experiment, cells=tuple(cell for cell in experiment.cells if cell.per_class == 2))
    reproduce(experiment, replace(SETTINGS, images="paper"), tmp_path, n_jobs=1)
    digits = datasets.load("digits")
    of_a_class = [np.flatnonzero(digits.train_y == label) for label in (4, 9)]
    for path in sorted((tmp_path / "results").iterdir()):
        record = json.loads(path.read_text())
        # Five samples of 10 come before those of 2.
        first = 50 + 2 * record["sample"]
        train = np.concatenate([rows[first : first + 2] for rows in of_a_class])
        test = np.setdiff1d(np.concatenate(of_a_class), train)
        network = Journal(tmp_path / "networks").read(record["networks"][0]["file"]).network
        assert np.array_equal(network.forward(digits.train_X[train])[:, 0], [1, 1, -1, -1])
        said = np.where(network.forward(digits.train_X[test])[:, 0] == 1, 4, 9)
        assert record["paper_accuracy"] == pytest.approx(np.mean(said == digits.train_y[test]))
    assert results.read(tmp_path).images == "paper"
    assert results.read(folder).images == "random"
    with pytest.raises(OtherRun, match="holds a run with images 'paper', not 'random'"):
        reproduce(experiment, SETTINGS, tmp_path)


def test_a_run_from_before_there_was_a_choice_goes_on_with_random_images(folder, tmp_path):
    run = json.loads((folder / "run.json").read_text())
    del run["settings"]["images"]
    shutil.copytree(folder, tmp_path / "old")
    (tmp_path / "old" / "run.json").write_text(json.dumps(run))
    assert reproduce(small(), SETTINGS, tmp_path / "old", n_jobs=1)["visits"][-1]["networks"] == 0
    with pytest.raises(OtherRun, match="holds a run with images 'random', not 'paper'"):
        reproduce(small(sizes=(2, 10)), replace(SETTINGS, images="paper"), tmp_path / "old")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sizes": None}, "it is not known which rows the paper takes in exp5"),
        ({"sizes": (2, 6)}, "samples of 2, 6 per class, got 10"),
        ({"sizes": (2, 10), "samples": 6}, "numbered 0 to 4, got 5"),
        ({"sizes": (2, 100, 10), "samples": 5}, "class 4 has only 181 rows"),
    ],
)
def test_images_that_the_paper_does_not_have_are_refused_before_anything_is_written(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        reproduce(small(**changes), replace(SETTINGS, images="paper"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_experiment_is_refused(folder):
    with pytest.raises(OtherRun, match="holds a run of exp5"):
        reproduce(small("exp3a"), SETTINGS, folder)


def test_missing_values_are_imputed_from_training_rows_alone(tmp_path, monkeypatch):
    X = np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 7.0], [9.0, 9.0]] * 5)
    y = np.array([0, 0, 1, 1] * 5)
    empty = X[:0], y[:0]
    table = datasets.Dataset("table", X, y, *empty)
    monkeypatch.setattr("bemi_lab.experiments.run.load", lambda name: table)
    experiment = small("exp6", split=(20, 8), samples=1)
    reproduce(replace(experiment, cells=experiment.cells[:1]), replace(SETTINGS, dataset="table"), tmp_path, n_jobs=1)
    (path,) = (tmp_path / "results").iterdir()
    record = json.loads(path.read_text())
    assert (record["train_rows"], record["rows"]) == (12, 8)
    assert not record["disjoint_samples"]


def test_a_folder_without_results_says_so(tmp_path):
    with pytest.raises(NoResults, match="is not a run"):
        results.read(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(NoResults, match="damaged"):
        results.read(tmp_path)


def test_a_packed_run_is_the_same_and_can_be_continued(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "exp5")
    store = Store(tmp_path / "exp5")
    (tmp_path / "notes").mkdir()
    before = store.records()
    packed = store.pack()
    assert packed == tmp_path / "exp5.jsonl.gz"
    first = packed.read_bytes()
    shutil.rmtree(tmp_path / "exp5")
    again = Store(packed)
    assert again.run() == json.loads((folder / "run.json").read_text())
    # Files of networks are not packed, so records do not name them.
    for record in before.values():
        for network in record["networks"]:
            del network["file"]
    assert again.records() == before
    assert again.pack().read_bytes() == first, "the same run gives the same bytes"
    ours = [cell.accuracy for cell in results.read(folder).cells]
    assert [cell.accuracy for cell in results.read(packed).cells] == ours
    trained = []
    original = Task.run
    monkeypatch.setattr(Task, "run", lambda task, seconds: trained.append(task) or original(task, seconds))
    run = reproduce(small(samples=3), SETTINGS, tmp_path / "exp5", n_jobs=1)
    assert len(trained) == 2, "two sizes, one sample more"
    assert [visit["networks"] for visit in run["visits"]][-1] == 2
    assert [len(cell.records) for cell in results.read(packed).cells] == [3, 3]
    with pytest.raises(OtherRun, match="holds a run with seed 0, not 1"):
        reproduce(small(), replace(SETTINGS, seed=1), packed)


def test_a_damaged_packed_run_says_so(tmp_path):
    for content in (b"nothing", b""):
        (tmp_path / "exp5.jsonl.gz").write_bytes(content)
        with pytest.raises(NoResults, match=r"exp5\.jsonl\.gz is damaged"):
            results.read(tmp_path / "exp5")
