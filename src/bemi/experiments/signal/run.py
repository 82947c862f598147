"""Run the experiment on signals; a run folder is like that of the experiment on tables, with sets for tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bemi.experiments.folder import machine, open_run, write_json
from bemi.experiments.signal.draws import draw
from bemi.experiments.signal.measure import measured
from bemi.experiments.signal.sets import INSTALL, SETS, Windows, is_here, load_set
from bemi.experiments.signal.systems import SYSTEMS
from bemi.experiments.spec import Settings, check_images
from bemi.experiments.tabular.run import Job, measure_all, versions
from bemi.experiments.tabular.spec import TableExperiment

PACKAGES = ("numpy", "scikit-learn", "aeon", "pyts", "seglearn", "sktime", "tslearn")
"""Packages that windows and other systems come from; a run says which versions it had."""


def remarks(experiment: TableExperiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    if experiment.needs_all_tables:
        return []
    missing = [name for name in _sets(experiment) if not is_here(name)]
    lacking = {lacking for grid in experiment.grids for name in grid.systems if (lacking := SYSTEMS[name].lacking)}
    what = [f"signals {', '.join(missing)}"] if missing else []
    what += [f"systems that need {', '.join(sorted(lacking))}"] if lacking else []
    return [f"{' and '.join(what)} are left out; install what is missing with: {INSTALL}"] if what else []


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
    wanted = _wanted(experiment, settings)
    _check_packages(experiment, wanted)
    sets = {name: load_set(name) for name in wanted}
    every = list(_jobs(experiment, sets, samples))
    run = open_run(folder, experiment.name, settings)
    models = measure_all(every, sets, settings, folder, run_job, n_jobs=n_jobs, show=show)
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


def run_job(job: Job, windows: Windows, settings: Settings) -> list[dict[str, Any]]:
    """Measure a system on all samples of a job."""
    return [measured(job.system, windows, job.split, index, settings) for index in job.samples]


def _sets(experiment: TableExperiment) -> list[str]:
    return list(dict.fromkeys(name for grid in experiment.grids for name in grid.tables))


def _wanted(experiment: TableExperiment, settings: Settings) -> list[str]:
    """Sets to load: all of them, or the one that ``settings.dataset`` names."""
    every = _sets(experiment)
    if settings.dataset != experiment.dataset:
        if settings.dataset not in every:
            raise ValueError(f"{experiment.name} has no set {settings.dataset!r}; it has {', '.join(every)}")
        return [settings.dataset]
    return every if experiment.needs_all_tables else [name for name in every if is_here(name)]


def _check_packages(experiment: TableExperiment, sets: list[str]) -> None:
    """Raise ValueError if a whole run lacks packages of sets or systems."""
    lacking = {SETS[name][0] for name in sets if not is_here(name)}
    if experiment.needs_all_tables:
        every = (SYSTEMS[name] for grid in experiment.grids for name in grid.systems)
        lacking |= {system.lacking for system in every if system.lacking is not None}
    if lacking:
        raise ValueError(f"{experiment.name} needs {', '.join(sorted(lacking))}; install with: {INSTALL}")


def _jobs(experiment: TableExperiment, sets: dict[str, Windows], samples: int | None) -> Iterator[Job]:
    """What to measure, each only once, though several grids may show it; system by system, the quickest first."""
    wanted: dict[tuple[str, str, str], int] = {}
    for grid in experiment.grids:
        for system in grid.systems:
            for name in grid.tables:
                for split in grid.splits:
                    here = name in sets and SYSTEMS[system].lacking is None
                    if here and draw(split).takes_part(sets[name]):
                        key = (system, name, split)
                        wanted[key] = max(grid.samples if samples is None else samples, wanted.get(key, 0))
    for (system, name, split), count in wanted.items():
        yield Job(system, name, split, tuple(range(count)))
