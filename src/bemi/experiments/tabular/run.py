"""Run the experiment on tables: every system on every split, one result file per system.

A run folder holds ``run.json`` and ``results/SYSTEM.json``, which lists what was measured.  A file is written after
every table and split, and what it lists is never measured again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bemi.datasets.tables import TABLES, Rows, is_here, load_table
from bemi.experiments.folder import machine, open_run, read_json, write_json
from bemi.experiments.spec import Settings, check_images
from bemi.experiments.tabular.measure import measured
from bemi.experiments.tabular.spec import TableExperiment
from bemi.experiments.tabular.splits import split
from bemi.experiments.tabular.systems import SYSTEMS
from bemi.files import write_atomically
from bemi.running.calls import results
from bemi.running.pool import Lost
from bemi.running.progress import progress

PACKAGES = ("numpy", "scikit-learn", "xgboost", "interpret-core", "fasterrisk")
"""Packages that other systems come from; a run says which versions it had."""


@dataclass(frozen=True)
class Job:
    """A system on some samples of one split of a table."""

    system: str
    table: str
    split: str
    samples: tuple[int, ...]


def remarks(experiment: TableExperiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    systems = {name for grid in experiment.grids for name in grid.systems}
    packages = sorted({lacking for name in systems if (lacking := SYSTEMS[name].lacking) is not None})
    lines = [f"systems that need {', '.join(packages)} are left out; see docs/experiments.md"] if packages else []
    missing = [name for name in _tables(experiment) if not is_here(name)]
    if missing and not experiment.needs_all_tables:
        lines.append(f"tables that are not here are left out: {', '.join(missing)}")
    return lines


def reproduce(
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
    tables = {name: load_table(name) for name in _wanted(experiment, settings)}
    every = list(_jobs(experiment, tables, samples))
    run = open_run(folder, experiment.name, settings)
    models = measure_all(every, tables, settings, folder, run_job, n_jobs=n_jobs, show=show)
    visit = {
        "started": started,
        "seconds": round(time.perf_counter() - began, 1),
        "models": models,
        "jobs": n_jobs,
        "packages": versions(PACKAGES),
    }
    run["visits"].append(visit | machine(settings.solver))
    write_json(folder / "run.json", run)
    return run


def measure_all(
    every: Sequence[Job],
    tables: Mapping[str, Any],
    settings: Settings,
    folder: Path,
    call: Callable[[Job, Any, Settings], list[dict[str, Any]]],
    *,
    n_jobs: int | None,
    show: bool,
) -> int:
    """Measure what is not measured yet, write it, and return how many models that took."""
    (folder / "results").mkdir(exist_ok=True)
    known = {name: _known(folder, name) for name in dict.fromkeys(job.system for job in every)}
    todo = [rest for job in every if (rest := _rest(job, known[job.system])).samples]

    def arguments(number: int, to_come: int, at_once: int) -> tuple[Any, ...]:
        job = todo[number]
        return job, tables[job.table], settings

    with progress(len(todo), show=show, what="systems") as advance:
        for number, found in results(call, arguments, range(len(todo)), n_jobs):
            job = todo[number]
            if isinstance(found, Lost):
                raise RuntimeError(f"the process that ran {job.system} on {job.table} died, possibly out of memory")
            known[job.system] += found
            _write(folder, job.system, known[job.system])
            advance(None, f"{job.system} on {job.table}")
    return sum(len(job.samples) for job in todo)


def run_job(job: Job, rows: Rows, settings: Settings) -> list[dict[str, Any]]:
    """Measure a system on all samples of a job."""
    return [measured(job.system, rows, job.split, index, settings) for index in job.samples]


def _tables(experiment: TableExperiment) -> list[str]:
    return list(dict.fromkeys(name for grid in experiment.grids for name in grid.tables))


def _wanted(experiment: TableExperiment, settings: Settings) -> list[str]:
    """Tables to load: all of them, or the one that ``settings.dataset`` names."""
    every = _tables(experiment)
    if settings.dataset != experiment.dataset:
        if settings.dataset not in every:
            raise ValueError(f"{experiment.name} has no table {settings.dataset!r}; it has {', '.join(every)}")
        return [settings.dataset]
    assert set(every) <= TABLES.keys()
    return every if experiment.needs_all_tables else [name for name in every if is_here(name)]


def _jobs(experiment: TableExperiment, tables: dict[str, Rows], samples: int | None) -> Iterator[Job]:
    """What to measure, each only once, though several grids may show it."""
    wanted: dict[tuple[str, str, str], int] = {}
    for grid in experiment.grids:
        for table in grid.tables:
            for way in map(split, grid.splits):
                if table not in tables or not way.takes_part(tables[table].y):
                    continue
                count = min(grid.samples if samples is None else samples, way.samples or grid.samples)
                for system in grid.systems:
                    if SYSTEMS[system].lacking is None:
                        key = (system, table, way.name)
                        wanted[key] = max(count, wanted.get(key, 0))
    for (system, table, name), count in wanted.items():
        yield Job(system, table, name, tuple(range(count)))


def _rest(job: Job, known: list[dict[str, Any]]) -> Job:
    """The part of a job that is not known yet."""
    done = {m["sample"] for m in known if (m["table"], m["split"]) == (job.table, job.split)}
    return Job(job.system, job.table, job.split, tuple(index for index in job.samples if index not in done))


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


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
