"""``bemi data``: list the data sets, or download one."""

from __future__ import annotations

import argparse
from typing import Any

from bemi import datasets
from bemi.cli.options import add_json
from bemi.cli.output import show


def add_command(commands: Any) -> None:
    command = commands.add_parser("data", help="list the data sets, or download one")
    command.set_defaults(run=run, example="bemi data mnist")
    command.add_argument("name", nargs="?", help="data set to download unless it is here already")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    listings = datasets.available()
    if options.name is not None:
        folders = datasets.fetch(options.name)
        show(options, {"name": options.name, "folders": [str(folder) for folder in folders]})
        if not options.json:
            listing = next(item for item in listings if item.name == options.name)
            print(f"{options.name} is here: {', '.join(map(str, folders)) or listing.place}")
            print(f"source: {listing.source}\nlicence: {listing.licence}")
        return 0
    from rich.table import Table

    table = Table(title="Data sets")
    for heading in ("name", "rows", "features", "classes", "where"):
        table.add_column(heading, justify="right" if heading in ("rows", "features", "classes") else "left")
    for item in listings:
        table.add_row(item.name, str(item.rows), str(item.features), str(item.classes), item.place)
    show(options, {"datasets": [vars(item) for item in listings]}, table)
    return 0
