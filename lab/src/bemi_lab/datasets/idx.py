"""Reader of idx files, the format of MNIST and its successors."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bemi_lab.datasets.dataset import Dataset
from bemi_lab.datasets.description import Description, StoredFile

IMAGES_MAGIC, LABELS_MAGIC = 0x0803, 0x0801
"""First word of an idx file: unsigned bytes in three dimensions or in one."""


def build(known: Description, files: Mapping[str, StoredFile]) -> Dataset:
    """Read the four files; their headers must be exactly those that the description implies."""
    assert known.shape is not None
    arrays: list[NDArray[np.int64]] = []
    for part, count in (("train", known.train), ("t10k", known.test)):
        images = read(files[f"{part}-images-idx3-ubyte.gz"], IMAGES_MAGIC, (count, *known.shape))
        file = files[f"{part}-labels-idx1-ubyte.gz"]
        labels = read(file, LABELS_MAGIC, (count,))
        if labels.max(initial=0) >= known.classes:
            raise file.unusable(f"it has the label {labels.max()}, the largest should be {known.classes - 1}")
        # Bytes would wrap around in the first sum or difference.
        arrays += [images.reshape(count, -1).astype(np.int64), labels.astype(np.int64)]
    train_X, train_y, test_X, test_y = arrays
    return Dataset(known.name, train_X, train_y, test_X, test_y, shape=known.shape, class_names=known.class_names)


def read(file: StoredFile, magic: int, dimensions: tuple[int, ...]) -> NDArray[np.uint8]:
    """The array in a compressed idx file."""
    try:
        content = gzip.decompress(file.content)
    except (OSError, EOFError, zlib.error) as error:
        raise file.unusable(f"reading it failed: {' '.join(str(error).split())}") from None
    header = (magic, *dimensions)
    found = tuple(int.from_bytes(content[start : start + 4], "big") for start in range(0, 4 * len(header), 4))
    if found != header:
        raise file.unusable(f"its header is {found}, should be {header}")
    body = content[4 * len(header) :]
    if len(body) != math.prod(dimensions):
        raise file.unusable(f"{len(body)} bytes follow its header, should be {math.prod(dimensions)}")
    return np.frombuffer(body, dtype=np.uint8).reshape(dimensions)
