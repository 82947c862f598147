"""Systems of other authors on few images: each is trained on the same rows in the same time as ours, and measured in
three ways."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from bemi import Network, solvers
from bemi.ensemble.voting import LabelStatus
from bemi.problem.problem import Objective, one_hot
from bemi.report.summary import stage_numbers
from bemi_lab import classifiers, datasets
from bemi_lab.baselines import CP, SYSTEMS, BaselineClassifier, NoNetwork
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Dataset, Sample, Split
from bemi_lab.experiments.networks import sampled
from bemi_lab.experiments.spec import Experiment, Settings
from bemi_lab.experiments.subjects import Job, Subject, System

PAPER = "the paper's system, our engine"
AS_PUBLISHED, FROM_START = "as published", "our start"


@dataclass(frozen=True)
class Entry(System):
    """A row of the comparison: also whose system it is, and where it starts from, which is empty for ours."""

    authors: str = PAPER
    start: str = ""

    @property
    def lacking(self) -> str | None:
        return self.needs if self.needs is not None and self.needs not in solvers.installed() else None


def _ours(subset_size: int | None, hidden_layers: tuple[int, ...], settings: Settings, classes: int) -> Classifier:
    """Networks on so many classes each, None for all of them."""
    return classifiers.paper(
        hidden_layers=hidden_layers,
        subset_size=classes if subset_size is None else min(subset_size, classes),
        time_limit=settings.system_seconds,
        total_time_limit=settings.system_seconds,
        solver=settings.solver,
        n_jobs=1,
    )


def _theirs(system: str, from_start: bool, settings: Settings, classes: int) -> BaselineClassifier:
    return BaselineClassifier(
        system,
        time_limit=settings.system_seconds,
        solver=settings.solver,
        random_state=settings.seed,
        from_start=from_start,
    )


def _entries() -> Iterator[Entry]:
    yield Entry("bemi", "BeMi, m = 2", partial(_ours, 2, (4, 4)))
    yield Entry("bemi-3", "BeMi, m = 3", partial(_ours, 3, (4, 4)))
    # One network on all classes gets the first layer that the other systems have.  With six neurons below four outputs,
    # the last layer can make the outputs of all ten classes confident; with 4 or 5 it cannot.
    yield Entry("bemi-all", "BeMi, m = n", partial(_ours, None, (16, 6)))
    for name, system in SYSTEMS.items():
        needs = CP if system.needs_cp else None
        yield Entry(name, system.title, partial(_theirs, name, False), needs, system.paper, AS_PUBLISHED)
        if system.takes_start:
            made = partial(_theirs, name, True)
            yield Entry(f"{name}-from-start", system.title, made, needs, system.paper, FROM_START)


ENTRIES = {entry.name: entry for entry in _entries()}
"""Rows of the comparison by name, in their order."""


def _rows(experiment: Experiment, settings: Settings, dataset: Dataset, job: Job) -> Sample:
    return sampled(experiment, settings, dataset, Split.parse(job.split).rows, job.sample)


def measure(system: Entry, rows: Sample, job: Job, settings: Settings) -> dict[str, Any]:
    """Train a system and measure it; the record says so if it finds no network."""
    classifier = system.make(settings, len(np.unique(rows.train_y)))
    began = time.perf_counter()
    try:
        classifier.fit(rows.train_X, rows.train_y)
    except NoNetwork as error:
        return {"seconds": round(time.perf_counter() - began, 2), "failure": str(error)}
    seconds = round(time.perf_counter() - began, 2)
    good, largest, voting = accuracies(classifier, rows)
    networks, fitted = _networks(classifier), classifier.predict(rows.train_X)
    record = {
        "seconds": seconds,
        "all_good": good,
        "largest": largest,
        "voting": voting,
        "fit": float(np.mean(fitted == rows.train_y)),
        # True if a system found nothing better than the network that it started from.
        "one_answer": bool((fitted == fitted[0]).all()),
        "links": sum(network.links for network in networks),
        "weights": sum(w.size for network in networks for w in network.weights),
        "steps": _steps(classifier),
    }
    return record | (_single(classifier, rows) if isinstance(classifier, BaselineClassifier) else {})


def _single(classifier: BaselineClassifier, rows: Sample) -> dict[str, Any]:
    """What only one network has: objective, bound and gap of the last step, training rows with all outputs right, and
    the network that it started from, if that was written down."""
    last = list(classifier.reports_.values())[-1]
    codes = one_hot(np.searchsorted(classifier.classes_, rows.train_y), len(classifier.classes_))
    record: dict[str, Any] = {
        "stage": last.stage,
        "objective": _plain(last.objective),
        "bound": _plain(last.bound),
        "gap": last.gap if math.isfinite(last.gap) else None,
        "fit_all_good": float((classifier.outputs(rows.train_X) == codes).all(axis=1).mean()),
    }
    if not classifier.from_start:
        return record
    given = classifier.reports_["start"]
    start: dict[str, Any] = {"message": given.message, "found": classifier.start_ is not None}
    if classifier.start_ is not None:
        before = copy(classifier)
        before.network_ = classifier.start_
        good, largest, _ = accuracies(before, rows)
        start |= {"objective": _plain(given.objective), "all_good": good, "largest": largest, "links": given.links}
        start["returned"] = classifier.network_ == classifier.start_
    return record | {"start": start}


def _plain(value: Objective | None) -> int | float | None:
    return float(value) if isinstance(value, Fraction) else value


def accuracies(classifier: ClassifierMixin, rows: Sample) -> tuple[float, float, float]:
    """Accuracy on the test rows in three ways.

    *All good*: all outputs that concern the row's class are right; in an ensemble, all networks that know the class
    vote for it.  *Largest*: the label of the largest output, or of the most votes with ties broken by margin.
    *Voting*: the paper's rule; a network with one output per class votes for those whose output is +1, so rows that are
    not *all good* stay unclassified.
    """
    truth = np.searchsorted(classifier.classes_, rows.test_y)
    largest = float(np.mean(classifier.predict(rows.test_X) == rows.test_y))
    if isinstance(classifier, BaselineClassifier):
        codes = one_hot(truth, len(classifier.classes_))
        good = float((classifier.outputs(rows.test_X) == codes).all(axis=1).mean())
        return good, largest, good
    votes = classifier.vote(rows.test_X, rows.test_y)
    networks = math.comb(len(classifier.classes_) - 1, classifier.subset_size - 1)
    good = float(np.mean(votes.counts[np.arange(len(truth)), truth] == networks))
    assert votes.status is not None
    return (
        good,
        largest,
        float(np.isin(votes.status, [status.value for status in LabelStatus if status.correct]).mean()),
    )


def _networks(classifier: Classifier | BaselineClassifier) -> list[Network]:
    if isinstance(classifier, BaselineClassifier):
        return [classifier.network_]
    return list(classifier.networks_.values())


def _steps(classifier: Classifier | BaselineClassifier) -> list[dict[str, Any]]:
    """Results of each step of each network."""
    reports = [classifier.reports_] if isinstance(classifier, BaselineClassifier) else classifier.reports_.values()
    return [{"stage": name} | stage_numbers(report) for steps in reports for name, report in steps.items()]


SUBJECT = Subject(
    noun="data set",
    systems=ENTRIES,
    load=datasets.load,
    rows=_rows,
    measure=measure,
    packages=("numpy", "scikit-learn", "ortools"),
    install="install it with: pip install 'bemi[cpsat]'",
    by_split=True,
)
