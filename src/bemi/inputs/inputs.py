"""From raw features to the integers that the networks of an ensemble see: scaling, then a transform."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bemi.checks import check_finite, counted, is_integer
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers, shortest_of_pieces
from bemi.inputs.scaling import InputScaling
from bemi.inputs.table.text import listed
from bemi.inputs.transform import Takes, Transform, reader_of


@dataclass(frozen=True, eq=False)
class Inputs:
    """Maps features to the inputs of the networks; fitted on training rows, and part of the model.

    Attributes
    ----------
    features
        Number of features of a row.
    names
        Names of the features; None if the rows had none.
    scaling
        From features to integers; unused if the transform takes raw features.
    transform
        From these integers, or from raw features if it takes those, to the inputs of the networks; None if the integers
        are the inputs.
    image
        Height, width and channels of images, for which a transform need not ask; None if unknown.
    rate
        Samples per second of windows of a signal; None if unknown.
    """

    features: int
    names: tuple[str, ...] | None
    scaling: InputScaling
    transform: Transform | None = None
    image: tuple[int, int, int] | None = None
    rate: float | None = None

    @classmethod
    def fit(
        cls,
        X: Any,
        scaling: str | None,
        transform: Any,
        names: Sequence[str] | None = None,
        y: ArrayLike | None = None,
    ) -> Inputs:
        """Choose factors and fit the transform on training rows ``X``, shape (rows, features), with labels ``y``.

        A transform of windows may also take the shape (rows, time, channels).
        """
        features, names = math.prod(X.shape[1:]), None if names is None else tuple(names)
        has_constant = getattr(transform, "has_constant", False)
        if scaling == "centred" and not has_constant:
            raise ValueError("input_scaling='centred' moves zero, so it needs a constant input: inputs=ConstantInput()")
        if transform is None:
            return cls(features, names, InputScaling.fit(X, scaling))
        if Takes.by(transform) is not Takes.SCALED_INTEGERS:
            if scaling not in ("auto", None):
                raise ValueError(f"{_takes(transform)}; leave out input_scaling={scaling!r}")
            return cls(features, names, InputScaling(None), clone(transform).fit(X, y))
        fitted = InputScaling.fit(X, "centred" if scaling == "auto" and has_constant else scaling)
        return cls(features, names, fitted, clone(transform).fit(shortest_of_pieces(fitted, X), y))

    def checked(self, X: Any) -> NDArray:
        """Rows as an array of numbers, readings if the transform makes them itself.

        ValueError says why the rows are not what was trained on.
        """
        if not self.takes_integers:
            return reader_of(self.transform).fixed_point_inputs(X)
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.features:
            raise ValueError(f"rows must have {self.features} features, got an array of shape {rows.shape}")
        if rows.dtype.kind == "O":
            rows = rows.astype(np.float64)
        check_finite(rows, self.names)
        return rows

    def refitted(self, rows: NDArray, scaling: str | None, y: ArrayLike | None = None) -> Inputs:
        """Inputs of the same kind, fitted on some of the rows that :meth:`checked` gave, with their labels."""
        if not self.takes_integers:
            return replace(self, transform=reader_of(self.transform).refitted(rows, y))
        return Inputs.fit(rows, scaling, self.transform, self.names, y)

    def of(self, X: Any) -> Integers:
        """The integers that the networks see, for features as they are given."""
        return self(self.checked(X))

    def remarks(self, X: Any) -> list[str]:
        """What a user should know about training rows: what their cells are, and what rounding loses."""
        if not self.takes_integers:
            return list(getattr(self.transform, "remarks_", ()))
        lost = self.scaling.lost_features(self.checked(X))
        if not len(lost):
            return []
        names = self.names or [f"feature {place}" for place in range(self.features)]
        what = f"{counted(len(lost), 'feature')} ({listed([names[place] for place in lost], 3)})"
        return [f"{what}: too small differences between large numbers, lost in rounding; subtract a fixed number first"]

    def fixed_point_inputs(self, X: Any) -> Integers:
        """What a device or an ONNX graph is given for these features: readings (:mod:`bemi.inputs.fixed_point`).

        Features that are integers already are their own readings.
        """
        rows, scale = self.checked(X), self.scaling.scale
        if not self.takes_integers:
            return rows
        return self.integers(rows) if scale is None else scale.fixed_point_inputs(np.asarray(rows, dtype=np.float64))

    def from_fixed_point_inputs(self, readings: Integers) -> Integers:
        """The integers that the networks see, for rows of readings."""
        scale, limit = self.scaling.scale, self.scaling.limit
        if not self.takes_integers or scale is None:
            return self.transformed(readings)
        scaled = scale.scaled(readings)
        if limit is not None:
            scaled = np.clip(scaled, -limit, limit)
        return self.transformed(scaled if self.transform is None else np.clip(scaled, *self.transform.input_range))

    def reading_units(self) -> list[dict[str, Any]] | None:
        """How the readings of each feature are made: its ``name``, and its ``decimals`` or the ``levels`` they number.

        None if features enter as they are.
        """
        if not self.takes_integers:
            return reader_of(self.transform).reading_units()
        if self.scaling.scale is None:
            return None
        decimals = self.scaling.scale.decimals.tolist()
        names = self.names or [f"feature {place}" for place in range(self.features)]
        return [{"name": name, "decimals": d} for name, d in zip(names, decimals, strict=True)]

    def __call__(self, rows: ArrayLike) -> Integers:
        """The integers that the networks see, for rows that were checked."""
        return self.transformed(self.integers(rows) if self.takes_integers else np.asarray(rows))

    @property
    def takes_integers(self) -> bool:
        """Whether features are scaled to integers first, rather than passed to the transform as they are."""
        return Takes.by(self.transform) is Takes.SCALED_INTEGERS

    def stored(self, rows: NDArray) -> NDArray[np.integer]:
        """The same in the shortest type, without more than some rows in a longer one: training rows may be many."""
        return shortest_of_pieces(self, rows)

    def integers(self, X: ArrayLike) -> Integers:
        """Features on their integer grid, as the transform takes them."""
        if not self.takes_integers:
            raise ValueError(f"{_takes(self.transform)}, so the rows have no scaled integers")
        integers = self.scaling(X)
        if self.transform is None or self.scaling.scale is None:
            return integers
        # The largest training value became the largest integer, and new values may be slightly larger.
        return np.clip(integers, *self.transform.input_range)

    def transformed(self, rows: Any) -> Integers:
        """The transform's output for checked rows of the kind it takes; without a transform, the rows themselves."""
        if self.transform is None:
            return rows
        if not len(rows):
            return np.empty((0, self.size), dtype=np.int64)
        if not self.takes_integers:
            return reader_of(self.transform).from_fixed_point_inputs(rows)
        return self.transform.transform(rows)

    @property
    def size(self) -> int:
        """Number of inputs of the networks."""
        return self.features if self.transform is None else self.transform.n_outputs

    def bounds(self, low: int, high: int) -> tuple[Integers, Integers]:
        """Smallest and largest value of each input of the networks if all scaled integers are in ``low..high``."""
        if self.transform is None:
            return np.full(self.features, low), np.full(self.features, high)
        return self.transform.output_bounds(low, high)

    @property
    def rows_inside(self) -> int:
        """Number of training rows that the transform keeps, and with it every file and export of the model."""
        return getattr(self.transform, "rows_inside", 0)

    @property
    def closed_range(self) -> tuple[int, int] | None:
        """The range of integers that the transform accepts; None if it accepts all of 32 bits, or takes no integers."""
        if self.transform is None or not self.takes_integers:
            return None
        largest = PRE_ACTIVATION_LIMIT - 1
        accepted = self.transform.input_range
        return None if accepted == (-largest, largest) else accepted

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """Height, width and channels if rows are known to be images; otherwise None."""
        return getattr(self.transform, "image_shape", self.image)

    @property
    def window_shape(self) -> tuple[int, int] | None:
        """Samples and channels if rows are windows of a signal; otherwise None."""
        return getattr(self.transform, "window_shape", None)

    @property
    def one_unit(self) -> bool:
        """Whether all inputs of the networks are measured in one unit; also true without a transform."""
        return self.transform is None or getattr(self.transform, "one_unit", False)

    def features_of(self, inputs: Integers) -> NDArray[np.float64] | None:
        """The features behind inputs of the networks, up to rounding; None if the transform does not preserve them."""
        if self.transform is not None and not getattr(self.transform, "keeps_features", False):
            return None
        return self.scaling.values(inputs[:, : self.features])

    @property
    def constant_inputs(self) -> tuple[int, ...]:
        """Inputs of the networks that are the same for all rows, and so stand in for a bias."""
        return tuple(getattr(self.transform, "constant_inputs", ()))

    def directions(self, monotone: Mapping[Any, int] | None) -> Integers | None:
        """Direction of each input of the networks, -1, 0 or +1, for directions of some features by name or position."""
        if monotone is None:
            return None
        directions = np.zeros(self.size, dtype=np.int64)
        positions = [self._position(feature) for feature in monotone]
        if len(set(positions)) < len(positions):
            raise ValueError(f"monotone has two directions for feature {max(positions, key=positions.count)}")
        for position, direction in zip(positions, monotone.values(), strict=True):
            directions += direction * self._driven_by(position)
        return directions

    def _position(self, feature: Any) -> int:
        """Position of a feature that is given by name or position."""
        names = self.names or ()
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if is_integer(feature, 0, self.features - 1):
            return int(feature)
        names_or_positions = f"features are {', '.join(names)}" if names else f"positions are 0..{self.features - 1}"
        raise ValueError(f"monotone names {feature!r}, which is not a feature; {names_or_positions}")

    def _driven_by(self, position: int) -> Integers:
        """+1 for each input of the networks that grows with a feature, -1 for each that falls, 0 for all others."""
        if self.transform is None:
            return np.eye(1, self.features, position, dtype=np.int64)[0]
        if not hasattr(self.transform, "monotone_inputs"):
            raise ValueError(f"monotone has no meaning for {type(self.transform).__name__}, which mixes features")
        return self.transform.monotone_inputs(position)

    def widened(self, X: ArrayLike) -> Inputs:
        """A copy that counts these rows as seen in training, too."""
        return replace(self, scaling=self.scaling.widened(self.integers(X))) if self.takes_integers else self


def _takes(transform: Any) -> str:
    return f"{type(transform).__name__} takes {Takes.by(transform).value}"
