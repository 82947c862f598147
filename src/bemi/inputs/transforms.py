"""From rows to the integers that networks see, in arithmetic that any device repeats bit for bit.

A raw pixel says little: the same stroke one pixel further is another input.  :class:`IntegerHog` describes an image by
how much brightness changes in which direction, region by region.  docs/transforms.md has the algorithm step by step.
:class:`ConstantInput` is for tables: it stands in for the bias that a neuron does not have.

A transform of one's own needs what :class:`Transform` lists.  It takes and gives integers, knows its output range
without looking at data (networks are folded and exported for that range), and is pinned down by a small dictionary.
Entered in :data:`TRANSFORMS` under its name, it is found again by :func:`from_parameters`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bemi.inputs.hog.kernel import describe
from bemi.products import Integers


class Transform(Protocol):
    """What a transform must offer."""

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Transform:
        """Learn what the transform needs from training rows."""

    def transform(self, X: ArrayLike) -> Integers:
        """Integers of each row, all within :attr:`output_range`."""

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest integer that a row may have."""

    @property
    def output_range(self) -> tuple[int, int]:
        """Smallest and largest integer that any row can give."""

    @property
    def n_outputs(self) -> int:
        """How many integers each row gives."""

    n_features_in_: int
    """How many integers each row must have; known after ``fit``."""

    def parameters(self) -> dict[str, Any]:
        """All that the fitted transform depends on, as JSON can hold it, with its ``name`` and ``version``."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Transform:
        """The fitted transform that gave these parameters."""


def from_parameters(parameters: Mapping[str, Any]) -> Transform:
    """The fitted transform that :meth:`Transform.parameters` describes."""
    name = parameters.get("name")
    if name not in TRANSFORMS:
        raise ValueError(f"transform must be one of {', '.join(TRANSFORMS)}, got {name!r}")
    return TRANSFORMS[name].from_parameters(parameters)


DIRECTIONS = {
    8: ((7, 0), (5, 5), (0, 7)),
    12: ((8, 0), (7, 4), (4, 7), (0, 8)),
    16: ((13, 0), (12, 5), (9, 9), (5, 12), (0, 13)),
}
"""By number of orientations, directions from right to down; short integer vectors of nearly equal length and spacing.
Turns by 90 degrees give the others."""

GAIN = {8: 7, 12: 6, 16: 7}
"""By number of orientations, a G such that no share of a gradient (gx, gy) exceeds px gx + py gy for some fixed
|px| + |py| <= G."""

SMALL_SIDE = 16
"""An image with a side shorter than this is doubled."""

ROWS_AT_A_TIME = 1024
LARGEST_MAXIMUM = 2**16 - 1
LARGEST_LEVEL = 2**31 - 1
BRIGHTEST = 255
"""Brightness, as the steps after the first see it, is at most this: one byte per pixel."""

WINDOW_WEIGHTS = 32
"""Sum of the weights 1, 3, 5, 7, 7, 5, 3, 1 of a window."""

STEEPEST = 52
"""Largest weighted sum of the rises of a row over one window, blurred with 1, 2, 1, if the row is within 0..1."""

SUMS_END = 2**31
"""Every intermediate stays below this, so that 32-bit devices agree."""


@dataclass(frozen=True, eq=False)
class HogConstants:
    """What :class:`IntegerHog` computes with, for one shape and maximum; see docs/transforms.md.

    Attributes
    ----------
    height, width, doubled
        Size of the image that is worked on, and whether it is twice the given one.
    rows, columns
        Regions.
    levels
        Brightness by pixel value.
    mass_shift
        Shift of a pixel's mass, None where slant is left alone.
    directions
        Directions from right to down, shape (orientations / 4 + 1, 2).
    output_shift
        Shift of a region's sums before the root.
    """

    height: int
    width: int
    doubled: bool
    rows: int
    columns: int
    levels: NDArray[np.int32]
    mass_shift: int | None
    directions: NDArray[np.int32]
    output_shift: int


class IntegerHog(TransformerMixin, BaseEstimator):
    """Histograms of oriented gradients of images, in integers alone.

    Every region of 8 x 8 pixels, four pixels apart, gives one number per orientation: how much the brightness changes
    in that direction there.  Slanted objects are first straightened.

    Parameters
    ----------
    shape
        ``(height, width)`` or ``(height, width, channels)`` of the images, which are rows of ``X``, pixel after pixel
        and channels together; None for square grey images.
    maximum
        Largest value that a pixel can have, up to 65535; None takes the largest value seen in ``fit``, rounded up to
        2^k - 1 or 2^k, such as 255.
    orientations
        Directions told apart: 8, 12 or 16.  Fewer are cheaper, more are more accurate.
    straighten
        Whether to remove slant, as of handwriting: rows are shifted sideways until the object stands upright.

    Attributes
    ----------
    shape_
        ``(height, width, channels)``.
    maximum_
        Largest value that a pixel can have.
    n_features_in_
        Pixels times channels.
    feature_names_in_
        Names of the columns of ``X``, if it had any.
    """

    NAME = "integer-hog"
    VERSION = 1

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        maximum: int | None = None,
        orientations: int = 16,
        straighten: bool = True,
    ) -> None:
        self.shape = shape
        self.maximum = maximum
        self.orientations = orientations
        self.straighten = straighten

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> IntegerHog:
        """Settle shape and maximum; nothing else is learned.

        Parameters
        ----------
        X
            Images, shape (rows, features), non-negative integers.
        y
            Ignored.
        """
        images: NDArray = validate_data(self, X)
        _check_integers(images)
        maximum = _usual_maximum(int(images.max())) if self.maximum is None else self.maximum
        return self._settle(images.shape[1], maximum)

    def _settle(self, features: int, maximum: Any) -> IntegerHog:
        """Check all parameters and store what the transform depends on."""
        if not _is_integer(self.orientations) or self.orientations not in DIRECTIONS:
            raise ValueError(f"orientations must be one of {_listed(DIRECTIONS)}, got {self.orientations!r}")
        if not isinstance(self.straighten, (bool, np.bool_)):
            raise ValueError(f"straighten must be True or False, got {self.straighten!r}")
        if not _is_integer(maximum) or not 1 <= maximum <= LARGEST_MAXIMUM:
            raise ValueError(f"maximum must be an integer in 1..{LARGEST_MAXIMUM}, got {maximum!r}")
        shape = full_shape(self.shape, features)
        if self.straighten and _mass_shift(shape, BRIGHTEST) is None:
            raise ValueError(
                f"images of {shape[0]} x {shape[1]} pixels are too large to straighten in 32 bits; "
                "shrink them or set straighten=False"
            )
        self.shape_, self.maximum_ = shape, int(maximum)
        return self

    def transform(self, X: ArrayLike) -> Integers:
        """Integers of each image: region after region, row by row, and in each region orientation after orientation.

        Parameters
        ----------
        X
            Images as in ``fit``, no value above ``maximum_``.
        """
        check_is_fitted(self)
        pixels: NDArray = validate_data(self, X, reset=False)
        fixed = self.constants
        out = np.empty((len(pixels), self.n_outputs), dtype=np.int64)
        # In pieces, since checks and conversions copy.
        for start in range(0, len(pixels), ROWS_AT_A_TIME):
            rows = pixels[start : start + ROWS_AT_A_TIME]
            _check_integers(rows)
            if rows.max() > self.maximum_:
                raise ValueError(f"a pixel has {int(rows.max())}, but maximum is {self.maximum_}; fit with maximum=")
            images = rows.astype(np.int32, order="C").reshape(-1, *self.shape_)
            describe(
                *(images, fixed.levels, fixed.doubled, -1 if fixed.mass_shift is None else fixed.mass_shift),
                *(fixed.directions, fixed.output_shift, out[start : start + ROWS_AT_A_TIME]),
            )
        return out

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest value that a pixel can have."""
        check_is_fitted(self)
        return 0, self.maximum_

    @property
    def output_range(self) -> tuple[int, int]:
        """Smallest and largest integer that any image can give."""
        return 0, isqrt(self._largest_sum >> self.constants.output_shift)

    @property
    def constants(self) -> HogConstants:
        """The numbers that docs/transforms.md leaves to the shape and the maximum of the images."""
        check_is_fitted(self)
        height, width = _worked_size(self.shape_)
        rows, columns = _regions(self.shape_)
        levels = brightness_levels(self.maximum_, root=not _is_doubled(self.shape_))
        return HogConstants(
            height=height,
            width=width,
            doubled=_is_doubled(self.shape_),
            rows=rows,
            columns=columns,
            levels=levels,
            mass_shift=_mass_shift(self.shape_, int(levels[-1])) if self.straighten else None,
            directions=np.array(DIRECTIONS[self.orientations], dtype=np.int32),
            # The smallest shift after which the root fits a byte.
            output_shift=max(0, self._largest_sum.bit_length() - 16),
        )

    def parameters(self) -> dict[str, Any]:
        """All that the transform depends on, for a model file; the version stands for the algorithm."""
        check_is_fitted(self)
        return {
            "name": self.NAME,
            "version": self.VERSION,
            "shape": list(self.shape_),
            "maximum": self.maximum_,
            "orientations": int(self.orientations),
            "straighten": bool(self.straighten),
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> IntegerHog:
        """The fitted transform that gave these parameters."""
        given = dict(parameters)
        name, version = given.pop("name", None), given.pop("version", None)
        if name != cls.NAME or not _is_integer(version) or version != cls.VERSION:
            raise ValueError(
                f"cannot read version {version!r} of {name!r}; this is version {cls.VERSION} of {cls.NAME!r}"
            )
        if given.keys() != {"shape", "maximum", "orientations", "straighten"}:
            raise ValueError(f"{cls.NAME} has shape, maximum, orientations and straighten, got {_listed(given)}")
        shape = given["shape"]
        if not isinstance(shape, Sequence) or len(shape) != 3 or not all(_is_integer(n) and n >= 1 for n in shape):
            raise ValueError(f"shape must be three integers of at least 1, got {shape!r}")
        transform = cls(**{**given, "shape": tuple(shape)})
        transform.n_features_in_ = prod(shape)
        return transform._settle(transform.n_features_in_, given["maximum"])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the outputs, by region and orientation; ``input_features`` is ignored."""
        check_is_fitted(self)
        rows, columns = _regions(self.shape_)
        return np.array(
            [
                f"region{row}_{column}_orientation{orientation}"
                for row in range(rows)
                for column in range(columns)
                for orientation in range(self.orientations)
            ],
            dtype=object,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "shape_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @property
    def n_outputs(self) -> int:
        """How many integers an image gives."""
        check_is_fitted(self)
        rows, columns = _regions(self.shape_)
        return rows * columns * int(self.orientations)

    @property
    def _largest_sum(self) -> int:
        """No region's sum exceeds this; docs/transforms.md has the reasons."""
        check_is_fitted(self)
        top = int(brightness_levels(self.maximum_, root=not _is_doubled(self.shape_))[-1])
        # With several channels neighbouring gradients may come from different ones, and rises no longer cancel falls.
        rise = min(STEEPEST * self.shape_[2], 4 * WINDOW_WEIGHTS)
        return GAIN[self.orientations] * WINDOW_WEIGHTS * 4 * rise * top


class ConstantInput(TransformerMixin, BaseEstimator):
    """The inputs, and one more that is always the same: its weight is the bias that a neuron does not have.

    Inputs saturate at the constant, so that all of them are known to lie in ``-level..level``.

    Parameters
    ----------
    level
        The constant; None takes the largest magnitude seen in ``fit``.

    Attributes
    ----------
    level_
        The constant.
    n_features_in_
        Inputs without the constant.
    """

    NAME = "constant-input"
    VERSION = 1

    def __init__(self, level: int | None = None) -> None:
        self.level = level

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> ConstantInput:
        """Settle the constant.

        Parameters
        ----------
        X
            Integers, shape (rows, features).
        y
            Ignored.
        """
        inputs: NDArray = validate_data(self, X)
        largest = max(1, int(inputs.max()), -int(inputs.min()))
        return self._settle(largest if self.level is None else self.level)

    def _settle(self, level: Any) -> ConstantInput:
        if not _is_integer(level) or not 1 <= level <= LARGEST_LEVEL:
            raise ValueError(f"level must be an integer in 1..{LARGEST_LEVEL}, got {level!r}")
        self.level_ = int(level)
        return self

    def transform(self, X: ArrayLike) -> Integers:
        """The inputs of each row, none beyond the constant, and the constant last."""
        check_is_fitted(self)
        inputs: NDArray = validate_data(self, X, reset=False)
        if not np.array_equal(inputs, np.rint(inputs)):
            raise ValueError("inputs must be integers; give other data an input_scaling")
        within = np.clip(inputs, -self.level_, self.level_).astype(np.int64)
        return np.concatenate([within, np.full((len(within), 1), self.level_)], axis=1)

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest integer that a row may have; beyond the constant they saturate."""
        return -LARGEST_LEVEL, LARGEST_LEVEL

    @property
    def output_range(self) -> tuple[int, int]:
        """Smallest and largest integer that any row can give."""
        check_is_fitted(self)
        return -self.level_, self.level_

    @property
    def n_outputs(self) -> int:
        """How many integers a row gives."""
        check_is_fitted(self)
        return self.n_features_in_ + 1

    def parameters(self) -> dict[str, Any]:
        """All that the transform depends on, for a model file."""
        check_is_fitted(self)
        return {"name": self.NAME, "version": self.VERSION, "inputs": self.n_features_in_, "level": self.level_}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> ConstantInput:
        """The fitted transform that gave these parameters."""
        version = parameters.get("version")
        if parameters.get("name") != cls.NAME or not _is_integer(version) or version != cls.VERSION:
            raise ValueError(f"this is version {cls.VERSION} of {cls.NAME!r}, got {dict(parameters)!r}")
        if parameters.keys() != {"name", "version", "inputs", "level"} or not _is_integer(parameters["inputs"]):
            raise ValueError(f"{cls.NAME} has inputs and level, both integers, got {_listed(parameters)}")
        if parameters["inputs"] < 1:
            raise ValueError(f"inputs must be at least 1, got {parameters['inputs']}")
        transform = cls(parameters["level"])
        transform.n_features_in_ = int(parameters["inputs"])
        return transform._settle(parameters["level"])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "level_")


TRANSFORMS: dict[str, type[Transform]] = {IntegerHog.NAME: IntegerHog, ConstantInput.NAME: ConstantInput}
"""Transforms by the name in their parameters."""


def brightness_levels(maximum: int, root: bool) -> NDArray[np.int32]:
    """Brightness, at most 255, of each pixel value in ``0..maximum``: in proportion, or to its square root."""
    shift = max(0, int(maximum).bit_length() - 8)
    top = maximum >> shift
    values = range(maximum + 1)
    if root:
        # Dark clothes have folds as light ones have: a root makes equal ratios more alike.
        return np.array([isqrt((v >> shift) * (BRIGHTEST**2 // top)) for v in values], dtype=np.int32)
    return np.array([(v >> shift) * (BRIGHTEST // top) for v in values], dtype=np.int32)


def _is_doubled(shape: Sequence[int]) -> bool:
    return min(shape[:2]) < SMALL_SIDE


def _worked_size(shape: Sequence[int]) -> tuple[int, int]:
    """Height and width after doubling."""
    factor = 2 if _is_doubled(shape) else 1
    return factor * shape[0], factor * shape[1]


def _regions(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of regions."""
    height, width = _worked_size(shape)
    return -(-height // 4), -(-width // 4)


def _mass_shift(shape: Sequence[int], top: int) -> int | None:
    """Smallest shift of a pixel's mass that keeps second moments, in half pixels, within 32 bits; None if none does."""
    height, width = _worked_size(shape)
    mass = shape[2] * top
    for shift in range(mass.bit_length()):
        if (mass >> shift) * height * width * max(height, width) ** 2 < SUMS_END:
            return shift
    return None


def _usual_maximum(largest: int) -> int:
    """The smallest 2^k - 1 or 2^k that is no less, and at least 1: few images need not show their largest value."""
    power = 1 << max(0, largest - 1).bit_length()
    return largest if largest == power else max(1, (1 << largest.bit_length()) - 1)


def check_shape(shape: Any) -> tuple[int, int, int]:
    """Height, width and channels of a shape that is given with or without the last."""
    sizes = list(shape) if isinstance(shape, (tuple, list, np.ndarray)) else []
    if len(sizes) not in (2, 3) or not all(_is_integer(n) and n >= 1 for n in sizes):
        raise ValueError(f"shape must be (height, width) or (height, width, channels), got {shape!r}")
    height, width, channels = (int(n) for n in (*sizes, 1)[:3])
    return height, width, channels


def full_shape(shape: Any, features: int) -> tuple[int, int, int]:
    """Height, width and channels of images with so many features; without a shape they are square and grey."""
    if shape is None:
        side = isqrt(features)
        if side * side != features:
            raise ValueError(f"{features} features are no square image; give shape=(height, width) or add channels")
        return side, side, 1
    height, width, channels = check_shape(shape)
    if height * width * channels != features:
        raise ValueError(f"shape {tuple(shape)} means {height * width * channels} features, but X has {features}")
    return height, width, channels


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_integers(X: NDArray) -> None:
    if X.dtype.kind == "f" and not np.array_equal(X, np.rint(X)):
        raise ValueError("pixels must be integers; multiply and round them first")
    # The smallest value, not a comparison of each: nothing is copied.
    if X.min() < 0:
        raise ValueError(f"pixels must not be negative, got {X.min():g}; subtract the smallest value first")


def _listed(names: Any) -> str:
    return ", ".join(map(str, names))
