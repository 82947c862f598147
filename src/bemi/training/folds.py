"""Folds of cross-validation: row by row, or recording by recording where rows of one recording resemble each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bemi.exact import Integers


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
