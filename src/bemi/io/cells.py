"""The cells of a CSV file as text: separator, quotes, encoding, and texts that mean a value that a model knows.

Errors name the row, the line and the column.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
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

_ROWS = 1 << 12
"""Rows that are read at a time: pandas holds each of their cells as an object."""

_BETWEEN = "\0"
"""What no cell holds: pandas reads cells as texts of C, which end there."""

Tell = Callable[[str], None]
"""What happens to a line that the user should know about."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The text of a CSV file, packed: about as large as the file, where a string per cell takes ten times that.

    Attributes
    ----------
    path
        The file.
    packed
        The text of each column by the name in the header: for each piece of the file, its cells in one string.
    separator
        What stands between two cells.
    encoding
        Python's name of the encoding.
    """

    path: Path
    packed: dict[str, list[str]]
    separator: str
    encoding: str

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.packed)

    def texts(self, name: str) -> pd.Series:
        """The cells of a column."""
        cells = [text for piece in self.packed[name] for text in piece.split(_BETWEEN)]
        return pd.Series(cells, dtype=object)

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
        return replace(self, packed={name: self.packed[name] for name in names})


def read_cells(path: Path, tell: Tell) -> Cells:
    """Read a CSV file with a header, or what :mod:`bemi.io.sources` reads as one; the separator is recognized."""
    encoding = _encoding(path)
    with TextIOWrapper(opened(path), encoding=encoding, errors="replace", newline="") as file:
        separator = separator_of(file.read(_SAMPLE))
    try:
        try:
            packed = _packed(path, separator, encoding)
        except UnicodeDecodeError:
            encoding = "latin-1"
            tell(f"{path} is not UTF-8; it is read as {encoding}")
            packed = _packed(path, separator, encoding)
    except pd.errors.EmptyDataError:
        raise DataFileError(f"{path} is empty") from None
    except pd.errors.ParserError as error:
        raise DataFileError(f"{path} is not a CSV table: {' '.join(str(error).split())}") from None
    return Cells(path, packed, separator, encoding)


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


def _packed(path: Path, separator: str, encoding: str) -> dict[str, list[str]]:
    """The cells of each column, piece by piece; see :class:`Cells`."""
    packed: dict[str, list[str]] = {}
    with (
        opened(path) as file,
        pd.read_csv(
            file,
            sep=separator,
            encoding=encoding,
            dtype=object,
            keep_default_na=False,
            skipinitialspace=True,
            chunksize=_ROWS,
        ) as pieces,
    ):
        for piece in pieces:
            if not len(piece):
                break
            if not isinstance(piece.index, pd.RangeIndex):
                raise DataFileError(f"{path}: rows have more cells than the header, which has {len(piece.columns)}")
            names = [name.strip() for name in piece.columns]
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise DataFileError(f"{path} has two columns {twice[0]!r}")
            for place, name in enumerate(names):
                packed.setdefault(name, []).append(_BETWEEN.join(piece.iloc[:, place]))
    if not packed:
        raise DataFileError(f"{path} has a header but no rows")
    return packed


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
