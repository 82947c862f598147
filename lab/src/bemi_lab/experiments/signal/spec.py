"""What the experiment on signals runs, as its file says: like that on tables, with sets for tables and draws for
splits."""

from __future__ import annotations

from dataclasses import replace

from bemi_lab.experiments.tabular import spec
from bemi_lab.experiments.tabular.spec import TableExperiment


def load(name: str, *, quick: bool = False) -> TableExperiment:
    """An experiment on signals, from its file; ``quick`` keeps what its small version lists."""
    return replace(spec.load(name, quick=quick), dataset="signals")
