"""Commands on experiments: reproduce them, report on them, and get their data."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bemi import datasets, solvers
from bemi.baselines.hybrids import CP
from bemi.cli.output import add_json, add_many_machines, on_cluster, progress_wanted, show
from bemi.engines import ENGINES
from bemi.experiments import figures, report, results, spec, tables
from bemi.experiments.run import Settings, reproduce


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser."""
    run = commands.add_parser("reproduce", help="run the paper's experiments")
    run.set_defaults(run=_reproduce)
    add = run.add_argument
    add("experiments", nargs="+", metavar="NAME", help=f"one or more of {', '.join(spec.names())}, or all")
    add("--samples", type=int, metavar="N", help="draws of training rows per cell (default: 5, the paper's)")
    add("--engine", default="decomposition", help=f"one of {', '.join(ENGINES)}")
    add("--solver", default="highs", help=f"one of {', '.join(solvers.SOLVERS)}")
    add("--time-limit", type=float, metavar="S", help="seconds per network (default: 10)")
    add(
        "--system-time-limit",
        type=float,
        metavar="S",
        help="seconds for each of exp2's other systems, not those of its file",
    )
    add(
        "--paper-limits",
        action="store_true",
        help="give every network the paper's time, 160 s to an hour, and other systems theirs, two hours",
    )
    add("--node-limit", type=int, metavar="N", help="branch-and-bound nodes per stage")
    add("--gap", type=float, default=0.01, help="stop a stage once proven within this gap (default: 0.01)")
    add("--dataset", help="use another data set than the paper's")
    add("--seed", type=int, default=0, help="seed of the samples (default: 0)")
    add("--jobs", type=int, default=-1, metavar="N", help="networks trained at the same time (default: one per core)")
    add(
        "--run",
        type=Path,
        default=Path("runs"),
        dest="folder",
        metavar="DIR",
        help="where runs are kept (default: runs)",
    )
    add_many_machines(run)
    add("--quick", action="store_true", help="a small version of every table and figure, on bundled data if need be")
    add_json(run)

    page = commands.add_parser("report", help="tables and figures of finished runs")
    page.set_defaults(run=_report)
    page.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders, as bemi reproduce makes them")
    page.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.md",
        help="page to write (default: report.md in the first run's folder)",
    )
    add_json(page)

    data = commands.add_parser("data", help="list the data sets, or make sure that one is on this machine")
    data.set_defaults(run=_data)
    data.add_argument("name", nargs="?", help="data set to fetch")
    add_json(data)


def _reproduce(options: argparse.Namespace) -> int:
    names = spec.names() if options.experiments == ["all"] else options.experiments
    chosen = [spec.load(name, quick=options.quick) for name in names]
    if options.samples is not None and options.samples < 1:
        raise ValueError(f"--samples must be at least 1, got {options.samples}")
    if any(experiment.systems for experiment in chosen) and CP not in solvers.installed():
        print(
            "bemi: systems that need CP-SAT are left out; install it with: pip install 'bemi[cpsat]'", file=sys.stderr
        )
    folders: list[Path] = []
    for experiment in chosen:
        limits = (options.time_limit, experiment.time_limit, Settings.time_limit)
        seconds = next(limit for limit in limits if limit is not None)
        settings = Settings(
            dataset=options.dataset or _dataset(experiment, quick=options.quick),
            engine=options.engine,
            solver=options.solver,
            time_limit=experiment.paper_seconds if options.paper_limits else seconds,
            node_limit=options.node_limit,
            gap=options.gap,
            seed=options.seed,
            system_seconds=_system_seconds(experiment, options),
        )
        folder = options.folder / experiment.name
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
            print(f"bemi: what is finished stays in {folder}; the same command goes on from there", file=sys.stderr)
            raise
        folders.append(folder)
        if not options.json and options.shard is None:
            run = results.read(folder)
            show(options, {}, _accuracy(run))
            if run.systems:
                show(options, {}, _systems(run))
    if options.json:
        show(options, {"runs": [str(folder) for folder in folders]})
    elif options.shard is not None:
        print("this part is done; when all are, the same command without --shard tests the ensembles")
    else:
        print(f"tables and figures: bemi report {' '.join(map(str, folders))}")
    return 0


def _system_seconds(experiment: spec.Experiment, options: argparse.Namespace) -> float | None:
    if options.system_time_limit is not None and options.system_time_limit <= 0:
        raise ValueError(f"--system-time-limit must be positive seconds, got {options.system_time_limit:g}")
    if experiment.systems is None:
        return None
    if options.paper_limits:
        return experiment.systems.paper_seconds
    return options.system_time_limit


def _dataset(experiment: spec.Experiment, *, quick: bool) -> str:
    """The paper's data; in a quick run without its files a set that comes with scikit-learn."""
    here = {listing.name for listing in datasets.available() if listing.here}
    if quick and experiment.dataset not in here:
        return spec.BUNDLED[experiment.dataset]
    return experiment.dataset


def _accuracy(run: results.Run) -> Table:
    """What fits a terminal of the accuracy table: means, and the alternatives that come closest to the paper's own."""
    left_out = {"ours, ties by margin", "paper's", "logistic regression", "1-NN"}
    return _in_terminal(tables.accuracy(run), run.experiment.title, left_out)


def _in_terminal(content: tables.Table, title: str, left_out: set[str]) -> Table:
    shown = [position for position, heading in enumerate(content.headings) if heading not in left_out]
    table = Table(title=title, box=SIMPLE_HEAD)
    for position in shown:
        width = {"system": 24, "remark": 10}.get(content.headings[position])
        table.add_column(content.headings[position], justify="left" if width else "right", min_width=width)
    for row in content.rows:
        means = [cell.mean if isinstance(cell, results.Spread) else cell for cell in row]
        table.add_row(*[tables.shown(means[position]) for position in shown])
    return table


def _systems(run: results.Run) -> Table:
    """What fits a terminal of the table of other systems: those that were run."""
    content = tables.other_systems(run)
    ran = [row for row in content.rows if row[content.headings.index("by")] != tables.PUBLISHED]
    left_out = {"by", "samples", "training fit", "links"}
    return _in_terminal(replace(content, rows=ran), "Beside other systems", left_out)


def _report(options: argparse.Namespace) -> int:
    page = options.output or options.runs[0] / "report.md"
    written = report.write(options.runs, page)
    if not figures.available():
        print("bemi: figures need matplotlib: pip install 'bemi[figures]'", file=sys.stderr)
    show(options, {"page": str(page), "files": [str(path) for path in written]})
    if not options.json:
        print(f"{page} and {len(written) - 1} tables and figures written")
    return 0


def _data(options: argparse.Namespace) -> int:
    listings = datasets.available()
    if options.name is not None:
        folders = datasets.fetch(options.name)
        show(options, {"name": options.name, "folders": [str(folder) for folder in folders]})
        if not options.json:
            listing = next(item for item in listings if item.name == options.name)
            print(f"{options.name} is here: {', '.join(map(str, folders)) or listing.place}")
            print(f"source: {listing.source}\nlicence: {listing.licence}")
        return 0
    table = Table(title="Data sets")
    for heading in ("name", "rows", "features", "classes", "where"):
        table.add_column(heading, justify="right" if heading in ("rows", "features", "classes") else "left")
    for item in listings:
        table.add_row(item.name, str(item.rows), str(item.features), str(item.classes), item.place)
    show(options, {"datasets": [vars(item) for item in listings]}, table)
    return 0
