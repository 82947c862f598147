"""Whole classifiers: fitting on two cores, predicting beside a linear SVM, and very many networks."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bemi import save, verify
from bemi.exact import Integers
from bemi.report.summary import evaluation, training_summary
from bemi.running.calls import results
from bemi.running.pools import Processes
from bemi.running.schedule import Journal
from bemi.training.pipeline import Training
from bemi_lab import classifiers
from bemi_lab.benchmarks.common import (
    TEST_IMAGES,
    Benchmark,
    Cell,
    Record,
    Settings,
    peak_megabytes,
    percent,
    sample,
    stage_record,
    unseen_images,
)
from bemi_lab.experiments import spec
from bemi_lab.experiments.table import markdown

# A whole classifier with its default settings.

JOBS = 2
PAPER = {
    Cell("mnist", cell.hidden_layers, cell.per_class): values["accuracy"]
    for cell, values in spec.load("exp3a").paper.values.items()
    if cell.per_class in (10, 40)
}
"""Images that the paper classifies correctly, in %."""


def _fitting(settings: Settings) -> Iterator[Record]:
    """One record per network and one per classifier, which alone has an ``accuracy``."""
    for cell, seed, head in settings.chosen(PAPER):
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
            stages = {stage: stage_record(report) for stage, report in reports.items()}
            yield head | {"pair": f"{a}/{b}"} | stages
        summary = training_summary(classifier.ensemble_)
        result = evaluation(classifier.ensemble_, test_X, test_y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.bemi"
            save(classifier, path)
            checked = verify(path)
        yield head | {
            "wall": wall,
            "worker_peak_mb": memory,
            "mean_gap": summary["stages"]["mm"]["mean_gap"],
            "max_gap": summary["stages"]["mm"]["max_gap"],
            "links": summary["mean_links"] / summary["total_links"],
            "test_rows": result["rows"],
            "paper_accuracy": result["paper_accuracy"],
            "unclassified": result["unclassified"],
            "accuracy": result["accuracy"],
            "certificate_bytes": checked.bytes,
            "verified_seconds": checked.seconds,
            "certified": dict(checked.certified),
        }


def _children() -> list[int]:
    """Living processes that this one started."""
    return [child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]


def _ensemble_report(records: Sequence[Record]) -> str:
    paper = {cell.name: value for cell, value in PAPER.items()}
    rows = [
        (
            r["cell"],
            r["seed"],
            f"{r['wall']:.1f}",
            f"{r['worker_peak_mb']:.0f}",
            percent(r["mean_gap"], 3),
            percent(r["max_gap"], 3),
            percent(r["links"], 1),
            percent(r["paper_accuracy"]),
            percent(r["unclassified"]),
            paper[r["cell"]],
            percent(r["accuracy"]),
            f"{r['certificate_bytes'] / 1000:.0f}",
            f"{r['verified_seconds']:.1f}",
        )
        for r in records
        if "accuracy" in r
    ]
    headings = (
        *("cell", "seed", "wall s", "peak RSS of a worker MB", "MM gap mean %", "max %", "links %"),
        *("accuracy %, paper's rule", "unclassified %", "paper's accuracy %", "accuracy % with margin ties"),
        *("certificate kB", "verified in s"),
    )
    note = (
        f"Default settings but for engine and seconds as above, n_jobs={JOBS}; tested on the first {TEST_IMAGES} test "
        "images of each class."
    )
    return f"{note}\n\n{markdown(headings, rows)}"


# Seconds of predict.

PREDICTIONS = 9
PREDICTED = {Cell("mnist", (4, 4), 10): 5.0, Cell("mnist", (4, 4), 40): 15.0}
"""How many times as fast as the support vector machine the default ensemble is meant to be."""


def _predicting(settings: Settings) -> Iterator[Record]:
    for cell, seed, head in settings.chosen(PREDICTED):
        X, y = sample(cell.data, cell.shots, seed)
        test_X, test_y = unseen_images(cell.data, cell.shots, seed)
        models: dict[str, Any] = {
            "default": classifiers.paper(**settings.limits),
            "recommended": classifiers.few_bit(X, **settings.limits),
            "svc": SVC(kernel="linear"),
        }
        for classifier in models.values():
            classifier.fit(X, y)
        # The process has one core, which more threads would only share.
        with threadpool_limits(1):
            accuracy = {name: np.mean(c.predict(test_X) == test_y) for name, c in models.items()}
            wall: dict[str, list[float]] = {name: [] for name in models}
            cpu: dict[str, list[float]] = {name: [] for name in models}
            # In turn, so that all of them meet the same other work.
            for _ in range(PREDICTIONS):
                for name, classifier in models.items():
                    began, began_cpu = time.perf_counter(), time.process_time()
                    classifier.predict(test_X)
                    wall[name].append(time.perf_counter() - began)
                    cpu[name].append(time.process_time() - began_cpu)
        yield head | {
            "rows": len(test_X),
            "repeats": PREDICTIONS,
            "wall": {name: min(found) for name, found in wall.items()},
            "cpu": {name: min(found) for name, found in cpu.items()},
            "accuracy": {name: float(share) for name, share in accuracy.items()},
            "support_vectors": len(models["svc"].support_),
        }


def _predict_report(records: Sequence[Record]) -> str:
    targets = {cell.name: target for cell, target in PREDICTED.items()}
    rows = []
    for r in records:
        cpu, wall = r["cpu"], r["wall"]
        ratio, target = cpu["svc"] / cpu["default"], targets[r["cell"]]
        rows.append(
            (
                *(r["cell"], r["seed"]),
                *(f"{1000 * cpu[name]:.1f} ({1000 * wall[name]:.1f})" for name in ("default", "svc")),
                f"{ratio:.1f} ({wall['svc'] / wall['default']:.1f})",
                f"{target:.0f}",
                "yes" if ratio >= target else "no",
                f"{1000 * cpu['recommended']:.1f} ({1000 * wall['recommended']:.1f})",
                *(percent(r["accuracy"][name]) for name in ("default", "svc", "recommended")),
            )
        )
    headings = (
        *("cell", "seed", "default ms", 'SVC(kernel="linear") ms', "times as fast", "target", "reached"),
        *("recommended ms", "accuracy %: default", "SVC", "recommended"),
    )
    first = records[0]
    note = (
        f"CPU milliseconds (wall clock in brackets) for {first['rows']} test images, the best of {first['repeats']} "
        "repeats, taken in turn in the same process with one thread."
    )
    return f"{note}\n\n{markdown(headings, rows)}"


# Many networks: processes, budgets, dispatch and journal, and 4,950 of them.

NODES = (200, 1000)
CLASSES, ROWS, FEATURES = 100, 5, 64
BUDGETS = (3.0, 8.0)
SHORT_BUDGET = 20.0
"""For very many networks, a small part of the time that they would take."""
REPEATS = 3
MEGABYTE = 2**20


def _many_networks(settings: Settings) -> Iterator[Record]:
    """One record per measurement; ``cell`` says which."""
    for seed in settings.seeds:
        X, y = sample("mnist", 10, seed)
        classifiers.paper(node_limit=1, time_limit=None).fit(X[:20], y[:20])  # compiled loops are ready
        for nodes in NODES:
            for repeat in range(REPEATS):
                yield (
                    settings.head("two processes", seed)
                    | {"nodes": nodes, "repeat": repeat}
                    | _two_processes(X, y, nodes)
                )
        for budget in BUDGETS:
            yield settings.head("budget", seed) | _budget(X, y, budget)
        yield settings.head("budget", seed) | _budget(*_many_classes(CLASSES, seed), SHORT_BUDGET)
        yield settings.head("overhead", seed) | _overhead(*_many_classes(30, seed))
        yield settings.head("many classes", seed) | _many(*_many_classes(CLASSES, seed))


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
        "parent_mb": [parent[begin], parent[-1]],
        "worker_peak_mb": max(workers),
    }


def _scaling_report(records: Sequence[Record]) -> str:
    rows = []
    for r in records:
        if r["cell"] == "two processes":
            first, then = r["two"] / r["one"], r["again"] / r["one"]
            text = f"{r['one']:.1f} s by one, {r['two']:.1f} s by two: {first:.2f}; {then:.2f} once they run"
            text += ", same bytes" if r["same_bytes"] else ", OTHER BYTES"
            rows.append((f"{r['cell']}, {r['nodes']} nodes", r["seed"], text, "0.6"))
        elif r["cell"] == "budget":
            text = f"{r['networks']} networks: {r['wall']:.1f} s of {r['budget']:.0f} s"
            rows.append((r["cell"], r["seed"], text, "a few seconds more"))
        elif r["cell"] == "overhead":
            total = r["key_ms"] + r["dispatch_ms"]
            rows.append((r["cell"], r["seed"], f"{total:.1f} ms per network, its name {r['key_ms']:.1f}", "5 ms"))
        else:
            first, last = r["parent_mb"]
            text = f"{r['networks']} networks in {r['wall']:.0f} s, {r['networks'] / r['wall']:.0f} per second; parent "
            text += f"{first:.0f} to {last:.0f} MB, workers at most {r['worker_peak_mb']:.0f} MB"
            rows.append((r["cell"], r["seed"], text, "flat memory"))
    note = (
        "Two processes: 45 networks of MNIST, 10 per class, with a node limit; processes have to start first. "
        "Budget: total_time_limit for these networks and for those of many classes, gap=0. "
        f"Many classes: {CLASSES} classes of {ROWS} rows with {FEATURES} features."
    )
    return f"{note}\n\n{markdown(('what', 'seed', 'measured', 'target'), rows)}"


BENCHMARKS = {
    "ensemble": Benchmark(_fitting, _ensemble_report, all_cores=True),
    "predict": Benchmark(_predicting, _predict_report),
    "scaling": Benchmark(_many_networks, _scaling_report, all_cores=True),
}
