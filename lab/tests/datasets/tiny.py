"""A set of nine small images in files like MNIST's."""

import gzip
import hashlib

import numpy as np
from bemi_lab.datasets.registry import Description
from bemi_lab.datasets.storage import DataFile

TRAIN, TEST, SHAPE, CLASSES = 6, 3, (2, 3), 3


def idx_bytes(array: np.ndarray) -> bytes:
    words = [0x0800 + array.ndim, *array.shape]
    return b"".join(word.to_bytes(4, "big") for word in words) + array.astype(np.uint8).tobytes()


def packed(array: np.ndarray) -> bytes:
    return gzip.compress(idx_bytes(array), mtime=0)


IMAGES = np.random.default_rng(0).integers(200, 256, size=(TRAIN + TEST, *SHAPE))

FILES = {
    "train-images-idx3-ubyte.gz": packed(IMAGES[:TRAIN]),
    "train-labels-idx1-ubyte.gz": packed(np.arange(TRAIN) % CLASSES),
    "t10k-images-idx3-ubyte.gz": packed(IMAGES[TRAIN:]),
    "t10k-labels-idx1-ubyte.gz": packed(np.arange(TEST) % CLASSES),
}


def data_file(name: str, content: bytes) -> DataFile:
    return DataFile(name, len(content), hashlib.sha256(content).hexdigest())


def describe(*mirrors: str) -> Description:
    """The set, to be had from ``mirrors``."""
    return Description(
        name="tiny",
        train=TRAIN,
        test=TEST,
        features=6,
        classes=CLASSES,
        source="made up",
        licence="none",
        reader="readers.idx",
        files=tuple(data_file(name, content) for name, content in FILES.items()),
        mirrors=mirrors,
        shape=SHAPE,
        class_names=("a", "b", "c"),
    )
