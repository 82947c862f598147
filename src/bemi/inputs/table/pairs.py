"""Which pairs of bits tell something that single bits do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from bemi.exact import Integers

MOST_BITS = 512
"""Of more bits, the heaviest of the linear model are paired."""

_DIGITS = 6
"""Gains that agree to so many digits are equal, so that rounding decides nothing."""


def best_pairs(bits: Integers, columns: Sequence[int], y: ArrayLike, most: int) -> list[tuple[int, int]]:
    """At most so many pairs of bits of different columns, those first that improve a linear model the most.

    A logistic regression on the bits B leaves the residuals ``R_ic = [y_i = c] - p_ic``.  With centred bits ``b``, the
    gain of a pair is how fast the loss falls with its weight,

        gain_pq = sum_c |sum_i R_ic b_ip b_iq|.

    Parameters
    ----------
    bits
        Whether each bit is on, positive or not, shape (rows, bits).
    columns
        The column of each bit.
    y
        Labels.
    most
        Number of pairs.
    """
    on, labels = (bits > 0).astype(np.float64), np.asarray(y)
    if len(np.unique(labels)) < 2:
        return []
    model = LogisticRegression(max_iter=200, tol=1e-3).fit(on, labels)
    heavy = np.sort(np.argsort(-np.abs(model.coef_).sum(axis=0), kind="stable")[:MOST_BITS])
    residuals = (labels[:, None] == model.classes_) - model.predict_proba(on)
    centred = (on - on.mean(axis=0))[:, heavy]
    gains = sum(np.abs(centred.T @ (column[:, None] * centred)) for column in residuals.T)
    first, second = np.triu_indices(len(heavy), 1)
    apart = np.asarray(columns)[heavy[first]] != np.asarray(columns)[heavy[second]]
    first, second = first[apart], second[apart]
    found = gains[first, second]
    found = np.round(found / max(found.max(initial=0.0), np.finfo(np.float64).tiny), _DIGITS)
    best = np.argsort(-found, kind="stable")[:most]
    best = best[found[best] > 0]
    return [(int(heavy[p]), int(heavy[q])) for p, q in zip(first[best], second[best], strict=True)]
