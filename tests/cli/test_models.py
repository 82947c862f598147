"""The command line, run as a user runs it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris

from bemi import (
    BeMiClassifier,
    FewBitClassifier,
    ImageScenarios,
    IntegerHog,
    NoiseScenarios,
    TableBits,
    load,
    solvers,
)
from bemi.cli import main

FAST = ["--paper", "--hidden-layers", "2", "--node-limit", "1", "--time-limit", "5", "--jobs", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A CSV with two digits, an NPZ with the same, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = load_digits(n_class=2, return_X_y=True)
    X, y = X[:40].astype(int), y[:40]
    with open(folder / "digits.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"p{i}" for i in range(64)] + ["digit"])
        writer.writerows(
            [*row, {0: "zero", 1: "one"}[label]] for row, label in zip(X.tolist(), y.tolist(), strict=True)
        )
    np.savez(folder / "digits.npz", X=X, y=y)
    assert main(["train", str(folder / "digits.csv"), "--target", "digit", "-o", str(folder / "m.bemi"), *FAST]) == 0
    return folder


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_train_writes_a_model_and_tells(folder, capsys, tmp_path):
    code, out, _ = run(
        capsys, "train", folder / "digits.npz", "-o", tmp_path / "m.bemi", "--stages", "sm,mm", *FAST, "--json"
    )
    assert code == 0
    result = json.loads(out)
    assert result["networks"] == 1
    assert result["layers"] == [64, 2, 1]
    assert set(result["stages"]) == {"sm", "mm"}
    assert result["training"]["accuracy"] == 1.0
    assert load(tmp_path / "m.bemi").classes_.tolist() == [0, 1]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Few rows of digits as lists and as images, and of a table."""
    folder = tmp_path_factory.mktemp("tables")
    X, y = load_digits(n_class=3, return_X_y=True)
    np.savez(folder / "rows.npz", X=X[:15], y=y[:15])
    np.savez(folder / "images.npz", X=X[:15].reshape(-1, 4, 16), y=y[:15])
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "iris.npz", X=X[::5], y=y[::5])
    return folder


ALONE = ["--no-estimate"]
"""Without a choice among candidates, which takes seconds."""


