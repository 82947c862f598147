"""What the outputs of :class:`bemi.TableBits` tell: values, thresholds, levels, missing cells, likeness, a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bemi.inputs.fixed_point_inputs import MISSING
from bemi.inputs.table.column import Column


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

    def name(self, column: Column) -> str:
        """What it tells, given its column."""
        return column.name


class Value(Output):
    """The centred value of a number."""


class AtLeast(Output):
    """Whether a number reaches a threshold."""

    def name(self, column: Column) -> str:
        return column.at_least(self.reading)


class IsLevel(Output):
    """Whether a category has a level."""

    def name(self, column: Column) -> str:
        assert column.levels is not None
        return f"{column.name} = {column.levels[self.reading]}"


class IsMissing(Output):
    """Whether a cell is missing."""

    def name(self, column: Column) -> str:
        return f"{column.name} missing"


class IsLike(Output):
    """How alike the row is to a training row; its column does not matter, and ``reading`` is that row's number."""

    def name(self, column: Column) -> str:
        return f"like row {self.reading + 1}"


class Constant(Output):
    """The constant that stands in for a bias; its column does not matter, and ``reading`` is its value."""

    def name(self, column: Column) -> str:
        return "constant"


def units_of(columns: Sequence[Column]) -> tuple[Output, ...]:
    """What rows are compared by: values, levels and missing cells."""
    numbered = list(enumerate(columns))
    return (
        *(Value(place) for place, column in numbered if column.multiplier),
        *(IsLevel(place, level) for place, column in numbered for level in column.bit_levels),
        *(IsMissing(place, MISSING) for place, column in numbered if column.has_missing),
    )


def outputs_of(columns: Sequence[Column], *, values: bool, landmarks: int, constant: int) -> tuple[Output, ...]:
    """All outputs of these columns, in order."""
    units = units_of(columns)
    return (
        *(output for output in units if values and isinstance(output, Value)),
        *(AtLeast(place, threshold) for place, column in enumerate(columns) for threshold in column.thresholds),
        *(output for output in units if not isinstance(output, Value)),
        *(IsLike(0, number) for number in range(landmarks)),
        Constant(0, constant),
    )
