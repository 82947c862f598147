"""Which of several settings suits the training rows best, and what accuracy to expect of it.

Candidates are compared by stratified cross-validation with SVMs (:mod:`bemi.training.folds`), which are
nearly as accurate as the exact networks, obey the same restrictions, and train in milliseconds.  Inputs are fitted
inside each fold.

Tables are judged by accuracy and by the area under the curve, which says more about a few rare rows than a count of
right labels does; other rows by accuracy alone.  Of nearly equal candidates that wins which is right about rare
classes, too: a point of accuracy counts as much as five points of the mean accuracy of the classes.

The best of many candidates looks better in cross-validation than it is.  The expected accuracy is corrected for that by
a bootstrap (Tsamardinos, Greasidou, Borboudakis 2018): on each resample of the rows the best candidate is chosen on the
rows drawn and judged on the others.  The mean over the resamples is the estimate.  Its range is that of a proportion
among as many independent rows as these are worth (:mod:`bemi.report.estimates`).

Candidates are compared on a part of many rows; the accuracy of the chosen one is then estimated with more of them.  Of
tables with few classes the best candidate of each kind takes part in that.

Where groups of rows are given, such as the windows of one recording, a group is never divided: neither by the folds nor
by the resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.exact import Integers
from bemi.training.folds import FOLDS, Group, Rows, Seen, alike
from bemi.training.training_set import class_in_one_group, group_codes

REPEATS = 3
ENOUGH_ROWS = 400
"""With more rows than this, cross-validation is not repeated."""

MOST_ROWS = 1000
"""Candidates are compared on at most this many rows, drawn class by class, unless more are asked for."""

MOST_TESTED, MOST_TESTED_OF_TABLES = 10_000, 40_000
"""The accuracy is estimated with at most this many rows.  Of tables the best candidates are compared again with them:
rows of a table are short, and inputs that tell more gain more from rows."""

FEW_CLASSES = 5
"""With more classes, tables are treated as other rows are: each candidate takes a machine for every two of them."""

ENOUGH_TESTED = 2000
"""Of more rows, folds are held out until candidates have been tested on this many."""

CLASSES_COUNT = 0.2
"""Weight of the mean accuracy of the classes beside the accuracy, so that a rare class is not given up for nothing."""

RANKS_COUNT = 1.0
"""Weight of the area under the curve beside the accuracy, for tables."""

STANDARD_ERRORS = 1.5
"""By how many of them another candidate must be better than the usual one; with one, chance decided too often."""

FEWEST = 3
"""Rows or recordings of a class, on average, that it takes to leave the usual candidate."""

LARGEST_PENALTY = 1000.0
"""Where the largest C of a kind is the best, larger ones are tried up to this one."""

EQUAL = 1e-9
"""Difference of accuracies below which they are equal."""

RESAMPLES = 500


Watch = Callable[[int], AbstractContextManager[Callable[[Any], None]]]
"""Shows progress: given the number of steps, what is called with None after each."""


def _unwatched(steps: int) -> AbstractContextManager[Callable[[Any], None]]:
    return nullcontext(lambda _: None)


@dataclass(frozen=True)
class Candidate:
    """Settings to choose from.

    Attributes
    ----------
    name
        What distinguishes them, in a few words.
    settings
        Parameters of :class:`bemi.FewBitClassifier` by name.
    usual_up_to
        It is the usual candidate if classes have at most this many rows, or recordings, on average: others are taken
        only if there is enough to compare and they beat it clearly.  Without a usual candidate the best one is taken.
    standard_errors
        What clearly means for this one: by how many standard errors of the difference it must beat the usual one.
    last_resort
        Whether it must beat the best of the others clearly even where none is usual.

    Examples
    --------
    >>> from bemi.training.choice import Candidate
    >>> Candidate("values, C = 3", {"C": 3.0}).settings
    {'C': 3.0}
    """

    name: str
    settings: Mapping[str, Any]
    usual_up_to: float = 0
    standard_errors: float = STANDARD_ERRORS
    last_resort: bool = False


@dataclass(frozen=True)
class Choice:
    """Which settings were chosen, and why.

    Attributes
    ----------
    candidate
        The best candidate in cross-validation; the first if several are equal.
    expected, low, high
        Accuracy to expect on new rows like these, and its 95 % range; None if there were too few rows to tell.
    accuracies
        Accuracy of every candidate in cross-validation, by name; of those that were compared again with more rows, the
        later one.
    folds, repeats
        Of the cross-validation.
    rows, given
        Number of rows that were tested for the estimate, and of all that were given.
    trained
        Number of rows that the models of the cross-validation learned from.
    weighted
        Whether rows count by their weights in all accuracies.
    recordings
        Number of groups that were kept together; None if rows were divided one by one.
    why_unknown
        Why there is no estimate; empty if there is one.
    reason
        Why the usual candidate was kept or left; empty if there is none.
    under_noise
        Accuracy of windows of a signal with noise on every sample, by its standard deviation as a share of the spread
        of the channel; empty if it is not known.
    kind, why
        What the rows are, ``"image"``, ``"table"`` or ``"signal"``, and why they are treated as such.

    Examples
    --------
    >>> from bemi import FewBitClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = FewBitClassifier().choose(X[::5], y[::5])
    >>> choice.low <= choice.expected <= choice.high
    True
    """

    candidate: Candidate
    expected: float | None
    low: float | None
    high: float | None
    accuracies: Mapping[str, float]
    folds: int
    repeats: int
    rows: int = 0
    given: int = 0
    trained: int = 0
    weighted: bool = False
    recordings: int | None = None
    why_unknown: str = ""
    reason: str = ""
    under_noise: Mapping[float, float] = field(default_factory=dict)
    kind: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """Name of the chosen candidate."""
        return self.candidate.name

    def __repr__(self) -> str:
        return f"Choice({self.in_words()})"

    def in_words(self) -> str:
        """The choice as one line of text.

        Examples
        --------
        >>> "expected accuracy on new rows" in choice.in_words()
        True
        """
        if self.expected is None or self.low is None or self.high is None:
            return f"{self.name}; {self.why_unknown}"
        what = "expected accuracy, rows weighted as in training," if self.weighted else "expected accuracy"
        new = "rows" if self.recordings is None else "recordings"
        apart = f" of {self.rows:,} rows" if self.recordings is None else f" of {self.recordings:,} recordings"
        if self.rows < self.given:
            apart += f", {self.rows:,} of {self.given:,} rows" if self.recordings else f" of {self.given:,}"
        if self.rows < self.given and self.trained < self.given / 2:
            apart += f", each time trained on {self.trained:,}; with all rows it may be higher"
        why = f" ({self.reason})" if self.reason else ""
        noisy = " and ".join(f"{100 * share:.1f} %" for share in self.under_noise.values())
        levels = " and ".join(f"{100 * level:.0f} %" for level in self.under_noise)
        end = f"; {noisy} with noise of {levels} of the signal's spread" if self.under_noise else ""
        return (
            f"{self.name}{why}; {what} on new {new} {100 * self.expected:.1f} % "
            f"({100 * self.low:.0f} to {100 * self.high:.0f} %), by {self.folds}-fold cross-validation{apart}{end}"
        )


def choose(
    candidates: Sequence[Candidate],
    X: Any,
    y: Any,
    *,
    defaults: Mapping[str, Any],
    weights: NDArray | None,
    seed: int,
    groups: ArrayLike | None = None,
    by_rank: bool = False,
    most: int = MOST_ROWS,
    watch: Watch = _unwatched,
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
    groups
        What each row comes from, such as a recording; None if every row stands for itself.
    by_rank
        Whether the area under the curve counts, too.
    most
        Rows that candidates are compared on; of more, a part is drawn class by class.
    watch
        Shows the progress.
    """
    classes, targets = np.unique(y, return_inverse=True)
    rng = np.random.default_rng(seed)
    of_group, names = (np.arange(len(targets)), None) if groups is None else group_codes(groups, len(targets))
    per_class = len(np.unique(targets * len(targets) + of_group)) / len(classes)
    usual = _usual(candidates, per_class)
    if names is not None and (lone := class_in_one_group(targets, of_group)) is not None:
        return unknown(candidates[usual or 0], _one_recording(classes[lone], names[of_group[targets == lone][0]]))
    if len(classes) < 2:
        return unknown(candidates[usual or 0], "there is only one class")
    omega = np.ones(len(targets)) if weights is None else np.asarray(weights, dtype=np.float64)
    every = Rows(X, targets, omega, of_group, divided=names is None)
    rows = every.some(most, rng)
    folds = int(min(FOLDS, np.bincount(rows.targets).max() if names is None else len(names)))
    if folds < 2 or np.bincount(rows.targets).min() < 2:
        return unknown(candidates[usual or 0], "too few rows to compare settings or to estimate the accuracy")
    repeats = REPEATS if len(rows.targets) <= ENOUGH_ROWS else 1
    splits = [rows.folds(folds, rng) for _ in range(repeats)]
    rule = _Rule(per_class, by_rank)
    comparison = rule.compared(*_compared(candidates, defaults, rows, splits, len(classes), watch, by_rank), rows)
    accuracies, seen = comparison.by_name(), len(rows.targets)
    optimism, reason = comparison.optimism(rng), comparison.reason()
    if len(rows.targets) < len(targets):
        again = by_rank and len(classes) <= FEW_CLASSES
        finalists = comparison.finalists() if again else [comparison.winner]
        more = every.some(MOST_TESTED_OF_TABLES if again else MOST_TESTED, rng)
        parts, seen = more.folds(folds, rng), len(more.targets)
        comparison = rule.compared(*_compared_again(finalists, defaults, more, parts, len(classes), watch, by_rank))
        accuracies |= comparison.by_name()
        optimism = comparison.optimism(rng) if again else optimism * len(rows.targets) / seen
        reason = comparison.reason() if again else reason
    tested = comparison.rows.tested(comparison.found[0, :, comparison.chosen], folds)
    return Choice(
        comparison.winner,
        *tested.accuracy(optimism),
        accuracies,
        folds=tested.folds,
        repeats=repeats,
        rows=len(tested.right),
        given=len(targets),
        trained=seen * (folds - 1) // folds,
        weighted=bool((omega != 1).any()),
        recordings=None if names is None else len(names),
        reason=reason,
    )


