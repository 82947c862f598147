"""What the targets that write a folder share: its name is checked first, and the costs are shown at the end."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from bemi.cli.output import show


def check_folder(options: argparse.Namespace) -> None:
    """Refuse the name of a file before anything is computed."""
    if options.output.exists() and not options.output.is_dir():
        raise ValueError(f"{options.output} is a file; give the name of a folder")


def show_costs(
    options: argparse.Namespace, files: Iterable[str], costs: Any, words: Mapping[str, str], caption: str
) -> None:
    """The files, and the costs that ``words`` name, as a table or as JSON."""
    from rich.table import Table

    found = asdict(costs)
    table = Table(title=f"{options.output}: {', '.join(files)}", show_header=False, caption=caption)
    for name, text in words.items():
        table.add_row(text, str(found[name]))
    show(options, {"folder": str(options.output), **found}, table)
