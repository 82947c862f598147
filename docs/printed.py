"""What the code of a page prints: run it, and write the output into the page.

``python docs/printed.py docs/tables.md`` does so; a test compares.  A page is one session: its ``python`` blocks share
their names, a ``text`` block has what the block before it prints, and a ``console`` block a command and its output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bemi.cli import main

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
COLUMNS = "100"


def printed(action: Callable[..., Any], *arguments: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        action(*arguments)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def outputs(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Run the code of a page in the current folder: its blocks of output, and what they should be."""
    names: dict[str, object] = {}
    shown = ""
    for block in BLOCK.finditer(text):
        kind, content = block.groups()
        if kind == "python":
            shown = printed(exec, compile(content, "page", "exec"), names)
        elif kind == "text":
            yield block, shown
        elif kind == "console":
            command = content.splitlines()[0]
            program, *arguments = shlex.split(command.removeprefix("$ "))
            assert program == "bemi"
            yield block, f"{command}\n{printed(main, arguments)}"


def updated(text: str) -> str:
    """The page with what its code prints now."""
    parts, end = [], 0
    for block, shown in outputs(text):
        parts += [text[end : block.start(2)], shown]
        end = block.end(2)
    return "".join([*parts, text[end:]])


if __name__ == "__main__":
    os.environ["COLUMNS"] = COLUMNS
    pages = {path: path.read_text() for path in map(Path.absolute, map(Path, sys.argv[1:]))}
    for path, text in pages.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            path.write_text(updated(text))
