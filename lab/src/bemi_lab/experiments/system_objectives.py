"""The other systems by their own objectives: the network that we wrote down, what became of it, and the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bemi_lab.experiments.results import Spread
from bemi_lab.experiments.systems import ENTRIES

CAPTION = (
    "The other systems in their own objectives, means over the samples: objective of the start, what the system "
    "reached, a bound that no network can beat, and the gap between the last two in % of what was reached. Accuracies "
    "in % on the test rows: all outputs right, and largest output, of the start and of what became of it. All right: "
    "training rows with all outputs right, in %. *Start returned*: the system found nothing better, or the start "
    "reaches the bound."
)

HEADINGS = (
    *("system", "start", "per class", "samples", "of start", "objective", "bound", "gap"),
    *("all good, start", "all good", "largest, start", "largest", "all right", "start returned"),
)

Record = dict[str, Any]


def content(records: Sequence[Record]) -> tuple[str, list[str], list[list[Any]]]:
    """Caption, headings and rows: a row for every system of one network, start and size that has an objective."""
    grouped: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        if "objective" in record:
            grouped.setdefault((record["system"], record["per_class"]), []).append(record)
    order = {name: position for position, name in enumerate(ENTRIES)}
    rows = [
        _row(name, size, found)
        for (name, size), found in sorted(grouped.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    ]
    return CAPTION, list(HEADINGS), rows


def _row(name: str, size: int, records: list[Record]) -> list[Any]:
    entry = ENTRIES[name]
    starts = [record["start"] for record in records if record.get("start", {}).get("found")]
    gaps = [record["gap"] for record in records]
    return [
        *(entry.title, entry.start, size, len(records)),
        *(_mean(starts, "objective"), _mean(records, "objective"), _mean(records, "bound")),
        None if None in gaps else 100 * float(np.mean(gaps)),
        *(_percent(starts, "all_good"), _percent(records, "all_good")),
        *(_percent(starts, "largest"), _percent(records, "largest"), _percent(records, "fit_all_good")),
        f"{sum(start['returned'] for start in starts)} of {len(records)}" if starts else "",
    ]


def _mean(records: list[Record], key: str) -> float | None:
    values = [record[key] for record in records if record[key] is not None]
    return float(np.mean(values)) if values else None


def _percent(records: list[Record], key: str) -> Spread | None:
    return Spread.of([100 * record[key] for record in records]) if records else None
