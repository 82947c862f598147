"""The cells of a CSV file as text: separator, quotes, encoding, and texts that mean a value that a model knows.

Errors name the row, the line and the column.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pandas as pd

from bemi.io.sources import DataFileError, opened

SEPARATORS = (",", ";", "\t")
"""The first is the one of files that have none at all."""

_SAMPLE = 1 << 16
"""Bytes at the start of a file that show its encoding and its separator."""

_LINES = 50
"""Lines of the sample that must agree on the separator."""

Tell = Callable[[str], None]
"""What happens to a line that the user should know about."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The text of a CSV file.

    Attributes
    ----------
    path
        The file.
    table
        Its cells as text, without blanks around them; columns have the names of the header.
    separator
        What stands between two cells.
    encoding
        Python's name of the encoding.
    """

    path: Path
    table: pd.DataFrame
    separator: str
    encoding: str

    def place(self, row: int, name: str) -> str:
        """Human-readable position of a cell; rows count from 0."""
        return f"{self.path}, {self.row(row)}, column {name!r}"

    def row(self, row: int) -> str:
        """Human-readable number of a row."""
        return f"row {row + 1} (line {self._line(row)})"

    def _line(self, row: int) -> int:
        """The line on which a row begins: quoted cells may hold line breaks, and blank lines do not count as rows."""
        with TextIOWrapper(opened(self.path), newline="", encoding=self.encoding) as file:
            lines = csv.reader(file, delimiter=self.separator, skipinitialspace=True)
            begin, current = 1, -2  # the header comes before row 0
            for cells in lines:
                current += bool(cells)
                if cells and current == row:
                    return begin
                begin = lines.line_num + 1
        raise IndexError(f"there is no row {row}")

    def having(self, names: Iterable[str]) -> Cells:
        """The same file with these columns only."""
        return Cells(self.path, self.table[list(names)], self.separator, self.encoding)


def read_cells(path: Path, tell: Tell) -> Cells:
    """Read a CSV file with a header, or what :mod:`bemi.io.sources` reads as one; the separator is recognized."""
    encoding = _encoding(path)
    with TextIOWrapper(opened(path), encoding=encoding, errors="replace", newline="") as file:
        separator = separator_of(file.read(_SAMPLE))
    try:
        try:
            table = _parsed(path, separator, encoding)
        except UnicodeDecodeError:
            encoding = "latin-1"
            tell(f"{path} is not UTF-8; it is read as {encoding}")
            table = _parsed(path, separator, encoding)
    except pd.errors.EmptyDataError:
        raise DataFileError(f"{path} is empty") from None
    except pd.errors.ParserError as error:
        raise DataFileError(f"{path} is not a CSV table: {' '.join(str(error).split())}") from None
    if not len(table):
        raise DataFileError(f"{path} has a header but no rows")
    if not isinstance(table.index, pd.RangeIndex):
        raise DataFileError(f"{path}: rows have more cells than the header, which has {len(table.columns)}")
    return Cells(path, table.rename(columns=str.strip), separator, encoding)


def separator_of(text: str) -> str:
    """The separator of a CSV file that begins like this.

    The one that cuts the first lines into the same number of cells, at least two; the one that gives more cells if
    several do, and the most frequent one of the header if none does.
    """
    lines = text.splitlines(keepends=True)
    if len(text) >= _SAMPLE and len(lines) > 1:
        lines.pop()  # cut off in the middle
    counts = {separator: _cells_per_line(lines, separator) for separator in SEPARATORS}
    even = {separator: found[0] for separator, found in counts.items() if len(set(found)) == 1 and found[0] > 1}
    cells = even or {separator: found[0] for separator, found in counts.items() if found}
    return max(cells, key=lambda separator: cells[separator], default=SEPARATORS[0])


def _cells_per_line(lines: list[str], separator: str) -> list[int]:
    try:
        found = [len(cells) for cells in csv.reader(lines, delimiter=separator, skipinitialspace=True) if cells]
    except csv.Error:  # a cell of the wrong separator may be longer than the reader accepts
        return []
    return found[:_LINES]


def _encoding(path: Path) -> str:
    """The encoding that the first bytes tell, UTF-8 unless they tell another one."""
    with opened(path) as file:
        start = file.read(_SAMPLE)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in start:
        raise DataFileError(f"{path} is not a text file; give a CSV file, or an NPZ file whose name ends in .npz")
    return "utf-8-sig"


def _parsed(path: Path, separator: str, encoding: str) -> pd.DataFrame:
    with opened(path) as file:
        return pd.read_csv(
            file, sep=separator, encoding=encoding, dtype=object, keep_default_na=False, skipinitialspace=True
        )


class Known:
    """Finds known values by their text in a file: ``1``, ``1.0`` and ``+1`` are one value.

    The same text comes first.  A number written in another way is found if only one known value equals it, so that
    ``01`` and ``1`` stay apart where both are known.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self._by_text = {str(value): value for value in values}
        self._by_number: dict[Decimal, list[Any]] = {}
        for text, value in self._by_text.items():
            number = _number(text)
            if number is not None:
                self._by_number.setdefault(number, []).append(value)

    def find(self, given: Any, otherwise: Any = None) -> Any:
        """The known value that ``given`` is, or ``otherwise``."""
        text = str(given)
        if text in self._by_text:
            return self._by_text[text]
        equal = self._by_number.get(_number(text), [])  # type: ignore[arg-type]
        return equal[0] if len(equal) == 1 else otherwise


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
