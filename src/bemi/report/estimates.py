"""How precisely rows or recordings tell an accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from bemi.exact import Integers

LEVEL = 0.95
"""How often a range should cover the accuracy."""

Floats = NDArray[np.float64]


def effective_rows(right: Floats, weights: Floats, groups: Integers | None = None) -> float:
    """How many independent rows of equal weight tell as much as these.

    Rows of one recording resemble each other.  Their number is divided by the design effect, by which the variance
    between recordings exceeds that of independent rows (Korn and Graubard 1998).  One recording that is all right and
    one that is all wrong are added, so that a few recordings without an error do not pass for many independent rows.

    Parameters
    ----------
    right
        Whether each row is labelled right, or how often.
    weights
        Of the rows.
    groups
        The recording of each row; None if every row stands for itself.
    """
    kish = float(weights.sum() ** 2 / np.maximum((weights**2).sum(), 1e-300))
    if groups is None:
        return kish
    codes = np.unique(groups, return_inverse=True)[1]
    count = int(codes.max()) + 1
    sizes = np.bincount(codes, weights)
    sizes, hits = (
        np.append(sizes, [sizes.mean()] * 2),
        np.append(np.bincount(codes, weights * right), [sizes.mean(), 0]),
    )
    share = hits.sum() / sizes.sum()
    variance = (count + 2) / (count + 1) * ((hits - share * sizes) ** 2).sum() / sizes.sum() ** 2
    return float(np.clip(share * (1 - share) / variance - 2, 1.0, kish))


def accuracy_range(share: float, rows: float, level: float = LEVEL) -> tuple[float, float]:
    """Accuracies that a share of right labels among independent rows leaves open (Clopper and Pearson 1934).

    ``rows`` need not be a whole number.
    """
    hits, tail = min(1.0, max(0.0, share)) * rows, (1 - level) / 2
    low = 0.0 if hits <= 0 else float(betaincinv(hits, rows - hits + 1, tail))
    high = 1.0 if hits >= rows else float(betaincinv(hits + 1, rows - hits, 1 - tail))
    return low, high


def expected_accuracy(estimate: tuple[float, float, float] | None) -> str:
    """An expected accuracy and its range in words; empty if there is none."""
    if estimate is None:
        return ""
    accuracy, low, high = (100 * share for share in estimate)
    return f"expected accuracy on new rows {accuracy:.1f} % ({low:.0f} to {high:.0f} %)"


@dataclass(frozen=True, eq=False)
class Tested:
    """What cross-validation tells of a model.

    Attributes
    ----------
    right
        How often each tested row was labelled right.
    weights
        Of these rows.
    groups
        The recording of each; None if every row stands for itself.
    folds
        Of the cross-validation.
    """

    right: Floats
    weights: Floats
    groups: Integers | None
    folds: int

    def accuracy(self, optimism: float) -> tuple[float, float, float]:
        """The expected accuracy and its range; the best of many looks better than it is by the ``optimism``."""
        expected = min(1.0, max(0.0, float(np.average(self.right, weights=self.weights)) - optimism))
        return expected, *accuracy_range(expected, effective_rows(self.right, self.weights, self.groups))
