"""Rows that are images: their shapes, and a guess at whether rows are images when the caller does not say."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.checks import counted, is_integer
from bemi.inputs.scaling import are_integers

LARGEST_PIXEL = 2**16 - 1
"""Pixels have at most 16 bits."""

LARGEST_BOX = 128
"""Side of a box of pixels: sums of its pixels fit 32 bits."""

SMALLEST_IMAGE = 64
"""Fewest features of a row that may be an image: 8 x 8 pixels."""

ALIKE = 0.9
"""In images, vertical and horizontal neighbours differ by less than this fraction of the difference between arbitrary
pixels.  Measured: 0.3 on MNIST and Fashion-MNIST, 0.4 and 0.76 on 8 x 8 digits, and about 1 on tables of counts."""

ENOUGH_ROWS = 1000
"""About this many rows are sampled to see whether neighbours are alike."""

USUAL_SHAPES = {784: (28, 28, 1), 64: (8, 8, 1)}
"""Shapes assumed for rows of which only the number of features is known."""


def check_shape(shape: Any) -> tuple[int, int, int]:
    """Height, width and channels of a shape that is given with or without channels."""
    sizes = list(shape) if isinstance(shape, (tuple, list, np.ndarray)) else []
    if len(sizes) not in (2, 3) or not all(is_integer(n, low=1) for n in sizes):
        raise ValueError(f"shape must be (height, width) or (height, width, channels), got {shape!r}")
    height, width, channels = (int(n) for n in (*sizes, 1)[:3])
    return height, width, channels


def full_shape(shape: Any, features: int) -> tuple[int, int, int]:
    """Height, width and channels of images with this many features; without a shape they are square and grey."""
    if shape is None:
        side = isqrt(features)
        if side * side != features:
            raise ValueError(f"{features} features are not a square image; give shape=(height, width) or add channels")
        return side, side, 1
    height, width, channels = check_shape(shape)
    if height * width * channels != features:
        raise ValueError(f"shape {tuple(shape)} means {height * width * channels} features, but X has {features}")
    return height, width, channels


def shrunk_shape(shape: tuple[int, int, int], box: int) -> tuple[int, int, int]:
    """Shape of the image that has one pixel for every whole box of so many pixels on a side."""
    return shape[0] // box, shape[1] // box, shape[2]


def pixel_order(shape: tuple[int, int, int], values: str = "", name: str = "x") -> tuple[str, ...]:
    """What exports say about rows that are images: their size, and where each pixel is; ``values`` is their range."""
    height, width, channels = shape
    place, what = f"{width} * r + c", "the pixel in line r, column c"
    if channels > 1:
        place, what = f"{channels} * ({place}) + k", "channel k in line r, column c"
    of = f" of {channels} values" if channels > 1 else ""
    return (
        f"Inputs are an image from the top left, {height} lines of {width} pixels{of}{values}:",
        f"{name}[{place}] is {what}.",
    )


def why_no_image(rows: NDArray) -> str | None:
    """What distinguishes these rows from square grey images; None if nothing does."""
    if rows.ndim != 2 or not len(rows):
        return "rows are not a table"
    features = rows.shape[1]
    side = isqrt(features)
    if features < SMALLEST_IMAGE or side * side != features:
        return f"{counted(features, 'column')} cannot be the pixels of a square image"
    if rows.dtype.kind not in "biuf" or not np.isfinite(rows).all() or not are_integers(rows):
        return "values are not all integers"
    if rows.min() < 0 or rows.max() > LARGEST_PIXEL:
        return f"values are not within 0..{LARGEST_PIXEL}"
    rows = rows[:: max(1, len(rows) // ENOUGH_ROWS)]
    # A fixed permutation of the columns, so that the same rows always give the same answer.
    shuffled = rows[:, np.random.default_rng(0).permutation(features)]
    for axis in (1, 2):
        if _neighbours_differ(rows, side, axis) > ALIKE * _neighbours_differ(shuffled, side, axis):
            return "neighbouring features are not alike"
    return None


def _neighbours_differ(rows: NDArray, side: int, axis: int) -> float:
    """Mean difference between features that would be vertical or horizontal neighbours in an image."""
    return float(np.abs(np.diff(rows.reshape(-1, side, side).astype(np.float64), axis=axis)).mean())
