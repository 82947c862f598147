"""What the estimators share: fit = check, rows, plan, run, ensemble; everything else reads the fitted ensemble."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import replace
from textwrap import fill
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from bemi import settings, solvers
from bemi.ensemble.ensemble import Ensemble, check_open_label, ensemble_of
from bemi.ensemble.folding import FoldedEnsemble
from bemi.ensemble.radius import Radii
from bemi.ensemble.subsets import class_subsets, subsets_to_train
from bemi.ensemble.ties import TIES
from bemi.ensemble.voting import Votes
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.files import printable
from bemi.inputs.inputs import Inputs
from bemi.inputs.table import TableBits
from bemi.inputs.table.text import ColumnWarning
from bemi.inputs.transform import Takes
from bemi.report.html import fitted_html
from bemi.report.scorecard import Scorecard, why_no_card
from bemi.running.schedule import Progression, check_shard, finished, progress, train_all
from bemi.settings import OF_NETWORKS, SETTINGS, is_auto
from bemi.training.calibration import calibrated
from bemi.training.pipeline import Training, share_time
from bemi.training.plan import Plan, Settings, Task, check_solver, recorded, task_settings
from bemi.training.rejection import with_known_ranges
from bemi.training.training_set import Given, TrainingSet, given_weights
from bemi.training.validation import check_new_classes, rows_to_predict, training_rows, warn_if_continuous

if TYPE_CHECKING:

    class _ScikitLearn:
        """Types of what scikit-learn's untyped base classes give to a classifier."""

        n_features_in_: int
        feature_names_in_: NDArray

        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **parameters: Any) -> Self: ...
        def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]: ...
        def _repr_html_(self) -> str: ...
        def __sklearn_tags__(self) -> Any: ...
        def __repr__(self, N_CHAR_MAX: int = 700) -> str: ...
else:

    class _ScikitLearn(ClassifierMixin, BaseEstimator):
        pass


def _fitted(path: str, *, by_key: bool = False) -> Any:
    """A fitted attribute of a classifier that is part of its ensemble; ``by_key`` if there is one per network.

    The classifier lacks whatever its ensemble lacks, such as the training rows of a model that was read from a file.
    """

    def read(classifier: Classifier) -> Any:
        ensemble: Ensemble | None = vars(classifier).get("_ensemble")
        value: Any = ensemble
        for name in path.split("."):
            if value is None:
                state = "is not fitted yet; call fit first" if ensemble is None else "was read from a file"
                raise AttributeError(f"no {path.split('.')[-1]}: this classifier {state}")
            value = getattr(value, name)
        return dict(zip(ensemble.keys, value, strict=True)) if by_key and ensemble is not None else value

    return property(read)


def _why_no_probabilities(classifier: Classifier) -> str:
    """Why a classifier has no probabilities, and what to set; empty if it has, or will have once it is fitted."""
    ensemble: Ensemble | None = vars(classifier).get("_ensemble")
    if not classifier.PROBABILISTIC:
        return f"{type(classifier).__name__} has none; train a FewBitClassifier, or use decision_function"
    if ensemble is None and getattr(classifier, "probabilities", True):
        return ""
    if ensemble is not None and ensemble.probabilities is not None:
        return ""
    return "this classifier was trained without; set probabilities=True and fit again"


