"""The scikit-learn classifier: store, validate, train the networks, vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from bemi import solvers
from bemi.certificate import training_digest
from bemi.ensemble.folding import FoldedEnsemble, FoldedNetwork
from bemi.ensemble.radius import NORMS, Radii, ensemble_radius, exact_radius, network_radius
from bemi.ensemble.subsets import chosen_subsets, class_subsets, given_subsets
from bemi.ensemble.voting import Votes, vote
from bemi.inputs.scaling import InputScaling
from bemi.network import first_pre_activations
from bemi.problem.codes import ABSTAIN
from bemi.products import PRE_ACTIVATION_LIMIT, Integers, Rows
from bemi.programs.limits import Limits
from bemi.rows.medoids import select_rows
from bemi.running.journal import Journal
from bemi.running.progress import progress
from bemi.running.schedule import Failure, NetworksFailed, check_shard, kept, run
from bemi.running.workers import ClusterLost
from bemi.training.parameters import check_finite, check_parameters
from bemi.training.pipeline import Training
from bemi.training.plan import Plan, keys_of
from bemi.training.records import compact
from bemi.training.task import Task

UNCLASSIFIED = "unclassified"
"""Label of a row that the paper's rule leaves open, where classes are strings; -1 where they are numbers."""


_FOLDED: WeakKeyDictionary[BeMiClassifier, dict[bool, FoldedEnsemble]] = WeakKeyDictionary()
"""Folded ensembles of fitted classifiers, by whether all inputs are at least 0; not part of the classifiers' state."""


ROWS_AT_A_TIME = 512
"""Rows that are predicted together: few enough that all steps find them in the processor's cache."""


def unclassified_label(classes: NDArray) -> int | str:
    """Label of rows that are left open, for classes of this kind."""
    return UNCLASSIFIED if classes.dtype.kind in "OUS" else ABSTAIN


