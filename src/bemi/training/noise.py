"""What noise of a sensor costs, and whether noisy copies of the windows prevent that, by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bemi.augment.scenarios import SignalScenarios
from bemi.training.choice import EQUAL, MOST_ROWS, STANDARD_ERRORS, Candidate, Choice
from bemi.training.folds import FOLDS, Rows, Seen, alike
from bemi.training.training_set import group_codes, variants_of

NOISE = (0.1, 0.3)
"""Standard deviations of the noise, as shares of the spread of each channel."""


def with_noise(copies: Any) -> SignalScenarios:
    """The same copies and noisy ones."""
    given = SignalScenarios(()) if copies is None else clone(copies)
    return given.set_params(noise=(*given.noise, *NOISE))


def prepared_for_noise(
    choice: Choice,
    defaults: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    weights: NDArray[np.float64],
    groups: ArrayLike | None,
    seed: int,
) -> Choice:
    """The choice with what noise costs, and with noisy copies if they prevent that.

    They are taken if they are better by more than one and a half standard errors under noise, and not worse without.
    With few rows, folds do not see a loss of a few points, so new rows without noise can still lose some.  Nothing
    changes if there was nothing to compare.
    """
    if choice.expected is None:
        return choice
    classes, targets = np.unique(y, return_inverse=True)
    of_group = np.arange(len(targets)) if groups is None else group_codes(groups, len(targets))[0]
    rng = np.random.default_rng(seed)
    rows = Rows(X, targets, weights, of_group, divided=groups is None).some(MOST_ROWS, rng)
    parts = rows.folds(min(FOLDS, choice.folds), rng)
    usual = {**defaults, **choice.candidate.settings}
    noisy = {**usual, "copies": with_noise(usual["copies"])}
    [groups_alike] = alike([usual, noisy])
    # Without noise and at each level, of each row, as chosen and with noisy copies.
    right = np.zeros((1 + len(NOISE), len(rows.targets), 2))
    seen = Seen.of(usual, rows.X, rows.targets)
    for held in (parts == part for part in np.unique(parts)):
        fold = seen.without(held, rows.targets, rows.weights)
        # With another seed than the copies, which otherwise would have the very noise that is tested.
        disturbed = variants_of(fold.inputs, fold.held_out, SignalScenarios((), (), NOISE, random_state=1))
        tested = np.concatenate([fold.tested[:, None], disturbed], axis=1)
        fold = replace(fold, tested=tested.reshape(-1, tested.shape[2]))
        for group in groups_alike:
            (place,) = group.positions
            labels = next(group.answers(fold, len(classes))).labels.reshape(tested.shape[:2])
            right[:, held, place] = (labels == rows.targets[held, None]).T
    better = right[..., 1] - right[..., 0]
    gain, error = _gain(better[1:].mean(axis=0), rows)
    change = float(np.average(better[0], weights=rows.weights))
    taken = int(gain > STANDARD_ERRORS * error and change >= -EQUAL)
    accuracies = np.average(right, axis=1, weights=rows.weights)
    under_noise = dict(zip(NOISE, accuracies[1:, taken].tolist(), strict=True))
    if not taken:
        return replace(choice, under_noise=under_noise)
    settings = {**choice.candidate.settings, "copies": noisy["copies"]}
    candidate = Candidate(f"{choice.name}, and noise", settings)
    reason = f"{100 * gain:+.1f} ± {100 * error:.1f} points under noise, {100 * max(0.0, change):+.1f} without"
    return replace(choice, candidate=candidate, under_noise=under_noise, reason=reason)


def _gain(better: NDArray[np.float64], rows: Rows) -> tuple[float, float]:
    """Mean of a difference of rows, and its standard error with groups as the unit of chance."""
    mean = float(np.average(better, weights=rows.weights))
    sums = np.bincount(np.unique(rows.groups, return_inverse=True)[1], rows.weights * (better - mean))
    return mean, float(np.sqrt((sums**2).sum()) / rows.weights.sum())
