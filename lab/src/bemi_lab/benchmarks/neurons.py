"""The single neuron at its best on random tables: its largest margin under given signs, and under any.

A cell is named ``any-signed-14x40-P3``: signs ("labels", those of a random neuron, or "any"), data ("pixel", 0 to 255
and half of them 0, or "signed", -10 to 10), inputs and rows, and the weight bound.  A proof counts once the certificate
checker has accepted it.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import CertificateError
from bemi.certificate.widest import neuron_bound
from bemi.engines.decomposition.neuron.widest import widest
from bemi.exact import Integers
from bemi.limits import Limits
from bemi_lab.benchmarks.frame import Benchmark, Column, Record, Settings, largest, mean, table
from bemi_lab.benchmarks.middle import processor_time
from bemi_lab.experiments.table import Table

SMALLER_CLASS = 0.3
"""The least share of the rows that a random neuron gives the rarer sign."""


@dataclass(frozen=True)
class Neurons:
    """Random tables of one kind, and whether the signs are given."""

    signs: str
    data: str
    inputs: int
    rows: int
    weight_bound: int

    @property
    def name(self) -> str:
        return f"{self.signs}-{self.data}-{self.inputs}x{self.rows}-P{self.weight_bound}"

    def draw(self, seed: int) -> tuple[Integers, Integers]:
        """Rows, and the sign of each; 0 for either."""
        rng = np.random.default_rng(zlib.crc32(f"{self.name}-s{seed}".encode()))
        while True:
            shape = (self.rows, self.inputs)
            data = rng.integers(-10, 11, shape)
            if self.data == "pixel":
                data = rng.integers(1, 256, shape) * (rng.random(shape) < 0.5)
            data = data[data.any(axis=1)]
            if self.signs == "any":
                return data, np.zeros(len(data), dtype=np.int64)
            sums = data @ rng.integers(-self.weight_bound, self.weight_bound + 1, self.inputs)
            data, signs = data[sums != 0], np.sign(sums[sums != 0])
            if len(data) and SMALLER_CLASS <= (signs > 0).mean() <= 1 - SMALLER_CLASS:
                return data, signs


def _largest_margin(cell: Neurons, seed: int, settings: Settings) -> Iterator[Record]:
    widest(*Neurons(cell.signs, "signed", 9, 20, 7).draw(0), 7, Limits().deadline())  # what is compiled
    data, signs = cell.draw(seed)
    began = time.process_time()
    with processor_time():
        found = widest(data, signs, cell.weight_bound, Limits(seconds=settings.seconds).deadline())
    record = {"margin": found.margin, "bound": found.bound, "cpu": time.process_time() - began}
    yield record | {"proved": found.bound == found.margin, "certified": _accepted(cell, data, signs, found.proof)}


def _accepted(cell: Neurons, data: Integers, signs: Integers, proof: list[Any] | None) -> bool:
    rows = Rows(data.tolist(), [(1,)] * len(data), [cell.inputs, 1, 1], cell.weight_bound)
    try:
        return proof is not None and neuron_bound(rows, signs.tolist(), proof) == proof[0]
    except CertificateError:
        return False


def _tables(records: Sequence[Record]) -> Iterator[Table]:
    for record in records:
        record["signs"], record["data"], record["inputs x rows"], bound = record["cell"].split("-")
        record["P"] = bound.removeprefix("P")
        record["open"] = record["bound"] / max(1, record["margin"]) - 1
    columns: dict[str, Column] = {
        **{field: field for field in ("signs", "data", "inputs x rows", "P")},
        "neurons": len,
        "proved": lambda rs: sum(r["proved"] for r in rs),
        "certified": lambda rs: sum(r["proved"] and r["certified"] for r in rs),
        **{"largest gap %": largest("open", 100), "CPU s": mean("cpu"), "longest": largest("cpu")},
    }
    yield table(records, ["cell"], columns)


GIVEN = [
    Neurons("labels", data, inputs, rows, bound)
    for inputs, rows in ((14, 40), (20, 60))
    for data in ("pixel", "signed")
    for bound in (1, 3, 7)
]
ANY = [
    Neurons("any", "signed", *sizes)
    for sizes in ((14, 40, 1), (20, 60, 1), (12, 30, 3), (13, 131, 3), (14, 40, 3), (14, 40, 7), (20, 60, 3))
]

BENCHMARKS = {"neurons": Benchmark([*GIVEN, *ANY], _largest_margin, _tables)}
