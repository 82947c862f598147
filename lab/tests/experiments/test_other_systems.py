"""Other systems beside ours: measured as they say, and in a table that leaves nothing out."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from bemi_lab import datasets
from bemi_lab.baselines import SYSTEMS, BaselineClassifier
from bemi_lab.experiments import other_systems, results, spec, subjects, system_tables
from bemi_lab.experiments.other_systems import ENTRIES
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.subjects import Job

from bemi import BeMiClassifier, solvers

FEW = ("bemi", "mip-max-margin", "gd-b", "min-hinge", "min-hinge-from-start", "mip-min-weight-from-start")

SETTINGS = Settings(dataset="digits", time_limit=20.0, node_limit=1, system_seconds=1.0)
(GRID,) = spec.load("exp2").grids


def made(name, classes, seconds):
    return ENTRIES[name].make(replace(SETTINGS, system_seconds=seconds), classes)


def measured(name, rows, seconds):
    job = Job(name, "digits", "per-class-2", 0)
    return other_systems.measure(ENTRIES[name], rows, job, replace(SETTINGS, system_seconds=seconds))


@pytest.fixture(scope="module")
def rows():
    whole = datasets.sample(datasets.load("digits"), 2, 0, seed=0, classes=(1, 4, 7, 9))
    return replace(whole, test_X=whole.test_X[::4], test_y=whole.test_y[::4])


def test_measures_of_an_ensemble_by_its_own_networks(rows):
    classifier = BeMiClassifier(time_limit=5.0, node_limit=5).fit(rows.train_X, rows.train_y)
    good, largest, voting = other_systems.accuracies(classifier, rows)
    assert largest == classifier.score(rows.test_X, rows.test_y)
    all_won = right = 0
    for row, truth in zip(rows.test_X, rows.test_y, strict=True):
        winners = []
        for a, b in combinations((1, 4, 7, 9), 2):
            winners.append(a if classifier.networks_[a, b].forward(row[None])[0, 0] == 1 else b)
        won = {label: winners.count(label) for label in (1, 4, 7, 9)}
        leaders = [label for label in won if won[label] == max(won.values())]
        all_won += won[truth] == 3
        if len(leaders) == 2:
            leaders = [winners[list(combinations((1, 4, 7, 9), 2)).index(tuple(leaders))]]
        right += leaders == [truth]
    assert good == pytest.approx(all_won / len(rows.test_y))
    assert voting == pytest.approx(right / len(rows.test_y))
    assert good <= voting <= largest


def test_measures_of_one_network(rows):
    classifier = BaselineClassifier("gd-t", hidden_layers=(6,), node_limit=200, time_limit=None, random_state=0)
    classifier.fit(rows.train_X, rows.train_y)
    good, largest, voting = other_systems.accuracies(classifier, rows)
    outputs, sums = classifier.outputs(rows.test_X), classifier.sums(rows.test_X)
    exactly = [
        [label for label, output in zip((1, 4, 7, 9), row, strict=True) if output == 1] == [truth]
        for row, truth in zip(outputs, rows.test_y, strict=True)
    ]
    assert good == voting == np.mean(exactly)
    assert largest == np.mean([(1, 4, 7, 9)[row.argmax()] for row in sums] == rows.test_y)
    assert 0 < good < 1, "a network for which the measures say something"


@pytest.mark.parametrize(("name", "networks", "outputs"), [("bemi", 6, 1), ("bemi-3", 4, 2), ("bemi-all", 1, 2)])
def test_our_own_systems_differ_in_how_many_classes_a_network_has(rows, name, networks, outputs):
    classifier = made(name, 4, 2.0).set_params(node_limit=2)
    classifier.fit(rows.train_X, rows.train_y)
    assert len(classifier.networks_) == networks
    assert {network.layers[-1] for network in classifier.networks_.values()} == {outputs}


def test_a_system_without_a_network_says_so(rows):
    record = measured("mip-min-weight", rows, 0.01)
    assert record["failure"].startswith("MIP min-weight in 0.01 s: found no network")
    assert "all_good" not in record


def small(names, splits=("per-class-2",)):
    quick = spec.load("exp2", quick=True)
    (grid,) = quick.grids
    return replace(quick, cells=quick.cells[:1], samples=1, grids=(replace(grid, systems=names, splits=splits),))


def test_a_system_that_finds_no_network_is_not_run_on_larger_samples(tmp_path):
    experiment = small(("bemi", "mip-min-weight"), ("per-class-2", "per-class-3"))
    reproduce(experiment, replace(SETTINGS, system_seconds=0.01), tmp_path, n_jobs=1)
    ran = [(record["system"], record["split"]) for record in results.read(tmp_path).systems]
    assert ran == [("bemi", "per-class-2"), ("bemi", "per-class-3"), ("mip-min-weight", "per-class-2")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "exp2"
    reproduce(small(FEW), SETTINGS, folder, n_jobs=1)
    return folder


def test_one_table_with_every_system_and_every_published_number(run):
    read = results.read(run)
    table = system_tables.other_systems(replace(read, settings=read.settings | {"dataset": "mnist"}), GRID)
    records = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    assert [(r["system"], r["start"]) for r in records[:6]] == [
        ("BeMi, m = 2", ""),
        ("MIP max-margin", "as published"),
        ("MIP min-weight", "our start"),
        ("GD_b", "as published"),
        ("Min-Hinge", "as published"),
        ("Min-Hinge", "our start"),
    ]
    by_name = {r["system"]: r for r in records[:4]}
    assert by_name["MIP max-margin"]["remark"] == "no network"
    assert by_name["MIP max-margin"]["all good"] is None
    assert by_name["GD_b"]["largest output"].mean > 30
    assert {r["system"] for r in records if r["by"] == "scikit-learn"} >= {"linear SVM", "1-NN"}
    published = [r for r in records if r["by"] == system_tables.PUBLISHED]
    assert {(r["system"], r["per class"], r["all good"]) for r in published} >= {
        ("HA (Toro Icarte et al. 2019)", 10, 52.64),
        ("MIP (Toro Icarte et al. 2019)", 1, 12.22),
    }
    assert [r["largest output"] for r in published if r["system"].startswith("Min-Hinge")] == [53.9]
    for r in published:
        assert sum(r[heading] is not None for heading in system_tables.MEASURES.values()) == 1, "one measure each"
    assert not any(row[1] == system_tables.PUBLISHED for row in system_tables.other_systems(read, GRID).rows), (
        "digits are not MNIST"
    )


def test_objectives_stand_beside_those_of_the_start(run):
    table = system_tables.objectives(results.read(run), GRID)
    named = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    records = {(r["system"], r["start"]): r for r in named}
    assert set(records) == {
        ("MIP min-weight", "our start"),
        ("GD_b", "as published"),
        ("Min-Hinge", "as published"),
        ("Min-Hinge", "our start"),
    }
    hinge = records["Min-Hinge", "our start"]
    assert (hinge["of start"], hinge["objective"], hinge["bound"], hinge["gap"]) == (0, 0, 0, 0)
    assert hinge["start returned"] == "1 of 1"
    assert hinge["largest, start"] == hinge["largest"]
    alone = records["Min-Hinge", "as published"]
    assert alone["of start"] is alone["all good, start"] is None
    assert alone["objective"] > 0
    links = records["MIP min-weight", "our start"]
    assert links["objective"] < links["of start"]
    assert links["gap"] == pytest.approx(100 * (links["objective"] - links["bound"]) / links["objective"])
    assert links["start returned"] == "0 of 1"
    for record in (hinge, links):
        assert record["all right"].mean == 100


def test_accuracies_of_a_start_are_those_of_its_network(rows):
    record = measured("mip-min-weight-from-start", rows, 3.0)
    start = record["start"]
    assert start["found"]
    assert not start["returned"]
    assert start["links"] > record["links"]
    assert start["objective"] == start["links"]
    assert record["objective"] == record["links"]
    assert 0.25 < start["largest"] <= 1


def test_all_classes_in_one_network_are_all_confident():
    rows = datasets.sample(datasets.load("digits"), 2, 0, seed=3)
    classifier = made("bemi-all", 10, 5.0).set_params(node_limit=5)
    classifier.fit(rows.train_X, rows.train_y)
    (reports,) = classifier.reports_.values()
    assert reports["sm"].objective == 4 * 20
    assert classifier.score(rows.train_X, rows.train_y) == 1


def test_remarks_are_for_some_samples_or_for_all():
    failed, blind, fine = {"failure": "x"}, {"one_answer": True}, {"one_answer": False}
    assert system_tables._remark([fine, fine]) == ""
    assert system_tables._remark([failed, failed]) == "no network"
    assert system_tables._remark([failed, fine, blind]) == "no network (1), one answer (1)"
    returned, without = fine | {"start": {"found": True, "returned": True}}, fine | {"start": {"found": False}}
    assert system_tables._remark([returned, returned]) == "start returned"
    assert system_tables._remark([returned, without]) == "start returned (1), no start (1)"


def test_a_second_run_trains_nothing(run):
    again = reproduce(small(FEW), SETTINGS, run, n_jobs=1)
    assert [visit["models"] for visit in again["visits"]] == [len(FEW), 0]


def test_without_cp_sat_the_rest_is_run(monkeypatch):
    monkeypatch.setattr(solvers, "installed", lambda: ["highs"])
    unable = {name for name, entry in ENTRIES.items() if entry.lacking is not None}
    needing = {name for name, system in SYSTEMS.items() if system.needs_cp}
    assert unable == needing | {f"{name}-from-start" for name in needing - {"ha-by-class"}}
    (line,) = subjects.remarks(spec.load("exp2"))
    assert line == "left out: systems that need cpsat; install it with: pip install 'bemi[cpsat]'"


def test_results_are_plain_files(run):
    record = json.loads((run / "results" / "gd-b_digits_per-class-2_sample0.json").read_text())
    assert record["steps"][0]["stage"] == "squared-hinge"
    assert record["links"] > 0
