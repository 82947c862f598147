"""Bits of a table as part of an ONNX graph."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from bemi.inputs.fixed_point_inputs import MISSING
from bemi.inputs.table.column import VALUE_GRID
from bemi.inputs.table.outputs import AtLeast, Constant, IsLike, Output, Value, units_of
from bemi.inputs.table.similarities import ENTRIES, STEPS, UNIT_LEVEL

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor
    from bemi.inputs.table.transform import TableBits


def bits(x: Tensor, table: TableBits) -> Tensor:
    """All outputs from readings, one piece per kind of output."""
    pieces = []
    for kind, group in groupby(table.outputs_, type):
        outputs = list(group)
        if kind is IsLike:
            pieces.append(_similarities(x, table))
        else:
            pieces.append(_evaluated(x, table, outputs, table.level_))
    first, *others = pieces
    return first.concatenated(*others, axis=1)


def _similarities(x: Tensor, table: TableBits) -> Tensor:
    """As :class:`bemi.inputs.table.similarities.Similarities` defines them."""
    likeness = table.similarities_
    assert likeness is not None
    groups = [list(group) for _, group in groupby(units_of(table.columns_), type)]
    first, *others = [_evaluated(x, table, outputs, UNIT_LEVEL) for outputs in groups]
    units = first.concatenated(*others, axis=1) if others else first
    distances = (units.unsqueeze(1) - likeness.landmarks[None]).magnitude().sum(2)
    steps = (distances * STEPS // likeness.halving).at_most(ENTRIES - 1)
    return x.graph.constant(likeness.table, np.int32).gather(steps, axis=0)


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
    on = cells >= limits if kind is AtLeast else cells.equals(limits)
    return on.choose(level, -level)
