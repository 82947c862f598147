"""Gradient histograms in C: what ``integer_hog.c`` is compiled with, and what it takes on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bemi.inputs.pieces import CPiece, CTable, file_of

if TYPE_CHECKING:
    from bemi.inputs.hog.transform import IntegerHog

PIXEL = 280
CHANNEL = 170
"""Instructions for one pixel that has a gradient, and for each further channel of it."""


def c_piece(hog: IntegerHog, low: int, high: int) -> CPiece:
    """The transform in C, for inputs of a type that holds ``low..high``."""
    fixed, channels = hog.constants, hog.shape_[2]
    macros = {
        "BEMI_GIVEN_WIDTH": hog.shape_[1],
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
    return CPiece(
        source=file_of(__package__, "integer_hog.c"),
        macros=macros,
        tables=(
            CTable("bemi_levels", "uint8_t", fixed.levels_by_shifted_value),
            CTable("bemi_directions", "uint8_t", fixed.directions.reshape(-1).tolist()),
        ),
        code_bytes=1620 if channels == 1 else 1800,
        # Three lines of bytes and three of 16 bits, their spans, and the 32-bit sums of two rows of regions.
        stack_bytes=channels * (9 * fixed.width + 12) + 80 + 8 * fixed.columns * hog.orientations,
        instructions=pixels * (PIXEL + CHANNEL * (channels - 1)),
    )
