"""Variants of training rows that should keep their label: rotated, sheared, resized, shifted or noisy.

The few rows that a network is trained on are samples of what it will see.  A scenario object makes *variants* of them.
Training adds only those variants that the network gets wrong or not clearly right, see :mod:`bemi.training.variants`;
docs/scenarios-and-selection.md explains the rules and measures their effect.

Variants are made from the integers that ``input_scaling`` gives, before any transform, and are integers in the same
range.  Those of windows of a signal are made from its readings, see :mod:`bemi.rows.signal_scenarios`.  Your own
scenario object must offer what :class:`Scenarios` lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from bemi.checks import check_choice, check_integer, check_number, numbers_in
from bemi.inputs.images import check_shape, full_shape
from bemi.products import Integers
from bemi.rows.deformations import ImageDeformations
from bemi.rows.signal_scenarios import SignalScenarios

STEPS = 16
"""Positions between two pixels are multiples of 1 / STEPS."""

_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Scenarios(Protocol):
    """What a scenario object must offer, in addition to scikit-learn's ``get_params`` and ``set_params``."""

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of integer rows, shape (rows, variants, features); the same rows give the same variants.

        Windows of a signal are given as (windows, time, channels), and their variants have one dimension more, too.
        """


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
        """Raise ValueError for the first invalid parameter."""
        for name in ("rotations", "shears", "shifts"):
            numbers_in(name, getattr(self, name))
        numbers_in("scalings", self.scalings, at_least=0.1)
        numbers_in("noise", self.noise, at_least=0)
        if self.shape is not None:
            check_shape(self.shape)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of images, given as rows of pixels with the channels of a pixel together."""
        self.check()
        X = np.asarray(X, dtype=np.int64)
        height, width, channels = full_shape(self.shape, X.shape[1])
        pixels = X.reshape(len(X), height * width, channels).transpose(1, 0, 2).reshape(height * width, -1)
        found = []
        for matrix, shift in self._maps():
            moved = sampling(height, width, matrix, shift) @ pixels
            # The weights of a pixel add up to at most STEPS^2, so no value leaves the range.
            moved = (moved + STEPS**2 // 2) // STEPS**2
            found.append(moved.reshape(height * width, len(X), channels).transpose(1, 0, 2).reshape(X.shape))
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


class NoiseScenarios(BaseEstimator):
    """Noisy copies of rows, feature by feature; for measurements in a table.

    Parameters
    ----------
    scale
        Standard deviation of the noise of a feature, as a fraction of its standard deviation over the rows.
    copies
        Noisy copies of each row.
    random_state
        Seed.
    """

    def __init__(self, scale: float = 0.1, copies: int = 4, random_state: int = 0) -> None:
        self.scale = scale
        self.copies = copies
        self.random_state = random_state

    def check(self) -> None:
        """Raise ValueError for the first invalid parameter."""
        check_number("scale", self.scale)
        check_integer("copies", self.copies, 1)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Noisy copies, each feature within its own range over the rows."""
        self.check()
        X = np.asarray(X, dtype=np.int64)
        rng = np.random.default_rng(int(self.random_state))
        noise = rng.normal(0.0, 1.0, (len(X), int(self.copies), X.shape[1])) * (self.scale * X.std(axis=0))
        return np.clip(X[:, None] + np.rint(noise).astype(np.int64), X.min(axis=0), X.max(axis=0))


SCENARIOS: dict[str, type[Any]] = {
    "images": ImageScenarios,
    "deformations": ImageDeformations,
    "noise": NoiseScenarios,
    "signals": SignalScenarios,
}
"""Scenario classes by their name in model files."""


def parameters(scenarios: Any) -> dict[str, Any] | None:
    """Name and parameters of a scenario object, for model files; None if it is not in :data:`SCENARIOS`."""
    for name, kind in SCENARIOS.items():
        if type(scenarios) is kind:
            return {"name": name} | scenarios.get_params()
    return None


def from_parameters(given: Mapping[str, Any]) -> Any:
    """The scenario object that :func:`parameters` describes; raises ValueError if it describes none."""
    check_choice("scenarios", given["name"], SCENARIOS)
    kind = SCENARIOS[given["name"]]
    if given.keys() != {"name", *kind().get_params()}:
        raise ValueError(f"scenarios {given['name']} have other parameters than {', '.join(given)}")
    made = kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key != "name"})
    made.check()
    return made


def sampling(height: int, width: int, matrix: NDArray[np.float64], shift: tuple[float, float]) -> csr_array:
    """Integer weights, out of ``STEPS^2``, that combine pixels of the image into those of the moved image.

    With p the position of a pixel relative to the centre, the new pixel at p is the old image at
    ``matrix (p - shift)``, rounded to multiples of 1 / STEPS and interpolated from the four pixels around it.
    """
    middle = np.array([(height - 1) / 2, (width - 1) / 2])
    places = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1).reshape(-1, 2)
    source = (places - middle - np.array(shift)) @ matrix.T + middle
    fine = np.rint(source * STEPS).astype(np.int64)
    corner, part = fine // STEPS, fine % STEPS
    rows, columns, weights = [], [], []
    for line in (0, 1):
        for column in (0, 1):
            at = corner + np.array((line, column))
            share = np.where((line, column), part, STEPS - part).prod(axis=1)
            inside = ((at >= 0) & (at < (height, width))).all(axis=1) & (share > 0)
            rows.append(np.flatnonzero(inside))
            columns.append(at[inside] @ (width, 1))
            weights.append(share[inside])
    entries = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return csr_array(entries, shape=(height * width, height * width))


def _stacked(found: list[Integers], X: Integers) -> Integers:
    return np.stack(found, axis=1) if found else np.empty((len(X), 0, X.shape[1]), dtype=np.int64)
