"""Workers that die, clusters that vanish, and what is left of the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import psutil
import pytest
from calls_of_workers import Counted, die, double, fail_or_wait, received, thread_limit
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from bemi import BeMiClassifier
from bemi.running import ATTEMPTS, ClusterLost, Lost, NetworksFailed, Processes, dask, results
from bemi.running.dask import Cluster
from bemi.training import Plan, Task

SETTINGS = {"hidden_layers": (2,), "node_limit": 30, "time_limit": None}


def rows(classes=6, per_class=4, features=12, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 60, (classes, features))
    X = np.repeat(centres, per_class, axis=0) + rng.integers(-9, 10, (classes * per_class, features))
    return np.maximum(X, 0), np.repeat(np.arange(classes), per_class)


@pytest.fixture(scope="module")
def undisturbed():
    return BeMiClassifier(**SETTINGS, n_jobs=1).fit(*rows()).networks_


def alone(number, to_come, at_once):
    return (number,)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_result_comes_once_with_its_number(n_jobs):
    assert sorted(results(double, alone, range(10, 20), n_jobs)) == [(n, 2 * n) for n in range(10, 20)]


def test_arguments_are_made_when_they_are_needed():
    seen = []

    def arguments(number, to_come, at_once):
        seen.append((number, to_come, at_once))
        return (number,)

    found = results(double, arguments, range(8), 2)
    next(found)
    assert len(seen) <= 4, "two under way, and those that follow the finished ones"
    assert len(list(found)) == 7
    assert seen == [(n, 8 - n, 2) for n in range(8)]


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_threads_and_other_backends_work_too(backend):
    with joblib.parallel_config(backend):
        assert sorted(results(double, alone, range(5), 2)) == [(n, 2 * n) for n in range(5)]


def test_a_death_costs_one_call_and_no_other(tmp_path):
    found = dict(results(die, lambda number, *_: (number, tmp_path), range(10), 2))
    assert isinstance(found.pop(3), Lost)
    assert found == {n: 2 * n for n in range(10) if n != 3}
    tries = {int(path.name): len(list(path.iterdir())) for path in tmp_path.iterdir()}
    assert tries == {n: {3: ATTEMPTS, 5: 2}.get(n, 1) for n in range(10)}


def test_errors_of_a_call_are_errors():
    with pytest.raises(TypeError):
        list(results(double, lambda *_: (None,), [1], 2))


def test_after_an_error_the_next_calls_find_good_workers(capfd):
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            list(results(fail_or_wait, alone, range(4), 2))
        assert sorted(results(double, alone, range(4), 2)) == [(n, 2 * n) for n in range(4)]
    assert "Traceback" not in capfd.readouterr().err


def test_a_caller_that_gives_up_leaves_good_workers(capfd):
    for _ in range(3):
        next(results(double, alone, range(6), 2))
    assert sorted(results(double, alone, range(4), 2)) == [(n, 2 * n) for n in range(4)]
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_workers_of_its_own():
    list(results(double, alone, range(4), 2))
    child = os.fork()
    if child == 0:
        found = sorted(results(double, alone, range(4), 2))
        Processes.close()
        os._exit(found != [(n, 2 * n) for n in range(4)])
    for _ in range(300):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked process waits for workers of its parent")
    assert status == 0


def test_a_worker_that_died_while_idle_is_replaced():
    list(results(double, alone, range(4), 2))
    for child in worker_processes():
        child.kill()
    assert sorted(results(double, alone, range(4), 2)) == [(n, 2 * n) for n in range(4)]


def worker_processes():
    """Processes that train, not the one that watches over shared memory."""
    return [p for p in psutil.Process().children(recursive=True) if "resource_tracker" not in " ".join(p.cmdline())]


class Killer(threading.Thread):
    """Kills a random worker from time to time."""

    def __init__(self, find, kills, pause, seed):
        super().__init__(daemon=True)
        self.find, self.kills, self.pause = find, kills, pause
        self.rng = np.random.default_rng(seed)
        self.killed = 0
        self.stopped = threading.Event()

    def run(self):
        while self.killed < self.kills and not self.stopped.wait(self.pause * (0.5 + self.rng.random())):
            found = self.find()
            if found:
                try:
                    found[self.rng.integers(len(found))].kill()
                    self.killed += 1
                except psutil.NoSuchProcess:
                    pass

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


def test_killed_workers_lose_nothing(undisturbed, tmp_path, killed_once):
    classifier = BeMiClassifier(**SETTINGS, n_jobs=2, run_dir=tmp_path).fit(*rows())
    assert classifier.networks_ == undisturbed
    assert len(list(tmp_path.iterdir())) == len(undisturbed), "one file per network"
    assert {path.name for path in killed_once.iterdir()} == {"0-1", "2-4"}


def test_a_network_that_always_kills_its_worker_is_named_and_the_rest_is_kept(monkeypatch, undisturbed):
    classifier = BeMiClassifier(**SETTINGS, n_jobs=2)
    monkeypatch.setattr("bemi.estimators.base.Plan", DeadlyPlan)
    with pytest.raises(NetworksFailed, match=r"the workers that trained 1/2 died 3 times; .* run_dir='") as caught:
        classifier.fit(*rows())
    monkeypatch.undo()
    again = BeMiClassifier(**SETTINGS, run_dir=caught.value.folder).fit(*rows())
    assert again.reused_networks_ == len(undisturbed) - 1
    assert again.networks_ == undisturbed


@dataclass(frozen=True, eq=False)
class OnceDeadlyTask(Task):
    """Kills its worker when it runs for the first time, which an empty file remembers."""

    mark: Path = Path()

    def run(self, seconds=None):
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(seconds)


@dataclass(frozen=True, eq=False)
class OnceDeadlyPlan(Plan):
    folder: Path = Path()

    def __getitem__(self, index):
        task, (a, b) = super().__getitem__(index), self.keys[index]
        return OnceDeadlyTask(**vars(task), mark=self.folder / f"{a}-{b}") if (a, b) in ((0, 1), (2, 4)) else task


@pytest.fixture
def killed_once(monkeypatch, tmp_path_factory):
    """The folder with the marks of two networks whose workers die once."""
    folder = tmp_path_factory.mktemp("killed")
    monkeypatch.setattr("bemi.estimators.base.Plan", partial(OnceDeadlyPlan, folder=folder))
    return folder


class DeadlyTask(Task):
    def run(self, seconds=None):
        os.kill(os.getpid(), signal.SIGKILL)


class DeadlyPlan(Plan):
    def __getitem__(self, index):
        task = super().__getitem__(index)
        return DeadlyTask(**vars(task)) if self.keys[index] == (1, 2) else task


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from test_calls import SETTINGS, rows
from bemi import BeMiClassifier
if __name__ == "__main__":
    BeMiClassifier(**SETTINGS, n_jobs=2, run_dir=sys.argv[1]).fit(*rows({classes}))
"""