class _WithProbabilities:
    """A method of classifiers with probabilities; others lack it, and say what to set."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.fn = method
        self.__doc__ = method.__doc__

    def __get__(self, classifier: Classifier | None, owner: type) -> Any:
        if classifier is None:
            return self.fn
        why = _why_no_probabilities(classifier)
        if why:
            raise AttributeError(f"no {self.fn.__name__}: {why}")
        return MethodType(self.fn, classifier)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt where a compiled loop was running, whose result Python refuses then."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


_Method = TypeVar("_Method", bound=Callable[..., Any])
_Trainings = TypeVar("_Trainings", dict[tuple, Training], dict[tuple, Training] | None)


def _with_probabilities(method: _Method) -> _Method:
    return cast(_Method, _WithProbabilities(method))


class Classifier(_ScikitLearn):
    """Base of the estimators: an ensemble of few-bit networks, one for every set of classes, that vote.

    A subclass has a signature of declared settings (:mod:`bemi.settings`) and says by :meth:`_translated`, or by
    :meth:`_resolved` if rows matter, what to train.  ``{parameters}`` in its docstring becomes their
    description.

    Attributes
    ----------
    ensemble_
        The fitted model, a :class:`bemi.ensemble.ensemble.Ensemble`; most other attributes are read from it.
    classes_
        The labels.
    networks_
        ``{tuple of classes: Network}``.
    reports_
        ``{tuple of classes: {stage: StageResult}}``.
    splitting_
        ``{tuple of classes: mask}``: first-layer neurons that give both signs on the network's training rows.
    input_scaling_, transform_
        Map features to integers, and these to the inputs of the networks (None if they are the inputs).
    training_rows_, training_targets_, training_digest_
        The integers and class indices that the networks were trained on, and a digest of them.  The given rows come
        first, then the copies that some network was trained on.  A classifier read from a file has only the digest.
    given_rows_
        Number of training rows that were given; the others are copies.  None without copies.
    added_rows_
        ``{tuple of classes: indices}``: the training rows that a network was trained on in addition to the given rows
        of its classes; empty without copies.
    solver_
        The solver that trained the networks, and its version.
    unclassified_label_
        What ``predict`` returns for a row that the paper's rule leaves unclassified.
    selected_rows_
        Indices of the rows of ``X`` used for training.
    reused_networks_
        Number of networks that were already in ``run_dir``.

    Examples
    --------
    >>> from bemi import FewBitClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FewBitClassifier().fit(X[::5], y[::5])
    >>> list(clf.networks_)
    [(0, 1), (0, 2), (1, 2)]
    """

    NAME: ClassVar[str]
    """Name of the estimator in model files."""
    AUTOMATIC: ClassVar[tuple[str, ...]] = ()
    """Parameters that may be ``"auto"``."""

    PROBABILISTIC: ClassVar[bool] = True
    """Whether its networks can have probabilities."""

    inputs: Any
    n_jobs: int | None
    random_state: Any
    run_dir: Any
    verbose: int
    choice_: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and "{parameters}" in cls.__doc__:
            cls.__doc__ = cls.__doc__.replace("{parameters}", settings.docstring(cls).replace("\n", "\n    "))

    # What to train -----------------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        """All settings of training: those of this estimator, and the defaults of those that it does not have."""
        given = {name: getattr(self, name) for name in self._get_param_names()}
        settings.check(given, self.AUTOMATIC)
        return {name: setting.default for name, setting in SETTINGS.items()} | given

    def _resolved(self, given: Given) -> Settings:
        """The settings for these rows, with nothing left to choose; an estimator that chooses does so here."""
        warn_if_continuous(given.y)
        return self._translated(self._settings())

    @classmethod
    def _parameters_of(cls, ensemble: Ensemble) -> dict[str, Any]:
        """Parameters that a fitted model was trained with."""
        transform = ensemble.inputs.transform
        known = dict(ensemble.training.settings)
        known |= {"inputs": None if transform is None else clone(transform), "ties": ensemble.ties.name}
        return {name: known[name] for name in cls._get_param_names() if name in known}

    # Training ----------------------------------------------------------------------------------------------------

    def _fit(self, given: Given) -> Self:
        # An interrupted fit must not leave an older fit's networks behind.
        self.__dict__.pop("_ensemble", None)
        with _interruptible():
            chosen, plan, trainings = self._trained(self._resolved(given), given, self._train)
            ensemble = self._assembled(chosen, plan, trainings)
        if chosen["reject"] is not None:
            ensemble = with_known_ranges(ensemble, chosen, given)
        self._ensemble = ensemble
        return self

    def _trained(
        self, chosen: Settings, given: Given, train: Callable[[Plan], _Trainings]
    ) -> tuple[Settings, Plan, _Trainings]:
        """Settings, plan and networks of the last training, if ``train`` gives networks: these may call for another."""
        with self._progress("preparing the rows"):
            plan = self._planned(chosen, given)
        trainings = train(plan)
        while trainings is not None and (revised := self._revised(chosen, plan, trainings)) is not None:
            chosen = revised
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ColumnWarning)  # said before
                plan = self._planned(chosen, given)
            trainings = train(plan)
        return chosen, plan, trainings

    def _progress(self, what: str, total: int | None = None) -> AbstractContextManager[Progression]:
        """Shows on request what is being done."""
        return progress(total, show=bool(self.verbose), what=what)

    def _revised(self, chosen: Settings, plan: Plan, trainings: Mapping[tuple, Training]) -> Settings | None:
        """Settings to train again with, now that the networks are known; None if they stay."""
        return None

    def _fit_shard(self, given: Given, shard: int, shards: int) -> int:
        if self.run_dir is None:
            raise ValueError("a shard needs run_dir, the folder that all shards write to")
        check_shard(shard, shards)
        other, count = clone(self), 0

        def train(plan: Plan) -> dict[tuple, Training] | None:
            nonlocal count
            count += len(other._train(plan.shard(shard, shards))) - other.reused_networks_
            return other._finished(plan)

        with _interruptible():
            other._trained(other._resolved(given), given, train)
        return count

    def _training_tasks(self, given: Given) -> dict[tuple, Task]:
        other = clone(self)
        _, plan, _ = other._trained(other._resolved(given), given, other._finished)
        return {key: plan[index] for index, key in enumerate(plan.keys)}

    def add_classes(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn new classes: only networks that involve them are trained; all others stay unchanged.

        The input scaling and transform of the first fit are reused.  The classifier gets its new model in one step once
        all networks are trained: other threads may predict and save meanwhile, and each call sees the model before or
        the one after.  Two threads must not add classes, or fit, at the same time.

        Parameters
        ----------
        X, y
            Rows of the new classes.  Give rows of all classes, the known ones included, if the classifier was read from
            a file, makes copies of rows, or rejects unknown ones: it does not have what these take.
        groups
            What each row comes from, as in ``fit``; with rows of all classes only.

        Examples
        --------
        >>> from copy import deepcopy
        >>> deepcopy(clf).add_classes(X[:5] + 3, [3] * 5).classes_
        array([0, 1, 2, 3])
        """
        check_is_fitted(self)
        ensemble = self.ensemble_
        chosen = {**self._as_fitted(ensemble.training.settings), "inputs": ensemble.inputs.transform}
        if chosen["subsets"] is not None:
            raise ValueError("classes can be added only if subsets is None; fit again on all rows")
        known_rows = ensemble.training.rows
        if chosen["class_weight"] is not None or (known_rows is not None and known_rows.weights is not None):
            raise ValueError(
                "classes cannot be added to networks that were trained with weights; fit again on all rows"
            )
        rows, labels = training_rows(self, X, y, Takes.by(ensemble.inputs.transform), reset=False)
        if chosen["copies"] is not None or chosen["reject"] is not None or groups is not None:
            known_rows = None  # copies and ranges are made of rows as they were given
        check_new_classes(ensemble.classes, labels, known_rows is not None)
        if known_rows is None:
            training_set = TrainingSet.of(
                rows,
                labels,
                ensemble.inputs.widened(rows),
                max_per_class=chosen["max_per_class"],
                scenarios=chosen["copies"],
                groups=groups,
            )
        else:
            known = TrainingSet(
                ensemble.classes, ensemble.inputs, known_rows.rows, known_rows.targets, np.arange(len(known_rows.rows))
            )
            training_set = known.extended(rows, labels, max_per_class=chosen["max_per_class"])
        _check_classes(chosen, training_set.classes)
        plan = _plan(chosen, training_set, class_subsets(len(training_set.classes), int(chosen["subset_size"])))
        trained = self._train(plan.part(i for i, key in enumerate(plan.keys) if key not in set(ensemble.keys)))
        extended = self._assembled(chosen, plan, trained, known=ensemble)
        if chosen["reject"] is not None:
            extended = with_known_ranges(extended, chosen, Given(X, y, groups=groups))
        self.selected_rows_ = training_set.selected
        if known_rows is None:
            # Rows of known classes need not be those of the proofs, so no certificate can be written.
            extended = replace(extended, training=replace(extended.training, rows=None))
        self._ensemble = extended
        return self

    def _as_fitted(self, known: Settings) -> Settings:
        """The settings of this estimator, automatic ones as they were fitted; those of networks must be the same."""
        present = self._translated(self._settings())
        present |= {name: known[name] for name in self.AUTOMATIC if name in known and is_auto(present[name])}
        check_together(present)
        now = recorded(present | {"estimator": self.NAME})
        for name in OF_NETWORKS:
            if now[name] != known[name]:
                raise ValueError(
                    f"the networks were trained with {name}={known[name]!r}, not {now[name]!r}; fit again instead"
                )
        return present

    def _translated(self, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters of this estimator in terms of training."""
        return given

    def _planned(self, chosen: Settings, given: Given) -> Plan:
        """Check everything, make the training set, and list the networks to train."""
        check_together(chosen)
        rows, y = training_rows(self, given.X, given.y, Takes.by(chosen["inputs"]), reset=True)
        weights, groups = given_weights(given.sample_weight, len(y)), given.groups
        # Rows without weight have no influence on anything, the scaling included.
        counted = np.flatnonzero(weights)
        if len(counted) < len(weights):
            rows, y, weights = _safe_indexing(rows, counted), y[counted], weights[counted]
            groups = None if groups is None else np.asarray(groups)[counted]
        _check_classes(chosen, np.unique(y))
        # Scaling and transform depend only on the training rows, so they are part of the model.
        names = getattr(self, "feature_names_in_", None)
        training_set = TrainingSet.of(
            rows,
            y,
            Inputs.fit(rows, chosen["input_scaling"], chosen["inputs"], names, y),
            max_per_class=chosen["max_per_class"],
            scenarios=chosen["copies"],
            weights=weights,
            class_weight=chosen["class_weight"],
            groups=groups,
        )
        for line in training_set.inputs.remarks(rows):
            warnings.warn(line, ColumnWarning, stacklevel=5)
        self.selected_rows_ = counted[training_set.selected]
        subsets = subsets_to_train(
            chosen["subsets"],
            training_set.data,
            training_set.targets,
            training_set.classes.tolist(),
            int(chosen["subset_size"]),
        )
        return _plan(chosen, training_set, subsets)

    def _train(self, plan: Plan) -> dict[tuple, Training]:
        """Train all networks of a plan; keyed by the labels of their classes."""
        trainings, self.reused_networks_ = train_all(
            plan, names=plan.keys, n_jobs=self.n_jobs, run_dir=self.run_dir, show=bool(self.verbose)
        )
        return dict(zip(plan.keys, trainings, strict=True))

    def _finished(self, plan: Plan) -> dict[tuple, Training] | None:
        """The networks of a plan if ``run_dir`` has them all."""
        trainings = None if self.run_dir is None else finished(plan, self.run_dir)
        return None if trainings is None else dict(zip(plan.keys, trainings, strict=True))

    def _uncalibrated(
        self, chosen: Settings, plan: Plan, trainings: Mapping[tuple, Training], known: Ensemble | None = None
    ) -> Ensemble:
        solver = f"{chosen['solver']} {solvers.get(chosen['solver']).version()}"
        return plan.assembled(
            trainings,
            known=known,
            ties=TIES[chosen["ties"]],
            solver=solver if known is None else known.training.solver,
            settings=recorded({**chosen, "estimator": self.NAME}),
        )

    def _assembled(
        self, chosen: Settings, plan: Plan, trainings: Mapping[tuple, Training], known: Ensemble | None = None
    ) -> Ensemble:
        ensemble = self._uncalibrated(chosen, plan, trainings, known)
        if chosen["probabilities"]:
            with self._progress("fitting probabilities"):
                ensemble = calibrated(plan, ensemble, known)
        told = self.choice_ if known is None else None
        if told is not None and told.expected is not None:
            expected = (told.expected, told.low, told.high)
            ensemble = replace(ensemble, training=replace(ensemble.training, expected=expected))
        return ensemble.with_score_counts() if why_no_card(ensemble) is None else ensemble

    # Reading the fitted ensemble ---------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray:
        """Label of each row of ``X``.

        Examples
        --------
        >>> clf.predict(X[:3])
        array([0, 0, 0])
        """
        return self.vote(X).label

    def vote(self, X: ArrayLike, y: ArrayLike | None = None) -> Votes:
        """Votes, dominant labels and label of each row; with true labels ``y`` also the label status.

        Statuses always follow the paper's rule, regardless of ``ties``.

        Examples
        --------
        >>> votes = clf.vote(X[:2], y[:2])
        >>> votes.counts
        array([[2, 1, 0],
               [2, 1, 0]])
        >>> votes.status
        array(['1C', '1C'], dtype='<U4')
        """
        rows, ensemble = self._rows(X), self.ensemble_
        truth = None
        if y is not None:
            if np.shape(y) != (len(rows),):
                raise ValueError(f"y must have one label per row ({len(rows)}), its shape is {np.shape(y)}")
            truth = ensemble.class_indices(y)
        votes = ensemble.votes(rows, truth)
        return replace(votes, label=ensemble.labels(votes.label))

    def strangeness(self, X: ArrayLike) -> Integers:
        """How unlike the training rows of its class each row is; ``predict`` rejects those above a threshold.

        It is the sum of how far the row is outside the ranges of the class that the networks give it, and the threshold
        is ``ensemble_.known_ranges.threshold``.  ValueError for a model that was trained without ``reject``.

        Examples
        --------
        >>> from bemi import FewBitClassifier
        >>> careful = FewBitClassifier(reject=0.05).fit(X[::5], y[::5])
        >>> careful.predict([[0.1, 9, 9, 0.2]]), careful.strangeness([[0.1, 9, 9, 0.2]]) > careful.strangeness(X[:1])
        (array([-1]), array([ True]))
        """
        rows = self._rows(X)
        return self.ensemble_.strangeness(rows)

    def votes_by_network(self, X: ArrayLike) -> NDArray | pd.DataFrame:
        """The label that each network votes for, shape (rows, networks), networks in the order of ``networks_``.

        A network that abstains gives the label of unclassified rows: ``"unclassified"``, or -1 if classes are numbers.
        Votes on a data frame are a data frame with the same index, whose columns are named by classes, such as ``4/9``.

        Examples
        --------
        >>> clf.votes_by_network(X[:1])[:, :2]
        array([[0, 0]])
        """
        ensemble = self.ensemble_
        votes = ensemble.labels(ensemble.votes_by_network(self._rows(X)))
        if not isinstance(X, pd.DataFrame):
            return votes
        return pd.DataFrame(votes, index=X.index, columns=["/".join(map(str, key)) for key in ensemble.keys])

    def fixed_point_inputs(self, X: ArrayLike) -> Integers:
        """The 32-bit integers that exported C takes for rows of ``X``, shape (rows, features); see docs/export.md.

        Examples
        --------
        >>> clf.fixed_point_inputs(X[:1])
        array([[51, 35, 14,  2]])
        """
        return self.ensemble_.inputs.fixed_point_inputs(self._rows(X))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """How strongly each row leans towards each class; the sign or the largest value gives the predicted label.

        Two classes: shape (rows,); positive values are predicted as ``classes_[1]``, others, zero included, as
        ``classes_[0]``.  Without a hidden layer these are whole numbers, the network's integer scores.  More classes:
        shape (rows, classes); votes, plus terms too small to outweigh a vote.  ``predict`` gives the class of the
        largest value wherever it gives a label.

        Examples
        --------
        >>> clf.decision_function(X[:3]).argmax(axis=1)
        array([0, 0, 0])
        """
        rows = self._rows(X)
        return self.ensemble_.decisions(rows)

    @_with_probabilities
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes, shape (rows, classes).

        They hold for rows with the training rows' shares of the classes, see :meth:`with_prior`.  They are 16-bit
        integers, divided by their sum; the exports give the same integers.  Of two classes the more probable one
        is the predicted label; of more, votes decide the label, which is not always the most probable class.

        Examples
        --------
        >>> clf.predict_proba(X[:3]).argmax(axis=1)
        array([0, 0, 0])
        """
        rows = self._rows(X)
        integers = self.ensemble_.class_probabilities(rows)
        return integers / integers.sum(axis=1, keepdims=True)

    @_with_probabilities
    def with_prior(self, shares: Mapping[Any, float]) -> Self:
        """A copy whose probabilities hold for rows among which the classes have other shares than in training.

        Only ``predict_proba`` and the probabilities of exports change; votes and labels stay.

        Parameters
        ----------
        shares
            Share of every class, by label; positive numbers, which are divided by their sum.

        Examples
        --------
        >>> rare = clf.with_prior({0: 0.1, 1: 0.6, 2: 0.3})
        >>> bool(rare.predict_proba(X[:1])[0, 0] < clf.predict_proba(X[:1])[0, 0])
        True
        """
        check_is_fitted(self)
        return self._with(self.ensemble_.with_prior(shares))

    def scorecard(self) -> Scorecard:
        """The model as points to add up; for networks that see the bits of a table.

        Examples
        --------
        >>> from bemi import ScorecardClassifier
        >>> card = ScorecardClassifier(max_lines=2).fit(X, y == 0).scorecard()
        >>> len(card.cards[0].lines) <= 2
        True
        """
        return Scorecard.of(ensemble_of(self))

    def certified_radius(self, X: ArrayLike, *, exact: bool = False, time_limit: float | None = 60.0) -> Radii:
        """How far the network input of each row may move with the prediction provably unchanged.

        Distances are measured on the integers that the networks see, after scaling and transform.

        Parameters
        ----------
        X
            Features, shape (rows, features).
        exact
            Solve a mixed-integer program per row and norm, instead of deriving a bound from the pre-activations, for
            the distance to the nearest input at which another class has as large a share of votes.  Practical for a few
            rows; each needs a single dominant label, and the networks two classes each.
        time_limit
            Seconds per program.

        Examples
        --------
        >>> radii = clf.certified_radius(X[:2])
        >>> bool((radii.linf <= radii.l1).all())
        True
        """
        rows = self._rows(X)
        solver = getattr(self, "solver", SETTINGS["solver"].default)
        return self.ensemble_.radius(rows, exact=exact, time_limit=time_limit, solver=solver)

    def folded(self, low: ArrayLike = -PRE_ACTIVATION_LIMIT, high: ArrayLike = PRE_ACTIVATION_LIMIT) -> FoldedEnsemble:
        """The ensemble simplified for network inputs between ``low`` and ``high`` (scalars, or one value per input).

        Examples
        --------
        >>> len(clf.folded(-127, 127).networks)
        3
        """
        check_is_fitted(self)
        return self.ensemble_.folded(low, high)

    @classmethod
    def from_ensemble(cls, ensemble: Ensemble) -> Self:
        """A fitted classifier with the parameters that the ensemble was trained with.

        Examples
        --------
        >>> type(clf).from_ensemble(clf.ensemble_).predict(X[:3])
        array([0, 0, 0])
        """
        parameters = cls._parameters_of(ensemble)
        classifier = cls(**parameters)
        solver = parameters.get("solver")
        if solver is not None and solver not in solvers.names():
            # It trained the model somewhere else; prediction does not need it.  A file names no module to import.
            parameters["solver"] = SETTINGS["solver"].default
            name = printable(repr(solver))
            warnings.warn(f"this model was trained with the solver {name}, which is unknown here", stacklevel=3)
        check_together(cls(**parameters)._translated(cls(**parameters)._settings()))
        classifier.n_features_in_ = ensemble.inputs.features
        if ensemble.inputs.names is not None:
            classifier.feature_names_in_ = np.array(ensemble.inputs.names, dtype=object)
        classifier._ensemble = ensemble
        return classifier

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: scikit-learn's diagram, and below it what was trained."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and self.__sklearn_is_fitted__():
            bundle["text/html"] += fitted_html(self.ensemble_)
        return bundle

    def _repr_html_inner(self) -> str:
        """The same for viewers without support for bundles."""
        return self._repr_mimebundle_()["text/html"]

    def __sklearn_tags__(self) -> Any:
        """Rows may hold what the inputs take; inputs that are left to the estimator take tables."""
        tags = super().__sklearn_tags__()
        inputs = TableBits() if is_auto(self.inputs) else self.inputs
        if isinstance(inputs, BaseEstimator):
            tags.input_tags = get_tags(inputs).input_tags
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        inside = self._ensemble.inputs.rows_inside if self.__sklearn_is_fitted__() else 0
        # scikit-learn breaks lines only of estimators without a repr of their own.
        text = super().__repr__(N_CHAR_MAX)
        indent = " " * (text.index("(") + 1)
        text = fill(text, 79, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        return text + (f"  # {inside} training rows inside" if inside else "")

    def __sklearn_is_fitted__(self) -> bool:
        return "_ensemble" in vars(self)

    @property
    def ensemble_(self) -> Ensemble:
        """The fitted model, with the current tie rule where that is a parameter."""
        try:
            ensemble: Ensemble = vars(self)["_ensemble"]
        except KeyError:
            raise AttributeError("this classifier is not fitted yet; call fit first") from None
        return ensemble.with_ties(self.ties) if hasattr(self, "ties") else ensemble

    @ensemble_.setter
    def ensemble_(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    classes_ = _fitted("classes")
    networks_ = _fitted("networks", by_key=True)
    reports_ = _fitted("reports", by_key=True)
    splitting_ = _fitted("splitting", by_key=True)
    input_scaling_ = _fitted("inputs.scaling")
    transform_ = _fitted("inputs.transform")
    training_rows_ = _fitted("training.rows.integers")
    training_targets_ = _fitted("training.rows.targets")
    training_digest_ = _fitted("training.digest")
    given_rows_ = _fitted("training.given_rows")
    added_rows_ = _fitted("training.added_rows", by_key=True)
    solver_ = _fitted("training.solver")
    unclassified_label_ = _fitted("unclassified_label")

    def _rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return rows_to_predict(self, X, Takes.by(self.transform_))

    def _with(self, ensemble: Ensemble) -> Self:
        """A copy with another fitted model."""
        other = copy(self)
        other._ensemble = ensemble
        return other


def check_together(chosen: Settings) -> None:
    """Raise ValueError for settings that are valid alone but not together."""
    share_time(chosen["time_limit"], chosen["stages"])
    check_solver(chosen["solver"], chosen["stages"])


def _plan(chosen: Settings, training_set: TrainingSet, subsets: Integers) -> Plan:
    return Plan(
        training_set=training_set,
        monotone=chosen["monotone"],
        subsets=subsets,
        hidden_layers=tuple(chosen["hidden_layers"]),
        weight_bound=int(chosen["weight_bound"]),
        settings=task_settings(chosen),
    )


def _check_classes(chosen: Settings, classes: NDArray) -> None:
    if len(classes) < 2:
        raise ValueError("training needs at least two classes; the labels have only one class")
    if chosen["subset_size"] > len(classes):
        raise ValueError(f"subset_size is {chosen['subset_size']}, but there are only {len(classes)} classes")
    check_open_label(classes, TIES[chosen["ties"]], rejects=chosen["reject"] is not None)
