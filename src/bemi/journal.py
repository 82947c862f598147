"""Finished networks on disk: one file each, named by everything that decides the result."""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bemi.engines.result import StageResult
from bemi.files import write_atomically
from bemi.network import Network
from bemi.training import Training

FORMAT = 1

STAGE_FIELDS = ("stage", "objective", "bound", "proof", "links", "rows", "message")
"""What a file says of a stage, besides its weights, its certificate and its seconds."""


class Journal:
    """A folder of finished trainings.

    A file appears under its name only when it is complete, so whatever is there after an interrupt or a crash is whole.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.json.gz"

    def read(self, key: str) -> Training | None:
        """The training of that key; None if it is not there, or damaged, which is said in a warning."""
        path = self.path(key)
        try:
            record = json.loads(gzip.decompress(path.read_bytes()))
            if record["key"] != key or record["format"] != FORMAT:
                raise ValueError("it is another task's file")
            return _training(record)
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
            warnings.warn(f"{path} is damaged and will be made again: {error}", RuntimeWarning, stacklevel=2)
            return None

    def write(self, key: str, training: Training) -> None:
        record = {
            "format": FORMAT,
            "key": key,
            "layers": training.network.layers,
            "weight_bound": training.network.weight_bound,
            "weights": _flat(training.network),
            "stages": [stage_claim(report) | {"seconds": report.seconds} for report in training.reports.values()],
        }
        content = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        write_atomically({self.path(key): gzip.compress(content, compresslevel=6, mtime=0)})


def stage_claim(report: StageResult) -> dict[str, Any]:
    """All that a stage says of itself: its numbers, the network after it, and what proves its bound."""
    assert report.network is not None
    claim = {name: getattr(report, name) for name in STAGE_FIELDS}
    return claim | {"weights": _flat(report.network), "certificate": report.certificate}


def _flat(network: Network) -> list[int]:
    return np.concatenate([w.reshape(-1) for w in network.weights]).tolist()


def _training(record: dict[str, Any]) -> Training:
    shapes = list(pairwise(record["layers"]))

    def network(weights: list[int]) -> Network:
        parts = np.split(np.array(weights, dtype=np.int64), np.cumsum([a * b for a, b in shapes])[:-1])
        layers = tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
        return Network(layers, record["weight_bound"])

    reports = {}
    for claim in record["stages"]:
        fields = {name: claim[name] for name in (*STAGE_FIELDS, "certificate", "seconds")}
        reports[claim["stage"]] = StageResult(network=network(claim["weights"]), **fields)
    return Training(network(record["weights"]), reports)
