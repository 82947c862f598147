"""The cells of a table's columns: which columns are numbers and which are categories, and what is missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from bemi.checks import check_integer, is_number
from bemi.exact import Integers
from bemi.inputs.fixed_point import MISSING
from bemi.inputs.table.text import (
    are_numbers,
    count_rows,
    have_decimal_commas,
    is_index_name,
    listed,
    most_categories,
    number_in,
)


def as_pandas(X: Any) -> Any:
    """A data frame of another library, such as polars or pyarrow, as one of pandas; anything else as it is."""
    if isinstance(X, (pd.DataFrame, np.ndarray)) or not hasattr(X, "to_pandas"):
        return X
    try:
        return X.to_pandas()
    except ImportError as error:
        raise ImportError(f"a {type(X).__module__} table needs pyarrow: pip install 'bemi[tables]'") from error


def as_given(X: Any) -> pd.DataFrame | NDArray:
    """Rows as a data frame or an array, with cells as they are."""
    X = as_pandas(X)
    if sparse.issparse(X):
        raise TypeError("the rows are a sparse matrix, and dense rows are needed: give X.toarray()")
    # A list of rows with text and numbers must not become an array of text.
    return X if isinstance(X, (pd.DataFrame, np.ndarray)) else np.array(X, dtype=object)


def as_table(X: Any) -> pd.DataFrame:
    """Rows as a data frame; the columns of an array are numbered."""
    rows = as_given(X)
    if isinstance(rows, pd.DataFrame):
        return rows
    if rows.ndim != 2:
        raise ValueError(f"rows must be a table, got shape {rows.shape}. Reshape your data: X.reshape(1, -1) is a row")
    return pd.DataFrame(rows)


def names_of(table: pd.DataFrame) -> list[str] | None:
    """Names of the columns; None if they are only numbered."""
    return None if isinstance(table.columns, pd.RangeIndex) else [str(name) for name in table.columns]


def check_names_differ(rows: Any) -> None:
    """Raise ValueError if two columns of a data frame have the same name."""
    names = names_of(rows) if isinstance(rows, pd.DataFrame) else None
    if names is not None and len(set(names)) < len(names):
        raise ValueError(f"two columns are named {max(names, key=names.count)!r}; rename one")


def columns_of(table: pd.DataFrame, names: list[str] | None) -> list[pd.Series]:
    """The cells of each column, in the order of ``names`` if there are any.

    Raises ValueError, naming the column, for one that is missing, and for one that is not among the names.
    """
    given = names_of(table)
    if names is None or given is None:
        return [table.iloc[:, place] for place in range(table.shape[1])]
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"column {missing[0]!r} is missing ({len(missing)} of {len(names)} columns are)")
    extra = [name for name in given if name not in names]
    if extra:
        raise ValueError(f"column {extra[0]!r} was not in the training data; leave it out")
    return [table.iloc[:, given.index(name)] for name in names]


def check_no_time(name: str, kind: Any) -> None:
    """Raise ValueError for a column of dates or durations."""
    if pd.api.types.is_timedelta64_dtype(kind):
        raise ValueError(f"column {name!r} holds durations; replace it by numbers, such as hours, or leave it out")
    if pd.api.types.is_datetime64_any_dtype(kind):
        raise ValueError(
            f"column {name!r} holds dates; replace it by numbers, such as days since a fixed date, or leave it out"
        )


def are_text(name: str, column: pd.Series) -> bool:
    """Whether a column holds categories rather than numbers; ValueError for dates, which are neither.

    Numbers that are written as text are numbers, except in columns of pandas categories.
    """
    kind = column.dtype
    check_no_time(name, kind)
    if isinstance(kind, pd.CategoricalDtype):
        return True
    if pd.api.types.is_numeric_dtype(kind):
        return False
    check_no_time(name, _times(column))
    return not are_numbers(_written(column))


def _times(column: pd.Series) -> Any:
    """The type of the times that a column of Python objects holds; its own if it holds others."""
    kinds = {"datetime": "datetime64[ns]", "datetime64": "datetime64[ns]", "date": "datetime64[ns]"}
    kinds |= {"timedelta": "timedelta64[ns]", "timedelta64": "timedelta64[ns]"}
    found = kinds.get(pd.api.types.infer_dtype(column, skipna=True))
    return column.dtype if found is None else np.dtype(found)


def _written(column: pd.Series) -> list[str]:
    """The different cells that are no numbers, as text without blanks around it; blank cells are missing."""
    cells = column[column.notna()].to_numpy(dtype=object)
    plain = (bool, np.bool_, float)
    others = {str(cell).strip() for cell in cells if not is_number(cell) and not isinstance(cell, plain)}
    return sorted(others - {""})


ONLY_NAMES = "if they are only names, make it a pandas category"
LEAVE_OUT = "leave it out unless it carries information about new rows"


def remarks_on(names: Sequence[str], columns: Sequence[pd.Series], categories: Collection[str]) -> list[str]:
    """What a user should know about the columns of training rows; ``categories`` are those that became categories."""
    text = {
        name: _written(cells)
        for name, cells in zip(names, columns, strict=True)
        if not pd.api.types.is_numeric_dtype(cells.dtype) and not isinstance(cells.dtype, pd.CategoricalDtype)
    }
    as_numbers = [name for name, written in text.items() if written and name not in categories]
    many = [name for name in text if name in categories and len(text[name]) > most_categories(len(columns[0]))]
    index = [
        name
        for name, cells in zip(names, columns, strict=True)
        if is_index_name(name) or (len(names) > 1 and _counts_rows(cells))
    ]
    commas = [name for name in as_numbers if have_decimal_commas(text[name])]
    return [
        f"{'column' if len(about) == 1 else 'columns'} {listed(about)}: {remark}"
        for about, remark in (
            ([name for name in as_numbers if name not in commas], f"text that is numbers, read as such; {ONLY_NAMES}"),
            (commas, f"text that is numbers with decimal commas, read as such; {ONLY_NAMES}"),
            (many, f"text that most rows do not share, probably an identifier; {LEAVE_OUT}"),
            (index, f"probably an index; {LEAVE_OUT}"),
        )
        if about
    ]


def _counts_rows(cells: pd.Series) -> bool:
    """Whether a column of numbers only counts the rows."""
    # Other columns need not be written as text.
    increase = pd.api.types.is_integer_dtype(cells.dtype) and cells.is_monotonic_increasing
    return increase and count_rows([str(cell) for cell in cells.tolist()])


def numbers(name: str, column: pd.Series) -> NDArray[np.float64]:
    """Cells as numbers; ValueError names the first cell that is none."""
    column = _without_text(column)
    missing = column.isna().to_numpy()
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError):
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        row = np.flatnonzero(np.isnan(values) & ~missing)[0]
        raise ValueError(
            f"column {name!r} holds numbers, but row {row} has {column.iloc[row]!r}; correct it or leave it empty"
        ) from None
    if np.isinf(values).any():
        row = np.flatnonzero(np.isinf(values))[0]
        raise ValueError(f"column {name!r} is infinite in row {row}; correct the cell or leave it empty")
    return values


def _without_text(column: pd.Series) -> pd.Series:
    """The column with numbers in place of the texts that are numbers; blank text is missing."""
    if pd.api.types.is_numeric_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return column
    return pd.Series([_read(cell) for cell in column.to_numpy(dtype=object)], index=column.index, dtype=object)


def _read(cell: Any) -> Any:
    """The number that a text is, with a decimal comma if it has one; None if it is blank; anything else as it is."""
    if not isinstance(cell, str) or not cell.strip():
        return None if isinstance(cell, str) else cell
    number = number_in(cell.strip(), decimal_comma=True)
    return cell if np.isnan(number) else number


def check_no_text(X: Any) -> None:
    """Raise ValueError if a column holds text, dates or durations; for rows of which all columns must be numbers."""
    if not isinstance(X, pd.DataFrame):
        if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
            check_no_time("feature 0", X.dtype)
        return
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        check_no_time(str(name), column.dtype)
        rows = np.flatnonzero(pd.to_numeric(column, errors="coerce").isna() & column.notna())
        if len(rows):
            raise ValueError(
                f"column {str(name)!r} holds {column.iloc[rows[0]]!r} in row {rows[0]}, which is not a number; correct "
                "it, leave the column out, or use the transform TableBits, which takes categories"
            )


def texts(column: pd.Series) -> NDArray[np.object_]:
    """Cells as text, None where missing; whole numbers are written without decimals."""
    written = np.full(len(column), None, dtype=object)
    present = column.notna().to_numpy()
    written[present] = [_text(cell) for cell in column[present]]
    return written


def _text(cell: Any) -> str:
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def levels_of(cells: NDArray[np.object_]) -> tuple[str, ...]:
    """The different texts: in the order of their values if all are numbers, otherwise in that of the alphabet."""
    different = {cell for cell in cells if cell is not None}
    try:
        return tuple(sorted(different, key=lambda text: (float(text), text)))
    except ValueError:
        return tuple(sorted(different))


def level_readings(cells: NDArray[np.object_], levels: tuple[str, ...]) -> Integers:
    """Index of each cell's level, -1 for a level that is not among them, MISSING for a missing cell."""
    readings: dict[Any, int] = {level: index for index, level in enumerate(levels)}
    readings[None] = MISSING
    return np.array([readings.get(cell, -1) for cell in cells.tolist()], dtype=np.int64)


