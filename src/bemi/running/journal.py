"""Finished networks on disk: one file each, named by a digest of everything that determines the result."""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from functools import partial
from pathlib import Path
from typing import Any

from bemi.files import write_atomically
from bemi.stages.records import flat_weights, network_of, stage_claim, stage_result
from bemi.stages.result import StageResult
from bemi.training.pipeline import Training

FORMAT = 2

_LAZY = ("added", "rounds", "violated")
"""Fields of a training with variants; a file without variants has none of them."""


class Journal:
    """A folder of finished trainings.

    A file appears under its name only when it is complete, so all files are intact even after an interrupt or a crash.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"the run folder {folder} cannot be created: a file of that name exists") from None

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.json.gz"

    def read(self, key: str) -> Training | None:
        """The training with this key; None if it is missing, or damaged, which gives a warning."""
        path = self.path(key)
        try:
            record = json.loads(gzip.decompress(path.read_bytes()))
            if record["key"] != key or record["format"] != FORMAT:
                raise ValueError("the file belongs to another task")
            return _training(record)
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, IndexError, ArithmeticError) as error:
            warnings.warn(f"{path} is damaged and will be replaced: {error}", RuntimeWarning, stacklevel=2)
            return None

    def write(self, key: str, training: Training) -> None:
        record = {
            "format": FORMAT,
            "key": key,
            "layers": training.network.layers,
            "weight_bound": training.network.weight_bound,
            "weights": flat_weights(training.network),
            "stages": [_complete(report) for report in training.reports.values()],
        }
        if training.added or training.rounds > 1 or training.violated:
            record["lazy"] = {name: getattr(training, name) for name in _LAZY}
        content = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        write_atomically({self.path(key): gzip.compress(content, compresslevel=6, mtime=0)})


def _complete(report: StageResult) -> dict[str, Any]:
    return stage_claim(report) | {"seconds": report.seconds}


def _training(record: dict[str, Any]) -> Training:
    network = partial(network_of, record["layers"], record["weight_bound"])
    reports = {
        claim["stage"]: stage_result(claim, network(claim["weights"]), claim["seconds"], claim["certificate"])
        for claim in record["stages"]
    }
    lazy = record.get("lazy", {})
    if lazy:
        lazy = {name: lazy[name] for name in _LAZY} | {"added": tuple(lazy["added"])}
    return Training(network(record["weights"]), reports, **lazy)
