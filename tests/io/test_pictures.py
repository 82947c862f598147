"""Folders of images, read, trained on and labelled."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bemi import load
from bemi.cli import main
from bemi.io import DataFileError, check_labelled, has_pictures, read_pictures

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20


def save(folder, name, pixels):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(folder / name)


def test_pixels_files_and_labels(tmp_path):
    save(tmp_path, "dog/b.png", GREY)
    save(tmp_path, "cat/a.PNG", GREY[::-1].copy())
    (tmp_path / "cat" / "notes.txt").write_text("not an image")
    found = read_pictures(tmp_path)
    assert (found.files, found.labels.tolist(), found.shape) == (["cat/a.PNG", "dog/b.png"], ["cat", "dog"], (3, 4, 1))
    assert found.X.to_numpy().tolist() == [GREY[::-1].ravel().tolist(), GREY.ravel().tolist()]


def test_labels_are_integers_if_all_names_are(tmp_path):
    save(tmp_path, "3/a.png", GREY)
    save(tmp_path, "10/a.png", GREY)
    assert read_pictures(tmp_path).labels.tolist() == [10, 3]
    save(tmp_path, "03/a.png", GREY)
    assert read_pictures(tmp_path).labels.tolist() == ["03", "10", "3"]


def test_colours_16_bits_and_other_sizes(tmp_path):
    colours = np.stack([GREY, GREY // 2, GREY // 4], axis=2)
    save(tmp_path, "a/1.png", colours)
    save(tmp_path, "b/1.png", GREY)
    found = read_pictures(tmp_path)
    assert found.shape == (3, 4, 3)
    assert found.X.to_numpy()[0].tolist() == colours.ravel().tolist()
    assert found.X.to_numpy()[1].tolist() == np.repeat(GREY.ravel(), 3).tolist()
    save(tmp_path, "b/2.png", (GREY.astype(np.uint16) << 8) + 7)
    assert read_pictures(tmp_path, (3, 4, 1)).X.to_numpy()[2].tolist() == GREY.ravel().tolist()
    assert read_pictures(tmp_path, (6, 2)).X.shape == (3, 36)


def test_what_cannot_be_used_is_named(tmp_path):
    assert not has_pictures(tmp_path)
    save(tmp_path, "a/1.png", GREY)
    with pytest.raises(DataFileError, match="images of one class only, a"):
        check_labelled(tmp_path, read_pictures(tmp_path))
    save(tmp_path, "b/1.png", GREY[:2])
    with pytest.raises(DataFileError, match=r"a/1.png is 3x4 and b/1.png 2x4 pixels; --image-shape 32x32 resizes"):
        read_pictures(tmp_path)
    save(tmp_path, "b/1.png", GREY)
    save(tmp_path, "loose.png", GREY)
    with pytest.raises(DataFileError, match=r"loose.png has no label"):
        check_labelled(tmp_path, read_pictures(tmp_path))
    (tmp_path / "b" / "1.png").write_bytes(b"nothing")
    with pytest.raises(DataFileError, match=r"1.png cannot be read as an image"):
        read_pictures(tmp_path)
    save(tmp_path / "large", "a/1.png", np.zeros((300, 300), np.uint8))
    with pytest.raises(DataFileError, match="too many features"):
        read_pictures(tmp_path / "large")


def test_train_evaluate_and_predict_on_folders(tmp_path, capsys):
    X, y = load_digits(n_class=2, return_X_y=True)
    for row, (pixels, digit) in enumerate(zip(X, y, strict=True)):
        if row < 40:
            part = "train" if row < 20 else "test"
            save(tmp_path / part, f"{digit}/{row}.png", (15 * pixels).reshape(8, 8).astype(np.uint8))
    model = str(tmp_path / "m.bemi")
    train = ["train", str(tmp_path / "train"), "-o", model, "--no-estimate", "--jobs", "1", "--json"]
    assert main(train) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["kind"] == "image"
    assert main(["evaluate", model, str(tmp_path / "test"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1.0
    assert main(["predict", model, str(tmp_path / "test")]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert all(row["file"].split("/")[0] == row["prediction"] for row in rows)
    assert len(rows) == 20
    assert main([*train, "--target", "label"]) == 2
    assert capsys.readouterr().err == "bemi: --target is for CSV files, not for images\n"


def test_pixel_models_of_resized_folders_know_their_size(tmp_path, capsys):
    """What images are resized to is part of the model, in every command and export."""
    X, y = load_digits(n_class=2, return_X_y=True)
    for row, (pixels, digit) in enumerate(zip(X[:40], y, strict=False)):
        part, large = "train" if row < 20 else "test", np.kron((15 * pixels).reshape(8, 8), np.ones((3, 3)))
        save(tmp_path / part, f"{digit}/{row}.png", large.astype(np.uint8))
    model, test = str(tmp_path / "m.bemi"), str(tmp_path / "test")
    paper = ["--paper", "--stages", "sm", "--hidden-layers", "2", "--time-limit", "2", "--jobs", "1"]
    assert main(["train", str(tmp_path / "train"), "-o", model, "--image-shape", "8x4", *paper, "--quiet"]) == 0
    assert main(["evaluate", model, test, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.9
    assert main(["predict", model, test, "--json"]) == 0
    labels = json.loads(capsys.readouterr().out)["labels"]
    small = read_pictures(tmp_path / "test", (8, 4)).X
    assert labels == load(model).predict(small.to_numpy()).tolist()
    assert load(model).ensemble_.inputs.image_shape == (8, 4, 1)
    for target, name in (("c", "bemi_model.h"), ("verilog", "bemi_model.v")):
        assert main(["export", target, model, "-o", str(tmp_path / target)]) == 0
        text = (tmp_path / target / name).read_text()
        assert "Inputs are an image from the top left, 8 lines of 4 pixels" in text
        assert "[4 * r + c] is the pixel in line r, column c." in text
    assert "#define BEMI_IMAGE_WIDTH 4\n" in (tmp_path / "c" / "bemi_model.h").read_text()
    assert main(["export", "page", model, "-o", str(tmp_path / "p.html")]) == 0
    assert '"height":8,"width":4' in (tmp_path / "p.html").read_text().replace(" ", "")
