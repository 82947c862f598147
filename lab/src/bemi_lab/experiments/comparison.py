"""Run a comparison: every system on every split of every data set, one result file per system.

A run folder holds ``run.json`` and ``results/SYSTEM.json``, which lists what was measured.  A file is written after
every measurement, and what it lists is never measured again.  In these files a data set is a ``table``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from bemi.files import write_atomically
from bemi.running.calls import results
from bemi.running.pools import Lost
from bemi.running.schedule import progress
from bemi_lab.experiments.folder import machine, open_run, read_json, write_json
from bemi_lab.experiments.spec import Settings, check_images
from bemi_lab.experiments.tabular.spec import TableExperiment


class System(Protocol):
    """A system that takes part in a comparison."""

    @property
    def lacking(self) -> str | None:
        """A package that it needs and that is not installed."""


Measured = Callable[[str, Any, str, int, Settings], dict[str, Any]]
"""From a system, data, a split and the number of a sample to what was measured."""


@dataclass(frozen=True)
class Subject:
    """What systems are compared on.

    Attributes
    ----------
    noun
        What one of its data sets is called.
    packages
        Packages that data and other systems come from; a run says which versions it had.
    systems
        All systems by name.
    is_here, load
        Whether the data set of a name is on this machine, and its data.
    samples
        From data, the name of a split and how many samples are wanted to how many there are; 0 for too little data.
    measured
        Train and test one model.
    """

    noun: str
    packages: tuple[str, ...]
    systems: Mapping[str, System]
    is_here: Callable[[str], bool]
    load: Callable[[str], Any]
    samples: Callable[[Any, str, int], int]
    measured: Measured


@dataclass(frozen=True)
class Job:
    """A system on one sample of a split of a data set."""

    system: str
    table: str
    split: str
    sample: int


def reproduce(
    subject: Subject,
    experiment: TableExperiment,
    settings: Settings,
    folder: Path,
    *,
    samples: int | None = None,
    n_jobs: int | None = None,
    show: bool = False,
    shard: tuple[int, int] = (1, 1),
) -> dict[str, Any]:
    """Measure what is not measured yet, and return the content of ``run.json``; it cannot be divided by ``shard``."""
    if shard != (1, 1):
        raise ValueError(f"{experiment.name} cannot be divided among machines; run it without --shard")
    check_images(experiment.name, experiment.paper_sizes, settings.images)
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    data = {name: subject.load(name) for name in wanted(subject, experiment, settings)}
    every = list(_jobs(subject, experiment, data, samples))
    run = open_run(folder, experiment.name, settings)
    models = _measure_all(subject, every, data, settings, folder, n_jobs=n_jobs, show=show)
    visit = {
        "started": started,
        "seconds": round(time.perf_counter() - began, 1),
        "models": models,
        "jobs": n_jobs,
        "packages": _versions(subject.packages),
    }
    run["visits"].append(visit | machine(settings.solver))
    write_json(folder / "run.json", run)
    return run


def data_sets(experiment: TableExperiment) -> list[str]:
    """Names of all data sets of an experiment."""
    return list(dict.fromkeys(name for grid in experiment.grids for name in grid.tables))


def wanted(subject: Subject, experiment: TableExperiment, settings: Settings) -> list[str]:
    """Data sets to load: all of them, or the one that ``settings.dataset`` names."""
    every = data_sets(experiment)
    if settings.dataset != experiment.dataset:
        if settings.dataset not in every:
            known = ", ".join(every)
            raise ValueError(f"{experiment.name} has no {subject.noun} {settings.dataset!r}; it has {known}")
        return [settings.dataset]
    return every if experiment.needs_all_tables else [name for name in every if subject.is_here(name)]


def missing(subject: Subject, experiment: TableExperiment) -> list[str]:
    """Data sets of an experiment that are not on this machine."""
    return [name for name in data_sets(experiment) if not subject.is_here(name)]


def lacking(subject: Subject, experiment: TableExperiment) -> list[str]:
    """Packages that systems of an experiment need and that are not installed."""
    names = {name for grid in experiment.grids for name in grid.systems}
    return sorted({package for name in names if (package := subject.systems[name].lacking) is not None})


def _jobs(subject: Subject, experiment: TableExperiment, data: Mapping[str, Any], samples: int | None) -> Iterator[Job]:
    """What to measure, each only once, though several grids may show it.

    All first samples come before the second ones, so that what an interrupted run leaves can be compared; on a sample
    all systems come one after the other.
    """
    counts: dict[tuple[str, str, str], int] = {}
    for grid in experiment.grids:
        systems = [system for system in grid.systems if subject.systems[system].lacking is None]
        for table, split, system in product([name for name in grid.tables if name in data], grid.splits, systems):
            count = subject.samples(data[table], split, grid.samples if samples is None else samples)
            key = (system, table, split)
            counts[key] = max(count, counts.get(key, 0))
    for index in range(max(counts.values(), default=0)):
        yield from (Job(*key, index) for key, count in counts.items() if index < count)


def _measure_all(
    subject: Subject,
    every: Sequence[Job],
    data: Mapping[str, Any],
    settings: Settings,
    folder: Path,
    *,
    n_jobs: int | None,
    show: bool,
) -> int:
    """Measure what is not measured yet, write it, and return how many models that took."""
    (folder / "results").mkdir(exist_ok=True)
    known = {name: _known(folder, name) for name in dict.fromkeys(job.system for job in every)}
    done = {Job(system, m["table"], m["split"], m["sample"]) for system, found in known.items() for m in found}
    todo = [job for job in every if job not in done]

    def arguments(number: int, to_come: int, at_once: int) -> tuple[Any, ...]:
        job = todo[number]
        return subject.measured, job, data[job.table], settings

    with progress(len(todo), show=show, what="systems") as advance:
        for number, found in results(_run_job, arguments, range(len(todo)), n_jobs):
            job = todo[number]
            if isinstance(found, Lost):
                raise RuntimeError(f"the process that ran {job.system} on {job.table} died, possibly out of memory")
            known[job.system].append(found)
            _write(folder, job.system, known[job.system])
            advance(None, f"{job.system} on {job.table}")
    return len(todo)


def _run_job(measured: Measured, job: Job, data: Any, settings: Settings) -> dict[str, Any]:
    return measured(job.system, data, job.split, job.sample, settings)


def _path(folder: Path, system: str) -> Path:
    return folder / "results" / f"{system}.json"


def _known(folder: Path, system: str) -> list[dict[str, Any]]:
    path = _path(folder, system)
    return read_json(folder, path)["measurements"] if path.exists() else []


def _write(folder: Path, system: str, measurements: list[dict[str, Any]]) -> None:
    """One measurement per line, in a fixed order, so that two runs can be compared."""
    ordered = sorted(measurements, key=lambda m: (m["table"], m["split"], m["sample"]))
    lines = ",\n".join(json.dumps(measurement, allow_nan=False) for measurement in ordered)
    write_atomically({_path(folder, system): f'{{"system": "{system}", "measurements": [\n{lines}\n]}}\n'.encode()})


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
