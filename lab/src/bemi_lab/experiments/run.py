"""Run an experiment: train every network into the journal, then test every ensemble.

A run folder holds ``run.json`` (what was asked for, on which machine, how long it took), ``networks/`` (one file per
trained network), ``results/`` (one file per ensemble) and ``systems/`` (one file per other system and sample).
Finished work is never repeated.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from bemi.classifier import BeMiClassifier
from sklearn.impute import SimpleImputer

from bemi import solvers
from bemi.inputs import registry
from bemi.inputs.inputs import Inputs
from bemi.network import Network
from bemi.report.summary import confusion, evaluation, stage_numbers, training_summary
from bemi.running import schedule
from bemi.running.journal import Journal
from bemi.running.pools import Lost
from bemi.running.schedule import progress
from bemi.training.task import Task
from bemi_lab.baselines.alternatives import REFERENCE, Predict, fitted, fitted_reference
from bemi_lab.baselines.hybrids import CP
from bemi_lab.datasets import Dataset, Sample, sample, split
from bemi_lab.datasets import load as load_dataset
from bemi_lab.datasets.paper_images import positions
from bemi_lab.experiments.folder import machine, open_run, write_json
from bemi_lab.experiments.noise import noisy_rows
from bemi_lab.experiments.results import OURS
from bemi_lab.experiments.spec import PAPER_IMAGES, Cell, Experiment, Settings, check_images
from bemi_lab.experiments.systems import ENTRIES, Contest, contests
from bemi_lab.experiments.systems import run as run_contests

BATCH = 64
"""Networks that are planned together: enough to keep every core busy, few enough to hold their rows in memory."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One cell on one sample: an ensemble to train and to test."""

    experiment: Experiment
    settings: Settings
    dataset: Dataset
    cell: Cell
    index: int

    @property
    def name(self) -> str:
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
        return _sampled(
            self.experiment, self.settings, self.dataset, self.cell.per_class, self.index, self.cell.classes
        )

    def tasks(self) -> list[Task]:
        rows = self.rows()
        return list(self.classifier().training_tasks(rows.train_X, rows.train_y).values())

    def classifier(self) -> BeMiClassifier:
        cell, settings = self.cell, self.settings
        seconds: float | tuple[float, ...] = settings.time_limit
        if self.experiment.equal_shares:
            seconds = (settings.time_limit / len(cell.stages),) * len(cell.stages)
        classifier = BeMiClassifier(
            hidden_layers=cell.hidden_layers,
            weight_bound=cell.weight_bound,
            stages=cell.stages,
            engine=settings.engine,
            solver=settings.solver,
            time_limit=seconds,
            node_limit=settings.node_limit,
            gap=settings.gap,
            transform=registry.make(cell.transform),
        )
        return classifier if cell.mw_loss is None else classifier.set_params(mw_loss=cell.mw_loss)

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