def unknown(candidate: Candidate, why: str) -> Choice:
    """The choice of a candidate without any comparison."""
    return Choice(candidate, None, None, None, {}, 0, 0, why_unknown=why)


def _one_recording(label: Any, recording: Any) -> str:
    return (
        f"the accuracy cannot be estimated: class {label} occurs in only one recording, {recording}; "
        "record every class at least twice"
    )


def _compared(
    candidates: Sequence[Candidate],
    defaults: Mapping[str, Any],
    rows: Rows,
    splits: Sequence[Integers],
    classes: int,
    watch: Watch,
    by_rank: bool,
) -> tuple[Sequence[Candidate], NDArray[np.float64]]:
    """The candidates, with larger C where the largest is the best, and how each does on each row."""

    def measured(some: Sequence[Candidate]) -> NDArray[np.float64]:
        by_inputs = alike([{**defaults, **candidate.settings} for candidate in some])
        with watch(sum(int(parts.max()) + 1 for parts in splits) * len(by_inputs)) as advance:
            found = [_tried(by_inputs, rows, parts, np.unique(parts), classes, advance, by_rank) for parts in splits]
        return np.mean(found, axis=0)

    found = measured(candidates)
    while (further := _further(candidates, _plain_merits(found, rows))) is not None:
        candidates = (*candidates, further)
        found = np.concatenate([found, measured([further])], axis=2)
    return candidates, found


