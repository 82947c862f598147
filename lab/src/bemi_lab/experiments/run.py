"""Run an experiment: the networks of its cells, then the systems of its grids.  Finished work is never repeated."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

from bemi.running import schedule
from bemi.running.calls import results
from bemi.running.pools import Lost
from bemi.running.schedule import progress
from bemi_lab.datasets import load
from bemi_lab.experiments import subjects
from bemi_lab.experiments.spec import Experiment, Settings
from bemi_lab.experiments.store import Store, machine
from bemi_lab.experiments.subjects import Job

DIED = "its process died at every attempt, possibly out of memory"


def reproduce(
    experiment: Experiment,
    settings: Settings,
    path: Path,
    *,
    samples: int | None = None,
    n_jobs: int | None = None,
    show: bool = False,
    shard: tuple[int, int] = (1, 1),
) -> dict[str, Any]:
    """Run the unfinished parts of an experiment and return the content of ``run.json``.

    With a ``shard``, part i of n, train only these networks, test no ensemble and compare no systems.
    """
    schedule.check_shard(*shard)
    if shard != (1, 1) and not experiment.cells:
        raise ValueError(f"{experiment.name} cannot be divided among machines; run it without --shard")
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    # Invalid settings must fail before anything is written.
    experiment.check_images(settings.images)
    subject = subjects.get(experiment.kind)
    trials = []
    if experiment.cells:
        from bemi_lab.experiments import networks

        trials = networks.plan(experiment, settings, load(settings.dataset), samples)
    data = {name: subject.load(name) for name in subjects.datasets_of(experiment, settings)}
    jobs = subjects.jobs(experiment, data, samples)
    if settings.system_seconds is None:
        settings = replace(settings, system_seconds=experiment.system_seconds)
    store = Store(path)
    run = store.open(experiment.name, settings)
    visit: dict[str, Any] = {"started": started}
    if trials:
        visit["networks"] = networks.run(trials, store, n_jobs=n_jobs, show=show, shard=shard)
    if jobs and shard == (1, 1):
        visit["models"] = _compare(experiment, settings, jobs, data, store, n_jobs=n_jobs, show=show)
        visit["packages"] = _versions(subject.packages)
    visit |= {"seconds": round(time.perf_counter() - began, 1), "jobs": n_jobs}
    run["visits"].append(visit | machine(settings.solver))
    store.write_run(run)
    return run


def _compare(
    experiment: Experiment,
    settings: Settings,
    jobs: Sequence[Job],
    data: dict[str, Any],
    store: Store,
    *,
    n_jobs: int | None,
    show: bool,
) -> int:
    """Measure what has no record yet, and return how many models that took."""
    subject = subjects.get(experiment.kind)
    rounds = [list(jobs)]
    if subject.by_split:
        order = {split: position for position, split in enumerate(dict.fromkeys(job.split for job in jobs))}
        rounds = [list(part) for _, part in groupby(sorted(jobs, key=lambda j: order[j.split]), lambda j: j.split)]
    hopeless: set[str] = set()
    done = 0
    with progress(sum(not store.has(job.key) for job in jobs), show=show, what="systems") as advance:
        for part in rounds:
            todo = [job for job in part if job.system not in hopeless and not store.has(job.key)]

            def arguments(number: int, to_come: int, at_once: int, todo: Sequence[Job] = todo) -> tuple[Any, ...]:
                job = todo[number]
                return experiment.kind, job, subject.rows(experiment, settings, data[job.dataset], job), settings

            for number, found in results(_measured, arguments, range(len(todo)), n_jobs):
                job = todo[number]
                if isinstance(found, Lost) and not subject.by_split:
                    raise RuntimeError(
                        f"the process that ran {job.system} on {job.dataset} died, possibly out of memory"
                    )
                record = {"failure": DIED} if isinstance(found, Lost) else found
                header = {"system": job.system, "dataset": job.dataset, "split": job.split, "sample": job.sample}
                store.write(job.key, header | record)
                advance(None, f"{subject.systems[job.system].title} on {job.dataset}, {job.split}")
            done += len(todo)
            hopeless |= _without_network(part, store)
    return done


def _measured(kind: str, job: Job, rows: Any, settings: Settings) -> dict[str, Any]:
    subject = subjects.get(kind)
    return subject.measure(subject.systems[job.system], rows, job, settings)


def _without_network(jobs: Iterable[Job], store: Store) -> set[str]:
    """Systems that were run on all of these samples and found a network on none."""
    failed: dict[str, list[bool]] = {}
    for job in jobs:
        known = store.has(job.key) and "failure" in store.read(job.key)
        failed.setdefault(job.system, []).append(known)
    return {system for system, all_failed in failed.items() if all(all_failed)}


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
