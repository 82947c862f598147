"""What a transform is.  Each one lives in a folder of its own, with everything that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Protocol

from numpy.typing import ArrayLike

from bemi.products import Integers


class Takes(Enum):
    """What rows a transform takes."""

    SCALED_INTEGERS = "features on the integer grid of the input scaling"
    RAW_COLUMNS = "features as they are given"
    WINDOWS = "windows of a signal, time by channels"


class Transform(Protocol):
    """What a transform must offer: scikit-learn's ``fit`` and ``transform``, and the rest of this class."""

    NAME: ClassVar[str]
    """Name in model files."""
    SHORT_NAME: ClassVar[str]
    """Name in experiment files and on the command line."""
    takes: ClassVar[Takes]
    """What rows it takes."""

    n_features_in_: int
    """How many values each row must have; known after ``fit``."""

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Transform:
        """Learn what the transform needs from training rows."""

    def transform(self, X: ArrayLike) -> Integers:
        """Integers of each row."""

    @property
    def input_range(self) -> tuple[int, int]:
        """Smallest and largest integer that a row may have."""

    @property
    def n_outputs(self) -> int:
        """How many integers each row gives."""

    def output_bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each output, for rows whose values are all in ``low..high``."""

    def parameters(self) -> dict[str, Any]:
        """All that the fitted transform depends on, as JSON can hold it, with its ``name`` and ``version``."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Transform:
        """The fitted transform that gave these parameters."""
