"""Results of the experiment on tables, read from its folder, and paired comparisons of systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bemi_lab.experiments.folder import NoResults, read_json, read_run
from bemi_lab.experiments.tabular.spec import TableExperiment, load


@dataclass(frozen=True, eq=False)
class TableRun:
    """A run as stored on disk: what was asked for, and measurements by system."""

    experiment: TableExperiment
    settings: dict[str, Any]
    visits: list[dict[str, Any]]
    measurements: dict[str, list[dict[str, Any]]]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str], dict[int, dict[str, Any]]]:
        found: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
        for system, measurements in self.measurements.items():
            for m in measurements:
                found.setdefault((system, m["split"], m["table"]), {})[m["sample"]] = m
        return found

    def has(self, system: str, split: str) -> bool:
        """Whether a system was measured on a split of any table."""
        return any(place[:2] == (system, split) for place in self._by_place)

    def values(self, system: str, split: str, table: str, measure: str) -> dict[int, float]:
        """A measure by sample, where it is known."""
        samples = self._by_place.get((system, split, table), {})
        return {index: m[measure] for index, m in samples.items() if measure in m}

    def by_table(self, system: str, split: str, measure: str, tables: Sequence[str]) -> dict[str, float]:
        """Mean of a measure over the samples of each table that has any."""
        found = {table: self.values(system, split, table, measure) for table in tables}
        return {table: float(np.mean(list(values.values()))) for table, values in found.items() if values}

    def mean(self, system: str, split: str, measure: str, tables: Sequence[str]) -> float | None:
        """Mean over tables."""
        found = self.by_table(system, split, measure, tables)
        return float(np.mean(list(found.values()))) if found else None

    def differences(self, a: str, b: str, split: str, measure: str, tables: Sequence[str]) -> dict[str, float]:
        """By table, the mean over common samples of a system's measure minus another's."""
        found = {}
        for table in tables:
            ours, theirs = (self.values(system, split, table, measure) for system in (a, b))
            common = ours.keys() & theirs.keys()
            if common:
                found[table] = float(np.mean([ours[index] - theirs[index] for index in common]))
        return found


def read(folder: Path) -> TableRun:
    """Read a run's folder; what is unfinished is left out."""
    run = read_run(folder)
    files = [read_json(folder, path) for path in sorted((folder / "results").glob("*.json"))]
    if not files:
        raise NoResults(f"{folder} has no finished result yet; run bemi-lab reproduce again to continue")
    measurements = {file["system"]: file["measurements"] for file in files}
    return TableRun(load(run["experiment"]), run["settings"], run["visits"], measurements)
