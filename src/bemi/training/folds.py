"""Cross-validation without training a network: folds, and SVMs that label the rows held out on what networks see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from bemi.exact import Integers
from bemi.inputs.inputs import Inputs
from bemi.report.estimates import Tested
from bemi.training.svm import Answers, Restrictions, SvmRows, answers
from bemi.training.training_set import group_codes, group_folds, row_folds, variants_of

FOLDS = 5

RARE = 0.2
"""Where rows are drawn, a class keeps this share of what it would have if all were of one size."""

MOST_VARIANTS = 1000
"""Choices are made with about this many variants of the rows, where scenarios have a number of copies."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as they are given, class indices, weights and groups; ``divided`` if every row stands for itself."""

    X: Any
    targets: Integers
    weights: NDArray
    groups: Integers
    divided: bool

    def some(self, most: int, rng: np.random.Generator) -> Rows:
        """About ``most`` rows, with classes in their proportions, but more of rare ones, which weigh less then."""
        if len(self.targets) <= most:
            return self
        order = rng.permutation(len(self.targets))
        order = order[np.argsort(self.targets[order], kind="stable")]
        sizes = np.bincount(self.targets)
        enough = np.minimum(sizes, int(RARE * most / len(sizes)))
        rare = sizes * most < enough * len(order)
        if not rare.any():
            own = np.sort(order[np.linspace(0, len(order) - 1, most).astype(np.int64)])
            return self.taken(own)
        shares = np.where(rare, 0, sizes) / sizes[~rare].sum()
        kept = np.where(rare, enough, np.maximum(1, shares * (most - enough[rare].sum())).astype(np.int64))
        firsts = np.cumsum(sizes) - sizes
        own = np.sort(np.concatenate([order[first : first + n] for first, n in zip(firsts, kept, strict=True)]))
        factors = sizes / kept * len(own) / len(order)
        return self.taken(own, factors[self.targets[own]])

    def taken(self, own: Integers, factors: NDArray | float = 1.0) -> Rows:
        """Rows at these positions, their weights multiplied by the factors."""
        X, weights = _safe_indexing(self.X, own), self.weights[own] * factors
        return Rows(X, self.targets[own], weights, self.groups[own], self.divided)

    def folds(self, folds: int, rng: np.random.Generator) -> Integers:
        """The fold of each row."""
        if self.divided:
            return row_folds(self.targets, folds, rng)
        return group_folds(self.targets, np.unique(self.groups, return_inverse=True)[1], folds, rng)

    def tested(self, right: NDArray, folds: int) -> Tested:
        """What these rows tell of a candidate that labels them right in a cross-validation with so many folds."""
        return Tested(right, self.weights, None if self.divided else self.groups, folds)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows, and what SVMs that were trained without them make of them.

    Attributes
    ----------
    X, targets
        The rows as they are given, and class indices.
    folds, answers
        Folds, and what SVMs trained in each say of the rows held out there; nothing if a class has a single row, or
        group.
    groups
        Number of groups in each class, which are the rows themselves unless groups are given.
    held
        Of each fold, which rows are held out.
    """

    X: Any
    targets: Integers
    folds: Sequence[Fold]
    answers: Sequence[Answers]
    groups: Integers
    held: Sequence[NDArray[np.bool_]]

    @classmethod
    def of(
        cls,
        settings: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        weights: NDArray,
        groups: ArrayLike | None,
        seed: int,
        most: int,
        folds: int,
    ) -> HeldOut:
        """Label at most so many rows by cross-validation, with SVMs of these settings."""
        classes, targets = np.unique(y, return_inverse=True)
        rng = np.random.default_rng(seed)
        of_group = np.arange(len(targets)) if groups is None else group_codes(groups, len(targets))[0]
        rows = Rows(X, targets, weights, of_group, divided=groups is None).some(most, rng)
        apart = np.array([len(np.unique(rows.groups[rows.targets == label])) for label in range(len(classes))])
        if apart.min() < 2:
            return cls(rows.X, rows.targets, (), (), apart, ())
        parts = rows.folds(min(folds, int(apart.max())), rng)
        held = [parts == part for part in np.unique(parts)]
        [[group]] = alike([settings])
        seen = Seen.of(group.settings, rows.X, rows.targets)
        parted = [seen.without(own, rows.targets, rows.weights) for own in held]
        answered = [next(group.answers(fold, len(classes))) for fold in parted]
        return cls(rows.X, rows.targets, parted, answered, apart, held)


@dataclass(frozen=True, eq=False)
class Fold:
    """What candidates with the same inputs learn and are tested on, some rows being held out.

    Attributes
    ----------
    inputs, trained, held_out
        Inputs fitted on the other rows, these rows, and those held out, as the inputs read them.
    svm_rows, tested
        What networks see of the other rows, and of the rows held out.
    """

    inputs: Inputs
    trained: NDArray
    held_out: NDArray
    svm_rows: SvmRows
    tested: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Seen:
    """What candidates with the same inputs see: these inputs, fitted on all rows, and the rows as they read them."""

    inputs: Inputs
    rows: NDArray
    scaling: Any

    @classmethod
    def of(cls, settings: Mapping[str, Any], X: Any, targets: Integers) -> Seen:
        names = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
        inputs = Inputs.fit(X, settings["input_scaling"], settings["inputs"], names, targets)
        return cls(inputs, inputs.checked(X), settings["input_scaling"])

    def without(self, held: NDArray[np.bool_], targets: Integers, omega: NDArray) -> Fold:
        trained = self.rows[~held]
        inputs = self.inputs.refitted(trained, self.scaling, targets[~held])
        svm_rows = SvmRows(inputs.stored(trained), targets[~held], omega[~held])
        return Fold(inputs, trained, self.rows[held], svm_rows, inputs.stored(self.rows[held]))


@dataclass(frozen=True, eq=False)
class Group:
    """Candidates that differ in their price only.

    Attributes
    ----------
    positions, prices
        Positions among the candidates, and their prices, which increase.
    settings
        What they share.
    """

    positions: list[int]
    prices: list[float]
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, members: list[tuple[float, int]], settings: Mapping[str, Any]) -> Group:
        prices, positions = zip(*sorted(members), strict=True)
        return cls(list(positions), list(prices), settings)

    def answers(self, fold: Fold, classes: int) -> Iterator[Answers]:
        """What the SVMs of each price say of the rows held out."""
        svm_rows = fold.svm_rows
        if self.settings["copies"] is not None:
            scenarios = _with_few_copies(self.settings["copies"], len(fold.trained))
            svm_rows = svm_rows.extended(variants_of(fold.inputs, fold.trained, scenarios))
        restrictions = Restrictions.of(self.settings, fold.inputs)
        return answers(svm_rows, fold.tested, self.prices, classes=classes, restrictions=restrictions)


def _with_few_copies(scenarios: Any, rows: int) -> Any:
    """Scenarios that make no more variants than the comparison has time for, if they have a number of ``copies``."""
    parameters = scenarios.get_params()
    if "copies" not in parameters:
        return scenarios
    most = max(1, MOST_VARIANTS // rows)
    given = parameters["copies"]
    return clone(scenarios).set_params(copies=most if given is None else min(most, given))


_SHARED = ("inputs", "input_scaling", "copies", "hinges", "weight_bound", "max_links", "monotone")
"""Settings that SVMs depend on, beside the price."""


def alike(every: Sequence[Mapping[str, Any]]) -> list[list[Group]]:
    """Lists of groups with the same inputs, of all these settings."""
    groups: dict[str, tuple[list[tuple[float, int]], dict[str, Any]]] = {}
    for position, settings in enumerate(every):
        shared = {name: settings[name] for name in _SHARED}
        members, _ = groups.setdefault(repr(shared), ([], shared))
        members.append((float(settings["C"]), position))
    by_inputs: dict[str, list[Group]] = {}
    for members, shared in groups.values():
        inputs = repr((shared["inputs"], shared["input_scaling"]))
        by_inputs.setdefault(inputs, []).append(Group.of(members, shared))
    return list(by_inputs.values())
