"""A whole classifier with its default settings on two cores: seconds, memory of the workers, test accuracy."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bemi import BeMiClassifier, save, verify
from bemi.report.summary import evaluation, training_summary
from bemi.running.pools import Processes
from bemi_lab.benchmarks.common import (
    TEST_IMAGES,
    Cell,
    Record,
    Settings,
    peak_megabytes,
    percent,
    sample,
    stage_record,
    unseen_images,
)
from bemi_lab.experiments import markdown, spec

JOBS = 2
PAPER = {
    Cell("mnist", cell.hidden_layers, cell.per_class): values["accuracy"]
    for cell, values in spec.load("exp3a").paper.items()
    if cell.per_class in (10, 40)
}
"""Images that the paper classifies correctly, in %."""


def measurements(settings: Settings) -> Iterator[Record]:
    """One record per network and one per classifier, which alone has an ``accuracy``."""
    for cell in filter(settings.wants, PAPER):
        for seed in settings.seeds:
            X, y = sample(cell.data, cell.shots, seed)
            test_X, test_y = unseen_images(cell.data, cell.shots, seed)
            head = {"cell": cell.name, "seed": seed, "engine": settings.engine, "seconds_limit": settings.seconds}
            classifier = BeMiClassifier(engine=settings.engine, time_limit=settings.seconds, n_jobs=JOBS)
            # Fresh workers: a peak must not be an earlier fit's.
            Processes.close()
            began = time.perf_counter()
            classifier.fit(X, y)
            wall = time.perf_counter() - began
            # Idle workers stay alive for a while after the fit, so their peaks can still be read.
            memory = max(peak_megabytes(child) for child in _children())
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


def report(records: Sequence[Record]) -> str:
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
    return f"{note}\n\n{markdown.table(headings, rows)}"


def _children() -> list[str]:
    """Living processes that this one started."""
    mine = str(os.getpid())
    children = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may hold spaces; after it come the state and the parent.
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it ended meanwhile
            continue
        if parent == mine and state != "Z":
            children.append(status.parent.name)
    return children
