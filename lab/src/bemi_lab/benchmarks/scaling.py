"""Many networks: two processes beside one, what dispatch and journal cost, a budget for all, and 4,950 networks."""

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

from bemi import BeMiClassifier, save
from bemi.exact import Integers
from bemi.running.calls import results
from bemi.running.journal import Journal
from bemi.running.pools import Processes
from bemi.training.pipeline import Training
from bemi_lab.benchmarks.common import Record, Settings, sample
from bemi_lab.experiments import markdown

NODES = (200, 1000)
CLASSES, ROWS, FEATURES = 100, 5, 64
BUDGETS = (3.0, 8.0)
SHORT_BUDGET = 20.0
"""For very many networks, a small part of the time that they would take."""
REPEATS = 3
MEGABYTE = 2**20


def measurements(settings: Settings) -> Iterator[Record]:
    """One record per measurement; ``cell`` says which."""
    for seed in settings.seeds:
        head = {"seed": seed, "engine": settings.engine, "seconds_limit": settings.seconds}
        X, y = sample("mnist", 10, seed)
        BeMiClassifier(node_limit=1, time_limit=None).fit(X[:20], y[:20])  # compiled loops are ready
        for nodes in NODES:
            for repeat in range(REPEATS):
                yield head | {"cell": "two processes", "nodes": nodes, "repeat": repeat} | _two_processes(X, y, nodes)
        for budget in BUDGETS:
            yield head | {"cell": "budget"} | _budget(X, y, budget)
        yield head | {"cell": "budget"} | _budget(*_many_classes(CLASSES, seed), SHORT_BUDGET)
        yield head | {"cell": "overhead"} | _overhead(*_many_classes(30, seed))
        yield head | {"cell": "many classes"} | _many(*_many_classes(CLASSES, seed))


def _two_processes(X: Integers, y: Integers, nodes: int) -> Record:
    """The same ensemble by one process, by two that have to start first, and by the same two again."""
    Processes.close()
    taken, content = [], []
    for jobs in (1, 2, 2):
        began = time.perf_counter()
        classifier = BeMiClassifier(node_limit=nodes, time_limit=None, n_jobs=jobs).fit(X, y)
        taken.append(time.perf_counter() - began)
        with tempfile.TemporaryDirectory() as folder:
            save(classifier, Path(folder) / "m.bemi")
            content.append((Path(folder) / "m.bemi").read_bytes())
    one, two, again = taken
    return {"one": one, "two": two, "again": again, "same_bytes": content[0] == content[1] == content[2]}


def _budget(X: Integers, y: Integers, budget: float) -> Record:
    """Seconds that an ensemble takes with a budget for all of its networks together."""
    began = time.perf_counter()
    classifier = BeMiClassifier(total_time_limit=budget, gap=0.0, n_jobs=2).fit(X, y)
    return {"networks": len(classifier.networks_), "budget": budget, "wall": time.perf_counter() - began}


def _many_classes(classes: int, seed: int) -> tuple[Integers, Integers]:
    """Rows around random centres."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.integers(0, 256, (classes, FEATURES)), ROWS, axis=0)
    return np.clip(centres + rng.integers(-30, 31, centres.shape), 0, 255), np.repeat(np.arange(classes), ROWS)


def _overhead(X: Integers, y: Integers) -> Record:
    """Milliseconds per network for its key, and for sending it to a process, back, and to disk."""
    tasks = list(BeMiClassifier().training_tasks(X, y).values())
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
        classifier = BeMiClassifier(n_jobs=2, run_dir=folder).fit(X, y)
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


def report(records: Sequence[Record]) -> str:
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
    return f"{note}\n\n{markdown.table(('what', 'seed', 'measured', 'target'), rows)}"
