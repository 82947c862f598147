"""How many pixels of an image have each colour, as integers; with :class:`bemi.IntegerHog`, whose gradients see shapes.

A channel has four levels, ``4 v // (maximum + 1)``, so there are 64 colours.  A colour becomes the integer root of
``min(count, most) * whole // most``, where ``most`` is a sixteenth of the pixels and ``whole`` the square of the
largest gradient output: one range for both, and a small coloured thing counts beside thousands of gradients.  Counts
of large images lose their last bits first, so that products fit 32 bits.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

LEVELS, CHANNELS = 4, 3
COLOURS = LEVELS**CHANNELS


PART = 16
"""A colour of so many times fewer pixels than the image has counts as much as one of all pixels."""


def counted(pixels: int) -> tuple[int, int]:
    """Shift of counts after which a product with the square of a byte fits 31 bits, and the largest shifted count."""
    shift = max(0, (pixels // PART).bit_length() - 15)
    return shift, max(1, pixels // PART >> shift)


def colour_shares(images: NDArray, maximum: int, highest: int) -> Integers:
    """How much there is of each colour, for images of shape (images, pixels, 3); shape (images, 64)."""
    number, pixels, _ = images.shape
    levels = images.astype(np.int64) * LEVELS // (maximum + 1)
    colours = levels @ np.array([LEVELS**2, LEVELS, 1])
    places = colours + COLOURS * np.arange(number)[:, None]
    counts = np.bincount(places.reshape(-1), minlength=COLOURS * number).reshape(number, COLOURS)
    shift, most = counted(pixels)
    roots = np.array([isqrt(value) for value in range(highest**2 + 1)])
    return roots[np.minimum(counts >> shift, most) * highest**2 // most]


def onnx(within: Tensor, pixels: int, maximum: int, highest: int) -> Tensor:
    """Squares of the same from pixels in ``0..maximum``, shape (images, pixels * 3), before the root."""
    levels = within.reshape(0, pixels, CHANNELS) * LEVELS // (maximum + 1)
    colours = levels @ np.array([LEVELS**2, LEVELS, 1])
    graph, (shift, most) = within.graph, counted(pixels)
    sizes = within.sizes(0, 1).concatenated(graph.constant([COLOURS], np.int64), axis=0)
    ones = graph.constant(1, np.int32).expand(colours.sizes(0, 2))
    counts = graph.constant(0, np.int32).expand(sizes).scatter_add(colours.cast(np.int64), ones, axis=1)
    return (counts // (1 << shift)).at_most(most) * highest**2 // most
