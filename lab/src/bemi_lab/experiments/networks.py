"""Cells of an experiment: train every network into the journal, then test every ensemble beside scikit-learn's
classifiers on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bemi import Network
from bemi.report.summary import confusion, evaluation, stage_numbers, training_summary
from bemi.running import schedule
from bemi.running.pools import Lost
from bemi.running.schedule import Journal, progress
from bemi.training.plan import Task
from bemi_lab import classifiers
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Dataset, Sample, sample, split
from bemi_lab.datasets.sampling import paper_positions
from bemi_lab.experiments.noise import noisy_rows
from bemi_lab.experiments.results import OURS
from bemi_lab.experiments.spec import NO_INPUTS, PAPER_IMAGES, Cell, Experiment, Settings
from bemi_lab.experiments.store import Store

BATCH = 64
"""Networks that are planned together: enough to keep every core busy, few enough to hold their rows in memory."""

ALTERNATIVES = ("linear SVM", "RBF SVM", "logistic regression", "1-NN")

REFERENCE = "linear SVM, same inputs"
"""A linear SVM in floating point on the same inputs that the networks see."""

Predict = Callable[[NDArray], NDArray]
"""From rows to labels."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One cell on one sample: an ensemble to train and to test."""

    experiment: Experiment
    settings: Settings
    dataset: Dataset
    cell: Cell
    index: int

    @property
    def key(self) -> str:
        """A name for files, different for every trial of an experiment."""
        return f"{self.cell.name}_sample{self.index}"

    @property
    def networks(self) -> int:
        classes = self.cell.classes or np.unique(self.dataset.train_y)
        return math.comb(len(classes), 2)

    def rows(self) -> Sample:
        """Training and test rows, drawn on demand since all samples would not fit in memory."""
        seed = self.settings.seed
        if self.experiment.split is not None:
            rows, test = self.experiment.split
            return _imputed(split(self.dataset, rows=rows, test=test, index=self.index, seed=seed))
        assert self.cell.per_class is not None
        return sampled(self.experiment, self.settings, self.dataset, self.cell.per_class, self.index, self.cell.classes)

    def tasks(self) -> list[Task]:
        rows = self.rows()
        return list(self.classifier().training_tasks(rows.train_X, rows.train_y).values())

    def classifier(self) -> Classifier:
        cell, settings = self.cell, self.settings
        seconds: float | tuple[float, ...] = settings.time_limit
        if self.experiment.equal_shares:
            seconds = (settings.time_limit / len(cell.stages),) * len(cell.stages)
        return classifiers.networks(
            inputs=cell.transform,
            hidden_layers=cell.hidden_layers,
            weight_bound=cell.weight_bound,
            stages=cell.stages,
            mw_loss=cell.mw_loss,
            **settings.limits | {"time_limit": seconds},
        )

    def under_noise(self, rows: Sample, systems: Mapping[str, Predict]) -> dict[str, dict[str, list[float]]]:
        """Accuracy of every system by kind of noise, at each of the experiment's levels."""
        if not self.experiment.noise:
            return {}
        assert self.dataset.shape is not None
        maximum, key = int(self.dataset.train_X.max()), (self.settings.seed, self.index)
        found: dict[str, dict[str, list[float]]] = {}
        for kind, levels in self.experiment.noise.items():
            found[kind] = {name: [] for name in systems}
            for level in levels:
                noisy = noisy_rows(rows.test_X, self.dataset.shape, kind, level, maximum=maximum, key=key)
                for name, predict in systems.items():
                    found[kind][name].append(float(np.mean(predict(noisy) == rows.test_y)))
        return found


def plan(experiment: Experiment, settings: Settings, dataset: Dataset, samples: int | None) -> list[Trial]:
    """All trials of an experiment; raises ValueError for settings that cannot work."""
    count = experiment.samples if samples is None else samples
    trials = [Trial(experiment, settings, dataset, cell, index) for cell in experiment.cells for index in range(count)]
    if settings.images == PAPER_IMAGES:
        for cell in experiment.cells:
            assert cell.per_class is not None
            paper_positions(cell.per_class, count - 1, experiment.paper.sizes)
    if experiment.noise and dataset.shape is None:
        raise ValueError(f"{experiment.name} is about noise in images, and {dataset.name} has no images")
    trials[0].tasks()
    trials[-1].rows()
    return trials


