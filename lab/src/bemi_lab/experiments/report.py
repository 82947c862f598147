"""Report pages: sections of runs, with their tables, figures and conditions.  Only reads results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bemi_lab.experiments import comparison_tables, figures, network_tables, same_images, system_tables
from bemi_lab.experiments.results import Run, read
from bemi_lab.experiments.same_images import IMAGES_IN_WORDS
from bemi_lab.experiments.spec import NETWORKS, PAPER_IMAGES, Experiment, Settings
from bemi_lab.experiments.table import Table

GRID_TABLES = {NETWORKS: system_tables.TABLES, **comparison_tables.TABLES}
"""Tables of grids by name, for each kind of experiments."""


@dataclass(frozen=True)
class Section:
    """What a page shows of a run.

    Attributes
    ----------
    run
        The run.
    title, conditions
        Heading; what was run, how and on which machine.
    tables
        To show, by name.
    figures
        Functions that draw a figure, or return None if there is nothing to draw, by name.
    brief
        Tables with their titles as a terminal shows them.
    """

    run: Run
    title: str
    conditions: str
    tables: dict[str, Table]
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    brief: dict[str, Table] = field(default_factory=dict)


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
    if not experiment.cells:
        brief = {
            f"{experiment.title}, {name}": tables[name].without(left_out)
            for name, left_out in comparison_tables.BRIEF[experiment.kind].items()
            if name in tables
        }
        return Section(run, experiment.title, _comparison_conditions(run), tables, brief=brief)
    title = _network_title(run)
    brief = {title: _brief_accuracy(run)}
    if run.systems:
        brief["Beside other systems"] = _brief_systems(run)
    drawn = {name: partial(figures.FIGURES[name], run) for name in experiment.figures}
    return Section(run, title, _network_conditions(run), tables, drawn, brief)


def write(paths: Sequence[Path], page: Path, title: str = "Results") -> list[Path]:
    """Write a Markdown page on runs, and next to it a folder of the same name with a CSV per table and all figures.

    Comparisons with the paper on the same images come first, then the runs, then comparisons of our own systems.
    Returns the files written.
    """
    sections = [section(path) for path in paths]
    beside = page.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    written = [page]
    runs = [made.run for made in sections if made.run.cells]
    text = [f"# {title}", _introduction(quotes_paper=bool(runs))]
    text += _across(same_images.beside_the_paper(runs), "On the paper's images and on random ones", beside, written)
    for made in sections:
        store = made.run.store
        text.append(f"## {made.title}\n\n{made.conditions}")
        for name, table in made.tables.items():
            text.append(_shown(table, beside / f"{store.name}-{name}.csv", written))
        for name, draw in made.figures.items() if figures.available() else ():
            path = beside / f"{store.name}-{name}.svg"
            figure = draw()
            if figure is not None:
                path.write_bytes(figures.as_svg(figure))
                written.append(path)
            # Without its network files a run cannot be drawn again; what was drawn from them before still holds.
            if path.exists():
                text.append(f"![{made.title}: {name}]({beside.name}/{path.name})")
    text += _across(same_images.own_systems(runs), "Our own systems on the same images", beside, written)
    page.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return written


def _across(table: Table, title: str, beside: Path, written: list[Path]) -> list[str]:
    """A section with a table about several runs; none if it is empty."""
    return [f"## {title}\n\n{_shown(table, beside / f'{table.name}.csv', written)}"] if table.rows else []


def _shown(table: Table, path: Path, written: list[Path]) -> str:
    """A table as Markdown, also written as CSV."""
    path.write_text(table.csv(), encoding="utf-8")
    written.append(path)
    return f"{table.markdown()}\n([as CSV]({path.parent.name}/{path.name}))"


def _introduction(*, quotes_paper: bool) -> str:
    made = "Made by `bemi-lab report` from the runs named below, which `bemi-lab reproduce` made."
    paper = (
        " *The paper* is Bernardelli, Gualandi, Milanesi, Lau, Yorke-Smith, *Multi-Objective Linear Ensembles for "
        "Robust and Sparse Training of Few-Bit Neural Networks*; its numbers are copied from the figures and tables "
        "that each section names."
    )
    return made + paper if quotes_paper else made


def _brief_accuracy(run: Run) -> Table:
    """The accuracy table, reduced to fit a terminal: the alternatives that come closest to the paper's."""
    return network_tables.accuracy(run).without({"ours, ties by margin", "paper's", "logistic regression", "1-NN"})


