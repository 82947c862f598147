"""Gradient histograms in a page: the data for ``integer_hog.js``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bemi.inputs.export_hooks import PagePiece, file_of

if TYPE_CHECKING:
    from bemi.inputs.hog.transform import IntegerHog


def page_piece(hog: IntegerHog) -> PagePiece:
    """The transform in a page."""
    fixed = hog.constants
    data = {
        "shape": hog.shape_,
        "maximum": hog.maximum_,
        "levels": fixed.levels_by_shifted_value,
        "levelShift": fixed.level_shift,
        "doubled": fixed.doubled,
        "height": fixed.height,
        "width": fixed.width,
        "rows": fixed.rows,
        "columns": fixed.columns,
        "massShift": fixed.mass_shift,
        "orientations": int(hog.orientations),
        "directions": fixed.directions.tolist(),
        "outputShift": fixed.output_shift,
    }
    return PagePiece(file_of(__package__, "integer_hog.js"), data)