def killed_parent(folder, script, wait_for):
    """Start a fit, wait until that many networks are there, and kill the parent."""
    process = subprocess.Popen([sys.executable, script, folder], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if len([path for path in folder.glob("*.json.gz") if not path.name.startswith(".")]) >= wait_for:
            break
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.kill()
    process.wait()
    return children


def test_a_killed_parent_loses_no_finished_network(tmp_path):
    folder, script = tmp_path / "run", tmp_path / "fit.py"
    folder.mkdir()
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), classes=9))
    children = killed_parent(folder, script, wait_for=3)
    there = {path.name for path in folder.glob("*.json.gz")}
    assert there
    classifier = BeMiClassifier(**SETTINGS, n_jobs=1, run_dir=folder).fit(*rows(9))
    assert classifier.reused_networks_ >= len(there)
    assert classifier.networks_ == BeMiClassifier(**SETTINGS, n_jobs=1).fit(*rows(9)).networks_
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive, "workers end when their parent is gone"


@pytest.mark.slow
def test_two_hundred_kills_over_twenty_fits(tmp_path):
    data = rows(10, 5, 20)
    expected = BeMiClassifier(**SETTINGS, n_jobs=1).fit(*data).networks_
    killed = fits = 0
    while killed < 200 or fits < 20:
        folder = tmp_path / str(fits)
        with Killer(worker_processes, kills=15, pause=0.4, seed=fits) as killer:
            try:
                classifier = BeMiClassifier(**SETTINGS, n_jobs=2, run_dir=folder).fit(*data)
            except NetworksFailed:
                # A network may be hit three times; then it is named, and the next fit trains it.
                killer.stopped.set()
                classifier = BeMiClassifier(**SETTINGS, n_jobs=2, run_dir=folder).fit(*data)
        killed += killer.killed
        fits += 1
        assert classifier.networks_ == expected
        assert len(list(folder.iterdir())) == len(expected)
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), classes=10))
    (tmp_path / "parents").mkdir()
    for attempt in range(10):
        killed_parent(tmp_path / "parents", script, wait_for=4 * (attempt + 1))
    classifier = BeMiClassifier(**SETTINGS, n_jobs=1, run_dir=tmp_path / "parents").fit(*rows(10))
    assert classifier.networks_ == BeMiClassifier(**SETTINGS, n_jobs=1).fit(*rows(10)).networks_


