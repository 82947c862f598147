"""Bits of a table in C: what ``table_bits.c`` and ``card.c`` are compiled with, and what they take on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bemi.exact import Integers
from bemi.inputs.c_types import SIGNED, UNSIGNED, read_macro, smallest_type
from bemi.inputs.export_hooks import CCode, CPiece, CReading, CTable, file_of
from bemi.inputs.fixed_point_c import VALUE, c_code
from bemi.inputs.fixed_point_inputs import MISSING
from bemi.inputs.table.column import VALUE_GRID
from bemi.inputs.table.outputs import AtLeast, Constant, IsLike, Output, Value, units_of
from bemi.inputs.table.similarities import STEPS, UNIT_LEVEL

if TYPE_CHECKING:
    from bemi.inputs.table.transform import TableBits

TEST = 20
"""Instructions for one test."""

CARD_BYTES = 70
BITS_BYTES = 80
VALUES_BYTES = 50
LIKE_BYTES = 260
"""Bytes of code of a card, of the loop over bits, of that over values without the scaling, and of similarities."""

LANDMARK, APART = 40, 12
"""Instructions for one similarity, and for each unit of it."""


@dataclass(frozen=True)
class ReadingTests:
    """Tests of readings as tables and macros; those of a threshold come first.

    Attributes
    ----------
    outputs
        The bits, in the order of the transform.
    column_kind
        Type of a column's position.
    """

    outputs: Sequence[Output]
    column_kind: str

    @property
    def macros(self) -> dict[str, object]:
        """``BEMI_TESTS``, ``BEMI_HOLDS(test, value, reading)``, and how the tables are read."""
        thresholds = sum(isinstance(output, AtLeast) for output in self.outputs)
        reaches, equals = "(value) >= (reading)", "(value) == (reading)"
        mixed = f"{reaches} && ((test) < {thresholds} || {equals})"
        holds = reaches if thresholds == len(self.outputs) else mixed if thresholds else equals
        made: dict[str, object] = {"BEMI_TESTS": len(self.outputs), "BEMI_HOLDS(test, value, reading)": f"({holds})"}
        return made | read_macro("COLUMN", self.column_kind) | read_macro("READING", self._kind)

    @property
    def tables(self) -> tuple[CTable, ...]:
        """Column and reading of each test."""
        if not self.outputs:
            return ()
        return (
            CTable("bemi_columns", self.column_kind, [output.column for output in self.outputs]),
            CTable("bemi_readings", self._kind, [output.reading for output in self.outputs]),
        )

    @property
    def _kind(self) -> str:
        readings = [output.reading for output in self.outputs]
        return smallest_type(min(readings, default=0), max(readings, default=0), SIGNED[1:])


def c_piece(bits: TableBits, used: Sequence[int]) -> CPiece:
    """The outputs at these positions."""
    outputs = [bits.outputs_[place] for place in used]
    values = [output for output in outputs if isinstance(output, Value)]
    like = [output for output in outputs if isinstance(output, IsLike)]
    units = list(units_of(bits.columns_)) if like else []
    column_kind = _column_kind(bits)
    tests = ReadingTests([o for o in outputs if not isinstance(o, (Value, IsLike, Constant))], column_kind)
    macros = {
        **tests.macros,
        "BEMI_VALUES": len(values),
        "BEMI_LIKE": len(like),
        "BEMI_CONSTANT": sum(output.reading for output in outputs if isinstance(output, Constant)),
        "BEMI_LEVEL": bits.level_,
        "BEMI_MISSING_READING": f"({MISSING + 1}L - 1)",
    }
    # Similarities need the values of all columns; the outputs among them share their scales.
    scaled = [unit for unit in units if isinstance(unit, Value)] if like else values
    parts = [*([_scaled_values(bits, scaled, values, column_kind)] if scaled else [])]
    parts += [_likeness(bits, [output.reading for output in like], column_kind)] if like else []
    for part in parts:
        macros |= part.macros
    return CPiece(
        source="\n".join([*(part.source for part in parts if part.source), file_of(__package__, "table_bits.c")]),
        macros=macros,
        tables=(*tests.tables, *(table for part in parts for table in part.tables)),
        code_bytes=BITS_BYTES + sum(part.code_bytes for part in parts),
        stack_bytes=len(units),
        instructions=20
        + TEST * len(tests.outputs)
        + (VALUE + TEST) * (len(values) + len(units))
        + len(like) * (LANDMARK + APART * len(units)),
        readings=_readings(bits, [*outputs, *units]),
    )


def _scaled_values(bits: TableBits, scaled: list[Value], values: list[Value], column_kind: str) -> CCode:
    """Scales of some values, and which of them are outputs."""
    made = c_code(bits.value_scale(scaled), -VALUE_GRID, VALUE_GRID)
    shared = scaled != values
    tables = []
    if values:
        tables.append(CTable("bemi_value_columns", column_kind, [value.column for value in values]))
    if values and shared:
        tables.append(CTable("bemi_value_scales", column_kind, [scaled.index(value) for value in values]))
    scale_of = "BEMI_READ_COLUMN(bemi_value_scales[place])" if shared else "(place)"
    return replace(
        made,
        macros={**made.macros, **({"BEMI_SCALE_OF(place)": scale_of} if values else {})},
        tables=(*made.tables, *tables),
        code_bytes=made.code_bytes + (VALUES_BYTES if values else 0),
    )


def _likeness(bits: TableBits, numbers: Sequence[int], column_kind: str) -> CCode:
    """Macros and tables of the similarities to the landmarks of these numbers."""
    likeness, units = bits.similarities_, units_of(bits.columns_)
    assert likeness is not None
    return CCode(
        source="",
        macros={
            "BEMI_UNITS": len(units),
            "BEMI_UNIT_VALUES": sum(isinstance(unit, Value) for unit in units),
            "BEMI_UNIT_LEVEL": UNIT_LEVEL,
            "BEMI_STEPS": f"{STEPS}UL",
            "BEMI_HALVING": f"{likeness.halving}UL",
        },
        tables=(
            CTable("bemi_unit_columns", column_kind, [unit.column for unit in units]),
            CTable("bemi_unit_readings", "int32_t", [unit.reading for unit in units]),
            CTable("bemi_landmarks", "int8_t", likeness.landmarks[list(numbers)].reshape(-1).tolist()),
            CTable("bemi_similarity", "uint16_t", likeness.table.tolist()),
        ),
        code_bytes=LIKE_BYTES,
    )


def c_neuron(bits: TableBits, weights: Integers) -> CPiece | None:
    """A neuron as a card: a start and points for tests that hold; None if it also weighs values or similarities.

    With bits of ``+-level``, tests that are 1 or 0, and a constant c,
    ``sum w_i bit_i + w_c c = (w_c c - level sum w_i) + sum 2 level w_i test_i``.
    """
    linked = [(bits.outputs_[place], int(weights[place])) for place in np.flatnonzero(weights)]
    if any(isinstance(output, (Value, IsLike)) for output, _ in linked):
        return None
    tests = ReadingTests([o for o, _ in linked if not isinstance(o, Constant)], _column_kind(bits))
    if not tests.outputs:
        return None
    points = [2 * bits.level_ * weight for output, weight in linked if not isinstance(output, Constant)]
    constant = sum(weight * output.reading for output, weight in linked if isinstance(output, Constant))
    kind = smallest_type(min(points), max(points))
    return CPiece(
        source=file_of(__package__, "card.c"),
        macros={
            **tests.macros,
            "BEMI_START": constant - sum(points) // 2,
            **read_macro("POINTS", kind),
        },
        tables=(*tests.tables, CTable("bemi_points", kind, points)),
        code_bytes=CARD_BYTES,
        stack_bytes=0,
        instructions=20 + TEST * len(points),
        function="bemi_neuron",
        readings=_readings(bits, tests.outputs),
    )


def _readings(bits: TableBits, outputs: Sequence[Output]) -> tuple[CReading, ...]:
    used = {output.column for output in outputs if not isinstance(output, (Constant, IsLike))}
    columns = enumerate(bits.columns_)
    return tuple(CReading(column.name, column.decimals, column.levels, place in used) for place, column in columns)


def _column_kind(bits: TableBits) -> str:
    return smallest_type(0, bits.n_features_in_ - 1, UNSIGNED)
