"""``bemi reproduce``: run the paper's experiments."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli.options import add_json, add_many_machines
from bemi.cli.output import on_cluster, progress_wanted, show
from bemi.engines import ENGINES
from bemi.experiments import spec
from bemi.solvers import SOLVERS

if TYPE_CHECKING:
    from rich.table import Table

    from bemi.experiments import results, tables


def add_command(commands: Any) -> None:
    command = commands.add_parser("reproduce", help="run the paper's experiments")
    command.set_defaults(run=run)
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
    add("--gap", type=float, default=spec.Settings.gap, help="stop a stage once proven within this gap (default: 0.01)")
    add("--dataset", help="use another data set than the paper's")
    add("--seed", type=int, default=spec.Settings.seed, help="seed of the samples (default: 0)")
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
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi import solvers
    from bemi.baselines.hybrids import CP
    from bemi.experiments import results

    names = spec.names() if options.experiments == ["all"] else options.experiments
    chosen = [spec.load(name, quick=options.quick) for name in names]
    if options.samples is not None and options.samples < 1:
        raise ValueError(f"--samples must be at least 1, got {options.samples}")
    if any(experiment.systems for experiment in chosen) and CP not in solvers.installed():
        print(
            "bemi: systems that need CP-SAT are left out; install it with: pip install 'bemi[cpsat]'", file=sys.stderr
        )
    folders = []
    for experiment in chosen:
        folders.append(_run_one(experiment, options))
        if not options.json and options.shard is None:
            finished = results.read(folders[-1])
            show(options, {}, _accuracy(finished))
            if finished.systems:
                show(options, {}, _systems(finished))
    if options.json:
        show(options, {"runs": [str(folder) for folder in folders]})
    elif options.shard is not None:
        print("this part is done; once all are, the same command without --shard tests the ensembles")
    else:
        print(f"tables and figures: bemi report {' '.join(map(str, folders))}")
    return 0


def _run_one(experiment: spec.Experiment, options: argparse.Namespace) -> Path:
    """Run an experiment and return its folder."""
    from bemi.experiments.run import reproduce

    folder: Path = options.folder / experiment.name
    try:
        with on_cluster(options.cluster):
            reproduce(
                experiment,
                _settings(experiment, options),
                folder,
                samples=options.samples,
                n_jobs=options.jobs,
                show=progress_wanted(options),
                shard=options.shard or (1, 1),
            )
    except KeyboardInterrupt:
        print(f"bemi: finished work is kept in {folder}; repeat the command to continue", file=sys.stderr)
        raise
    return folder


def _settings(experiment: spec.Experiment, options: argparse.Namespace) -> spec.Settings:
    limits = (options.time_limit, experiment.time_limit, spec.Settings.time_limit)
    seconds = next(limit for limit in limits if limit is not None)
    return spec.Settings(
        dataset=options.dataset or _dataset(experiment, quick=options.quick),
        engine=options.engine,
        solver=options.solver,
        time_limit=experiment.paper_seconds if options.paper_limits else seconds,
        node_limit=options.node_limit,
        gap=options.gap,
        seed=options.seed,
        system_seconds=_system_seconds(experiment, options),
    )


def _system_seconds(experiment: spec.Experiment, options: argparse.Namespace) -> float | None:
    if options.system_time_limit is not None and options.system_time_limit <= 0:
        raise ValueError(f"--system-time-limit must be positive seconds, got {options.system_time_limit:g}")
    if experiment.systems is None:
        return None
    if options.paper_limits:
        return experiment.systems.paper_seconds
    return options.system_time_limit


def _dataset(experiment: spec.Experiment, *, quick: bool) -> str:
    """The paper's data set; in a quick run without its files, one from scikit-learn."""
    from bemi import datasets

    here = {listing.name for listing in datasets.available() if listing.here}
    if quick and experiment.dataset not in here:
        return spec.BUNDLED[experiment.dataset]
    return experiment.dataset


def _accuracy(run: results.Run) -> Table:
    """The accuracy table, reduced to fit a terminal: means, and the alternatives that come closest to the paper's."""
    from bemi.experiments import tables

    left_out = {"ours, ties by margin", "paper's", "logistic regression", "1-NN"}
    return _in_terminal(tables.accuracy(run), run.experiment.title, left_out)


def _systems(run: results.Run) -> Table:
    """The table of other systems, reduced to fit a terminal: those that were run."""
    from bemi.experiments import tables

    content = tables.other_systems(run)
    ran = [row for row in content.rows if row[content.headings.index("by")] != tables.PUBLISHED]
    left_out = {"by", "samples", "training fit", "links"}
    return _in_terminal(replace(content, rows=ran), "Beside other systems", left_out)


def _in_terminal(content: tables.Table, title: str, left_out: set[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bemi.experiments.results import Spread
    from bemi.experiments.tables import in_text

    columns = [position for position, heading in enumerate(content.headings) if heading not in left_out]
    table = Table(title=title, box=SIMPLE_HEAD)
    for position in columns:
        width = {"system": 24, "remark": 10}.get(content.headings[position])
        table.add_column(content.headings[position], justify="left" if width else "right", min_width=width)
    for row in content.rows:
        means = [cell.mean if isinstance(cell, Spread) else cell for cell in row]
        table.add_row(*[in_text(means[position]) for position in columns])
    return table
