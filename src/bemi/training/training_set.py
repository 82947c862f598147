"""What an ensemble is trained on: classes, the integers that the networks see, and variants of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bemi.augment.medoids import select_rows
from bemi.ensemble.ensemble import TrainingRows
from bemi.exact import Integers, joined, shortest_of_pieces
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import reader_of
from bemi.problem.soft_margin import LARGEST_ROW_WEIGHT, ROW_WEIGHT_UNIT


def group_codes(groups: ArrayLike, rows: int) -> tuple[Integers, list[Any]]:
    """The group of each row as an index, and the groups."""
    given = np.asarray(groups)
    if given.shape != (rows,):
        raise ValueError(f"groups must have one entry per row ({rows}), its shape is {given.shape}")
    codes, names = pd.factorize(given)
    if (codes < 0).any():
        raise ValueError(f"groups must say where every row comes from; row {int(np.argmax(codes < 0))} has none")
    return codes.astype(np.int64), list(names)


def class_in_one_group(targets: Integers, groups: Integers) -> int | None:
    """The first class whose rows are all of one group: it cannot be both trained on and tested."""
    for label in range(int(targets.max()) + 1):
        if len(np.unique(groups[targets == label])) < 2:
            return label
    return None


def row_folds(targets: Integers, folds: int, rng: np.random.Generator) -> Integers:
    """A fold for every row; each class is spread over all folds as evenly as possible."""
    order = rng.permutation(len(targets))
    order = order[np.argsort(targets[order], kind="stable")]
    parts = np.empty(len(targets), dtype=np.int64)
    parts[order] = np.arange(len(targets)) % folds
    return parts


def group_folds(targets: Integers, groups: Integers, folds: int, rng: np.random.Generator) -> Integers:
    """A fold for every row, the same for all rows of a group, with the classes spread as evenly as groups allow.

    Groups are placed one by one, large ones first, each where the squared shares of the classes grow least.  If a class
    ends up in one fold, where nothing could be learnt about it, every group is a fold of its own.
    """
    shares = np.zeros((int(groups.max()) + 1, int(targets.max()) + 1))
    np.add.at(shares, (groups, targets), 1)
    shares /= np.maximum(1, shares.sum(axis=0))
    order = rng.permutation(len(shares))
    order = order[np.argsort(-shares[order].max(axis=1), kind="stable")]
    held = np.zeros((folds, shares.shape[1]))
    fold_of = np.empty(len(shares), dtype=np.int64)
    for group in order:
        growth = (2 * held * shares[group]).sum(axis=1)
        # Of folds that are as good, the emptiest one.
        fold_of[group] = np.lexsort((held.sum(axis=1), growth))[0]
        held[fold_of[group]] += shares[group]
    if (held > 1 - 1e-9).any():
        return groups
    return fold_of[groups]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to train on.

    Attributes
    ----------
    classes
        The labels, in order.
    inputs
        How features become the integers that the networks see.
    data, targets
        These integers in the shortest type that holds them, and class indices.
    selected
        Positions of these rows among those that were given.
    weights
        Row weights, as in :class:`bemi.problem.problem.Problem`; None if all rows count the same.
    variants, variant_targets, variant_weights
        Plausible variants of the rows, their class indices, and their weights, which are those of the rows; None
        without scenarios.
    groups
        What each row comes from, as an index; None if every row stands for itself.
    """

    classes: NDArray
    inputs: Inputs
    data: NDArray[np.integer]
    targets: Integers
    selected: NDArray[np.integer]
    weights: Integers | None = None
    variants: NDArray[np.integer] | None = None
    variant_targets: Integers | None = None
    variant_weights: Integers | None = None
    groups: Integers | None = None

    @classmethod
    def of(
        cls,
        X: NDArray,
        y: ArrayLike,
        inputs: Inputs,
        *,
        max_per_class: int | None = None,
        scenarios: Any = None,
        weights: Weights | None = None,
        class_weight: Any = None,
        groups: ArrayLike | None = None,
    ) -> TrainingSet:
        """The training set for features and labels.

        Parameters
        ----------
        X, y
            Features, shape (rows, features), and labels.
        inputs
            How features become the integers that the networks see.
        max_per_class, scenarios, class_weight
            As in :class:`bemi.BeMiClassifier`.
        weights
            Positive weights of the rows; None if all are 1.
        groups
            What each row comes from, such as a recording; None if every row stands for itself.
        """
        classes, targets = np.unique(y, return_inverse=True)
        made = cls._selected(classes, inputs, inputs.stored(inputs.checked(X)), targets, max_per_class)
        made = made._weighted(np.ones(len(targets)) if weights is None else weights, class_weight)
        if groups is not None:
            made = replace(made, groups=group_codes(groups, len(targets))[0][made.selected])
        return made if scenarios is None else made._with_variants(X, scenarios)

    @classmethod
    def _selected(
        cls, classes: NDArray, inputs: Inputs, data: NDArray[np.integer], targets: Integers, max_per_class: int | None
    ) -> TrainingSet:
        if max_per_class is None:
            return cls(classes, inputs, data, targets, np.arange(len(data)))
        chosen = select_rows(data, targets, max_per_class)
        return cls(classes, inputs, data[chosen], targets[chosen], chosen)

    def _weighted(self, weights: Weights, class_weight: Any) -> TrainingSet:
        """The same set with weights of the rows, of all that were given, and of the classes."""
        own = weights[self.selected]
        of_class = class_weights(class_weight, self.classes, self.targets, own)
        return replace(self, weights=in_units(own * of_class[self.targets]))

    def extended(self, X: NDArray, y: ArrayLike, *, max_per_class: int | None = None) -> TrainingSet:
        """This set and rows of further classes, converted to integers in the same way.

        Parameters
        ----------
        X, y
            The further rows.
        max_per_class
            Maximum number of rows of each further class.
        """
        given, targets = np.unique(y, return_inverse=True)
        new = self._selected(given, self.inputs, self.inputs.of(X), targets, max_per_class)
        labels = np.concatenate([self.classes[self.targets], given[new.targets]])
        classes: NDArray = np.unique(np.concatenate([self.classes, labels]))
        data = np.concatenate([self.data, new.data])
        return TrainingSet(
            classes, self.inputs.widened(X), data, np.searchsorted(classes, labels), np.arange(len(data))
        )

    def _with_variants(self, X: NDArray, scenarios: Any) -> TrainingSet:
        """The same set, with the variants that scenarios make of its rows."""
        rows = self.inputs.checked(X)
        made = variants_of(self.inputs, rows if len(self.selected) == len(rows) else rows[self.selected], scenarios)
        flat = made.reshape(-1, made.shape[2])
        targets = np.repeat(self.targets, made.shape[1])
        weights = None if self.weights is None else np.repeat(self.weights, made.shape[1])
        return replace(self, variants=flat, variant_targets=targets, variant_weights=weights)

    def rows(self, taken: NDArray[np.integer] | None = None) -> TrainingRows:
        """The rows, followed by the variants at the given positions."""
        if taken is None or self.variants is None or self.variant_targets is None:
            return TrainingRows(self.data, self.targets, self.weights)
        weights = self.weights
        if weights is not None and self.variant_weights is not None:
            weights = np.concatenate([weights, self.variant_weights[taken]])
        return TrainingRows(
            np.concatenate([self.data, self.variants[taken]]),
            np.concatenate([self.targets, self.variant_targets[taken]]),
            weights,
        )


