"""The report on a run of the experiment on tables."""

from __future__ import annotations

from pathlib import Path

from bemi.experiments.section import Section, duration
from bemi.experiments.tabular.reports import REPORTS
from bemi.experiments.tabular.results import TableRun, read

BRIEF: dict[str, set[str]] = {
    "accuracy": set(),
    "moved": {"worst table"},
    "cards": {"calibration error", "accuracy"},
    "chances": {"tables", "AUC", "accuracy"},
}
"""Tables that fit a terminal without these columns."""


def section(folder: Path) -> Section:
    run = read(folder)
    shown = {
        name: REPORTS[name](run, grid)
        for grid in run.experiment.grids
        for name in grid.report
        if grid.systems[0] in run.measurements
    }
    tables = {name: table for name, table in shown.items() if table.rows}
    brief = {
        f"{run.experiment.title}, {name}": tables[name].without(left_out)
        for name, left_out in BRIEF.items()
        if name in tables
    }
    return Section(run.experiment.title, _conditions(run), tables, brief=brief)


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
