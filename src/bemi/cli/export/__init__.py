"""``bemi export``: write a model for use outside Python.  Every target has a module of its name here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bemi.export.registry import TARGETS


def add_command(commands: Any) -> None:
    command = commands.add_parser("export", help="write a model for use outside Python")
    command.set_defaults(example="bemi export c model.bemi -o device\nbemi export c --help")
    targets = command.add_subparsers(dest="target", required=True, metavar="target")
    for name, words in TARGETS.items():
        import_module(f"bemi.cli.export.{name}").add_command(targets, help=words)
