"""``bemi-lab bench``: measure engines, exports and whole classifiers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi_lab.benchmarks import BENCHMARKS


def add_command(commands: Any) -> None:
    command = commands.add_parser("bench", help="run benchmarks")
    command.set_defaults(example="bemi-lab bench table --pairs 5      # the gap table on 5 of the 45 pairs")
    benchmarks = command.add_subparsers(dest="benchmark", required=True, metavar="benchmark")
    for name, (_, words) in BENCHMARKS.items():
        chosen = benchmarks.add_parser(name, help=words, description=words)
        _add_options(chosen)
        if name == "middle":
            _add_solvers(chosen)
    _add_options(benchmarks.add_parser("all", help="all of the above; hours"))
    words = "compare weights, bounds, labels and C code with those of another version of the code"
    sameness = benchmarks.add_parser("sameness", help=words, description=words)
    sameness.add_argument("output", type=Path, metavar="OUT.json", help="file to write")
    sameness.add_argument("--against", type=Path, metavar="OLD.json", help="an earlier output to compare with")
    sameness.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds this text")
    sameness.set_defaults(run=_run_sameness)


def _add_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--engine", default="decomposition", help="engine to measure (default: %(default)s)")
    add("--seconds", type=float, default=10.0, metavar="S", help="time limit per network (default: %(default)s)")
    add("--seeds", type=_integers, default=(0,), metavar="0,1,..", help="draws of rows (default: 0)")
    add("--pairs", type=_count, metavar="N", help="class pairs, evenly spaced, where pairs are trained one by one")
    only = "only cells whose name begins like this; * matches anything"
    add("--only", action="append", default=[], metavar="TEXT", help=only)
    add("--output", type=Path, default=Path("runs/bench"), metavar="DIR", help="default: %(default)s")
    add("--read", action="store_true", help="measure nothing, make the tables from the lines in DIR")
    command.set_defaults(run=run, solvers=(), solver_seconds=0.0)


def _add_solvers(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    words = "solvers to run beside the engine, on the whole-stage program"
    add("--solvers", type=_words, default=(), metavar="NAME,..", help=words)
    words = "their time limit per network (default: %(default)s)"
    add("--solver-seconds", type=float, default=60.0, metavar="S", help=words)


def run(options: argparse.Namespace) -> int:
    from bemi_lab.benchmarks.frame import Settings
    from bemi_lab.benchmarks.frame import run as run_benchmarks

    names = list(BENCHMARKS) if options.benchmark == "all" else [options.benchmark]
    only, beside = tuple(options.only), (options.solvers, options.solver_seconds)
    settings = Settings(options.engine, options.seconds, options.seeds, options.pairs, only, *beside)
    run_benchmarks(names, settings, options.output, read=options.read)
    return 0


def _run_sameness(options: argparse.Namespace) -> int:
    from bemi_lab.benchmarks import sameness

    return sameness.run(options.output, against=options.against, only=options.only)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count
