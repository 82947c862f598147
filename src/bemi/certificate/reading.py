"""Reads a model's header and certificate: their files, training rows, sets of classes and weights (R1 to R7)."""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, BinaryIO

from bemi.certificate.arithmetic import Matrix, Table, training_digest
from bemi.certificate.limits import DEFAULT_BUDGET, MORE, CertificateError, Row, Work, require, whole, whole_row
from bemi.certificate.softmargins import LARGEST_ROW_WEIGHT
from bemi.files import open_at_most
from bemi.modelfile import container

FORMAT = 4
"""The format that is written."""
OLD_FORMAT = 3
"""The format of release 0.2.0, which can still be read."""
_LARGEST_FILE = 1 << 30
_LARGEST = 1 << 27
_LARGEST_PARSED = 600 << 20
_PIECE = 1 << 20
"""Limits on the bytes of a certificate on disk; without its rows, unpacked and parsed; and how many are unpacked at a
time."""
STEPS_PER_VALUE = 16
"""Steps that a value of a row takes to read; so the budget limits how many there are."""
_BEGIN = re.compile(rb'\{"format":[0-9]+,"model":"[0-9a-f]{64}","rows":\[(?=\[)')
"""What a certificate begins with before its first row, as bemi writes it."""
_BYTES = {b"{": 240, b"[": 72, b'"': 32, b",": 40}
"""What a value takes once it is parsed, by a character of its text."""


def certificate_path(model: str | os.PathLike) -> str:
    """Path of a model file's certificate, which is next to it."""
    return os.fspath(model) + ".cert"


def read_claims(path: str, features: Any, work: Work) -> tuple[dict[str, Any], int]:
    """The object in a certificate file (R2), and the size of the file.

    Rows are most of a large file.  In one that begins as bemi writes it, they are read piece by piece into a
    :class:`Table`, and only the budget limits how many there are.  Everything else has limits of its own, which a
    budget larger than the default one raises as much.
    """
    scale = max(1.0, work.budget / DEFAULT_BUDGET)
    with open_at_most(path, int(scale * _LARGEST_FILE), CertificateError) as file:
        pieces = _unpacked(file, path)
        text, rows = bytearray(next(pieces, b"")), None
        if begin := _BEGIN.match(text):
            rows = Table(whole(features, 1, 1 << 31, "number of inputs"))
            text[begin.end() :] = _read_rows(bytes(text[begin.end() :]), pieces, rows, work, path)
        parsed, new = 0, bytes(text)
        while new:
            parsed += _parsed_size(new)
            require(parsed <= scale * _LARGEST_PARSED, f"{path} has too many values; {MORE}")
            require(len(text) <= scale * _LARGEST, f"{path} is too large; {MORE}")
            new = next(pieces, b"")
            text += new
        size = file.tell()
    claims = _parsed(text, path)
    require(isinstance(claims, dict), f"{path} is not a bemi certificate")
    return claims if rows is None else claims | {"rows": rows}, size


def _read_rows(text: bytes, pieces: Iterator[bytes], rows: Table, work: Work, path: str) -> bytes:
    """Add rows to a table until their list ends; returns the text from its end on."""
    while True:
        end = text.find(b"]]")
        cut = (text.rfind(b"],[") if end < 0 else end) + 1
        part, text = text[:cut], text[cut:]
        if part:
            work.spend(STEPS_PER_VALUE * (part.count(b",") + 1))
            require(not part.translate(None, b"0123456789-,[]"), f"{path} is not a bemi certificate")
            _add_rows(rows, _parsed(b"[" + part + b"]", path))
            if end >= 0:
                return text
            text = text[1:]  # without the comma
        piece = next(pieces, b"")
        require(piece, f"{path} is cut off")
        require(len(text) <= _LARGEST, f"{path} is too large")
        text += piece


def _add_rows(table: Table, rows: Any) -> None:
    """Add rows of integers to a table."""
    checked = [whole_row(row, -(1 << 31), 1 << 31, "value") for row in rows]
    width = table.width
    require(all(len(row) == width for row in checked), "a training row does not have one value per model input")
    table.extend(checked)