def _tried(
    by_inputs: list[list[Group]],
    rows: Rows,
    parts: Integers,
    held_out: Integers,
    classes: int,
    advance: Callable[[Any], None],
    by_rank: bool = False,
) -> NDArray[np.float64]:
    """How each candidate does on each row of the folds held out, shape (2, rows, candidates).

    The first part says which rows are labelled right, the second with which share of the rows of other classes they are
    in the right order; zeros unless ``by_rank``.
    """
    count = sum(len(group.positions) for members in by_inputs for group in members)
    found = np.zeros((2, len(rows.targets), count))
    for members in by_inputs:
        # Inputs are slower than SVMs.
        seen = Seen.of(members[0].settings, rows.X, rows.targets)
        for held in (parts == part for part in held_out):
            fold = seen.without(held, rows.targets, rows.weights)
            truth, weights = rows.targets[held], rows.weights[held]
            for group in members:
                for position, given in zip(group.positions, group.answers(fold, classes), strict=True):
                    found[0, held, position] = given.labels == truth
                    if by_rank:
                        found[1, held, position] = given.in_order(truth, weights)
            advance(None)
    return found


def _compared_again(
    candidates: Sequence[Candidate],
    defaults: Mapping[str, Any],
    rows: Rows,
    parts: Integers,
    classes: int,
    watch: Watch,
    by_rank: bool,
) -> tuple[Sequence[Candidate], NDArray[np.float64], Rows]:
    """The cross-validation of a few candidates on many rows; folds are held out until they have enough rows.

    Returns the candidates, how each does on each row held out, and these rows.
    """
    folds, sizes = np.unique(parts, return_counts=True)
    held_out = folds[: int(np.searchsorted(np.cumsum(sizes), ENOUGH_TESTED)) + 1]
    by_inputs = alike([{**defaults, **candidate.settings} for candidate in candidates])
    with watch(len(held_out) * len(by_inputs)) as advance:
        found = _tried(by_inputs, rows, parts, held_out, classes, advance, by_rank)
    own = np.flatnonzero(np.isin(parts, held_out))
    return candidates, found[:, own], rows.taken(own)


