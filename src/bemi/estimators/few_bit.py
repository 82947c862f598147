"""The classifier for accuracy: soft margins, with inputs, copies and penalty chosen from the rows.

The settings that it chooses from are those that measured best on images, tables and signals; lab/reports has the
measurements.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isqrt, prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bemi.augment.images import ImageDeformations
from bemi.augment.scenarios import SignalScenarios
from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.probabilities import MOST_CLASSES
from bemi.estimators.base import Classifier
from bemi.inputs.hog import IntegerHog
from bemi.inputs.images import full_shape, shrunk_shape, why_no_image
from bemi.inputs.registry import takes_images
from bemi.inputs.scaling import are_integers
from bemi.inputs.signal import SignalCounts
from bemi.inputs.table import TableBits
from bemi.inputs.table.cells import as_given, as_pandas
from bemi.inputs.table.text import ColumnWarning
from bemi.inputs.transform import Takes
from bemi.report.summary import large_gaps, rows_inside
from bemi.settings import AUTO, EXPLAINABLE, SETTINGS, is_auto
from bemi.stages import SOFT_STAGES, SPARSE_STAGES
from bemi.training.budget import expected_costs
from bemi.training.choice import MOST_ROWS, Candidate, Choice, choose, unknown
from bemi.training.noise import prepared_for_noise
from bemi.training.plan import Settings, Task, seed_of
from bemi.training.training_set import Given, class_weights, given_weights
from bemi.training.validation import check_given, labels_of, warn_if_continuous

COMPARED = ("inputs", "copies", "C")
"""Settings that cross-validation chooses."""

MOST_IMAGES, MOST_DEFORMED = 2000, 20_000
"""With more images than the first, two slightly deformed copies of each are enough, and only straightening is compared,
on a part of the images; with more than the second, images that are not straightened gain nothing by copies."""

MANY_COMPARED = 3000
"""Images on which settings are compared where there are more than ``MOST_DEFORMED``: a thousand tell too little."""

MANY_IMAGES_PENALTY, UNDEFORMED_PENALTY = 3.0, 10.0
"""C for many images, and for those neither straightened nor deformed.  On held-out training images of MNIST, 10 was no
better without copies, and with them it takes twice the time; of Fashion-MNIST it was better by 0.2 points."""

LARGEST_SIDE = 64
"""Images with longer sides are shrunk."""

MOST_PIXELS = LARGEST_SIDE**2 * 3
"""With larger images, of many channels, nothing is compared."""

FEW_RECORDINGS = 20
"""Up to so many recordings of a class, or windows if recordings are not known, small copies are usual for signals;
docs/signals.md has what they gain."""

KERNELS = (84, 0)
"""Outputs of kernels to choose from where there is a budget, in place of all."""

SMALL_GAINS, GAINS, SHIFTS = (0.8, 1.25), (0.625, 1.5), (-0.125, 0.125)
"""Gains and shifts, in windows, of the copies to choose from."""

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Values of C to choose from."""

CARD_THRESHOLDS, CARD_PENALTIES = (4, 8, 16), (0.1, 0.3, 1.0, 3.0, 10.0)
"""Thresholds per column, and values of C, to choose from for scorecards."""

CARD_RULES, CARD_RULE_LENGTH = 64, 3
"""Rules that scorecards may have lines of, and most conditions of each."""

FEW_CARD_ROWS = 100
"""Up to so many rows of a class, the usual settings of scorecards are hard to beat."""

USUAL_PENALTY = 3.0
"""C for bits of a table where nothing is compared."""

FEW_RULES, RULES = 32, 512
"""Rules, at most: as many as people read, and as many as bend a model for thousands of rows."""

LANDMARKS = 256
"""Training rows that others are compared with, at most."""

WEIGHT_BOUND, TABLE_BOUND = 7, 15
"""Weight bound, and that of tables: their integer weights come closer to the continuous optimum than with 7, and so
does the proof, at equal accuracy."""

MANY_CLASSES = 100
"""With more classes than this, nothing is compared: each candidate takes a machine for every two of them."""

NETWORKS_A_MINUTE, NETWORKS_A_MEGABYTE = 14_000, 200
"""At most so many networks of three rows a class and eight columns were trained in a minute of one core, and fit."""

CHEAP_ROWS = 2000
"""Up to so many rows with many inputs, images or signals, fitting probabilities takes seconds."""


