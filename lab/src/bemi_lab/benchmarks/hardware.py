"""Ensembles as circuits: labels in two simulators beside Python's, and what synthesis, placement and routing need."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bemi.export import verilog
from bemi_lab import classifiers, datasets
from bemi_lab.benchmarks.frame import Benchmark, Column, Record, Settings, at, share, table
from bemi_lab.benchmarks.problems import image_set, sample, unseen_images
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Split
from bemi_lab.experiments.table import Table

RANDOM_ROWS = 10_000
ICARUS_ROWS = 250
"""Random rows, and test rows at most, that Icarus Verilog runs too; it is hundreds of times slower than Verilator."""

TOOLS = ("iverilog", "verilator", "yosys", "nextpnr-ice40")

LUT6_CELLS = {"$lut": "luts"}
ICE40_CELLS = {"SB_LUT4": "luts", "SB_RAM40_4K": "block_rams", "SB_CARRY": "carries"}


@dataclass(frozen=True)
class Task:
    """A model and the interface of its circuit."""

    data: str
    networks: str
    interface: str
    make: Callable[..., Classifier]

    @property
    def name(self) -> str:
        return f"{self.data} {self.networks} {self.interface}"

    def rows(self, seed: int) -> tuple[Any, Any, Any, Any]:
        """Training rows with labels, and test rows with theirs."""
        if self.data == "digits":
            return *sample("digits", 10, seed), *unseen_images("digits", 10, seed)
        if self.data == "mnist":
            return *sample("mnist", 10, seed), image_set("mnist").test_X, image_set("mnist").test_y
        rows = datasets.load(self.data)
        X, y = rows.table, rows.train_y
        train, test = Split.parse("fold").of_table(y, seed)
        return X.iloc[train], y[train], X.iloc[test], y[test]


BITS = partial(classifiers.usual, "tables")
SOFT = partial(classifiers.usual, "images", inputs=None)
"""The recommended settings for tables, and those for images without their histograms."""

TASKS = (
    Task("heart920", "bits", "stream", BITS),
    Task("heart920", "bits", "parallel", BITS),
    Task("wine", "values and bits", "stream", partial(BITS, inputs="values-and-bits")),
    Task("glass", "bits", "stream", BITS),
    Task("digits", "the paper's", "stream", classifiers.paper),
    Task("mnist", "the paper's", "stream", classifiers.paper),
    Task("digits", "soft margins", "stream", SOFT),
)


def _circuit(task: Task, seed: int, settings: Settings) -> Iterator[Record]:
    """One record, or one that says what is ``missing``."""
    absent = [tool for tool in TOOLS if _version(tool) is None]
    if absent:
        yield {"missing": f"{absent[0]} is not installed"}
        return
    X, y, test_X, test_y = task.rows(seed)
    model = task.make(**settings.limits).fit(X, y)
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as fewer:
        made = verilog.write(model, place, interface=task.interface, vectors=RANDOM_ROWS, rows=test_X)
        verilog.write(model, fewer, interface=task.interface, vectors=ICARUS_ROWS, rows=test_X[:ICARUS_ROWS])
        yield {
            "accuracy": float(np.mean(model.predict(test_X) == test_y)),
            "test_rows": len(test_y),
            "estimated": vars(made.costs),
            **_measured(Path(place), Path(fewer)),
            "tools": ", ".join(f"{tool} {_version(tool)}" for tool in TOOLS),
        }


def _measured(folder: Path, fewer: Path) -> Record:
    """Differences in the simulators, warnings, and what synthesis, placement and routing report.

    The folder ``fewer`` has the same circuit and fewer rows.
    """
    lint = subprocess.run(["verilator", "--lint-only", "-Wall", "bemi_model.v"], cwd=folder, capture_output=True)
    _make(folder, "ice40.txt", "ice40.json", "lut6.txt", "verilated/Vtest_bench")
    _make(fewer, "test.vvp")
    found: Record = {"lint_clean": lint.returncode == 0, "placed": _placed(folder)}
    found |= {"ice40": _cells(folder / "ice40.txt", ICE40_CELLS), "lut6": _cells(folder / "lut6.txt", LUT6_CELLS)}
    found["verilator"] = _simulated(folder, "verilated/Vtest_bench")
    found["verilator_gaps"] = _simulated(folder, "verilated/Vtest_bench", "+gaps")
    found["icarus"] = _simulated(fewer, "vvp", "-n", "test.vvp")
    found["icarus_gaps"] = _simulated(fewer, "vvp", "-n", "test.vvp", "+gaps")
    return found


def _make(folder: Path, *targets: str) -> None:
    subprocess.run(["make", "-s", "-C", folder, *targets], check=True, capture_output=True)


def _simulated(folder: Path, *command: str) -> Record:
    path = folder / command[0]
    command = (str(path), *command[1:]) if path.exists() else command
    printed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    pattern = r"(\d+) predictions, (\d+) differences, first after (\d+) cycles, then every (\d+) to (\d+)"
    match = re.search(pattern, printed)
    assert match is not None, printed
    names = ("predictions", "differences", "first", "fewest", "most")
    return dict(zip(names, map(int, match.groups()), strict=True))


def _cells(path: Path, names: dict[str, str]) -> Record:
    """Cells of some kinds, flip-flops, and logic depth, as Yosys counts them."""
    text = path.read_text()
    counts = {kind: int(count) for kind, count in re.findall(r"^ +(\S+) +(\d+)$", text, re.MULTILINE)}
    depth = re.search(r"length=(\d+)", text)
    return {
        **{name: counts.get(kind, 0) for kind, name in names.items()},
        "flip_flops": sum(count for kind, count in counts.items() if "DFF" in kind),
        "depth": int(depth.group(1)) if depth else None,
    }


def _placed(folder: Path) -> Record:
    """Logic cells, block RAMs and the clock on an iCE40 HX8K; what went wrong if it does not fit."""
    done = subprocess.run(["make", "-s", "-C", folder, "place"], capture_output=True, text=True)
    log = (folder / "place.log").read_text()
    if done.returncode:
        return {"missing": next((line for line in log.splitlines() if line.startswith("ERROR")), "it failed")}
    uses = {name: int(used) for name, used in re.findall(r"ICESTORM_(LC|RAM):\s+(\d+)/", log)}
    clocks = re.findall(r"Max frequency for clock .*?: ([\d.]+) MHz", log)
    return {"logic_cells": uses["LC"], "block_rams": uses.get("RAM", 0), "megahertz": float(clocks[-1])}


def _version(tool: str) -> str | None:
    option = "-V" if tool in ("iverilog", "yosys") else "--version"
    try:
        done = subprocess.run([tool, option], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    found = re.search(r"\d+\.[\d.]*\d", done.stdout + done.stderr)
    return found.group() if found else "of an unknown version"


def _differences(records: list[Record]) -> int | None:
    found = [at(records[0], f"{run}.differences") for run in ("icarus", "icarus_gaps", "verilator", "verilator_gaps")]
    return None if None in found else sum(found)


def _rows_per_second(records: list[Record]) -> int | None:
    megahertz, clocks = at(records[0], "placed.megahertz"), at(records[0], "estimated.interval")
    return None if megahertz is None else round(1e6 * megahertz / clocks)


def _tables(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"model": "cell", "seed": "seed", "missing": "missing", "accuracy %": share("accuracy")},
        **{"rows compared": "verilator.predictions", "differences": _differences},
        "lint": lambda rs: {None: None, True: "clean", False: "warnings"}[rs[0].get("lint_clean")],
        **{"LUT4": "ice40.luts", "LUT4 estimated": "estimated.luts"},
        **{"flip-flops": "ice40.flip_flops", "flip-flops estimated": "estimated.flip_flops"},
        **{"block RAM": "ice40.block_rams", "block RAM estimated": "estimated.block_rams"},
        **{"depth in LUT4": "ice40.depth", "LUT6": "lut6.luts", "flip-flops beside LUT6": "lut6.flip_flops"},
        **{"depth in LUT6": "lut6.depth", "clocks to a label": "estimated.latency"},
        **{"clocks per label": "estimated.interval", "clocks with ties at most": "verilator.most"},
        **{"logic cells": "placed.logic_cells", "clock MHz": "placed.megahertz", "rows per second": _rows_per_second},
        "does not fit": "placed.missing",
    }
    tools = next((record["tools"] for record in records if "tools" in record), "Nothing measured")
    yield table(records, ["cell", "seed"], columns, f"{tools}.", digits=1)


BENCHMARKS = {"hardware": Benchmark(TASKS, _circuit, _tables)}
