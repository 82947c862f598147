"""Run the experiment on signals (:mod:`bemi_lab.experiments.comparison` says how)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bemi_lab.experiments import comparison
from bemi_lab.experiments.signal.draws import draw
from bemi_lab.experiments.signal.measure import measured
from bemi_lab.experiments.signal.sets import INSTALL, SETS, Windows, is_here, load_set
from bemi_lab.experiments.signal.systems import SYSTEMS
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.spec import TableExperiment


def _samples(windows: Windows, name: str, wanted: int) -> int:
    return wanted if draw(name).takes_part(windows) else 0


SUBJECT = comparison.Subject(
    noun="set",
    packages=("numpy", "scikit-learn", "aeon", "pyts", "seglearn", "sktime", "tslearn"),
    systems=SYSTEMS,
    is_here=is_here,
    load=load_set,
    samples=_samples,
    measured=measured,
)


def remarks(experiment: TableExperiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    if experiment.needs_all_tables:
        return []
    missing, lacking = comparison.missing(SUBJECT, experiment), comparison.lacking(SUBJECT, experiment)
    what = [f"signals {', '.join(missing)}"] if missing else []
    what += [f"systems that need {', '.join(lacking)}"] if lacking else []
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
    """Measure what is not measured yet, and return the content of ``run.json``.

    Raises
    ------
    ValueError
        If a whole run lacks packages of sets or systems.
    """
    needed = {SETS[name][0] for name in comparison.wanted(SUBJECT, experiment, settings) if not is_here(name)}
    if experiment.needs_all_tables:
        needed |= set(comparison.lacking(SUBJECT, experiment))
    if needed:
        raise ValueError(f"{experiment.name} needs {', '.join(sorted(needed))}; install with: {INSTALL}")
    return comparison.reproduce(
        SUBJECT, experiment, settings, folder, samples=samples, n_jobs=n_jobs, show=show, shard=shard
    )