@dataclass(frozen=True)
class _Rule:
    """How candidates are compared: rows or recordings of a class, on average, and whether the area under the curve
    counts, too."""

    per_class: float
    by_rank: bool

    def compared(self, candidates: Sequence[Candidate], found: NDArray, rows: Rows) -> _Comparison:
        """What follows from how each candidate does on each row."""
        usual = _usual(candidates, self.per_class)
        first = _reference(candidates, usual, _plain_merits(found, rows))
        margins = _margins(found[0], rows.weights, rows.groups, first)
        enough = self.per_class >= FEWEST
        handicaps = _handicaps(candidates, usual, first, margins, enough=enough, by_rank=self.by_rank)
        chosen = int(_merits(found, rows.weights[None], rows.targets, handicaps)[0].argmax())
        return _Comparison(self, candidates, found, rows, usual, first, margins, handicaps, chosen)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Which of some candidates is chosen.

    Attributes
    ----------
    rule, candidates, found, rows
        As compared.
    usual, first, chosen
        Positions of the usual candidate, None without; of that which others must beat clearly; of the chosen one.
    margins, handicaps
        Standard error of each accuracy minus that of the first, and by how much each must beat the first.
    """

    rule: _Rule
    candidates: Sequence[Candidate]
    found: NDArray[np.float64]
    rows: Rows
    usual: int | None
    first: int
    margins: NDArray[np.float64]
    handicaps: NDArray[np.float64]
    chosen: int

    @property
    def winner(self) -> Candidate:
        return self.candidates[self.chosen]

    @property
    def accuracies(self) -> NDArray[np.float64]:
        return np.average(self.found[0], axis=0, weights=self.rows.weights)

    def by_name(self) -> dict[str, float]:
        """The accuracy of each candidate."""
        return dict(zip((candidate.name for candidate in self.candidates), self.accuracies.tolist(), strict=True))

    def finalists(self) -> list[Candidate]:
        """The best candidate of each kind, and the usual one."""
        merits = _plain_merits(self.found, self.rows)
        best: dict[str, int] = {}
        for place in np.argsort(-merits, kind="stable").tolist():
            best.setdefault(_without_price(self.candidates[place]), place)
        places = {*best.values(), *(() if self.usual is None else (self.usual,))}
        return [self.candidates[place] for place in sorted(places)]

    def optimism(self, rng: np.random.Generator) -> float:
        """By how much the best of the candidates looks better than it is."""
        if len(self.candidates) == 1:
            return 0.0
        left_out = _resampled(self.found, self.rows, self.handicaps, rng)
        return max(0.0, float(self.accuracies[self.chosen] - left_out.mean()))

    def reason(self) -> str:
        """Why the usual candidate, or the best one without training rows, was chosen or another one."""
        candidates, accuracies, first, chosen = self.candidates, self.accuracies, self.first, self.chosen
        if len(candidates) == 1:
            return ""
        others = [place for place in range(len(candidates)) if place != first]
        if self.usual is None:
            others = [place for place in others if candidates[place].last_resort]
            if not others or (chosen != first and not candidates[chosen].last_resort):
                return ""
        elif self.rule.per_class < FEWEST:
            return "the default with so few rows of each class"
        best = (
            chosen
            if chosen != first
            else max(
                others, key=lambda place: accuracies[place] - candidates[place].standard_errors * self.margins[place]
            )
        )
        gain = f"{100 * (accuracies[best] - accuracies[first]):+.1f} ± {100 * self.margins[best]:.1f} points"
        if chosen != first:
            # Where the area under the curve counts too, the gain in accuracy alone may be small.
            by_rank = ", chosen by accuracy plus AUC" if self.rule.by_rank else ""
            return f"{gain} against {candidates[first].name}{by_rank}"
        if self.usual is None and accuracies[best] <= accuracies[first]:
            return ""
        default = "" if self.usual is None else "the default here; "
        return f"{default}{candidates[best].name} scored {gain}, too little to change"


def _merits(found: NDArray, weights: NDArray, targets: Integers, handicaps: NDArray) -> NDArray:
    """What candidates are compared by, for each line of row weights, shape (lines, candidates)."""
    right, in_order = found
    merits = _accuracies(right, weights) - handicaps
    of_classes = CLASSES_COUNT * right + RANKS_COUNT * in_order
    classes = np.unique(targets)
    for label in classes:
        own = targets == label
        merits += _accuracies(of_classes[own], weights[:, own]) / len(classes)
    return merits


def _usual(candidates: Sequence[Candidate], rows: float) -> int | None:
    """The candidate that is usual for this many rows or recordings of a class; None if there is none."""
    fitting = [(candidate.usual_up_to, place) for place, candidate in enumerate(candidates)]
    return min(((limit, place) for limit, place in fitting if rows <= limit), default=(0, None))[1]


def _margins(right: NDArray, omega: NDArray, groups: Integers, usual: int) -> NDArray:
    """Standard error of each candidate's accuracy minus that of the usual one, with groups as the unit of chance."""
    apart = (right - right[:, usual, None]) * omega[:, None]
    apart -= omega[:, None] * apart.sum(axis=0) / omega.sum()
    sums = np.zeros((int(groups.max()) + 1, right.shape[1]))
    np.add.at(sums, groups, apart)
    return np.sqrt((sums**2).sum(axis=0)) / omega.sum()


