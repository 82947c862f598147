"""Bits of a table as terms of a circuit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bemi.inputs.circuit_terms import BitTerm, ConstantTerm, NumberTerm, Term
from bemi.inputs.table.column import VALUE_GRID
from bemi.inputs.table.outputs import AtLeast, Constant, Output, Value

if TYPE_CHECKING:
    from bemi.inputs.table.transform import TableBits


def terms(table: TableBits) -> list[Term]:
    """What a circuit computes for each output; ValueError if the table has similarities."""
    if table.similarities_ is not None:
        raise ValueError(
            "similarities to training rows cannot be exported to Verilog yet; train with TableBits(similarities=0)"
        )
    return [_term(table, output) for output in table.outputs_]


def _term(table: TableBits, output: Output) -> Term:
    if isinstance(output, Constant):
        return ConstantTerm(output.reading)
    if isinstance(output, Value):
        column = table.columns_[output.column]
        scale = (column.centre, column.multiplier, column.shift)
        return NumberTerm(output.column, -VALUE_GRID, VALUE_GRID, *scale, missing_is_zero=True)
    return BitTerm(output.column, output.reading, not isinstance(output, AtLeast), table.level_)
