"""``bemi-lab data``: list the data sets, download one, or write its rows to a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi.cli.options import add_json
from bemi.cli.output import show
from bemi_lab import datasets


def add_command(commands: Any) -> None:
    command = commands.add_parser("data", help="list the data sets, or download one")
    command.set_defaults(run=run, example="bemi-lab data mnist")
    command.add_argument("name", nargs="?", help="data set to download unless it is here already")
    for part in ("train", "test"):
        command.add_argument(
            f"--{part}", type=Path, metavar="FILE.npz", help=f"write the {part}ing rows and labels to this file"
        )
    add_json(command)


def run(options: argparse.Namespace) -> int:
    listings = datasets.available()
    if options.name is not None:
        folders = datasets.fetch(options.name)
        for part in ("train", "test"):
            if getattr(options, part) is not None:
                _write(options.name, part, getattr(options, part))
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


def _write(name: str, part: str, path: Path) -> None:
    """Write the training or test part of a data set as ``bemi train`` and ``bemi export page`` read it."""
    import numpy as np

    known = datasets.load(name)
    if part == "test" and not known.has_test:
        raise ValueError(f"{name} has no test part; --train writes all of its rows")
    X, y = (known.train_X, known.train_y) if part == "train" else (known.test_X, known.test_y)
    np.savez_compressed(path, X=X if known.shape is None else X.reshape(len(X), *known.shape), y=y)
