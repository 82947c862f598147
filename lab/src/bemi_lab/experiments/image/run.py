"""Run the experiment on images (:mod:`bemi_lab.experiments.comparison` says how)."""

from __future__ import annotations

from functools import partial

from bemi_lab.datasets import available
from bemi_lab.experiments import comparison
from bemi_lab.experiments.image.measure import measured
from bemi_lab.experiments.image.systems import SYSTEMS
from bemi_lab.experiments.tabular.spec import TableExperiment


def _is_here(name: str) -> bool:
    return any(listing.here for listing in available() if listing.name == name)


SUBJECT = comparison.Subject(
    noun="data set",
    packages=("numpy", "scikit-learn"),
    systems=SYSTEMS,
    is_here=_is_here,
    # Workers load the images themselves: all of them are too many to hand over for each draw.
    load=str,
    samples=lambda dataset, draw, wanted: wanted,
    measured=measured,
)


def remarks(experiment: TableExperiment) -> list[str]:
    """Lines for the user about what cannot run here."""
    return []


reproduce = partial(comparison.reproduce, SUBJECT)
"""Measure what is not measured yet, and return the content of ``run.json``."""
