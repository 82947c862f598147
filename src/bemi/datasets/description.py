"""What is known of a set before it is loaded: its size, its files, where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bemi.datasets.dataset import Dataset, DatasetError


@dataclass(frozen=True)
class DataFile:
    """A file as its publishers made it."""

    name: str
    size: int
    sha256: str

    def flaw(self, content: bytes) -> str | None:
        """What tells ``content`` from the file, if anything does; it may be cut off after one byte too many."""
        if len(content) > self.size:
            return f"it has more than {self.size} bytes"
        if len(content) < self.size:
            return f"it has {len(content)} bytes, should have {self.size}"
        digest = hashlib.sha256(content).hexdigest()
        return None if digest == self.sha256 else f"its SHA-256 is {digest}, should be {self.sha256}"


@dataclass(frozen=True)
class StoredFile:
    """A file that was found or downloaded."""

    path: Path
    content: bytes

    def unusable(self, reason: str) -> DatasetError:
        return unusable(self.path, reason)


@dataclass(frozen=True)
class Description:
    """A set: rows in its two parts, features, classes, origin, and the function that builds it from its files.

    ``mirrors`` are addresses that a file's name is appended to, in the order in which they are tried.
    """

    name: str
    train: int
    test: int
    features: int
    classes: int
    source: str
    licence: str
    build: Callable[[Description, Mapping[str, StoredFile]], Dataset]
    files: tuple[DataFile, ...] = ()
    mirrors: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None
    class_names: tuple[str, ...] | None = None


def unusable(path: Path, reason: str) -> DatasetError:
    return DatasetError(
        f"{path} is damaged or the wrong file: {reason}; put the set's {path.name} there, "
        "or delete it to have it downloaded"
    )
