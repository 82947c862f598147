"""Image sets from files on disk, and few-shot samples of them."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

FOLDER_VARIABLE = "BEMI_DATA"
"""Environment variable that names the folder of all sets; each set has a folder of its own name in it."""


class DatasetError(ValueError):
    """A set that cannot be loaded; the message says what was wrong and which file belongs where."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test images as integer rows, and the shape that turns a row back into an image."""

    name: str
    train_X: NDArray[np.int64]
    train_y: NDArray[np.int64]
    test_X: NDArray[np.int64]
    test_y: NDArray[np.int64]
    shape: tuple[int, int]


@dataclass(frozen=True)
class IdxSet:
    """What the four idx files of a set must hold."""

    train: int
    test: int
    shape: tuple[int, int]
    classes: int


SETS = {
    "mnist": IdxSet(train=60_000, test=10_000, shape=(28, 28), classes=10),
    "fashion-mnist": IdxSet(train=60_000, test=10_000, shape=(28, 28), classes=10),
}

IMAGES_MAGIC, LABELS_MAGIC = 0x0803, 0x0801
"""First word of an idx file: unsigned bytes in three dimensions or in one."""


def load(name: str) -> Dataset:
    """Load a set from its files in ``$BEMI_DATA/<name>/``; their headers must be exactly the set's."""
    if name not in SETS:
        raise DatasetError(f"unknown dataset {name!r}; known: {', '.join(SETS)}")
    expected = SETS[name]
    root = os.environ.get(FOLDER_VARIABLE)
    if not root:
        raise DatasetError(
            f"{FOLDER_VARIABLE} is not set; set it to the folder that holds {name}/train-images-idx3-ubyte.gz and "
            "the other three files of the set"
        )
    folder = Path(root) / name
    arrays: list[NDArray[np.int64]] = []
    for part, count in (("train", expected.train), ("t10k", expected.test)):
        images = _read_idx(folder / f"{part}-images-idx3-ubyte.gz", IMAGES_MAGIC, (count, *expected.shape))
        path = folder / f"{part}-labels-idx1-ubyte.gz"
        labels = _read_idx(path, LABELS_MAGIC, (count,))
        if labels.max(initial=0) >= expected.classes:
            raise _unusable(path, f"it has the label {labels.max()}, the largest should be {expected.classes - 1}")
        # Bytes would wrap around in the first sum or difference.
        arrays += [images.reshape(count, -1).astype(np.int64), labels.astype(np.int64)]
    train_X, train_y, test_X, test_y = arrays
    return Dataset(name, train_X, train_y, test_X, test_y, expected.shape)


def draw(labels: ArrayLike, per_class: int, seed: int) -> NDArray[np.intp]:
    """Indices of a few-shot sample: ``per_class`` rows of every class, uniformly at random, classes in order."""
    labels = np.asarray(labels)
    if per_class < 1:
        raise ValueError(f"per_class must be at least 1, got {per_class}")
    rng = np.random.default_rng(seed)
    chosen = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if len(rows) < per_class:
            raise ValueError(f"class {label} has only {len(rows)} rows, {per_class} were asked for")
        chosen.append(rng.choice(rows, per_class, replace=False))
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.intp)


def _read_idx(path: Path, magic: int, dimensions: tuple[int, ...]) -> NDArray[np.uint8]:
    try:
        with gzip.open(path) as file:
            content = file.read()
    except FileNotFoundError:
        raise DatasetError(f"{path} is missing; put the set's {path.name} there") from None
    except (OSError, EOFError, zlib.error) as error:
        raise _unusable(path, f"reading it failed: {' '.join(str(error).split())}") from None
    header = (magic, *dimensions)
    found = tuple(int.from_bytes(content[start : start + 4], "big") for start in range(0, 4 * len(header), 4))
    if found != header:
        raise _unusable(path, f"its header is {found}, should be {header}")
    body = content[4 * len(header) :]
    if len(body) != math.prod(dimensions):
        raise _unusable(path, f"{len(body)} bytes follow its header, should be {math.prod(dimensions)}")
    return np.frombuffer(body, dtype=np.uint8).reshape(dimensions)


def _unusable(path: Path, reason: str) -> DatasetError:
    return DatasetError(f"{path} is damaged or the wrong file: {reason}; put the set's {path.name} there")
