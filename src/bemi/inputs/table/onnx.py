"""Bits of a table as part of an ONNX graph."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from bemi.inputs.readings import MISSING
from bemi.inputs.table.column import VALUE_GRID
from bemi.inputs.table.outputs import AtLeast, Constant, Value

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor
    from bemi.inputs.table.transform import TableBits


def bits(x: Tensor, table: TableBits) -> Tensor:
    """All outputs from readings, one piece per kind of output."""
    pieces = []
    for kind, group in groupby(table.outputs_, type):
        outputs = list(group)
        cells = x.gather([output.column for output in outputs], axis=1)
        limits = [output.reading for output in outputs]
        if kind is Constant:
            pieces.append(cells * 0 + table.level_)
        elif kind is Value:
            scaled = table.value_scale(outputs).onnx(cells).clipped(-VALUE_GRID, VALUE_GRID).cast(np.int32)
            pieces.append(cells.equals(MISSING).choose(0, scaled))
        else:
            on = cells >= limits if kind is AtLeast else cells.equals(limits)
            pieces.append(on.choose(table.level_, -table.level_))
    first, *others = pieces
    return first.concatenated(*others, axis=1)
