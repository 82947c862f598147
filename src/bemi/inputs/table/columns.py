"""The columns of a fitted :class:`bemi.TableBits`, and the outputs that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bemi.checks import check_integer
from bemi.exact import Integers
from bemi.inputs.fixed_point import (
    LARGEST_READING,
    LARGEST_SHIFT,
    MISSING,
    MOST_DECIMALS,
    FixedPoint,
    decimals_for,
    fixed_point_inputs,
    in_units,
    spread,
)
from bemi.inputs.table.cells import are_text, level_readings, levels_of, numbers, texts
from bemi.inputs.table.text import trouble_with_text

VALUE_GRID = 127
"""Centred values saturate at this magnitude."""

VALUE_BITS = 15
"""Bits of a value's multiplier; more would not change integers up to 127."""


@dataclass(frozen=True)
class Column:
    """A column: how its cells become readings, and which bits are made of them.

    Attributes
    ----------
    name
        Its name.
    levels
        Texts of its categories; None for a column of numbers.
    decimals
        Decimals of its readings, 0 for categories.
    thresholds
        Readings from which on a bit is on, increasing; of categories only if they are ordered.
    centre, multiplier, shift
        How a centred value is made of a reading, see :class:`bemi.inputs.fixed_point.FixedPoint`; the multiplier is 0
        if the column has none.
    has_missing
        Whether some training rows lack the cell, so that a bit tells which do.
    zero_one
        Whether its numbers were 0 and 1 only in training, so that its bit bears its name.
    left_out
        Readings of levels and missing cells that have no bit, since another bit tells the same.
    """

    name: str
    levels: tuple[str, ...] | None = None
    decimals: int = 0
    thresholds: tuple[int, ...] = ()
    centre: int = 0
    multiplier: int = 0
    shift: int = 1
    has_missing: bool = False
    zero_one: bool = False
    left_out: tuple[int, ...] = ()

    @classmethod
    def from_cells(cls, name: str, cells: pd.Series, *, categorical: bool | None) -> Column:
        """A column for training cells, without bits; ``categorical`` is None if the cells themselves decide."""
        if categorical or (categorical is None and are_text(name, cells)):
            levels = levels_of(texts(cells))
            kind = cells.dtype
            if isinstance(kind, pd.CategoricalDtype) and kind.ordered and len(levels) > 2:
                seen = set(levels)
                levels = tuple(text for text in texts(pd.Series(kind.categories)) if text in seen)
                return cls(name, levels, thresholds=tuple(range(1, len(levels))))
            trouble = None if categorical else trouble_with_text(levels)
            if trouble is not None:
                raise ValueError(
                    f"column {name!r} {trouble.words} {trouble.example!r}; correct it, leave it out, or insist with "
                    f"TableBits(categorical=[{name!r}])"
                )
            return cls(name, levels)
        values = numbers(name, cells)
        return cls(name, decimals=decimals_for(values[~np.isnan(values)]))

    def fitted(self, readings: Integers, *, thresholds: int, values: bool) -> Column:
        """The column with bits and a scale for these readings.

        Parameters
        ----------
        readings
            Readings of the training rows.
        thresholds
            Maximum thresholds of numbers.
        values
            Whether numbers get a centred value, too.
        """
        present = np.sort(readings[readings != MISSING])
        bare = replace(self, has_missing=0 < len(present) < len(readings))
        if self.levels is not None or not len(present):
            return bare
        reach = np.array([spread(present) if values else 0.0])
        centre = np.rint([np.median(present)]).astype(np.int64)
        scale = FixedPoint.fit(np.array([self.decimals]), centre, reach, VALUE_GRID, VALUE_BITS)
        return replace(
            bare,
            thresholds=tuple(thresholds_of(present, thresholds)),
            centre=int(scale.centres[0]),
            multiplier=int(scale.multipliers[0]),
            shift=int(scale.shifts[0]),
            zero_one=self.decimals == 0 and (present[0], present[-1]) == (0, 1),
        )

    def fixed_point_inputs(self, cells: pd.Series) -> Integers:
        """Readings of cells; ValueError names the first cell that cannot be read."""
        if self.levels is not None:
            return level_readings(texts(cells), self.levels)
        return fixed_point_inputs(numbers(self.name, cells), np.int64(self.decimals))

    def what_rounding_loses(self, cells: pd.Series, readings: Integers) -> str:
        """What to do about different numbers that get the same reading, so that few readings remain; empty if none do.

        That happens to small differences between large numbers, such as 10^12, 10^12 + 1, ...
        """
        if self.levels is not None or self.decimals >= 0:
            return ""
        values = numbers(self.name, cells)
        present = values[~np.isnan(values)]
        different, left = len(np.unique(present)), len(np.unique(readings[readings != MISSING]))
        if left == different or np.ptp(readings[readings != MISSING]) >= 2 * VALUE_GRID:
            return ""
        step, middle = in_units(1, self.decimals), f"{np.median(present):.15g}"
        return (
            f"column {self.name!r}: {different:,} different numbers become {left:,}, rounded to multiples of {step}; "
            f"subtract {middle} from all of them, in new rows, too"
        )

    @property
    def bit_levels(self) -> tuple[int, ...]:
        """Levels that have a bit: all, but only the second of two, since the other bit would be its opposite."""
        count = 0 if self.levels is None else len(self.levels)
        return (1,) if count == 2 else tuple(range(count)) if count > 2 else ()

    def at_least(self, threshold: int, holds: bool = True) -> str:
        """A threshold in words, or that a cell is below it."""
        if self.zero_one and not self.multiplier:  # a centred value has the column's name already
            return self.name if holds else f"not {self.name}"
        limit = in_units(threshold, self.decimals) if self.levels is None else self.levels[threshold]
        return f"{self.name} {'>=' if holds else '<'} {limit}"

    def without(self, bit: Output) -> Column:
        """The column without one of its bits."""
        if not isinstance(bit, AtLeast):
            return replace(self, left_out=tuple(sorted((*self.left_out, bit.reading))))
        kept = tuple(threshold for threshold in self.thresholds if threshold != bit.reading)
        # Ordered categories without a threshold would have a bit per level.
        others = () if kept else self.bit_levels
        return replace(self, thresholds=kept, left_out=tuple(sorted({*self.left_out, *others})))

    def record(self) -> list[Any]:
        """The column as plain data for a file."""
        parts = [list(part) if isinstance(part, tuple) else part for part in asdict(self).values()]
        return parts if self.left_out else parts[:-1]

    @classmethod
    def from_record(cls, record: Any) -> Column:
        """The column that gave this record; ValueError if none did."""
        most = len(fields(cls))
        short = isinstance(record, (list, tuple)) and len(record) == most - 1
        if not short and not (isinstance(record, (list, tuple)) and len(record) == most and record[-1]):
            raise ValueError("a column must be a list of its parts")
        parts: list[Any] = [tuple(part) if isinstance(part, (list, tuple)) else part for part in record]
        column = cls(*parts)
        column._check()
        return column

    def _check(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError("a column has a name")
        if not isinstance(self.has_missing, bool) or not isinstance(self.zero_one, bool):
            raise ValueError("has_missing and zero_one are true or false")
        if not all(
            isinstance(part, tuple)
            for part in (() if self.levels is None else self.levels, self.thresholds, self.left_out)
        ):
            raise ValueError("levels, thresholds and bits that are left out are lists")
        texts_or_none = self.levels is None or all(isinstance(level, str) for level in self.levels)
        if not texts_or_none or len(set(self.levels or ())) < len(self.levels or ()):
            raise ValueError("levels must be different texts")
        check_integer("decimals", self.decimals, -MOST_DECIMALS, MOST_DECIMALS)
        for threshold in self.thresholds:
            check_integer("a threshold", threshold, -LARGEST_READING, LARGEST_READING)
        if list(self.thresholds) != sorted(set(self.thresholds)):
            raise ValueError("thresholds must increase")
        check_integer("centre", self.centre, -LARGEST_READING, LARGEST_READING)
        check_integer("multiplier", self.multiplier, 0, 2**VALUE_BITS - 1)
        check_integer("shift", self.shift, 1, LARGEST_SHIFT)
        if self.levels is not None and (self.multiplier or self.decimals):
            raise ValueError("categories have no values")
        if self.levels is not None and not set(self.thresholds) <= set(range(1, len(self.levels))):
            raise ValueError("thresholds of categories are levels above the first")
        for reading in self.left_out:
            if reading not in (*self.bit_levels, MISSING):
                raise ValueError("only bits of levels and of missing cells are left out")
        if list(self.left_out) != sorted(set(self.left_out)):
            raise ValueError("readings that are left out must increase")


def thresholds_of(readings: Integers, most: int) -> list[int]:
    """Readings at which to cut sorted readings: between all neighbours if these are few, else at quantiles.

    A cut at a quantile is moved into the gap between the observed readings around it.
    """
    # np.unique does not know that they are sorted, and takes thirty times as long.
    distinct = readings[np.flatnonzero(np.diff(readings, prepend=readings[:1] - 1))]
    if most < 1 or len(distinct) < 2:
        return []
    gaps = np.arange(len(distinct) - 1)
    if len(gaps) > most:
        quantiles = np.quantile(readings, np.arange(1, most + 1) / (most + 1))
        gaps = np.unique(np.clip(np.searchsorted(distinct, quantiles, side="right") - 1, 0, len(distinct) - 2))
    return [shortest_between(int(distinct[gap]), int(distinct[gap + 1])) for gap in gaps]


def shortest_between(below: int, above: int) -> int:
    """The integer in ``below + 1..above`` with the most zeros at its end, from the middle half of the gap if possible.

    Any cut in the gap gives the same bits in training; one with few digits is easy to read, and one near the middle is
    far from the rows on both sides.
    """
    quarter = (above - below) // 4
    low, high = below + 1 + quarter, above - quarter
    middle = (below + above + 1) // 2
    for zeros in range(10, 0, -1):
        step = 10**zeros
        nearest = (middle + step // 2) // step * step
        for candidate in (nearest, nearest - step, nearest + step):
            if low <= candidate <= high:
                return candidate
    return middle


@dataclass(frozen=True)
class Output:
    """One output, made of one column.

    Attributes
    ----------
    column
        Position of the column.
    reading
        The reading that a bit compares with; of a constant, its value.
    """

    column: int
    reading: int = 0

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        """What it tells, given all columns; or of a bit what its opposite tells."""
        return columns[self.column].name


class Value(Output):
    """The centred value of a number."""


class AtLeast(Output):
    """Whether a number reaches a threshold."""

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        return columns[self.column].at_least(self.reading, holds)


class IsLevel(Output):
    """Whether a category has a level."""

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        column = columns[self.column]
        assert column.levels is not None
        return f"{column.name} {'=' if holds else '!='} {column.levels[self.reading]}"


class IsMissing(Output):
    """Whether a cell is missing."""

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        return f"{columns[self.column].name} {'' if holds else 'not '}missing"


class Condition(NamedTuple):
    """What a rule asks: that a bit is on, or off.

    Attributes
    ----------
    bit
        A threshold, a level or a missing cell.
    holds
        Whether it must be on.
    """

    bit: Output
    holds: bool

    @property
    def test(self) -> str:
        """How the reading is compared."""
        return TESTS[isinstance(self.bit, AtLeast), self.holds]

    def record(self) -> list[Any]:
        """Plain data for a file."""
        return [self.bit.column, self.test, self.bit.reading]

    @classmethod
    def from_record(cls, record: Any, columns: Sequence[Column]) -> Condition:
        """The condition on these columns that gave this record; ValueError if none did."""
        if not isinstance(record, (list, tuple)) or len(record) != 3 or record[1] not in TESTS.values():
            raise ValueError("a condition of a rule must be a column, a test and a reading")
        place, test, reading = record
        check_integer("the column of a condition", place, 0, len(columns) - 1)
        column, holds = columns[place], test in (">=", "=")
        if test in (">=", "<"):
            ordered = column.levels is None or column.thresholds
            most = LARGEST_READING if column.levels is None else len(column.levels) - 1
            if not ordered:
                raise ValueError("a rule has thresholds of columns in order only")
            check_integer("the threshold of a condition", reading, -most if column.levels is None else 1, most)
            return cls(AtLeast(place, reading), holds)
        if reading == MISSING:
            return cls(IsMissing(place, MISSING), holds)
        check_integer("the level of a condition", reading, 0, len(column.levels or ()) - 1)
        return cls(IsLevel(place, reading), holds)


TESTS = {(True, True): ">=", (True, False): "<", (False, True): "=", (False, False): "!="}
"""How readings are compared, by whether with a threshold and whether that must hold."""


@dataclass(frozen=True)
class Rule(Output):
    """Whether several conditions hold; its column and reading do not matter.

    Attributes
    ----------
    conditions
        At least two.
    """

    conditions: tuple[Condition, ...] = ()

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        return " and ".join(bit.name(columns, on) for bit, on in self.conditions)


class IsLike(Output):
    """How alike the row is to a training row; its column does not matter, and ``reading`` is that row's number."""

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        return f"like row {self.reading + 1}"


class Constant(Output):
    """The constant that stands in for a bias; its column does not matter, and ``reading`` is its value."""

    def name(self, columns: Sequence[Column], holds: bool = True) -> str:
        return "constant"


def units_of(columns: Sequence[Column]) -> tuple[Output, ...]:
    """What rows are compared by: values, levels and missing cells."""
    numbered = list(enumerate(columns))
    return (
        *(Value(place) for place, column in numbered if column.multiplier),
        *(IsLevel(place, level) for place, column in numbered for level in column.bit_levels),
        *(IsMissing(place, MISSING) for place, column in numbered if column.has_missing),
    )


def _has_bit(unit: Output, column: Column) -> bool:
    """Whether a level or a missing cell has a bit."""
    ordered = isinstance(unit, IsLevel) and column.thresholds
    return not isinstance(unit, Value) and not ordered and unit.reading not in column.left_out


def bits_of(columns: Sequence[Column]) -> tuple[Output, ...]:
    """All bits of one column each: thresholds first."""
    return (
        *(AtLeast(place, threshold) for place, column in enumerate(columns) for threshold in column.thresholds),
        *(output for output in units_of(columns) if _has_bit(output, columns[output.column])),
    )


def outputs_of(
    columns: Sequence[Column], *, values: bool, landmarks: int, constant: int, rules: Sequence[Rule] = ()
) -> tuple[Output, ...]:
    """All outputs of these columns, in order."""
    return (
        *(output for output in units_of(columns) if values and isinstance(output, Value)),
        *bits_of(columns),
        *rules,
        *(IsLike(0, number) for number in range(landmarks)),
        Constant(0, constant),
    )
