"""Gradient histograms in C: what ``integer_hog.c`` is compiled with, and what it takes on a device."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from bemi.inputs.c_types import bits_of, smallest_type
from bemi.inputs.export_hooks import CPiece, CTable, file_of

if TYPE_CHECKING:
    from bemi.inputs.hog.transform import IntegerHog

PIXEL = 280
CHANNEL = 170
"""Instructions for one pixel that has a gradient, and for each further channel of it."""

ROOTS = [isqrt(255 * i) for i in range(256)]
"""Nearly 16 times the root of a byte, rounded down."""


def c_piece(hog: IntegerHog, low: int, high: int) -> CPiece:
    """The transform in C, for inputs of a type that holds ``low..high``."""
    fixed, channels = hog.constants, hog.shape_[2]
    column = smallest_type(0, hog.shape_[1], ("uint8_t", "uint16_t"))
    macros: dict[str, object] = {
        "BEMI_GIVEN_HEIGHT": hog.shape_[0],
        "BEMI_GIVEN_WIDTH": hog.shape_[1],
        "bemi_column_t": column,
        "BEMI_CHANNELS": channels,
        "BEMI_HEIGHT": fixed.height,
        "BEMI_WIDTH": fixed.width,
        "BEMI_DOUBLED": int(fixed.doubled),
        "BEMI_ROWS": fixed.rows,
        "BEMI_COLUMNS": fixed.columns,
        "BEMI_MAXIMUM": hog.maximum_,
        "BEMI_SATURATE": int(high > hog.maximum_),
        "BEMI_SIGNED": int(low < 0),
        "BEMI_LEVEL_SHIFT": fixed.level_shift,
        "BEMI_STRAIGHTEN": int(hog.straighten),
        "BEMI_MASS_SHIFT": fixed.mass_shift or 0,
        "BEMI_ORIENTATIONS": hog.orientations,
        "BEMI_SECTORS": hog.orientations // 4,
        "BEMI_OUTPUT_SHIFT": fixed.output_shift,
    }
    # Each block of 4 x 4 pixels, complete or not, has its own region.
    pixels = 16 * fixed.rows * fixed.columns
    tables = [
        CTable("bemi_levels", "uint8_t", fixed.levels_by_shifted_value),
        CTable("bemi_directions", "uint8_t", fixed.directions.reshape(-1).tolist()),
    ]
    # The brightness of images that are not doubled is such a root.
    if fixed.levels_by_shifted_value == ROOTS:
        macros["bemi_roots"] = "bemi_levels"
    else:
        tables.append(CTable("bemi_roots", "uint8_t", ROOTS))
    return CPiece(
        source=file_of(__package__, "integer_hog.c"),
        macros=macros,
        tables=tuple(tables),
        code_bytes=1760 if channels == 1 else 1960,
        # Three lines of bytes and three of 16 bits, the ends of all lines, and the 32-bit sums of two rows of regions.
        stack_bytes=9 * channels * (fixed.width + 2)
        + 2 * bits_of(column) // 8 * hog.shape_[0]
        + 4 * (2 * fixed.columns + 3) * (hog.orientations + 1)
        + 80,
        instructions=pixels * (PIXEL + CHANNEL * (channels - 1)),
    )
