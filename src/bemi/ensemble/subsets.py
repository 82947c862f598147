"""Which sets of classes get a network: all of a size, a given list, or a given number, chosen from the data.

A selection of sets can be used for voting if every class is in some set and the sets are connected: with networks on
{a, b} and {c, d} only, nothing would tell a from c.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from bemi.checks import is_integer
from bemi.exact import Integers


def subsets_to_train(wanted: Any, data: ArrayLike, targets: ArrayLike, classes: Sequence[Any], size: int) -> Integers:
    """The sets of classes that get a network, as class indices, shape (networks, size).

    Parameters
    ----------
    wanted
        None for all sets, the number of sets to choose, or a list of tuples of labels.
    data, targets, classes
        Training rows, their class indices, and the labels.
    size
        Classes per set.
    """
    if wanted is None:
        return class_subsets(len(classes), size)
    if is_integer(wanted):
        return chosen_subsets(data, targets, len(classes), size, int(wanted))
    return given_subsets(wanted, classes, size)


def given_subsets(sets: Any, classes: Sequence[Any], size: int) -> Integers:
    """A list of tuples of labels as class indices, in lexicographic order; ValueError if it is invalid."""
    index_of = {label: index for index, label in enumerate(classes)}
    found = []
    for labels in sets:
        members = list(labels) if isinstance(labels, (tuple, list, set, frozenset, np.ndarray)) else [labels]
        unknown = [label for label in members if label not in index_of]
        if unknown:
            raise ValueError(f"subsets has {unknown[0]!r}, which is not a class")
        if len(set(members)) != size or len(members) != size:
            raise ValueError(f"subsets must be sets of subset_size={size} different classes, got {labels!r}")
        found.append(tuple(sorted(index_of[label] for label in members)))
    if len(set(found)) < len(found):
        twice = next(s for s in found if found.count(s) > 1)
        raise ValueError(f"subsets has {tuple(classes[i] for i in twice)} twice")
    subsets = np.array(sorted(found), dtype=np.int64).reshape(-1, size)
    parts = components(subsets, len(classes))
    if parts.max(initial=0):
        unreachable = classes[int(np.flatnonzero(parts != parts[0])[0])]
        raise ValueError(f"subsets cannot tell {classes[0]!r} from {unreachable!r}: no chain of networks connects them")
    return subsets


def chosen_subsets(data: ArrayLike, targets: ArrayLike, n_classes: int, size: int, count: int) -> Integers:
    """``count`` connected sets of classes, those that are hardest to tell apart first.

    Two classes are alike if the means of their rows, each divided by its norm, are close.  Sets are chosen greedily:
    the next set maximises the total likeness of its class pairs that no earlier set contains, among the sets after
    which the remaining ones can still connect all classes.
    """
    least = fewest(n_classes, size)
    every = class_subsets(n_classes, size)
    if not least <= count <= len(every):
        raise ValueError(
            f"subsets must be in {least}..{len(every)} for {n_classes} classes, {size} per network, got {count!r}"
        )
    if count == len(every):
        return every
    alike = likeness(data, targets, n_classes)
    part = np.arange(n_classes)
    chosen: list[int] = []
    free = np.ones(len(every), dtype=bool)
    for left in range(int(count) - 1, -1, -1):
        gain = sum(alike[every[:, a], every[:, b]] for a, b in combinations(range(size), 2))
        joined = np.sort(part[every], axis=1)
        merges = (joined[:, 1:] != joined[:, :-1]).sum(axis=1)
        parts_after = len(np.unique(part)) - merges
        allowed = free & (-(-(parts_after - 1) // (size - 1)) <= left)
        best = int(np.argmax(np.where(allowed, gain, -np.inf)))
        chosen.append(best)
        free[best] = False
        part[np.isin(part, part[every[best]])] = part[every[best]].min()
        alike[np.ix_(every[best], every[best])] = 0.0
    return every[np.sort(chosen)]


def fewest(n_classes: int, size: int) -> int:
    """The smallest number of sets that can connect all classes."""
    return -(-(n_classes - 1) // (size - 1))


def likeness(data: ArrayLike, targets: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """How close the means of two classes are, 0 for the two that are farthest apart, shape (classes, classes)."""
    rows = np.asarray(data, dtype=np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    means = np.stack([rows[np.asarray(targets) == c].mean(axis=0) for c in range(n_classes)])
    distances = np.linalg.norm(means[:, None] - means, axis=2)
    return distances.max() - distances


def components(subsets: Integers, n_classes: int) -> Integers:
    """The component number of each class, from 0; classes that share a set are in the same component."""
    firsts = np.repeat(subsets[:, 0], subsets.shape[1])
    graph = csr_array((np.ones(subsets.size), (firsts, subsets.reshape(-1))), shape=(n_classes, n_classes))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def class_subsets(n_classes: int, size: int) -> Integers:
    """All sets of ``size`` classes in lexicographic order, shape (sets, size)."""
    return np.array(list(combinations(range(n_classes), size)), dtype=np.int64)


def memberships(subsets: Integers, n_classes: int) -> Integers:
    """Number of networks that each class takes part in."""
    return np.bincount(subsets.reshape(-1), minlength=n_classes)