def _plain_merits(found: NDArray, rows: Rows) -> NDArray[np.float64]:
    return _merits(found, rows.weights[None], rows.targets, np.zeros(found.shape[2]))[0]


def _further(candidates: Sequence[Candidate], merits: NDArray) -> Candidate | None:
    """The best candidate with a larger C, if no other C of its kind is as large and smaller ones are worse."""
    best = int(merits.argmax())
    candidate = candidates[best]
    price = candidate.settings.get("C", LARGEST_PENALTY)
    kind = _without_price(candidate)
    others = [place for place, c in enumerate(candidates) if place != best and _without_price(c) == kind]
    smaller = [place for place in others if candidates[place].settings["C"] < price]
    if price >= LARGEST_PENALTY or not smaller or len(smaller) < len(others):
        return None
    if merits[best] <= merits[smaller].max() + EQUAL:
        return None
    higher = float(f"{10 / 3 * price:.1g}")
    name = f"{candidate.name.removesuffix(f'C = {price:g}')}C = {higher:g}"
    return replace(candidate, name=name, settings={**candidate.settings, "C": higher}, usual_up_to=0)


def _without_price(candidate: Candidate) -> str:
    return repr(sorted((name, value) for name, value in candidate.settings.items() if name != "C"))


def _reference(candidates: Sequence[Candidate], usual: int | None, merits: NDArray) -> int:
    """What others must beat clearly: the usual candidate, or else the best one that is no last resort."""
    if usual is not None:
        return usual
    last = np.array([candidate.last_resort for candidate in candidates])
    return int(np.where(last & ~last.all(), -np.inf, merits).argmax())


def _handicaps(
    candidates: Sequence[Candidate], usual: int | None, first: int, margins: NDArray, *, enough: bool, by_rank: bool
) -> NDArray:
    """By how much each candidate must beat the first; nothing if none is usual, and it is no last resort.

    All that counts must rise by as much as the accuracy.
    """
    held_back = np.array([usual is not None or candidate.last_resort for candidate in candidates])
    held_back[first] = False
    # Of equals the usual candidate is taken, although it is not the first.
    errors = np.array([candidate.standard_errors for candidate in candidates])
    needed = errors * margins + EQUAL if enough else np.full(len(margins), np.inf)
    return np.where(held_back, needed, 0.0) * (1 + CLASSES_COUNT + RANKS_COUNT * by_rank)


def _accuracies(right: NDArray, weights: NDArray) -> NDArray:
    """Weighted accuracy of each candidate, for each line of row weights; 0 for a line without weight."""
    totals = weights.sum(axis=1, keepdims=True)
    return weights @ right / np.where(totals > 0, totals, 1.0)


def _resampled(found: NDArray, rows: Rows, handicaps: NDArray, rng: np.random.Generator) -> NDArray:
    """Accuracy on the groups left out of each resample, of the candidate that is best on the groups drawn."""
    omega, groups = rows.weights, np.unique(rows.groups, return_inverse=True)[1]
    count = int(groups.max()) + 1
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)[:, groups] * omega
    left = np.where(drawn > 0, 0.0, omega)
    useful = (left.sum(axis=1) > 0) & (drawn.sum(axis=1) > 0)
    best = _merits(found, drawn[useful], rows.targets, handicaps).argmax(axis=1)
    return _accuracies(found[0], left[useful])[np.arange(len(best)), best]
