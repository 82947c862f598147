"""Whole classifiers: fitting on two cores, predicting beside a linear SVM, very many networks, and very many rows."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from bemi import save, verify
from bemi.exact import Integers
from bemi.report.summary import evaluation, training_summary
from bemi.running.calls import results
from bemi.running.pools import Processes
from bemi.running.schedule import Journal
from bemi.training.pipeline import Training
from bemi_lab import classifiers
from bemi_lab.benchmarks.frame import Benchmark, Column, Record, Settings, integer, mean, share, table
from bemi_lab.benchmarks.problems import TEST_IMAGES, Cell, peak_megabytes, sample, stage_record, unseen_images
from bemi_lab.experiments import spec
from bemi_lab.experiments.on_images import timed
from bemi_lab.experiments.table import Table

# A whole classifier with its default settings.

JOBS = 2
PAPER = {
    Cell("mnist", cell.hidden_layers, cell.per_class): values["accuracy"]
    for cell, values in spec.load("exp3a").paper.values.items()
    if cell.per_class in (10, 40)
}
"""Images that the paper classifies correctly, in %."""


def _fitting(cell: Cell, seed: int, settings: Settings) -> Iterator[Record]:
    """One record per network and one per classifier, which alone has an ``accuracy``."""
    X, y = sample(cell.data, cell.shots, seed)
    test_X, test_y = unseen_images(cell.data, cell.shots, seed)
    classifier = classifiers.paper(**settings.limits, n_jobs=JOBS)
    # Fresh workers: a peak must not be an earlier fit's.
    Processes.close()
    began = time.perf_counter()
    classifier.fit(X, y)
    wall = time.perf_counter() - began
    # Idle workers stay alive for a while after the fit, so their peaks can still be read.
    memory = max(map(peak_megabytes, _children()))
    for (a, b), reports in classifier.reports_.items():
        yield {"pair": f"{a}/{b}"} | {stage: stage_record(report) for stage, report in reports.items()}
    summary = training_summary(classifier.ensemble_)
    result = evaluation(classifier.ensemble_, test_X, test_y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bemi"
        save(classifier, path)
        checked = verify(path)
    yield {
        "wall": wall,
        "worker_peak_mb": memory,
        "mean_gap": summary["stages"]["mm"]["mean_gap"],
        "max_gap": summary["stages"]["mm"]["max_gap"],
        "links": summary["mean_links"] / summary["total_links"],
        **{name: result[name] for name in ("paper_accuracy", "unclassified", "accuracy")},
        "paper": PAPER[cell],
        "certificate_kb": checked.bytes / 1000,
        "verified_seconds": checked.seconds,
        "certified": dict(checked.certified),
    }


def _children() -> list[int]:
    """Living processes that this one started."""
    return [child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]


def _ensemble(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"cell": "cell", "seed": "seed", "wall s": "wall", "peak RSS of a worker MB": integer("worker_peak_mb")},
        **{"MM gap mean %": share("mean_gap"), "max %": share("max_gap"), "links %": share("links")},
        "accuracy %, paper's rule": share("paper_accuracy"),
        "unclassified %": share("unclassified"),
        "paper's accuracy %": "paper",
        "accuracy % with margin ties": share("accuracy"),
        "certificate kB": integer("certificate_kb"),
        "verified in s": "verified_seconds",
    }
    note = (
        f"Default settings but for engine and seconds as above, n_jobs={JOBS}; tested on the first {TEST_IMAGES} test "
        "images of each class."
    )
    yield table([r for r in records if "accuracy" in r], ["cell", "seed"], columns, note, digits=3)


# Seconds of predict.

PREDICTIONS = 9
PREDICTED = [Cell("mnist", (4, 4), 10), Cell("mnist", (4, 4), 40)]
SVM = 'SVC(kernel="linear")'


def _predicting(cell: Cell, seed: int, settings: Settings) -> Iterator[Record]:
    X, y = sample(cell.data, cell.shots, seed)
    test_X, test_y = unseen_images(cell.data, cell.shots, seed)
    models: dict[str, Any] = {
        "BeMiClassifier": classifiers.paper(**settings.limits),
        "FewBitClassifier": classifiers.few_bit(X, **settings.limits),
        SVM: SVC(kernel="linear"),
    }
    for classifier in models.values():
        classifier.fit(X, y)
    wall: dict[str, list[float]] = {name: [] for name in models}
    cpu: dict[str, list[float]] = {name: [] for name in models}
    # The process has one core, which more threads would only share.
    with threadpool_limits(1):
        accuracy = {name: float(np.mean(c.predict(test_X) == test_y)) for name, c in models.items()}
        # In turn, so that all of them meet the same other work.
        for _ in range(PREDICTIONS):
            for name, classifier in models.items():
                began, began_cpu = time.perf_counter(), time.process_time()
                classifier.predict(test_X)
                wall[name].append(time.perf_counter() - began)
                cpu[name].append(time.process_time() - began_cpu)
    for name in models:
        yield {"system": name, "wall": min(wall[name]), "cpu": min(cpu[name]), "accuracy": accuracy[name]}


def _predict(records: Sequence[Record]) -> Iterator[Table]:
    svm = {(r["cell"], r["seed"]): r["cpu"] for r in records if r["system"] == SVM}
    columns: dict[str, Column] = {
        **{"cell": "cell", "seed": "seed", "system": "system"},
        "CPU ms": lambda rs: 1000 * rs[0]["cpu"],
        "wall ms": lambda rs: 1000 * rs[0]["wall"],
        "times as fast as the SVM": lambda rs: svm[rs[0]["cell"], rs[0]["seed"]] / rs[0]["cpu"],
        "accuracy %": share("accuracy"),
    }
    note = (
        f"Milliseconds for the first {TEST_IMAGES} test images of each class, the best of {PREDICTIONS} repeats, taken "
        "in turn in the same process with one thread."
    )
    yield table(records, ["cell", "seed", "system"], columns, note)


# Many networks: processes, budgets, dispatch and journal, and 4,950 of them.

NODES = (200, 1000)
CLASSES, ROWS, FEATURES = 100, 5, 64
BUDGETS = (3.0, 8.0)
SHORT_BUDGET = 20.0
"""For very many networks, a small part of the time that they would take."""
REPEATS = 3
MEGABYTE = 2**20


@dataclass(frozen=True)
class Part:
    """A measurement of many networks, for a seed."""

    name: str
    measure: Callable[[int], Iterator[Record]]


def _images(seed: int) -> tuple[Integers, Integers]:
    X, y = sample("mnist", 10, seed)
    classifiers.paper(node_limit=1, time_limit=None).fit(X[:20], y[:20])  # compiled loops are ready
    return X, y


def _processes(seed: int) -> Iterator[Record]:
    for nodes in NODES:
        for _ in range(REPEATS):
            yield {"nodes": nodes} | _two_processes(*_images(seed), nodes)


def _budgets(seed: int) -> Iterator[Record]:
    for budget in BUDGETS:
        yield _budget(*_images(seed), budget)
    yield _budget(*_many_classes(CLASSES, seed), SHORT_BUDGET)


def _two_processes(X: Integers, y: Integers, nodes: int) -> Record:
    """The same ensemble by one process, by two that have to start first, and by the same two again."""
    Processes.close()
    taken, content = [], []
    for jobs in (1, 2, 2):
        began = time.perf_counter()
        classifier = classifiers.paper(node_limit=nodes, time_limit=None, n_jobs=jobs).fit(X, y)
        taken.append(time.perf_counter() - began)
        with tempfile.TemporaryDirectory() as folder:
            save(classifier, Path(folder) / "m.bemi")
            content.append((Path(folder) / "m.bemi").read_bytes())
    one, two, again = taken
    return {"one": one, "two": two, "again": again, "same_bytes": content[0] == content[1] == content[2]}


def _budget(X: Integers, y: Integers, budget: float) -> Record:
    """Seconds that an ensemble takes with a budget for all of its networks together."""
    began = time.perf_counter()
    classifier = classifiers.paper(total_time_limit=budget, gap=0.0, n_jobs=2).fit(X, y)
    return {"networks": len(classifier.networks_), "budget": budget, "wall": time.perf_counter() - began}


def _many_classes(classes: int, seed: int) -> tuple[Integers, Integers]:
    """Rows around random centres."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.integers(0, 256, (classes, FEATURES)), ROWS, axis=0)
    return np.clip(centres + rng.integers(-30, 31, centres.shape), 0, 255), np.repeat(np.arange(classes), ROWS)


