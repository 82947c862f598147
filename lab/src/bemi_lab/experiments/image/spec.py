"""What the experiment on images runs, as its file says: like that on tables, with data sets for tables and draws for
splits."""

from __future__ import annotations

from dataclasses import replace

from bemi_lab.experiments.tabular import spec
from bemi_lab.experiments.tabular.spec import TableExperiment


def load(name: str, *, quick: bool = False) -> TableExperiment:
    """An experiment on images, from its file; ``quick`` keeps what its small version lists."""
    return replace(spec.load(name, quick=quick), dataset="images")
