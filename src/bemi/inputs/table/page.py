"""Bits of a table in a page: the data for ``table_bits.js``, test rows as plain cells, and the fields of the form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bemi.inputs.export_hooks import PagePiece, choice_field, file_of, number_field
from bemi.inputs.fixed_point_inputs import POWERS_OF_TEN
from bemi.inputs.table.cells import as_table, columns_of, numbers, texts
from bemi.inputs.table.column import VALUE_GRID, Column
from bemi.inputs.table.outputs import AtLeast, Constant, IsLevel, IsLike, IsMissing, Output, Value, units_of
from bemi.inputs.table.similarities import STEPS, UNIT_LEVEL

if TYPE_CHECKING:
    from bemi.inputs.table.transform import TableBits

KINDS = {
    Value: "value",
    AtLeast: "atLeast",
    IsLevel: "equals",
    IsMissing: "equals",
    IsLike: "like",
    Constant: "constant",
}
"""Names of the kinds of outputs in the script."""


def page_piece(table: TableBits) -> PagePiece:
    """The transform in a page."""
    columns = [
        {"name": c.name, "decimals": c.decimals, "power": POWERS_OF_TEN[abs(c.decimals)], "levels": c.levels}
        for c in table.columns_
    ]
    outputs = [
        _output(output, table.columns_[output.column], name)
        for output, name in zip(table.outputs_, table.output_names(), strict=True)
    ]
    data = {"columns": columns, "outputs": outputs, "level": table.level_, "like": None}
    likeness = table.similarities_
    if likeness is not None:
        units = [_output(unit, table.columns_[unit.column], "") for unit in units_of(table.columns_)]
        data["like"] = {
            "units": units,
            "level": UNIT_LEVEL,
            "landmarks": likeness.landmarks.tolist(),
            "steps": STEPS,
            "halving": likeness.halving,
            "table": likeness.table.tolist(),
        }
    return PagePiece(file_of(__package__, "table_bits.js"), data)


def _output(output: Output, column: Column, name: str) -> dict[str, Any]:
    known: dict[str, Any] = {"name": name, "kind": KINDS[type(output)], "column": output.column}
    if isinstance(output, Value):
        return known | {"scale": [column.centre, column.multiplier, column.shift], "limit": VALUE_GRID}
    return known | {"reading": output.reading}


def page_rows(table: TableBits, X: Any) -> list[list[float | str | None]]:
    """Rows as plain cells: numbers, text, None for a missing cell."""
    found = []
    for column, cells in zip(table.columns_, columns_of(as_table(X), table.column_names), strict=True):
        if column.levels is None:
            own = numbers(column.name, cells)
            found.append([None if math.isnan(number) else number for number in own.tolist()])
        else:
            found.append(texts(cells).tolist())
    return [list(row) for row in zip(*found, strict=True)]


def page_fields(table: TableBits, rows: Sequence[Sequence[Any]] | None) -> list[dict[str, Any]]:
    """The form's fields, with the ranges of these rows; without rows, those that the thresholds suggest."""
    cells = zip(*rows, strict=True) if rows is not None and len(rows) else [()] * len(table.columns_)
    return [_field(column, list(own)) for column, own in zip(table.columns_, cells, strict=True)]


def _field(column: Column, cells: list[Any]) -> dict[str, Any]:
    seen = [cell for cell in cells if cell is not None]
    # A field for the missing cell only where some rows lack it; a number can be deleted anyway.
    missing = column.has_missing or len(seen) < len(cells)
    usual = Counter(cells).most_common(1)[0][0] if cells else None
    if column.levels is not None:
        return choice_field(column.name, column.levels, usual or next(iter(column.levels), None), missing=missing)
    if column.zero_one:
        return choice_field(column.name, (0, 1), int(usual or 0), missing=missing)
    low, start, high = (min(seen), float(np.median(seen)), max(seen)) if seen else _range(column)
    return number_field(column.name, low, start, high, column.decimals, missing=missing, may_be_empty=True)


def _range(column: Column) -> tuple[float, float, float]:
    """Lowest, usual and highest value, from the readings that a column compares with."""
    known = [*column.thresholds, column.centre]
    low, high = min(known), max(known)
    beyond = max(1, (high - low) // max(1, len(column.thresholds)))
    unit = 10.0**-column.decimals
    return (low - beyond) * unit, column.centre * unit, (high + beyond) * unit
