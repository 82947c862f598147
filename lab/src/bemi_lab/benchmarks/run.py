"""Runs benchmarks: JSON lines as they go, Markdown tables at the end."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bemi import engines
from bemi_lab.benchmarks import BENCHMARKS
from bemi_lab.benchmarks.common import Benchmark, Record, Settings, one_core


class NothingChosen(ValueError):
    """The options choose no cell."""


def get(name: str) -> Benchmark:
    """The benchmark of that name."""
    home: Any = import_module(f"bemi_lab.benchmarks.{BENCHMARKS[name][0]}")
    if hasattr(home, "BENCHMARKS"):
        return home.BENCHMARKS[name]
    return Benchmark(home.measurements, home.report)


def run(names: Sequence[str], settings: Settings, output: Path, *, read: bool) -> None:
    """Measure, or read what was measured, and print and write the tables."""
    engines.get(settings.engine)
    output.mkdir(parents=True, exist_ok=True)
    for name in names:
        lines = output / f"{name}.jsonl"
        records = _read(lines) if read else _measure(name, settings, lines)
        text = f"# {name}\n\n{_conditions(records)}\n\n{get(name).report(records)}\n"
        (output / f"{name}.md").write_text(text)
        print(text)


def _measure(name: str, settings: Settings, lines: Path) -> list[Record]:
    records: list[Record] = []
    where, benchmark = _where(), get(name)
    with contextlib.nullcontext() if benchmark.all_cores else one_core():
        for measured in benchmark.measurements(settings):
            record = measured | {"where": where}
            # An earlier file is replaced only once there is something to put in its place.
            with lines.open("a" if records else "w") as file:
                file.write(json.dumps(record) + "\n")
            records.append(record)
            _show(name, len(records), record)
    if not records:
        raise NothingChosen(f"{name}: no cell's name begins with {' or '.join(map(repr, settings.only))}")
    return records


def _read(lines: Path) -> list[Record]:
    return [json.loads(line) for line in lines.read_text().splitlines()]


def _show(name: str, count: int, record: Record) -> None:
    gap = record.get("mm", {}).get("gap")
    words = [name, str(count), record["cell"], f"seed {record['seed']}"]
    words += [record[name] for name in ("pair", "board", "system", "way") if name in record]
    words += [] if gap is None else [f"gap {gap:.3%}"]
    words += [f"{record['wall']:.2f} s"] if isinstance(record.get("wall"), float) else []
    print(*words, file=sys.stderr, flush=True)


def _where() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("bemi", "numpy", "highspy"))
    python = f"Python {platform.python_version()}"
    return f"{time.strftime('%Y-%m-%d')}, {_processor()}, {os.cpu_count()} cores, {python}, {packages}"


def _conditions(records: list[Record]) -> str:
    """Where and how it was measured, as the records tell it."""

    def all_of(field: str) -> str:
        return ", ".join(str(value) for value in dict.fromkeys(r[field] for r in records))

    return (
        f"{all_of('where')}. Engine {all_of('engine')}, {all_of('seconds_limit')} s per network, one network at a time "
        f"on one core unless stated otherwise, seeds {all_of('seed')}. Gap: (bound - objective) / objective."
    )


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
