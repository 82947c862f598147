"""``bemi verify``: check a model's certificate."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bemi.cli.options import add_json
from bemi.cli.output import show


def add_command(commands: Any) -> None:
    command = commands.add_parser("verify", help="check a model's certificate in exact integers, without any solver")
    command.set_defaults(run=run)
    command.add_argument("model", type=Path)
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    from bemi.certificate import CertificateError, verify
    from bemi.stages import STAGES

    try:
        checked = verify(options.model)
    except CertificateError as error:
        print(f"bemi: certificate rejected: {error}", file=sys.stderr)
        return 1
    counts = {
        stage: {
            "certified": checked.certified[stage],
            "solver": checked.claimed[stage],
            "not_run": checked.not_run[stage],
        }
        for stage in STAGES
        if checked.certified[stage] + checked.claimed[stage] + checked.not_run[stage]
    }
    table = Table(title=f"{checked.networks} networks verified")
    for heading in ("stage", "bounds certified", "on a solver's word", "could not run"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage, numbers in counts.items():
        table.add_row(stage, *map(str, numbers.values()))
    table.caption = f"certificate of {checked.bytes} bytes checked in {checked.seconds:.1f} s"
    result = {"networks": checked.networks, "stages": counts, "bytes": checked.bytes, "seconds": checked.seconds}
    show(options, result, table)
    return 0