@dataclass(frozen=True)
class Kind:
    """What rows are, and which settings suit them.

    Attributes
    ----------
    name
        One of :data:`bemi.settings.KINDS`.
    why
        Why the rows are treated as such.
    usual
        Settings where nothing is compared.
    candidates
        Settings to compare by cross-validation; empty if there are too many rows for that.
    estimated
        Whether the accuracy is estimated even if nothing is left to choose.
    compared_on
        Number of rows that settings are compared on, if there are more.
    """

    name: str
    why: str
    usual: Mapping[str, Any]
    candidates: tuple[Candidate, ...] = ()
    estimated: bool = False
    compared_on: int = MOST_ROWS


def images(rows: NDArray, shape: Sequence[int] | None = None, why: str = "asked for") -> Kind:
    """Gradient histograms of images; ``shape`` as :class:`bemi.IntegerHog` takes it.

    Cross-validation of a hundred images is noisy, so there are few candidates, far apart, and others must beat the
    usual one by half a standard error: digits gain by all of the copies in training more than by the few compared.  A
    penalty of 1 suits the many rows that copies make, 10 the few that there are without.  With many images only
    straightening is compared, on a part of them; with very many, straightened and deformed ones with plain ones.
    Larger images are shrunk first.
    """
    given = None if shape is None else tuple(shape)
    whole = full_shape(given, rows[0].size)
    shrink = -(-max(whole[:2]) // LARGEST_SIDE)
    seen = given if shrink == 1 else shrunk_shape(whole, shrink)
    hog = partial(IntegerHog, shape=given, shrink=shrink)
    straight, as_they_are = hog(), hog(straighten=False)
    small = ImageDeformations(rotation=4, scaling=0.1, shear=0.05, shift=0.02, bending=0.02, shape=seen)
    large = ImageDeformations(shape=seen)
    candidates: tuple[Candidate, ...] = (
        Candidate("straightened images, deformed", {"inputs": straight, "copies": large, "C": 1.0}, inf),
        Candidate("images as they are, slightly deformed", {"inputs": as_they_are, "copies": small, "C": 1.0}, 0, 0.5),
        Candidate("images as they are", {"inputs": as_they_are, "copies": None, "C": 10.0}, 0, 0.5),
    )
    if given is not None and given[2:] == (3,):
        coloured = hog(straighten=False, colours=True)
        candidates += (
            Candidate("shapes and colours, slightly deformed", {"inputs": coloured, "copies": small, "C": 1.0}, 0, 0.5),
            Candidate("shapes and colours", {"inputs": coloured, "copies": None, "C": 10.0}, 0, 0.5),
        )
    usual = {
        "inputs": straight,
        "copies": None,
        "C": SETTINGS["C"].default,
        "weight_bound": WEIGHT_BOUND,
        # Pixels share one unit, so one factor must scale them all.
        "input_scaling": "auto" if are_integers(rows) else "common",
    }
    if prod(shrunk_shape(whole, shrink)) > MOST_PIXELS:
        candidates = ()
    elif len(rows) > MOST_IMAGES:
        deformed = {"copies": clone(small).set_params(copies=2), "C": MANY_IMAGES_PENALTY}
        candidates = (
            Candidate("straightened images, slightly deformed", {"inputs": straight, **deformed}),
            Candidate("images as they are, slightly deformed", {"inputs": as_they_are, **deformed}),
        )
        if len(rows) > MOST_DEFORMED:
            alone = {"inputs": as_they_are, "copies": None, "C": UNDEFORMED_PENALTY}
            candidates = (candidates[0], Candidate("images as they are", alone))
            return Kind("image", why, usual, candidates, compared_on=MANY_COMPARED)
    return Kind("image", why, usual, candidates)


def signals(why: str = "asked for") -> Kind:
    """Counts of what happens in windows, as they were recorded, or also at other gains, earlier and later, or with a
    little noise."""
    nothing: tuple[float, ...] = ()
    candidates = (
        Candidate("windows as recorded", {"copies": None}, inf),
        Candidate("small gains and shifts", {"copies": SignalScenarios(SMALL_GAINS, SHIFTS)}, FEW_RECORDINGS),
        Candidate("gains", {"copies": SignalScenarios(GAINS)}),
        Candidate("shifts", {"copies": SignalScenarios(nothing, SHIFTS)}),
        Candidate("gains and shifts", {"copies": SignalScenarios(GAINS, SHIFTS)}),
        Candidate("noise", {"copies": SignalScenarios(nothing, nothing, (0.03,))}),
    )
    usual = {"inputs": SignalCounts(), "copies": None, "C": SETTINGS["C"].default, "weight_bound": WEIGHT_BOUND}
    return Kind("signal", why, usual, candidates)


def tables(why: str = "asked for") -> Kind:
    """Values, bits, rules, similarities to training rows or all of them, whichever cross-validation prefers.

    Similarities keep training rows in the model, so they must be better by more than a standard error.
    """
    inputs = {
        "values": TableBits(thresholds=0, values=True),
        "bits": TableBits(),
        "values and bits": TableBits(values=True),
        "bits and a few rules": TableBits(rules=FEW_RULES),
        "values, bits and rules": TableBits(values=True, rules=RULES),
        "similarities to training rows": TableBits(thresholds=0, similarities=LANDMARKS),
        "values, bits and similarities to training rows": TableBits(values=True, similarities=LANDMARKS),
    }
    candidates = tuple(
        Candidate(f"{name}, C = {C:g}", {"inputs": transform, "C": C}, 0, 1.0, bool(transform.similarities))
        for name, transform in inputs.items()
        for C in PENALTIES
    )
    usual = {"inputs": TableBits(), "copies": None, "C": USUAL_PENALTY, "weight_bound": TABLE_BOUND}
    return Kind("table", why, usual, candidates)


def cards() -> Kind:
    """Bits for scorecards: more or fewer thresholds, which lines have to be chosen from, and penalties; short rules.

    With few rows another card must beat the usual one clearly, since so many candidates are alike.  Lines with rules
    take longer to read, so they must be clearly better with many rows, too.
    """
    usual = {"inputs": TableBits(distinct=True), "C": USUAL_PENALTY}
    candidates = []
    for thresholds in CARD_THRESHOLDS:
        for C in CARD_PENALTIES:
            settings = {"inputs": TableBits(thresholds, distinct=True), "C": C}
            limit = FEW_CARD_ROWS if repr(settings) == repr(usual) else 0
            candidates.append(Candidate(f"up to {thresholds} thresholds per column, C = {C:g}", settings, limit))
    rules = TableBits(distinct=True, rules=CARD_RULES, rule_length=CARD_RULE_LENGTH)
    for C in CARD_PENALTIES:
        candidates.append(Candidate(f"rules, C = {C:g}", {"inputs": rules, "C": C}, last_resort=True))
    return Kind("table", "scorecards are for tables", usual, tuple(candidates), estimated=True)


def kind_of(X: Any, kind: Any = AUTO, inputs: Any = AUTO) -> Kind:
    """What rows are: as ``kind`` says, as ``inputs`` takes them, or as they look."""
    rows = np.asarray(X)
    asked = f"kind={kind!r}"
    if not isinstance(kind, str):
        if rows.ndim != 2:
            raise ValueError("images are rows of pixels, shape (rows, pixels); three dimensions are a signal")
        return images(rows, kind, f"the images are {' x '.join(map(str, kind))}")
    if kind == "signal" or (kind == AUTO and (rows.ndim == 3 or Takes.by(inputs) is Takes.WINDOWS)):
        sizes = f"windows of {rows.shape[1]} samples of {rows.shape[2]} channels are a signal" if rows.ndim == 3 else ""
        return signals(sizes or asked)
    if kind == "table":
        return tables(asked)
    if kind == "image":
        return images(rows, None, asked)
    if takes_images(inputs):
        return images(rows, getattr(inputs, "shape", None), f"{type(inputs).__name__} takes images")
    if Takes.by(inputs) is Takes.RAW_COLUMNS:
        return tables(f"{type(inputs).__name__} takes tables")
    why_not = why_no_image(rows)
    if why_not is not None:
        return tables(f"not images: {why_not}")
    side = isqrt(rows.shape[1])
    return images(
        rows, None, f"{side} x {side} non-negative integers per row, with neighbours alike, are treated as images"
    )


def left_to_choose(kind: Kind, given: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """Distinct candidates of a kind that can obey the settings that are given, without these."""
    fixed = {name: given[name] for name in COMPARED if not is_auto(given[name])}
    different: dict[str, Candidate] = {}
    explainable = isinstance(given["inputs"], str) and given["inputs"] == EXPLAINABLE
    for candidate in kind.candidates:
        if candidate.last_resort and explainable:
            continue
        inputs = candidate.settings.get("inputs")
        joins_columns = any(getattr(inputs, name, None) for name in ("similarities", "rules"))
        if given["monotone"] is not None and joins_columns:
            continue  # such inputs do not grow with one column
        open_settings = {name: value for name, value in candidate.settings.items() if name not in fixed}
        named = replace(candidate, name=_name(candidate, open_settings), settings=open_settings)
        same = different.setdefault(repr(sorted(open_settings.items())), named)
        if same.usual_up_to < named.usual_up_to:  # of equals the usual one
            different[repr(sorted(open_settings.items()))] = named
    if len(different) == 1:
        return tuple(replace(candidate, name="settings as given") for candidate in different.values())
    return tuple(different.values())


def _name(candidate: Candidate, open_settings: Mapping[str, Any]) -> str:
    """The name of a candidate without its inputs, or its C, if these are given."""
    inputs, _, price = candidate.name.rpartition(", ")
    if not price.startswith("C = "):
        return candidate.name
    parts = [name for name, setting in ((inputs, "inputs"), (price, "C")) if setting in open_settings]
    return ", ".join(parts) or candidate.name


def _announced(classes: int) -> str:
    """What so many classes cost."""
    networks = classes * (classes - 1) // 2
    minutes, megabytes = np.ceil([networks / NETWORKS_A_MINUTE, networks / NETWORKS_A_MEGABYTE])
    return (
        f"{classes:,} classes take {networks:,} networks, one for each two of them: at least {minutes:.0f} min of "
        f"processor time and {megabytes:.0f} MB; subsets trains fewer, and no settings are compared"
    )


class SoftMarginClassifier(Classifier, ABC):
    """What estimators with soft margins share: rows may have weights, and come from recordings.

    Attributes
    ----------
    choice_
        The chosen settings, the reasons, and the expected accuracy: a :class:`bemi.training.choice.Choice`; None in a
        classifier read from a file.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Train one network per pair of classes.

        Parameters
        ----------
        X
            Rows, a data frame or an array of shape (rows, features), or windows of a signal, shape (windows, time,
            channels).
        y
            Labels: numbers or strings.
        sample_weight
            How much each row counts: with a weight of 2 as much as the row twice.  Rows of weight 0 are left out.  None
            if all rows count the same.
        groups
            What each row comes from, such as the recording of a window; the choice of settings, its estimate and the
            fit of probabilities then never divide a group.  None if every row stands for itself.

        Examples
        --------
        >>> clf.fit(X[::5], y[::5]).classes_
        array([0, 1, 2])
        """
        self._fit(Given(X, y, sample_weight, groups))
        if is_auto(self.inputs) and self.ensemble_.inputs.rows_inside:
            warnings.warn(rows_inside(self.ensemble_), ColumnWarning, stacklevel=2)
        gaps = large_gaps(self.ensemble_)
        if gaps:
            warnings.warn(gaps, ConvergenceWarning, stacklevel=2)
        return self

    def fit_shard(
        self,
        X: ArrayLike,
        y: ArrayLike,
        shard: int,
        shards: int,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> int:
        """Train one of several equal parts of the networks into ``run_dir``, and return how many had to be trained.

        For machines that share only a folder: once all parts are done, :meth:`fit` finds every network there.  The
        classifier itself does not change.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in :meth:`fit`, the same for all parts.
        shard, shards
            Which part, counted from 1, and the number of parts.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from sklearn.base import clone
        >>> clone(clf).set_params(run_dir=mkdtemp()).fit_shard(X[::10], y[::10], 1, 3)
        1
        """
        return self._fit_shard(Given(X, y, sample_weight, groups), shard, shards)

    def training_tasks(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> dict[tuple, Task]:
        """What :meth:`fit` would train on these data, by class subset; nothing is trained or changed.

        If the tasks run elsewhere and write to the journal of ``run_dir``, ``fit`` has nothing left to train, but for a
        card that is trained twice to free lines: once its first task is done, the second one is listed.

        Examples
        --------
        >>> list(clf.training_tasks(X[::10], y[::10]))
        [(0, 1), (0, 2), (1, 2)]
        """
        return self._training_tasks(Given(X, y, sample_weight, groups))

    def choose(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Choice:
        """What :meth:`fit` would choose on these rows, and what accuracy to expect; nothing is trained or changed.

        Examples
        --------
        >>> clf.choose(X[::5], y[::5]).kind
        'table'
        """
        other = clone(self)
        other._resolved(Given(X, y, sample_weight, groups))
        return other.choice_

    def _resolved(self, given: Given) -> Settings:
        settings = self._translated(self._settings())
        X = as_pandas(given.X)
        check_given(X)
        rows = as_given(X)
        labels = labels_of(given.y, rows)
        warn_if_continuous(labels)
        kind = self._kind(X)
        classes = len(np.unique(labels))
        if classes > MANY_CLASSES and settings["subsets"] is None:
            warnings.warn(_announced(classes), ColumnWarning, stacklevel=4)
        automatic = {name: value for name, value in kind.usual.items() if is_auto(settings[name])}
        settings |= {name: value for name, value in automatic.items() if name not in COMPARED}
        found = self._choice(kind, settings, given._replace(X=rows, y=labels))
        self.choice_ = replace(found, kind=kind.name, why=kind.why)
        return self._with_probabilities({**settings, **automatic, **found.candidate.settings}, kind, labels)

    @abstractmethod
    def _kind(self, X: Any) -> Kind:
        """What the rows are, and what there is to choose."""

    def _with_probabilities(self, chosen: Settings, kind: Kind, labels: NDArray) -> Settings:
        """The settings, with probabilities or without."""
        return chosen

    def _choice(self, kind: Kind, settings: Mapping[str, Any], given: Given) -> Choice:
        """The best candidate by cross-validation on the training rows, if there is something to choose."""
        rows, labels = given.X, np.asarray(given.y)
        if not kind.estimated and not any(is_auto(settings[name]) for name in COMPARED):
            return unknown(Candidate("settings as given", {}), "nothing was left to choose")
        candidates = left_to_choose(kind, settings)
        if not candidates:
            return unknown(Candidate("usual settings", {}), f"{len(rows)} large rows are too many to compare settings")
        usual = {name: value for name, value in kind.usual.items() if is_auto(settings[name])}
        if len(np.unique(labels)) > MANY_CLASSES:
            return unknown(Candidate("usual settings", {}), f"settings are compared for up to {MANY_CLASSES} classes")
        weights = given_weights(given.sample_weight, len(labels))
        classes, targets = np.unique(labels, return_inverse=True)
        weights = weights * class_weights(settings["class_weight"], classes, targets, weights)[targets]
        defaults, seed, groups = {**settings, **usual}, seed_of(settings["random_state"]), given.groups
        choice = choose(
            candidates,
            rows,
            labels,
            defaults=defaults,
            weights=weights,
            seed=seed,
            groups=groups,
            by_rank=kind.name == "table",
            most=kind.compared_on,
            watch=partial(self._progress, "choosing settings"),
        )
        if kind.name != "signal" or not is_auto(settings["copies"]):
            return choice
        return prepared_for_noise(choice, defaults, rows, labels, weights=weights, groups=groups, seed=seed)


class FewBitClassifier(SoftMarginClassifier):
    """Few-bit classifier for images, tables and signals that chooses its settings from the rows.

    One integer linear network per pair of classes, trained to soft margins with a certified gap; the label is decided
    by majority vote.  What the networks see, which copies of the rows they learn from and the penalty C are chosen by
    cross-validation on the training rows, unless they are given; ``choice_`` says what was chosen and why.

    {parameters}

    Attributes
    ----------
    choice_
        The chosen settings, the reasons, and the expected accuracy: a :class:`bemi.training.choice.Choice`; None in a
        classifier read from a file.
    ensemble_
        The fitted model; see :class:`bemi.estimators.base.Classifier` for all fitted attributes.

    Examples
    --------
    >>> from bemi import FewBitClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FewBitClassifier().fit(X[::5], y[::5])
    >>> clf.predict(X[:2])
    array([0, 0])
    >>> clf.choice_.kind
    'table'
    """

    NAME = "few-bit"
    AUTOMATIC = ("kind", "inputs", "copies", "C", "weight_bound", "probabilities")

    def __init__(
        self,
        kind: str | Sequence[int] = "auto",
        *,
        inputs: Any = "auto",
        copies: Any = "auto",
        C: float | str = "auto",
        weight_bound: int | str = "auto",
        max_links: int | None = None,
        mw_loss: float | None = None,
        monotone: Mapping[Any, int] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        probabilities: bool | str = "auto",
        reject: float | None = None,
        subsets: int | Sequence[Sequence] | None = None,
        time_limit: float | Sequence[float] | None = 10.0,
        total_time_limit: float | None = None,
        node_limit: int | None = None,
        gap: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        run_dir: str | Path | None = None,
    ) -> None:
        self.kind = kind
        self.inputs = inputs
        self.copies = copies
        self.C = C
        self.weight_bound = weight_bound
        self.max_links = max_links
        self.mw_loss = mw_loss
        self.monotone = monotone
        self.class_weight = class_weight
        self.probabilities = probabilities
        self.reject = reject
        self.subsets = subsets
        self.time_limit = time_limit
        self.total_time_limit = total_time_limit
        self.node_limit = node_limit
        self.gap = gap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.run_dir = run_dir

    def within_budget(
        self, X: ArrayLike, y: ArrayLike, *, flash: int | None = None, instructions: int | None = None
    ) -> Self:
        """An unfitted copy that gives windows of a signal as many kernels as a device can afford.

        Costs are those of the exported C on a Cortex-M3, as its header states them; they depend little on the weights.
        ValueError if even a model without kernels costs more.

        Parameters
        ----------
        X, y
            The rows that it will be fitted on.
        flash, instructions
            Bytes of flash, and instructions of a prediction, that the model may take; None for no limit.

        Examples
        --------
        >>> import numpy as np
        >>> windows = np.random.default_rng(0).integers(-100, 100, (8, 50, 3))
        >>> FewBitClassifier().within_budget(windows, [0, 1] * 4, flash=5000).inputs
        SignalCounts(rocket=84)
        """
        given = self._translated(self._settings())
        X = as_pandas(X)
        check_given(X)
        rows = as_given(X)
        labels, kind = labels_of(y, rows), self._kind(X)
        usual = {name: value for name, value in kind.usual.items() if is_auto(given[name])}
        settings = self._with_probabilities({**given, **usual}, kind, labels)
        counts = settings["inputs"]
        if not isinstance(counts, SignalCounts):
            raise ValueError("budgets are for windows of a signal; other models say their costs when they are exported")
        if len(np.unique(labels)) < 2:
            raise ValueError("a budget needs rows of at least two classes")
        limits = {"flash": flash, "instructions": instructions}
        for rocket in (counts.rocket, *(fewer for fewer in KERNELS if counts.rocket is None or fewer < counts.rocket)):
            inputs = clone(counts).set_params(rocket=rocket)
            costs = expected_costs({**settings, "inputs": inputs}, rows, labels)
            over = {name: getattr(costs, name) for name, most in limits.items() if most and getattr(costs, name) > most}
            if not over:
                return clone(self).set_params(inputs=inputs)
        needed = " and ".join(f"{cost:,} of {name}" for name, cost in over.items())
        raise ValueError(f"without kernels the model takes {needed}, more than its budget; allow more or omit channels")

    def _translated(self, given: dict[str, Any]) -> dict[str, Any]:
        stages = SOFT_STAGES if given["mw_loss"] is None else SPARSE_STAGES
        loss = SETTINGS["mw_loss"].default if given["mw_loss"] is None else given["mw_loss"]
        return given | {"stages": stages, "mw_loss": loss}

    @classmethod
    def _parameters_of(cls, ensemble: Ensemble) -> dict[str, Any]:
        known = super()._parameters_of(ensemble)
        return known if len(ensemble.training.settings["stages"]) > 1 else known | {"mw_loss": None}

    def _kind(self, X: Any) -> Kind:
        return kind_of(X, self.kind, self.inputs)

    def _with_probabilities(self, chosen: Settings, kind: Kind, labels: NDArray) -> Settings:
        """The settings with probabilities wherever they cost little, unless the user decided."""
        if not is_auto(chosen["probabilities"]):
            if chosen["probabilities"] and chosen["subsets"] is not None:
                raise ValueError("probabilities=True needs a network for every pair of classes; use subsets=None")
            return chosen
        cheap = (kind.name == "table" or len(labels) <= CHEAP_ROWS) and len(np.unique(labels)) <= MOST_CLASSES
        return {**chosen, "probabilities": cheap and chosen["subsets"] is None}
