"""A loaded data set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64] | NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and labels of a training and a test part.

    Images are rows of integers, which ``shape`` turns back into images; other rows are floats, with NaN for missing
    values.  If the publishers did not set test rows apart, all rows are in the training part.
    """

    name: str
    train_X: Rows
    train_y: Labels
    test_X: Rows
    test_y: Labels
    shape: tuple[int, int] | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None

    @property
    def has_test(self) -> bool:
        """Whether the set comes with a test part."""
        return len(self.test_y) > 0
