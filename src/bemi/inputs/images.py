"""Rows that are images: their shapes, and guesses whether rows are images where nobody says so."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from bemi.checks import is_integer

USUAL_SHAPES = {784: (28, 28, 1), 64: (8, 8, 1)}
"""Shapes that rows with this many features are assumed to have where only their number is known."""


def check_shape(shape: Any) -> tuple[int, int, int]:
    """Height, width and channels of a shape that is given with or without the last."""
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
            raise ValueError(f"{features} features are no square image; give shape=(height, width) or add channels")
        return side, side, 1
    height, width, channels = check_shape(shape)
    if height * width * channels != features:
        raise ValueError(f"shape {tuple(shape)} means {height * width * channels} features, but X has {features}")
    return height, width, channels
