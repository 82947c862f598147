"""From the text of a CSV file to columns of numbers (NaN where missing) and of categories (None where missing)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bemi.inputs.inputs import Inputs
from bemi.inputs.table.text import (
    count_rows,
    have_decimal_commas,
    is_index_name,
    listed,
    most_categories,
    number_in,
    numbers_in,
    trouble_with_text,
)
from bemi.inputs.transform import Takes
from bemi.io import MISSING_TOKENS
from bemi.io.cells import Cells, Known, Tell
from bemi.io.sources import DataFileError

_WHOLE = re.compile(r"([+-]?\d+)\.0*", re.ASCII)


@dataclass(frozen=True)
class ColumnRules:
    """What a user says about the columns of a file; names of columns, except ``missing`` and ``keep_index``.

    Attributes
    ----------
    categorical
        Columns of categories, even if all cells are numbers or their texts do not look like categories.
    numeric
        Columns of numbers; any other text is an error.
    drop
        Columns to leave out.
    missing
        Texts that mean a missing cell, as no text at all always does.
    keep_index
        Whether a column that looks like an index is a feature.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING_TOKENS
    keep_index: bool = False

    def may_be_index(self, name: str) -> bool:
        """Whether nothing says that a column is a feature."""
        return not self.keep_index and name not in (*self.categorical, *self.numeric)

    def check(self, cells: Cells, target: str) -> None:
        """Raise DataFileError for columns that the file does not have, and for two rules for one column."""
        named: dict[str, str] = {}
        for rule in ("drop", "categorical", "numeric"):
            for name in getattr(self, rule):
                if name == target:
                    raise DataFileError(f"--{rule} names {name!r}, the column with the labels")
                if name not in cells.packed:
                    raise DataFileError(f"--{rule}: {no_column(cells, name)}")
                if named.setdefault(name, rule) != rule:
                    raise DataFileError(f"--{named[name]} and --{rule} both name {name!r}; give one of them")


NO_RULES = ColumnRules()
"""The user says nothing."""


@dataclass(frozen=True)
class ModelColumns:
    """The columns that a model takes.

    Attributes
    ----------
    names
        Their names; None if the model does not know them and takes columns by position.
    levels
        For each column its categories, or None if it has numbers.
    takes_missing
        Whether cells may be missing.
    """

    names: tuple[str, ...] | None
    levels: tuple[tuple[str, ...] | None, ...]
    takes_missing: bool = False

    @classmethod
    def of(cls, inputs: Inputs) -> ModelColumns:
        """The columns of a model with these inputs."""
        if Takes.by(inputs.transform) is not Takes.RAW_COLUMNS:
            return cls(inputs.names, (None,) * inputs.features)
        columns = inputs.transform.columns_  # type: ignore[union-attr]
        return cls(inputs.names, tuple(column.levels for column in columns), takes_missing=True)


def no_column(cells: Cells, name: str, most: int = 8) -> str:
    """That a file lacks a column, and which it has."""
    names = cells.names
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{cells.path} has no column {name!r}; its columns are {', '.join(map(repr, names[:most]))}{more}"


def features(cells: Cells, rules: ColumnRules, tell: Tell) -> pd.DataFrame:
    """Numbers where all cells are numbers, categories elsewhere, for training.

    An index and columns without any value are left out.  Raises DataFileError for columns that are neither, such as
    dates.
    """
    cells = cells.having(name for name in cells.names if name not in rules.drop)
    index = index_column(cells, rules)
    if index is not None:
        tell(f"column {index!r} looks like an index and is left out; --keep makes it a feature")
        cells = cells.having(name for name in cells.names if name != index)
    arrays: dict[str, NDArray] = {}
    empty, constant, counting, commas = [], [], [], []
    for name in cells.names:  # one at a time: its different texts may take more memory than all numbers together
        column = _Column(cells, name, rules.missing)
        if not column.texts:
            empty.append(name)
            continue
        arrays[name] = column.typed(rules)
        if column.constant:
            constant.append(name)
        if column.counts_rows and rules.may_be_index(name):
            counting.append(name)
        if column.decimal_comma:
            commas.append(name)
    if not arrays:
        raise DataFileError(f"{cells.path} has no feature columns")
    found = _frame(arrays)
    # Text that is numbers would be read as such.
    found = found.astype({name: "category" for name in rules.categorical if name in found})
    for about, *remarks in (
        (empty, "column without any value, left out", "columns without any value, left out"),
        (constant, "constant column, no information", "constant columns carry no information"),
        (
            counting,
            "column that only counts the rows, to be left out with --drop",
            "columns that only count the rows, to be left out with --drop",
        ),
        (commas, "column with decimal commas", "columns with decimal commas"),
    ):
        if about:
            tell(f"{remarks[len(about) > 1]}: {listed(about)}")
    return found


def index_column(cells: Cells, rules: ColumnRules) -> str | None:
    """The column that only counts or names the rows, if there is one that the user did not mention."""
    names = [name for name in cells.names if rules.may_be_index(name)]
    unnamed = [name for name in names if is_index_name(name)]
    if unnamed:
        return unnamed[0]
    first = cells.names[0] if cells.names else None
    return first if first in names and count_rows(cells.texts(first).tolist()) else None