def remarks(experiment: Experiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    if experiment.systems is None or CP in solvers.installed():
        return []
    return ["systems that need CP-SAT are left out; install it with: pip install 'bemi[cpsat]'"]


def reproduce(
    experiment: Experiment,
    settings: Settings,
    folder: Path,
    *,
    samples: int | None = None,
    n_jobs: int | None = None,
    show: bool = False,
    shard: tuple[int, int] = (1, 1),
) -> dict[str, Any]:
    """Run the unfinished parts of an experiment and return the content of ``run.json``.

    With a ``shard``, part i of n, train only these networks and test no ensemble.
    """
    schedule.check_shard(*shard)
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    dataset = load_dataset(settings.dataset)
    trials = [
        Trial(experiment, settings, dataset, cell, index)
        for cell in experiment.cells
        for index in range(experiment.samples if samples is None else samples)
    ]
    # Invalid settings must fail before anything is written.
    _check_images(experiment, settings, samples)
    if experiment.noise and dataset.shape is None:
        raise ValueError(f"{experiment.name} is about noise in images, and {dataset.name} has no images")
    trials[0].tasks()
    trials[-1].rows()
    if experiment.systems is not None and settings.system_seconds is None:
        settings = replace(settings, system_seconds=experiment.systems.seconds)
    run = open_run(folder, experiment.name, settings)
    journal = Journal(folder / "networks")
    (folder / "results").mkdir(exist_ok=True)
    todo = [trial for trial in trials if not _result_path(folder, trial).exists()]
    alternatives = _Alternatives()
    with progress(sum(trial.networks for trial in todo), show=show) as advance:
        for batch in _batches(todo):
            tasks = [task for trial in batch for task in trial.tasks()]
            part = tasks[shard[0] - 1 :: shard[1]]
            for index, training, _ in schedule.run(part, n_jobs=n_jobs, journal=journal):
                if isinstance(training, Lost):
                    raise schedule.NetworksFailed([(f"network {index}",)], journal.folder)
                advance(training, experiment.name)
            for trial in batch if shard[1] == 1 else []:
                write_json(_result_path(folder, trial), _measure(trial, journal, alternatives))
    if experiment.systems is not None and shard[1] == 1:
        _run_systems(experiment, settings, dataset, folder, samples=samples, n_jobs=n_jobs, show=show)
    visit = {
        "started": started,
        "seconds": round(time.perf_counter() - began, 1),
        "networks": sum(trial.networks for trial in todo),
        "jobs": n_jobs,
    }
    run["visits"].append(visit | machine(settings.solver))
    write_json(folder / "run.json", run)
    return run


def _check_images(experiment: Experiment, settings: Settings, samples: int | None) -> None:
    """Raise ValueError if the paper's images are asked for, and the paper has no such samples."""
    check_images(experiment.name, experiment.paper_sizes, settings.images)
    if settings.images != PAPER_IMAGES:
        return
    last = (experiment.samples if samples is None else samples) - 1
    for cell in experiment.cells:
        assert cell.per_class is not None
        positions(cell.per_class, last, experiment.paper_sizes)


def _sampled(
    experiment: Experiment,
    settings: Settings,
    dataset: Dataset,
    per_class: int,
    index: int,
    classes: tuple[Any, ...] | None = None,
) -> Sample:
    """A sample with the images that the user chose, missing values imputed."""
    sizes = experiment.paper_sizes if settings.images == PAPER_IMAGES else None
    drawn = sample(dataset, per_class, index, settings.seed, classes, rule=settings.images, sizes=sizes)
    return _imputed(drawn)


def _run_systems(
    experiment: Experiment,
    settings: Settings,
    dataset: Dataset,
    folder: Path,
    *,
    samples: int | None,
    n_jobs: int | None,
    show: bool,
) -> None:
    """Train and measure the other systems on every sample that has no result yet, small samples first.

    A system that found no network on any sample of one size is not run on larger ones, whose programs are larger.
    """
    systems = experiment.systems
    assert systems is not None
    assert settings.system_seconds is not None
    every = contests(
        systems.names,
        sorted(systems.per_class),
        systems.samples if samples is None else samples,
        seconds=settings.system_seconds,
        solver=settings.solver,
        seed=settings.seed,
    )
    (folder / "systems").mkdir(exist_ok=True)
    paths = {contest.name: folder / "systems" / f"{contest.name}.json" for contest in every}
    missing = [contest for contest in every if not paths[contest.name].exists()]
    todo = [contest for contest in missing if contest.can_run]
    hopeless: set[str] = set()
    with progress(len(todo), show=show, what="systems") as advance:
        for size, of_size in groupby(every, lambda contest: contest.per_class):
            here = [contest for contest in of_size if contest.system not in hopeless]
            wanted = [contest for contest in here if contest in todo]
            rows = {
                (size, index): _sampled(experiment, settings, dataset, size, index)
                for index in {contest.index for contest in wanted}
            }
            for contest, record in run_contests(wanted, rows, n_jobs):
                write_json(paths[contest.name], record)
                advance(None, f"{ENTRIES[contest.system].title}, {size} per class")
            hopeless |= _without_network(here, paths)


def _without_network(here: list[Contest], paths: Mapping[str, Path]) -> set[str]:
    """Systems that were run on all of their samples here and found a network on none."""
    found: dict[str, list[bool]] = {}
    for contest in here:
        path = paths[contest.name]
        failed = path.exists() and "failure" in json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(contest.system, []).append(failed)
    return {system for system, failed in found.items() if all(failed)}


def _batches(todo: list[Trial]) -> Iterator[list[Trial]]:
    batch: list[Trial] = []
    for trial in todo:
        batch.append(trial)
        if sum(waiting.networks for waiting in batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


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
        "experiment": trial.experiment.name,
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


def _radii(classifier: BeMiClassifier, rows: Sample, steps: tuple[int, ...]) -> dict[str, dict[str, float]]:
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
    transform = registry.make(cell.transform)
    inputs = Inputs.fit(rows.train_X, "auto", transform)
    machine = fitted_reference(inputs(rows.train_X), rows.train_y, transformed=transform is not None)
    return lambda X: machine(inputs(X))


def _result_path(folder: Path, trial: Trial) -> Path:
    return folder / "results" / f"{trial.name}.json"
