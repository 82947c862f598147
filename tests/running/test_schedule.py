"""Tasks, their keys, and running only what is missing."""

from dataclasses import replace

import numpy as np
import pytest

from bemi import BeMiClassifier
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.running import Journal, run, schedule
from bemi.training import Task, Variants
from bemi.training import plan as task_module


def trained_of(results):
    return {index: training for index, training, _ in results}


def tasks(count=4):
    rng = np.random.default_rng(0)
    codes = np.repeat([[1], [-1]], 3, axis=0)
    limits = Limits(nodes=20, seed=1)
    return [
        Task(
            Problem(rng.integers(0, 20, (6, 5)), codes, (2,), 1),
            ("sm", "mm"),
            "decomposition",
            "highs",
            None,
            0.0,
            limits,
        )
        for _ in range(count)
    ]


def test_a_key_depends_on_everything_that_decides_the_result():
    (task,) = tasks(1)
    data = task.problem.data.copy()
    data[0, 0] += 1
    other = [
        replace(task, problem=replace(task.problem, data=data)),
        replace(task, problem=replace(task.problem, data=task.problem.data.reshape(6, 5)[::-1])),
        replace(task, problem=replace(task.problem, codes=-task.problem.codes)),
        replace(task, problem=replace(task.problem, hidden_layers=(3,))),
        replace(task, problem=replace(task.problem, weight_bound=2)),
        replace(task, stages=("sm",)),
        replace(task, engine="monolithic"),
        replace(task, time_limit=5.0),
        replace(task, time_limit=(5.0, 5.0)),
        *(replace(task, variants=Variants(rows, task.problem.codes)) for rows in (task.problem.data, data)),
        replace(task, variants=Variants(data, -task.problem.codes)),
        *(replace(task, limits=replace(task.limits, **c)) for c in ({"nodes": 21}, {"seed": 2})),
        *(replace(task, gap=gap) for gap in (0.5, None)),
        replace(task, variants=Variants(data.reshape(3, 10), task.problem.codes)),
        *(replace(task, total_time_limit=seconds) for seconds in (5.0, 6.0)),
        *(replace(task, stages=("soft", "mw"), parameters=p) for p in ({}, {"C": 2.0}, {"mw_loss": 0.5})),
    ]
    keys = {t.key() for t in [task, *other]}
    assert len(keys) == 1 + len(other)
    assert tasks(1)[0].key() == task.key()


def test_a_key_names_the_solver_and_its_version(monkeypatch):
    (task,) = tasks(1)
    before = task.key()
    monkeypatch.setattr(task_module, "_versions", lambda solver: ("0", "another"))
    assert len({before, task.key(), replace(task, solver="scip").key()}) == 3


def test_a_budget_is_shared_out_over_those_to_come_and_those_at_once(monkeypatch):
    handed = {}
    monkeypatch.setattr(schedule, "results", lambda call, arguments, *_: handed.update(a=arguments) or ())
    list(run([replace(tasks(1)[0], total_time_limit=1000.0)]))
    shares = {(to_come, at_once): handed["a"](0, to_come, at_once)[0] for to_come in (10, 9, 1) for at_once in (1, 2)}
    expected = {(10, 1): 100, (10, 2): 200, (9, 1): 1000 / 9, (9, 2): 200, (1, 1): 1000, (1, 2): 1000}
    assert shares == pytest.approx(expected, rel=0.05)


def test_results_are_the_same_in_one_process_and_in_two():
    alone = trained_of(run(tasks(), n_jobs=1))
    together = trained_of(run(tasks(), n_jobs=2))
    assert alone.keys() == together.keys() == set(range(4))
    for index in alone:
        assert alone[index].network == together[index].network


def test_only_what_is_missing_is_trained(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    first = trained_of(run(tasks(2), journal=journal))
    trained = []
    original = Task.run
    monkeypatch.setattr(Task, "run", lambda task, seconds: trained.append(task) or original(task, seconds))
    second = trained_of(run(tasks(4), n_jobs=1, journal=journal))
    assert len(trained) == 2
    assert all(second[index].network == first[index].network for index in first)
    journal.path(tasks()[3].key()).write_bytes(b"damaged")
    trained.clear()
    with pytest.warns(RuntimeWarning, match="damaged"):
        third = trained_of(run(tasks(4), n_jobs=1, journal=journal))
    assert len(trained) == 1
    assert third[3].network == second[3].network


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_interrupted_fit_goes_on_where_it_was(tmp_path, monkeypatch, in_loop):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 20, (16, 6)), np.repeat(np.arange(4), 4)
    settings = {"hidden_layers": (2,), "node_limit": 20, "time_limit": None, "n_jobs": 1}
    whole = BeMiClassifier(**settings).fit(X, y)
    trained = []
    original = Task.run

    def interrupted(task, seconds):
        if len(trained) == 4:
            if in_loop:  # as Numba's compiled code does
                raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
            raise KeyboardInterrupt
        trained.append(task)
        return original(task, seconds)

    monkeypatch.setattr(Task, "run", interrupted)
    classifier = BeMiClassifier(**settings, run_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, y)
    assert len(list(tmp_path.iterdir())) >= 3, "at most the network that was being handed over is lost"
    trained.clear()
    classifier.fit(X, y)
    assert len(trained) <= 3
    assert classifier.networks_ == whole.networks_
    assert list(classifier.networks_) == list(whole.networks_)


def test_planning_changes_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 20, (8, 6)), np.repeat(["a", "b"], 4)
    classifier = BeMiClassifier()
    planned = classifier.training_tasks(X, y)
    assert list(planned) == [("a", "b")]
    assert planned["a", "b"].problem.layers == (6, 4, 4, 1)
    assert not hasattr(classifier, "classes_")
