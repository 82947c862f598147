"""Where a run is kept: a folder with one file per finished job while it runs, one compressed file afterwards.

A run NAME is the folder ``NAME/``, with ``run.json`` (what was asked for, on which machine, how long it took),
``results/KEY.json`` (a record per finished job) and ``networks/`` (trained networks); or the file ``NAME.jsonl.gz``,
whose first line is the content of ``run.json``, and each other line a record with its key.  If both are there, the run
is what they hold together, so that a packed run can be continued.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import zlib
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import bemi
from bemi import solvers
from bemi.files import write_atomically
from bemi_lab.experiments.spec import RANDOM_IMAGES, Settings

Record = dict[str, Any]

PACKED = ".jsonl.gz"


class OtherRun(ValueError):
    """The run holds results of other settings."""


class NoResults(ValueError):
    """A path is not a run, or has no finished result."""


class Store:
    """A run on disk; ``path`` is its folder or its packed file, of which either may be missing."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        self.folder = path.with_name(path.name.removesuffix(PACKED))
        self.file = self.folder.with_name(self.folder.name + PACKED)
        self.name = self.folder.name

    def open(self, experiment: str, settings: Settings) -> Record:
        """The content of ``run.json``, new or from an earlier run; raises OtherRun if its settings differ."""
        asked: Record = {"experiment": experiment, "settings": asdict(settings), "visits": []}
        run = self.run() if self._written.exists() or self.file.exists() else asked
        if run["experiment"] != experiment:
            raise OtherRun(f"{self.folder} holds a run of {run['experiment']}; choose another folder for {experiment}")
        for key, value in asdict(settings).items():
            if run["settings"].get(key) != value:
                raise OtherRun(
                    f"{self.folder} holds a run with {key} {run['settings'].get(key)!r}, not {value!r}; choose another "
                    "folder or the same settings"
                )
        (self.folder / "results").mkdir(parents=True, exist_ok=True)
        self.write_run(run)
        return run

    @property
    def _written(self) -> Path:
        return self.folder / "run.json"

    def run(self) -> Record:
        """What was asked for, and all visits; raises NoResults if this is not a run."""
        if self._written.exists() or not self.file.exists():
            run = self._read(self._written)
        else:
            run, _ = self._packed
        # Runs from before there was a choice have random images.
        run["settings"].setdefault("images", RANDOM_IMAGES)
        return run

    def write_run(self, run: Record) -> None:
        """Replace what was asked for and the visits."""
        _write(self._written, run)

    def has(self, key: str) -> bool:
        """Whether a job is finished."""
        return self._path(key).exists() or (self.file.exists() and key in self._packed[1])

    def read(self, key: str) -> Record:
        """The record of a finished job."""
        return self._read(self._path(key)) if self._path(key).exists() else self._packed[1][key]

    def write(self, key: str, record: Record) -> None:
        """Keep the record of a finished job."""
        _write(self._path(key), record)

    def records(self) -> dict[str, Record]:
        """All records by key, in the order of the keys."""
        found = dict(self._packed[1]) if self.file.exists() else {}
        found |= {path.stem: self._read(path) for path in (self.folder / "results").glob("*.json")}
        if not found:
            raise NoResults(f"{self.folder} has no finished result yet; run bemi-lab reproduce again to continue")
        return dict(sorted(found.items()))

    def pack(self) -> Path:
        """Write the run as one file beside its folder, without its networks, and return the file."""
        lines = [json.dumps(self.run(), allow_nan=False)]
        for key, record in self.records().items():
            lines.append(json.dumps({"key": key} | _without_files(record), allow_nan=False))
        text = "\n".join(lines) + "\n"
        # Without a time in it, the same run gives the same bytes.
        write_atomically({self.file: gzip.compress(text.encode(), mtime=0)})
        self.__dict__.pop("_packed", None)
        return self.file

    @cached_property
    def _packed(self) -> tuple[Record, dict[str, Record]]:
        """The run and the records of the packed file."""
        try:
            first, *others = gzip.decompress(self.file.read_bytes()).splitlines()
            records = [json.loads(line) for line in others]
            return json.loads(first), {record.pop("key"): record for record in records}
        except (ValueError, KeyError, OSError, EOFError, zlib.error) as error:
            raise NoResults(f"{self.file} is damaged: {error}") from None

    def _path(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.json"

    def _read(self, path: Path) -> Record:
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise NoResults(
                f"{self.folder} is not a run: it has no {path.name}; make one with: bemi-lab reproduce"
            ) from None
        except ValueError as error:
            raise NoResults(f"{self.folder} has a damaged file: {error}") from None


def machine(solver: str) -> Record:
    """Where and with what a run is made."""
    return {
        "cores": os.cpu_count(),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "bemi": bemi.__version__,
        "solver": f"{solver} {solvers.get(solver).version()}",
    }


def _write(path: Path, content: Record) -> None:
    write_atomically({path: (json.dumps(content, allow_nan=False) + "\n").encode()})


def _without_files(record: Record) -> Record:
    """A record that names no files of networks, which are not packed."""
    if "networks" not in record:
        return record
    networks = [{name: value for name, value in net.items() if name != "file"} for net in record["networks"]]
    return record | {"networks": networks}
