"""Samples in which one light image holds all margins down: the hardest that the experiments' draws contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bemi_lab.benchmarks.common import Cell, Record, Settings, by_cell, known_gaps, measure, networks
from bemi_lab.experiments import markdown

CELLS = [
    Cell("mnist#4", (4, 4), 30),
    Cell("mnist#3", (4, 4), 40),
    Cell("fashion-mnist#2", (4, 4), 30),
    Cell("fashion-mnist#1", (4, 4), 40),
]

_NAMED = 3  # pairs that a row of the table names


def measurements(settings: Settings) -> Iterator[Record]:
    for head, problem in networks(CELLS, settings, settings.pairs):
        yield head | measure(problem, settings.engine, settings.seconds)


def report(records: Sequence[Record]) -> str:
    rows = []
    for cell, measured in by_cell(records).items():
        gaps = 100 * known_gaps(measured)
        ran = [r for r in measured if r["mm"].get("gap") is not None]
        worst = sorted(ran, key=lambda r: -r["mm"]["gap"])[:_NAMED]
        named = ", ".join(f"{r['pair']} {r['mm']['gap']:.2%}" for r in worst)
        rows.append((cell, len(measured), f"{gaps.mean():.3f}", f"{np.percentile(gaps, 95):.3f}", named))
    return markdown.table(("sample", "networks", "gap mean %", "p95 %", "largest"), rows)
