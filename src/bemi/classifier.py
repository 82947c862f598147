"""The scikit-learn classifier: stores and validates parameters, runs training, and exposes the fitted ensemble."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bemi import solvers
from bemi.ensemble.ensemble import Ensemble, check_open_label, ensemble_of
from bemi.ensemble.folding import FoldedEnsemble
from bemi.ensemble.radius import Radii
from bemi.ensemble.subsets import class_subsets, subsets_to_train
from bemi.ensemble.ties import TIES
from bemi.ensemble.voting import Votes
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.files import printable
from bemi.inputs.table.cells import as_given
from bemi.inputs.transform import Takes
from bemi.modelfile import saving
from bemi.modelfile.container import ModelFileError
from bemi.report.html import fitted_html
from bemi.report.scorecard import Scorecard
from bemi.running.schedule import check_shard, train_all
from bemi.stages import PAPER_STAGES
from bemi.training.calibration import calibrated
from bemi.training.choosing.choice import Candidate, choose
from bemi.training.parameters import check_parameters, usable_weights, without_effect
from bemi.training.pipeline import Training
from bemi.training.plan import Plan
from bemi.training.row_weights import class_weights, given_weights
from bemi.training.settings import recorded, seed_of, task_settings
from bemi.training.task import Task
from bemi.training.training_set import TrainingSet
from bemi.training.validation import check_new_classes, labels_of, rows_to_predict, training_rows

SAME_FOR_ALL_NETWORKS = (
    *("hidden_layers", "weight_bound", "subset_size", "stages", "C", "mw_loss"),
    *("hinges", "max_links", "monotone", "class_weight", "probabilities"),
)
"""Parameters that must be the same for all networks of an ensemble."""


def _fitted(path: str, *, by_key: bool = False) -> Any:
    """A fitted attribute of the classifier that is part of its ensemble; ``by_key`` if there is one per network.

    The classifier lacks whatever its ensemble lacks, such as the training rows of a model that was read from a file.
    """

    def read(classifier: BeMiClassifier) -> Any:
        ensemble: Ensemble | None = vars(classifier).get("_ensemble")
        found: Any = ensemble
        for name in path.split("."):
            if found is None:
                state = "is not fitted yet" if ensemble is None else "was read from a file, which does not have them"
                raise AttributeError(f"{path.split('.')[-1]} are not there: this classifier {state}")
            found = found[name] if isinstance(found, Mapping) else getattr(found, name)
        return dict(zip(ensemble.keys, found, strict=True)) if by_key and ensemble is not None else found

    return property(read)


def _has_probabilities(classifier: BeMiClassifier) -> bool:
    """Whether a classifier has chances, or will have them once it is fitted."""
    ensemble: Ensemble | None = vars(classifier).get("_ensemble")
    if ensemble is None:
        return bool(classifier.probabilities)
    if ensemble.probabilities is None:
        raise AttributeError("this classifier was trained without probabilities=True")
    return True


class BeMiClassifier(ClassifierMixin, BaseEstimator):
    """Ensemble of few-bit neural networks trained by mixed-integer programming.

    One small network is trained for every set of ``subset_size`` classes; the label is decided by majority vote.

    Parameters
    ----------
    hidden_layers
        Neurons of each hidden layer; empty for none.
    weight_bound
        Weights are integers in ``{-weight_bound..weight_bound}``.
    stages
        Which programs to solve, in order: ``"sm"`` (most training rows confidently right), ``"mm"`` (largest
        margins), ``"mw"`` (fewest links).  Without a hidden layer also ``"soft"`` (soft margins, as in a linear support
        vector machine), alone or followed by ``"mw"``.
    engine
        How a stage is run: ``"decomposition"`` searches neuron by neuron and certifies its bounds, ``"monolithic"``
        hands the whole stage to the solver as one program, as the paper does.
    solver
        ``"highs"``, ``"gurobi"``, ``"scip"`` or, for all stages except ``"soft"``, ``"cpsat"``; the name of an
        entry point in the group ``"bemi.solvers"``, or of a module such as ``"my_package.my_solver"``.
    time_limit
        Seconds per network: one number divided among the stages, one number per stage, or None for no limit.  Time that
        a stage does not use is added to the next stage's.
    node_limit
        Branch-and-bound nodes per stage, or None.  A deterministic alternative to the time limit: if no time limit is
        reached, the same input gives the same networks.
    gap
        ``"mm"`` and ``"mw"`` stop once the relative gap is proved to be at most this.
    subset_size
        Classes per network (the paper's m).
    ties
        ``"margin"`` gives every row a label; ``"abstain"`` is the paper's rule: a row without a clear winner is
        labelled -1, or ``"unclassified"`` if the classes are strings.
    subsets
        Which sets of classes get a network: None for all sets of ``subset_size`` classes, a list of tuples of labels,
        or the number of sets, which are then chosen so that classes that are hard to tell apart share a network.  With
        fewer than all sets, classes are compared by their share of votes among their own networks.
    max_per_class
        Maximum number of training rows per class, or None for all.  A class with more rows is represented by its
        medoids, with distances measured between network inputs.
    scenarios
        Plausible variants of the rows, such as :class:`bemi.augment.scenarios.ImageScenarios` for images,
        :class:`bemi.augment.scenarios.NoiseScenarios` for tables or
        :class:`bemi.augment.signal_scenarios.SignalScenarios` for windows of a signal, or None.  Training adds the
        variants that a network violates.
    input_scaling
        How features become integers: ``"auto"`` leaves integer-valued data alone and scales other data per feature,
        ``"per-feature"`` and ``"common"`` always scale, None requires integers.  Zero always stays zero.
    transform
        Turns the integers of ``input_scaling`` into the inputs of the networks, such as :class:`bemi.IntegerHog` for
        images, or None.  With :class:`bemi.SignalCounts`, ``X`` may be windows of a signal, shape (windows, time,
        channels).
    C
        Penalty on margin violations in ``"soft"``, as in support vector machines.
    mw_loss
        Fraction by which ``"mw"`` may raise the objective that ``"soft"`` reached.
    hinges
        Hinges per row in ``"soft"``: 1 as in support vector machines, or 2, which come closer to the logistic loss.
    max_links
        Maximum links of each output in ``"soft"``, not counting that of a constant input; None for no limit.
    monotone
        Features that may only push the decision one way, in ``"soft"``: ``{name or position: 1}`` if larger values
        favour later classes, -1 if they favour earlier ones.
    class_weight
        Weights of the classes in ``"soft"``, which multiply those of their rows: None, ``"balanced"`` for equal totals,
        or ``{label: weight}``, 1 for a label that is left out.
    candidates
        Settings to choose from when the classifier is fitted, by cross-validation on the training rows, see
        :class:`bemi.training.choosing.choice.Candidate`; None to use the parameters as they are.
    n_jobs
        Number of networks trained at the same time, as in scikit-learn.
    random_state
        Seed for the solver's random choices; None also means a fixed seed.
    verbose
        1 shows a progress bar on standard error.
    probabilities
        Whether to fit chances of the classes, for :meth:`predict_proba` and the exports.  Needs ``stages`` that begin
        with ``"soft"``.
    total_time_limit
        Seconds for all networks together, or None.  Each network gets an equal part of the time left when it starts,
        and no more than ``time_limit``.
    run_dir
        Folder that stores every finished network, or None.  A fit that was interrupted, or is repeated, trains only
        the networks missing from it.

    Attributes
    ----------
    ensemble_
        The fitted model, a :class:`bemi.ensemble.ensemble.Ensemble`; all other attributes except the last two are read
        from it.
    classes_
        The labels.
    networks_
        ``{tuple of classes: Network}``.
    reports_
        ``{tuple of classes: {stage: StageResult}}``.
    splitting_
        ``{tuple of classes: mask}``: first-layer neurons that give both signs on the network's training rows.
    input_scaling_, transform_
        Map features to integers, and these to the inputs of the networks (None without a transform).
    training_rows_, training_targets_, training_digest_
        The integers and class indices that the networks were trained on, and a digest of them.  The given rows come
        first, then the variants that some network was trained on.  A classifier read from a file has only the digest.
    given_rows_
        Number of training rows that were given; the others are variants.  None without scenarios.
    added_rows_
        ``{tuple of classes: indices}``: the training rows that a network was trained on in addition to the given rows
        of its classes; empty without scenarios.
    fitted_C_, fitted_mw_loss_
        ``C`` and ``mw_loss`` used in training, even if the parameters were changed afterwards.
    solver_
        The solver that trained the networks, and its version.
    unclassified_label_
        What ``predict`` returns for a row that the paper's rule leaves unclassified.
    choice_
        Which of the ``candidates`` was chosen, and what accuracy to expect: a
        :class:`bemi.training.choosing.choice.Choice`, or None without candidates.
    selected_rows_
        Indices of the rows of ``X`` used for training; all rows unless ``max_per_class`` is given.
    reused_networks_
        Number of networks that were already in ``run_dir``.
    """

    def __init__(
        self,
        hidden_layers: Sequence[int] = (4, 4),
        weight_bound: int = 1,
        stages: Sequence[str] = PAPER_STAGES,
        engine: str = "decomposition",
        solver: str = "highs",
        time_limit: float | Sequence[float] | None = 10.0,
        node_limit: int | None = None,
        gap: float = 0.01,
        subset_size: int = 2,
        ties: str = "margin",
        input_scaling: str | None = "auto",
        transform: Any = None,
        C: float = 10.0,
        mw_loss: float = 0.01,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        run_dir: str | Path | None = None,
        subsets: int | Sequence[Sequence] | None = None,
        max_per_class: int | None = None,
        scenarios: Any = None,
        total_time_limit: float | None = None,
        hinges: int = 1,
        max_links: int | None = None,
        monotone: Mapping[Any, int] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        candidates: Sequence[Candidate] | None = None,
        probabilities: bool = False,
    ) -> None:
        self.hidden_layers = hidden_layers
        self.weight_bound = weight_bound
        self.stages = stages
        self.engine = engine
        self.solver = solver
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.gap = gap
        self.subset_size = subset_size
        self.ties = ties
        self.input_scaling = input_scaling
        self.transform = transform
        self.C = C
        self.mw_loss = mw_loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.run_dir = run_dir
        self.subsets = subsets
        self.max_per_class = max_per_class
        self.scenarios = scenarios
        self.total_time_limit = total_time_limit
        self.hinges = hinges
        self.max_links = max_links
        self.monotone = monotone
        self.class_weight = class_weight
        self.candidates = candidates
        self.probabilities = probabilities

    @property
    def transform(self) -> Any:
        """The parameter; the attribute does not exist if it is None.

        scikit-learn treats any object with an attribute of this name as a transformer.
        """
        if vars(self)["transform"] is None:
            raise AttributeError("this classifier has no transform")
        return vars(self)["transform"]

    @transform.setter
    def transform(self, value: Any) -> None:
        self.__dict__["transform"] = value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also ``transform__name`` and ``scenarios__name``."""
        params = {name: vars(self)[name] for name in self._get_param_names()}
        for part in ("transform", "scenarios"):
            if deep and hasattr(params[part], "get_params"):
                params |= {f"{part}__{name}": value for name, value in params[part].get_params().items()}
        return params

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> BeMiClassifier:
        """Train one network per set of classes.

        Parameters
        ----------
        X
            Features, shape (rows, features).
        y
            Labels: numbers or strings.
        sample_weight
            How much each row counts in the objective of ``"soft"``: with a weight of 2 as much as the row twice.  Rows
            of weight 0 are left out.  None if all rows count the same; other stages accept only that.
        groups
            What each row comes from, such as the recording of a window; the choice among ``candidates``, its estimate
            and the fit of probabilities then never divide a group.  None if every row stands for itself.
        """
        # An interrupted fit must not leave an older fit's networks behind.
        self.__dict__.pop("_ensemble", None)
        own = self._with_choice(X, y, sample_weight, groups)
        plan = own._planned(X, y, sample_weight, groups)
        own._ensemble = own._assembled(plan, own._train(plan))
        return self._adopt(own)

    def _adopt(self, other: BeMiClassifier) -> BeMiClassifier:
        """Take over what another classifier learned, but not its parameters."""
        learned = {name: value for name, value in vars(other).items() if name.endswith("_") or name == "_ensemble"}
        self.__dict__.update(learned)
        return self

    def _with_choice(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> BeMiClassifier:
        """This classifier, or a copy with the settings of the best of its ``candidates``."""
        self.choice_ = None
        if self.candidates is None:
            return self
        for candidate in self.candidates:
            check_parameters(vars(self._copy(candidate)))
        rows = as_given(X)
        labels = labels_of(y, rows)
        self._check_classes(np.unique(labels))
        weights = given_weights(sample_weight, len(labels))
        classes, targets = np.unique(labels, return_inverse=True)
        self.choice_ = choose(
            self.candidates,
            rows,
            labels,
            defaults=vars(self),
            weights=weights * class_weights(self.class_weight, classes, targets, weights)[targets],
            seed=seed_of(self.random_state),
            groups=groups,
        )
        return self._copy(self.choice_.candidate)

    def _copy(self, candidate: Candidate) -> BeMiClassifier:
        """A copy with the settings of a candidate, and with what this classifier has learned."""
        return clone(self).set_params(candidates=None, **candidate.settings)._adopt(self)

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
        X, y
            As in :meth:`fit`, the same for all parts.
        shard, shards
            Which part, counted from 1, and the number of parts.
        sample_weight, groups
            As in :meth:`fit`.
        """
        if self.run_dir is None:
            raise ValueError("a shard needs run_dir, the folder that all shards write to")
        check_shard(shard, shards)
        own = clone(self)._with_choice(X, y, sample_weight, groups)
        plan = own._planned(X, y, sample_weight, groups).shard(shard, shards)
        return len(own._train(plan)) - own.reused_networks_

    def add_classes(self, X: ArrayLike, y: ArrayLike) -> BeMiClassifier:
        """Learn new classes: only networks that involve them are trained; all others stay unchanged.

        The input scaling and transform of the first fit are reused.  The classifier gets its new model in one step once
        all networks are trained: other threads may predict and save meanwhile, and each call sees the model before or
        the one after.  Two threads must not add classes, or fit, at the same time.

        Parameters
        ----------
        X, y
            Rows of the new classes.  A classifier read from a file does not have its training rows, so it needs these
            as well: rows of all classes.
        """
        check_is_fitted(self)
        if self.choice_ is not None:
            return self._adopt(self._copy(self.choice_.candidate)._add_classes(X, y))
        return self._add_classes(X, y)

    def _add_classes(self, X: ArrayLike, y: ArrayLike) -> BeMiClassifier:
        check_parameters(vars(self))
        ensemble = self.ensemble_
        self._check_same_kind(ensemble.training.settings)
        if self.subsets is not None or self.scenarios is not None:
            raise ValueError("classes can be added only if subsets and scenarios are None; fit again on all rows")
        known_rows = ensemble.training.rows
        if self.class_weight is not None or (known_rows is not None and known_rows.weights is not None):
            raise ValueError(
                "classes cannot be added to networks that were trained with weights; fit again on all rows"
            )
        rows, y = self._checked_rows(X, y, reset=False)
        has_rows = ensemble.training.rows is not None
        check_new_classes(ensemble.classes, y, has_rows)
        training_set = _known_rows(ensemble).extended(rows, y, max_per_class=self.max_per_class)
        self._check_classes(training_set.classes)
        plan = self._plan(training_set, class_subsets(len(training_set.classes), int(self.subset_size)))
        known = set(ensemble.keys)
        trained = self._train(plan.part(i for i, key in enumerate(plan.keys) if key not in known))
        extended = self._assembled(plan, trained, known=ensemble)
        self.selected_rows_ = training_set.selected
        if not has_rows:
            # The proofs of networks read from a file are missing, so no certificate can be written.
            extended = replace(extended, training=replace(extended.training, rows=None))
        self._ensemble = extended
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Label of each row of ``X``."""
        return self.vote(X).label

    def vote(self, X: ArrayLike, y: ArrayLike | None = None) -> Votes:
        """Votes, dominant labels and label of each row; with true labels ``y`` also the label status.

        Statuses always follow the paper's rule, regardless of ``ties``.
        """
        rows, ensemble = self._rows(X), self.ensemble_
        truth = None
        if y is not None:
            if np.shape(y) != (len(rows),):
                raise ValueError(f"y must have one label per row ({len(rows)}), its shape is {np.shape(y)}")
            truth = ensemble.class_indices(y)
        votes = ensemble.votes(rows, truth)
        return replace(votes, label=ensemble.labels(votes.label))

    def votes_by_network(self, X: ArrayLike) -> NDArray | pd.DataFrame:
        """The label that each network votes for, shape (rows, networks), networks in the order of ``networks_``.

        A network that abstains gives the label of unclassified rows: ``"unclassified"``, or -1 if classes are numbers.
        Votes on a data frame are a data frame with the same index, whose columns are named by classes, such as ``4/9``.
        """
        ensemble = self.ensemble_
        votes = ensemble.labels(ensemble.votes_by_network(self._rows(X)))
        if not isinstance(X, pd.DataFrame):
            return votes
        return pd.DataFrame(votes, index=X.index, columns=["/".join(map(str, key)) for key in ensemble.keys])

    def fixed_point_inputs(self, X: ArrayLike) -> Integers:
        """The 32-bit integers that exported C takes for rows of ``X``, shape (rows, features); see docs/export.md."""
        return self.ensemble_.inputs.fixed_point_inputs(self._rows(X))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """How strongly each row leans towards the classes; the sign or the largest value gives the predicted label.

        Two classes: shape (rows,); positive values are predicted as ``classes_[1]``, others, zero included, as
        ``classes_[0]``.  Without a hidden layer these are whole numbers, the network's integer scores.  More classes:
        shape (rows, classes); votes, plus terms too small to outweigh a vote.  ``predict`` gives the class of the
        largest value wherever it gives a label.
        """
        rows = self._rows(X)
        return self.ensemble_.decisions(rows)

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Chances of the classes, shape (rows, classes); only with ``probabilities=True``.

        They hold for rows with the training rows' shares of the classes, see :meth:`with_prior`.  They are 16-bit
        integers, divided by their sum; the exports give the same integers.  The largest chance is not always that of
        the predicted label, which the signs of the scores decide.
        """
        rows = self._rows(X)
        chances = self.ensemble_.chances(rows)
        return chances / chances.sum(axis=1, keepdims=True)

    @available_if(_has_probabilities)
    def with_prior(self, shares: Mapping[Any, float]) -> BeMiClassifier:
        """A copy whose chances hold for rows among which the classes have other shares than in training.

        Only ``predict_proba`` and the chances of exports change; votes and labels stay.

        Parameters
        ----------
        shares
            Share of every class, by label; positive numbers, which are divided by their sum.
        """
        check_is_fitted(self)
        other = copy(self)
        other.ensemble_ = self.ensemble_.with_prior(shares)
        return other

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
        """
        rows = self._rows(X)
        return self.ensemble_.radius(rows, exact=exact, time_limit=time_limit, solver=self.solver)

    def scorecard(self) -> Scorecard:
        """The model as points to add up; for networks without a hidden layer that see the bits of a table."""
        return Scorecard.of(ensemble_of(self))

    def folded(self, low: ArrayLike = -PRE_ACTIVATION_LIMIT, high: ArrayLike = PRE_ACTIVATION_LIMIT) -> FoldedEnsemble:
        """The ensemble simplified for network inputs between ``low`` and ``high`` (scalars, or one value per input)."""
        check_is_fitted(self)
        return self.ensemble_.folded(low, high)

    def training_tasks(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> dict[tuple, Task]:
        """What :meth:`fit` would train on these data, by class subset; nothing is trained or changed.

        If the tasks run elsewhere and write to the journal of ``run_dir``, ``fit`` has nothing left to train.
        """
        plan = clone(self)._with_choice(X, y, sample_weight, groups)._planned(X, y, sample_weight, groups)
        return {key: plan[index] for index, key in enumerate(plan.keys)}

    @classmethod
    def from_ensemble(cls, ensemble: Ensemble) -> BeMiClassifier:
        """A fitted classifier with the parameters that the ensemble was trained with."""
        transform = ensemble.inputs.transform
        classifier = cls(
            **ensemble.training.settings,
            transform=None if transform is None else clone(transform),
            ties=ensemble.ties.name,
        )
        if classifier.solver in solvers.names():
            check_parameters(vars(classifier))
        else:
            # It trained the model somewhere else; to predict, nobody needs it.  A file names no module to import.
            check_parameters(vars(classifier) | {"solver": "highs"})
            name = printable(repr(classifier.solver))
            warnings.warn(f"this model was trained with the solver {name}, which is not known here", stacklevel=3)
        classifier.n_features_in_ = ensemble.inputs.features
        if ensemble.inputs.names is not None:
            classifier.feature_names_in_ = np.array(ensemble.inputs.names, dtype=object)
        classifier._ensemble, classifier.choice_ = ensemble, None
        return classifier

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: scikit-learn's diagram, and below it what was trained."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and self.__sklearn_is_fitted__():
            bundle["text/html"] += fitted_html(self.ensemble_)
        return bundle

    def _repr_html_inner(self) -> str:
        """The same for viewers that do not know bundles."""
        return self._repr_mimebundle_()["text/html"]

    def __sklearn_is_fitted__(self) -> bool:
        return "_ensemble" in vars(self)

    @property
    def ensemble_(self) -> Ensemble:
        """The fitted model, with the current tie rule ``ties``."""
        try:
            return vars(self)["_ensemble"].with_ties(self.ties)
        except KeyError:
            raise AttributeError("this classifier is not fitted yet") from None

    @ensemble_.setter
    def ensemble_(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    classes_ = _fitted("classes")
    networks_ = _fitted("networks", by_key=True)
    reports_ = _fitted("reports", by_key=True)
    splitting_ = _fitted("splitting", by_key=True)
    input_scaling_ = _fitted("inputs.scaling")
    transform_ = _fitted("inputs.transform")
    training_rows_ = _fitted("training.rows.rows")
    training_targets_ = _fitted("training.rows.targets")
    training_digest_ = _fitted("training.digest")
    given_rows_ = _fitted("training.given_rows")
    added_rows_ = _fitted("training.added_rows", by_key=True)
    fitted_C_ = _fitted("training.settings.C")
    fitted_mw_loss_ = _fitted("training.settings.mw_loss")
    solver_ = _fitted("training.solver")
    unclassified_label_ = _fitted("unclassified_label")

    def _planned(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None) -> Plan:
        """Check everything, make the training set, and list the networks to train."""
        check_parameters(vars(self))
        self._warn_without_effect()
        rows, y = self._checked_rows(X, y, reset=True)
        weights = given_weights(sample_weight, len(y))
        if sample_weight is not None and self.max_per_class is not None:
            raise ValueError("max_per_class chooses rows without regard to sample_weight; leave out one of them")
        # Rows without weight have no influence on anything, the scaling included.
        counted = np.flatnonzero(weights)
        if len(counted) < len(weights):
            rows, y, weights = _safe_indexing(rows, counted), y[counted], weights[counted]
            groups = None if groups is None else np.asarray(groups)[counted]
        self._check_classes(np.unique(y))
        training_set = TrainingSet.of(
            rows,
            y,
            input_scaling=self.input_scaling,
            transform=vars(self)["transform"],
            names=getattr(self, "feature_names_in_", None),
            max_per_class=self.max_per_class,
            scenarios=self.scenarios,
            weights=usable_weights(weights, self.stages),
            class_weight=self.class_weight,
            groups=groups,
        )
        self.selected_rows_ = counted[training_set.selected]
        subsets = subsets_to_train(
            self.subsets, training_set.data, training_set.targets, training_set.classes.tolist(), int(self.subset_size)
        )
        return self._plan(training_set, subsets)

    def _plan(self, training_set: TrainingSet, subsets: Integers) -> Plan:
        return Plan(
            training_set=training_set,
            monotone=self.monotone,
            subsets=subsets,
            hidden_layers=tuple(self.hidden_layers),
            weight_bound=int(self.weight_bound),
            settings=task_settings(vars(self)),
        )

    def _train(self, plan: Plan) -> dict[tuple, Training]:
        """Train all networks of a plan; keyed by the labels of their classes."""
        trainings, self.reused_networks_ = train_all(
            plan, names=plan.keys, n_jobs=self.n_jobs, run_dir=self.run_dir, show=bool(self.verbose)
        )
        return dict(zip(plan.keys, trainings, strict=True))

    def _assembled(self, plan: Plan, trainings: Mapping[tuple, Training], known: Ensemble | None = None) -> Ensemble:
        solver = f"{self.solver} {solvers.get(self.solver).version()}" if known is None else known.training.solver
        made = plan.assembled(
            trainings, known=known, ties=TIES[self.ties], solver=solver, settings=recorded(vars(self))
        )
        return calibrated(plan, made, known) if self.probabilities else made

    def _warn_without_effect(self) -> None:
        """Warn of parameters that the stages do not read, so that a search does not name a best value of one."""
        defaults = {name: p.default for name, p in signature(type(self)).parameters.items()}
        for name in without_effect(vars(self), defaults):
            text = f"{name}={getattr(self, name)!r} has no effect with stages={tuple(self.stages)!r}"
            warnings.warn(text, UserWarning, stacklevel=4)

    def _check_same_kind(self, known: Mapping[str, Any]) -> None:
        """Raise unless the parameters match those of the existing networks."""
        present = recorded(vars(self))
        for name in SAME_FOR_ALL_NETWORKS:
            if present[name] != known[name]:
                raise ValueError(
                    f"the networks were trained with {name}={known[name]!r}, not {present[name]!r}; fit again instead"
                )

    def _checked_rows(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> tuple[Any, NDArray]:
        return training_rows(self, X, y, Takes.by(vars(self)["transform"]), reset=reset)

    def _rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return rows_to_predict(self, X, Takes.by(self.transform_))

    def _check_classes(self, classes: NDArray) -> None:
        if len(classes) < 2:
            raise ValueError("training needs at least two classes; the labels have only one class")
        if self.subset_size > len(classes):
            raise ValueError(f"subset_size is {self.subset_size}, but there are only {len(classes)} classes")
        check_open_label(classes, TIES[self.ties])


def _known_rows(ensemble: Ensemble) -> TrainingSet:
    """The rows that an ensemble was trained on; empty if it was read from a file."""
    rows = ensemble.training.rows
    if rows is None:
        nothing = np.empty((0, ensemble.inputs.size), dtype=np.int64)
        return TrainingSet(ensemble.classes, ensemble.inputs, nothing, np.arange(0), np.arange(0))
    return TrainingSet(ensemble.classes, ensemble.inputs, rows.rows, rows.targets, np.arange(len(rows.targets)))


def save(classifier: BeMiClassifier, path: str | os.PathLike) -> None:
    """Write a fitted classifier to a file atomically.

    The file holds no times: the same networks give the same bytes.  A certificate is written next to it, which
    :func:`bemi.verify` uses to check everything the model claims.  A classifier read from a file has no certificate.
    """
    saving.write(ensemble_of(classifier), path)


def load(path: str | os.PathLike) -> BeMiClassifier:
    """Read a fitted classifier from a file written by :func:`save`.

    Raises :class:`bemi.modelfile.container.ModelFileError`, with the reason, for any other file.
    """
    ensemble = saving.read(path)
    try:
        return BeMiClassifier.from_ensemble(ensemble)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error
