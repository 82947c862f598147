"""Results of a run: ensembles by cell, and systems by data set and split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bemi.network import bits_per_weight
from bemi.stages.result import relative_gap
from bemi_lab.experiments import spec
from bemi_lab.experiments.spec import AXES, PAPER_IMAGES, Cell, Experiment
from bemi_lab.experiments.store import Record, Store
from bemi_lab.experiments.table import Spread

OURS = "bemi"
"""Name of our ensembles among the alternatives in a record."""


@dataclass(frozen=True, eq=False)
class CellResult:
    """All samples of one cell, and what the paper reports for it.  Measures are in % unless stated otherwise."""

    cell: Cell
    records: list[Record]
    paper: dict[str, float]

    def spread(self, measure: Callable[[Record], float]) -> Spread:
        return Spread.of([measure(record) for record in self.records])

    @cached_property
    def accuracy(self) -> Spread:
        """Under the paper's voting rule."""
        return self.spread(lambda r: 100 * r["paper_accuracy"])

    @cached_property
    def accuracy_with_ties(self) -> Spread:
        """With ties broken by margin, so that every row has a label."""
        return self.spread(lambda r: 100 * r["accuracy"])

    @cached_property
    def unclassified(self) -> Spread:
        return self.spread(lambda r: 100 * r["unclassified"])

    def under_noise(self, kind: str, name: str) -> list[float]:
        """Mean accuracy of a system at each level of a kind of noise."""
        return [float(mean) for mean in np.mean([r["noise"][kind][name] for r in self.records], axis=0) * 100]

    def alternative(self, name: str) -> Spread:
        return self.spread(lambda r: 100 * r["alternatives"][name])

    def status(self, name: str) -> Spread:
        return self.spread(lambda r: 100 * r["statuses"][name])

    def weight_share(self, name: str) -> Spread:
        return self.spread(lambda r: 100 * r["weights"][name])

    def links(self, stage: str | None = None) -> Spread:
        """Non-zero weights after a stage, by default the last."""
        stage = stage or self.cell.stages[-1]
        return self.spread(lambda r: 100 * r["training"]["stages"][stage]["mean_links"] / r["training"]["total_links"])

    @property
    def weights(self) -> int:
        """Weights of all networks of an ensemble together."""
        return self.records[0]["training"]["total_links"] * len(self.records[0]["networks"])

    @property
    def inputs(self) -> int:
        """Inputs of all networks of an ensemble together: the number of weights if they were linear classifiers."""
        return self.records[0]["training"]["layers"][0] * len(self.records[0]["networks"])

    @property
    def bits(self) -> int:
        """Bits of all weights: ``ceil(log2(2 P + 1))`` for each."""
        return self.weights * bits_per_weight(self.cell.weight_bound)

    @property
    def links_in_all(self) -> float:
        """Non-zero weights of all networks of an ensemble together, mean over the samples."""
        return self.links().mean * self.weights / 100

    def stage_values(self, stage: str, value: Callable[[Record], float | None]) -> list[float]:
        """One value per network of every sample in which the stage ran."""
        found = (value(n["stages"][stage]) for r in self.records for n in r["networks"])
        return [v for v in found if v is not None]


def gap(stage: Record) -> float | None:
    """Gap of a stage in %; None if it did not run."""
    if stage["objective"] is None or stage["bound"] is None:
        return None
    return 100 * relative_gap(stage["objective"], stage["bound"])


@dataclass(frozen=True, eq=False)
class Run:
    """A run as stored on disk: what was asked for, and a record of every ensemble or system on a sample.

    Where systems are compared, a *measure* is a name in their records, and a mean over data sets is one of their means.
    """

    store: Store
    experiment: Experiment
    settings: dict[str, Any]
    visits: list[dict[str, Any]]
    records: Sequence[Record]

    @property
    def samples(self) -> int:
        return max(len(cell.records) for cell in self.cells)

    @property
    def on_paper_data(self) -> bool:
        return self.settings["dataset"] == self.experiment.dataset

    @property
    def images(self) -> str:
        """Which images the samples have, one of :data:`bemi_lab.experiments.spec.IMAGES`."""
        return self.settings["images"]

    @property
    def on_paper_images(self) -> bool:
        """Whether training and test rows are the paper's, so that accuracies can be compared."""
        return self.on_paper_data and self.images == PAPER_IMAGES

    @cached_property
    def cells(self) -> list[CellResult]:
        """Ensembles by cell, in the order of the experiment."""
        paper = self.experiment.paper.values if self.on_paper_data else {}
        grouped: dict[Cell, list[Record]] = {}
        for record in sorted((r for r in self.records if "cell" in r), key=lambda r: r["sample"]):
            grouped.setdefault(spec.cell(record["cell"]), []).append(record)
        order = {cell: position for position, cell in enumerate(self.experiment.cells)}
        return [
            CellResult(cell, grouped[cell], dict(paper.get(cell, {})))
            for cell in sorted(grouped, key=lambda c: (order.get(c, len(order)), c.name))
        ]

    @cached_property
    def systems(self) -> list[Record]:
        """Records of systems that are compared."""
        return [record for record in self.records if "system" in record]

    def varying(self) -> list[str]:
        """Axes on which the cells differ."""
        return [axis for axis in AXES if len({getattr(c.cell, axis) for c in self.cells}) > 1]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str], dict[int, Record]]:
        found: dict[tuple[str, str, str], dict[int, Record]] = {}
        for record in self.systems:
            found.setdefault((record["system"], record["split"], record["dataset"]), {})[record["sample"]] = record
        return found

    def has(self, system: str, split: str) -> bool:
        """Whether a system was measured on a split of any data set."""
        return any(place[:2] == (system, split) for place in self._by_place)

    def values(self, system: str, split: str, dataset: str, measure: str) -> dict[int, Any]:
        """A measure by sample, where it is known."""
        samples = self._by_place.get((system, split, dataset), {})
        return {index: record[measure] for index, record in samples.items() if measure in record}

    def records_of(self, system: str, split: str, dataset: str) -> list[Record]:
        """The records of a system on the samples of a split of a data set."""
        return list(self._by_place.get((system, split, dataset), {}).values())

    def by_dataset(self, system: str, split: str, measure: str, datasets: Sequence[str]) -> dict[str, float]:
        """Mean of a measure over the samples of each data set that has any."""
        found = {name: self.values(system, split, name, measure) for name in datasets}
        return {name: float(np.mean(list(values.values()))) for name, values in found.items() if values}

    def mean(self, system: str, split: str, measure: str, datasets: Sequence[str]) -> float | None:
        """Mean over data sets."""
        found = self.by_dataset(system, split, measure, datasets)
        return float(np.mean(list(found.values()))) if found else None

    def differences(self, a: str, b: str, split: str, measure: str, datasets: Sequence[str]) -> dict[str, float]:
        """By data set, the mean over common samples of a system's measure minus another's."""
        found = {}
        for name in datasets:
            ours, theirs = (self.values(system, split, name, measure) for system in (a, b))
            common = ours.keys() & theirs.keys()
            if common:
                found[name] = float(np.mean([ours[index] - theirs[index] for index in common]))
        return found


def read(path: str | Path) -> Run:
    """Read a run's folder or file; what is unfinished is left out."""
    store = Store(path)
    run = store.run()
    records = list(store.records().values())
    return Run(store, spec.load(run["experiment"]), run["settings"], run["visits"], records)
