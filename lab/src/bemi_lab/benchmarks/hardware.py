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
from bemi_lab.benchmarks.common import Benchmark, Record, Settings, image_set, percent, sample, unseen_images
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Split
from bemi_lab.experiments.table import markdown

RANDOM_ROWS = 10_000

TOOLS = ("iverilog", "verilator", "yosys", "nextpnr-ice40")

LUT6_CELLS = {"$lut": "luts"}
ICE40_CELLS = {"SB_LUT4": "luts", "SB_RAM40_4K": "block_rams", "SB_CARRY": "carries"}


@dataclass(frozen=True)
class Rows:
    """Training rows, and test rows with their labels."""

    X: Any
    y: Any
    test_X: Any
    test_y: Any


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

    def rows(self, seed: int) -> Rows:
        if self.data == "digits":
            return Rows(*sample("digits", 10, seed), *unseen_images("digits", 10, seed))
        if self.data == "mnist":
            known = image_set("mnist")
            return Rows(*sample("mnist", 10, seed), known.test_X, known.test_y)
        table = datasets.load(self.data)
        X, y = table.table, table.train_y
        train, test = Split.parse("fold").of_table(y, seed)
        return Rows(X.iloc[train], y[train], X.iloc[test], y[test])


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


def measurements(settings: Settings) -> Iterator[Record]:
    """One record per circuit, or one that says what is ``missing``."""
    for task, seed, head in settings.chosen(TASKS):
        absent = [tool for tool in TOOLS if _version(tool) is None]
        if absent:
            yield head | {"missing": f"{absent[0]} is not installed"}
            continue
        rows = task.rows(seed)
        model = task.make(**settings.limits)
        model.fit(rows.X, rows.y)
        with tempfile.TemporaryDirectory() as place:
            made = verilog.write(model, place, interface=task.interface, vectors=RANDOM_ROWS, rows=rows.test_X)
            yield head | {
                "accuracy": float(np.mean(model.predict(rows.test_X) == rows.test_y)),
                "test_rows": len(rows.test_y),
                "estimated": vars(made.costs),
                **_measured(Path(place)),
                "tools": ", ".join(f"{tool} {_version(tool)}" for tool in TOOLS),
            }


def _measured(folder: Path) -> Record:
    """Differences in the simulators, warnings, and what synthesis, placement and routing report."""
    lint = subprocess.run(["verilator", "--lint-only", "-Wall", "bemi_model.v"], cwd=folder, capture_output=True)
    _make(folder, "ice40.txt", "ice40.json", "lut6.txt", "test.vvp", "verilated/Vtest_bench")
    found: Record = {"lint_clean": lint.returncode == 0, "placed": _placed(folder)}
    found |= {"ice40": _cells(folder / "ice40.txt", ICE40_CELLS), "lut6": _cells(folder / "lut6.txt", LUT6_CELLS)}
    found["verilator"] = _simulated(folder, "verilated/Vtest_bench")
    found["verilator_gaps"] = _simulated(folder, "verilated/Vtest_bench", "+gaps")
    found["icarus"] = _simulated(folder, "vvp", "-n", "test.vvp")
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


def report(records: Sequence[Record]) -> str:
    headings = (
        *("circuit", "accuracy %", "rows tried", "differences: Icarus", "Verilator", "lint"),
        *("iCE40 LUT4 (estimated)", "flip-flops", "block RAM", "depth", "LUT6", "flip-flops", "depth"),
        *("HX8K logic cells", "MHz"),
        *("cycles to a label", "then every", "at most"),
    )
    rows = [_row(record) for record in records]
    tools = next((record["tools"] for record in records if "tools" in record), "Nothing measured")
    return f"{tools}.\n\n{markdown(headings, rows)}"


def _row(record: Record) -> tuple[object, ...]:
    if "missing" in record:
        return (record["cell"], record["missing"], *["-"] * 16)
    icarus, verilated, ice40, lut6 = (record[name] for name in ("icarus", "verilator", "ice40", "lut6"))
    placed = record["placed"]
    fits = ("no", "-") if "missing" in placed else (f"{placed['logic_cells']:,}", f"{placed['megahertz']:.1f}")
    return (
        *(record["cell"], percent(record["accuracy"]), f"{icarus['predictions']:,}"),
        *(icarus["differences"], verilated["differences"] + record["verilator_gaps"]["differences"]),
        "clean" if record["lint_clean"] else "warnings",
        *(f"{ice40[name]:,} ({record['estimated'][name]:,})" for name in ("luts", "flip_flops", "block_rams")),
        *(ice40["depth"], f"{lut6['luts']:,}", f"{lut6['flip_flops']:,}", lut6["depth"]),
        *fits,
        *(f"{number:,}" for number in (record["estimated"]["latency"], icarus["fewest"], icarus["most"])),
    )


BENCHMARKS = {"hardware": Benchmark(measurements, report)}