def _parsed(text: bytes | bytearray, path: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"{path} is not a bemi certificate") from error


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name is repeated: readers would disagree on which member counts."""
    found = dict(members)
    require(len(found) == len(members), "a member is given twice")
    return found


def _no_number(name: str) -> None:
    raise CertificateError(f"{name} is not a number")


def _unpacked(file: BinaryIO, path: str) -> Iterator[bytes]:
    """The text of a gzipped file in pieces."""
    unpacker = zlib.decompressobj(wbits=31)
    packed = b""
    try:
        while not unpacker.eof:
            packed = packed or file.read(_PIECE)
            require(packed, f"{path} is cut off")
            piece = unpacker.decompress(packed, _PIECE)
            packed = unpacker.unconsumed_tail
            if piece:
                yield piece
        require(not unpacker.unused_data and not file.read(1), f"{path} has unexpected bytes at its end")
    except zlib.error as error:
        raise CertificateError(f"{path} is not a bemi certificate") from error


@dataclass(frozen=True)
class TrainingRecord:
    """The training record in a model's certificate, without the proofs.

    Attributes
    ----------
    rows, labels
        The rows that the model was trained on, as its networks saw them, and their class indices; they match the
        model's digest.
    seconds
        Seconds of every stage of every network, which cannot be checked; None if training had a node limit.
    weights
        Row weights in units of 2^-16, which match the digest, too; None if all rows count the same.
    """

    rows: Sequence[Row]
    labels: list[int]
    seconds: list[list[float]] | None
    weights: list[int] | None = None


def share_of_limits(file: int, text: bytes) -> float:
    """The largest share that a certificate takes of what :func:`read_claims` allows with the default budget.

    Parameters
    ----------
    file
        Bytes of the file.
    text
        What it contains beside its rows.
    """
    return max(file / _LARGEST_FILE, len(text) / _LARGEST, _parsed_size(text) / _LARGEST_PARSED)


def _parsed_size(text: bytes) -> int:
    """Bytes that a text takes once it is parsed."""
    return sum(text.count(mark) * size for mark, size in _BYTES.items())


def training_record(
    model: str | os.PathLike, known: str | None = None, budget: float = DEFAULT_BUDGET
) -> TrainingRecord:
    """Read the training rows from a model's certificate, without checking its proofs.

    ``known`` is the digest that the model file must have, if it was verified before; ``budget`` is that of
    :func:`verify`.
    """
    path = certificate_path(model)
    header, _ = container.read(model, known)
    claims, _ = read_claims(path, header["inputs"], Work(budget))
    try:
        rows, labels, weights, _ = training_rows(header, claims, header["inputs"], len(header["classes"]))
        require(rows, "there are no training rows")
        seconds = claims.get("seconds")
        if seconds is not None:
            check_seconds(seconds, [entry["reports"] for entry in header["networks"]])
    except CertificateError as error:
        raise CertificateError(f"{path}: {error}") from error
    except (LookupError, TypeError, AttributeError, struct.error) as error:
        raise CertificateError(f"{path} is malformed: {type(error).__name__} {error}") from error
    return TrainingRecord(rows, labels, seconds, weights)


def renewed(claims: dict[str, Any]) -> dict[str, Any]:
    """Claims of release 0.2.0 as they are written now: one stage has another name, and proofs have a kind (R2)."""
    networks = []
    for entry in claims["networks"]:
        stages = []
        for stage in entry:
            name, proof = container.renamed_stage(stage["stage"]), stage["certificate"]
            if isinstance(proof, dict):
                require("kind" not in proof, "a member is missing or does not belong: kind")
                proof = {"kind": _guessed_kind(name, proof), **proof}
            stages.append(stage | {"stage": name, "certificate": proof})
        networks.append(stages)
    return claims | {"networks": networks}


def _guessed_kind(stage: Any, proof: dict[str, Any]) -> str:
    """The kind of a proof that does not name it (R2)."""
    telling = {"theta": "links-under-ceiling", "single": "smallest-neurons", "support": "small-supports"}
    match stage:
        case "sm":
            return "row-prices" if "prices" in proof else "last-layer"
        case "mm":
            return "splitting-neurons" if "constant" in proof else "dichotomies"
        case "soft":
            return "multipliers"
    return next((kind for name, kind in telling.items() if name in proof), "sign-patterns")


def training_rows(
    header: dict[str, Any], claims: dict[str, Any], features: int, classes: int
) -> tuple[Table, list[int], list[int] | None, int]:
    """The training rows, their labels and weights, and how many of the rows were given (R3)."""
    rows = claims["rows"]
    if not isinstance(rows, Table):
        rows = Table(features)
        _add_rows(rows, claims["rows"])
    labels = [whole(label, 0, classes, "label") for label in claims["labels"]]
    require(len(labels) == len(rows), "there is not one label per training row")
    weights = _row_weights(claims.get("weights"), len(rows))
    given = whole(header.get("given_rows", len(rows)), 0, len(rows) + 1, "number of given rows")
    require(
        training_digest(rows, labels, weights, given) == header["training_digest"],
        "the training rows, labels or row weights are not those that the model was trained on",
    )
    return rows, labels, weights, given


def check_seconds(seconds: Any, networks: Sequence[Any]) -> None:
    """Require a number for each stage of each network (R2)."""
    require(isinstance(seconds, list) and len(seconds) == len(networks), "there are not times for each network")
    for times, stages in zip(seconds, networks, strict=True):
        numbers = isinstance(times, list) and all(type(s) in (int, float) and 0 <= s < math.inf for s in times)
        require(numbers and len(times) == len(stages), "there is not a time for each stage")


def _row_weights(given: Any, rows: int) -> list[int] | None:
    """Weights of all training rows, in units; None if all rows count the same (R3)."""
    if given is None:
        return None
    require(isinstance(given, list) and len(given) == rows, "there is not one weight per training row")
    return [whole(weight, 1, LARGEST_ROW_WEIGHT + 1, "row weight") for weight in given]


def limits_on_weights(header: dict[str, Any], inputs: int, outputs: int) -> tuple[list[int] | None, frozenset[int]]:
    """The signs that weights must have, and the inputs that a limit on links does not count (R7)."""
    settings, signs, uncounted = header["settings"], header.get("signs"), header.get("uncounted")
    require((signs is None) == (settings["monotone"] is None), "signs belong to monotone features, and only to them")
    if signs is not None:
        require(isinstance(signs, list) and len(signs) == inputs, "there is not one sign per input")
        require(outputs == 1, "signs are for networks with one output")
        signs = [whole(sign, -1, 2, "sign") for sign in signs]
    limited = settings["max_links"] is not None
    require((uncounted is not None) == limited, "uncounted inputs belong to a limit on links, and only to it")
    return signs, frozenset(whole(i, 0, inputs, "uncounted input") for i in uncounted or ())


def sets_of_classes(header: dict[str, Any], classes: int, size: int) -> list[tuple[int, ...]]:
    """The sets of classes that have a network, in lexicographic order (R4)."""
    networks = len(header["networks"])
    if "subsets" not in header:
        require(networks == math.comb(classes, size), "there is not one network per set of classes")
        return list(combinations(range(classes), size))
    require(networks == len(header["subsets"]), "there is not one network per set of classes")
    subsets = [tuple(whole(c, 0, classes, "class") for c in subset) for subset in header["subsets"]]
    require(all(len(s) == size and all(a < b for a, b in pairwise(s)) for s in subsets), "a set of classes is bad")
    require(all(a < b for a, b in pairwise(subsets)), "sets of classes are not in order")
    return subsets


def added_rows(positions: Any, given: int, labels: Sequence[int], subset: Sequence[int]) -> list[int]:
    """Rows beyond the given ones that a network was trained on: variants of rows of its classes (R5)."""
    require(isinstance(positions, list), "added rows are not a list")
    rows = [whole(k, given, len(labels), "added row") for k in positions]
    require(all(a < b for a, b in pairwise(rows)), "added rows are not in order")
    require(all(labels[k] in subset for k in rows), "an added row is of another class")
    return rows


def output_code(index: int, outputs: int) -> Row:
    """Binary digits, most significant first, 0 -> +1, 1 -> -1 (R4)."""
    return tuple(1 - 2 * ((index >> bit) & 1) for bit in reversed(range(outputs)))


def final_weights(packed: bytes, layers: Sequence[int], bound: int, networks: int) -> Iterator[list[Matrix]]:
    """Weights of one network after the other: each is stored as w + P in a few bits, the highest first (R6)."""
    bits = (2 * bound).bit_length()
    count = sum(a * b for a, b in pairwise(layers))
    size = (count * bits + 7) // 8
    require(len(packed) == networks * size, "the model's weights do not fit its layers")
    padding = 8 * size - count * bits
    for start in range(0, len(packed), size):
        digits = f"{int.from_bytes(packed[start : start + size], 'big'):0{8 * size}b}"
        require("1" not in digits[len(digits) - padding :], "there are bits after the weights")
        values = [int(digits[k * bits : (k + 1) * bits], 2) - bound for k in range(count)]
        yield as_matrices(values, layers)


def as_matrices(flat: Sequence[int], layers: Sequence[int]) -> list[Matrix]:
    matrices, start = [], 0
    for inputs, size in pairwise(layers):
        matrices.append([list(flat[start + i * size : start + (i + 1) * size]) for i in range(inputs)])
        start += inputs * size
    return matrices
