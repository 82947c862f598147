"""Make a report page from run folders: only reads results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bemi.experiments import figures
from bemi.experiments.results import Run, read
from bemi.experiments.spec import Experiment, Settings
from bemi.experiments.tables import TABLES


def write(folders: Sequence[Path], page: Path) -> list[Path]:
    """Write a Markdown page on runs, and next to it a folder of the same name with a CSV per table and all figures.

    A run's own ``notes.md``, if there is one, is included unchanged.  Returns the files written.
    """
    runs = [read(folder) for folder in folders]
    beside = page.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    written = [page]
    text = ["# Results", _introduction()]
    for run in runs:
        stem = run.folder.name
        text.append(f"## {_title(run)}\n\n{_conditions(run)}")
        notes = run.folder / "notes.md"
        if notes.exists():
            text.append(notes.read_text(encoding="utf-8").strip())
        for name in run.experiment.tables:
            table = TABLES[name](run)
            path = beside / f"{stem}-{name}.csv"
            path.write_text(table.csv(), encoding="utf-8")
            written.append(path)
            text.append(f"{table.markdown()}\n([as CSV]({beside.name}/{path.name}))")
        for name in run.experiment.figures if figures.available() else ():
            figure = figures.FIGURES[name](run)
            if figure is not None:
                path = beside / f"{stem}-{name}.svg"
                figures.save(figure, path)
                written.append(path)
                text.append(f"![{_title(run)}: {name}]({beside.name}/{path.name})")
    page.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return written


def _introduction() -> str:
    return (
        "Made by `bemi report` from the runs named below, which `bemi reproduce` made. *The paper* is Bernardelli, "
        "Gualandi, Milanesi, Lau, Yorke-Smith, *Multi-Objective Linear Ensembles for Robust and Sparse Training of "
        "Few-Bit Neural Networks*; its numbers are copied from the figures and tables that each section names."
    )


def _title(run: Run) -> str:
    """The experiment's title, and the engine if it is not the default."""
    engine = run.settings["engine"]
    return run.experiment.title if engine == Settings.engine else f"{run.experiment.title} ({engine} engine)"


def _conditions(run: Run) -> str:
    settings, experiment = run.settings, run.experiment
    seconds = sum(visit["seconds"] for visit in run.visits)
    networks = sum(len(r["networks"]) for c in run.cells for r in c.records)
    machine = run.visits[-1] if run.visits else {}
    disjoint = all(r["disjoint_samples"] for c in run.cells for r in c.records)
    lines = [
        experiment.question,
        _in_the_paper(experiment),
        f"Here: data `{settings['dataset']}`, engine {settings['engine']}, at most {settings['time_limit']:g} s per "
        f"network on one core, gap {settings['gap']:g}, seed {settings['seed']}, {run.samples} "
        f"{'disjoint' if disjoint else 'independent'} samples.",
    ]
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


def _in_the_paper(experiment: Experiment) -> str:
    if not experiment.paper:
        return "Not in the paper."
    return f"In the paper: {experiment.source}; {experiment.paper_seconds:g} s per network on 8 cores, five samples."


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
