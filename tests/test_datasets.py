"""Image sets: good files, bad files, few-shot samples."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from bemi import datasets
from bemi.datasets import DatasetError, IdxSet, draw, load

TINY = IdxSet(train=6, test=3, shape=(2, 3), classes=3)


def idx(array: np.ndarray) -> bytes:
    words = [0x0800 + array.ndim, *array.shape]
    return b"".join(word.to_bytes(4, "big") for word in words) + array.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A tiny set "tiny" with all four files in place."""
    monkeypatch.setitem(datasets.SETS, "tiny", TINY)
    monkeypatch.setenv("BEMI_DATA", str(tmp_path))
    folder = tmp_path / "tiny"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for part, count in (("train", TINY.train), ("t10k", TINY.test)):
        images = rng.integers(200, 256, size=(count, *TINY.shape))
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        labels = np.arange(count) % TINY.classes
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return folder


def test_load(folder):
    tiny = load("tiny")
    assert (tiny.name, tiny.shape) == ("tiny", (2, 3))
    assert tiny.train_X.shape == (6, 6)
    assert tiny.test_X.shape == (3, 6)
    assert tiny.train_y.tolist() == [0, 1, 2, 0, 1, 2]
    assert tiny.test_y.tolist() == [0, 1, 2]
    expected = np.random.default_rng(0).integers(200, 256, size=(6, 2, 3))
    assert np.array_equal(tiny.train_X.reshape(6, 2, 3), expected)


def test_pixels_are_wide_enough_for_arithmetic(folder):
    tiny = load("tiny")
    assert {a.dtype for a in (tiny.train_X, tiny.train_y, tiny.test_X, tiny.test_y)} == {np.dtype(np.int64)}
    assert (tiny.train_X + tiny.train_X).min() >= 400
    assert (-tiny.train_X).max() <= -200


def complaint(name: str = "tiny") -> str:
    with pytest.raises(DatasetError) as caught:
        load(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_unknown_name():
    assert complaint("minst") == "unknown dataset 'minst'; known: mnist, fashion-mnist"


@pytest.mark.parametrize("value", [None, ""])
def test_folder_is_not_set(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("BEMI_DATA", raising=False)
    else:
        monkeypatch.setenv("BEMI_DATA", value)
    message = complaint("mnist")
    assert message.startswith("BEMI_DATA is not set")
    assert "mnist/train-images-idx3-ubyte.gz" in message


@pytest.mark.parametrize("part", ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"])
def test_missing_file(folder, part):
    path = folder / f"{part}-ubyte.gz"
    path.unlink()
    assert complaint() == f"{path} is missing; put the set's {path.name} there"


def test_missing_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BEMI_DATA", str(tmp_path / "nowhere"))
    assert "train-images-idx3-ubyte.gz is missing" in complaint("mnist")


GOOD = idx(np.zeros((6, 2, 3)))
PACKED = gzip.compress(GOOD)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "header is (0, 0, 0, 0)"),
        (GOOD, "Not a gzipped file"),
        (PACKED[: len(PACKED) // 2], "reading it failed"),
        (PACKED[:-8] + bytes(8), "reading it failed"),
        (gzip.compress(b""), "header is (0, 0, 0, 0), should be (2051, 6, 2, 3)"),
        (gzip.compress(idx(np.zeros(6))), "header is (2049, 6, 0, 0)"),
        (gzip.compress(idx(np.zeros((5, 2, 3)))), "header is (2051, 5, 2, 3)"),
        (gzip.compress(idx(np.zeros((6, 3, 2)))), "header is (2051, 6, 3, 2)"),
        (gzip.compress(GOOD[:-1]), "35 bytes follow its header, should be 36"),
        (gzip.compress(GOOD + b"\0"), "37 bytes follow its header, should be 36"),
    ],
    ids=["empty", "raw", "half", "checksum", "nothing", "labels", "fewer", "turned", "short", "long"],
)
def test_damaged_or_wrong_file(folder, content, words):
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(content)
    message = complaint()
    assert message.startswith(f"{path} is damaged or the wrong file: ")
    assert words in message
    assert message.endswith(f"put the set's {path.name} there")


def test_a_folder_in_the_place_of_a_file(folder):
    path = folder / "t10k-labels-idx1-ubyte.gz"
    path.unlink()
    path.mkdir()
    assert "reading it failed" in complaint()


def test_label_out_of_range(folder):
    labels = np.array([0, 1, 7])
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    assert "it has the label 7, the largest should be 2" in complaint()


LABELS = np.random.default_rng(1).permutation(np.repeat([3, 5, 8], [20, 30, 25]))


def test_draw_takes_as_many_of_every_class_in_order_and_none_twice():
    chosen = draw(LABELS, 7, seed=0)
    assert LABELS[chosen].tolist() == [3] * 7 + [5] * 7 + [8] * 7
    assert len(set(chosen.tolist())) == 21


def test_draw_can_take_a_whole_class():
    assert sorted(draw(LABELS, 20, seed=0)[:20].tolist()) == np.flatnonzero(LABELS == 3).tolist()


def test_draw_follows_the_seed():
    assert draw(LABELS, 7, seed=3).tolist() == draw(LABELS, 7, seed=3).tolist()
    assert draw(LABELS, 7, seed=3).tolist() != draw(LABELS, 7, seed=4).tolist()


def test_draw_is_uniform():
    counts = np.bincount(np.concatenate([draw([0] * 10, 3, seed) for seed in range(1000)]), minlength=10)
    # 300 expected of each, standard deviation 14.5.
    assert np.abs(counts - 300).max() < 75


@pytest.mark.parametrize(("per_class", "words"), [(21, "class 3 has only 20 rows, 21 were asked"), (0, "at least 1")])
def test_draw_refuses(per_class, words):
    with pytest.raises(ValueError, match=words):
        draw(LABELS, per_class, seed=0)


@pytest.mark.parametrize(("name", "first_labels"), [("mnist", [5, 0, 4, 1, 9]), ("fashion-mnist", [9, 0, 0, 3, 0])])
def test_real_files(name, first_labels):
    root = os.environ.get("BEMI_DATA")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"no folder {name} in BEMI_DATA")
    data = load(name)
    assert data.train_X.shape == (60_000, 784)
    assert data.test_X.shape == (10_000, 784)
    assert (data.train_X.min(), data.train_X.max()) == (0, 255)
    assert data.train_y[:5].tolist() == first_labels
    assert np.bincount(data.test_y).min() >= 800