def features_for(cells: Cells, columns: ModelColumns, missing: Sequence[str], tell: Tell) -> pd.DataFrame:
    """The columns that a model takes, by name where it knows names, as it takes them.

    Categories are those of the model wherever it has them.  Others stay as they are, and a line tells how many.
    """
    if columns.names is None:
        cells = _without_index(cells, len(columns.levels))
        names = cells.names
    else:
        names = list(columns.names)
        lacking = [name for name in names if name not in cells.packed]
        if lacking:
            raise DataFileError(f"{cells.path} lacks the model's column {lacking[0]!r} ({len(lacking)} missing in all)")
    # Surplus columns without a name are left for the model to count; it names both numbers.
    levels = [*columns.levels, *(None for _ in names)][: len(names)]
    found = {}
    for name, known in zip(names, levels, strict=True):
        column = _Column(cells, name, missing)
        found[name] = column.numbers(columns.takes_missing) if known is None else column.categories_in(known, tell)
    return _frame(found)


def _without_index(cells: Cells, features: int) -> Cells:
    """A file without the index that it has beside the features, if it has one column too many."""
    index = index_column(cells, NO_RULES) if len(cells.names) == features + 1 else None
    return cells if index is None else cells.having(name for name in cells.names if name != index)


def _frame(columns: dict[str, NDArray]) -> pd.DataFrame:
    """A data frame of arrays; text stays as it is, with None where missing."""
    series = {name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()}
    return pd.DataFrame(series, copy=False)  # columns may be large


class _Column:
    """One column of a file: its different texts, and which of them each cell has.

    Whatever can be said about a text is said once, however many cells have it.
    """

    def __init__(self, cells: Cells, name: str, missing: Iterable[str]) -> None:
        self.cells, self.name = cells, name
        self._tokens = {"", *missing}
        self._places, texts = pd.factorize(cells.texts(name).map(str.strip))
        self._all: list[str] = list(texts)
        self._missing = np.array([text in self._tokens for text in self._all], dtype=bool)
        self.texts = [text for text in self._all if text not in self._tokens]
        """Each text that is not missing, once."""
        self.decimal_comma = cells.separator != "," and have_decimal_commas(self.texts)
        """Whether commas are decimal points."""
        self._numbers = np.full(len(self._all), np.nan)
        self._numbers[~self._missing] = numbers_in(self.texts, self.decimal_comma)

    @property
    def filled(self) -> int:
        """Number of cells that are not missing."""
        return int((~self._missing)[self._places].sum())

    @property
    def constant(self) -> bool:
        """Whether all cells are the same, and none is missing."""
        return len(self.texts) == 1 and self.filled == len(self._places)

    @property
    def counts_rows(self) -> bool:
        """Whether the cells only count the rows."""
        return len(self.texts) == len(self._places) and count_rows(self.texts)

    def typed(self, rules: ColumnRules) -> NDArray:
        """Numbers or categories, by the rules and by what the cells look like."""
        if self.name in rules.categorical:
            return self.categories()
        if self.name in rules.numeric or not np.isnan(self._numbers[~self._missing]).any():
            return self.numbers(takes_missing=True)
        trouble = trouble_with_text(self.texts, most=most_categories(self.filled))
        if trouble is not None:
            row = int(np.argmax(self._places == self._all.index(trouble.example)))
            raise DataFileError(
                f"{self.cells.path}: column {self.name!r} {trouble.words} {trouble.example!r} in "
                f"{self.cells.row(row)}; correct it, leave the column out with --drop, or make it a category with "
                "--categorical"
            )
        return self.categories()

    def numbers(self, takes_missing: bool) -> NDArray[np.float64]:
        """The numbers; NaN where missing.  Raises DataFileError at the first cell that is none."""
        tokens = {number for number in map(number_in, self._tokens) if not np.isnan(number)}
        missing = self._missing | np.isin(self._numbers, list(tokens))
        values = np.where(missing, np.nan, self._numbers)
        wrong = np.where(missing, not takes_missing, ~np.isfinite(values))
        bad = np.flatnonzero(wrong[self._places])
        if len(bad):
            text = self._all[self._places[bad[0]]]
            what = "is empty" if text == "" else f"holds {text!r}, which is not a finite number"
            if text in self._tokens:
                what += "; this model takes no missing values"
            raise DataFileError(f"{self.cells.place(int(bad[0]), self.name)} {what}")
        return values[self._places]

    def categories(self) -> NDArray:
        """The texts, whole numbers without decimals; None where missing."""
        return self._having([None if text in self._tokens else _as_level(text) for text in self._all])

    def categories_in(self, known: Sequence[str], tell: Tell) -> NDArray:
        """The known categories, whatever else their texts mean; other texts as :meth:`categories` has them."""
        levels = Known(known)
        found = [levels.find(text, None if text in self._tokens else text) for text in self._all]
        unseen = [text for text in found if text is not None and text not in known]
        if unseen:
            cells = sum(int((self._places == found.index(text)).sum()) for text in unseen)
            tell(f"column {self.name!r}: {cells} rows have categories not seen in training: {listed(unseen)}")
        return self._having(found)

    def _having(self, texts: list[Any]) -> NDArray:
        values = np.empty(len(texts), dtype=object)
        values[:] = texts
        return values[self._places]


def _as_level(text: str) -> str:
    """A category in the way in which a data frame with the same numbers has it."""
    whole = _WHOLE.fullmatch(text)
    return whole.group(1) if whole else text
