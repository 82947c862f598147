"""Report pages: sections of runs, with their tables, figures and conditions.  Only reads results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bemi_lab.experiments import comparison_tables, figures, network_tables, same_images, system_tables
from bemi_lab.experiments.results import Run, read
from bemi_lab.experiments.same_images import IMAGES_IN_WORDS
from bemi_lab.experiments.spec import NETWORKS, PAPER_IMAGES, Settings
from bemi_lab.experiments.table import Table

GRID_TABLES = {NETWORKS: system_tables.TABLES, **comparison_tables.TABLES}
"""Tables of grids by name, for each kind of experiments."""


@dataclass(frozen=True)
class Section:
    """What a page shows of a run: its heading, its tables, and functions that draw its figures."""

    run: Run
    title: str
    tables: dict[str, Table]
    figures: Mapping[str, Callable[[], Any]]

    @property
    def conditions(self) -> str:
        """What was run, and how."""
        run, experiment, settings = self.run, self.run.experiment, self.run.settings
        lines = [experiment.question, "Not in the paper."]
        if experiment.paper.values:
            lines[1] = f"In the paper: {experiment.source}; {experiment.paper.seconds:g} s per network on 8 cores."
        gap = "usual gaps" if settings["gap"] is None else f"gap {settings['gap']:g}"
        limits = f"engine {settings['engine']}, at most {settings['time_limit']:g} s per network, {gap}"
        data = f"data `{settings['dataset']}`, " if run.cells else ""
        lines.append(f"Here: {data}{limits}; {_samples(run)}.")
        if experiment.paper.values and not run.on_paper_data:
            lines.append(f"The paper used {experiment.dataset}, so its numbers are not shown.")
        if run.visits:
            last = run.visits[-1]
            packages = [f"{name} {' and '.join(versions)}" for name, versions in _packages(run).items()]
            versions = [f"bemi {last['bemi']}", last["solver"], f"Python {last['python']}", *packages]
            lines.append(f"{', '.join(versions)}, {last['started'][:10]}.")
        return " ".join(lines)


def section(path: Path) -> Section:
    """The section of a run, whose folder or file is given."""
    run = read(path)
    experiment = run.experiment
    tables = {name: network_tables.TABLES[name](run) for name in experiment.tables}
    measured = {record["system"] for record in run.systems}
    for grid in experiment.grids:
        # A comparison is about ours, the first of its grid.
        if experiment.kind == NETWORKS or grid.systems[0] in measured:
            tables |= {name: GRID_TABLES[experiment.kind][name](run, grid) for name in grid.report}
    tables = {name: table for name, table in tables.items() if table.rows}
    parts = [f"{IMAGES_IN_WORDS[run.images]} images"] if run.cells and experiment.paper.sizes is not None else []
    parts += [f"{run.settings['engine']} engine"] if run.settings["engine"] != Settings.engine else []
    title = f"{experiment.title} ({', '.join(parts)})" if parts else experiment.title
    return Section(run, title, tables, {name: partial(figures.FIGURES[name], run) for name in experiment.figures})


def write(paths: Sequence[Path], page: Path, title: str = "Results") -> list[Path]:
    """Write a Markdown page on runs, and next to it a folder of the same name with a CSV per table and all figures.

    Comparisons with the paper on the same images come first, then the runs, then comparisons of our own systems.
    Returns the files written.
    """
    sections = [section(path) for path in paths]
    beside = page.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    written = [page]
    text = [f"# {title}", "Made by `bemi-lab report` from runs of `bemi-lab reproduce`."]

    def show(table: Table, name: str, heading: str = "") -> None:
        """Add a table with its heading, unless it is empty, and write it as CSV."""
        if table.rows:
            path = beside / f"{name}.csv"
            path.write_text(table.csv(), encoding="utf-8")
            written.append(path)
            text.append(f"{heading}{table.markdown()}\n([as CSV]({beside.name}/{path.name}))")

    runs = [made.run for made in sections if made.run.cells]
    show(same_images.beside_the_paper(runs), "same-images", "## On the paper's images and on random ones\n\n")
    for made in sections:
        run = made.run.store.name
        text.append(f"## {made.title}\n\n{made.conditions}")
        for name, table in made.tables.items():
            show(table, f"{run}-{name}")
        for name, draw in made.figures.items() if figures.available() else ():
            path = beside / f"{run}-{name}.svg"
            path.write_bytes(figures.as_svg(draw()))
            written.append(path)
            text.append(f"![{made.title}: {name}]({beside.name}/{path.name})")
    show(same_images.own_systems(runs), "own-systems", "## Our own systems on the same images\n\n")
    page.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return written


def _samples(run: Run) -> str:
    """Number and kind of samples in words."""
    if not run.cells:
        return f"{len(run.systems)} models, each on one core"
    if run.images == PAPER_IMAGES:
        return f"{run.samples} samples with the paper's images, consecutive ones of each class"
    disjoint = all(r["disjoint_samples"] for c in run.cells for r in c.records)
    kind = "disjoint" if disjoint else "independent"
    return f"{run.samples} {kind} random samples, seed {run.settings['seed']}"


def _packages(run: Run) -> dict[str, list[str]]:
    """Versions of other packages; visits may have had different ones, or lacked some."""
    found: dict[str, list[str]] = {}
    for visit in run.visits:
        for name, version in visit.get("packages", {}).items():
            if version not in found.setdefault(name, []):
                found[name].append(version)
    return found