def run(
    trials: Sequence[Trial], store: Store, *, n_jobs: int | None, show: bool, shard: tuple[int, int] = (1, 1)
) -> int:
    """Train and test the ensembles that have no record yet, and return how many networks they have.

    With a ``shard``, part i of n, train only these networks and test no ensemble.
    """
    journal = Journal(store.folder / "networks")
    todo = [trial for trial in trials if not store.has(trial.key)]
    alternatives = _Alternatives()
    with progress(sum(trial.networks for trial in todo), show=show) as advance:
        for batch in _batches(todo):
            part = [task for trial in batch for task in trial.tasks()][shard[0] - 1 :: shard[1]]
            for index, training, _ in schedule.run(part, n_jobs=n_jobs, journal=journal):
                if isinstance(training, Lost):
                    raise schedule.NetworksFailed([(f"network {index}",)], journal.folder)
                advance(training, batch[0].experiment.name)
            for trial in batch if shard[1] == 1 else []:
                store.write(trial.key, _measure(trial, journal, alternatives))
    return sum(trial.networks for trial in todo)


def _batches(todo: list[Trial]) -> Iterator[list[Trial]]:
    batch: list[Trial] = []
    for trial in todo:
        batch.append(trial)
        if sum(waiting.networks for waiting in batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def sampled(
    experiment: Experiment,
    settings: Settings,
    dataset: Dataset,
    per_class: int,
    index: int,
    classes: tuple[Any, ...] | None = None,
) -> Sample:
    """A sample with the images that the user chose, missing values imputed."""
    sizes = experiment.paper.sizes if settings.images == PAPER_IMAGES else None
    drawn = sample(dataset, per_class, index, settings.seed, classes, rule=settings.images, sizes=sizes)
    return _imputed(drawn)


def _imputed(rows: Sample) -> Sample:
    """Missing values replaced by the column's median over the training rows."""
    if not (np.isnan(rows.train_X).any() or np.isnan(rows.test_X).any()):
        return rows
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(rows.train_X)
    return replace(rows, train_X=imputer.transform(rows.train_X), test_X=imputer.transform(rows.test_X))


def _measure(trial: Trial, journal: Journal, alternatives: _Alternatives) -> dict[str, Any]:
    """Fit from the journal, which already holds every network, and test together with the alternatives."""
    rows = trial.rows()
    classifier = trial.classifier().set_params(run_dir=journal.folder).fit(rows.train_X, rows.train_y)
    ensemble = classifier.ensemble_
    truth = ensemble.class_indices(rows.test_y)
    votes = ensemble.votes(rows.test_X, truth)
    keys = [task.key() for task in trial.tasks()]
    noise = trial.under_noise(rows, {OURS: classifier.predict})
    theirs, their_noise = alternatives.on(trial, rows)
    return {
        "cell": asdict(trial.cell),
        "sample": trial.index,
        "disjoint_samples": rows.disjoint,
        "classes": classifier.classes_.tolist(),
        "train_rows": len(rows.train_X),
        **evaluation(ensemble, rows.test_X, rows.test_y, votes),
        "confusion": confusion(ensemble, votes, truth),
        "training": training_summary(ensemble),
        "weights": _weight_shares(list(classifier.networks_.values())),
        "noise": {kind: ours | their_noise[kind] for kind, ours in noise.items()},
        "radii": _radii(classifier, rows, trial.experiment.radii),
        "networks": [
            {"classes": list(key), "file": file, "stages": {stage: stage_numbers(r) for stage, r in reports.items()}}
            for (key, reports), file in zip(classifier.reports_.items(), keys, strict=True)
        ],
        "alternatives": theirs,
    }


def _radii(classifier: Classifier, rows: Sample, steps: tuple[int, ...]) -> dict[str, dict[str, float]]:
    """By norm, the median certified radius of the test rows, and the share of rows that reach each step."""
    if not steps:
        return {}
    radii = classifier.certified_radius(rows.test_X)
    return {
        norm: {"median": float(np.median(found))} | {str(step): float(np.mean(found >= step)) for step in steps}
        for norm, found in (("linf", radii.linf), ("l1", radii.l1))
    }


def _weight_shares(networks: list[Network]) -> dict[str, float]:
    """Shares of weights at -P, 0, P and between, over all networks and layers."""
    weights = np.concatenate([w.reshape(-1) for n in networks for w in n.weights])
    bound = networks[0].weight_bound
    shares = {"w=-P": np.mean(weights == -bound), "w=0": np.mean(weights == 0), "w=P": np.mean(weights == bound)}
    return {name: float(share) for name, share in shares.items()} | {"others": float(1 - sum(shares.values()))}


class _Alternatives:
    """Accuracies of the alternatives, measured once for all cells that share a sample and a transform."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[dict[str, float], dict[str, dict[str, list[float]]]]] = {}

    def on(self, trial: Trial, rows: Sample) -> tuple[dict[str, float], dict[str, dict[str, list[float]]]]:
        """Accuracy by name, and under noise by kind and name."""
        cell = trial.cell
        key = (cell.transform, cell.classes, cell.per_class, trial.index)
        if key not in self._known:
            systems = fitted(rows.train_X, rows.train_y, images=trial.dataset.shape is not None)
            systems[REFERENCE] = _reference(cell, rows)
            accuracies = {
                name: float(np.mean(predict(rows.test_X) == rows.test_y)) for name, predict in systems.items()
            }
            self._known[key] = accuracies, trial.under_noise(rows, systems)
        return self._known[key]


def _reference(cell: Cell, rows: Sample) -> Predict:
    """The linear SVM on the inputs that the networks of a cell see."""
    inputs = classifiers.inputs_by_name(cell.transform, rows.train_X)
    svm = fitted_reference(inputs(rows.train_X), rows.train_y, transformed=cell.transform != NO_INPUTS)
    return lambda X: svm(inputs(X))


def fitted(train_X: NDArray, train_y: NDArray, *, images: bool) -> dict[str, Predict]:
    """The alternatives by name, trained; SVMs vote one-versus-one, as BeMi does.

    Pixels share one unit and are only scaled to [0, 1]; columns of a table are standardised.
    """
    largest = max(1.0, float(np.abs(train_X).max())) if images else 1.0
    scaler = StandardScaler().fit(train_X)

    def scaled(X: NDArray) -> NDArray:
        return X / largest if images else scaler.transform(X)

    rows = scaled(train_X)
    # Equivalent to gamma="scale"; kernels given as functions are matrix products, many times faster on many rows.
    gamma = 1.0 / (rows.shape[1] * float(rows.var()) or 1.0)
    models: dict[str, ClassifierMixin] = {
        "linear SVM": SVC(kernel=linear_kernel),
        "RBF SVM": SVC(kernel=partial(rbf_kernel, gamma=gamma)),
        "logistic regression": LogisticRegression(max_iter=2000),
        "1-NN": KNeighborsClassifier(1),
    }
    return {name: partial(_predict, models[name].fit(rows, train_y), scaled) for name in ALTERNATIVES}


def _predict(model: ClassifierMixin, scaled: Predict, X: NDArray) -> NDArray:
    return model.predict(scaled(X))


def unit_length(inputs: NDArray) -> NDArray[np.float64]:
    """Rows divided by their length rounded down, as in the soft-margin objective."""
    rows = inputs.astype(np.float64)
    return rows / np.maximum(1.0, np.floor(np.sqrt((rows**2).sum(axis=1))))[:, None]


def fitted_reference(train_inputs: NDArray, train_y: NDArray, *, transformed: bool) -> Predict:
    """``SVC(kernel="linear", C=10)`` with the label of its largest decision value.

    Transformed inputs are divided by their length rounded down, as in the soft-margin objective; raw ones by their
    largest value.
    """
    largest = max(1.0, float(np.abs(train_inputs).max()))

    def scaled(inputs: NDArray) -> NDArray:
        return unit_length(inputs) if transformed else inputs / largest

    svm = SVC(kernel=linear_kernel, C=10.0).fit(scaled(train_inputs), train_y)

    def predict(inputs: NDArray) -> NDArray:
        decision = svm.decision_function(scaled(inputs))
        return svm.predict(scaled(inputs)) if decision.ndim == 1 else svm.classes_[decision.argmax(axis=1)]

    return predict
