"""Reports of stages as plain data for files, and compressed in memory."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bemi.network import Network
from bemi.problem.soft_margin import SoftMargin
from bemi.stages.result import Outcome, StageResult

_FIELDS = ("stage", "proof", "links", "rows", "message")


class CompactResult(StageResult):
    """A report whose network and certificate stay compressed until they are needed.

    An ensemble may have thousands of networks, and most networks and proofs of single stages are never read.
    """

    def __init__(self, network: Network, certificate: dict[str, Any] | None, **others: Any) -> None:
        large = [network.layers, network.weight_bound, flat_weights(network), certificate]
        self.__dict__.update(others, _packed=zlib.compress(json.dumps(large, separators=(",", ":")).encode(), 1))

    @property
    def network(self) -> Network:
        layers, weight_bound, weights, _ = self._unpacked()
        return network_of(layers, weight_bound, weights)

    @property
    def certificate(self) -> dict[str, Any] | None:
        return self._unpacked()[3]

    def _unpacked(self) -> Any:
        return json.loads(zlib.decompress(self.__dict__["_packed"]))


def compacted(report: StageResult) -> CompactResult:
    """The same report in less memory."""
    return CompactResult(**{field.name: getattr(report, field.name) for field in fields(StageResult)})


def stage_record(report: StageResult) -> dict[str, Any]:
    """What a file stores about a stage, apart from its weights, its certificate and its seconds."""
    record = {name: getattr(report, name) for name in _FIELDS}
    record |= {"objective": _written(report.objective), "bound": _written(report.bound)}
    record["outcome"] = report.outcome.label
    if report.soft is not None:
        soft = report.soft
        record["soft"] = {
            "price": _written(soft.price),
            "resolutions": [_written(t) for t in soft.resolutions],
            "hinges": soft.hinges,
            "max_links": soft.max_links,
        }
    return record


def stage_result(record: dict[str, Any], network: Network | None, seconds: float, certificate: Any) -> StageResult:
    """The report that a record was made from."""
    known = {name: record[name] for name in _FIELDS}
    known |= {
        "objective": _read(record["objective"]),
        "bound": _read(record["bound"]),
        "outcome": Outcome.from_label(record["outcome"]),
    }
    soft = record.get("soft")
    if soft is not None:
        price, resolutions = Fraction(_read(soft["price"])), tuple(Fraction(_read(t)) for t in soft["resolutions"])
        soft = SoftMargin(price, resolutions, soft["hinges"], soft["max_links"])
    return StageResult(network=network, seconds=seconds, certificate=certificate, soft=soft, **known)


def stage_claim(report: StageResult) -> dict[str, Any]:
    """Everything a stage claims: its numbers, the network after it, and the proof of its bound."""
    assert report.network is not None
    return stage_record(report) | {"weights": flat_weights(report.network), "certificate": report.certificate}


def _written(number: int | Fraction | None) -> int | str | None:
    """A rational as text in hexadecimal, which has no limit on its length; an integer as it is."""
    return f"{number.numerator:x}/{number.denominator:x}" if isinstance(number, Fraction) else number


def _read(number: int | str | None) -> Any:
    if not isinstance(number, str):
        return number
    numerator, denominator = number.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))


def flat_weights(network: Network) -> list[int]:
    return np.concatenate([w.reshape(-1) for w in network.weights]).tolist()


def network_of(sizes: Sequence[int], weight_bound: int, weights: list[int]) -> Network:
    shapes = list(pairwise(sizes))
    parts = np.split(np.array(weights, dtype=np.int64), np.cumsum([a * b for a, b in shapes])[:-1])
    return Network(tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)), weight_bound)