UNIT_LEVEL = 64
"""Magnitude of a bit in distances, where centred values go up to 127."""

STEPS = 16
"""Steps in which a similarity falls to its half."""

ENTRIES = 256
"""Entries of the table of similarities; the last is for all larger distances."""

SHARPNESS = 3
"""How many times a similarity halves over the median distance between training rows."""

PEAK = 127
"""Similarity of equal rows, where nothing else is there to compare it with."""

LARGEST_PEAK = 1023

_SEED = 0


@dataclass(frozen=True, eq=False)
class Similarities:
    """Similarity to each of some training rows, in integers.

        similarity(u, a) = peak 2^(-min(STEPS D // halving, 255) / STEPS), rounded,   D = sum_i |u_i - a_i|

    Attributes
    ----------
    landmarks
        The training rows a, as centred values and bits, shape (landmarks, units).
    halving
        Distance over which a similarity falls to its half.
    peak
        Similarity of equal rows.
    """

    landmarks: Integers
    halving: int
    peak: int

    @classmethod
    def fit(cls, units: Integers, most: int) -> Similarities:
        """Similarities to at most so many of the training rows with these units, drawn at random, always the same."""
        drawn = np.arange(len(units))
        if len(units) > most:
            drawn = np.sort(np.random.default_rng(_SEED).permutation(len(units))[:most])
        landmarks = units[drawn]
        distances = _distances(units, landmarks)
        apart = distances[distances > 0]
        halving = max(1, int(np.median(apart) / SHARPNESS)) if len(apart) else 1
        return cls(landmarks, halving, PEAK)

    def beside(self, others: Integers, units: Integers) -> Similarities:
        """The same with a peak that makes them as long as the other inputs of the training rows, on average."""
        length, own = (float((block.astype(np.float64) ** 2).sum()) for block in (others, self.of(units)))
        peak = int(np.clip(np.rint(PEAK * np.sqrt(length / own)), STEPS, LARGEST_PEAK)) if own else PEAK
        return Similarities(self.landmarks, self.halving, peak)

    @cached_property
    def table(self) -> Integers:
        """Similarity by distance, in steps."""
        return np.rint(self.peak * 2.0 ** (-np.arange(ENTRIES) / STEPS)).astype(np.int64)

    def of(self, units: Integers) -> Integers:
        """Similarities of rows with these units, shape (rows, landmarks)."""
        return self.table[np.minimum(_distances(units, self.landmarks) * STEPS // self.halving, ENTRIES - 1)]

    def record(self) -> list[Any]:
        """Plain data for a file."""
        return [self.halving, self.peak, self.landmarks.tolist()]

    @classmethod
    def from_record(cls, record: Any, lows: Integers, highs: Integers) -> Similarities:
        """The similarities that gave this record, for units in ``lows..highs``; ValueError if none did."""
        if not isinstance(record, (list, tuple)) or len(record) != 3 or not isinstance(record[2], (list, tuple)):
            raise ValueError("similarities must be a list of their parts")
        check_integer("halving", record[0], 1, 2**31 - 1)
        check_integer("peak", record[1], 1, LARGEST_PEAK)
        if not record[2]:
            raise ValueError("similarities need a landmark")
        for row in record[2]:
            if not isinstance(row, (list, tuple)) or len(row) != len(lows):
                raise ValueError("a landmark must have one value per unit")
            for value, low, high in zip(row, lows.tolist(), highs.tolist(), strict=True):
                check_integer("a landmark's value", value, low, high)
        return cls(np.array(record[2], dtype=np.int64), int(record[0]), int(record[1]))


def _distances(units: Integers, landmarks: Integers) -> Integers:
    # Sums of small integers are exact in floating point.
    return cdist(units, landmarks, "cityblock").astype(np.int64)
