"""From raw features to the integers that the networks of an ensemble see: scaling, then a transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from bemi.inputs.scaling import InputScaling
from bemi.inputs.transform import Takes, Transform
from bemi.products import Integers


@dataclass(frozen=True, eq=False)
class Inputs:
    """How the inputs of the networks are made; fitted on training rows, and part of the model.

    Attributes
    ----------
    features
        How many features a row has.
    names
        Names of the features, None where the rows had none.
    scaling
        From features to integers.
    transform
        From these integers, or from the raw features where it takes those, to the inputs of the networks; None where
        the integers are the inputs.
    """

    features: int
    names: tuple[str, ...] | None
    scaling: InputScaling
    transform: Transform | None = None

    @classmethod
    def fit(cls, X: Any, scaling: str | None, transform: Any, names: Sequence[str] | None = None) -> Inputs:
        """Choose factors and fit the transform on training rows ``X``, shape (rows, features)."""
        fitted = cls(X.shape[1], None if names is None else tuple(names), InputScaling.fit(X, scaling))
        if transform is None:
            return fitted
        return replace(fitted, transform=clone(transform).fit(fitted._before_transform(transform, X)))

    def __call__(self, X: ArrayLike) -> Integers:
        """The integers that the networks see."""
        return self.transformed(self.integers(X)) if self._takes_integers else self.transformed(np.asarray(X))

    def integers(self, X: ArrayLike) -> Integers:
        """Features on their integer grid, as the transform takes them."""
        integers = self.scaling(X)
        if self.transform is None or self.scaling.factors is None:
            return integers
        # The largest training value became the largest integer, and others may be a little larger.
        return np.clip(integers, *self.transform.input_range)

    def transformed(self, rows: Any) -> Integers:
        """What the transform makes of rows of the kind that it takes; the rows themselves where there is none."""
        if self.transform is None:
            return rows
        return self.transform.transform(rows) if len(rows) else np.empty((0, self.size), dtype=np.int64)

    @property
    def size(self) -> int:
        """How many inputs the networks have."""
        return self.features if self.transform is None else self.transform.n_outputs

    def bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each input of the networks, where all scaled integers are in ``low..high``."""
        if self.transform is None:
            return np.full(self.features, low), np.full(self.features, high)
        return self.transform.output_bounds(low, high)

    def widened(self, X: ArrayLike) -> Inputs:
        """The same, with these rows seen in training as well."""
        return replace(self, scaling=self.scaling.widened(self.integers(X)))

    @property
    def _takes_integers(self) -> bool:
        return self.transform is None or self.transform.takes is Takes.SCALED_INTEGERS

    def _before_transform(self, transform: Any, X: Any) -> Any:
        return self.scaling(X) if transform.takes is Takes.SCALED_INTEGERS else X
