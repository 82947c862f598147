"""Tables of other authors' systems beside ours, on the same images in the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bemi_lab.datasets import Split
from bemi_lab.experiments.network_tables import paper_spread
from bemi_lab.experiments.networks import ALTERNATIVES
from bemi_lab.experiments.other_systems import ENTRIES, Entry
from bemi_lab.experiments.results import Run
from bemi_lab.experiments.spec import Grid
from bemi_lab.experiments.store import Record
from bemi_lab.experiments.table import Row, Spread, Table

PUBLISHED = "published"
"""Sources of numbers that were not measured here."""

MEASURES = {"all_good": "all good", "largest": "largest output", "voting": "voting"}
"""Ways to measure an accuracy, and their headings."""


def other_systems(run: Run, grid: Grid) -> Table:
    """Every system in every measure, and published results in the measure of their publication."""
    rows: list[Row] = []
    for entry, size, records in _grouped(run.systems):
        found = [record for record in records if "failure" not in record]
        measured = {m: Spread.of([100 * r[m] for r in found]) for m in (*MEASURES, "fit") if found}
        seconds = float(np.mean([r["seconds"] for r in records if "seconds" in r] or [np.nan]))
        links = round(np.mean([r["links"] for r in found])) if found else None
        more = {"training fit": measured.pop("fit", None), "s": seconds, "links": links, "remark": _remark(records)}
        rows.append(_row(entry.title, entry.authors, entry.start, size, len(records), measured, **more))
    rows += _users_choices(run)
    if run.on_paper_data and run.systems:
        rows += _published(run)
    limit = run.settings.get("system_seconds")
    time = "" if limit is None else f", {limit:g} s on one core for each sample"
    caption = (
        f"Every system on the same images{time}; accuracies in %. *All good*: all "
        "outputs that concern the class are right (in an ensemble, every network that knows the class votes for it). "
        "*Largest output*: the label of the largest output, or of the most votes with ties broken by margin. *Voting*: "
        "the paper's rule; a network with one output per class votes for the classes whose output is +1, so that this "
        "is the same as all good. Training fit: largest output, on the training rows. Links: non-zero weights and "
        "biases of all networks together. *No network*: none was found in time (a system for which that holds on all "
        "samples of a size need not be run on larger ones); *one answer*: the network gives every row the same label; "
        "*start returned*: the network is the one that we wrote down; *no start*: none could be "
        "written down. Below, what a user would take instead, and what was published, each in the measure that it was "
        "published in."
    )
    return Table(caption, rows)


def _row(
    system: str, by: str, start: str, size: int | None, samples: int | None, measured: Mapping[str, Any], **more: Any
) -> Row:
    row: Row = {"system": system, "by": by, "start": start, "per class": size, "samples": samples}
    row |= {title: measured.get(name) for name, title in MEASURES.items()}
    return row | {"training fit": None, "s": None, "links": None, "remark": ""} | more


def _remark(records: Sequence[Record]) -> str:
    """Remark for systems that found no network in time, one that gives every row the same label, or only the start."""
    remarks = [_remark_on(record) for record in records]
    counted = [(remark, remarks.count(remark)) for remark in dict.fromkeys(remarks) if remark]
    return ", ".join(remark if count == len(records) else f"{remark} ({count})" for remark, count in counted)


def _remark_on(record: Record) -> str:
    if "failure" in record:
        return "no network"
    if record["one_answer"]:
        return "one answer"
    start = record.get("start", {"found": True})
    return "start returned" if start.get("returned") else "" if start["found"] else "no start"


OBJECTIVES_CAPTION = (
    "The other systems in their own objectives, means over the samples: objective of the start, what the system "
    "reached, a bound that no network can beat, and the gap between the last two in % of what was reached. Accuracies "
    "in % on the test rows: all outputs right, and largest output, of the start and of what became of it. All right: "
    "training rows with all outputs right, in %. *Start returned*: the system found nothing better, or the start "
    "reaches the bound."
)


def objectives(run: Run, grid: Grid) -> Table:
    """The other systems by their own objectives: the network that we wrote down, what became of it, and the bound."""
    rows: list[Row] = []
    for entry, size, records in _grouped([record for record in run.systems if "objective" in record]):
        starts = [record["start"] for record in records if record.get("start", {}).get("found")]
        gaps = [record["gap"] for record in records]
        returned = f"{sum(start['returned'] for start in starts)} of {len(records)}" if starts else ""
        rows.append(
            {
                **{"system": entry.title, "start": entry.start, "per class": size, "samples": len(records)},
                **{"of start": _mean(starts, "objective"), "objective": _mean(records, "objective")},
                **{"bound": _mean(records, "bound"), "gap": None if None in gaps else 100 * float(np.mean(gaps))},
                **{"all good, start": _percent(starts, "all_good"), "all good": _percent(records, "all_good")},
                **{"largest, start": _percent(starts, "largest"), "largest": _percent(records, "largest")},
                **{"all right": _percent(records, "fit_all_good"), "start returned": returned},
            }
        )
    return Table(OBJECTIVES_CAPTION, rows)


def _mean(records: list[Record], key: str) -> float | None:
    values = [record[key] for record in records if record[key] is not None]
    return float(np.mean(values)) if values else None


def _percent(records: list[Record], key: str) -> Spread | None:
    return Spread.of([100 * record[key] for record in records]) if records else None


def _users_choices(run: Run) -> list[Row]:
    """scikit-learn's classifiers on the same samples."""
    used = {(_size(record), record["sample"]) for record in run.systems}
    rows = []
    for name in ALTERNATIVES:
        for result in run.cells:
            size = result.cell.per_class
            shares = [100 * r["alternatives"][name] for r in result.records if (size, r["sample"]) in used]
            if shares:
                rows.append(_row(name, "scikit-learn", "", size, len(shares), {"largest": Spread.of(shares)}))
    return rows


def _published(run: Run) -> list[Row]:
    remark = f"{run.experiment.paper.seconds:g} s per network on 8 cores"
    rows = [
        _row("BeMi", PUBLISHED, "", result.cell.per_class, None, {"voting": paper_spread(result)}, remark=remark)
        for result in run.cells
        if result.paper
    ]
    for entry in run.experiment.paper.published:
        for size, value in zip(entry["per_class"], entry["accuracy"], strict=True):
            rows.append(_row(entry["system"], PUBLISHED, "", size, None, {entry["metric"]: float(value)}))
    return rows


def _size(record: Record) -> int:
    """Training rows of a class."""
    return Split.parse(record["split"]).rows


def _grouped(records: Sequence[Record]) -> Iterator[tuple[Entry, int, list[Record]]]:
    """Records of each system and size, in the order of the systems."""
    groups: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        groups.setdefault((record["system"], _size(record)), []).append(record)
    order = {name: position for position, name in enumerate(ENTRIES)}
    for (name, size), found in sorted(groups.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        yield ENTRIES[name], size, sorted(found, key=lambda record: record["sample"])


TABLES: dict[str, Callable[[Run, Grid], Table]] = {"systems": other_systems, "objectives": objectives}
"""All tables by name."""