# Dask, on loopback.


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    with (
        # A worker that happens to be dead so long after a death is given up for good, even if it was back in between.
        # The scheduler's own attempts, four of them for each of ours, cost the start of a worker each.
        dask.config.set(
            {"distributed.deploy.lost-worker-timeout": "1 hour", "distributed.scheduler.allowed-failures": 1}
        ),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs="CRITICAL",
        ) as made,
    ):
        yield made


def dask_workers(cluster):
    """Processes that the scheduler knows: whoever dies before that is given up by the one that watches over it."""
    known = cluster.scheduler.workers
    return [psutil.Process(w.pid) for w in cluster.workers.values() if w.pid and w.worker_address in known]


def test_a_cluster_without_workers_counts_as_lost(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
        ) as empty,
        empty.get_client() as client,
    ):
        pool = Cluster(client)
        pool.check()
        monkeypatch.setattr(dask, "NO_WORKERS_SECONDS", -1)  # as if that much time had passed
        with pytest.raises(ClusterLost, match="the cluster has had no worker for"):
            pool.check()


def test_a_cluster_gives_the_same_networks(cluster, undisturbed, tmp_path):
    with cluster.get_client() as client, joblib.parallel_config("dask", client=client):
        classifier = BeMiClassifier(**SETTINGS, run_dir=tmp_path).fit(*rows())
    assert classifier.networks_ == undisturbed
    assert len(list(tmp_path.iterdir())) == len(undisturbed)


def test_a_cluster_with_killed_workers_loses_nothing(cluster, undisturbed, tmp_path, killed_once):
    with cluster.get_client() as client, joblib.parallel_config("dask", client=client):
        classifier = BeMiClassifier(**SETTINGS, run_dir=tmp_path).fit(*rows())
    assert classifier.networks_ == undisturbed
    assert len(list(tmp_path.iterdir())) == len(undisturbed)
    assert {path.name for path in killed_once.iterdir()} == {"0-1", "2-4"}


@pytest.mark.parametrize("deadly", [False, True])
def test_a_cluster_is_sent_all_items_once(cluster, tmp_path, deadly):
    items = Counted(tmp_path if deadly else None)
    with cluster.get_client() as client, joblib.parallel_config("dask", client=client):
        found = dict(results(received, lambda *_: (), range(12), None, items))
    assert items.sent == [os.getpid()]
    assert {number: item for number, (item, _) in found.items()} == {n: 10 * n for n in range(12)}
    assert {times for _, times in found.values()} == {1}, "each worker got them once"
    assert len(list(tmp_path.iterdir())) == deadly


