"""The gap table: what every stage reaches on the paper's cells, beside the paper's numbers and the targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.common import Cell, Record, Settings, by_cell, known_gaps, markdown, mean_of, measure, networks, percent

# Table tab:all_stages of the paper, in %: gap mean and max, links after Max-Margin and after Min-Weight.
PAPER = {
    Cell("mnist", (4, 4), 10): (12.06, 20.70, 49.13, 29.21),
    Cell("mnist", (4, 4), 20): (14.81, 22.18, 54.70, 28.41),
    Cell("mnist", (4, 4), 30): (16.04, 24.08, 56.44, 30.46),
    Cell("mnist", (4, 4), 40): (15.98, 26.22, 57.92, 29.27),
    Cell("mnist", (10, 3), 10): (4.52, 7.37, 49.28, 24.72),
    Cell("mnist", (10, 3), 20): (5.46, 8.40, 54.97, 24.40),
    Cell("mnist", (10, 3), 30): (5.92, 11.00, 56.73, 26.96),
    Cell("mnist", (10, 3), 40): (6.21, 20.87, 58.29, 24.66),
    Cell("fashion-mnist", (4, 4), 10): (13.34, 26.48, 87.75, 58.76),
    Cell("fashion-mnist", (4, 4), 20): (14.05, 28.91, 90.73, 59.97),
    Cell("fashion-mnist", (4, 4), 30): (19.95, 136.33, 92.41, 58.12),
    Cell("fashion-mnist", (4, 4), 40): (30.36, 333.70, 93.57, 59.46),
    Cell("fashion-mnist", (10, 3), 10): (4.87, 9.14, 87.90, 51.57),
    Cell("fashion-mnist", (10, 3), 20): (5.11, 9.86, 91.05, 52.29),
    Cell("fashion-mnist", (10, 3), 30): (6.30, 40.07, 92.78, 52.62),
    Cell("fashion-mnist", (10, 3), 40): (8.99, 56.14, 94.01, 53.38),
}

TARGETS: dict[tuple[int, ...], tuple[float, float]] = {(4, 4): (0.35, 1.0), (10, 3): (0.15, 0.4)}
"""Max-Margin gap to reach in %, mean and 95th percentile, by hidden layers."""


def measurements(settings: Settings) -> Iterator[Record]:
    for head, problem in networks(list(PAPER), settings, settings.pairs):
        yield head | measure(problem, settings.engine, settings.seconds)


def report(records: Sequence[Record]) -> str:
    groups = by_cell(records)
    cells = [cell for cell in PAPER if cell.name in groups]
    gaps = markdown(
        (
            *("set", "hidden", "per class", "networks", "SM all right %", "SM s", "MM ran", "MM certified"),
            *("gap mean %", "p95 %", "max %", "target mean / p95", "reached", "paper mean / max", "hardest pair"),
        ),
        [_gap_row(cell, groups[cell.name]) for cell in cells],
    )
    links = markdown(
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
    paper_mean, paper_max, _, _ = PAPER[cell]
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
    _, _, paper_mm, paper_mw = PAPER[cell]
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
