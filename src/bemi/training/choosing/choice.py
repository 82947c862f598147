"""Which of several settings suits the training rows best, and what accuracy to expect of it.

Candidates are compared by stratified cross-validation with the continuous machine
(:mod:`bemi.training.choosing.machine`), which is nearly as accurate as the exact networks and trains in milliseconds.
Inputs are fitted inside each fold.

The largest accuracy wins; of nearly equal ones, that which is right about rare classes, too: a point of accuracy counts
as much as five points of the mean accuracy of the classes.

The best of many candidates looks better in cross-validation than it is.  The expected accuracy is corrected for that by
a bootstrap (Tsamardinos, Greasidou, Borboudakis 2018): on each resample of the rows the best candidate is chosen on the
rows drawn and judged on the others.  Mean and quantiles over the resamples are the estimate and its range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from bemi.inputs.inputs import Inputs
from bemi.products import Integers
from bemi.training.choosing.machine import Lesson, labels

FOLDS = 5
REPEATS = 3
ENOUGH_ROWS = 400
"""With more rows than this, cross-validation is not repeated."""

MOST_ROWS = 1000
"""Choices are made on at most this many rows, drawn class by class."""

CLASSES_COUNT = 0.2
"""Weight of the mean accuracy of the classes beside the accuracy, so that a rare class is not given up for nothing."""

RESAMPLES = 500
RANGE = (0.025, 0.975)
"""Quantiles of the resamples that bound the expected accuracy."""


@dataclass(frozen=True)
class Candidate:
    """Settings to choose from.

    Attributes
    ----------
    name
        What distinguishes them, in a few words.
    settings
        Parameters of :class:`bemi.BeMiClassifier` by name.
    """

    name: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes
    ----------
    candidate
        The candidate that did best in cross-validation, the first of equals.
    expected, low, high
        Accuracy to expect on new rows like these, and its range; None if there were too few rows to tell.
    accuracies
        Accuracy of every candidate in cross-validation, by name.
    folds, repeats
        Of the cross-validation.
    weighted
        Whether rows count by their weights in all accuracies.
    """

    candidate: Candidate
    expected: float | None
    low: float | None
    high: float | None
    accuracies: Mapping[str, float]
    folds: int
    repeats: int
    weighted: bool = False

    @property
    def name(self) -> str:
        """Name of the chosen candidate."""
        return self.candidate.name

    def in_words(self) -> str:
        """The choice in one line."""
        if self.expected is None or self.low is None or self.high is None:
            return f"{self.name}; too few rows to compare settings or to estimate the accuracy"
        what = "expected accuracy, rows weighted as in training," if self.weighted else "expected accuracy"
        return (
            f"{self.name}; {what} on new rows {100 * self.expected:.1f} % "
            f"({100 * self.low:.0f} to {100 * self.high:.0f} %), by {self.folds}-fold cross-validation"
        )


def choose(
    candidates: Sequence[Candidate], X: Any, y: Any, *, defaults: Mapping[str, Any], weights: NDArray | None, seed: int
) -> Choice:
    """The candidate that cross-validation prefers.

    Parameters
    ----------
    candidates
        What to choose from, simpler ones first.
    X, y
        Training rows as they are given, and labels.
    defaults
        Parameters that candidates do not set.
    weights
        Row weights, None for equal ones.
    seed
        Of the folds.
    """
    classes, targets = np.unique(y, return_inverse=True)
    rng = np.random.default_rng(seed)
    rows = _some_of_each(targets, MOST_ROWS, rng)
    X, targets = _safe_indexing(X, rows), targets[rows]
    omega = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)[rows]
    folds = int(min(FOLDS, np.bincount(targets).max()))
    repeats = REPEATS if len(rows) <= ENOUGH_ROWS else 1
    if folds < 2 or np.bincount(targets).min() < 2:
        return Choice(candidates[0], None, None, None, {}, folds, 0)
    right = np.zeros((len(rows), len(candidates)))
    groups = _groups(candidates, X, defaults)
    for _ in range(repeats):
        parts = _parts(targets, folds, rng)
        for held in (parts == part for part in range(folds)):
            for group in groups:
                given = group.labels(targets, omega, held, len(classes))
                for position, label in zip(group.positions, given, strict=True):
                    right[held, position] += label == targets[held]
    right /= repeats
    merits = _merits(right, omega[None], targets)[0]
    resampled = _resampled(right, omega, targets, rng)
    accuracies = np.average(right, axis=0, weights=omega)
    low, high = np.quantile(resampled, RANGE).tolist()
    return Choice(
        candidate=candidates[int(merits.argmax())],
        expected=float(np.mean(resampled)),
        low=low,
        high=high,
        accuracies=dict(zip((c.name for c in candidates), accuracies.tolist(), strict=True)),
        folds=folds,
        repeats=repeats,
        weighted=bool((omega != 1).any()),
    )


