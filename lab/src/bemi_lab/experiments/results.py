"""Results of a run, read from its folder and summarised by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bemi.network import bits_per_weight
from bemi.stages.result import relative_gap
from bemi_lab.experiments import spec
from bemi_lab.experiments.folder import NoResults, read_json, read_run
from bemi_lab.experiments.spec import AXES, PAPER_IMAGES, Cell, Experiment

Record = dict[str, Any]

CONFIDENCE = 0.95

OURS = "bemi"
"""Name of our ensembles among the alternatives in a record."""


@dataclass(frozen=True)
class Spread:
    """Mean, smallest and largest value over the samples of a cell."""

    mean: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(float(np.mean(values)), float(np.min(values)), float(np.max(values)))


def interval(values: Sequence[float]) -> Spread | None:
    """The mean and its 95 % confidence interval by Student's t; values are independent, one per table or sample."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) < 2:
        return Spread(mean, mean, mean)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Spread(mean, mean - half, mean + half)


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
    """A run as stored on disk."""

    folder: Path
    experiment: Experiment
    settings: dict[str, Any]
    visits: list[dict[str, Any]]
    cells: list[CellResult]
    systems: list[Record]

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

    def varying(self) -> list[str]:
        """Axes on which the cells differ."""
        return [axis for axis in AXES if len({getattr(c.cell, axis) for c in self.cells}) > 1]


def read(folder: str | Path) -> Run:
    """Read a run's folder; unfinished cells and samples are left out."""
    folder = Path(folder)
    run = read_run(folder)
    records = [read_json(folder, path) for path in sorted((folder / "results").glob("*.json"))]
    systems = [read_json(folder, path) for path in sorted((folder / "systems").glob("*.json"))]
    if not records:
        raise NoResults(f"{folder} has no finished result yet; run bemi-lab reproduce again to continue")
    experiment = spec.load(run["experiment"])
    paper = experiment.paper if run["settings"]["dataset"] == experiment.dataset else {}
    grouped: dict[Cell, list[Record]] = {}
    for record in sorted(records, key=lambda r: r["sample"]):
        cell = spec.cell(record["cell"])
        grouped.setdefault(cell, []).append(record)
    order = {cell: position for position, cell in enumerate(experiment.cells)}
    cells = [
        CellResult(cell, grouped[cell], dict(paper.get(cell, {})))
        for cell in sorted(grouped, key=lambda c: (order.get(c, len(order)), c.name))
    ]
    return Run(folder, experiment, run["settings"], run["visits"], cells, systems)
