"""What is known about a data set before it is loaded: its size, its files, where they come from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


class DatasetError(ValueError):
    """A data set cannot be loaded; the message says what is wrong and which file belongs where."""


@dataclass(frozen=True)
class DataFile:
    """A file as its publishers made it."""

    name: str
    size: int
    sha256: str

    def flaw(self, content: bytes) -> str | None:
        """How ``content`` differs from the published file, or None; reading one byte too many is enough to tell."""
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
    """A data set: rows of its two parts, features, classes, origin.

    ``reader`` is the module of this package whose ``build(description, files)`` makes the :class:`Dataset`.  The
    ``mirrors`` are tried in this order; a file's name is appended to each.
    """

    name: str
    train: int
    test: int
    features: int
    classes: int
    source: str
    licence: str
    reader: str
    files: tuple[DataFile, ...] = ()
    mirrors: tuple[str, ...] = ()
    shape: tuple[int, int] | None = None
    class_names: tuple[str, ...] | None = None


def unusable(path: Path, reason: str, *, downloadable: bool = True) -> DatasetError:
    otherwise = ", or delete it to have it downloaded" if downloadable else ""
    return DatasetError(f"{path} is damaged or the wrong file: {reason}; put the set's {path.name} there{otherwise}")
