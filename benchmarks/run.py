"""Run benchmarks: JSON lines as they go, Markdown tables at the end.

python -m benchmarks.run                          everything (hours)
python -m benchmarks.run table --pairs 5          the gap table on 5 of the 45 pairs
python -m benchmarks.run table --only "mnist 4,4" only cells whose name begins like this
python -m benchmarks.run table --read             make the tables of an earlier run again
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

from bemi import engines
from bemi.datasets import DatasetError
from benchmarks import (
    chances,
    devices,
    ensemble,
    exact,
    growth,
    hardware,
    light,
    predict,
    scaling,
    sidebyside,
    table,
)
from benchmarks.common import Record, Settings, one_core

BENCHMARKS = {
    "table": table,
    "sidebyside": sidebyside,
    "growth": growth,
    "light": light,
    "ensemble": ensemble,
    "predict": predict,
    "devices": devices,
    "hardware": hardware,
    "scaling": scaling,
    "chances": chances,
    "exact": exact,
}


class NothingChosen(Exception):
    """The options choose no cell."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("names", nargs="*", metavar="|".join(BENCHMARKS), help="which benchmarks (default: all)")
    add("--engine", default="decomposition", help="engine to measure (default: %(default)s)")
    add("--seconds", type=float, default=10.0, help="time limit per network (default: %(default)s)")
    add("--seeds", type=_integers, default=(0,), metavar="0,1,..", help="draws of images (default: 0)")
    add(
        "--pairs",
        type=_count,
        help="class pairs, evenly spaced (default: table all, others 3; not for ensemble, predict, devices)",
    )
    add(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="only cells whose name begins like this; * matches anything",
    )
    add("--output", type=Path, default=Path("benchmarks/results"), metavar="DIR", help="default: %(default)s")
    add("--read", action="store_true", help="measure nothing, make the tables from the lines in DIR")
    options = parser.parse_args()
    names = options.names or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"unknown benchmark {name!r}; known: {', '.join(BENCHMARKS)}")
    try:
        engines.get(options.engine)
    except ValueError as error:
        parser.error(str(error))
    settings = Settings(options.engine, options.seconds, options.seeds, options.pairs, tuple(options.only))
    options.output.mkdir(parents=True, exist_ok=True)
    for name in names:
        lines = options.output / f"{name}.jsonl"
        try:
            records = _read(lines) if options.read else _measure(name, settings, lines)
        except (DatasetError, NothingChosen, FileNotFoundError) as error:
            parser.error(str(error))
        text = f"# {name}\n\n{_conditions(records)}\n\n{BENCHMARKS[name].report(records)}\n"
        (options.output / f"{name}.md").write_text(text)
        print(text)


def _measure(name: str, settings: Settings, lines: Path) -> list[Record]:
    records: list[Record] = []
    where = _where()
    # Whole classifiers need the other core.
    with one_core() if name not in ("ensemble", "scaling", "exact") else contextlib.nullcontext():
        for measured in BENCHMARKS[name].measurements(settings):
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
    words += [record[name] for name in ("pair", "board", "system") if name in record]
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


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count


if __name__ == "__main__":
    main()
