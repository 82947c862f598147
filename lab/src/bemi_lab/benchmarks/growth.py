"""How gap, seconds and memory grow with images, features, classes and weight bound; one process per network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bemi_lab.benchmarks.common import Cell, Record, Settings, by_cell, known_gaps, measure_alone, networks, percent
from bemi_lab.experiments import markdown

PAIRS = 3
HIDDEN = (4, 4)

AXES = {
    "images per class": {shots: Cell("mnist", HIDDEN, shots) for shots in (10, 20, 40, 100, 200)},
    "features": {
        64: Cell("digits", HIDDEN, 40),
        196: Cell("mnist-196", HIDDEN, 40),
        784: Cell("mnist", HIDDEN, 40),
        3072: Cell("mnist-3072", HIDDEN, 40),
    },
    "classes": {count: Cell(f"halves-{count}", HIDDEN, 10) for count in (10, 30, 100)},
    "weight bound P": {bound: Cell("mnist", HIDDEN, 40, bound) for bound in (1, 3, 7, 15)},
}


def measurements(settings: Settings) -> Iterator[Record]:
    # A cell on two axes is measured once.
    cells = list(dict.fromkeys(cell for axis in AXES.values() for cell in axis.values()))
    for head, problem in networks(cells, settings, settings.pairs or PAIRS):
        yield head | measure_alone(problem, settings.engine, settings.seconds)


def report(records: Sequence[Record]) -> str:
    groups = by_cell(records)
    parts = []
    for axis, cells in AXES.items():
        rows = [_row(value, groups[cell.name]) for value, cell in cells.items() if cell.name in groups]
        headings: tuple[str, ...] = (
            *(axis, "networks", "SM all right", "MM ran", "gap mean %", "gap max %", "wall s mean", "wall s max"),
            *("CPU s mean", "peak RSS MB", "of it before training"),
        )
        if axis == "classes":
            headings += ("hours for all pairs on one core",)
            rows = [(*row, _hours(int(row[0]), groups[cells[int(row[0])].name])) for row in rows]
        if rows:
            parts.append(f"## By {axis}\n\n{markdown.table(headings, rows)}")
    return "\n\n".join(parts)


def _hours(classes: int, records: Sequence[Record]) -> str:
    return f"{math.comb(classes, 2) * np.mean([r['wall'] for r in records]) / 3600:.2f}"


def _row(value: int, records: Sequence[Record]) -> tuple[str, ...]:
    gaps = known_gaps(records)
    heaviest = max(records, key=lambda r: r["peak_mb"])
    return (
        str(value),
        str(len(records)),
        str(sum(r["sm"]["objective"] == r["outputs"] for r in records)),
        str(len(gaps)),
        percent(gaps.mean() if len(gaps) else None, 3),
        percent(gaps.max() if len(gaps) else None, 3),
        f"{np.mean([r['wall'] for r in records]):.2f}",
        f"{np.max([r['wall'] for r in records]):.2f}",
        f"{np.mean([r['cpu'] for r in records]):.2f}",
        f"{heaviest['peak_mb']:.0f}",
        f"{heaviest['peak_mb_before']:.0f}",
    )
