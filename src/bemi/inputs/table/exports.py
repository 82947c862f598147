"""Bits of a table in C, in an ONNX graph, in a page and in a circuit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from bemi.exact import Integers
from bemi.inputs.circuit_terms import BitTerm, ConstantTerm, NumberTerm, Term
from bemi.inputs.export_hooks import (
    SIGNED,
    UNSIGNED,
    CCode,
    CReading,
    CTable,
    CTransform,
    PageScript,
    choice_field,
    file_of,
    number_field,
    read_macro,
    smallest_type,
)
from bemi.inputs.fixed_point import MISSING, POWERS_OF_TEN, SCALE_INSTRUCTIONS
from bemi.inputs.table.cells import ENTRIES, STEPS, UNIT_LEVEL, as_table, columns_of, numbers, texts
from bemi.inputs.table.columns import (
    VALUE_GRID,
    AtLeast,
    Column,
    Constant,
    IsLevel,
    IsLike,
    IsMissing,
    Output,
    Rule,
    Value,
    units_of,
)

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor
    from bemi.inputs.table import TableBits

TEST = 20
"""Instructions for one test."""

CARD_BYTES, BITS_BYTES, RULES_BYTES, VALUES_BYTES, LIKE_BYTES = 70, 80, 100, 50, 260
"""Bytes of code of a card, of the loops over bits and rules, of that over values without the scaling, and of
similarities."""

LANDMARK, APART = 40, 12
"""Instructions for one similarity, and for each unit of it."""

SCRIPT_KINDS = {
    Value: "value",
    AtLeast: "atLeast",
    IsLevel: "equals",
    IsMissing: "equals",
    Rule: "rule",
    IsLike: "like",
    Constant: "constant",
}
"""Names of the kinds of outputs in ``table_bits.js``."""


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
        """``BEMI_HOLDS(test, value, reading)``, and how the tables are read."""
        thresholds = sum(isinstance(output, AtLeast) for output in self.outputs)
        reaches, equals = "(value) >= (reading)", "(value) == (reading)"
        mixed = f"{reaches} && ((test) < {thresholds} || {equals})"
        holds = reaches if thresholds == len(self.outputs) else mixed if thresholds else equals
        made: dict[str, object] = {"BEMI_HOLDS(test, value, reading)": f"({holds})"}
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
        return _reading_kind(self.outputs)


def _reading_kind(bits: Sequence[Output]) -> str:
    readings = [bit.reading for bit in bits]
    return smallest_type(min(readings, default=0), max(readings, default=0), SIGNED[1:])


TEST_CODES = {">=": 0, "=": 1, "<": 2, "!=": 3}
"""Tests of conditions as numbers: 1 for equality, 2 for the opposite."""


def conditions_of(rules: Sequence[Rule]) -> dict[str, list[int]]:
    """The conditions of all rules, one after the other: how many each rule has, and of each its column, reading and
    test, as lists of these names."""
    conditions = [condition for rule in rules for condition in rule.conditions]
    return {
        "rule_lengths": [len(rule.conditions) for rule in rules],
        "condition_columns": [bit.column for bit, _ in conditions],
        "condition_readings": [bit.reading for bit, _ in conditions],
        "condition_tests": [TEST_CODES[condition.test] for condition in conditions],
    }


def c_code(table: TableBits, used: Sequence[int]) -> CTransform:
    """The outputs at these positions."""
    outputs = [table.outputs_[place] for place in used]
    values = [output for output in outputs if isinstance(output, Value)]
    like = [output for output in outputs if isinstance(output, IsLike)]
    units = list(units_of(table.columns_)) if like else []
    column_kind = _column_kind(table)
    tests = ReadingTests([o for o in outputs if isinstance(o, (AtLeast, IsLevel, IsMissing))], column_kind)
    rules = [output for output in outputs if isinstance(output, Rule)]
    asked = [bit for rule in rules for bit, _ in rule.conditions]
    kinds = ("uint8_t", column_kind, _reading_kind(asked), "uint8_t")
    own = {name: (kind, entries) for kind, (name, entries) in zip(kinds, conditions_of(rules).items(), strict=True)}
    macros = {
        "BEMI_TESTS": len(tests.outputs),
        **tests.macros,
        "BEMI_RULES": len(rules),
        **({name: line for key, (kind, _) in own.items() for name, line in _read(key, kind).items()} if rules else {}),
        "BEMI_VALUES": len(values),
        "BEMI_LIKE": len(like),
        "BEMI_CONSTANT": sum(output.reading for output in outputs if isinstance(output, Constant)),
        "BEMI_LEVEL": table.level_,
        "BEMI_MISSING_READING": f"({MISSING + 1}L - 1)",
    }
    # Similarities need the values of all columns; the outputs among them share their scales.
    scaled = [unit for unit in units if isinstance(unit, Value)] if like else values
    parts = [*([_scaled_values(table, scaled, values, column_kind)] if scaled else [])]
    parts += [_likeness(table, [output.reading for output in like], column_kind)] if like else []
    for part in parts:
        macros |= part.macros
    return CTransform(
        source="\n".join([*(part.source for part in parts if part.source), file_of(__package__, "table_bits.c")]),
        macros=macros,
        tables=(
            *tests.tables,
            *(CTable(f"bemi_{name}", kind, entries) for name, (kind, entries) in own.items() if rules),
            *(made for part in parts for made in part.tables),
        ),
        code_bytes=BITS_BYTES + (RULES_BYTES if rules else 0) + sum(part.code_bytes for part in parts),
        stack_bytes=len(units),
        instructions=20
        + TEST * (len(tests.outputs) + len(rules) + len(asked))
        + (SCALE_INSTRUCTIONS + TEST) * (len(values) + len(units))
        + len(like) * (LANDMARK + APART * len(units)),
        readings=_readings(table, [*outputs, *units, *asked]),
    )


def _scaled_values(table: TableBits, scaled: list[Value], values: list[Value], column_kind: str) -> CCode:
    """Scales of some values, and which of them are outputs."""
    made = table.value_scale(scaled).c_code(-VALUE_GRID, VALUE_GRID)
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


def _likeness(table: TableBits, numbers: Sequence[int], column_kind: str) -> CCode:
    """Macros and tables of the similarities to the landmarks of these numbers."""
    likeness, units = table.similarities_, units_of(table.columns_)
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


def c_neuron(table: TableBits, weights: Integers) -> CTransform | None:
    """A neuron as a card: a start and points for tests that hold; None if it also weighs anything else.

    With bits of ``+-level``, tests that are 1 or 0, and a constant c,
    ``sum w_i bit_i + w_c c = (w_c c - level sum w_i) + sum 2 level w_i test_i``.
    """
    linked = [(table.outputs_[place], int(weights[place])) for place in np.flatnonzero(weights)]
    if any(isinstance(output, (Value, Rule, IsLike)) for output, _ in linked):
        return None
    tests = ReadingTests([o for o, _ in linked if not isinstance(o, Constant)], _column_kind(table))
    if not tests.outputs:
        return None
    points = [2 * table.level_ * weight for output, weight in linked if not isinstance(output, Constant)]
    constant = sum(weight * output.reading for output, weight in linked if isinstance(output, Constant))
    kind = smallest_type(min(points), max(points))
    return CTransform(
        source=file_of(__package__, "card.c"),
        macros={
            "BEMI_TESTS": len(points),
            **tests.macros,
            "BEMI_START": constant - sum(points) // 2,
            **read_macro("POINTS", kind),
        },
        tables=(*tests.tables, CTable("bemi_points", kind, points)),
        code_bytes=CARD_BYTES,
        stack_bytes=0,
        instructions=20 + TEST * len(points),
        function="bemi_neuron",
        readings=_readings(table, tests.outputs),
    )


def _read(name: str, kind: str) -> dict[str, object]:
    """The macro that reads a table of this name in flash."""
    return read_macro(name.upper(), kind)


def _readings(table: TableBits, outputs: Sequence[Output]) -> tuple[CReading, ...]:
    used = {output.column for output in outputs if not isinstance(output, (Constant, IsLike, Rule))}
    columns = enumerate(table.columns_)
    return tuple(CReading(column.name, column.decimals, column.levels, place in used) for place, column in columns)


def _column_kind(table: TableBits) -> str:
    return smallest_type(0, table.n_features_in_ - 1, UNSIGNED)


def onnx(table: TableBits, x: Tensor) -> Tensor:
    """All outputs from readings, one tensor per kind of output."""
    tensors = []
    for kind, group in groupby(table.outputs_, type):
        outputs = list(group)
        if kind is IsLike:
            tensors.append(_similarities(x, table))
        elif kind is Rule:
            tensors.append(_rules(x, outputs, table.level_))  # type: ignore[arg-type]
        else:
            tensors.append(_evaluated(x, table, outputs, table.level_))
    first, *others = tensors
    return first.concatenated(*others, axis=1)


def _similarities(x: Tensor, table: TableBits) -> Tensor:
    """As :class:`bemi.inputs.table.cells.Similarities` defines them."""
    likeness = table.similarities_
    assert likeness is not None
    groups = [list(group) for _, group in groupby(units_of(table.columns_), type)]
    first, *others = [_evaluated(x, table, outputs, UNIT_LEVEL) for outputs in groups]
    units = first.concatenated(*others, axis=1) if others else first
    distances = (units.unsqueeze(1) - likeness.landmarks[None]).magnitude().sum(2)
    steps = (distances * STEPS // likeness.halving).at_most(ENTRIES - 1)
    return x.graph.constant(likeness.table, np.int32).gather(steps, axis=0)


def _rules(x: Tensor, rules: Sequence[Rule], level: int) -> Tensor:
    """Rules, short ones with their last condition repeated."""
    longest = max(len(rule.conditions) for rule in rules)
    rows = [[*rule.conditions, *[rule.conditions[-1]] * (longest - len(rule.conditions))] for rule in rules]
    tests = np.array([[TEST_CODES[condition.test] for condition in row] for row in rows])
    limits = np.array([[condition.bit.reading for condition in row] for row in rows])
    cells = x.gather([[condition.bit.column for condition in row] for row in rows], axis=1)
    threshold, opposite = (x.graph.constant(flags, np.bool_) for flags in (tests & 1 == 0, tests & 2 > 0))
    on = (cells >= limits) & (cells.equals(limits) | threshold)
    return on.equals(opposite).choose(0, 1).min(2).equals(1).choose(level, -level)


def _holds(x: Tensor, bits: list[Output]) -> Tensor:
    """Whether bits of any kind are on."""
    cells = x.gather([bit.column for bit in bits], axis=1)
    limits = [bit.reading for bit in bits]
    reach = x.graph.constant([[isinstance(bit, AtLeast) for bit in bits]], np.bool_)
    return (cells >= limits) & (cells.equals(limits) | reach)


def _evaluated(x: Tensor, table: TableBits, outputs: list[Output], level: int) -> Tensor:
    """Outputs of one kind, each made of one column."""
    kind = type(outputs[0])
    cells = x.gather([output.column for output in outputs], axis=1)
    limits = [output.reading for output in outputs]
    if kind is Constant:
        return cells * 0 + limits
    if kind is Value:
        scaled = table.value_scale(outputs).onnx(cells).clipped(-VALUE_GRID, VALUE_GRID).cast(np.int32)
        return cells.equals(MISSING).choose(0, scaled)
    return _holds(x, outputs).choose(level, -level)


def page_script(table: TableBits) -> PageScript:
    """The transform in a page."""
    columns = [
        {"name": c.name, "decimals": c.decimals, "power": POWERS_OF_TEN[abs(c.decimals)], "levels": c.levels}
        for c in table.columns_
    ]
    outputs = [
        _output(output, table.columns_, name) for output, name in zip(table.outputs_, table.output_names(), strict=True)
    ]
    data = {"columns": columns, "outputs": outputs, "level": table.level_, "like": None}
    likeness = table.similarities_
    if likeness is not None:
        units = [_output(unit, table.columns_, "") for unit in units_of(table.columns_)]
        data["like"] = {
            "units": units,
            "level": UNIT_LEVEL,
            "landmarks": likeness.landmarks.tolist(),
            "steps": STEPS,
            "halving": likeness.halving,
            "table": likeness.table.tolist(),
        }
    return PageScript(file_of(__package__, "table_bits.js"), data)


def _output(output: Output, columns: Sequence[Column], name: str) -> dict[str, Any]:
    data: dict[str, Any] = {"name": name, "kind": SCRIPT_KINDS[type(output)], "column": output.column}
    if isinstance(output, Rule):
        conditions = [_output(bit, columns, "") | {"holds": holds} for bit, holds in output.conditions]
        return data | {"conditions": conditions}
    if isinstance(output, Value):
        column = columns[output.column]
        return data | {"scale": [column.centre, column.multiplier, column.shift], "limit": VALUE_GRID}
    return data | {"reading": output.reading}


def page_rows(table: TableBits, X: Any) -> list[list[float | str | None]]:
    """Rows as plain cells: numbers, text, None for a missing cell."""
    columns = []
    for column, cells in zip(table.columns_, columns_of(as_table(X), table.column_names), strict=True):
        if column.levels is None:
            own = numbers(column.name, cells)
            columns.append([None if math.isnan(number) else number for number in own.tolist()])
        else:
            columns.append(texts(cells).tolist())
    return [list(row) for row in zip(*columns, strict=True)]


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
    readings = [*column.thresholds, column.centre]
    low, high = min(readings), max(readings)
    beyond = max(1, (high - low) // max(1, len(column.thresholds)))
    unit = 10.0**-column.decimals
    return (low - beyond) * unit, column.centre * unit, (high + beyond) * unit


def circuit_terms(table: TableBits) -> list[Term]:
    """What a circuit computes for each output; ValueError if the table has similarities or rules."""
    for kind, what, name in (
        (IsLike, "similarities to training rows", "similarities"),
        (Rule, "rules", "rules"),
    ):
        if any(isinstance(output, kind) for output in table.outputs_):
            raise ValueError(f"{what} cannot be exported to Verilog yet; train with TableBits({name}=0)")
    return [_term(table, output) for output in table.outputs_]


def _term(table: TableBits, output: Output) -> Term:
    if isinstance(output, Constant):
        return ConstantTerm(output.reading)
    if isinstance(output, Value):
        column = table.columns_[output.column]
        scale = (column.centre, column.multiplier, column.shift)
        return NumberTerm(output.column, -VALUE_GRID, VALUE_GRID, *scale, missing_is_zero=True)
    return BitTerm(output.column, output.reading, not isinstance(output, AtLeast), table.level_)
