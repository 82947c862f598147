"""C as text: the files of the runtime, tables, comments and strings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from bemi.export import PREFIX
from bemi.inputs.export_hooks import SIGNED, UNSIGNED, CCode, bits_of

BYTES = {kind: bits_of(kind) // 8 for kind in (*UNSIGNED, *SIGNED)}
"""Sizes of the table types."""

LINE = 120
"""Maximum line length."""


class Tables:
    """Constant arrays as C, and how many bytes they take."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.values: dict[str, list[int]] = {}
        self.bytes = 0

    def add(self, name: str, kind: str, values: Iterable[int]) -> None:
        """Append an array of a type."""
        self.values[name] = [*values]
        numbers = [f"{value}," for value in self.values[name]]
        lines, line = [], "   "
        for number in numbers:
            if len(line) + len(number) >= LINE:
                lines.append(line)
                line = "   "
            line += " " + number
        self.text.append(f"BEMI_TABLE {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n")
        self.bytes += len(numbers) * BYTES[kind]

    def add_all(self, code: CCode) -> None:
        """Append the tables of some code."""
        for table in code.tables:
            self.add(table.name, table.kind, table.values)


def sum_type(largest: int) -> str:
    """A type for sums of at most this magnitude."""
    return "int_fast16_t" if largest < 2**15 else "int_fast32_t"


def runtime(name: str) -> str:
    """Text of a file of the runtime."""
    return text_of("runtime", name)


def text_of(*path: str) -> str:
    """Text of a file beside this module."""
    return files("bemi.export.c").joinpath(*path).read_text(encoding="utf-8")


def named(text: str, name: str) -> str:
    """Text of a program whose names begin with this one instead of ``bemi``, those of macros in capitals."""
    return re.sub(rf"\b{PREFIX.upper()}_", f"{name.upper()}_", re.sub(rf"\b{PREFIX}_", f"{name}_", text))


def comment(lines: Sequence[str]) -> str:
    """Lines for the inside of a comment, with comment delimiters defused."""
    plain = ("".join(c if " " <= c <= "~" and c != "\\" else "?" for c in line) for line in lines)
    return "\n".join("   " + line.replace("*/", "* /").replace("/*", "/ *") for line in plain)


def string(text: str) -> str:
    """A string literal for any text, in UTF-8."""
    plain = b" !#$%&'()*+,-./:;<=>@[]^_`{|}~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    # An octal escape has at most three digits, so that the next character cannot become part of it.
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'
