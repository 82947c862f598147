"""What the experiment on tables runs, as its file says; imports nothing slow, like :mod:`bemi_lab.experiments.spec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bemi_lab.experiments import spec


@dataclass(frozen=True)
class Grid:
    """Systems that are compared with each other, on every split of every table.

    Attributes
    ----------
    report
        Names of the tables in :data:`bemi_lab.experiments.tabular.reports.REPORTS` that show it.
    tables
        Names in :data:`bemi_lab.datasets.tables.TABLES`.
    splits
        Names as :func:`bemi_lab.experiments.tabular.splits.split` takes them.
    systems
        Names in :data:`bemi_lab.experiments.tabular.systems.SYSTEMS`, in the order of the report.
    samples
        Seeds, or folds.
    """

    report: tuple[str, ...]
    tables: tuple[str, ...]
    splits: tuple[str, ...]
    systems: tuple[str, ...]
    samples: int


@dataclass(frozen=True)
class TableExperiment:
    """An experiment on tables: name, heading, the question that it answers, and its grids.

    ``time_limit`` is in seconds per network, None for the classifier's default; without ``needs_all_tables``, those
    that are not on this machine are left out.  The other attributes are those that
    the command line asks of every experiment.
    """

    name: str
    title: str
    question: str
    grids: tuple[Grid, ...]
    time_limit: float | None = None
    needs_all_tables: bool = True
    dataset: str = "tables"
    paper_seconds: float = 0.0
    paper_sizes: None = field(default=None, init=False)
    systems: None = field(default=None, init=False)


def load(name: str, *, quick: bool = False) -> TableExperiment:
    """An experiment on tables, from its file; ``quick`` keeps what its small version lists."""
    content = spec.read_file(name)
    small = content["quick"] if quick else {}
    grids = (_grid(grid | {"samples": small.get("samples", grid["samples"])}, small) for grid in content["grids"])
    return TableExperiment(
        name=name,
        title=content["title"],
        question=content["question"],
        grids=tuple(grid for grid in grids if grid.tables and grid.splits and grid.systems),
        time_limit=small.get("time_limit", content.get("time_limit")),
        needs_all_tables=not quick,
    )


def _grid(content: Mapping[str, Any], small: Mapping[str, Any]) -> Grid:
    def kept(axis: str) -> tuple[str, ...]:
        return tuple(value for value in content[axis] if value in small.get(axis, content[axis]))

    return Grid(
        tuple(content["report"]), kept("tables"), kept("splits"), kept("systems"), samples=int(content["samples"])
    )