def _some_of_each(targets: Integers, most: int, rng: np.random.Generator) -> Integers:
    """At most ``most`` rows, with the classes in their proportions."""
    if len(targets) <= most:
        return np.arange(len(targets))
    order = rng.permutation(len(targets))
    order = order[np.argsort(targets[order], kind="stable")]
    return np.sort(order[np.linspace(0, len(targets) - 1, most).astype(np.int64)])


def _parts(targets: Integers, folds: int, rng: np.random.Generator) -> Integers:
    """A fold for every row; each class is spread over all folds as evenly as possible."""
    order = rng.permutation(len(targets))
    order = order[np.argsort(targets[order], kind="stable")]
    parts = np.empty(len(targets), dtype=np.int64)
    parts[order] = np.arange(len(targets)) % folds
    return parts


@dataclass(frozen=True, eq=False)
class _Group:
    """Candidates that differ in their price only.

    Attributes
    ----------
    positions, prices
        Positions among the candidates, and their prices, which increase.
    settings
        What they share.
    inputs, rows
        Inputs fitted on all rows, and the rows as these read them.
    """

    positions: list[int]
    prices: list[float]
    settings: Mapping[str, Any]
    inputs: Inputs
    rows: NDArray

    @classmethod
    def of(cls, members: list[tuple[float, int]], settings: Mapping[str, Any], X: Any) -> _Group:
        inputs = Inputs.fit(X, settings["input_scaling"], settings["transform"])
        prices, positions = zip(*sorted(members), strict=True)
        return cls(list(positions), list(prices), settings, inputs, inputs.checked(X))

    def labels(self, targets: Integers, omega: NDArray, held: NDArray[np.bool_], classes: int) -> Iterator[Integers]:
        """Class indices that the machines of each price, trained on the other rows, give to the held-out rows."""
        trained = self.rows[~held]
        inputs = self.inputs.refitted(trained, self.settings["input_scaling"], targets[~held])
        lesson = Lesson(inputs(trained), targets[~held], omega[~held])
        hinges = int(self.settings["hinges"])
        return labels(lesson, inputs(self.rows[held]), self.prices, classes=classes, hinges=hinges)


def _groups(candidates: Sequence[Candidate], X: Any, defaults: Mapping[str, Any]) -> list[_Group]:
    found: dict[str, tuple[list[tuple[float, int]], dict[str, Any]]] = {}
    for position, candidate in enumerate(candidates):
        settings = {**defaults, **candidate.settings}
        shared = {name: settings[name] for name in ("transform", "input_scaling", "hinges")}
        members, _ = found.setdefault(repr(shared), ([], shared))
        members.append((float(settings["C"]), position))
    return [_Group.of(members, shared, X) for members, shared in found.values()]


def _merits(right: NDArray, weights: NDArray, targets: Integers) -> NDArray:
    """What candidates are compared by, for each line of row weights, shape (lines, candidates)."""
    merits = _accuracies(right, weights)
    classes = np.unique(targets)
    for label in classes:
        own = targets == label
        merits += CLASSES_COUNT / len(classes) * _accuracies(right[own], weights[:, own])
    return merits


def _accuracies(right: NDArray, weights: NDArray) -> NDArray:
    """Weighted accuracy of each candidate, for each line of row weights; 0 for a line without weight."""
    totals = weights.sum(axis=1, keepdims=True)
    return weights @ right / np.where(totals > 0, totals, 1.0)


def _resampled(right: NDArray, omega: NDArray, targets: Integers, rng: np.random.Generator) -> NDArray:
    """Accuracy on the rows left out of each resample, of the candidate that is best on the rows drawn."""
    rows = len(right)
    drawn = rng.multinomial(rows, np.full(rows, 1 / rows), size=RESAMPLES) * omega
    left = np.where(drawn > 0, 0.0, omega)
    useful = (left.sum(axis=1) > 0) & (drawn.sum(axis=1) > 0)
    best = _merits(right, drawn[useful], targets).argmax(axis=1)
    return _accuracies(right, left[useful])[np.arange(len(best)), best]