def _brief_systems(run: Run) -> Table:
    """The table of other systems, reduced to fit a terminal: those that were run."""
    content = system_tables.other_systems(run, run.experiment.grids[0])
    ran = [row for row in content.rows if row[content.headings.index("by")] != system_tables.PUBLISHED]
    return replace(content, rows=ran).without({"by", "samples", "training fit", "links"})


def _network_title(run: Run) -> str:
    """The experiment's title, the images if there is a choice, and the engine if it is not the default."""
    parts = [f"{IMAGES_IN_WORDS[run.images]} images"] if run.experiment.paper.sizes is not None else []
    parts += [f"{run.settings['engine']} engine"] if run.settings["engine"] != Settings.engine else []
    return f"{run.experiment.title} ({', '.join(parts)})" if parts else run.experiment.title


def _network_conditions(run: Run) -> str:
    settings, experiment = run.settings, run.experiment
    seconds = sum(visit["seconds"] for visit in run.visits)
    networks = sum(len(r["networks"]) for c in run.cells for r in c.records)
    machine = run.visits[-1] if run.visits else {}
    lines = [
        experiment.question,
        _in_the_paper(experiment),
        f"Here: data `{settings['dataset']}`, engine {settings['engine']}, at most {settings['time_limit']:g} s per "
        f"network on one core, gap {settings['gap']:g}, {_samples(run)}.",
    ]
    if experiment.paper.values and run.on_paper_data and not run.on_paper_images:
        lines.append("The paper's samples are others, so the difference from its accuracy is mostly that of the draw.")
    if run.visits:
        # An interrupted run did not record its seconds.
        timed = sum(visit["networks"] for visit in run.visits)
        which = f"{networks} networks" if timed >= networks else f"{networks} networks, of which the last {timed}"
        which += f" and {len(run.systems)} runs of other systems" if run.systems else ""
        workers = machine["cores"] if machine["jobs"] == -1 else machine["jobs"]
        lines.append(
            f"{which} in {_duration(seconds)} with {workers} workers on {machine['cores']} cores "
            f"({machine['solver']}, Python {machine['python']}, bemi {machine['bemi']}, {machine['started'][:10]})."
        )
    if not run.on_paper_data:
        lines.append(f"The paper used {experiment.dataset}, so its numbers are not shown.")
    return " ".join(lines)


def _samples(run: Run) -> str:
    """Number and kind of samples in words."""
    if run.images == PAPER_IMAGES:
        return f"{run.samples} samples with the paper's images, consecutive ones of each class"
    disjoint = all(r["disjoint_samples"] for c in run.cells for r in c.records)
    kind = "disjoint" if disjoint else "independent"
    return f"{run.samples} {kind} random samples, seed {run.settings['seed']}"


def _in_the_paper(experiment: Experiment) -> str:
    if not experiment.paper.values:
        return "Not in the paper."
    return f"In the paper: {experiment.source}; {experiment.paper.seconds:g} s per network on 8 cores, five samples."


def _comparison_conditions(run: Run) -> str:
    models = len(run.systems)
    lines = [
        run.experiment.question,
        "Not in the paper.",
        f"Ours: engine {run.settings['engine']}, at most {run.settings['time_limit']:g} s per network, gap "
        f"{run.settings['gap']:g}; every model on one core.",
    ]
    if run.visits:
        last = run.visits[-1]
        packages = ", ".join(f"{name} {' and '.join(versions)}" for name, versions in _packages(run).items())
        seconds = _duration(sum(visit["seconds"] for visit in run.visits))
        lines.append(
            f"{models} models in {seconds} on {last['cores']} cores ({last['solver']}, Python {last['python']}, bemi "
            f"{last['bemi']}, {packages}, {last['started'][:10]})."
        )
    return " ".join(lines)


def _packages(run: Run) -> dict[str, list[str]]:
    """Versions of other packages; visits may have had different ones, or lacked some."""
    found: dict[str, list[str]] = {}
    for visit in run.visits:
        for name, version in visit.get("packages", {}).items():
            if version not in found.setdefault(name, []):
                found[name].append(version)
    return found


def _duration(seconds: float) -> str:
    """Seconds as text."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