def _overhead(X: Integers, y: Integers) -> Record:
    """Milliseconds per network for its key, and for sending it to a process, back, and to disk."""
    tasks = list(classifiers.paper().training_tasks(X, y).values())
    training = tasks[0].run()

    def arguments(index: int, *_: int) -> tuple[Any, ...]:
        return tasks[index], training

    list(results(_handed_back, arguments, range(4), 2))
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder)
        began = time.perf_counter()
        keys = [task.key() for task in tasks]
        named = time.perf_counter()
        for index, found in results(_handed_back, arguments, range(len(tasks)), 2):
            journal.write(keys[index], found)
        ended = time.perf_counter()
    each = 1000 / len(tasks)
    return {"networks": len(tasks), "key_ms": each * (named - began), "dispatch_ms": each * (ended - named)}


def _handed_back(_: Any, training: Training) -> Training:
    return training


def _many(X: Integers, y: Integers) -> Record:
    """Seconds and memory for very many networks with a run folder."""
    process, seen = psutil.Process(os.getpid()), []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(2.0):
            children = [child.memory_info().rss for child in process.children(recursive=True)]
            seen.append((process.memory_info().rss / MEGABYTE, max(children, default=0) / MEGABYTE))

    threading.Thread(target=watch, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        classifier = classifiers.paper(n_jobs=2, run_dir=folder).fit(X, y)
        wall = time.perf_counter() - began
    ended.set()
    parent, workers = zip(*seen, strict=True)
    # The first seconds, in which modules and compiled loops are still loaded, tell nothing.
    begin = min(len(parent) // 10, len(parent) - 1)
    return {
        "networks": len(classifier.networks_),
        "wall": wall,
        "parent_mb": parent[begin],
        "parent_mb_in_the_end": parent[-1],
        "worker_peak_mb": max(workers),
    }


PARTS = [
    Part("two processes", _processes),
    Part("budget", _budgets),
    Part("overhead", lambda seed: iter([_overhead(*_many_classes(30, seed))])),
    Part("many classes", lambda seed: iter([_many(*_many_classes(CLASSES, seed))])),
]


def _fractions(field: str) -> Column:
    """Of the seconds of one process, in each repetition."""
    return lambda records: ", ".join(f"{r[field] / r['one']:.2f}" for r in records) if field in records[0] else None


def _scaling(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"what": "cell", "seed": "seed", "node limit": "nodes", "one process, seconds": mean("one")},
        "two processes including start-up, as a fraction": _fractions("two"),
        "two running processes, as a fraction": _fractions("again"),
        "same bytes": lambda rs: all(r["same_bytes"] for r in rs) if "same_bytes" in rs[0] else None,
        **{"budget, seconds": "budget", "networks": "networks", "wall s": "wall"},
        **{"name of a network, ms": "key_ms", "its dispatch, ms": "dispatch_ms"},
        **{"parent MB": "parent_mb", "in the end": "parent_mb_in_the_end", "worker MB at most": "worker_peak_mb"},
    }
    note = (
        "Two processes: 45 networks of MNIST, 10 per class, with a node limit; processes have to start first. "
        "Budget: total_time_limit for these networks and for those of many classes, gap=0. "
        f"Many classes: {CLASSES} classes of {ROWS} rows with {FEATURES} features."
    )
    yield table(records, ["cell", "seed", "nodes", "networks", "budget"], columns, note)


# Tables of many rows.

COLUMNS, TESTED = 30, 20_000
BESIDE: dict[str, Callable[[], Any]] = {
    "linear SVM": lambda: make_pipeline(StandardScaler(), LinearSVC(dual=False)),
    "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


@dataclass(frozen=True)
class ManyRows:
    """A table of so many rows."""

    count: int

    @property
    def name(self) -> str:
        return f"{self.count:,} rows"


def _table(rows: int, seed: int) -> tuple[NDArray[np.float32], Integers]:
    """Two classes of four clusters each, told apart by ten columns and five that depend on these; 2 % wrong labels."""
    numbers = {"n_informative": 10, "n_redundant": 5, "n_clusters_per_class": 4, "flip_y": 0.02}
    X, y = make_classification(rows, COLUMNS, **numbers, random_state=seed)
    return X.astype(np.float32), y


def _beside(cell: ManyRows, seed: int, settings: Settings) -> Iterator[Record]:
    """Every system in a fresh process, whose peak of memory is its own."""
    for system in ("FewBitClassifier", *BESIDE):
        with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as alone:
            yield {"system": system} | alone.submit(_on_table, system, cell.count, seed, settings.seconds).result()


def _on_table(system: str, rows: int, seed: int, seconds: float) -> Record:
    X, y = _table(rows + TESTED, seed)
    ours = system not in BESIDE
    model = classifiers.few_bit(X[:rows], time_limit=seconds, n_jobs=1) if ours else BESIDE[system]()
    with threadpool_limits(1):
        model, spent = timed(lambda: model.fit(X[:rows], y[:rows]))
        accuracy = float(model.score(X[rows:], y[rows:]))
    record = {"wall": spent.wall, "cpu": spent.cpu, "peak_mb": peak_megabytes(), "accuracy": accuracy}
    if not ours:
        return record
    ((report,),) = (reports.values() for reports in model.reports_.values())
    return record | {"gap": report.gap, "inputs": model.ensemble_.inputs.size, "chosen": model.choice_.name}


def _many_rows(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"table": "cell", "system": "system", "seed": "seed", "CPU s": "cpu", "peak RSS MB": integer("peak_mb")},
        **{"accuracy %": share("accuracy"), "gap %": share("gap"), "inputs": "inputs", "chosen": "chosen"},
    }
    note = (
        f"{COLUMNS} columns of single precision in two classes; tested on {TESTED:,} other rows. The peak includes "
        "Python, its libraries and making the rows. Choosing settings is included in the seconds."
    )
    yield table(records, ["cell", "system", "seed"], columns, note)


BENCHMARKS = {
    "ensemble": Benchmark(list(PAPER), _fitting, _ensemble, all_cores=True),
    "predict": Benchmark(PREDICTED, _predicting, _predict),
    "rows": Benchmark([ManyRows(10**digits) for digits in (4, 5, 6)], _beside, _many_rows),
    "scaling": Benchmark(PARTS, lambda part, seed, settings: part.measure(seed), _scaling, all_cores=True),
}
