"""The container of a model file: prefix, JSON header, packed weights, digest.  docs/model-file.md describes the layout.

This module knows bytes, sizes and the names of a header's members, not what they mean.  It needs only the standard
library, since the certificate checker reads model files, too.  Every size that a file claims is checked against a limit
before anything is allocated for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from typing import Any

from bemi.files import printable, read_at_most

MAGIC = b"BEMI"
SCHEMA = 8
"""The format that is written."""

READ = (7, 8)
"""Formats that are read; 7 is that of release 0.2.0."""

_OLD_STAGES = {"ml2": "soft"}
"""Stages by the names that they have in format 7."""

LARGEST_FILE = 64 * 2**20
LARGEST_HEADER = 16 * 2**20
MOST_VALUES = 2**21
"""Values in a header.  A value of three bytes, such as ``[],``, takes twenty times as much memory once parsed."""

MEMBERS = frozenset(
    {
        *("bemi", "settings", "classes", "classes_dtype", "features", "feature_names", "inputs", "transform"),
        *("input_scaling", "training_digest", "networks", "solver"),
    }
)
PARTS = frozenset(
    {
        *("subsets", "given_rows", "selection", "signs", "uncounted", "probabilities", "score_counts", "expected"),
        *("image", "rate", "known_ranges"),
    }
)
"""Members of every header, and optional ones, present only if they carry information."""

_PREFIX = struct.Struct("<4sHI")  # magic, format, header length
_DIGEST_BYTES = 32


class ModelFileError(ValueError):
    """A file is not a model, is damaged, or has a version that this release cannot read.

    Whatever the file contains, the message is one line that a terminal can show.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> from bemi.modelfile.container import ModelFileError
    >>> path = Path(mkdtemp()) / "broken.bemi"
    >>> path.write_bytes(b"no model")
    8
    >>> try:
    ...     bemi.load(path)
    ... except ModelFileError as error:
    ...     print("refused")
    refused
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def pack(header: dict[str, Any], weights: bytes) -> bytes:
    """The file with this header and these packed weights."""
    text = canonical(header)
    body = _PREFIX.pack(MAGIC, SCHEMA, len(text)) + text + weights
    return body + hashlib.sha256(body).digest()


def digest(content: bytes) -> str:
    """The SHA-256 of a model file, in hexadecimal, as the file itself has it at its end."""
    return content[-_DIGEST_BYTES:].hex()


def read(path: str | os.PathLike, known: str | None = None) -> tuple[dict[str, Any], bytes]:
    """Header and packed weights of a model file; raises ModelFileError with the reason if it is not one.

    ``known`` is the digest that the file had when it was verified; it must still have it.
    """
    path = os.fspath(path)
    content = read_at_most(path, LARGEST_FILE, ModelFileError)
    if known not in (None, digest(content)):
        raise ModelFileError(f"{path} has changed since it was verified")
    return unpack(content, path)


def unpack(content: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Header and packed weights in the content of a model file, called ``name`` in errors."""
    if len(content) < _PREFIX.size + _DIGEST_BYTES or not content.startswith(MAGIC):
        raise ModelFileError(f"{name} is not a bemi model")
    _, schema, header_length = _PREFIX.unpack_from(content)
    if schema not in READ:
        older = "train the model again" if schema < SCHEMA else "use a newer release of bemi"
        raise ModelFileError(
            f"{name} has model format {schema}, this release of bemi reads formats {READ[0]} to {SCHEMA}; {older}"
        )
    body = memoryview(content)[:-_DIGEST_BYTES]
    if hashlib.sha256(body).digest() != content[-_DIGEST_BYTES:]:
        raise ModelFileError(f"{name} is damaged: its digest does not match")
    end = _PREFIX.size + header_length
    if end > len(body) or header_length > LARGEST_HEADER:
        raise ModelFileError(f"{name} is damaged: its header is too long")
    header = _parsed(bytes(body[_PREFIX.size : end]), name)
    if schema == READ[0]:
        try:
            header = _of_format_7(header)
        except (LookupError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{name} is damaged: its header is not that of format 7") from error
    return header, bytes(body[end:])


def _of_format_7(header: dict[str, Any]) -> dict[str, Any]:
    """A header of format 7 as format 8 has it."""
    settings = header["settings"]
    if "estimator" in settings or "copies" in header.get("selection", ()):
        raise LookupError("members of format 8")
    settings["stages"] = [renamed_stage(name) for name in settings["stages"]]
    settings["estimator"] = "few-bit" if "soft" in settings["stages"] else "bemi"
    if "selection" in header:
        header["selection"]["copies"] = header["selection"].pop("scenarios")
    for entry in header["networks"]:
        for report in entry["reports"]:
            report["stage"] = renamed_stage(report["stage"])
    return header


def renamed_stage(name: Any) -> Any:
    """A stage of format 7 by its present name; anything else unchanged."""
    return _OLD_STAGES.get(name, name) if isinstance(name, str) else name


def canonical(header: Any) -> bytes:
    """The canonical JSON text of a header."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _parsed(text: bytes, name: str) -> dict[str, Any]:
    if sum(text.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise ModelFileError(f"{name} is damaged: its header has too many values")
    try:
        header = json.loads(text)
        # One comparison rules out duplicate members, NaN, numbers in unusual notation and whitespace.
        written = canonical(header) == text
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is damaged: its header is not JSON") from error
    if not written or not isinstance(header, dict):
        raise ModelFileError(f"{name} is damaged: its header is not written as bemi writes it")
    return header
