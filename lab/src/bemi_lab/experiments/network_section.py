"""The report on a run that trained networks: which tables and figures, and under what conditions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from bemi_lab.experiments import figures, tables
from bemi_lab.experiments.results import Run, read
from bemi_lab.experiments.same_images import IMAGES_IN_WORDS
from bemi_lab.experiments.section import Section, duration
from bemi_lab.experiments.spec import PAPER_IMAGES, Experiment, Settings
from bemi_lab.experiments.tables import TABLES, Table


def section(folder: Path) -> Section:
    run = read(folder)
    brief = {_title(run): _brief_accuracy(run)}
    if run.systems:
        brief["Beside other systems"] = _brief_systems(run)
    return Section(
        title=_title(run),
        conditions=_conditions(run),
        tables={name: table for name in run.experiment.tables if (table := TABLES[name](run)).rows},
        figures={name: partial(figures.FIGURES[name], run) for name in run.experiment.figures},
        brief=brief,
        quotes_paper=True,
        run=run,
    )


def _brief_accuracy(run: Run) -> Table:
    """The accuracy table, reduced to fit a terminal: the alternatives that come closest to the paper's."""
    return tables.accuracy(run).without({"ours, ties by margin", "paper's", "logistic regression", "1-NN"})


def _brief_systems(run: Run) -> Table:
    """The table of other systems, reduced to fit a terminal: those that were run."""
    content = tables.other_systems(run)
    ran = [row for row in content.rows if row[content.headings.index("by")] != tables.PUBLISHED]
    return replace(content, rows=ran).without({"by", "samples", "training fit", "links"})


def _title(run: Run) -> str:
    """The experiment's title, the images if there is a choice, and the engine if it is not the default."""
    parts = [f"{IMAGES_IN_WORDS[run.images]} images"] if run.experiment.paper_sizes is not None else []
    parts += [f"{run.settings['engine']} engine"] if run.settings["engine"] != Settings.engine else []
    return f"{run.experiment.title} ({', '.join(parts)})" if parts else run.experiment.title


def _conditions(run: Run) -> str:
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
    if experiment.paper and run.on_paper_data and not run.on_paper_images:
        lines.append("The paper's samples are others, so the difference from its accuracy is mostly that of the draw.")
    if run.visits:
        # An interrupted run did not record its seconds.
        timed = sum(visit["networks"] for visit in run.visits)
        which = f"{networks} networks" if timed >= networks else f"{networks} networks, of which the last {timed}"
        which += f" and {len(run.systems)} runs of other systems" if run.systems else ""
        workers = machine["cores"] if machine["jobs"] == -1 else machine["jobs"]
        lines.append(
            f"{which} in {duration(seconds)} with {workers} workers on {machine['cores']} cores "
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
    if not experiment.paper:
        return "Not in the paper."
    return f"In the paper: {experiment.source}; {experiment.paper_seconds:g} s per network on 8 cores, five samples."
