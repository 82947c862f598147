"""Variants of images: a few given changes, one at a time, or many random ones at once, in integers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from bemi.checks import check_integer, check_number, numbers_in
from bemi.exact import Integers
from bemi.inputs.images import check_shape, full_shape

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


_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class ImageScenarios(BaseEstimator):
    """Rotated, sheared, resized, shifted or noisy images.

    Every number gives one variant of each image (a shift gives four), all else unchanged.  Values between pixels are
    interpolated, pixels outside the image are 0.

    Parameters
    ----------
    rotations
        Angles in degrees.
    shears
        Shears: pixels sideways per pixel down.
    scalings
        Factors of the size; the centre stays where it is.
    shifts
        Pixels up, down, left and right.
    noise
        Standard deviations of normal noise on each pixel, as fractions of the range of the data.
    shape
        ``(height, width)`` or ``(height, width, channels)``; None for square grey images.
    random_state
        Seed of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from bemi import ImageScenarios
    >>> X = np.arange(128).reshape(2, 64)  # two images of 8 x 8 pixels
    >>> scenarios = ImageScenarios(rotations=(-10, 10), scalings=())
    >>> scenarios.variants(X).shape
    (2, 2, 64)
    """

    def __init__(
        self,
        rotations: Sequence[float] = (-5, 5),
        shears: Sequence[float] = (),
        scalings: Sequence[float] = (0.95, 1.05),
        shifts: Sequence[float] = (),
        noise: Sequence[float] = (),
        shape: Sequence[int] | None = None,
        random_state: int = 0,
    ) -> None:
        self.rotations = rotations
        self.shears = shears
        self.scalings = scalings
        self.shifts = shifts
        self.noise = noise
        self.shape = shape
        self.random_state = random_state

    def check(self) -> None:
        """Raise ValueError for the first invalid parameter.

        Examples
        --------
        >>> scenarios.check()
        """
        for name in ("rotations", "shears", "shifts"):
            numbers_in(name, getattr(self, name))
        numbers_in("scalings", self.scalings, at_least=0.1)
        numbers_in("noise", self.noise, at_least=0)
        if self.shape is not None:
            check_shape(self.shape)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of images, given as rows of pixels with the channels of a pixel together.

        Examples
        --------
        >>> scenarios.variants(X[:1]).shape
        (1, 2, 64)
        """
        self.check()
        X = np.asarray(X, dtype=np.int64)
        height, width, channels = full_shape(self.shape, X.shape[1])
        found = []
        for matrix, shift in self._maps():
            sources = moved(height, width, matrix[None]) - np.array(shift)[:, None, None]
            found.append(resampled(X, (height, width, channels), np.repeat(sources, len(X), axis=0)))
        low, high = int(X.min(initial=0)), int(X.max(initial=0))
        rng = np.random.default_rng(int(self.random_state))
        for deviation in numbers_in("noise", self.noise):
            noisy = X + np.rint(rng.normal(0, deviation * (high - low), X.shape)).astype(np.int64)
            found.append(np.clip(noisy, low, high))
        return _stacked(found, X)

    def _maps(self) -> Iterator[tuple[NDArray[np.float64], tuple[float, float]]]:
        """Where each pixel of a variant comes from: matrix and shift of (row, column), relative to the centre."""
        still = (0.0, 0.0)
        for angle in numbers_in("rotations", self.rotations):
            c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            yield np.array([[c, s], [-s, c]]), still
        for slant in numbers_in("shears", self.shears):
            yield np.array([[1.0, 0.0], [slant, 1.0]]), still
        for size in numbers_in("scalings", self.scalings):
            yield np.eye(2) / size, still
        for pixels in numbers_in("shifts", self.shifts):
            for down, right in _MOVES:
                yield np.eye(2), (down * pixels, right * pixels)


def _stacked(found: list[Integers], X: Integers) -> Integers:
    return np.stack(found, axis=1) if found else np.empty((len(X), 0, X.shape[1]), dtype=np.int64)


CONTROL_POINTS = 4
"""Random shifts per side that a bent image is interpolated from."""

MOST_IMAGES, MOST_COPIES = 8000, 100
_AT_A_TIME = 256  # images


class ImageDeformations(BaseEstimator):
    """Copies of images, each rotated, sheared, resized, shifted and bent by random amounts.

    A combination of small changes is more plausible than each of them alone, and there are many.  A network trained on
    dozens of deformed copies of a few digits does not mistake the handwriting of those few for the digit.

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

    Examples
    --------
    >>> import numpy as np
    >>> from bemi import ImageDeformations
    >>> X = np.arange(128).reshape(2, 64)  # two images of 8 x 8 pixels
    >>> deformations = ImageDeformations(copies=5)
    >>> deformations.variants(X).shape
    (2, 5, 64)
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
        """Raise ValueError for the first invalid parameter.

        Examples
        --------
        >>> deformations.check()
        """
        check_integer("copies", self.copies, 1, optional=True)
        for name in ("rotation", "scaling", "shear", "shift", "bending"):
            check_number(name, getattr(self, name))
        if self.scaling >= 1:
            raise ValueError(f"scaling must be less than 1, got {self.scaling!r}")
        if self.shape is not None:
            check_shape(self.shape)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Copies of images, given as rows of pixels with the channels of a pixel together.

        Examples
        --------
        >>> deformations.variants(X[:1]).shape
        (1, 5, 64)
        """
        return np.concatenate([*self.pieces(np.asarray(X, dtype=np.int64))])

    def pieces(self, X: NDArray[np.integer]) -> Iterator[Integers]:
        """The same, of some images at a time and in order: copies of many would not fit into memory.

        Examples
        --------
        >>> [len(piece) for piece in deformations.pieces(X)]
        [2]
        """
        self.check()
        shape = full_shape(self.shape, X.shape[1])
        rng = np.random.default_rng(int(self.random_state))
        copies = usual_copies(len(X)) if self.copies is None else int(self.copies)
        drawn = [self._amounts(len(X), rng) for _ in range(copies)]
        for start in range(0, max(1, len(X)), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            sources = (self._sources(shape, *(amount[part] for amount in amounts)) for amounts in drawn)
            yield np.stack([resampled(X[part].astype(np.int64), shape, places) for places in sources], axis=1)

    def _amounts(self, images: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """What is drawn for a copy of each image: angle, slant, sizes, bending and shift."""

        def within(largest: float, *count: int) -> Floats:
            return rng.uniform(-largest, largest, (images, *count))

        angle, slant, sizes = np.radians(within(self.rotation)), within(self.shear), 1 / (1 + within(self.scaling, 2))
        bending = rng.normal(0.0, self.bending, (images, 2, CONTROL_POINTS, CONTROL_POINTS))
        return angle, slant, sizes, bending, within(self.shift, 2)

    def _sources(
        self, shape: tuple[int, int, int], angle: Floats, slant: Floats, sizes: Floats, bending: Floats, shift: Floats
    ) -> Floats:
        """Where each pixel of a copy comes from, shape (images, 2, height, width): row and column."""
        height, width, _ = shape
        c, s = np.cos(angle), np.sin(angle)
        turned = np.stack([np.stack([c, s], axis=1), np.stack([-s, c], axis=1)], axis=1)
        slanted = np.tile(np.eye(2), (len(angle), 1, 1))
        slanted[:, 1, 0] = slant
        matrices = turned @ slanted * sizes[:, None, :]
        sides = np.array([height, width])
        field = bending * sides[:, None, None]
        bent = _spline(height) @ field @ _spline(width).T
        return moved(height, width, matrices) + bent + (shift * sides)[:, :, None, None]


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
