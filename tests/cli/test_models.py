"""The command line, run as a user runs it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bemi import load, solvers
from bemi.cli import main

FAST = ["--hidden-layers", "2", "--node-limit", "1", "--time-limit", "5", "--jobs", "1"]


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
        if name == "gurobi":
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
            [*TRAIN, "--stages", "xx"],
            "unknown stage 'xx'",
        ),
        (
            [*TRAIN, "--solver", "xx"],
            "unknown solver 'xx'",
        ),
        ([*TRAIN, "--time-limit", "0"], "time_limit"),
        ([*TRAIN, "--weight-bound", "x"], "invalid int"),
        (["train", "{folder}/digits.csv", "--magic"], "the following arguments are required"),
        (["predict", "{folder}/digits.csv", "{folder}/digits.csv"], "is not a bemi model"),
        (["predict", "{folder}/none", "{folder}/digits.csv"], "No such file"),
        (["explain"], "invalid choice"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, tmp_path, arguments, words):
    arguments = [a.format(folder=folder, tmp=tmp_path) for a in arguments]
    done = subprocess.run([sys.executable, "-m", "bemi.cli", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_model_without_names_checks_the_number_of_features(folder, tmp_path, capsys):
    assert run(capsys, "train", folder / "digits.npz", "-o", tmp_path / "m", *FAST)[0] == 0
    np.savez(tmp_path / "short.npz", X=np.ones((2, 3)))
    code, _, err = run(capsys, "predict", tmp_path / "m", tmp_path / "short.npz")
    assert code == 2
    assert "3 features" in err
