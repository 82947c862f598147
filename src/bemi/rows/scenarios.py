"""What else a training row could have looked like: turned, slanted, larger, moved, noisy.

The few rows that a network is trained on are samples of what it will meet.  A scenario object gives *variants* of them,
rows that should have the same label.  Training takes up only those variants that the network gets wrong or not clearly
right, see :mod:`bemi.training.variants`; docs/scenarios-and-selection.md has the rules and what they are worth.

Variants are made of the integers that ``input_scaling`` gives, before any transform.  They are integers within the
range of these.  A scenario object of one's own needs what :class:`Scenarios` lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from bemi.inputs.images import check_shape, full_shape
from bemi.products import Integers

STEPS = 16
"""Positions between two pixels are multiples of 1 / STEPS."""

_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Scenarios(Protocol):
    """What a scenario object must offer, beside scikit-learn's ``get_params`` and ``set_params``."""

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of integer rows, shape (rows, variants, features); the same rows give the same variants."""


class ImageScenarios(BaseEstimator):
    """Images as they might have been taken as well.

    Every number gives one variant of each image (a shift gives four), all else unchanged.  Pixels between pixels are
    interpolated, pixels from outside are 0.

    Parameters
    ----------
    rotations
        Angles in degrees.
    shears
        Slants: pixels sideways per pixel down.
    scalings
        Sizes, 1 being that of the image; the middle stays where it is.
    shifts
        Pixels up, down, to the left and to the right.
    noise
        Standard deviations of normal noise on each pixel, as parts of the range of the data.
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
        """Raise ValueError unless all parameters are what they should be."""
        for name in ("rotations", "shears", "shifts"):
            _numbers(name, getattr(self, name))
        _numbers("scalings", self.scalings, at_least=0.1)
        _numbers("noise", self.noise, at_least=0)
        if self.shape is not None:
            check_shape(self.shape)
        _check_seed(self.random_state)

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of images, which are rows of ``X``, pixel after pixel and channels together."""
        self.check()
        X = np.asarray(X, dtype=np.int64)
        height, width, channels = full_shape(self.shape, X.shape[1])
        pixels = X.reshape(len(X), height * width, channels).transpose(1, 0, 2).reshape(height * width, -1)
        found = []
        for matrix, shift in self._maps():
            moved = sampling(height, width, matrix, shift) @ pixels
            # Weights of a sample add up to STEPS^2 at most, so that no value leaves the range.
            moved = (moved + STEPS**2 // 2) // STEPS**2
            found.append(moved.reshape(height * width, len(X), channels).transpose(1, 0, 2).reshape(X.shape))
        low, high = int(X.min(initial=0)), int(X.max(initial=0))
        rng = np.random.default_rng(int(self.random_state))
        for deviation in _numbers("noise", self.noise):
            noisy = X + np.rint(rng.normal(0, deviation * (high - low), X.shape)).astype(np.int64)
            found.append(np.clip(noisy, low, high))
        return _stacked(found, X)

    def _maps(self) -> Iterator[tuple[NDArray[np.float64], tuple[float, float]]]:
        """Where each pixel of a variant comes from: matrix and shift of (line, column), both from the middle."""
        still = (0.0, 0.0)
        for angle in _numbers("rotations", self.rotations):
            c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            yield np.array([[c, s], [-s, c]]), still
        for slant in _numbers("shears", self.shears):
            yield np.array([[1.0, 0.0], [slant, 1.0]]), still
        for size in _numbers("scalings", self.scalings):
            yield np.eye(2) / size, still
        for pixels in _numbers("shifts", self.shifts):
            for down, right in _MOVES:
                yield np.eye(2), (down * pixels, right * pixels)


class NoiseScenarios(BaseEstimator):
    """Noisy copies of rows, feature by feature; for measurements in a table.

    Parameters
    ----------
    scale
        Standard deviation of the noise of a feature, as a part of its standard deviation over the rows.
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
        """Raise ValueError unless all parameters are what they should be."""
        if isinstance(self.scale, bool) or not isinstance(self.scale, (int, float)) or not 0 <= self.scale < math.inf:
            raise ValueError(f"scale must be a number of at least 0, got {self.scale!r}")
        if isinstance(self.copies, bool) or not isinstance(self.copies, (int, np.integer)) or self.copies < 1:
            raise ValueError(f"copies must be an integer of at least 1, got {self.copies!r}")
        _check_seed(self.random_state)

    def variants(self, X: ArrayLike) -> Integers:
        """Noisy copies, each feature within its own range over the rows."""
        self.check()
        X = np.asarray(X, dtype=np.int64)
        rng = np.random.default_rng(int(self.random_state))
        noise = rng.normal(0.0, 1.0, (len(X), int(self.copies), X.shape[1])) * (self.scale * X.std(axis=0))
        return np.clip(X[:, None] + np.rint(noise).astype(np.int64), X.min(axis=0), X.max(axis=0))


SCENARIOS: dict[str, type[Any]] = {"images": ImageScenarios, "noise": NoiseScenarios}
"""Scenario objects by the name that a model file has for them."""


def parameters(scenarios: Any) -> dict[str, Any] | None:
    """What a model file says of a scenario object: its name and parameters; None of one that is not in the list."""
    for name, kind in SCENARIOS.items():
        if type(scenarios) is kind:
            return {"name": name} | scenarios.get_params()
    return None


def from_parameters(given: Mapping[str, Any]) -> Any:
    """The scenario object that :func:`parameters` describes; an error says what is wrong with them."""
    kind = SCENARIOS.get(given["name"])
    if kind is None:
        raise ValueError(f"scenarios must be one of {', '.join(SCENARIOS)}, got {given['name']!r}")
    if given.keys() != {"name", *kind._get_param_names()}:
        raise ValueError(f"scenarios {given['name']} have other parameters than {', '.join(given)}")
    made = kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key != "name"})
    made.check()
    return made


def sampling(height: int, width: int, matrix: NDArray[np.float64], shift: tuple[float, float]) -> csr_array:
    """How pixels of a moved image are mixed from those of the image, as integer weights out of ``STEPS^2``.

    With p the place of a pixel, from the middle, the new pixel at p is the old image at ``matrix (p - shift)``, mixed
    from the four pixels around that place, whose coordinates are rounded to multiples of 1 / STEPS.
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


def _numbers(name: str, values: Any, at_least: float = -math.inf) -> list[float]:
    given: list[Any] = list(values) if isinstance(values, (tuple, list, np.ndarray)) else [None]
    known = (int, float, np.integer, np.floating)
    if any(isinstance(v, bool) or not isinstance(v, known) or not at_least <= v < math.inf for v in given):
        limit = "" if at_least == -math.inf else f" of at least {at_least:g}"
        raise ValueError(f"{name} must be a tuple of numbers{limit}, got {values!r}")
    return [float(v) for v in given]


def _check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"random_state of scenarios must be an integer of at least 0, got {seed!r}")


def _stacked(found: list[Integers], X: Integers) -> Integers:
    return np.stack(found, axis=1) if found else np.empty((len(X), 0, X.shape[1]), dtype=np.int64)