def variants_of(inputs: Inputs, rows: NDArray, scenarios: Any) -> NDArray[np.integer]:
    """What the networks see of the variants of checked rows, shape (rows, variants, inputs), in the shortest type.

    Variants are made of the integers before the transform: of scaled features, of images that the transform has
    shrunk, or of the readings of windows.
    """
    window = inputs.window_shape
    given = rows if window is None else rows.reshape(len(rows), *window)
    if window is None and not (rows.dtype.kind in "iu" and inputs.scaling.scale is None):
        given = shortest_of_pieces(inputs.integers, rows)
    of_shrunk = getattr(inputs.transform, "of_shrunk", None)
    if of_shrunk is not None:
        given = shortest_of_pieces(inputs.transform.shrunk, given)  # type: ignore[union-attr]
        inputs = replace(inputs, features=given.shape[1], names=None, transform=of_shrunk)
    scenarios = clone(scenarios)
    # Those who add and multiply expect long integers.
    pieces = scenarios.pieces(given) if hasattr(scenarios, "pieces") else [scenarios.variants(given.astype(np.int64))]
    return joined((_seen(inputs, np.asarray(piece), given) for piece in pieces), len(rows))


def _seen(inputs: Inputs, made: NDArray, given: NDArray) -> Integers:
    """What the networks see of variants of some of the given rows, shape (rows, variants, ...)."""
    window = inputs.window_shape
    whole = made.dtype.kind in "iu" or np.array_equal(made, np.rint(made))
    if len(made) > len(given) or made.shape[2:] != given.shape[1:] or not whole:
        what = "(rows, variants, features)" if window is None else "(windows, variants, time, channels)"
        raise ValueError(f"scenarios must give integers of shape {what}")
    if window is not None:
        # Readings of a sensor saturate.
        made = np.clip(made, *reader_of(inputs.transform).reading_range)
    elif made.size and not inputs.scaling.low <= made.min() <= made.max() <= inputs.scaling.high:
        raise ValueError("scenarios must stay within the range of the data")
    flat = inputs.transformed(made.reshape(-1, inputs.features).astype(np.int64, copy=False))
    return flat.reshape(*made.shape[:2], inputs.size)


