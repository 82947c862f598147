"""Image files: good ones, damaged ones, wrong ones."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from bemi_lab.datasets import DatasetError
from bemi_lab.datasets.readers import idx
from bemi_lab.datasets.storage import StoredFile

from . import tiny


def build(**changed: bytes):
    """The tiny set, with other contents in some files: ``train_images=...``."""
    contents = dict(tiny.FILES)
    for key, content in changed.items():
        (name,) = (name for name in contents if name.startswith(key.replace("_", "-")))
        contents[name] = content
    return idx(tiny.describe(), {name: StoredFile(Path("here", name), data) for name, data in contents.items()})


def test_build():
    data = build()
    assert (data.name, data.shape, data.class_names, data.feature_names) == ("tiny", (2, 3), ("a", "b", "c"), None)
    assert data.has_test
    assert data.train_y.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.test_y.tolist() == [0, 1, 2]
    assert np.array_equal(data.train_X.reshape(6, 2, 3), tiny.IMAGES[:6])
    assert np.array_equal(data.test_X.reshape(3, 2, 3), tiny.IMAGES[6:])


def test_pixels_are_wide_enough_for_arithmetic():
    data = build()
    assert {a.dtype for a in (data.train_X, data.train_y, data.test_X, data.test_y)} == {np.dtype(np.int64)}
    assert (data.train_X + data.train_X).min() >= 400
    assert (-data.train_X).max() <= -200


GOOD = tiny.idx_bytes(np.zeros((6, 2, 3)))
PACKED = gzip.compress(GOOD)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "header is (0, 0, 0, 0)"),
        (GOOD, "Not a gzipped file"),
        (PACKED[: len(PACKED) // 2], "reading it failed"),
        (PACKED[:-8] + bytes(8), "reading it failed"),
        (gzip.compress(b""), "header is (0, 0, 0, 0), should be (2051, 6, 2, 3)"),
        (tiny.packed(np.zeros(6)), "header is (2049, 6, 0, 0)"),
        (tiny.packed(np.zeros((5, 2, 3))), "header is (2051, 5, 2, 3)"),
        (tiny.packed(np.zeros((6, 3, 2))), "header is (2051, 6, 3, 2)"),
        (gzip.compress(GOOD[:-1]), "35 bytes follow its header, should be 36"),
        (gzip.compress(GOOD + b"\0"), "37 bytes follow its header, should be 36"),
    ],
    ids=["empty", "raw", "half", "checksum", "nothing", "labels", "fewer", "turned", "short", "long"],
)
def test_damaged_or_wrong_file(content, words):
    with pytest.raises(DatasetError) as caught:
        build(train_images=content)
    message = str(caught.value)
    assert message.startswith(f"{Path('here', 'train-images-idx3-ubyte.gz')} is damaged or the wrong file: ")
    assert words in message
    assert "put the set's train-images-idx3-ubyte.gz there" in message
    assert "\n" not in message


def test_label_out_of_range():
    with pytest.raises(DatasetError, match="it has the label 7, the largest should be 2"):
        build(t10k_labels=tiny.packed(np.array([0, 1, 7])))
