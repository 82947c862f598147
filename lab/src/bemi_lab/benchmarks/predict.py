"""Seconds that predict takes in Python, beside scikit-learn's linear support vector machine on the same samples."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bemi import BeMiClassifier, recommended
from bemi_lab.benchmarks.common import Cell, Record, Settings, percent, sample, unseen_images
from bemi_lab.experiments import markdown

REPEATS = 9
TARGETS = {Cell("mnist", (4, 4), 10): 5.0, Cell("mnist", (4, 4), 40): 15.0}
"""How many times as fast as the support vector machine the default ensemble is meant to be."""


def measurements(settings: Settings) -> Iterator[Record]:
    for cell in filter(settings.wants, TARGETS):
        for seed in settings.seeds:
            X, y = sample(cell.data, cell.shots, seed)
            test_X, test_y = unseen_images(cell.data, cell.shots, seed)
            classifiers = {
                "default": BeMiClassifier(engine=settings.engine, time_limit=settings.seconds),
                "recommended": recommended(X, engine=settings.engine, time_limit=settings.seconds),
                "svc": SVC(kernel="linear"),
            }
            for classifier in classifiers.values():
                classifier.fit(X, y)
            # The process has one core, which more threads would only share.
            with threadpool_limits(1):
                accuracy = {name: np.mean(c.predict(test_X) == test_y) for name, c in classifiers.items()}
                wall: dict[str, list[float]] = {name: [] for name in classifiers}
                cpu: dict[str, list[float]] = {name: [] for name in classifiers}
                # In turn, so that all of them meet the same other work.
                for _ in range(REPEATS):
                    for name, classifier in classifiers.items():
                        began, began_cpu = time.perf_counter(), time.process_time()
                        classifier.predict(test_X)
                        wall[name].append(time.perf_counter() - began)
                        cpu[name].append(time.process_time() - began_cpu)
            yield {
                "cell": cell.name,
                "seed": seed,
                "engine": settings.engine,
                "seconds_limit": settings.seconds,
                "rows": len(test_X),
                "repeats": REPEATS,
                "wall": {name: min(found) for name, found in wall.items()},
                "cpu": {name: min(found) for name, found in cpu.items()},
                "accuracy": {name: float(share) for name, share in accuracy.items()},
                "support_vectors": len(classifiers["svc"].support_),
            }


def report(records: Sequence[Record]) -> str:
    targets = {cell.name: target for cell, target in TARGETS.items()}
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
    return f"{note}\n\n{markdown.table(headings, rows)}"
