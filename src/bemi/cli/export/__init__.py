"""``bemi export``: write a model for use outside Python."""

from __future__ import annotations

from typing import Any

from bemi.cli.export import c, onnx, page

TARGETS = (c, onnx, page)


def add_command(commands: Any) -> None:
    command = commands.add_parser("export", help="write a model for use outside Python")
    targets = command.add_subparsers(dest="target", required=True, metavar="target")
    for target in TARGETS:
        target.add_command(targets)
