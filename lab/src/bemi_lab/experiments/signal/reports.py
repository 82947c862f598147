"""Tables that the report on signals shows, each from a run and one of its grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bemi_lab.experiments.results import Spread, interval
from bemi_lab.experiments.signal.draws import draw
from bemi_lab.experiments.signal.measure import GAIN
from bemi_lab.experiments.signal.systems import SYSTEMS
from bemi_lab.experiments.tables import Table
from bemi_lab.experiments.tabular.results import TableRun
from bemi_lab.experiments.tabular.spec import Grid

REFERENCE = "minirocket"
INTERVAL = "mean over the sets of the paired difference, with its 95 % confidence interval (Student's t over sets)"


def accuracy(run: TableRun, grid: Grid) -> Table:
    """Mean accuracy of every system, and how far it is ahead of the reference."""
    rows, headings = [], ["system"]
    splits = [name for name in grid.splits if run.has(grid.systems[0], name)]
    for name in splits:
        count = len(run.by_table(grid.systems[0], name, "accuracy", grid.tables))
        headings += [f"{draw(name).title} ({count} sets)", "minus MiniRocket"]
    for system in _measured(run, grid):
        row: list[Any] = [SYSTEMS[system].title]
        for name in splits:
            row.append(_percent(run.mean(system, name, "accuracy", grid.tables)))
            row.append(None if system == REFERENCE else _ahead(run, grid, system, name))
        rows.append(row)
    caption = f"Test accuracy in %, mean over sets; *minus MiniRocket* in points: {INTERVAL}."
    return Table("accuracy", caption, headings, rows)


def accuracy_by_set(run: TableRun, grid: Grid) -> Table:
    return _by_set(run, grid, "accuracy-by-set", "Test accuracy in % by set, mean over the draws.")


def apart(run: TableRun, grid: Grid) -> Table:
    caption = (
        "Sets that the settings were not chosen on, test accuracy in %, mean over the draws. In PLAID, currents when "
        "a device is switched on are far above those while it runs."
    )
    return _by_set(run, grid, "apart", caption)


def training(run: TableRun, grid: Grid) -> Table:
    """What our training took and proved."""
    rows = []
    for name in grid.splits:
        for system in _measured(run, grid):
            gaps = run.by_table(system, name, "gap", grid.tables)
            if gaps:
                largest = run.by_table(system, name, "largest_gap", grid.tables)
                certified = _percent(run.mean(system, name, "certified", grid.tables))
                links, seconds = (run.mean(system, name, measure, grid.tables) for measure in ("links", "seconds"))
                spread = Spread.of([100 * gap for gap in gaps.values()])
                highest = 100 * max(largest.values())
                rows.append([draw(name).title, SYSTEMS[system].title, spread, highest, certified, links, seconds])
    caption = (
        "Our models: certified gap, mean over sets with the smallest and the largest set's; the largest gap of a "
        "network, mean over the draws of the set in which it is largest; share of models of which every bound is "
        "certified; links of all networks together; seconds of training on one core."
    )
    headings = ["windows", "system", "gap %", "largest gap %", "certified %", "links", "seconds"]
    return Table("training", caption, headings, rows)


def lower_gain(run: TableRun, grid: Grid) -> Table:
    """What happens to all systems if the sensor measures less than in training."""
    rows = []
    for name in grid.splits:
        for system in _measured(run, grid):
            before, after = (run.by_table(system, name, m, grid.tables) for m in ("accuracy", "lower_gain"))
            if after:
                lost = {table: 100 * (after[table] - before[table]) for table in after}
                worst = min(lost, key=lambda table: lost[table])
                change = interval(list(lost.values()))
                means = [_percent(run.mean(system, name, m, grid.tables)) for m in ("accuracy", "lower_gain")]
                rows.append([draw(name).title, SYSTEMS[system].title, *means, change, f"{worst} {lost[worst]:+.2f}"])
    caption = (
        f"Test accuracy in % when all values of the test windows are multiplied by {GAIN}. Only the scenarios "
        "of our models prepare for it. Difference in points: mean over sets, with its 95 % confidence interval."
    )
    headings = ["windows", "system", "accuracy as it is", f"at gain {GAIN}", "difference", "worst set"]
    return Table("lower-gain", caption, headings, rows)


REPORTS: dict[str, Callable[[TableRun, Grid], Table]] = {
    "accuracy": accuracy,
    "accuracy-by-set": accuracy_by_set,
    "training": training,
    "lower-gain": lower_gain,
    "apart": apart,
}
"""All tables by name."""


def _by_set(run: TableRun, grid: Grid, name: str, caption: str) -> Table:
    systems, rows = _measured(run, grid), []
    ours = grid.systems[0]
    for split in grid.splits:
        ahead = run.differences(ours, REFERENCE, split, "accuracy", grid.tables)
        means = {system: run.by_table(system, split, "accuracy", grid.tables) for system in systems}
        for table in grid.tables:
            if any(table in means[system] for system in systems):
                found = [_percent(means[system].get(table)) for system in systems]
                rows.append([draw(split).title, table, *found, _percent(ahead.get(table))])
    headings = ["windows", "set", *(SYSTEMS[system].title for system in systems), "ours minus MiniRocket"]
    return Table(name, caption, headings, rows)


def _measured(run: TableRun, grid: Grid) -> list[str]:
    """Systems of a grid that have results on its sets."""
    return [s for s in grid.systems if any(run.by_table(s, name, "accuracy", grid.tables) for name in grid.splits)]


def _ahead(run: TableRun, grid: Grid, system: str, name: str) -> Spread | None:
    ahead = run.differences(system, REFERENCE, name, "accuracy", grid.tables)
    return interval([100 * value for value in ahead.values()])


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
