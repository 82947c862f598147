"""Variants of training rows that should keep their label: rotated, sheared, resized, shifted or noisy.

The few rows that a network is trained on are samples of what it will see.  A scenario object makes *variants* of them.
Training adds only those variants that the network gets wrong or not clearly right, see :mod:`bemi.training.variants`;
docs/scenarios-and-selection.md explains the rules and measures their effect.

Variants are made from the integers that ``input_scaling`` gives, before any transform, and are integers in the same
range.  Those of windows of a signal are made from its readings, see :mod:`bemi.augment.signal_scenarios`.  Your own
scenario object must offer what :class:`Scenarios` lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from bemi.augment.deformations import ImageDeformations
from bemi.augment.resampling import moved, resampled
from bemi.augment.signal_scenarios import SignalScenarios
from bemi.checks import check_choice, check_integer, check_number, numbers_in
from bemi.exact import Integers
from bemi.inputs.images import check_shape, full_shape

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


def _stacked(found: list[Integers], X: Integers) -> Integers:
    return np.stack(found, axis=1) if found else np.empty((len(X), 0, X.shape[1]), dtype=np.int64)
