"""Signals on the command line: from recordings to a model, its certificate, and a label per window."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

import bemi
from bemi.cli import main

FAST = ["--jobs", "1", "--time-limit", "2"]
USUAL = [*FAST, "--no-estimate"]
"""Settings without a choice, which takes most of the time."""
WRIST = ["--window", "32", "--hop", "16", "--id", "who", "--time", "t", "--target", "what"]


def wrist(people=4, samples=96, seed=0):
    """A long table of a sensor on the wrist: two channels, three activities one after the other."""
    generator = np.random.default_rng(seed)
    frames = []
    for who in range(people):
        clock = 0
        for strength, what in ((50, "sit"), (400, "walk"), (1500, "run")):
            phase, t = generator.uniform(0, 6), np.arange(samples)
            x = strength * np.sin(0.3 * t + phase) + generator.normal(0, 30, samples)
            y = strength * np.cos(0.5 * t + phase) + generator.normal(0, 30, samples)
            frames.append(pd.DataFrame({"who": who, "t": 20 * (clock + t), "x": x, "y": y, "what": what}))
            clock += samples
    return pd.concat(frames, ignore_index=True).round({"x": 0, "y": 0}).astype({"x": int, "y": int})


def run(capsys, *arguments):
    try:
        code = main([str(a) for a in arguments])
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    wrist().to_csv(folder / "train.csv", index=False)
    wrist(2, seed=1).to_csv(folder / "new.csv", index=False)
    assert main(["train", str(folder / "train.csv"), "-o", str(folder / "m.bemi"), *WRIST, *FAST]) == 0
    assert main(["train", str(folder / "train.csv"), "-o", str(folder / "usual.bemi"), *WRIST, *USUAL]) == 0
    return folder


def test_a_long_table_from_training_to_labels(folder, tmp_path, capsys):
    code, out, error = run(capsys, "train", folder / "train.csv", "-o", tmp_path / "m", *WRIST, *FAST, "--json")
    assert (code, error) == (0, "")
    result = json.loads(out)
    settings = result["settings"]
    assert (settings["estimator"], settings["kind"]) == ("few-bit", "signal")
    assert settings["why"] == "60 windows of 32 samples of 2 channels (x, y) from 4 recordings, 50 samples a second"
    assert result["estimate"]["recordings"] == 4
    assert result["estimate"]["accuracy"] > 0.9
    assert next(iter(result["estimate"]["candidates"])) == "windows as recorded"
    assert bemi.load(tmp_path / "m").transform_.window_shape == (32, 2)
    assert (tmp_path / "m").read_bytes() == (folder / "m.bemi").read_bytes()

    places = ["--id", "who", "--time", "t", "--hop", "16"]
    code, out, _ = run(capsys, "predict", folder / "m.bemi", folder / "new.csv", *places)
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    # Nobody says where activities change, so these windows may span two of them.
    expected = bemi.windows(wrist(2, seed=1), 32, 16, id="who", time="t", channels=["x", "y"])
    assert [(int(row["id"]), int(row["start"])) for row in rows] == list(
        zip(expected.groups.tolist(), expected.starts.tolist(), strict=True)
    )
    assert [row["prediction"] for row in rows] == bemi.load(folder / "m.bemi").predict(expected.X).tolist()
    code, out, _ = run(capsys, "predict", folder / "m.bemi", folder / "new.csv", *places, "--json")
    found = json.loads(out)
    assert (found["id"], found["start"]) == (expected.groups.tolist(), expected.starts.tolist())

    code, out, _ = run(capsys, "evaluate", folder / "m.bemi", folder / "new.csv", *places, "--target", "what", "--json")
    assert code == 0
    labelled = bemi.windows(wrist(2, seed=1), 32, 16, id="who", time="t", target="what")
    right = bemi.load(folder / "m.bemi").predict(labelled.X) == labelled.y
    assert json.loads(out)["accuracy"] == right.mean() > 0.9


def test_the_certificate_is_about_these_windows(folder, capsys):
    data = ["--data", folder / "train.csv", "--id", "who", "--time", "t", "--target", "what"]
    code, out, _ = run(capsys, "verify", folder / "m.bemi", *data, "--hop", "16", "--json")
    assert code == 0
    assert json.loads(out)["rows_compared"] == 60
    code, _, error = run(capsys, "verify", folder / "m.bemi", *data, "--hop", "8")
    assert code == 1
    assert "were not used for training" in error


def test_a_page_with_windows_of_a_recording(folder, tmp_path, capsys):
    places = ["--id", "who", "--time", "t", "--target", "what"]
    command = ["export", "page", folder / "m.bemi", "--data", folder / "new.csv", *places, "-o", tmp_path / "p.html"]
    code, out, _ = run(capsys, *command, "--json")
    assert code == 0
    assert json.loads(out)["test_rows"] == len(bemi.windows(wrist(2, seed=1), 32, id="who", time="t", target="what").X)


def test_info_tells_channels_not_samples(folder, capsys):
    code, out, _ = run(capsys, "info", folder / "m.bemi", "--json")
    assert code == 0
    assert json.loads(out)["columns"] == [{"name": name, "kind": "32 samples", "unit": "1"} for name in ("x", "y")]


def same_networks(*paths):
    """Whether two models have the same training rows and weights."""
    first, second = map(bemi.load, paths)
    weights = [[network.weights[0].tolist() for network in model.networks_.values()] for model in (first, second)]
    return weights[0] == weights[1] and first.training_digest_ == second.training_digest_


def test_other_kinds_of_files_give_the_same_model(folder, tmp_path, capsys):
    windows = bemi.windows(wrist(), 32, 16, id="who", time="t", target="what")
    named = {f"{name}_{t}": windows.X[:, t, k] for k, name in enumerate("xy") for t in range(32)}
    pd.DataFrame({"who": windows.groups, **named, "what": windows.y}).to_csv(tmp_path / "rows.csv", index=False)
    code, _, error = run(
        capsys,
        *("train", tmp_path / "rows.csv", "-o", tmp_path / "m"),
        *("--inputs", "signal", "--id", "who", "--target", "what", *USUAL),
    )
    assert (code, error) == (0, "")
    assert same_networks(tmp_path / "m", folder / "usual.bemi")

    np.savez(tmp_path / "a.npz", X=windows.X, y=windows.y, groups=windows.groups)
    arguments = [tmp_path / "a.npz", "-o", tmp_path / "m", "--window", "32", *USUAL, "--json"]
    code, out, error = run(capsys, "train", *arguments)
    assert (code, error) == (0, "")
    assert json.loads(out)["settings"]["why"] == "60 windows of 32 samples of 2 channels from 4 recordings"
    assert same_networks(tmp_path / "m", folder / "usual.bemi")


def test_a_folder_of_recordings(tmp_path, capsys):
    for (who, what), own in wrist().groupby(["who", "what"]):
        (tmp_path / "data" / what).mkdir(parents=True, exist_ok=True)
        own[["t", "x", "y"]].to_csv(tmp_path / "data" / what / f"{who}.csv", index=False)
    command = ["train", tmp_path / "data", "-o", tmp_path / "m", "--window", "32", "--time", "t", *FAST]
    code, out, error = run(capsys, *command, "--json")
    assert code == 0
    assert error == "bemi: labels are the sub-folders: run, sit, walk\n"
    assert json.loads(out)["estimate"]["recordings"] == 12
    code, out, _ = run(capsys, "predict", tmp_path / "m", tmp_path / "data", "--time", "t")
    rows = list(csv.DictReader(out.splitlines()))
    assert {row["id"] for row in rows} == {f"{what}/{who}" for what in ("run", "sit", "walk") for who in range(4)}
    assert np.mean([row["id"].startswith(row["prediction"]) for row in rows]) > 0.9


def test_one_recording_per_class_is_said(tmp_path, capsys):
    wrist(1).to_csv(tmp_path / "a.csv", index=False)
    code, out, _ = run(capsys, "train", tmp_path / "a.csv", "-o", tmp_path / "m", *WRIST, *FAST)
    assert code == 0
    assert "the accuracy cannot be estimated: class run occurs in only one recording, 0" in " ".join(out.split())


def test_copies_and_units_are_said(tmp_path, capsys):
    wrist().assign(x=lambda f: f.x / 100).to_csv(tmp_path / "a.csv", index=False)
    command = ["train", tmp_path / "a.csv", "-o", tmp_path / "m", *WRIST, *FAST, "--copies", "--json"]
    code, out, error = run(capsys, *command)
    assert code == 0
    assert error == "bemi: values are not integers: the model, and a device, reads x in units of 0.01, rounded\n"
    assert json.loads(out)["estimate"]["chosen"] == "settings as given"
    assert bemi.load(tmp_path / "m").copies.gains == (0.625, 1.5)


def test_a_signal_of_raw_samples_if_asked(folder, tmp_path, capsys):
    command = ["train", folder / "train.csv", "-o", tmp_path / "m", *WRIST]
    code, _, _ = run(capsys, *command, *USUAL, "--inputs", "none")
    assert code == 0
    assert bemi.load(tmp_path / "m").transform_ is None
    code, _, _ = run(capsys, *command, *FAST, "--paper", "--subsets", "2", "--max-per-class", "3")
    assert code == 0
    assert bemi.load(tmp_path / "m").transform_.window_shape == (32, 2)


def test_arrays_are_images_unless_the_user_says_otherwise(tmp_path, capsys):
    X = np.random.default_rng(0).integers(0, 255, (12, 24, 3))
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(12) % 2)
    command = ["train", tmp_path / "a.npz", "-o", tmp_path / "m", *FAST, "--json"]
    code, out, error = run(capsys, *command, "--no-estimate")
    assert code == 0
    assert json.loads(out)["settings"]["kind"] == "image"
    assert "treated as images; add --window 24 if they are windows of a signal" in error
    for asked in (["--inputs", "signal"], ["--kind", "signal"]):
        code, out, error = run(capsys, *command, *asked)
        assert json.loads(out)["settings"]["kind"] == "signal"
        assert "windows are not grouped by recording (--id)" in error


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--id", "who"], "--id is for signals; give --window too, or --kind signal"),
        ([*WRIST, "--categorical", "what"], "--categorical is not for signals"),
        ([*WRIST, "--window", "200"], "no window of 200 samples is left: 12 of 12 stretches"),
        ([*WRIST, "--window", "2"], "window must be an integer in 3..32767, got 2"),
        ([*WRIST, "--channels", "2"], "give the names of the channels, not their number"),
        ([*WRIST, "--channels", "x,z"], "lacks the channel 'z'"),
        (
            ["--window", "32", "--target", "what", "--time", "t"],
            "column 'who' is constant within each window, probably an ID; name it as id",
        ),
    ],
)
def test_bad_input_is_one_line(folder, tmp_path, capsys, options, error):
    code, out, said = run(capsys, "train", folder / "train.csv", "-o", tmp_path / "m", *options)
    assert (code, out) == (2, "")
    assert error in said
    assert said.count("\n") == 1


def test_other_models_have_no_recordings(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,label\n1,x\n2,x\n8,y\n9,y\n")
    assert main(["train", str(tmp_path / "a.csv"), "-o", str(tmp_path / "m"), *FAST, "--no-estimate"]) == 0
    code, _, error = run(capsys, "predict", tmp_path / "m", tmp_path / "a.csv", "--id", "a")
    assert code == 2
    assert "--id is for windows of a signal, which this model does not take" in error


def test_another_rate_and_other_units_are_doubted_in_one_line(folder, tmp_path, capsys):
    places = ["--id", "who", "--time", "t"]
    command = ["predict", folder / "m.bemi", tmp_path / "other.csv", *places]
    new = wrist(2, seed=1)
    cases = {
        "": new,
        "recordings have 25 samples a second, the model was trained on 50: --resample 50 brings": new.assign(
            t=2 * new.t
        ),
        "values of x, y are 0.00": new.assign(x=new.x / 1000, y=new.y / 1000),
        "values of y are 9.": new.assign(y=9.81 * new.y),
    }
    for said, frame in cases.items():
        frame.to_csv(tmp_path / "other.csv", index=False)
        code, _, error = run(capsys, *command)
        assert code == 0
        assert error.startswith(f"bemi: {said}" if said else "")
        assert error.count("\n") == bool(said)
    # Seconds instead of milliseconds are the same rate.
    new.assign(t=new.t / 1000).to_csv(tmp_path / "other.csv", index=False)
    assert run(capsys, *command)[2] == ""
    new.assign(t=2 * new.t).to_csv(tmp_path / "other.csv", index=False)
    code, _, error = run(capsys, *command, "--resample", "50", "--json")
    assert code == 0
    assert error == "bemi: resampled from 25 to 50 Hz, times in ms: 576 samples become 1,150\n"


def test_results_of_recordings_and_smoothed_labels(folder, capsys):
    places = ["--id", "who", "--time", "t", "--hop", "4"]
    command = ["evaluate", folder / "m.bemi", folder / "new.csv", *places, "--target", "what"]
    windows = bemi.windows(wrist(2, seed=1), 32, 4, id="who", time="t", target="what")
    labels = bemi.load(folder / "m.bemi").predict(windows.X)
    for smooth in ((), ("--smooth", "9,7")):
        code, out, _ = run(capsys, *command, *smooth, "--json")
        assert code == 0
        result = json.loads(out)
        if smooth:
            labels = bemi.Smoothing(9, 7)(labels, windows.groups)
            assert sum(row[-1] for row in result["confusion"]) == 2 * 6  # before a label has seven votes
        assert result["accuracy"] == np.mean(labels == windows.y)
        assert [one["recording"] for one in result["by_recording"]] == ["0", "1"]
        for one, own in zip(result["by_recording"], (windows.groups == 0, windows.groups == 1), strict=True):
            assert one["rows"] == own.sum()
            assert one["accuracy"] == np.mean(labels[own] == windows.y[own])
            assert one["class"] is None
    code, out, _ = run(capsys, *command)
    assert out.index("recall") < out.index("recordings, the worst first")
    assert "status" not in out
    whole = bemi.windows(wrist(2, seed=1), 32, 4, id="who", time="t", channels=["x", "y"])
    code, out, _ = run(capsys, "predict", folder / "m.bemi", folder / "new.csv", *places, "--smooth", "9,7")
    rows = list(csv.DictReader(out.splitlines()))
    expected = bemi.Smoothing(9, 7, unsure="")(bemi.load(folder / "m.bemi").predict(whole.X), whole.groups)
    assert [row["prediction"] for row in rows] == expected.tolist()


def test_the_header_names_rate_channels_and_usual_values(folder, tmp_path, capsys):
    code, _, _ = run(capsys, "export", "c", folder / "m.bemi", "-o", tmp_path)
    assert code == 0
    header = (tmp_path / "bemi_model.h").read_text()
    assert "#define BEMI_SAMPLE_RATE 50\n" in header
    assert "There are 50 samples a second." in header
    for channel, name in enumerate("xy"):
        low, high = re.search(rf"c = {channel}: {name}, usually (-?\d+) to (-?\d+)", header).groups()
        assert wrist()[name].min() <= int(low) < 0 < int(high) <= wrist()[name].max()
