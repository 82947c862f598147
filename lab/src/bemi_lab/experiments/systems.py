"""Comparison with other systems: each is trained on the same rows in the same time, and measured in three ways."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Protocol

import numpy as np
from sklearn.base import ClassifierMixin

from bemi import solvers
from bemi.classifier import BeMiClassifier
from bemi.ensemble.voting import LabelStatus
from bemi.network import Network
from bemi.problem.problem import Objective, one_hot
from bemi.report.summary import stage_numbers
from bemi.running.calls import results
from bemi.running.pools import Lost
from bemi_lab.baselines import SYSTEMS, BaselineClassifier, NoNetwork
from bemi_lab.baselines.hybrids import CP
from bemi_lab.datasets import Sample


class Entry(Protocol):
    """A row of the comparison: a system, and where it starts from."""

    @property
    def title(self) -> str: ...

    @property
    def authors(self) -> str: ...

    @property
    def start(self) -> str:
        """Where it starts from, in words; empty for our own systems."""

    @property
    def needs_cp(self) -> bool: ...

    def classifier(self, contest: Contest, classes: int) -> BeMiClassifier | BaselineClassifier:
        """The system, not trained yet, for this many classes."""


PAPER = "the paper's system, our engine"


@dataclass(frozen=True)
class OurSystem:
    """One of our systems: its title, classes per network (None for all of them) and hidden layers."""

    title: str
    subset_size: int | None
    hidden_layers: tuple[int, ...] = (4, 4)
    authors: str = PAPER
    start: str = ""
    needs_cp: bool = False

    def classifier(self, contest: Contest, classes: int) -> BeMiClassifier:
        return BeMiClassifier(
            hidden_layers=self.hidden_layers,
            subset_size=classes if self.subset_size is None else min(self.subset_size, classes),
            time_limit=contest.seconds,
            total_time_limit=contest.seconds,
            solver=contest.solver,
            n_jobs=1,
        )


AS_PUBLISHED, FROM_START = "as published", "our start"


@dataclass(frozen=True)
class TheirSystem:
    """A system of other authors, as published or from a network that we write down."""

    system: str
    from_start: bool

    @property
    def title(self) -> str:
        return SYSTEMS[self.system].title

    @property
    def authors(self) -> str:
        return SYSTEMS[self.system].paper

    @property
    def start(self) -> str:
        return FROM_START if self.from_start else AS_PUBLISHED

    @property
    def needs_cp(self) -> bool:
        return SYSTEMS[self.system].needs_cp

    def classifier(self, contest: Contest, classes: int) -> BaselineClassifier:
        return BaselineClassifier(
            self.system,
            time_limit=contest.seconds,
            solver=contest.solver,
            random_state=contest.seed,
            from_start=self.from_start,
        )


def _theirs() -> Iterator[tuple[str, TheirSystem]]:
    for name, system in SYSTEMS.items():
        yield name, TheirSystem(name, False)
        if system.train_from is not None:
            yield f"{name}-from-start", TheirSystem(name, True)


ENTRIES: Mapping[str, Entry] = {
    "bemi": OurSystem("BeMi, m = 2", 2),
    "bemi-3": OurSystem("BeMi, m = 3", 3),
    # One network on all classes gets the first layer that the other systems have.  With six neurons below four outputs,
    # the last layer can make the outputs of all ten classes confident; with 4 or 5 it cannot.
    "bemi-all": OurSystem("BeMi, m = n", None, hidden_layers=(16, 6)),
    **dict(_theirs()),
}
"""Rows of the comparison by name, in their order."""

NAMES = tuple(ENTRIES)


@dataclass(frozen=True)
class Contest:
    """One system on one sample.

    Attributes
    ----------
    system
        A name in :data:`NAMES`.
    per_class, index
        Which sample.
    seconds
        Time for everything, on one core.
    solver, seed
        The MILP solver; seed of the system.
    """

    system: str
    per_class: int
    index: int
    seconds: float
    solver: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.system}_n{self.per_class:03d}_sample{self.index}"

    @property
    def can_run(self) -> bool:
        """Whether the solver that it needs is installed."""
        return not ENTRIES[self.system].needs_cp or CP in solvers.installed()

    def classifier(self, classes: int) -> BeMiClassifier | BaselineClassifier:
        """The system, not trained yet, for this many classes."""
        return ENTRIES[self.system].classifier(self, classes)


def contests(
    names: Sequence[str], sizes: Sequence[int], samples: int, *, seconds: float, solver: str, seed: int
) -> list[Contest]:
    """Every system on every sample."""
    return [
        Contest(name, size, index, seconds, solver, seed) for size, index, name in product(sizes, range(samples), names)
    ]


def run(todo: list[Contest], rows: dict[tuple[int, int], Sample], n_jobs: int | None) -> Iterator[tuple[Contest, dict]]:
    """Train and measure, yielding records as they finish; ``rows`` is keyed by rows per class and index."""

    def arguments(number: int, to_come: int, at_once: int) -> tuple[Contest, Sample]:
        contest = todo[number]
        return contest, rows[contest.per_class, contest.index]

    for number, record in results(measured, arguments, range(len(todo)), n_jobs):
        if isinstance(record, Lost):
            record = _header(todo[number]) | {"failure": "its process died at every attempt, possibly out of memory"}
        yield todo[number], record


def _header(contest: Contest) -> dict[str, Any]:
    return {"system": contest.system, "per_class": contest.per_class, "sample": contest.index}


def measured(contest: Contest, rows: Sample) -> dict[str, Any]:
    """Train a system and measure it; the record says so if it finds no network."""
    record = _header(contest)
    classifier = contest.classifier(len(np.unique(rows.train_y)))
    began = time.perf_counter()
    try:
        classifier.fit(rows.train_X, rows.train_y)
    except NoNetwork as error:
        return record | {"seconds": round(time.perf_counter() - began, 2), "failure": str(error)}
    record["seconds"] = round(time.perf_counter() - began, 2)
    good, largest, voting = accuracies(classifier, rows)
    networks, fitted = _networks(classifier), classifier.predict(rows.train_X)
    record |= {
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
    correct = [status.value for status in LabelStatus if status.correct]
    return good, largest, float(np.isin(votes.status, correct).mean())


def _networks(classifier: BeMiClassifier | BaselineClassifier) -> list[Network]:
    if isinstance(classifier, BaselineClassifier):
        return [classifier.network_]
    return list(classifier.networks_.values())


def _steps(classifier: BeMiClassifier | BaselineClassifier) -> list[dict[str, Any]]:
    """Results of each step of each network."""
    reports = [classifier.reports_] if isinstance(classifier, BaselineClassifier) else classifier.reports_.values()
    return [{"stage": name} | stage_numbers(report) for steps in reports for name, report in steps.items()]
