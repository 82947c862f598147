"""Tables with text, empty cells and other habits of CSV files, from the file to the label."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from bemi import ScorecardClassifier, TableBits, load
from bemi.cli import main, train
from bemi.cli.options import class_weights, directions, names
from bemi.cli.output import estimate, expectation
from bemi.io import sources

FAST = ["--jobs", "1", "--time-limit", "2", "--no-estimate"]
COLOURS = ("red", "green", "blue")


def rows(count=60, seed=0):
    """Rows as text: an index, a number that decides, a colour that decides the rest, a number with gaps, a label."""
    generator = np.random.default_rng(seed)
    found = []
    for k in range(count):
        colour = COLOURS[generator.integers(3)]
        mass = generator.normal()
        gap = "" if generator.random() < 0.2 else f"{generator.normal():.2f}"
        label = "yes" if mass + 2 * (colour == "red") > 0.7 else "no"
        found.append([str(k), f"{20 + mass:.2f}", colour, gap, label])
    return found


def write(path, header, lines, separator=","):
    path.write_text("\n".join(separator.join(line) for line in [header, *lines]) + "\n")
    return path


def run(capsys, *arguments):
    try:
        code = main([str(a) for a in arguments])
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


HEADER = ["Unnamed: 0", "mass", "colour", "gap", "label"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    write(folder / "train.csv", HEADER, rows())
    write(folder / "new.csv", HEADER, rows(40, seed=1))
    assert main(["train", str(folder / "train.csv"), "-o", str(folder / "m.bemi"), *FAST]) == 0
    return folder


def test_a_table_is_trained_on_and_the_index_left_out(folder, tmp_path, capsys):
    code, out, error = run(capsys, "train", folder / "train.csv", "-o", tmp_path / "m", *FAST, "--json")
    assert code == 0
    notes = ["column 'Unnamed: 0' looks like an index and is left out; --keep makes it a feature"]
    result = json.loads(out)
    assert result["notes"] == notes
    assert error == f"bemi: {notes[0]}\n"
    assert result["training"]["accuracy"] > 0.9
    assert result["estimate"] is None
    model = load(tmp_path / "m")
    assert list(model.feature_names_in_) == ["mass", "colour", "gap"]
    assert [column.levels for column in model.transform_.columns_] == [None, ("blue", "green", "red"), None]
    run(capsys, "train", folder / "train.csv", "-o", tmp_path / "m", *FAST, "--keep")
    assert list(load(tmp_path / "m").feature_names_in_) == ["Unnamed: 0", "mass", "colour", "gap"]


def test_the_same_rows_in_another_file_get_the_same_labels(folder, tmp_path, capsys):
    """Separator, decimal comma, order, extra columns, no index, another text for missing: nothing of it matters."""
    code, out, _ = run(capsys, "predict", folder / "m.bemi", folder / "new.csv", "--json")
    assert code == 0
    expected = json.loads(out)["labels"]
    assert set(expected) == {"yes", "no"}
    given = rows(40, seed=1)
    versions = {
        "no-index.csv": (["mass", "colour", "gap"], [row[1:4] for row in given], ","),
        "order.tsv": (["gap", "extra", "colour", "mass"], [[r[3], "x", r[2], r[1]] for r in given], "\t"),
        "excel.csv": (
            ["mass", "colour", "gap", "label"],
            [[r[1].replace(".", ","), f'"{r[2]}"', r[3].replace(".", ","), r[4]] for r in given],
            ";",
        ),
        "tokens.csv": (["mass", "colour", "gap"], [[r[1], r[2], r[3] or "-9"] for r in given], ","),
    }
    for name, (header, lines, separator) in versions.items():
        path = write(tmp_path / name, header, lines, separator)
        options = ["--missing=-9"] if name == "tokens.csv" else []
        code, out, error = run(capsys, "predict", folder / "m.bemi", path, "--json", *options)
        assert (code, error) == (0, ""), name
        assert json.loads(out)["labels"] == expected, name


def test_evaluate_compares_labels_as_values(tmp_path, capsys):
    lines = [[row[1], row[2], "1.0" if row[4] == "yes" else "-1.0"] for row in rows()]
    header = ["mass", "colour", "label"]
    path = write(tmp_path / "train.csv", header, lines)
    assert run(capsys, "train", path, "-o", tmp_path / "m", *FAST)[0] == 0
    assert load(tmp_path / "m").classes_.tolist() == ["-1.0", "1.0"]
    other = write(tmp_path / "other.csv", header, [[a, b, c.removesuffix(".0")] for a, b, c in lines])
    found = [json.loads(run(capsys, "evaluate", tmp_path / "m", f, "--json")[1])["accuracy"] for f in (path, other)]
    assert found[0] == found[1] > 0.9


def test_options_about_columns_reach_the_model(folder, tmp_path, capsys):
    options = ["--categorical", "mass", "--drop", "gap,colour", "--keep", "--numeric", "Unnamed: 0"]
    assert run(capsys, "train", folder / "train.csv", "-o", tmp_path / "m", *FAST, *options)[0] == 0
    columns = load(tmp_path / "m").transform_.columns_
    assert [column.name for column in columns] == ["Unnamed: 0", "mass"]
    assert columns[0].levels is None
    assert len(columns[1].levels) > 20


def test_numbers_alone_can_be_bits_too(tmp_path, capsys):
    path = write(tmp_path / "n.csv", ["mass", "label"], [[row[1], row[4]] for row in rows()])
    assert run(capsys, "train", path, "-o", tmp_path / "m", "--inputs", "bits", *FAST)[0] == 0
    assert isinstance(load(tmp_path / "m").transform_, TableBits)


def test_categories_never_seen_count_as_none_and_are_noted(folder, tmp_path, capsys):
    given = [["20.1", "violet", "1"], ["20.2", "7", "1"], ["20.3", "red", "1"]]
    path = write(tmp_path / "new.csv", ["mass", "colour", "gap"], given)
    code, out, error = run(capsys, "predict", folder / "m.bemi", path)
    assert code == 0
    assert error == "bemi: column 'colour': 2 rows have categories not seen in training: 'violet', '7'\n"
    assert len(out.splitlines()) == 4
    X = load(folder / "m.bemi").transform_.fixed_point_inputs(np.array(given, dtype=object))
    assert X[:, 1].tolist() == [-1, -1, 2]


BAD = {
    "one-value": (["a", "label"], [["5", "x"], ["5", "y"]] * 6, "no column carries information"),
    "all-missing": (["a", "label"], [["", "x"], ["NA", "y"]] * 6, "no feature columns"),
    "infinite": (["a", "label"], [["1", "x"], ["inf", "y"]] * 6, "row 2 (line 3), column 'a' holds 'inf'"),
    "dates": (
        ["day", "label"],
        [[f"2024-01-{k:02}", "xy"[k % 2]] for k in range(1, 30)],
        "column 'day' holds dates or times, such as '2024-01-01' in row 1 (line 2); correct it, leave the column out "
        "with --drop",
    ),
    "continuous": (
        ["a", "label"],
        [[str(k % 5), f"{k}.37"] for k in range(30)],
        "column 'label' looks continuous: 30 different numbers in 30 rows, such as 0.37",
    ),
    "levels": (
        ["name", "label"],
        [[f"n{k}", "xy"[k % 2]] for k in range(10_000)],
        "column 'name' looks like an identifier, with 10,000 different texts such as 'n0'",
    ),
    "one-class": (["a", "label"], [[str(k % 3), "x"] for k in range(9)], "only one class"),
    "spoiled": (
        ["a", "label"],
        [[f"{k}.5" if k != 7 else "7.5 kg", "xy"[k % 2]] for k in range(30)],
        "column 'a' holds numbers, but also text, such as '7.5 kg' in row 8 (line 9)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_one_line(tmp_path, capsys, name):
    header, lines, words = BAD[name]
    path = write(tmp_path / "bad.csv", header, lines)
    code, out, error = run(capsys, "train", path, "-o", tmp_path / "m", "--inputs", "bits", *FAST)
    assert (code, out) == (2, "")
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("header", "line", "words"),
    [
        (["mass", "gap"], ["20", "1"], "lacks the model's column 'colour'"),
        (["mass", "colour", "gap"], ["heavy", "red", "1"], "row 1 (line 2), column 'mass' holds 'heavy', which is not"),
        (["mass", "colour", "gap"], ["-inf", "red", "1"], "row 1 (line 2), column 'mass' holds '-inf', which is not"),
    ],
)
def test_bad_rows_to_predict_are_one_line(folder, tmp_path, capsys, header, line, words):
    path = write(tmp_path / "bad.csv", header, [line])
    code, out, error = run(capsys, "predict", folder / "m.bemi", path)
    assert (code, out) == (2, "")
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--drop", "none"], "--drop: {file} has no column 'none'; its columns are 'Unnamed: 0', 'mass'"),
        (["--numeric", "colour"], "row 1 (line 2), column 'colour' holds "),
        (["--categorical", "label"], "--categorical names 'label', the column with the labels"),
        (["--paper"], "column 'colour' holds "),
        (["--monotone", "mass"], "give columns and directions as age=+1,dose=-1, not 'mass'"),
        (["--monotone", "mass=2"], "give columns and directions as age=+1,dose=-1, not 'mass=2'"),
        (["--class-weight", "yes"], "give balanced, or labels and weights as ill=5,well=1, not 'yes'"),
        (["--class-weight", "maybe=2"], "--class-weight names 'maybe', which is not a label; labels are no, yes"),
        (["--max-links", "few"], "invalid int"),
    ],
)
def test_bad_options_are_one_line(folder, tmp_path, capsys, options, words):
    file = folder / "train.csv"
    code, out, error = run(capsys, "train", file, "-o", tmp_path / "m", *FAST, *options)
    assert (code, out) == (2, "")
    assert words.format(file=file) in error
    assert error.count("\n") == 1


def test_lists_on_the_command_line():
    assert names('a, "b, c",d') == ("a", "b, c", "d")
    assert names("") == ()
    assert directions("age=+1,a=b=-1,c=1") == {"age": 1, "a=b": -1, "c": 1}
    assert class_weights("balanced") == "balanced"
    assert class_weights("ill=5,a=b=.5") == {"ill": 5.0, "a=b": 0.5}


def test_class_weights_have_the_labels_of_the_file():
    assert train.labels_weighed({"1": 2.0, "0": 1.0}, np.array([0, 1, 1])) == {1: 2.0, 0: 1.0}
    assert train.labels_weighed({"1": 2.0}, np.array(["1.0", "-1.0"], dtype=object)) == {"1.0": 2.0}
    assert train.labels_weighed("balanced", np.array([0, 1])) == "balanced"


def chosen(**parts):
    """A choice between two candidates."""
    from bemi.training import Candidate, Choice

    values = {
        "expected": 0.8125,
        "low": 0.77,
        "high": 0.85,
        "accuracies": {"centred, C = 10": 0.79, "bits, C = 1": 0.82},
    }
    return Choice(Candidate("bits, C = 1", {}), **(values | parts), folds=5, repeats=3)


def test_the_estimate_is_told_with_its_range():
    found = estimate(chosen())
    assert json.loads(json.dumps(found)) == found
    assert (found["accuracy"], found["range"]) == (0.8125, [0.77, 0.85])
    assert expectation(found) == ("expected accuracy on new rows", "81.2 %, between 77.0 % and 85.0 %")
    assert expectation(estimate(chosen(recordings=9)))[0] == "expected accuracy on new recordings"


def test_without_a_choice_there_is_no_estimate():
    assert estimate(None) is None
    found = estimate(chosen(expected=None, low=None, high=None, accuracies={}))
    assert (found["accuracy"], found["range"], found["candidates"]) == (None, None, {})
    assert expectation(found)[1] == "unknown"


def test_train_estimates_the_accuracy_on_new_rows_unless_told_not_to(folder, tmp_path, capsys):
    common = ["train", folder / "train.csv", "-o", tmp_path / "m", "--jobs", "1", "--time-limit", "1"]
    _, out, _ = run(capsys, *common)
    assert "expected accuracy on new rows" in out
    assert "by 5-fold cross-validation" in out
    assert "training accuracy" in out
    _, out, _ = run(capsys, *common, "--json")
    found = json.loads(out)["estimate"]
    low, high = found["range"]
    assert 0.5 < low <= found["accuracy"] <= high <= 1
    # Similarities keep training rows in the model: they are chosen only if they are better by a standard error.
    without = {name: share for name, share in found["candidates"].items() if "similarities" not in name}
    assert without[found["chosen"]] == max(without.values())
    _, out, _ = run(capsys, *common, "--no-estimate")
    assert re.search("expected accuracy on new rows +│ not estimated", out)
    assert "training accuracy" in out
    assert run(capsys, *common, "--no-estimate", "--quiet") == (0, "", "")


def test_cards_with_weights_and_directions(folder, tmp_path, capsys):
    """All options of a scorecard reach the classifier, whose own tests say what they do."""
    options = ["--scorecard", "3", "--monotone", "mass=+1", "--class-weight", "yes=2,no=1", "--weight-bound", "4"]
    code, out, error = run(capsys, "train", folder / "train.csv", "-o", tmp_path / "m", *FAST, *options, "--json")
    assert code == 0, error
    assert json.loads(out)["settings"]["estimator"] == "scorecard"
    model = load(tmp_path / "m")
    assert isinstance(model, ScorecardClassifier)
    settings = model.get_params(deep=False)
    assert (settings["max_lines"], settings["hinges"], settings["weight_bound"]) == (3, 2, 4)
    assert settings["monotone"] == {"mass": 1}
    assert settings["class_weight"] == {"yes": 2.0, "no": 1.0}
    (network,) = model.networks_.values()
    assert 0 < np.count_nonzero(network.weights[0][:-1]) <= 3


def test_tables_are_read_wherever_they_are(folder, tmp_path, capsys, monkeypatch):
    """Packed, and on standard input."""
    text = (folder / "new.csv").read_bytes()
    (tmp_path / "new.csv.gz").write_bytes(gzip.compress(text))
    expected = run(capsys, "evaluate", folder / "m.bemi", folder / "new.csv", "--json")
    assert run(capsys, "evaluate", folder / "m.bemi", tmp_path / "new.csv.gz", "--json") == expected
    sources._standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run(capsys, "evaluate", folder / "m.bemi", "-", "--json") == expected
    sources._standard_input.cache_clear()
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip")
    code, _, error = run(capsys, "evaluate", folder / "m.bemi", tmp_path / "bad.csv.gz")
    assert (code, error.count("\n")) == (2, 1)
    assert "bad.csv.gz cannot be read with gzip" in error


@pytest.mark.parametrize(("package", "suffix"), [("pyarrow", "parquet"), ("openpyxl", "xlsx")])
def test_parquet_and_excel_tables_are_read_as_the_same_table(package, suffix, folder, tmp_path, capsys):
    pytest.importorskip(package)
    table = pd.read_csv(folder / "new.csv")
    file = tmp_path / f"new.{suffix}"
    table.to_parquet(file) if suffix == "parquet" else table.to_excel(file, index=False)
    expected = run(capsys, "evaluate", folder / "m.bemi", folder / "new.csv", "--json")
    assert run(capsys, "evaluate", folder / "m.bemi", file, "--json") == expected


@pytest.mark.parametrize(("package", "suffix"), [("pyarrow", "parquet"), ("openpyxl", "xlsx")])
def test_a_missing_reader_is_named(package, suffix, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    file = tmp_path / f"new.{suffix}"
    file.write_bytes(b"")
    code, _, error = run(capsys, "evaluate", folder / "m.bemi", file)
    assert (code, error.count("\n")) == (2, 1)
    assert f"needs {package}: pip install 'bemi[tables]'" in error


def test_evaluation_measures_what_scikit_learn_measures(folder, tmp_path, capsys):
    model, data = load(folder / "m.bemi"), pd.read_csv(folder / "new.csv")
    data.loc[::7, "label"] = np.where(data.loc[::7, "label"] == "yes", "no", "yes")
    data.to_csv(tmp_path / "new.csv", index=False)
    X, y = data.drop(columns=["Unnamed: 0", "label"]), data["label"].to_numpy()
    code, out, _ = run(capsys, "evaluate", folder / "m.bemi", tmp_path / "new.csv", "--json")
    found, labels = json.loads(out), model.predict(X)
    assert code == 0
    assert found["accuracy"] == metrics.accuracy_score(y, labels)
    assert found["range"][0] < found["accuracy"] < found["range"][1]
    assert found["base_rate"] == pd.Series(y).value_counts(normalize=True).max()
    assert [row[:2] for row in found["confusion"]] == metrics.confusion_matrix(y, labels).tolist()
    assert [c["recall"] for c in found["classes"]] == metrics.recall_score(y, labels, average=None).tolist()
    assert [c["precision"] for c in found["classes"]] == metrics.precision_score(y, labels, average=None).tolist()
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y == "yes", model.decision_function(X)))
    chances = model.predict_proba(X)
    told = found["probabilities"]
    assert told["log_loss"] == pytest.approx(metrics.log_loss(y, chances))
    assert told["brier"] == pytest.approx(metrics.brier_score_loss(y == "yes", chances[:, 1]))
    assert sum(part["rows"] for part in told["calibration"]) == len(y)
    happened = sum(part["rows"] * part["happened"] for part in told["calibration"])
    assert happened == pytest.approx((y == "yes").sum())
    _, out, _ = run(capsys, "evaluate", folder / "m.bemi", folder / "new.csv")
    assert "AUC" in out
    assert "status" not in out
    assert "status 1C" in run(capsys, "evaluate", folder / "m.bemi", folder / "new.csv", "--statuses")[1]
