"""Images as they might have been drawn: turned, slanted, resized, shifted and bent, all at once and at random.

A combination of small changes is more plausible than each of them alone, and there are many.  A network trained on
dozens of deformed copies of a few digits does not mistake the handwriting of those few for the digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from bemi.augment.resampling import moved, resampled
from bemi.checks import check_integer, check_number
from bemi.exact import Integers
from bemi.inputs.images import check_shape, full_shape

CONTROL_POINTS = 4
"""Random shifts per side that a bent image is interpolated from."""

MOST_IMAGES, MOST_COPIES = 8000, 100

Floats = NDArray[np.float64]


class ImageDeformations(BaseEstimator):
    """Copies of images, each turned, slanted, resized, shifted and bent by random amounts.

    Every copy of every image draws its own amounts, uniformly between minus and plus the given ones; the bending is
    normal.  Values between pixels are interpolated, pixels outside the image are 0.

    Parameters
    ----------
    copies
        Copies of each image; None for about 8,000 in all, but at most 100 of an image.
    rotation
        Largest angle in degrees.
    scaling
        Largest relative change of height and of width, drawn separately.
    shear
        Largest shear: pixels sideways per pixel down.
    shift
        Largest shift, as a share of height and width.
    bending
        Standard deviation, as a share of height and width, of the shifts that a smooth random field has at its 4 x 4
        control points.
    shape
        ``(height, width)`` or ``(height, width, channels)``; None for square grey images.
    random_state
        Seed.
    """

    def __init__(
        self,
        copies: int | None = None,
        rotation: float = 14.0,
        scaling: float = 0.15,
        shear: float = 0.25,
        shift: float = 0.04,
        bending: float = 0.04,
        shape: Sequence[int] | None = None,
        random_state: int = 0,
    ) -> None:
        self.copies = copies
        self.rotation = rotation
        self.scaling = scaling
        self.shear = shear
        self.shift = shift
        self.bending = bending
        self.shape = shape
        self.random_state = random_state

    def check(self) -> None:
        """Raise ValueError for the first invalid parameter."""
        check_integer("copies", self.copies, 1, optional=True)
        for name in ("rotation", "scaling", "shear", "shift", "bending"):
            check_number(name, getattr(self, name))
        if self.scaling >= 1:
            raise ValueError(f"scaling must be less than 1, got {self.scaling!r}")
        if self.shape is not None:
            check_shape(self.shape)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Copies of images, given as rows of pixels with the channels of a pixel together."""
        self.check()
        X = np.asarray(X, dtype=np.int64)
        shape = full_shape(self.shape, X.shape[1])
        rng = np.random.default_rng(int(self.random_state))
        copies = usual_copies(len(X)) if self.copies is None else int(self.copies)
        return np.stack([resampled(X, shape, self._sources(len(X), shape, rng)) for _ in range(copies)], axis=1)

    def _sources(self, images: int, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
        """Where each pixel of a copy comes from, shape (images, 2, height, width): row and column."""
        height, width, _ = shape

        def within(largest: float, *count: int) -> Floats:
            return rng.uniform(-largest, largest, (images, *count))

        angle, slant = np.radians(within(self.rotation)), within(self.shear)
        sizes = 1 / (1 + within(self.scaling, 2))
        c, s = np.cos(angle), np.sin(angle)
        turned = np.stack([np.stack([c, s], axis=1), np.stack([-s, c], axis=1)], axis=1)
        slanted = np.tile(np.eye(2), (images, 1, 1))
        slanted[:, 1, 0] = slant
        matrices = turned @ slanted * sizes[:, None, :]
        sides = np.array([height, width])
        field = rng.normal(0.0, self.bending, (images, 2, CONTROL_POINTS, CONTROL_POINTS)) * sides[:, None, None]
        bent = _spline(height) @ field @ _spline(width).T
        return moved(height, width, matrices) + bent + (within(self.shift, 2) * sides)[:, :, None, None]


def usual_copies(images: int) -> int:
    """Copies of each image that are worth their time: more images need fewer copies of each."""
    return int(np.clip(MOST_IMAGES // max(1, images), 1, MOST_COPIES))


def _spline(size: int) -> Floats:
    """Shares of the control points in each pixel of a side, shape (size, control points); each row adds up to 1.

    Control points are evenly spaced from the first pixel to the last, and count by a cosine bump two spaces wide.
    """
    places = np.linspace(0, CONTROL_POINTS - 1, size)[:, None]
    distance = np.minimum(np.abs(places - np.arange(CONTROL_POINTS)), 1.0)
    return (1 + np.cos(math.pi * distance)) / 2
