"""Run the experiment on tables (:mod:`bemi_lab.experiments.comparison` says how)."""

from __future__ import annotations

from functools import partial

from bemi_lab.datasets.tables import Rows, is_here, load_table
from bemi_lab.experiments import comparison
from bemi_lab.experiments.tabular.measure import measured
from bemi_lab.experiments.tabular.spec import TableExperiment
from bemi_lab.experiments.tabular.splits import split
from bemi_lab.experiments.tabular.systems import SYSTEMS


def _samples(rows: Rows, name: str, wanted: int) -> int:
    way = split(name)
    if not way.takes_part(rows.y):
        return 0
    return wanted if way.samples is None else min(wanted, way.samples)


SUBJECT = comparison.Subject(
    noun="table",
    packages=("numpy", "scikit-learn", "xgboost", "interpret-core", "fasterrisk"),
    systems=SYSTEMS,
    is_here=is_here,
    load=load_table,
    samples=_samples,
    measured=measured,
)


def remarks(experiment: TableExperiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    packages = comparison.lacking(SUBJECT, experiment)
    lines = [f"systems that need {', '.join(packages)} are left out; see docs/experiments.md"] if packages else []
    missing = comparison.missing(SUBJECT, experiment)
    if missing and not experiment.needs_all_tables:
        lines.append(f"tables that are not here are left out: {', '.join(missing)}")
    return lines


reproduce = partial(comparison.reproduce, SUBJECT)
"""Measure what is not measured yet, and return the content of ``run.json``."""