@pytest.mark.parametrize("classes", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_a_cluster_gives_up_the_network_that_kills_its_workers_and_no_other(cluster, classes, monkeypatch):
    monkeypatch.setattr("bemi.estimators.base.Plan", DeadlyPlan)
    with (
        cluster.get_client() as client,
        joblib.parallel_config("dask", client=client),
        pytest.raises(NetworksFailed) as caught,
    ):
        BeMiClassifier(**SETTINGS).fit(*rows(classes))
    assert caught.value.failed == [(1, 2)]
    monkeypatch.undo()
    again = BeMiClassifier(**SETTINGS, run_dir=caught.value.folder).fit(*rows(classes))
    assert again.reused_networks_ == classes * (classes - 1) // 2 - 1


def started_scheduler(folder):
    """A scheduler and two workers as processes of their own, and the scheduler's address."""
    file = folder / "scheduler.json"
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]

    def start(*arguments):
        command = [sys.executable, "-m", *arguments, *common]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    scheduler = start("distributed.cli.dask_scheduler", "--port", "0")
    while not file.exists():
        time.sleep(0.1)
        assert scheduler.poll() is None
    worker = ("distributed.cli.dask_worker", "--nthreads", "1", "--local-directory", str(folder))
    workers = [start(*worker) for _ in range(2)]
    return scheduler, workers, file


def test_a_lost_scheduler_loses_no_finished_network(undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    (tmp_path / "dask").mkdir()
    scheduler, workers, file = started_scheduler(tmp_path / "dask")
    folder = tmp_path / "run"
    try:
        client = distributed.Client(scheduler_file=str(file))
        client.wait_for_workers(2, timeout=120)

        def kill_after_three():
            while len(list(folder.glob("*.json.gz"))) < 3:
                time.sleep(0.01)
            scheduler.kill()

        threading.Thread(target=kill_after_three, daemon=True).start()
        with joblib.parallel_config("dask", client=client), pytest.raises(ClusterLost, match="networks are finished"):
            BeMiClassifier(**SETTINGS, run_dir=folder).fit(*rows(9))
        pool = Cluster(client)
        for ask in (lambda: pool.size, pool.check, lambda: pool.submit(time.sleep, 0)):
            with pytest.raises(ClusterLost, match="connection to the cluster was lost"):
                ask()
        closed = distributed.comm.core.CommClosedError("stream is closed")
        assert pool._is_disconnection(closed)
        assert not pool._is_disconnection(ValueError("of the call"))
        client.close(timeout=1)
    finally:
        for process in (scheduler, *workers):
            process.kill()
            process.wait()
    there = len(list(folder.glob("*.json.gz")))
    assert there >= 3
    assert BeMiClassifier(**SETTINGS, run_dir=folder).fit(*rows(9)).reused_networks_ == there


@pytest.mark.slow
def test_two_hundred_kills_on_a_cluster(cluster, tmp_path):
    data = rows(10, 5, 20)
    expected = BeMiClassifier(**SETTINGS, n_jobs=1).fit(*data).networks_

    killed = fits = 0
    while killed < 200 or fits < 20:
        folder = tmp_path / str(fits)
        with (
            cluster.get_client() as client,
            joblib.parallel_config("dask", client=client),
            Killer(partial(dask_workers, cluster), kills=10, pause=1.0, seed=fits) as killer,
        ):
            for _ in range(5):
                try:
                    classifier = BeMiClassifier(**SETTINGS, run_dir=folder).fit(*data)
                    break
                except NetworksFailed:
                    continue
        killed += killer.killed
        fits += 1
        assert classifier.networks_ == expected
        assert len(list(folder.iterdir())) == len(expected)


def test_a_process_that_dies_before_it_gets_its_call_is_replaced(monkeypatch):
    original, died = ProcessPoolExecutor.submit, []

    def submit(executor, call, *arguments):
        if call is double and not died:
            died.append(call)
            raise BrokenProcessPool("between being ready and being given the call")
        return original(executor, call, *arguments)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    found: list = []
    waiting = threading.Thread(target=lambda: found.extend(results(double, alone, range(4), 2)), daemon=True)
    waiting.start()
    waiting.join(60)
    assert sorted(found) == [(n, 2 * n) for n in range(4)]
    assert died


def test_every_process_has_one_thread():
    assert dict(results(thread_limit, alone, range(2), 2)) == {0: "1", 1: "1"}
