"""Colour and larger images, from the command line to every export: the same labels everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compiled_c import answers, compiled, needs_gcc

import bemi
from bemi.cli import main
from bemi.export.c import write


def figures(shape, rows, seed):
    """A bar, a disc or a corner of any colour, somewhere on a noisy ground of another colour."""
    rng = np.random.default_rng(seed)
    height, width, channels = (*shape, 1)[:3]
    y = np.arange(rows) % 3
    r, c = np.mgrid[:height, :width]
    images = np.empty((rows, height, width, channels), dtype=np.uint8)
    for image, kind in zip(images, y, strict=True):
        size, (top, left) = height // 4, rng.integers(height // 4, height // 2, 2)
        r0, c0 = r - top, c - left
        disc = (r0 - size // 2) ** 2 + (c0 - size // 2) ** 2 < (size // 2) ** 2
        box = (r0 >= 0) & (r0 < size) & (c0 >= 0) & (c0 < size)
        inside = (box & (abs(c0 - size // 2) < size // 6), disc, box & (r0 + c0 < size))[kind]
        ground = rng.integers(0, 100, channels)
        colour = ground + rng.integers(80, 150, channels)
        image[:] = np.where(inside[:, :, None], colour, ground) + rng.integers(0, 6, image.shape)
    return images, y


@pytest.fixture(scope="module", params=[(32, 32, 3), (64, 64)], ids=["32x32x3", "64x64"])
def trained(request, tmp_path_factory):
    """Shape, file of the model, and rows that it was not trained on with the labels that Python gives them."""
    folder, shape = tmp_path_factory.mktemp("larger"), request.param
    X, y = figures(shape, 24, 0)
    np.savez(folder / "train.npz", X=X.reshape(len(X), -1), y=y)
    arguments = ["--image-shape", "x".join(map(str, shape)), "--no-estimate", "--time-limit", "2", "--jobs", "1"]
    assert main(["train", str(folder / "train.npz"), "-o", str(folder / "m.bemi"), *arguments]) == 0
    rows, truth = figures(shape, 60, 1)
    rows = rows.reshape(len(rows), -1).astype(np.int64)
    labels = bemi.load(folder / "m.bemi").predict(rows)
    assert np.mean(labels == truth) >= 0.9
    return folder / "m.bemi", rows, labels


def test_the_command_line_predicts_and_verifies(trained, tmp_path, capsys):
    file, rows, labels = trained
    np.savez(tmp_path / "new.npz", X=rows)
    assert main(["predict", str(file), str(tmp_path / "new.npz")]) == 0
    assert [int(line) for line in capsys.readouterr().out.split()[1:]] == labels.tolist()
    assert main(["verify", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@needs_gcc
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_c_gives_the_same_labels(trained, optimize, tmp_path):
    file, rows, labels = trained
    write(bemi.load(file), tmp_path, optimize=optimize)
    assert np.array_equal(answers(compiled(tmp_path, "-O1"), rows, "uint8_t"), labels)


def test_onnx_gives_the_same_labels(trained, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    file, rows, labels = trained
    assert main(["export", "onnx", str(file), "-o", str(tmp_path / "m.onnx")]) == 0
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    assert np.array_equal(session.run(None, {"x": rows.astype(np.int32)})[0].ravel(), labels)