Weights = NDArray[np.float64]


class Given(NamedTuple):
    """What ``fit`` is given: rows, labels, weights of the rows and what each row comes from, the last two or None."""

    X: Any
    y: ArrayLike
    sample_weight: ArrayLike | None = None
    groups: ArrayLike | None = None


def given_weights(sample_weight: ArrayLike | None, rows: int) -> Weights:
    """One weight per row, all 1 if none are given; ValueError unless they are finite, not negative and not all 0."""
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight)
    if weights.shape != (rows,) or weights.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight must have one number for each of {rows} rows, its shape is {weights.shape}")
    weights = weights.astype(np.float64)
    for wrong, what in ((~np.isfinite(weights), "finite"), (weights < 0, "at least 0")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"sample_weight must be {what}, it is {weights[row]} in row {row}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; give some rows a positive weight")
    return weights


def class_weights(class_weight: Any, classes: NDArray, targets: Integers, weights: Weights) -> Weights:
    """The weight of each class.

    Balanced classes have weights of ``total / (classes * total of the class)``, as in scikit-learn; classes without any
    weight do not count.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        totals = np.bincount(targets, weights, minlength=len(classes))
        present = totals > 0
        return np.divide(totals.sum(), present.sum() * totals, out=np.ones(len(classes)), where=present)
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class; classes are {labels}")
    return np.array([float(class_weight.get(label, 1)) for label in labels])


def in_units(weights: Weights) -> Integers | None:
    """Row weights as a problem takes them; None if all are 1."""
    if (weights == 1).all():
        return None
    if weights.max() > LARGEST_ROW_WEIGHT:
        raise ValueError(
            f"a row has the weight {weights.max():g}, the largest possible is {LARGEST_ROW_WEIGHT}; divide all weights "
            "and multiply C"
        )
    units = np.rint(weights * ROW_WEIGHT_UNIT).astype(np.int64)
    if not units.all():
        raise ValueError(
            f"a row has the weight {weights.min():g}, too small beside the unit 1/{ROW_WEIGHT_UNIT}; multiply all "
            "weights and divide C, or give the row a weight of 0"
        )
    return units
