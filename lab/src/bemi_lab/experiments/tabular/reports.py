"""Tables that the report on tables shows, each from a run and one of its grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bemi_lab.experiments.results import Spread, interval
from bemi_lab.experiments.tables import Table
from bemi_lab.experiments.tabular.results import TableRun
from bemi_lab.experiments.tabular.spec import Grid
from bemi_lab.experiments.tabular.splits import split
from bemi_lab.experiments.tabular.systems import CARD_LINKS, SYSTEMS

INTERVAL = "mean over the tables of the paired difference, with its 95 % confidence interval (Student's t over tables)"
RANDOM_FOREST = "random-forest"


def accuracy(run: TableRun, grid: Grid) -> Table:
    """Mean accuracy of every system, and how far ours is ahead; ours is the first of the grid."""
    ours, rows = grid.systems[0], []
    splits = [name for name in grid.splits if run.has(ours, name)]
    for system in _measured(run, grid):
        row: list[Any] = [SYSTEMS[system].title]
        for name in splits:
            row.append(_times(100, run.mean(system, name, "accuracy", grid.tables)))
            row.append(None if system == ours else _difference(run, grid, ours, system, name, "accuracy", 100))
        rows.append(row)
    headings = ["system"]
    for name in splits:
        count = len(run.by_table(ours, name, "accuracy", grid.tables))
        headings += [f"{split(name).title} ({count} tables)", f"ours minus it, {split(name).title}"]
    caption = f"Test accuracy in %, mean over tables; *ours minus it* in points: {INTERVAL}."
    return Table("accuracy", caption, headings, rows)


def accuracy_by_table(run: TableRun, grid: Grid) -> Table:
    ours, systems = grid.systems[0], _measured(run, grid)
    rows = []
    for name in grid.splits:
        ahead = run.differences(ours, RANDOM_FOREST, name, "accuracy", grid.tables)
        means = {system: run.by_table(system, name, "accuracy", grid.tables) for system in systems}
        rows += [
            [
                split(name).title,
                table,
                *(_times(100, means[system].get(table)) for system in systems),
                _times(100, ahead.get(table)),
            ]
            for table in grid.tables
            if any(table in means[system] for system in systems)
        ]
    headings = ["rows", "table", *(SYSTEMS[system].title for system in systems), "ours minus random forest"]
    return Table("accuracy-by-table", "Test accuracy in % by table, mean over the samples.", headings, rows)


def training(run: TableRun, grid: Grid) -> Table:
    """What our training took and proved, and how good its estimate of the accuracy was."""
    ours, rows = grid.systems[0], []
    for name in grid.splits:
        gaps = _percent(run.by_table(ours, name, "gap", grid.tables))
        if gaps:
            largest = _percent(run.by_table(ours, name, "largest_gap", grid.tables))
            links, seconds = (run.mean(ours, name, measure, grid.tables) for measure in ("links", "seconds"))
            certified = _times(100, run.mean(ours, name, "certified", grid.tables))
            expected = run.by_table(ours, name, "expected", grid.tables)
            reached = run.by_table(ours, name, "accuracy", grid.tables)
            surplus = interval([100 * (expected[table] - reached[table]) for table in expected])
            rows.append([split(name).title, Spread.of(gaps), max(largest), certified, surplus, links, seconds])
    headings = [
        *("rows", "gap %", "largest gap %", "certified %", "expected minus reached accuracy", "links", "seconds"),
    ]
    caption = (
        "Our models: certified gap, mean over tables with the smallest and the largest table's; share of models of "
        "which every bound is certified; the accuracy that training expected minus that on the test rows, in points "
        "with a 95 % confidence interval; links of all networks together; seconds of training on one core, the choice "
        "of settings included."
    )
    return Table("training", caption, headings, rows)


def moved(run: TableRun, grid: Grid) -> Table:
    """What a shift or another unit costs; the first system of the grid sees the table as it is."""
    before, rows = grid.systems[0], []
    for name in grid.splits:
        for system in grid.systems[1:]:
            lost = run.differences(system, before, name, "accuracy", grid.tables)
            if lost:
                worst = min(lost, key=lambda table: lost[table])
                rows.append(
                    [
                        split(name).title,
                        SYSTEMS[system].title,
                        _times(100, run.mean(before, name, "accuracy", list(lost))),
                        _times(100, run.mean(system, name, "accuracy", list(lost))),
                        _spread_times(100, interval(list(lost.values()))),
                        f"{worst} {100 * lost[worst]:+.2f}",
                    ]
                )
    headings = ["rows", "system", "accuracy as it is", "changed", "difference", "worst table"]
    caption = f"Accuracy in % when every numeric feature is shifted or has another unit; difference: {INTERVAL}."
    return Table("moved", caption, headings, rows)


CARD_MEASURES = {"auc": "AUC", "log_loss": "log-loss", "calibration_error": "calibration error", "accuracy": "accuracy"}


def cards(run: TableRun, grid: Grid) -> Table:
    """Cards beside FasterRisk's: means over tables, then paired differences."""
    (name,) = grid.splits
    rows: list[list[Any]] = []
    for system in _measured(run, grid):
        means = [run.mean(system, name, measure, grid.tables) for measure in (*CARD_MEASURES, "seconds")]
        gap = _times(100, run.mean(system, name, "gap", grid.tables))
        rows.append([SYSTEMS[system].title, *map(_three, means), gap])
    for links in CARD_LINKS:
        ours, theirs = f"card-{links}", f"fasterrisk-{links}"
        if run.has(ours, name) and run.has(theirs, name):
            ahead = [_difference(run, grid, ours, theirs, name, measure) for measure in CARD_MEASURES]
            rows.append([f"ours minus FasterRisk, {links} links", *map(_spread_text, ahead), None, None])
    headings = ["system", *CARD_MEASURES.values(), "seconds", "certified gap %"]
    caption = (
        f"Cards with points -5..5 on the same bits, {split(name).title}, tables of two classes. Means over tables; "
        f"differences: {INTERVAL}."
    )
    return Table("cards", caption, headings, rows)


