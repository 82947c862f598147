"""The report on a run of the experiment on tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bemi_lab.experiments.section import Section, duration
from bemi_lab.experiments.tables import Table
from bemi_lab.experiments.tabular.reports import REPORTS
from bemi_lab.experiments.tabular.results import TableRun, read
from bemi_lab.experiments.tabular.spec import Grid

BRIEF: dict[str, set[str]] = {
    "accuracy": set(),
    "moved": {"worst table"},
    "cards": {"calibration error", "accuracy"},
    "chances": {"tables", "AUC", "accuracy"},
}
"""Tables that fit a terminal without these columns."""


def section(folder: Path) -> Section:
    return section_of(read(folder), REPORTS, BRIEF)


def section_of(
    run: TableRun, reports: Mapping[str, Callable[[TableRun, Grid], Table]], brief: Mapping[str, set[str]]
) -> Section:
    """The section of a run, of the tables that its grids ask for."""
    shown = {
        name: reports[name](run, grid)
        for grid in run.experiment.grids
        for name in grid.report
        if grid.systems[0] in run.measurements
    }
    tables = {name: table for name, table in shown.items() if table.rows}
    short = {
        f"{run.experiment.title}, {name}": tables[name].without(left_out)
        for name, left_out in brief.items()
        if name in tables
    }
    return Section(run.experiment.title, _conditions(run), tables, brief=short)


def _conditions(run: TableRun) -> str:
    models = sum(map(len, run.measurements.values()))
    lines = [
        run.experiment.question,
        "Not in the paper.",
        f"Ours: engine {run.settings['engine']}, at most {run.settings['time_limit']:g} s per network, gap "
        f"{run.settings['gap']:g}; every model on one core.",
    ]
    if run.visits:
        last = run.visits[-1]
        packages = ", ".join(f"{name} {' and '.join(versions)}" for name, versions in _packages(run).items())
        seconds = duration(sum(visit["seconds"] for visit in run.visits))
        lines.append(
            f"{models} models in {seconds} on {last['cores']} cores ({last['solver']}, Python {last['python']}, bemi "
            f"{last['bemi']}, {packages}, {last['started'][:10]})."
        )
    return " ".join(lines)


def _packages(run: TableRun) -> dict[str, list[str]]:
    """Versions of other packages; visits may have had different ones, or lacked some."""
    found: dict[str, list[str]] = {}
    for visit in run.visits:
        for name, version in visit["packages"].items():
            if version not in found.setdefault(name, []):
                found[name].append(version)
    return found
