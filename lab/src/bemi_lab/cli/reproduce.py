"""``bemi-lab reproduce``: run the paper's experiments."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli import program
from bemi.cli.options import add_json, add_many_machines
from bemi.cli.output import on_cluster, progress_wanted, show
from bemi.engines import ENGINES
from bemi.solvers import SOLVERS
from bemi_lab.experiments import spec, subjects

if TYPE_CHECKING:
    from rich.table import Table

    from bemi_lab.experiments import table
    from bemi_lab.experiments.spec import Experiment


def add_command(commands: Any) -> None:
    command = program.add(commands, "reproduce", "run the paper's experiments")
    command.set_defaults(run=run, example="bemi-lab reproduce exp3a --quick")
    add = command.add_argument
    add("experiments", nargs="+", metavar="NAME", help=f"one or more of {', '.join(spec.names())}, or all")
    add("--samples", type=int, metavar="N", help="draws of training rows per cell (default: 5, the paper's)")
    add("--engine", default=spec.Settings.engine, help=f"how stages are solved: {' or '.join(ENGINES)}")
    add("--solver", default=spec.Settings.solver, help=f"MILP solver: {' or '.join(SOLVERS)}")
    add("--time-limit", type=float, metavar="S", help="seconds per network (default: 10)")
    add(
        "--system-time-limit",
        type=float,
        metavar="S",
        help="seconds for each of exp2's other systems, instead of those in its file",
    )
    add(
        "--paper-limits",
        action="store_true",
        help="use the paper's time limits: 160 s to an hour per network, two hours per other system",
    )
    add("--node-limit", type=int, metavar="N", help="branch-and-bound nodes per stage")
    add(
        "--gap",
        type=float,
        default=spec.Settings.gap,
        help="stop a stage once proven within this gap (default: 0.01; sm 0, mw 0.1)",
    )
    add("--dataset", help="use another data set than the paper's")
    add(
        "--images",
        choices=spec.IMAGES,
        help="training images: the paper's, or random ones drawn by --seed; without this option, the paper's wherever "
        "they are known, but random ones with --quick and --dataset",
    )
    add("--seed", type=int, default=spec.Settings.seed, help="seed of random samples (default: 0)")
    add("--jobs", type=int, default=-1, metavar="N", help="networks trained at the same time (default: one per core)")
    add(
        "--run",
        type=Path,
        default=Path("runs"),
        dest="folder",
        metavar="DIR",
        help="folder of the runs (default: runs)",
    )
    add_many_machines(command)
    small = "a small version of every table and figure, on bundled data where the paper's is not here"
    add("--quick", action="store_true", help=small)
    add("--pack", action="store_true", help="also write each run as one file, DIR/NAME.jsonl.gz, without its networks")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    names = spec.names() if options.experiments == ["all"] else options.experiments
    chosen = [spec.load(name, quick=options.quick) for name in names]
    if options.samples is not None and options.samples < 1:
        raise ValueError(f"--samples must be at least 1, got {options.samples}")
    for experiment in chosen:
        for remark in subjects.remarks(experiment):
            print(f"bemi-lab: {remark}", file=sys.stderr)
    paths = []
    for experiment in chosen:
        paths.append(_run_one(experiment, options))
        if not options.json and options.shard is None:
            _show_briefly(paths[-1], options)
    if options.json:
        show(options, {"runs": [str(path) for path in paths]})
    elif options.shard is not None:
        print("this part is done; once all are, the same command without --shard tests the ensembles")
    else:
        print(f"tables and figures: bemi-lab report {' '.join(map(str, paths))}")
    return 0


def _show_briefly(path: Path, options: argparse.Namespace) -> None:
    """The first table of a run, in the terminal."""
    from bemi_lab.experiments.report import section
    from bemi_lab.experiments.store import NoResults

    try:
        made = section(path)
        for content in list(made.tables.values())[:1]:
            show(options, {}, _in_terminal(content, made.title))
    except NoResults:
        # Remarks have said what is left out: here it is everything.
        print(f"bemi-lab: nothing of {path.name} can run here", file=sys.stderr)


def _run_one(experiment: Experiment, options: argparse.Namespace) -> Path:
    """Run an experiment and return its folder, or its file if it is packed."""
    from bemi_lab.experiments.run import reproduce
    from bemi_lab.experiments.store import NoResults, Store

    settings = _settings(experiment, options)
    usual = settings.images == _usual_images(experiment, options)
    folder: Path = options.folder / (experiment.name if usual else f"{experiment.name}-{settings.images}")
    try:
        with on_cluster(options.cluster):
            reproduce(
                experiment,
                settings,
                folder,
                samples=options.samples,
                n_jobs=options.jobs,
                show=progress_wanted(options),
                shard=options.shard or (1, 1),
            )
    except KeyboardInterrupt:
        print(f"bemi-lab: finished work is kept in {folder}; repeat the command to continue", file=sys.stderr)
        raise
    if options.pack and options.shard is None:
        with suppress(NoResults):
            return Store(folder).pack()
    return folder


def _settings(experiment: Experiment, options: argparse.Namespace) -> spec.Settings:
    limits = (options.time_limit, experiment.time_limit, spec.Settings.time_limit)
    seconds = next(limit for limit in limits if limit is not None)
    return spec.Settings(
        dataset=options.dataset or _dataset(experiment, quick=options.quick),
        engine=options.engine,
        solver=options.solver,
        time_limit=experiment.paper.seconds if options.paper_limits else seconds,
        node_limit=options.node_limit,
        gap=options.gap,
        seed=options.seed,
        system_seconds=_system_seconds(experiment, options),
        images=options.images or _usual_images(experiment, options),
    )


def _usual_images(experiment: Experiment, options: argparse.Namespace) -> str:
    """The paper's images, where they are known and the run is the paper's experiment."""
    as_in_the_paper = experiment.paper.sizes is not None and options.dataset is None and not options.quick
    return spec.PAPER_IMAGES if as_in_the_paper else spec.RANDOM_IMAGES


def _system_seconds(experiment: Experiment, options: argparse.Namespace) -> float | None:
    if options.system_time_limit is not None and options.system_time_limit <= 0:
        raise ValueError(f"--system-time-limit must be positive seconds, got {options.system_time_limit:g}")
    if experiment.system_seconds is None:
        return None
    return experiment.paper.system_seconds if options.paper_limits else options.system_time_limit


def _dataset(experiment: Experiment, *, quick: bool) -> str:
    """The paper's data set; in a quick run without its files, one from scikit-learn."""
    from bemi_lab.datasets import is_here

    if quick and experiment.dataset in spec.BUNDLED and not is_here(experiment.dataset):
        return spec.BUNDLED[experiment.dataset]
    return experiment.dataset


def _in_terminal(content: table.Table, title: str) -> Table:
    """A table that fits a terminal: means without their ranges."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bemi_lab.experiments.table import Spread, in_text

    table = Table(title=title, box=SIMPLE_HEAD)
    for heading in content.headings:
        # A list of stages that is cut off tells nothing; numbers fold.
        width = {"system": 24, "remark": 10, "stages": 12}.get(heading)
        table.add_column(heading, justify="left" if width else "right", min_width=width)
    for row in content.rows:
        table.add_row(*[in_text(cell.mean if isinstance(cell, Spread) else cell) for cell in row])
    return table
