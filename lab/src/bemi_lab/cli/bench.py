"""``bemi-lab bench``: measure engines, exports and whole classifiers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

NAMES = (
    *("table", "sidebyside", "growth", "light", "ensemble", "predict"),
    *("devices", "hardware", "scaling", "chances", "exact"),
)
"""The benchmarks; a test compares them with those that there are, which are slow to import."""


def add_command(commands: Any) -> None:
    command = commands.add_parser("bench", help="run benchmarks")
    command.set_defaults(run=run, example="bemi-lab bench table --pairs 5      # the gap table on 5 of the 45 pairs")
    add = command.add_argument
    add("names", nargs="*", metavar="NAME", help=f"which benchmarks: {', '.join(NAMES)} (default: all; hours)")
    add("--engine", default="decomposition", help="engine to measure (default: %(default)s)")
    add("--seconds", type=float, default=10.0, metavar="S", help="time limit per network (default: %(default)s)")
    add("--seeds", type=_integers, default=(0,), metavar="0,1,..", help="draws of images (default: 0)")
    add(
        "--pairs",
        type=_count,
        metavar="N",
        help="class pairs, evenly spaced (default: table all, others 3; not for ensemble, predict, devices)",
    )
    only = "only cells whose name begins like this; * matches anything"
    add("--only", action="append", default=[], metavar="TEXT", help=only)
    add("--output", type=Path, default=Path("runs/bench"), metavar="DIR", help="default: %(default)s")
    add("--read", action="store_true", help="measure nothing, make the tables from the lines in DIR")


def run(options: argparse.Namespace) -> int:
    from bemi_lab.benchmarks.common import Settings
    from bemi_lab.benchmarks.run import run as run_benchmarks

    for name in options.names:
        if name not in NAMES:
            raise ValueError(f"unknown benchmark {name!r}; known: {', '.join(NAMES)}")
    settings = Settings(options.engine, options.seconds, options.seeds, options.pairs, tuple(options.only))
    run_benchmarks(options.names or NAMES, settings, options.output, read=options.read)
    return 0


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count
