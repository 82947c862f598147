"""Commands that write models for other places than Python."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from bemi.cli.output import add_json, show
from bemi.export import c
from bemi.export.c import OPTIMIZE
from bemi.export.inputs import TYPES
from bemi.modelfile import load


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser."""
    export = commands.add_parser("export", help="write a model for other places than Python")
    targets = export.add_subparsers(dest="target", required=True, metavar="target")

    for_c = targets.add_parser("c", help="C99 for small devices: integers only, nothing allocated, no library called")
    for_c.set_defaults(run=_c)
    for_c.add_argument("model", type=Path)
    for_c.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    for_c.add_argument("--optimize", choices=OPTIMIZE, default="speed", help="what to save (default: %(default)s)")
    for_c.add_argument(
        "--input-type", choices=TYPES, help="type of an input (default: the smallest for the training rows)"
    )
    add_json(for_c)

    onnx = targets.add_parser("onnx", help="an ONNX file with integer operators alone")
    onnx.set_defaults(run=_onnx)
    onnx.add_argument("model", type=Path)
    onnx.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="ONNX file to write")
    add_json(onnx)


def _c(options: argparse.Namespace) -> int:
    if options.output.exists() and not options.output.is_dir():
        raise ValueError(f"{options.output} is a file; give the name of a folder")
    made = c.write(load(options.model), options.output, optimize=options.optimize, input_type=options.input_type)
    costs = asdict(made.costs)
    table = Table(title=f"{options.output}: bemi_model.h, bemi_model.c, main.c", show_header=False)
    for name, text in COSTS.items():
        table.add_row(text, str(costs[name]))
    table.caption = "at most, on a Cortex-M3 and compiled with gcc -Os"
    show(options, {"folder": str(options.output), **costs}, table)
    return 0


COSTS = {
    "flash": "flash, bytes",
    "tables": "of these, tables",
    "stack": "stack, bytes",
    "additions": "additions of inputs",
    "instructions": "instructions",
    "without_tie": "instructions without a tie",
}
"""Rows of the table that ``bemi export c`` shows."""


def _onnx(options: argparse.Namespace) -> int:
    # Not everyone has the package that it needs.
    from bemi.export import onnx

    _check_writable(options.output)
    classifier = load(options.model)
    onnx.write(classifier, options.output)
    result = {"file": str(options.output), "bytes": options.output.stat().st_size}
    result |= {"input_range": onnx.input_range(classifier)}
    low, high = result["input_range"]
    table = Table(title=f"{result['file']}: {result['bytes']} bytes", show_header=False)
    table.add_row("x", f"{classifier.n_features_in_} integers in {low}..{high}")
    table.add_row("label", "class index, -1 for unclassified")
    table.add_row("counts", f"votes for each of {len(classifier.classes_)} classes")
    show(options, result, table)
    return 0


def _check_writable(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"the folder of {path} does not exist")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
