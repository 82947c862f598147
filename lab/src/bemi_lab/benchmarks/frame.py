"""The frame of all benchmarks: cells are measured into JSON lines, and tables of them shown as Markdown and CSV."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bemi import engines
from bemi_lab.benchmarks import BENCHMARKS
from bemi_lab.experiments.table import Table

Record = dict[str, Any]
"""One line of a JSON-lines file; tables are made from these alone."""

OfRecords = Callable[[list[Record]], Any]

Column = str | OfRecords
"""From the records of a row of a table to a value: a function, or the path of a field of the first one."""


class NothingChosen(ValueError):
    """The options choose no cell."""


class Named(Protocol):
    """What ``--only`` chooses by."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Settings:
    """Options of the command line; ``pairs`` None leaves the choice to the benchmark.

    ``solvers`` are measured beside the engine on the whole-stage program, each with ``solver_seconds``.
    """

    engine: str
    seconds: float
    seeds: tuple[int, ...]
    pairs: int | None
    only: tuple[str, ...]
    solvers: tuple[str, ...] = ()
    solver_seconds: float = 60.0

    def wants(self, cell: Named) -> bool:
        return not self.only or any(fnmatch(cell.name, f"{text}*") for text in self.only)

    @property
    def limits(self) -> dict[str, Any]:
        """Engine and seconds, as classifiers take them."""
        return {"engine": self.engine, "time_limit": self.seconds}


@dataclass(frozen=True)
class Benchmark:
    """What is measured, and how it is shown."""

    cells: Sequence[Named]  # what --only chooses from
    measure: Callable[[Any, int, Settings], Iterable[Record]]
    """From a cell, a seed and settings to records, without the cell's name, seed and limits."""
    tables: Callable[[Sequence[Record]], Iterable[Table]]
    all_cores: bool = False  # it needs all cores instead of one

    def records(self, settings: Settings) -> Iterator[Record]:
        """Measure every wanted cell with every seed."""
        with contextlib.nullcontext() if self.all_cores else one_core():
            for cell in filter(settings.wants, self.cells):
                for seed in settings.seeds:
                    head = {"cell": cell.name, "seed": seed, "engine": settings.engine}
                    for record in self.measure(cell, seed, settings):
                        yield head | {"seconds_limit": settings.seconds} | record


def get(name: str) -> Benchmark:
    """The benchmark of that name."""
    return import_module(f"bemi_lab.benchmarks.{BENCHMARKS[name][0]}").BENCHMARKS[name]


def run(names: Sequence[str], settings: Settings, output: Path, *, read: bool) -> None:
    """Measure, or read what was measured, and print and write the tables."""
    engines.get(settings.engine)
    output.mkdir(parents=True, exist_ok=True)
    for name in names:
        benchmark, lines = get(name), output / f"{name}.jsonl"
        if read:
            records = [json.loads(line) for line in lines.read_text().splitlines()]
        else:
            records = _measured(name, benchmark, settings, lines)
        tables = list(benchmark.tables(records))
        text = "\n\n".join([f"# {name}", _conditions(records), *(table.markdown().strip() for table in tables)]) + "\n"
        (output / f"{name}.md").write_text(text)
        for number, table in enumerate(tables, start=1):
            (output / f"{name}{f'-{number}' if len(tables) > 1 else ''}.csv").write_text(table.csv())
        print(text)


def _measured(name: str, benchmark: Benchmark, settings: Settings, lines: Path) -> list[Record]:
    records: list[Record] = []
    packages = ", ".join(f"{package} {version(package)}" for package in ("bemi", "numpy", "highspy"))
    python = f"Python {platform.python_version()}"
    where = f"{time.strftime('%Y-%m-%d')}, {_processor()}, {os.cpu_count()} cores, {python}, {packages}"
    for record in benchmark.records(settings):
        records.append(record | {"where": where})
        # An earlier file is replaced only once there is something to put in its place.
        with lines.open("a" if records[1:] else "w") as file:
            file.write(json.dumps(records[-1]) + "\n")
        words = [name, str(len(records)), record["cell"], f"seed {record['seed']}"]
        words += [record[field] for field in ("pair", "board", "system", "way") if field in record]
        gap = at(record, "mm.gap")
        words += [] if gap is None else [f"gap {gap:.3%}"]
        words += [f"{record['wall']:.2f} s"] if isinstance(record.get("wall"), float) else []
        print(*words, file=sys.stderr, flush=True)
    if not records:
        wanted = f"no cell's name begins with {' or '.join(map(repr, settings.only))}"
        raise NothingChosen(f"{name}: {wanted if settings.only else 'what it measures is not installed here'}")
    return records


def _conditions(records: Sequence[Record]) -> str:
    """Where and how it was measured, as the records tell it."""
    where, engine, seconds, seeds = (
        ", ".join(dict.fromkeys(str(record[field]) for record in records))
        for field in ("where", "engine", "seconds_limit", "seed")
    )
    return (
        f"{where}. Engine {engine}, {seconds} s per network, one network at a time on one core unless stated "
        f"otherwise, seeds {seeds}. Gap: (bound - objective) / objective."
    )


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and its children on one of the cores that it may use."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


# Tables of records.


def table(
    records: Iterable[Record], by: Sequence[str], columns: Mapping[str, Column], caption: str = "", digits: int = 2
) -> Table:
    """A row for all records that have the same values ``by`` some fields; columns without any value are left out."""
    rows = [
        {
            heading: at(group[0], column) if isinstance(column, str) else column(group)
            for heading, column in columns.items()
        }
        for group in grouped(records, by)
    ]
    return Table(caption, rows, digits).without_empty_columns()


def grouped(records: Iterable[Record], by: Sequence[str]) -> list[list[Record]]:
    """Records that have the same values by some fields, in the order in which these come first."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(at(record, field) for field in by), []).append(record)
    return list(groups.values())


def by_stage(records: Iterable[Record], stages: Callable[[Record], Iterable[str]]) -> list[Record]:
    """A record for each of these stages of a network, with its results."""
    return [record | {"stage": stage} | record[stage] for record in records for stage in stages(record)]


def at(record: Record, path: str) -> Any:
    """The value of a field, or of one inside another: ``"mm.gap"``; None if there is none."""
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def values(records: Iterable[Record], path: str, times: float = 1) -> list[float]:
    """The known values of a field."""
    return [times * value for record in records if (value := at(record, path)) is not None]


def mean(path: str, times: float = 1) -> OfRecords:
    """The mean of the known values of a field."""
    return lambda records: float(np.mean(found)) if (found := values(records, path, times)) else None


def largest(path: str, times: float = 1) -> OfRecords:
    """The largest known value of a field."""
    return lambda records: float(max(found)) if (found := values(records, path, times)) else None


def known(path: str) -> OfRecords:
    """How many records have a value of a field."""
    return lambda records: len(values(records, path))


def integer(path: str) -> OfRecords:
    """The mean of a field as a whole number."""
    return lambda records: round(float(np.mean(found))) if (found := values(records, path)) else None


def joined(path: str, form: str = "", times: float = 1) -> OfRecords:
    """The values of a field in all records, between slashes."""

    def text(records: list[Record]) -> str:
        found = (at(record, path) for record in records)
        return " / ".join("-" if v is None or v != v else format(v if times == 1 else times * v, form) for v in found)

    return text


def share(path: str) -> OfRecords:
    """The mean of a field in %."""
    return mean(path, 100)
