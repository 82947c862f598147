"""Images whose pixels come from other places of the image, in integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

STEPS = 16
"""Positions between two pixels are multiples of 1 / STEPS."""

Floats = NDArray[np.float64]


def moved(height: int, width: int, matrices: Floats) -> Floats:
    """The places ``matrix p`` for all pixels p, both relative to the centre, shape (matrices, 2, height, width)."""
    middle = np.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]
    places = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij")) - middle
    return (matrices @ places.reshape(2, -1)).reshape(-1, 2, height, width) + middle


def resampled(X: Integers, shape: tuple[int, int, int], sources: Floats) -> Integers:
    """Images whose pixels are interpolated from the four pixels around their sources, in sixteenths of a pixel.

    The weights of the four pixels add up to ``STEPS^2``, so no value leaves the range of the image and 0.
    """
    height, width, channels = shape
    # A frame of zeros around each image stands for everything outside it.
    framed = np.pad(X.reshape(len(X), height, width, channels), ((0, 0), (1, 2), (1, 2), (0, 0)))
    fine = np.rint(sources * STEPS).astype(np.int32) + STEPS
    row = np.clip(fine[:, 0], 0, (height + 1) * STEPS)
    column = np.clip(fine[:, 1], 0, (width + 1) * STEPS)
    down, right = (row % STEPS)[..., None], (column % STEPS)[..., None]
    image = np.arange(len(X), dtype=np.int32)[:, None, None] * (height + 3)
    corner = (image + row // STEPS) * (width + 3) + column // STEPS
    pixels = framed.reshape(-1, channels)

    def line(first: Integers) -> Integers:
        return pixels[first] * (STEPS - right) + pixels[first + 1] * right

    total = line(corner) * (STEPS - down) + line(corner + width + 3) * down
    return ((total + STEPS**2 // 2) // STEPS**2).reshape(X.shape)
