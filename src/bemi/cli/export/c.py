"""``bemi export c``: C99 for small devices."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi.cli import choices
from bemi.cli.export.folders import check_folder, show_costs
from bemi.cli.options import add_json

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
    from bemi import Smoothing, load
    from bemi.export import c

    check_folder(options)
    made = c.write(
        load(options.model),
        options.output,
        optimize=options.optimize,
        input_type=options.input_type,
        smoothing=None if options.smooth is None else Smoothing(*options.smooth),
    )
    caption = "at most, on a Cortex-M3 and compiled with gcc -Os"
    show_costs(options, ("bemi_model.h", "bemi_model.c", "main.c"), made.costs, COSTS, caption)
    return 0
