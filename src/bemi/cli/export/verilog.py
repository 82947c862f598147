"""``bemi export verilog``: a circuit for FPGAs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi.cli import choices
from bemi.cli.export.folders import check_folder, show_costs
from bemi.cli.options import add_json

COSTS = {
    "luts": "lookup tables of 4 inputs",
    "flip_flops": "flip-flops",
    "block_rams": "block RAMs of 4,096 bits",
    "latency": "clocks from the first feature to the label",
    "interval": "clocks from one label to the next",
    "tie": "more clocks for a tie, at most",
}
"""Rows of the table of costs."""


def add_command(targets: Any, **options: Any) -> None:
    command = targets.add_parser("verilog", **options)
    command.set_defaults(run=run, example="bemi export verilog model.bemi -o circuit\nmake -C circuit test")
    add = command.add_argument
    add("model", type=Path)
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    whole = "one feature per clock, or a whole row at once (default: %(default)s)"
    add("--interface", choices=choices.VERILOG_INTERFACES, default="stream", help=whole)
    fewest = "bits of a feature that enters as it is (default: the fewest for the training rows)"
    add("--input-bits", type=int, metavar="N", help=fewest)
    vectors = "random rows for the test bench (default: %(default)s)"
    add("--vectors", type=int, default=choices.VERILOG_VECTORS, metavar="N", help=vectors)
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi import load
    from bemi.export import verilog

    check_folder(options)
    made = verilog.write(
        load(options.model),
        options.output,
        interface=options.interface,
        input_bits=options.input_bits,
        vectors=options.vectors,
    )
    caption = "estimated for an iCE40, clocks exact; 'make report' in the folder measures"
    show_costs(options, made.files, made.costs, COSTS, caption)
    return 0
