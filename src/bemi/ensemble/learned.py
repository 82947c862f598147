"""Classes that a model with known ranges learns without training, from a few rows, as exported C does on a device.

A learned class is the mean of its rows' features (:mod:`bemi.ensemble.unknown`).  The ranges of the known classes stand
in for the rest: a class's centre is the middle of its ranges, and its spread is their width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bemi.ensemble.ensemble import Ensemble, ensemble_of
from bemi.ensemble.unknown import OUTSIDE, KnownRanges, values_of
from bemi.exact import Integers
from bemi.problem.problem import ABSTAIN

MOST_ROWS = 255
"""Of a learned class: sums of their features fit 16 bits."""

NEARER = (8, 7)
"""So many times the squared distance from a learned class must be less than so many times that from the known one."""


@dataclass(frozen=True, eq=False)
class LearnedClass:
    """A class learned from a few rows.

    Attributes
    ----------
    sums
        Of the rows' features.
    rows
        How many there are.

    Examples
    --------
    >>> from bemi import FewBitClassifier
    >>> from bemi.ensemble import LearnedClass, predict_learned
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> known = y < 2
    >>> model = FewBitClassifier(reject=0.05).fit(X[known], y[known])
    >>> virginica = LearnedClass.of(model, X[100:105])
    >>> predict_learned(model, X[[0, 60, 120, 140]], [virginica])
    array([0, 1, 2, 2])
    """

    sums: Integers
    rows: int

    @classmethod
    def of(cls, model: Any, X: ArrayLike) -> LearnedClass:
        """The class of these rows, for a classifier or an ensemble that was trained with ``reject``."""
        ensemble, ranges = _with_ranges(model)
        features = ranges.features(_values(ensemble, X))
        if not 1 <= len(features) <= MOST_ROWS:
            raise ValueError(f"a class is learned from 1 to {MOST_ROWS} rows, got {len(features)}")
        return cls(features.sum(axis=0), len(features))

    @property
    def centre(self) -> Integers:
        """Mean of the features, rounded towards zero."""
        return np.sign(self.sums) * (np.abs(self.sums) // self.rows)


def predict_learned(model: Any, X: ArrayLike, learned: Sequence[LearnedClass]) -> Integers:
    """Class indices of rows, where those of learned classes follow those of the model's; -1 for unknown rows.

    The networks propose class k, whose ranges are [l, h].  With features x, the middle c of the ranges and centres m_j
    of the learned classes, the row belongs to the j with the smallest |x - m_j|² if 8 |x - m_j|² < 7 |x - c|², and
    otherwise to k.  A learned class has the ranges m_j ± (h - l); rows outside by more than the threshold are unknown.
    """
    ensemble, ranges = _with_ranges(model)
    labels = replace(ensemble, known_ranges=None).votes(X).label
    features = ranges.features(_values(ensemble, X))
    low, high = (ends[labels] for ends in ranges.ranges)
    nearest = NEARER[1] * _apart(features, low + (high - low) // 2)
    chosen, first, last = labels, low, high
    for number, one in enumerate(learned, len(ensemble.classes)):
        apart = NEARER[0] * _apart(features, one.centre)
        nearer = (apart < nearest) & (labels != ABSTAIN)
        nearest, chosen = np.where(nearer, apart, nearest), np.where(nearer, number, chosen)
        first = np.where(nearer[:, None], one.centre - (high - low), first)
        last = np.where(nearer[:, None], one.centre + (high - low), last)
    apart = np.maximum(0, np.maximum(first - features, features - last)).sum(axis=1)
    strangeness = np.where(chosen == labels, ensemble.strangeness(X), OUTSIDE * apart)
    return np.where(strangeness > ranges.threshold, ABSTAIN, chosen)


def _with_ranges(model: Any) -> tuple[Ensemble, KnownRanges]:
    ensemble = ensemble_of(model)
    if ensemble.known_ranges is None:
        raise ValueError("classes are learned by the ranges that recognize unknown rows; train with reject=0.05")
    return ensemble, ensemble.known_ranges


def _values(ensemble: Ensemble, X: ArrayLike) -> Integers:
    return values_of(ensemble.inputs, ensemble.inputs.checked(X))


def _apart(features: Integers, centres: Integers) -> Integers:
    """Squared distances."""
    return ((features - centres) ** 2).sum(axis=1)