class BeMiClassifier(ClassifierMixin, BaseEstimator):
    """Ensemble of few-bit neural networks trained by mixed-integer programming.

    One small network is trained for every set of ``subset_size`` classes; a majority vote gives the label.

    Parameters
    ----------
    hidden_layers
        Neurons of each hidden layer; empty for none.
    weight_bound
        Weights are integers in ``{-weight_bound..weight_bound}``.
    stages
        Which programs to solve, in order: ``"sm"`` (most training rows confidently right), ``"mm"`` (largest margins),
        ``"mw"`` (fewest links).  Or, without a hidden layer, ``"ml2"`` (soft margins in the sense of a linear support
        vector machine), alone or followed by ``"mw"``.
    engine
        How a stage is run: ``"decomposition"`` searches neuron by neuron and certifies its bounds, ``"monolithic"``
        hands the whole stage to the solver as one program, as the paper does.
    solver
        ``"highs"``, ``"gurobi"``, ``"scip"`` or, for all stages but ``"ml2"``, ``"cpsat"``.
    time_limit
        Seconds per network: one number, shared out over the stages, or one per stage, or None.  What a stage does not
        use is added to the next.
    node_limit
        Branch-and-bound nodes per stage, or None.  The deterministic twin of the time limit: with it, and no time limit
        reached, the same input gives the same networks.
    gap
        ``"mm"`` and ``"mw"`` stop once they are proven within this relative gap.
    subset_size
        Classes per network (the paper's m).
    ties
        ``"margin"`` always answers; ``"abstain"`` is the paper's rule: a row without a clear winner is labelled -1, or
        ``"unclassified"`` where classes are strings.
    subsets
        Which sets of classes get a network: None for all of ``subset_size`` classes, a list of tuples of labels, or how
        many, chosen such that classes which are hard to tell apart meet.  Classes are then compared by their share of
        votes among their own networks.
    max_per_class
        Rows of each class to train on at most, or None for all.  Of a class with more rows its medoids are taken,
        by the distances of the networks' inputs.
    scenarios
        What else the rows could have looked like, such as :class:`bemi.rows.scenarios.ImageScenarios` for images or
        :class:`bemi.rows.scenarios.NoiseScenarios` for tables; None is nothing.  Training takes up the variants that a
        network violates.
    input_scaling
        How features become integers: ``"auto"`` leaves integer-valued data alone and scales other data per feature,
        ``"per-feature"`` and ``"common"`` always scale, None insists on integers.  Zero always stays zero.
    transform
        What turns the integers of ``input_scaling`` into the inputs of the networks, such as
        :class:`bemi.IntegerHog` for images; None is nothing.
    C
        Price of a missing margin in ``"ml2"``, as in support vector machines.
    mw_loss
        By which share ``"mw"`` may raise the objective that ``"ml2"`` reached.
    n_jobs
        Networks trained at the same time, as in scikit-learn.
    random_state
        Seed of the solver's random choices; None is a fixed seed too.
    verbose
        1 shows a progress bar on standard error.
    total_time_limit
        Seconds for all networks together, or None.  Every network gets an equal part of what is left when it starts,
        and no more than ``time_limit``.
    run_dir
        Folder where every finished network is kept, or None.  A fit that was interrupted, or is repeated, trains only
        what is missing there.

    Attributes
    ----------
    classes_
        The labels.
    networks_
        ``{tuple of classes: Network}``.
    reports_
        ``{tuple of classes: {stage: StageResult}}``.
    splitting_
        ``{tuple of classes: mask}``: first-layer neurons that give both signs on the network's training rows.
    input_scaling_, transform_
        From features to integers, and from these to the inputs of the networks (None where there is no transform).
    selected_rows_
        Indices of the rows of ``X`` that were trained on, where ``max_per_class`` is given; all rows otherwise.
    training_rows_, training_targets_, training_digest_
        The integers and class indices that the networks were trained on, and a digest over them; a classifier that was
        read from a file has only the digest.  The given rows come first, then the variants that some network took up.
    fitted_C_, fitted_mw_loss_
        ``C`` and ``mw_loss`` of the training, whatever the parameters were set to after it.
    solver_
        The solver that the networks were trained with, and its version; None if they come from a file of an older
        format, which does not say.
    reused_networks_
        How many networks were in ``run_dir`` already.
    given_rows_
        How many training rows were given, the others being variants; None without scenarios.
    added_rows_
        ``{tuple of classes: indices}``: which of the training rows a network was trained on beside the given ones of
        its classes; none without scenarios.
    """

    classes_: NDArray
    training_rows_: Integers
    training_targets_: Integers
    input_scaling_: InputScaling

    def __init__(
        self,
        hidden_layers: Sequence[int] = (4, 4),
        weight_bound: int = 1,
        stages: Sequence[str] = ("sm", "mm", "mw"),
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

    @property
    def transform(self) -> Any:
        """The parameter; where there is none, no attribute either.

        scikit-learn takes everything with an attribute of this name for a transformer.
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> BeMiClassifier:
        """Train one network per set of classes.

        Parameters
        ----------
        X
            Features, shape (rows, features).
        y
            Labels: numbers or strings.
        """
        plan = self._prepare(X, y)
        ordered = self._train(plan)
        self.reports_ = {key: dict(t.reports) for key, t in ordered.items()}
        self._record_variants(plan, ordered)
        self.splitting_ = {key: t.network.splitting_neurons(self._rows_of(key)) for key, t in ordered.items()}
        self.networks_ = {key: t.network for key, t in ordered.items()}
        return self

    def fit_shard(self, X: ArrayLike, y: ArrayLike, shard: int, shards: int) -> int:
        """Train one of several equal parts of the networks into ``run_dir``, and say how many were missing there.

        For machines that share a folder and nothing else: when all parts are done, :meth:`fit` finds everything there.
        The classifier itself stays as it is.

        Parameters
        ----------
        X, y
            As in :meth:`fit`, the same for all parts.
        shard, shards
            Which part, from 1, and how many there are.
        """
        if self.run_dir is None:
            raise ValueError("a shard needs run_dir, the folder that all of them share")
        check_shard(shard, shards)
        own = clone(self)
        plan = own._prepare(X, y)
        trainings = own._train(plan.part(range(shard - 1, len(plan), shards)))
        return len(trainings) - own.reused_networks_

    def add_classes(self, X: ArrayLike, y: ArrayLike) -> BeMiClassifier:
        """Learn further classes: only networks that involve them are trained, all others stay as they are.

        Input scaling and transform stay those of the first fit.

        Parameters
        ----------
        X, y
            Rows of the new classes.  A classifier that was read from a file does not have its training rows, so there
            rows of all classes must be given, those that it was trained on.
        """
        check_is_fitted(self)
        check_parameters(vars(self))
        self._check_same_kind()
        if self.subsets is not None or self.scenarios is not None:
            raise ValueError("classes can be added where subsets and scenarios are None; fit again on all rows instead")
        X, y = validate_data(self, X, y, reset=False, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        given, indices = np.unique(y, return_inverse=True)
        has_rows = hasattr(self, "training_rows_")
        self._check_new_classes(given, has_rows)
        seen = self.input_scaling_.widened(self._integers(X))
        data = self._inputs(X)
        if self.max_per_class is not None:
            chosen = select_rows(data, indices, self.max_per_class)
            data, indices = data[chosen], indices[chosen]
        labels = given[indices]
        if has_rows:
            data = np.concatenate([self.training_rows_, data])
            labels = np.concatenate([self.classes_[self.training_targets_], labels])
        classes: NDArray = np.unique(np.concatenate([self.classes_, labels]))
        self._check_classes(classes)
        targets = np.searchsorted(classes, labels)
        every = class_subsets(len(classes), int(self.subset_size))
        keys = keys_of(classes, every)
        plan = self._plan(every, keys, data, targets)
        trained = self._train(plan.part([i for i, key in enumerate(keys) if key not in self.networks_]))
        self.classes_ = classes
        self.input_scaling_ = seen
        self.training_digest_ = training_digest(data.tolist(), targets.tolist())
        if has_rows:
            self.training_rows_, self.training_targets_ = data, targets
        self.selected_rows_ = np.arange(len(data))
        self.added_rows_ = {key: np.empty(0, dtype=np.int64) for key in keys}
        splitting = {
            key: t.network.splitting_neurons(data[np.isin(targets, self._subset(key))]) for key, t in trained.items()
        }
        self.reports_ = {key: dict(trained[key].reports) if key in trained else self.reports_[key] for key in keys}
        self.splitting_ = {key: splitting[key] if key in trained else self.splitting_[key] for key in keys}
        self.networks_ = {key: trained[key].network if key in trained else self.networks_[key] for key in keys}
        return self

    def _trained_with(self) -> dict[str, Any]:
        """The parameters that describe the networks, which may have been set anew since the fit."""
        key, network = next(iter(self.networks_.items()))
        return {
            "hidden_layers": network.layers[1:-1],
            "weight_bound": network.weight_bound,
            "subset_size": len(key),
            "stages": tuple(self.reports_[key]),
            "C": self.fitted_C_,
            "mw_loss": self.fitted_mw_loss_,
        }

    def _check_same_kind(self) -> None:
        """Refuse parameters that would make networks of another kind than those that are there."""
        for name, value in self._trained_with().items():
            present = getattr(self, name)
            if (tuple(present) if isinstance(value, tuple) else present) != value:
                raise ValueError(f"the networks were trained with {name}={value!r}, not {present!r}; fit again instead")

    def _check_new_classes(self, given: NDArray, has_rows: bool) -> None:
        texts = [labels.dtype.kind in "OUS" for labels in (given, self.classes_)]
        if texts[0] != texts[1]:
            raise ValueError(f"new classes must be of the kind of the known ones, which are {self.classes_.dtype}")
        known, labels = set(self.classes_.tolist()), set(given.tolist())
        if not labels - known:
            raise ValueError("y has no class that is new")
        if has_rows and labels & known:
            raise ValueError(f"{sorted(labels & known)[0]!r} is a class already; give rows of new classes alone")
        if not has_rows and known - labels:
            raise ValueError(
                "a model that was read from a file does not have its training rows: give rows of all classes; there "
                f"are none of {sorted(known - labels)[0]!r}"
            )

    def training_tasks(self, X: ArrayLike, y: ArrayLike) -> dict[tuple, Task]:
        """What :meth:`fit` would train on these data, by class subset; nothing is trained and nothing is changed.

        Running the tasks elsewhere, into the journal of ``run_dir``, leaves ``fit`` nothing to train.
        """
        plan = clone(self)._prepare(X, y)
        return dict(zip(plan.keys, plan, strict=True))

    def _train(self, plan: Plan) -> dict[tuple, Training]:
        """All networks of a plan, in its order; they come as they finish."""
        journal = None if self.run_dir is None else Journal(self.run_dir)
        trainings: dict[int, Training] = {}
        failed = []
        self.reused_networks_ = 0
        try:
            with progress(len(plan), show=bool(self.verbose)) as advance:
                for index, training, reused in run(plan, n_jobs=self.n_jobs, journal=journal):
                    if isinstance(training, Failure):
                        failed.append(plan.keys[index])
                        continue
                    trainings[index] = compact(training)
                    self.reused_networks_ += reused
                    advance(training, f"{self.reused_networks_} were there" if self.reused_networks_ else "")
        except ClusterLost as error:
            folder = kept(plan, trainings, journal)
            raise ClusterLost(
                f"{error}; {len(trainings)} of {len(plan)} networks are finished and kept: fitting again with "
                f"run_dir={str(folder)!r} trains only what is missing"
            ) from error
        if failed:
            raise NetworksFailed(failed, kept(plan, trainings, journal))
        return {key: trainings[index] for index, key in enumerate(plan.keys)}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "networks_")

    def _prepare(self, X: ArrayLike, y: ArrayLike) -> Plan:
        """Check everything, settle classes and scaling, and list the networks to train."""
        # An interrupted fit must not leave an older fit's networks with this one's classes.
        if hasattr(self, "networks_"):
            del self.networks_
        check_parameters(vars(self))
        X, y = validate_data(self, X, y, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        self._check_classes(self.classes_)
        # Scaling is settled by the training data alone, so it is part of the model.
        self.input_scaling_ = InputScaling.fit(X, self.input_scaling)
        transform = vars(self)["transform"]
        self.transform_ = None if transform is None else clone(transform).fit(self.input_scaling_(X))
        data = self._inputs(X)
        self.selected_rows_ = np.arange(len(data))
        if self.max_per_class is not None:
            self.selected_rows_ = select_rows(data, targets, self.max_per_class)
            data, targets = data[self.selected_rows_], targets[self.selected_rows_]
        self.training_rows_, self.training_targets_ = data, targets
        self.training_digest_ = training_digest(data.tolist(), targets.tolist())
        self.fitted_C_, self.fitted_mw_loss_ = self.C, self.mw_loss
        subsets = self._class_subsets(data, targets)
        self.solver_: str | None = f"{self.solver} {solvers.get(self.solver).version()}"
        variants: dict[str, Any] = {}
        if self.scenarios is not None:
            variants["variants"], variants["variant_targets"] = self._variants(X)
        return self._plan(subsets, keys_of(self.classes_, subsets), data, targets, **variants)

    def _plan(self, subsets: Integers, keys: list[tuple], data: Integers, targets: Integers, **variants: Any) -> Plan:
        seconds = self.time_limit
        if isinstance(seconds, Sequence | np.ndarray):
            seconds = tuple(float(s) for s in seconds)
        return Plan(
            keys=keys,
            subsets=subsets,
            data=data,
            targets=targets,
            hidden_layers=tuple(self.hidden_layers),
            weight_bound=int(self.weight_bound),
            settings={
                "stages": tuple(self.stages),
                "engine": self.engine,
                "solver": self.solver,
                "time_limit": seconds,
                "limits": Limits(nodes=self.node_limit, gap=float(self.gap), seed=self._seed()),
                "C": float(self.C),
                "mw_loss": float(self.mw_loss),
                "total_time_limit": None if self.total_time_limit is None else float(self.total_time_limit),
            },
            **variants,
        )

    def _variants(self, X: ArrayLike) -> tuple[NDArray[np.integer], Integers]:
        """What scenarios make of the rows to train on, as the networks see it, and its class indices."""
        rows = self.input_scaling_(X)[self.selected_rows_]
        made = np.asarray(clone(self.scenarios).variants(rows))
        if made.ndim != 3 or made.shape[::2] != rows.shape or not np.array_equal(made, np.rint(made)):
            raise ValueError("scenarios must give integers of shape (rows, variants, features)")
        if made.size and not self.input_scaling_.low <= made.min() <= made.max() <= self.input_scaling_.high:
            raise ValueError("scenarios must stay within the range of the data")
        flat = made.reshape(-1, rows.shape[1]).astype(np.int64)
        if self.transform_ is not None and len(flat):
            flat = self.transform_.transform(flat)
        elif self.transform_ is not None:
            flat = self.training_rows_[:0]
        # Every network holds the variants of its classes, so they are kept small.
        extremes = (flat.min(initial=0), flat.max(initial=0))
        kind = np.result_type(*(np.min_scalar_type(v) for v in extremes))
        return flat.astype(kind), np.repeat(self.training_targets_, made.shape[1])

    def _record_variants(self, plan: Plan, trainings: dict[tuple, Training]) -> None:
        """Append the variants that some network took up to the training rows, and note which network took which."""
        given = len(self.training_rows_)
        if plan.variants is None or plan.variant_targets is None:
            self.given_rows_ = None
            self.added_rows_ = {key: np.empty(0, dtype=np.int64) for key in trainings}
            return
        taken = {}
        for key, training in trainings.items():
            own = np.flatnonzero(np.isin(plan.variant_targets, self._subset(key)))
            taken[key] = own[list(training.added)]
        every = np.unique(np.concatenate(list(taken.values())))
        self.given_rows_ = given
        self.added_rows_ = {key: given + np.searchsorted(every, rows) for key, rows in taken.items()}
        self.training_rows_ = np.concatenate([self.training_rows_, plan.variants[every].astype(np.int64)])
        self.training_targets_ = np.concatenate([self.training_targets_, plan.variant_targets[every]])
        self.training_digest_ = training_digest(self.training_rows_.tolist(), self.training_targets_.tolist())

    def _rows_of(self, key: tuple) -> Integers:
        """The rows that a network was trained on."""
        given = self.training_targets_[: len(self.selected_rows_)]
        own = np.flatnonzero(np.isin(given, self._subset(key)))
        return self.training_rows_[np.concatenate([own, self.added_rows_[key]])]

    def predict(self, X: ArrayLike) -> NDArray:
        """Label of each row of ``X``."""
        return self.vote(X).label

    def vote(self, X: ArrayLike, y: ArrayLike | None = None) -> Votes:
        """Votes, dominant labels and label of each row; with true labels ``y`` also the label status.

        Statuses follow the paper's rule whatever ``ties`` says.
        """
        X = self._checked(X)
        return self._outcome(X, self._votes(X), y)

    def certified_radius(self, X: ArrayLike, *, exact: bool = False, time_limit: float | None = 60.0) -> Radii:
        """How far the input of the networks may move, per row, with the prediction provably unchanged.

        Distances are those of the integers that the networks see, after scaling and transform.

        Parameters
        ----------
        X
            Features, shape (rows, features).
        exact
            Solve a mixed-integer program per row and norm instead of taking a bound from the pre-activations: the
            distance to the nearest input at which another class has as large a share of votes.  For a few rows that
            have a single dominant label, and networks of two classes.
        time_limit
            Seconds per program.
        """
        X = self._checked(X)
        votes = self._votes(X)
        outcome = self._outcome(X, votes, None)
        data = self._inputs(X)
        networks = list(self.networks_.values())
        subsets = self._subsets()
        firsts = first_pre_activations(networks, data)
        found = {}
        for norm in NORMS:
            radii = [network_radius(network, first, norm) for network, first in zip(networks, firsts, strict=True)]
            found[norm] = ensemble_radius(
                np.stack(radii, axis=1), votes, subsets, outcome, by_evidence=self.ties == "margin"
            )
        if exact:
            if subsets.shape[1] != 2:
                raise ValueError("exact radii are for networks of two classes (subset_size=2)")
            limits = Limits(seconds=time_limit)
            for row in np.flatnonzero(outcome.dominant.sum(axis=1) == 1):
                label = int(outcome.dominant[row].argmax())
                for norm in NORMS:
                    found[norm][row] = exact_radius(
                        networks,
                        subsets,
                        len(self.classes_),
                        data[row],
                        label,
                        norm,
                        limits=limits,
                        solver=self.solver,
                    )
        return Radii(**found)

    def folded(self, low: ArrayLike = -PRE_ACTIVATION_LIMIT, high: ArrayLike = PRE_ACTIVATION_LIMIT) -> FoldedEnsemble:
        """The ensemble as it is for network inputs between ``low`` and ``high``, for all inputs or one by one.

        For readers of trained ensembles, such as exports; the votes are the same.
        """
        check_is_fitted(self)
        return FoldedEnsemble(
            FoldedNetwork.of(network, self._subset(key), self.splitting_[key], low, high)
            for key, network in self.networks_.items()
        )

    def _checked(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        rows: NDArray = validate_data(self, X, reset=False, ensure_all_finite=False)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        return rows

    def _votes(self, X: NDArray) -> Integers:
        """Vote of every network for every row, shape (rows, networks)."""
        parts = []
        for start in range(0, len(X), ROWS_AT_A_TIME):
            rows = Rows(self._inputs(X[start : start + ROWS_AT_A_TIME]))
            parts.append(self._ensemble(not_negative=rows.low >= 0).votes(rows))
        return np.concatenate(parts)

    def _ensemble(self, *, not_negative: bool) -> FoldedEnsemble:
        known = _FOLDED.setdefault(self, {})
        if not_negative not in known or not known[not_negative].is_of(self.networks_.values()):
            known[not_negative] = self.folded(low=0 if not_negative else -PRE_ACTIVATION_LIMIT)
        return known[not_negative]

    def _outcome(self, X: NDArray, votes: Integers, y: ArrayLike | None) -> Votes:
        def evidence(rows: Integers) -> Integers:
            return self._ensemble(not_negative=False).evidence(Rows(self._inputs(X[rows])))

        outcome = vote(
            votes,
            self._subsets(),
            len(self.classes_),
            evidence=evidence if self.ties == "margin" else None,
            truth=None if y is None else self._class_index(y, len(X)),
        )
        return replace(outcome, label=self._labels(outcome.label))

    @property
    def unclassified_label_(self) -> int | str:
        """What ``predict`` returns for a row that the paper's rule leaves open."""
        return unclassified_label(self.classes_)

    def _check_classes(self, classes: NDArray) -> None:
        if len(classes) < 2:
            raise ValueError("training needs at least two classes; the labels have only one class")
        if self.subset_size > len(classes):
            raise ValueError(f"subset_size is {self.subset_size}, but there are only {len(classes)} classes")
        if self.ties == "abstain" and unclassified_label(classes) in classes.tolist():
            raise ValueError(
                f"{unclassified_label(classes)!r} is a class, but ties='abstain' needs that label for unclassified "
                "rows; rename the class or use ties='margin'"
            )

    def _inputs(self, X: ArrayLike) -> Integers:
        """The integers that the networks see."""
        integers = self._integers(X)
        return integers if self.transform_ is None else self.transform_.transform(integers)

    def _integers(self, X: ArrayLike) -> Integers:
        """Features on their integer grid, as the transform takes them."""
        integers = self.input_scaling_(X)
        if self.transform_ is None or self.input_scaling_.factors is None:
            return integers
        # The largest training value became the largest integer, and others may be a little larger.
        return np.clip(integers, *self.transform_.input_range)

    def _class_subsets(self, data: Integers, targets: Integers) -> Integers:
        """The sets of classes that get a network, as class indices."""
        size = int(self.subset_size)
        if self.subsets is None:
            return class_subsets(len(self.classes_), size)
        if isinstance(self.subsets, (int, np.integer)):
            return chosen_subsets(data, targets, len(self.classes_), size, int(self.subsets))
        return given_subsets(self.subsets, self.classes_.tolist(), size)

    def _seed(self) -> int:
        seed = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        return int(seed) % 2**31

    def _subset(self, key: tuple) -> Integers:
        """Class indices of a network's classes."""
        labels = self.classes_.tolist()
        return np.array([labels.index(label) for label in key], dtype=np.int64)

    def _subsets(self) -> Integers:
        """Class indices of every network's classes, shape (networks, m)."""
        return np.array([self._subset(key) for key in self.networks_])

    def _class_index(self, y: ArrayLike, rows: int) -> Integers:
        y = np.asarray(y)
        if y.shape != (rows,):
            raise ValueError(f"y must have one label per row ({rows}), its shape is {y.shape}")
        index_of = {label: index for index, label in enumerate(self.classes_.tolist())}
        return np.array([index_of.get(label, ABSTAIN) for label in y.tolist()], dtype=np.int64)

    def _labels(self, index: Integers) -> NDArray:
        if (index != ABSTAIN).all():
            return self.classes_[index]
        if self.classes_.dtype.kind in "OUS":
            table = np.append(self.classes_.astype(object), UNCLASSIFIED)
            return table[index].astype(object if self.classes_.dtype.kind == "O" else str)
        signed = np.result_type(self.classes_.dtype, np.int8)
        if signed.kind == "f" and self.classes_.dtype.kind == "u":
            signed = np.dtype(object)  # no integer type holds both -1 and all of these
        return np.append(self.classes_.astype(signed), ABSTAIN)[index]
