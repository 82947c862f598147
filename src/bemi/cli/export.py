"""Commands that write models for other places than Python."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from bemi.cli.output import add_json, show
from bemi.modelfile import load


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser."""
    export = commands.add_parser("export", help="write a model for other places than Python")
    targets = export.add_subparsers(dest="target", required=True, metavar="target")

    onnx = targets.add_parser("onnx", help="an ONNX file with integer operators alone")
    onnx.set_defaults(run=_onnx)
    onnx.add_argument("model", type=Path)
    onnx.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="ONNX file to write")
    add_json(onnx)


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
