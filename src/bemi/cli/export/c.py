"""``bemi export c``: C99 for small devices."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bemi.cli import choices
from bemi.cli.options import add_json
from bemi.cli.output import show

COSTS = {
    "flash": "flash, bytes",
    "tables": "of these, tables",
    "stack": "stack, bytes",
    "static": "static RAM, bytes",
    "additions": "additions of inputs",
    "instructions": "instructions",
    "without_tie": "instructions without a tie",
}
"""Rows of the table of costs."""


def add_command(targets: Any, **options: Any) -> None:
    command = targets.add_parser("c", **options)
    command.set_defaults(run=run, example="bemi export c model.bemi -o device")
    add = command.add_argument
    add("model", type=Path)
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    add("--optimize", choices=choices.C_GOALS, default="speed", help="what to optimise for (default: %(default)s)")
    smallest = "type of an input (default: the smallest for the training rows)"
    add("--input-type", choices=choices.C_INPUT_TYPES, help=smallest)
    add(
        "--smooth",
        type=_smoothing,
        metavar="LENGTH,VOTES",
        help="add bemi_smooth: the last LENGTH labels vote, and a label needs VOTES of them (default: none)",
    )
    add_json(command)


def _smoothing(text: str) -> tuple[int, int]:
    try:
        length, votes = map(int, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"needs two numbers such as 5,3, got {text!r}") from None
    return length, votes


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    from bemi import Smoothing, load
    from bemi.export import c

    if options.output.exists() and not options.output.is_dir():
        raise ValueError(f"{options.output} is a file; give the name of a folder")
    made = c.write(
        load(options.model),
        options.output,
        optimize=options.optimize,
        input_type=options.input_type,
        smoothing=None if options.smooth is None else Smoothing(*options.smooth),
    )
    costs = asdict(made.costs)
    table = Table(title=f"{options.output}: bemi_model.h, bemi_model.c, main.c", show_header=False)
    for name, text in COSTS.items():
        table.add_row(text, str(costs[name]))
    table.caption = "at most, on a Cortex-M3 and compiled with gcc -Os"
    show(options, {"folder": str(options.output), **costs}, table)
    return 0
