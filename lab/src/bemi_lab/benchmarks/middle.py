"""Random tables of middle size: what is proved optimal in each stage, beside solvers on the whole-stage program.

Sizes are S (6 inputs, 10 rows), M (12, 30), L (20, 60) and XL (30, 100), the last only to see what strategies
contribute where neurons cannot be listed.  Data are "pixel" (0 to 255, half of them 0) or "signed"
(-10 to 10).  Labels are "plane" (one neuron separates them), "net" (a network of this shape does) or "noisy" (a plane,
with 15 % of the labels turned round).  A cell is named ``M-signed-plane-4x4-P1``, so ``--only 'M-*-2-P1'`` chooses a
size, a shape and a weight bound.  A bound counts as certified once the checker has accepted the certificate.
"""

from __future__ import annotations

import math
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from bemi import limits, save, verify
from bemi.certificate.limits import CertificateError
from bemi.exact import Integers
from bemi.stages.registry import PAPER_STAGES
from bemi.stages.result import Outcome
from bemi_lab import classifiers
from bemi_lab.benchmarks.frame import Benchmark, Column, Record, Settings, by_stage, known, largest, mean, share, table
from bemi_lab.benchmarks.problems import stage_record, warm_up
from bemi_lab.experiments.table import Table

SIZES = {"S": (6, 10), "M": (12, 30), "L": (20, 60), "XL": (30, 100)}
SHAPES = ((2,), (3,), (4, 4))
WEIGHT_BOUNDS = (1, 3)
LABELS = ("plane", "net", "noisy")
DATA = ("pixel", "signed")
FLIPPED = 0.15
SMALLER_CLASS = 0.3
"""Its least share of the rows before labels are turned round."""


@dataclass(frozen=True)
class Tables:
    """Random tables of one kind."""

    size: str
    data: str
    labels: str
    hidden: tuple[int, ...]
    weight_bound: int

    @property
    def name(self) -> str:
        return f"{self.size}-{self.data}-{self.labels}-{'x'.join(map(str, self.hidden))}-P{self.weight_bound}"

    def draw(self, seed: int) -> tuple[Integers, Integers]:
        """Rows, and their codes, 1 or -1."""
        rng = np.random.default_rng(zlib.crc32(f"{self.name}-s{seed}".encode()))
        inputs, count = SIZES[self.size]
        sizes = [inputs, *(self.hidden if self.labels == "net" else ()), 1]
        while True:
            bound = self.weight_bound
            weights = [rng.integers(-bound, bound + 1, (a, b)) for a, b in pairwise(sizes)]
            data = self._rows(rng, 4 * count, inputs)
            data = data[np.abs(data).sum(axis=1) > 0]
            usable = np.ones(len(data), bool)
            signs = data
            for matrix in weights:
                sums = signs @ matrix
                usable &= (sums != 0).all(axis=1)
                signs = np.where(sums >= 0, 1, -1)
            # The planted network has margins on the rows that are kept.
            data, codes = data[usable][:count], signs[usable][:count, 0]
            if len(data) < count or not SMALLER_CLASS <= (codes > 0).mean() <= 1 - SMALLER_CLASS:
                continue
            if self.labels == "noisy":
                codes[rng.permutation(count)[: math.ceil(FLIPPED * count)]] *= -1
            return data, codes

    def _rows(self, rng: np.random.Generator, count: int, inputs: int) -> Integers:
        if self.data == "pixel":
            return rng.integers(1, 256, (count, inputs)) * (rng.random((count, inputs)) < 0.5)
        return rng.integers(-10, 11, (count, inputs))


def cells(size: str, weight_bound: int) -> list[Tables]:
    """All tables of a size and a weight bound."""
    return [Tables(size, data, labels, hidden, weight_bound) for hidden, labels, data in product(SHAPES, LABELS, DATA)]


CELLS = [cell for size, bound in product(("S", "M", "L"), WEIGHT_BOUNDS) for cell in cells(size, bound)]


@contextmanager
def processor_time() -> Iterator[None]:
    """Limits count seconds of the processor: the machine may have other work."""
    usual, limits.clock = limits.clock, time.process_time
    try:
        yield
    finally:
        limits.clock = usual


def _beside_solvers(cell: Tables, seed: int, settings: Settings) -> Iterator[Record]:
    data, codes = cell.draw(seed)
    yield {"system": settings.engine} | _measure(cell, data, codes, settings.engine, settings.seconds)
    for solver in settings.solvers:
        head = {"system": solver, "engine": "monolithic", "seconds_limit": settings.solver_seconds}
        yield head | _measure(cell, data, codes, "monolithic", settings.solver_seconds, solver)


def _measure(
    cell: Tables, data: Integers, codes: Integers, engine: str, seconds: float, solver: str = "highs"
) -> Record:
    """Train one network, and check its certificate."""
    classifier = classifiers.paper(
        hidden_layers=cell.hidden,
        weight_bound=cell.weight_bound,
        engine=engine,
        solver=solver,
        time_limit=seconds,
        gap=0.0,
    )
    warm_up(engine)
    wall, cpu = time.perf_counter(), time.process_time()
    with processor_time():
        # Class 0 has code 1.
        classifier.fit(data, (codes < 0).astype(int))
    measured: Record = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    (reports,) = classifier.reports_.values()
    accepted = _accepted(classifier)
    for stage, report in reports.items():
        proved = report.gap == 0 or report.outcome is Outcome.INFEASIBLE
        certified = accepted is None and report.proof == "certified"
        measured[stage] = stage_record(report) | {"proved": proved, "certified": certified}
    return measured | {"refused": accepted}


def _accepted(classifier: Any) -> str | None:
    """None if the checker accepts the certificate, otherwise why not."""
    with tempfile.TemporaryDirectory() as folder:
        save(classifier, Path(folder) / "model")
        try:
            verify(Path(folder) / "model")
        except CertificateError as error:
            return str(error)
    return None


def _yes(field: str) -> Column:
    return lambda records: "yes" if records[0][field] else "no"


def _tables(records: Sequence[Record]) -> Iterator[Table]:
    results = by_stage(records, lambda record: PAPER_STAGES)
    for record in results:
        record["size"], record["data"], _, record["hidden"], bound = record["cell"].split("-")
        record["P"] = bound.removeprefix("P")
    kinds = ("size", "data", "hidden", "P", "system", "stage")
    summary: dict[str, Column] = {
        **{field: field for field in kinds},
        "networks": len,
        "proved": lambda rs: sum(r["proved"] for r in rs),
        "certified": lambda rs: sum(r["proved"] and r["certified"] for r in rs),
        "with a network": known("gap"),
        **{"gap mean %": share("gap"), "max %": largest("gap", 100), "s": mean("seconds")},
    }
    single: dict[str, Column] = {
        **{"tables": "cell", "seed": "seed", "system": "system", "stage": "stage"},
        **{"value": "objective", "bound": "bound", "gap %": share("gap")},
        **{"proved": _yes("proved"), "certified": _yes("certified")},
        **{"rows": "rows", "s": "seconds", "message": "message", "refused by the checker": "refused"},
    }
    yield table(results, kinds, summary, "Proved, and certified among the proved; CPU seconds per network.")
    yield table(results, ("cell", "seed", "system", "stage"), single, "## Networks")


BENCHMARKS = {"middle": Benchmark(CELLS, _beside_solvers, _tables)}
