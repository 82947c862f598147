"""What all commands share: tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def show(options: argparse.Namespace, result: dict[str, Any], *tables: Table) -> None:
    """Print a command's result in the form that was asked for."""
    if options.json:
        print(json.dumps(result, allow_nan=False))
    else:
        console = Console()
        for table in tables:
            console.print(table)


def progress_wanted(options: argparse.Namespace) -> bool:
    """A progress bar is for people who watch a terminal."""
    return sys.stderr.isatty() and not options.json
