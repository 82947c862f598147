"""``bemi export onnx``: an ONNX file of integer operators."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi.cli.options import add_json
from bemi.cli.output import check_writable, show


def add_command(targets: Any, **options: Any) -> None:
    command = targets.add_parser("onnx", **options)
    command.set_defaults(run=run, example="bemi export onnx model.bemi -o model.onnx")
    command.add_argument("model", type=Path)
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="ONNX file to write")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    from bemi import load
    from bemi.export import onnx

    check_writable(options.output)
    ensemble = load(options.model).ensemble_
    onnx.write(ensemble, options.output)
    low, high = onnx.input_range(ensemble)
    result = {"file": str(options.output), "bytes": options.output.stat().st_size, "input_range": (low, high)}
    table = Table(title=f"{result['file']}: {result['bytes']} bytes", show_header=False)
    table.add_row("x", f"{ensemble.inputs.features} integers in {low}..{high}")
    table.add_row("label", "class index, -1 for unclassified")
    table.add_row("counts", f"votes for each of {len(ensemble.classes)} classes")
    show(options, result, table)
    return 0
