"""The transform :class:`IntegerHog`, for images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bemi.checks import check_integer, is_integer
from bemi.exact import Integers
from bemi.inputs.export_hooks import CTransform, PageScript
from bemi.inputs.hog import exports
from bemi.inputs.hog.colours import CHANNELS, COLOURS, colour_shares
from bemi.inputs.hog.constants import DIRECTIONS, HogConstants, mass_shift, regions, usual_maximum
from bemi.inputs.images import LARGEST_BOX, LARGEST_PIXEL, full_shape, shrunk_shape
from bemi.inputs.transform import Takes, own_parameters

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor

ROWS_AT_A_TIME = 128
"""Few enough for a processor's cache."""


class IntegerHog(TransformerMixin, BaseEstimator):
    """Histograms of oriented gradients of images, in integer arithmetic.

    A raw pixel says little: shifting a stroke by one pixel changes the inputs.  Here every region of 8 x 8 pixels, four
    pixels apart, gives one number per orientation: how much the brightness changes in that direction there.  Slanted
    objects are straightened first.

    Parameters
    ----------
    shape
        ``(height, width)`` or ``(height, width, channels)`` of the images.  Each row of ``X`` is an image, pixel by
        pixel with the channels of a pixel together.  None for square grey images.
    maximum
        Largest possible pixel value, up to 65535; None uses the largest value seen in ``fit``, rounded up to 2^k - 1 or
        2^k, such as 255.
    orientations
        Number of directions: 8, 12 or 16.  Fewer are cheaper, more are more accurate.
    straighten
        Whether to remove slant, such as that of handwriting: rows are shifted sideways until the object is upright.
    colours
        Whether to add how much of the image has each of 64 colours; only for three channels.
    shrink
        Side of the boxes of pixels that are replaced by their means first, for frames of a camera: 3 makes 53 x 40
        pixels of 160 x 120.  What is left over on the right and below is not looked at.

    Attributes
    ----------
    shape_
        ``(height, width, channels)``.
    maximum_
        Largest possible pixel value.
    n_features_in_
        Pixels times channels.
    feature_names_in_
        Names of the columns of ``X``, if it had any.

    Examples
    --------
    >>> from bemi import IntegerHog
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hog = IntegerHog().fit(X)
    >>> hog.transform(X[:10]).shape
    (10, 256)
    """

    NAME = "integer-hog"
    VERSION = 1
    TITLE = "HOG"
    INSTEAD_OF_CIRCUIT = "train with inputs=None (--inputs none), which loses 2 to 10 points on 8 x 8 digits"
    takes = Takes.SCALED_INTEGERS
    takes_images = True
    one_unit = True

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        maximum: int | None = None,
        orientations: int = 16,
        straighten: bool = True,
        colours: bool = False,
        shrink: int = 1,
    ) -> None:
        self.shape = shape
        self.maximum = maximum
        self.orientations = orientations
        self.straighten = straighten
        self.colours = colours
        self.shrink = shrink

    def describe(self) -> str:
        """What the networks see, in a few words.

        Examples
        --------
        >>> hog.describe()
        'gradient histograms'
        """
        of = f" of images shrunk by {self.shrink}" if self.shrink > 1 else ""
        return f"gradient histograms{' and colours' if self.colours else ''}{of}"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> IntegerHog:
        """Determine shape and maximum; nothing else is learned.

        Parameters
        ----------
        X
            Images, shape (rows, features), non-negative integers.
        y
            Ignored.

        Examples
        --------
        >>> hog.fit(X).n_outputs
        256
        """
        images: NDArray = validate_data(self, X)
        _check_pixels(images)
        maximum = usual_maximum(int(images.max())) if self.maximum is None else self.maximum
        return self._with_maximum(images.shape[1], maximum)

    def _with_maximum(self, features: int, maximum: Any) -> IntegerHog:
        """Check all parameters and store what the transform depends on."""
        if not is_integer(self.orientations) or self.orientations not in DIRECTIONS:
            raise ValueError(f"orientations must be one of {_listed(DIRECTIONS)}, got {self.orientations!r}")
        if not isinstance(self.straighten, (bool, np.bool_)):
            raise ValueError(f"straighten must be True or False, got {self.straighten!r}")
        if not isinstance(self.colours, (bool, np.bool_)):
            raise ValueError(f"colours must be True or False, got {self.colours!r}")
        check_integer("maximum", maximum, 1, LARGEST_PIXEL)
        shape = full_shape(self.shape, features)
        if self.colours and shape[2] != CHANNELS:
            raise ValueError(f"colours needs images of {CHANNELS} channels, these have {shape[2]}; leave it out")
        check_integer("shrink", self.shrink, 1, min(LARGEST_BOX, *shape[:2]))
        if self.straighten and mass_shift(shrunk_shape(shape, self.shrink)) is None:
            raise ValueError(
                f"images of {shape[0]} x {shape[1]} pixels are too large to straighten in 32 bits; "
                "raise shrink or set straighten=False"
            )
        self.shape_, self.maximum_ = shape, int(maximum)
        return self

    def transform(self, X: ArrayLike) -> Integers:
        """Integers of each image: regions row by row, and within each region one per orientation.

        Parameters
        ----------
        X
            Images as in ``fit``, no value above ``maximum_``.

        Examples
        --------
        >>> int(hog.transform(X[:1]).max())
        113
        """
        # Imported here because Numba is slow to import.
        from bemi.inputs.hog.kernel import histograms

        check_is_fitted(self)
        pixels: NDArray = validate_data(self, X, reset=False)
        fixed = self.constants
        out = np.empty((len(pixels), self._gradients), dtype=np.int64)
        seen = []
        # In chunks, since checks and conversions copy.
        for start in range(0, len(pixels), ROWS_AT_A_TIME):
            rows = pixels[start : start + ROWS_AT_A_TIME]
            _check_pixels(rows)
            if rows.max() > self.maximum_:
                raise ValueError(
                    f"pixel value {int(rows.max())} exceeds maximum={self.maximum_}; fit with a larger maximum"
                )
            images = self.shrunk(rows).astype(np.uint16, order="C").reshape(-1, *self.shrunk_shape)
            histograms(
                *(images, fixed.levels, fixed.doubled, -1 if fixed.mass_shift is None else fixed.mass_shift),
                *(fixed.directions, fixed.output_shift, out[start : start + ROWS_AT_A_TIME]),
            )
            if self.colours:
                seen.append(colour_shares(images.reshape(len(rows), -1, CHANNELS), self.maximum_, fixed.highest))
        return np.concatenate([out, np.concatenate(seen)], axis=1) if seen else out

    @property
    def shrunk_shape(self) -> tuple[int, int, int]:
        """Shape of the images after shrinking."""
        check_is_fitted(self)
        return shrunk_shape(self.shape_, int(self.shrink))

    def shrunk(self, pixels: NDArray) -> NDArray:
        """Rows of the shrunk images: means of boxes, halves rounded up."""
        if self.shrink == 1:
            return pixels
        (height, width, channels), box = self.shrunk_shape, int(self.shrink)
        whole = pixels.reshape(-1, *self.shape_)[:, : height * box, : width * box]
        sums = whole.reshape(-1, height, box, width, box, channels).sum(axis=(2, 4), dtype=np.int64)
        return ((sums + box * box // 2) // (box * box)).reshape(len(pixels), -1)

    @property
    def of_shrunk(self) -> IntegerHog | None:
        """What makes the same outputs of the shrunk images; None if images are not shrunk."""
        if self.shrink == 1:
            return None
        own = self.get_params() | {"shape": self.shrunk_shape, "maximum": self.maximum_, "shrink": 1}
        made = IntegerHog(**own)
        made.n_features_in_ = prod(self.shrunk_shape)
        return made._with_maximum(made.n_features_in_, self.maximum_)

    @property
    def constants(self) -> HogConstants:
        """The constants in docs/transforms.md that depend on the shape and the maximum of the images."""
        check_is_fitted(self)
        return HogConstants.for_images(self.shrunk_shape, self.maximum_, int(self.orientations), bool(self.straighten))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the images."""
        check_is_fitted(self)
        return self.shape_

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest possible pixel value."""
        check_is_fitted(self)
        return 0, self.maximum_

    @property
    def n_outputs(self) -> int:
        """How many integers an image gives."""
        check_is_fitted(self)
        return self._gradients + COLOURS * bool(self.colours)

    @property
    def _gradients(self) -> int:
        rows, columns = regions(self.shrunk_shape)
        return rows * columns * int(self.orientations)

    def output_bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each output, the same for all images.

        Examples
        --------
        >>> low, high = hog.output_bounds(0, 16)
        >>> int(low[0]), int(high[0])
        (0, 208)
        """
        return np.zeros(self.n_outputs, dtype=np.int64), np.full(self.n_outputs, self.constants.highest)

    def parameters(self) -> dict[str, Any]:
        """Everything the fitted transform depends on, for a model file.

        Examples
        --------
        >>> hog.parameters()["name"]
        'integer-hog'
        """
        check_is_fitted(self)
        return {
            "name": self.NAME,
            "version": self.VERSION,
            "shape": list(self.shape_),
            "maximum": self.maximum_,
            "orientations": int(self.orientations),
            "straighten": bool(self.straighten),
            **({"colours": True} if self.colours else {}),
            **({"shrink": int(self.shrink)} if self.shrink > 1 else {}),
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> IntegerHog:
        """The fitted transform that gave these parameters.

        Examples
        --------
        >>> copy = type(hog).from_parameters(hog.parameters())
        >>> copy.n_outputs == hog.n_outputs
        True
        """
        names = {"shape", "maximum", "orientations", "straighten"} | ({"colours", "shrink"} & parameters.keys())
        own = own_parameters(cls, parameters, names)
        shape = own["shape"]
        if not isinstance(shape, Sequence) or len(shape) != 3 or not all(is_integer(n, low=1) for n in shape):
            raise ValueError(f"shape must be three integers of at least 1, got {shape!r}")
        transform = cls(**{**own, "shape": tuple(shape)})
        transform.n_features_in_ = prod(shape)
        return transform._with_maximum(transform.n_features_in_, own["maximum"])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the outputs, by region and orientation; ``input_features`` is ignored.

        Examples
        --------
        >>> hog.get_feature_names_out()[:2]
        array(['region0_0_orientation0', 'region0_0_orientation1'], dtype=object)
        """
        check_is_fitted(self)
        rows, columns = regions(self.shrunk_shape)
        names = [
            f"region{row}_{column}_orientation{orientation}"
            for row in range(rows)
            for column in range(columns)
            for orientation in range(self.orientations)
        ]
        return np.array([*names, *(f"colour{number}" for number in range(self.n_outputs - len(names)))], dtype=object)

    def c_code(self, low: int, high: int) -> CTransform:
        """The transform in C, for inputs of a type that holds ``low..high``."""
        return exports.c_code(self, low, high)

    def onnx(self, x: Tensor) -> Tensor:
        """The transform as part of an ONNX graph."""
        return exports.onnx(self, x)

    def page_script(self) -> PageScript:
        """The transform in a page."""
        return exports.page_script(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "shape_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _check_pixels(X: NDArray) -> None:
    if X.dtype.kind == "f" and not np.array_equal(X, np.rint(X)):
        raise ValueError("pixels must be integers; multiply and round them first")
    # The minimum, not an elementwise comparison: nothing is copied.
    if X.min() < 0:
        raise ValueError(f"pixels must not be negative, got {X.min():g}; subtract the smallest value first")


def _listed(names: Any) -> str:
    return ", ".join(map(str, names))
