"""Finished networks on disk: one file each, named by everything that decides the result."""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bemi.engines.result import StageResult
from bemi.files import write_atomically
from bemi.network import Network
from bemi.softmargin import SoftMargin
from bemi.training import Training

FORMAT = 1

_LAZY = ("added", "rounds", "violated")
"""What a training says of the variants of its rows; a file without variants has none of it."""

_FIELDS = ("stage", "proof", "links", "rows", "message")


class Journal:
    """A folder of finished trainings.

    A file appears under its name only when it is complete, so whatever is there after an interrupt or a crash is whole.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"the run folder {folder} cannot be made: a file has its name") from None

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
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, IndexError, ArithmeticError) as error:
            warnings.warn(f"{path} is damaged and will be made again: {error}", RuntimeWarning, stacklevel=2)
            return None

    def write(self, key: str, training: Training) -> None:
        record = {
            "format": FORMAT,
            "key": key,
            "layers": training.network.layers,
            "weight_bound": training.network.weight_bound,
            "weights": _flat(training.network),
            "stages": [_complete(report) for report in training.reports.values()],
        }
        if training.added or training.rounds > 1 or training.violated:
            record["lazy"] = {name: getattr(training, name) for name in _LAZY}
        content = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        write_atomically({self.path(key): gzip.compress(content, compresslevel=6, mtime=0)})


class CompactResult(StageResult):
    """A report whose network and certificate are compressed until somebody asks for them.

    An ensemble may have thousands of networks, and of each stage's network and proof little is ever looked at.
    """

    def __init__(self, network: Network, certificate: dict[str, Any] | None, **others: Any) -> None:
        heavy = [network.layers, network.weight_bound, _flat(network), certificate]
        self.__dict__.update(others, _heavy=zlib.compress(json.dumps(heavy, separators=(",", ":")).encode(), 1))

    @property
    def network(self) -> Network:
        layers, weight_bound, weights, _ = self._unpacked()
        return _network(layers, weight_bound, weights)

    @property
    def certificate(self) -> dict[str, Any] | None:
        return self._unpacked()[3]

    def _unpacked(self) -> Any:
        return json.loads(zlib.decompress(self.__dict__["_heavy"]))


def compact(training: Training) -> Training:
    """The same training in little memory."""
    names = [field.name for field in fields(StageResult)]
    small = {stage: CompactResult(**{n: getattr(r, n) for n in names}) for stage, r in training.reports.items()}
    return replace(training, reports=small)


def stage_record(report: StageResult) -> dict[str, Any]:
    """What a file says of a stage, besides its weights, its certificate and its seconds."""
    record = {name: getattr(report, name) for name in _FIELDS}
    record |= {"objective": _written(report.objective), "bound": _written(report.bound)}
    if report.soft is not None:
        resolutions = [_written(t) for t in report.soft.resolutions]
        record["soft"] = {"price": _written(report.soft.price), "resolutions": resolutions}
    return record


def stage_result(record: dict[str, Any], network: Network | None, seconds: float, certificate: Any) -> StageResult:
    """The report that a record was made of."""
    known = {name: record[name] for name in _FIELDS}
    known |= {"objective": _read(record["objective"]), "bound": _read(record["bound"])}
    soft = record.get("soft")
    if soft is not None:
        soft = SoftMargin(Fraction(_read(soft["price"])), tuple(Fraction(_read(t)) for t in soft["resolutions"]))
    return StageResult(network=network, seconds=seconds, certificate=certificate, soft=soft, **known)


def stage_claim(report: StageResult) -> dict[str, Any]:
    """All that a stage says of itself: its numbers, the network after it, and what proves its bound."""
    assert report.network is not None
    return stage_record(report) | {"weights": _flat(report.network), "certificate": report.certificate}


def _complete(report: StageResult) -> dict[str, Any]:
    return stage_claim(report) | {"seconds": report.seconds}


def _written(number: int | Fraction | None) -> int | str | None:
    """A rational as text in hexadecimal, which has no limit on its length; an integer as it is."""
    return f"{number.numerator:x}/{number.denominator:x}" if isinstance(number, Fraction) else number


def _read(number: int | str | None) -> Any:
    if not isinstance(number, str):
        return number
    numerator, denominator = number.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))


def _flat(network: Network) -> list[int]:
    return np.concatenate([w.reshape(-1) for w in network.weights]).tolist()


def _network(sizes: Sequence[int], weight_bound: int, weights: list[int]) -> Network:
    shapes = list(pairwise(sizes))
    parts = np.split(np.array(weights, dtype=np.int64), np.cumsum([a * b for a, b in shapes])[:-1])
    return Network(tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)), weight_bound)


def _training(record: dict[str, Any]) -> Training:
    network = partial(_network, record["layers"], record["weight_bound"])
    reports = {
        claim["stage"]: stage_result(claim, network(claim["weights"]), claim["seconds"], claim["certificate"])
        for claim in record["stages"]
    }
    lazy = record.get("lazy", {})
    if lazy:
        lazy = {name: lazy[name] for name in _LAZY} | {"added": tuple(lazy["added"])}
    return Training(network(record["weights"]), reports, **lazy)
