"""The classifier for accuracy: soft margins, with inputs, copies and penalty chosen from the rows."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.probabilities import MOST_CLASSES
from bemi.estimators.base import Classifier
from bemi.estimators.kinds import COMPARED, Kind, kind_of, left_to_choose
from bemi.inputs.signal import SignalCounts
from bemi.inputs.table.cells import as_given, as_pandas
from bemi.inputs.table.text import ColumnWarning
from bemi.report.summary import large_gaps, rows_inside
from bemi.settings import SETTINGS, is_auto
from bemi.stages import SOFT_STAGES, SPARSE_STAGES
from bemi.training.budget import expected_costs
from bemi.training.choice import Candidate, Choice, choose, unknown
from bemi.training.noise import prepared_for_noise
from bemi.training.plan import Settings, Task, seed_of
from bemi.training.training_set import Given, class_weights, given_weights
from bemi.training.validation import check_given, labels_of, warn_if_continuous

KERNELS = (84, 0)
"""Outputs of kernels to choose from where there is a budget, in place of all."""

MANY_CLASSES = 100
"""With more classes than this, nothing is compared: each candidate takes a machine for every two of them."""

NETWORKS_A_MINUTE, NETWORKS_A_MEGABYTE = 14_000, 200
"""At most so many networks of three rows a class and eight columns were trained in a minute of one core, and fit."""

CHEAP_ROWS = 2000
"""Up to so many rows with many inputs, images or signals, fitting probabilities takes seconds."""


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
