"""The interface of a transform.  Each transform has its own folder, with all code that is specific to it.

To add one, write a class that implements :class:`Transform` and list it in :mod:`bemi.inputs.registry`.  Models with it
can then be trained and saved.  With the methods of :mod:`bemi.inputs.export_hooks` they can also be exported.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Protocol

from numpy.typing import ArrayLike

from bemi.checks import is_integer
from bemi.exact import Integers

SUMMED = 8
"""Outputs in a sum of ``summaries``."""


class Takes(Enum):
    """What rows a transform takes.

    A transform of anything but scaled integers is a :class:`Reader`, too.
    """

    SCALED_INTEGERS = "features on the integer grid of the input scaling"
    RAW_COLUMNS = "features as they are given"
    WINDOWS = "windows of a signal, time by channels"

    @classmethod
    def by(cls, transform: Any) -> Takes:
        """What a transform takes: scaled integers if it does not say, and if there is none."""
        return getattr(transform, "takes", cls.SCALED_INTEGERS)

    @property
    def allows_missing(self) -> bool:
        """Whether cells may be missing."""
        return self is Takes.RAW_COLUMNS


class Transform(Protocol):
    """What a transform must offer: scikit-learn's ``fit`` and ``transform``, and the rest of this class.

    Its outputs are integers with bounds known independently of the data, since networks are folded and exported for
    these bounds.  A small dictionary describes the fitted transform completely.

    A class may also set these flags:

    ``takes_images``
        Rows are images.  The class then has a parameter ``shape`` (None for square grey images) and, once fitted, the
        attribute ``image_shape``, (height, width, channels).
    ``of_shrunk``
        The transform of the rows that the method ``shrunk`` makes, of which variants are made; None without one.
    ``INSTEAD_OF_CIRCUIT``
        What to train for a circuit, and what that costs, if there are no circuits of the transform.
    ``one_unit``
        All outputs are measured in one unit, as pixels are, so one factor scales them all.
    ``keeps_features``
        The first outputs are the inputs, one by one.
    ``has_constant``
        A constant output stands in for the bias, so features may be centred.  Once fitted, ``constant_inputs`` are the
        positions of such outputs.
    ``summaries``
        Signs of the outputs in sums of :data:`SUMMED` of them, shape (outputs, sums), by which unknown rows differ more
        from known ones than by single outputs.
    ``selects_outputs``
        C computes only the outputs that some network looks at, see :mod:`bemi.inputs.export_hooks`.

    A transform of windows has, once fitted, the attribute ``window_shape``, (time, channels).

    A transform whose outputs each depend on one feature may offer ``monotone_inputs(feature)``: +1 for each output that
    grows with the feature of that position, -1 for each that falls, 0 for all others.
    """

    NAME: ClassVar[str]
    """Name in model files and pages."""
    VERSION: ClassVar[int]
    """Version of the algorithm; different versions may give different integers."""
    TITLE: ClassVar[str]
    """Name in headings and legends."""
    takes: ClassVar[Takes]
    """What rows it takes."""

    n_features_in_: int
    """How many values each row must have; known after ``fit``."""

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Transform:
        """Learn what the transform needs from training rows."""

    def transform(self, X: ArrayLike) -> Integers:
        """Integers of each row."""

    def describe(self) -> str:
        """What the networks see, in a few words."""

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest integer that a row may have; only for transforms of scaled integers."""

    @property
    def n_outputs(self) -> int:
        """How many integers each row gives."""

    def output_bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each output, for rows whose values are all in ``low..high``."""

    def parameters(self) -> dict[str, Any]:
        """Everything the fitted transform depends on, JSON-serialisable, with its ``name`` and ``version``."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Transform:
        """The fitted transform that gave these parameters."""


class Reader(Protocol):
    """What a transform of raw columns or windows offers besides: its two steps, to integers and from these to outputs.

    Exports take the integers in between.
    """

    @property
    def reading_range(self) -> tuple[int, int]:
        """Smallest and largest reading."""

    def reading_units(self) -> list[dict[str, Any]]:
        """How each reading is made: its ``name``, and its ``decimals`` or the ``levels`` that it numbers."""

    def fixed_point_inputs(self, X: Any) -> Integers:
        """Readings, shape (rows, features), see :mod:`bemi.inputs.fixed_point`; ValueError for a bad cell."""

    def from_fixed_point_inputs(self, readings: Integers) -> Integers:
        """What ``transform`` gives for rows with these readings."""

    def refitted(self, readings: Integers, y: ArrayLike | None = None) -> Any:
        """The transform fitted on rows with these readings and labels, with kinds and units of columns as they are."""


def reader_of(transform: Any) -> Reader:
    """A transform of raw columns or windows as the reader that it is."""
    return transform


def own_parameters(kind: type[Transform], parameters: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """The named parameters; ValueError unless name and version are the transform's and the rest are just these."""
    own = dict(parameters)
    name, version = own.pop("name", None), own.pop("version", None)
    if name != kind.NAME or not is_integer(version, kind.VERSION, kind.VERSION):
        raise ValueError(
            f"cannot read version {version!r} of {name!r}; this is version {kind.VERSION} of {kind.NAME!r}"
        )
    if own.keys() != names:
        raise ValueError(f"{kind.NAME} has the parameters {', '.join(sorted(names))}, got {', '.join(map(str, own))}")
    return own
