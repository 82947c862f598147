"""``bemi-lab data``: list the data sets, download one, or write its rows to a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi.cli import program
from bemi.cli.options import add_json
from bemi.cli.output import show


def add_command(commands: Any) -> None:
    command = program.add(commands, "data", "list the data sets, or download one")
    command.set_defaults(run=run, example="bemi-lab data mnist")
    command.add_argument("name", nargs="?", help="data set to download unless it is here already")
    for part in ("train", "test"):
        command.add_argument(
            f"--{part}", type=Path, metavar="FILE.npz", help=f"write the {part}ing rows and labels to this file"
        )
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi_lab import datasets

    known = {item.name: item for item in datasets.available()}
    if options.name is not None:
        folders = datasets.fetch(options.name)
        for part in ("train", "test"):
            if getattr(options, part) is not None:
                _write(options.name, part, getattr(options, part))
        show(options, {"name": options.name, "folders": [str(folder) for folder in folders]})
        if not options.json:
            item = known[options.name]
            print(f"{options.name} is here: {', '.join(map(str, folders)) or item.place}")
            print(f"source: {item.source}\nlicence: {item.licence}")
        return 0
    from rich.table import Table

    table = Table(title="Data sets")
    for heading in ("name", "rows", "features", "classes", "where"):
        table.add_column(heading, justify="right" if heading in ("rows", "features", "classes") else "left")
    for item in known.values():
        table.add_row(item.name, str(item.rows), str(item.features), str(item.classes), item.place)
    listed = ("name", "rows", "features", "classes", "place", "source", "licence")
    content = [{field: getattr(item, field) for field in listed} | {"test_rows": item.test} for item in known.values()]
    show(options, {"datasets": content}, table)
    return 0


def _write(name: str, part: str, path: Path) -> None:
    """Write the training or test part of a data set as ``bemi train`` and ``bemi export page`` read it."""
    import numpy as np

    from bemi_lab import datasets

    known = datasets.load(name)
    if part == "test" and not known.has_test:
        raise ValueError(f"{name} has no test part; --train writes all of its rows")
    X, y = (known.train_X, known.train_y) if part == "train" else (known.test_X, known.test_y)
    np.savez_compressed(path, X=X if known.shape is None else X.reshape(len(X), *known.shape), y=y)