@pytest.mark.parametrize(
    ("file", "options", "kind", "expected"),
    [
        ("rows", [], "image", {"weight_bound": 7, "probabilities": True}),
        ("images", [], "image", {"weight_bound": 7}),
        ("iris", [], "table", {"weight_bound": 15}),
        ("iris", ALONE, "table", {"C": 3.0}),
        ("iris", [*ALONE, "--image-shape", "2x2"], "image", {"C": 10.0}),
        ("rows", [*ALONE, "--kind", "table"], "table", {"weight_bound": 15}),
        ("images", [*ALONE, "--kind", "image"], "image", {"weight_bound": 7}),
        ("images", [*ALONE, "--kind", "table"], "table", {"weight_bound": 15}),
        ("images", [*ALONE, "--inputs", "bits"], "table", {"weight_bound": 15}),
        ("rows", [*ALONE, "--inputs", "none", "--weight-bound", "3"], "image", {"weight_bound": 3, "inputs": None}),
        ("rows", [*ALONE, "--C", "2", "--no-probabilities"], "image", {"C": 2.0, "probabilities": False}),
        ("rows", [*ALONE, "--mw-loss", "0.2"], "image", {"mw_loss": 0.2}),
        ("rows", [*ALONE, "--no-copies", "--time-limit", "none"], "image", {"copies": None, "time_limit": None}),
    ],
)
def test_settings_fit_the_data_unless_others_are_asked_for(tables, tmp_path, capsys, file, options, kind, expected):
    common = ["--jobs", "1", "--node-limit", "1", "--time-limit", "1"]
    arguments = ["train", tables / f"{file}.npz", "-o", tmp_path / "m", *common, *options]
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    settings = json.loads(out)["settings"]
    assert (settings["estimator"], settings["kind"]) == ("few-bit", kind)
    model = load(tmp_path / "m")
    assert isinstance(model, FewBitClassifier)
    params = model.get_params(deep=False)
    assert {name: params[name] for name in expected} == expected
    if "inputs" not in expected:
        assert isinstance(params["inputs"], {"image": IntegerHog, "table": TableBits}[kind])
    if file == "images" and kind == "image":
        assert params["inputs"].shape == (4, 16, 1)


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        ("rows", [], {"hidden_layers": (4, 4), "weight_bound": 1, "stages": ("sm", "mm", "mw"), "inputs": None}),
        ("rows", ["--hidden-layers", "2"], {"hidden_layers": (2,), "stages": ("sm", "mm", "mw")}),
        ("rows", ["--stages", "sm", "--ties", "abstain"], {"stages": ("sm",), "ties": "abstain"}),
        ("iris", ["--stages", "sm", "--input-scaling", "common"], {"input_scaling": "common"}),
        ("rows", ["--stages", "sm", "--input-scaling", "none"], {"input_scaling": None}),
    ],
)
def test_the_papers_networks(tables, tmp_path, capsys, file, options, expected):
    common = ["--paper", "--jobs", "1", "--node-limit", "1", "--time-limit", "1"]
    code, out, _ = run(capsys, "train", tables / f"{file}.npz", "-o", tmp_path / "m", *common, *options, "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["settings"].keys(), told["settings"]["estimator"]) == ({"estimator", "networks"}, "bemi")
    assert told["estimate"] is None
    model = load(tmp_path / "m")
    assert isinstance(model, BeMiClassifier)
    params = model.get_params(deep=False)
    assert {name: params[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("file", "options", "copies"),
    [
        ("rows", [], ImageScenarios),
        ("images", ["--inputs", "none"], ImageScenarios),
        ("iris", [], NoiseScenarios),
        ("iris", ["--paper", "--max-per-class", "4", "--node-limit", "1"], NoiseScenarios),
    ],
)
def test_fewer_networks_and_copies_of_rows(tables, tmp_path, capsys, file, options, copies):
    common = ["--jobs", "1", "--subsets", "2", "--copies", "--time-limit", "2", "--json"]
    code, out, _ = run(capsys, "train", tables / f"{file}.npz", "-o", tmp_path / "m", *common, *options)
    assert code == 0
    assert json.loads(out)["networks"] == 2
    model = load(tmp_path / "m")
    assert len(model.networks_) == 2
    assert isinstance(model.copies, copies)
    assert model.inputs is None or "--paper" not in options
    assert run(capsys, "verify", tmp_path / "m")[0] == 0


def test_the_console_says_which_settings_were_taken_and_why(tables, tmp_path, capsys):
    code, out, _ = run(capsys, "train", tables / "rows.npz", "-o", tmp_path / "m", "--weight-bound", "3", "--jobs", "1")
    assert code == 0
    assert "image: 8 x 8 non-negative integers per row" in out
    assert "gradient histograms; no hidden layer, weights in -3..3, stages soft" in out
    assert "to choose otherwise: --kind, --inputs, --paper, --scorecard" in out
    code, out, _ = run(
        capsys, "train", tables / "rows.npz", "-o", tmp_path / "m", "--kind", "table", "--no-estimate", "--jobs", "1"
    )
    assert "table: --kind table" in out
    assert "to choose otherwise" not in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--hidden-layers", "2"], "--hidden-layers needs --paper"),
        (["--solver", "highs"], "--solver needs --paper"),
        (["--paper", "--C", "2"], "--C does not go with --paper"),
        (["--paper", "--no-probabilities"], "--probabilities does not go with --paper"),
        (["--paper", "--kind", "image"], "--kind does not go with --paper"),
        (["--scorecard", "5", "--max-links", "3"], "--max-links does not go with --scorecard"),
        (["--scorecard", "5", "--copies"], "--copies does not go with --scorecard"),
        (["--scorecard", "5", "--paper"], "--paper and --scorecard are two estimators; give one of them"),
        (["--scorecard", "5"], "--scorecard is for tables"),
        (["--kind", "table", "--image-shape", "4x16"], "--image-shape is for images, not for --kind table"),
        (["--kind", "image", "--window", "4"], "--window is for signals, not for --kind image"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(tables, tmp_path, capsys, options, words):
    code, out, error = run(capsys, "train", tables / "images.npz", "-o", tmp_path / "m", *options)
    assert (code, out, error) == (2, "", f"bemi: {words}\n")
    assert not (tmp_path / "m").exists()


def test_predict(folder, capsys, tmp_path):
    code, out, _ = run(capsys, "predict", folder / "m.bemi", folder / "digits.csv")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 41
    assert set(lines[1:]) == {"zero", "one"}
    code, out, _ = run(capsys, "predict", folder / "m.bemi", folder / "digits.csv", "--json")
    assert json.loads(out)["labels"] == lines[1:]
    assert run(capsys, "predict", folder / "m.bemi", folder / "digits.csv", "-o", tmp_path / "p.csv")[0] == 0
    assert (tmp_path / "p.csv").read_text().splitlines() == lines


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("images", FAST),
        ("images", ["--subset-size", "3", *FAST]),
        ("images", ["--time-limit", "2", "--jobs", "1", "--no-estimate"]),
        ("table", ["--time-limit", "1", "--jobs", "1", "--no-estimate"]),
    ],
    ids=["the paper's networks", "three classes per network", "soft margins on histograms", "soft margins on a table"],
)
def test_predict_writes_the_votes_of_every_network(kind, options, capsys, tmp_path):
    data, model, file = tmp_path / "data.csv", tmp_path / "m", tmp_path / "votes.csv"
    digits = load_digits(n_class=4, return_X_y=True)
    flowers = load_iris(return_X_y=True)
    pixels = pd.DataFrame(digits[0][:24].astype(int)).add_prefix("p").assign(label=digits[1][:24])
    table = pd.DataFrame(flowers[0][::5]).add_prefix("f").assign(label=[f"class {n}" for n in flowers[1][::5]])
    table["f0"] = np.where(table["f0"] > 5.8, "long", "short")
    (pixels if kind == "images" else table).to_csv(data, index=False)
    assert run(capsys, "train", data, "--target", "label", "-o", model, *options)[0] == 0
    code, printed, _ = run(capsys, "predict", model, data, "--votes", file)
    assert code == 0
    head, *lines = csv.reader(file.read_text().splitlines())
    clf = load(model)
    assert head == ["row", *("/".join(map(str, classes)) for classes in clf.networks_), "prediction"]
    assert [line[0] for line in lines] == [str(row) for row in range(24 if kind == "images" else 30)]
    assert [line[-1] for line in lines] == printed.splitlines()[1:]

    # Every network by itself, from its weights: class i of its classes has the binary digits of i, 0 as +1.
    X = pd.read_csv(data).drop(columns="label")
    inputs = clf.ensemble_.inputs(clf.ensemble_.inputs.checked(X))
    for column, (classes, network) in enumerate(clf.networks_.items(), 1):
        bits = (network.forward(inputs) == -1).astype(int)
        number = bits @ (2 ** np.arange(bits.shape[1])[::-1])
        assert [line[column] for line in lines] == [str([*classes, -1][min(n, len(classes))]) for n in number]
    votes = np.array([line[1:-1] for line in lines])
    assert np.array_equal(clf.votes_by_network(X).astype(str), votes)
    counts = np.stack([np.sum(votes == str(label), axis=1) for label in clf.classes_], axis=1)
    assert np.array_equal(counts, clf.vote(X).counts)


def test_predict_gives_chances_if_the_model_has_them(folder, capsys, tmp_path):
    data, soft = folder / "digits.csv", ["--no-estimate", "--no-copies", "--jobs", "1"]
    trained = run(capsys, "train", data, "--target", "digit", "-o", tmp_path / "m", *soft, "--probabilities")
    assert trained[0] == 0
    code, out, _ = run(capsys, "predict", tmp_path / "m", data, "--proba", "--json")
    told = json.loads(out)
    assert (code, told["classes"]) == (0, ["one", "zero"])
    assert np.allclose(np.sum(told["probabilities"], axis=1), 1)
    code, out, _ = run(capsys, "predict", tmp_path / "m", data, "--proba")
    head, *lines = csv.reader(out.splitlines())
    assert head == ["prediction", "chance of one", "chance of zero"]
    assert [line[0] for line in lines] == told["labels"]
    assert np.allclose([[float(cell) for cell in line[1:]] for line in lines], told["probabilities"], atol=1e-5)
    code, _, err = run(capsys, "predict", folder / "m.bemi", data, "--proba")
    assert (code, err.count("\n")) == (2, 1)
    assert "this model has no probabilities; train it with --probabilities, or leave out --proba" in err


def test_evaluate(folder, capsys):
    arguments = ("evaluate", folder / "m.bemi", folder / "digits.csv", "--target", "digit")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "100.00 %" in out
    code, out, _ = run(capsys, *arguments, "--json")
    result = json.loads(out)
    assert result["accuracy"] == 1.0
    assert sum(result["statuses"].values()) == pytest.approx(1)


def test_solvers(capsys):
    code, out, _ = run(capsys, "solvers", "--json")
    assert code == 0
    rows = {row["solver"]: row for row in json.loads(out)["solvers"]}
    assert set(rows) == set(solvers.SOLVERS)
    assert rows["highs"]["failures"] == []
    code, out, _ = run(capsys, "solvers")
    assert "passed" in out


def test_solvers_names_the_extra_of_a_missing_one(capsys, monkeypatch):
    honest = solvers.get

    def missing(name):
        if name != "highs":
            raise solvers.SolverNotInstalled(name)
        return honest(name)

    monkeypatch.setattr(solvers, "get", missing)
    _, out, _ = run(capsys, "solvers")
    assert "pip install 'bemi[gurobi]'" in out


TRAIN = ("train", "{folder}/digits.csv", "--target", "digit", "-o", "{tmp}/m")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "{folder}/digits.csv", "-o", "{tmp}/m"], "no column 'label'"),
        (["train", "{folder}/none.csv", "-o", "{tmp}/m"], "No such file"),
        (["train", "{folder}/digits.csv", "--target", "digit", "-o", "{tmp}/none/m"], "does not exist"),
        (["train", "{folder}/digits.csv", "--target", "digit", "-o", "{tmp}"], "is a folder"),
        (
            [*TRAIN, "--paper", "--stages", "xx"],
            "unknown stage 'xx'",
        ),
        (
            [*TRAIN, "--paper", "--solver", "xx"],
            "unknown solver 'xx'",
        ),
        ([*TRAIN, "--time-limit", "0"], "time_limit"),
        ([*TRAIN, "--time-limit", "long"], "give seconds as 10, as 5,5,1 or none, not 'long'"),
        ([*TRAIN, "--hidden-layers", "4x4"], "give integers with commas between them, not '4x4'"),
        ([*TRAIN, "--weight-bound", "x"], "invalid int"),
        ([*TRAIN, "--image-shape", "8"], "give a size as 28x28 or 32x32x3, not '8'"),
        ([*TRAIN, "--image-shape", "9,8"], "shape (9, 8) means 72 features, but X has 64"),
        ([*TRAIN, "--inputs", "wavelets"], "invalid choice"),
        ([*TRAIN, "--paper", "--stages", "soft"], "a stage must be one of sm, mm, mw, got 'soft'"),
        (["train", "{folder}/digits.csv", "--magic"], "the following arguments are required"),
        (["predict", "{folder}/digits.csv", "{folder}/digits.csv"], "is not a bemi model"),
        (["predict", "{folder}/none", "{folder}/digits.csv"], "No such file"),
        (["predict", "{folder}/m.bemi", "{folder}/digits.csv", "--votes", "{folder}/none/v.csv"], "does not exist"),
        (["explain"], "invalid choice"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, tmp_path, capsys, arguments, words):
    try:
        code = main([a.format(folder=folder, tmp=tmp_path) for a in arguments])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert code == 2
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_the_command_ends_with_the_code(tmp_path):
    command = [sys.executable, "-m", "bemi.cli", "predict", tmp_path / "none", tmp_path / "none.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No such file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_model_without_names_checks_the_number_of_features(folder, tmp_path, capsys):
    assert run(capsys, "train", folder / "digits.npz", "-o", tmp_path / "m", *FAST)[0] == 0
    np.savez(tmp_path / "short.npz", X=np.ones((2, 3)))
    code, _, err = run(capsys, "predict", tmp_path / "m", tmp_path / "short.npz")
    assert code == 2
    assert "3 features" in err


def test_parts_then_the_whole(folder, tmp_path, capsys):
    command = ["train", str(folder / "digits.csv"), "--target", "digit", "-o", str(tmp_path / "m.bemi"), *FAST]
    run = ["--run", str(tmp_path / "run")]
    assert main([*command, *run, "--shard", "1/2"]) == 0
    assert "part 1 of 2: 1 network trained" in capsys.readouterr().out
    assert not (tmp_path / "m.bemi").exists()
    assert main([*command, *run, "--shard", "2/2"]) == 0
    assert "part 2 of 2: 0 networks trained" in capsys.readouterr().out
    assert main([*command, *run, "--total-time-limit", "60", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reused_networks"] == 0, "another budget is another training"
    assert main([*command, *run]) == 0
    assert "not trained again: 1 of 1 network" in capsys.readouterr().out
    assert load(tmp_path / "m.bemi").networks_


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "a/b"])
def test_a_part_that_there_is_not_is_refused(folder, tmp_path, part, capsys):
    with pytest.raises(SystemExit):
        main(["train", str(folder / "digits.csv"), "-o", str(tmp_path / "m.bemi"), "--shard", part])
    assert "give a part as 1/4" in capsys.readouterr().err


def test_a_part_without_a_folder_is_refused(folder, tmp_path, capsys):
    command = ["train", str(folder / "digits.csv"), "--target", "digit", "-o", str(tmp_path / "m.bemi"), *FAST]
    assert main([*command, "--shard", "1/2"]) == 2
    assert "--shard needs --run DIR" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_named(folder, tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        command = ["train", str(folder / "digits.csv"), "--target", "digit", "-o", str(tmp_path / "m.bemi"), *FAST]
        assert main([*command, "--cluster", "127.0.0.1:1"]) == 2
    assert "there is no Dask scheduler at 127.0.0.1:1" in capsys.readouterr().err


def test_labels_are_compared_whatever_kind_they_are_in_the_file(tmp_path, capsys):
    """Three kinds in training, two of them in the test; and one label in the test that the model does not know."""
    rows = [f"{a},{b}" for a, b in ((9, 1), (8, 2), (9, 2), (1, 9), (2, 8), (1, 8), (9, 9), (8, 8), (7, 8))]
    for known, tested in ((("01", "02", "x"), ("01", "02", None)), (("1", "2", "3"), ("1", "2", "y"))):
        for name, labels in (("train", known), ("test", tested)):
            lines = [f"{row},{labels[k // 3]}" for k, row in enumerate(rows) if labels[k // 3] is not None]
            (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
        files = tmp_path / "train.csv", "-o", tmp_path / "m"
        assert (
            run(capsys, "train", *files, "--paper", "--hidden-layers", "4", "--jobs", "1", "--time-limit", "2")[0] == 0
        )
        _, out, _ = run(capsys, "evaluate", tmp_path / "m", tmp_path / "test.csv", "--json")
        right = json.loads(out)["accuracy"]
        _, out, _ = run(capsys, "predict", tmp_path / "m", tmp_path / "test.csv", "--json")
        given = [label for label in tested if label is not None for _ in range(3)]
        assert right == np.mean([str(a) == b for a, b in zip(json.loads(out)["labels"], given, strict=True)]) > 0


def test_float_images_share_one_factor(tmp_path, capsys):
    X, y = load_digits(n_class=2, return_X_y=True)
    np.savez(tmp_path / "d.npz", X=X[:40] / 16, y=y[:40])
    assert run(capsys, "train", tmp_path / "d.npz", "-o", tmp_path / "m", "--inputs", "hog", "--jobs", "1")[0] == 0
    assert len(set(load(tmp_path / "m").input_scaling_.scale.multipliers)) == 1


def test_rows_longer_than_the_header_are_refused(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,b,label\n1,2,3,x\n3,4,5,y\n")
    code, _, error = run(capsys, "train", tmp_path / "a.csv", "-o", tmp_path / "m")
    assert code == 2
    assert "rows have more cells than the header" in error


def test_a_model_without_names_takes_a_table_with_names(tables, tmp_path, capsys, recwarn):
    assert run(capsys, "train", tables / "iris.npz", "-o", tmp_path / "m", "--jobs", "1", "--time-limit", "1")[0] == 0
    with np.load(tables / "iris.npz") as arrays:
        X, y = arrays["X"], arrays["y"]
    lines = [",".join([*(str(v) for v in row), str(label)]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    (tmp_path / "f.csv").write_text("\n".join(["a,b,c,d", *(line.rsplit(",", 1)[0] for line in lines)]) + "\n")
    found = [
        json.loads(run(capsys, "evaluate", tmp_path / "m", f, "--json")[1])
        for f in (tables / "iris.npz", tmp_path / "t.csv")
    ]
    assert found[0] == found[1]
    assert run(capsys, "predict", tmp_path / "m", tmp_path / "f.csv", "--json")[0] == 0
    assert not [w for w in recwarn if "feature names" in str(w.message)]