def cards_by_table(run: TableRun, grid: Grid) -> Table:
    (name,) = grid.splits
    systems = _measured(run, grid)
    rows = []
    for table in grid.tables:
        row: list[Any] = [table]
        for system in systems:
            for measure in ("auc", "log_loss"):
                row.append(_three(run.by_table(system, name, measure, [table]).get(table)))
            if run.mean(system, name, "gap", grid.tables) is not None:
                row.append(_times(100, run.by_table(system, name, "gap", [table]).get(table)))
        rows.append(row)
    headings = ["table"]
    for system in systems:
        headings += [f"{SYSTEMS[system].title}: AUC", "log-loss"]
        headings += ["gap %"] if run.mean(system, name, "gap", grid.tables) is not None else []
    return Table("cards-by-table", "The same by table.", headings, rows)


def chances(run: TableRun, grid: Grid) -> Table:
    """How good the predicted chances are."""
    ours, rows = grid.systems[0], []
    for name in grid.splits:
        for system in _measured(run, grid):
            found = run.by_table(system, name, "log_loss", grid.tables)
            if not found:
                continue
            measures = ("log_loss", "calibration_error", "auc", "accuracy")
            means = [_three(run.mean(system, name, measure, grid.tables)) for measure in measures]
            ahead = None if system == ours else _difference(run, grid, ours, system, name, "log_loss")
            rows.append([split(name).title, len(found), SYSTEMS[system].title, *means, _spread_text(ahead)])
    headings = [
        "rows",
        "tables",
        "system",
        "log-loss",
        "calibration error",
        "AUC",
        "accuracy",
        "ours minus it: log-loss",
    ]
    caption = (
        "Chances on tables of two classes: log-loss, and expected calibration error over ten bins of equal width. "
        f"Means over tables; difference: {INTERVAL}."
    )
    return Table("chances", caption, headings, rows)


def size(run: TableRun, grid: Grid) -> Table:
    """Many rows: time, gap and accuracy."""
    rows = []
    for name in grid.splits:
        for table in grid.tables:
            for system in _measured(run, grid):
                found = [
                    run.by_table(system, name, measure, [table]).get(table)
                    for measure in ("accuracy", "gap", "seconds")
                ]
                if found[0] is not None:
                    shown = [_times(100, found[0]), _times(100, found[1]), found[2]]
                    rows.append([table, split(name).title, SYSTEMS[system].title, *shown])
    headings = ["table", "rows", "system", "accuracy", "certified gap %", "seconds"]
    return Table("size", "Thousands of training rows, on one core.", headings, rows)


REPORTS: dict[str, Callable[[TableRun, Grid], Table]] = {
    "accuracy": accuracy,
    "accuracy-by-table": accuracy_by_table,
    "training": training,
    "moved": moved,
    "cards": cards,
    "cards-by-table": cards_by_table,
    "chances": chances,
    "size": size,
}
"""All tables by name."""


def _measured(run: TableRun, grid: Grid) -> list[str]:
    """Systems of a grid that have results."""
    return [system for system in grid.systems if any(run.has(system, name) for name in grid.splits)]


def _difference(run: TableRun, grid: Grid, a: str, b: str, name: str, measure: str, times: float = 1) -> Spread | None:
    return _spread_times(times, interval(list(run.differences(a, b, name, measure, grid.tables).values())))


def _percent(values: dict[str, float]) -> list[float]:
    return [100 * value for value in values.values()]


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _spread_times(factor: float, value: Spread | None) -> Spread | None:
    return None if value is None else Spread(factor * value.mean, factor * value.low, factor * value.high)


def _three(value: float | None) -> str | None:
    """Three decimals: of log-losses and areas the third one matters."""
    return None if value is None else f"{value:.3f}"


def _spread_text(value: Spread | None) -> str | None:
    return None if value is None else f"{value.mean:+.3f} ({value.low:+.3f} to {value.high:+.3f})"
