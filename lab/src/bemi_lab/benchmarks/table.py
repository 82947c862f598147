"""The gap table: what every stage reaches on the paper's cells, beside the paper's numbers and the targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bemi_lab.benchmarks.common import Cell, Record, Settings, by_cell, known_gaps, mean_of, measure, networks, percent
from bemi_lab.experiments import markdown, spec

PAPER = {
    Cell(experiment.dataset, cell.hidden_layers, cell.per_class): values
    for experiment in map(spec.load, ("exp3a", "exp3b", "exp4a", "exp4b"))
    for cell, values in experiment.paper.items()
}
"""Table tab:all_stages of the paper."""

TARGETS: dict[tuple[int, ...], tuple[float, float]] = {(4, 4): (0.35, 1.0), (10, 3): (0.15, 0.4)}
"""Max-Margin gap to reach in %, mean and 95th percentile, by hidden layers."""


def measurements(settings: Settings) -> Iterator[Record]:
    for head, problem in networks(list(PAPER), settings, settings.pairs):
        yield head | measure(problem, settings.engine, settings.seconds)


def report(records: Sequence[Record]) -> str:
    groups = by_cell(records)
    cells = [cell for cell in PAPER if cell.name in groups]
    gaps = markdown.table(
        (
            *("set", "hidden", "per class", "networks", "SM all right %", "SM s", "MM ran", "MM certified"),
            *("gap mean %", "p95 %", "max %", "target mean / p95", "reached", "paper mean / max", "hardest pair"),
        ),
        [_gap_row(cell, groups[cell.name]) for cell in cells],
    )
    links = markdown.table(
        (
            *("set", "hidden", "per class", "links % after MM", "paper", "links % after MW", "proved at least %"),
            *("paper", "wall s mean", "max", "CPU s mean", "max"),
        ),
        [_link_row(cell, groups[cell.name]) for cell in cells],
    )
    return f"## Gaps\n\n{gaps}\n\n## Links and seconds\n\n{links}"


def _name(cell: Cell) -> tuple[object, ...]:
    return cell.data, ",".join(map(str, cell.hidden)), cell.shots


def _gap_row(cell: Cell, records: Sequence[Record]) -> tuple[object, ...]:
    count = len(records)
    all_right = sum(r["sm"]["objective"] == r["outputs"] for r in records)
    certified = sum(r["mm"]["proof"] == "certified" for r in records)
    gaps = known_gaps(records)
    mean, p95, largest = (gaps.mean(), np.percentile(gaps, 95), gaps.max()) if len(gaps) else (np.nan,) * 3
    target_mean, target_p95 = TARGETS[cell.hidden]
    reached = len(gaps) == count and 100 * mean <= target_mean and 100 * p95 <= target_p95
    paper_mean, paper_max = PAPER[cell]["mean_gap"], PAPER[cell]["max_gap"]
    # A stage that did not run is harder than any gap.
    hardest = max(records, key=lambda r: np.inf if r["mm"]["gap"] is None else r["mm"]["gap"])
    return (
        *_name(cell),
        count,
        percent(all_right / count, 1),
        f"{np.mean([_sat_margin_seconds(r) for r in records]):.2f}",
        len(gaps),
        certified,
        percent(mean, 3),
        percent(p95, 3),
        percent(largest, 3),
        f"{target_mean} / {target_p95}",
        "yes" if reached else "no",
        f"{paper_mean} / {paper_max}",
        f"{hardest['pair']} (seed {hardest['seed']})",
    )


def _sat_margin_seconds(record: Record) -> float:
    """Sat-Margin with the search for its first network, which no stage's own seconds include."""
    return record["wall"] - record["mm"]["seconds"] - record["mw"]["seconds"]


def _link_row(cell: Cell, records: Sequence[Record]) -> tuple[object, ...]:
    total = records[0]["total_links"]
    # A stage without a bound proves nothing, so its share of the mean is 0.
    proved = np.mean([r["mw"]["bound"] or 0 for r in records])
    paper_mm, paper_mw = PAPER[cell]["links_mm"], PAPER[cell]["links"]
    return (
        *_name(cell),
        percent(mean_of(records, "mm", "links") / total),
        paper_mm,
        percent(mean_of(records, "mw", "links") / total),
        percent(float(proved) / total),
        paper_mw,
        *_mean_and_max([r["wall"] for r in records]),
        *_mean_and_max([r["cpu"] for r in records]),
    )


def _mean_and_max(seconds: Sequence[float]) -> tuple[str, str]:
    return f"{np.mean(seconds):.2f}", f"{max(seconds):.2f}"
