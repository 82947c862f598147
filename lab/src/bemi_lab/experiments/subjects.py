"""What systems are compared on: other authors' systems on few images, and classifiers on tables, images and signals.

Imports nothing slow: a subject's module is imported when an experiment of its kind is run or reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

from bemi_lab.experiments.spec import Experiment, Settings

KINDS = {
    "networks": "bemi_lab.experiments.other_systems",
    "estimates": "bemi_lab.experiments.on_estimates",
    "images": "bemi_lab.experiments.on_images",
    "signals": "bemi_lab.experiments.on_signals",
    "tables": "bemi_lab.experiments.on_tables",
    "unknown": "bemi_lab.experiments.on_unknown",
}
"""Modules with a ``SUBJECT``, by the kind of experiments."""


def get(kind: str) -> Subject:
    """The subject of a kind of experiments."""
    return import_module(KINDS[kind]).SUBJECT


@dataclass(frozen=True)
class Job:
    """A system on one sample of a split of a data set."""

    system: str
    dataset: str
    split: str
    sample: int

    @property
    def key(self) -> str:
        """A name for files, different for every job of an experiment."""
        return f"{self.system}_{self.dataset}_{self.split}_sample{self.sample}"


@dataclass(frozen=True)
class System:
    """A system: what to call it, how to make an unfitted model of it, and the package that it needs.

    The arguments of ``make`` are the subject's own.
    """

    name: str
    title: str
    make: Callable[..., Any]
    needs: str | None = None

    @property
    def lacking(self) -> str | None:
        """What has to be installed before it can run, if anything."""
        return self.needs if self.needs is not None and find_spec(self.needs) is None else None


@dataclass(frozen=True)
class Subject:
    """What an experiment needs to know about its kind."""

    noun: str  # what one of its data sets is called
    systems: Mapping[str, System]
    load: Callable[[str], Any]  # from the name of a data set to its data
    measure: Callable[[Any, Any, Job, Settings], dict[str, Any]]
    """Train and test one model: from a system, what ``rows`` gave, a job, and settings to a record."""
    rows: Callable[[Experiment, Settings, Any, Job], Any] = lambda experiment, settings, data, job: data
    """From an experiment, settings, data and a job to what a worker needs; called where jobs are handed out."""
    samples: Callable[[Any, str, int], int] = lambda data, split, wanted: wanted
    """From data, a split and how many samples are wanted to how many there are; 0 for too little data."""
    packages: tuple[str, ...] = ("numpy", "scikit-learn")  # a run says which versions it had
    install: str = "see lab/reports/method.md"  # how to install what is missing
    by_split: bool = False
    """Whether a split is finished before the next one, and systems that fail on all samples of a split are not run on
    later ones, which are larger."""


def datasets_of(experiment: Experiment, settings: Settings) -> list[str]:
    """Names of the data sets of an experiment's grids, or the one that the settings name.

    Without ``needs_all``, those that are not on this machine are left out.
    """
    from bemi_lab.datasets import is_here

    if not any(grid.datasets for grid in experiment.grids):
        return [settings.dataset] if experiment.grids else []
    every = every_dataset(experiment)
    if settings.dataset != experiment.dataset:
        if settings.dataset not in every:
            noun = get(experiment.kind).noun
            raise ValueError(f"{experiment.name} has no {noun} {settings.dataset!r}; it has {', '.join(every)}")
        return [settings.dataset]
    return every if experiment.needs_all else [name for name in every if is_here(name)]


def every_dataset(experiment: Experiment) -> list[str]:
    """Names of all data sets that the grids name."""
    return list(dict.fromkeys(name for grid in experiment.grids for name in grid.datasets))


def lacking(experiment: Experiment) -> list[str]:
    """Packages that systems of an experiment need and that are not installed."""
    systems = get(experiment.kind).systems
    names = {name for grid in experiment.grids for name in grid.systems}
    return sorted({package for name in names if (package := systems[name].lacking) is not None})


def remarks(experiment: Experiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    from bemi_lab.datasets import is_here

    if not experiment.grids:
        return []
    subject, packages = get(experiment.kind), lacking(experiment)
    missing = [] if experiment.needs_all else [name for name in every_dataset(experiment) if not is_here(name)]
    what = [f"{subject.noun}s {', '.join(missing)}"] if missing else []
    what += [f"systems that need {', '.join(packages)}"] if packages else []
    return [f"left out: {' and '.join(what)}; {subject.install}"] if what else []


def jobs(experiment: Experiment, data: Mapping[str, Any], samples: int | None) -> list[Job]:
    """What to measure, each only once, though several grids may show it.

    All first samples come before the second ones, so that what an interrupted run leaves can be compared; on a sample
    all systems come one after the other.
    """
    subject = get(experiment.kind)
    counts: dict[tuple[str, str, str], int] = {}
    for grid in experiment.grids:
        systems = [system for system in grid.systems if subject.systems[system].lacking is None]
        here = [name for name in data if name in (grid.datasets or data)]
        for dataset, split, system in product(here, grid.splits, systems):
            count = subject.samples(data[dataset], split, grid.samples if samples is None else samples)
            key = (system, dataset, split)
            counts[key] = max(count, counts.get(key, 0))
    last = max(counts.values(), default=0)
    return [Job(*key, index) for index in range(last) for key, count in counts.items() if index < count]
