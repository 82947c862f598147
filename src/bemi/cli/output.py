"""What commands share at run time: tables for people, JSON for programs, progress, Dask clusters."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.files import printable

if TYPE_CHECKING:
    from rich.table import Table

    from bemi.ensemble.ensemble import Ensemble
    from bemi.io.columns import ModelColumns


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Train on the Dask cluster with this scheduler, or on this machine if there is no address."""
    if address is None:
        yield
        return
    import joblib

    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--cluster needs Dask: pip install 'bemi[cluster]'") from None
    try:
        client = Client(address)
    except (OSError, ValueError, TypeError) as error:  # TypeError if TLS is not set up
        raise ValueError(f"there is no Dask scheduler at {address}: {error}") from None
    with client, joblib.parallel_config("dask", client=client):
        yield


def show(options: argparse.Namespace, result: dict[str, Any], *tables: Table) -> None:
    """Print a command's result: one JSON object with --json, nothing with --quiet, tables otherwise.

    Tables have colours only on a terminal, and none if the variable NO_COLOR is set.
    """
    if options.json:
        print(json.dumps(result, allow_nan=False))
        return
    if is_quiet(options):
        return
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)


def shown(text: str) -> str:
    """Text from a file as it may stand in a table: no markup, no control characters."""
    from rich.markup import escape

    return escape(printable(text, longest=1000))


def progress_wanted(options: argparse.Namespace) -> bool:
    """Whether to show progress: only on a terminal."""
    return sys.stderr.isatty() and not options.json and not is_quiet(options)


def is_quiet(options: argparse.Namespace) -> bool:
    """Whether the user wants errors only."""
    return getattr(options, "quiet", False)


def check_writable(path: Path) -> None:
    """Raise ValueError unless a file can be written there: better before hours of training than after."""
    if not path.parent.is_dir():
        raise ValueError(f"the folder of {path} does not exist")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")


def model_columns(ensemble: Ensemble) -> ModelColumns:
    """The columns that a model was trained on."""
    from bemi.io.columns import ModelColumns

    return ModelColumns.of(ensemble.inputs)


class Notes:
    """Lines that the user should know about, such as that a column is left out.

    They are kept until the command has succeeded: an error is a single line.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)

    def print(self) -> None:
        """Print the lines on standard error; standard output may be read by a program."""
        for line in self.lines:
            print(f"bemi: {line}", file=sys.stderr)
