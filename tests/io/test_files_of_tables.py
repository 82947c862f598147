"""Tables in files: labels and features, to train on and as a model takes them."""

import numpy as np
import pytest

from bemi.io import (
    ColumnRules,
    DataFileError,
    ModelColumns,
    check_classes,
    known_labels,
    read_features,
    read_labelled,
    read_test,
)


@pytest.mark.parametrize(
    "y",
    [
        np.arange(21) + 0.5,
        np.repeat(np.arange(21), 1),
        np.array([f"{k}.25" for k in range(30)] * 5, dtype=object),
        np.array([str(k) for k in range(60)] + ["1"] * 50, dtype=object),
    ],
)
def test_measurements_are_no_labels(y):
    with pytest.raises(DataFileError, match=r"^t looks continuous: \d+ different numbers in \d+ rows, such as "):
        check_classes(y, "t")


@pytest.mark.parametrize(
    "y",
    [
        np.arange(20),
        np.repeat(np.arange(21), 2),
        np.array(["0.5", "1.5"] * 30, dtype=object),
        np.array([f"class {k}" for k in range(60)], dtype=object),
        np.array([*map(str, range(60)), "x"], dtype=object),
        np.repeat(np.arange(200), 3),
    ],
)
def test_labels(y):
    check_classes(y, "t")


def test_labels_are_found_whatever_kind_of_file_they_come_from():
    classes = np.array([1, 2, 10])
    assert known_labels(np.array(["1", "10", "y"], dtype=object), classes).tolist() == [1, 10, "y"]
    assert known_labels(np.array([1.0, 2.5]), classes).tolist() == [1, 2.5]
    assert known_labels(np.array([1, 2]), np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert known_labels(np.array([1, 2]), np.array(["1", "x"])).tolist() == ["1", 2]
    assert known_labels(np.array(["1", "-1"]), np.array(["1.0", "-1.0"], dtype=object)).tolist() == ["1.0", "-1.0"]


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_csv(tmp_path):
    path = write(tmp_path, "a,label,b\n1,cat,2.5\n3, dog,4\n")
    X, y = read_labelled(path, None)
    assert X.columns.tolist() == ["a", "b"]
    assert X.to_numpy().tolist() == [[1, 2.5], [3, 4]]
    assert y.tolist() == ["cat", "dog"]


def test_integer_labels_stay_integers(tmp_path):
    _, y = read_labelled(write(tmp_path, "a,t\n1,0\n3,1\n"), "t")
    assert y.dtype == np.int64


def test_a_label_may_look_like_a_missing_value(tmp_path):
    _, y = read_labelled(write(tmp_path, "a,label\n1,NA\n3,None\n"), None)
    assert y.tolist() == ["NA", "None"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,label\ninf,x\n1,y\n", r"row 1 \(line 2\), column 'a' holds 'inf', which is not a finite number"),
        ("a,label\n1,\n2,y\n", r"row 1 \(line 2\), column 'label' is empty"),
        ("a,b\n1,2\n", "no column 'label'; its columns are 'a', 'b'"),
        ("label\nx\n", "no feature columns"),
        ("a,label\n,x\nNA,y\n", "no feature columns"),
        ("a,label\n", "no rows"),
        ("", "is empty"),
        ("a,label\n1,x\n1,2,3,4\n", "not a CSV table"),
        ("a,label\n" + "".join(f"1,{k}.5\n" for k in range(30)), "column 'label' looks continuous: 30 different"),
    ],
)
def test_bad_csv_is_named_in_one_line(tmp_path, text, words):
    with pytest.raises(DataFileError, match=words) as caught:
        read_labelled(write(tmp_path, text), None)
    assert "\n" not in str(caught.value)


def test_what_is_dropped_is_not_read(tmp_path):
    path = write(tmp_path, "a,when,label\n1,inf,x\n2,2,y\n")
    X, _ = read_labelled(path, None, ColumnRules(drop=("when",)))
    assert list(X) == ["a"]


def test_features_are_found_by_name(tmp_path):
    path = write(tmp_path, "id,b,a\n7,1,2\n8,3,4\n")
    assert read_features(path, ModelColumns(("a", "b"), (None, None))).to_numpy().tolist() == [[2, 1], [4, 3]]
    with pytest.raises(DataFileError, match="lacks the model's column 'c'"):
        read_features(path, ModelColumns(("a", "c"), (None, None)))


def test_features_without_names_have_none(tmp_path):
    path = write(tmp_path, "b;a\n1;2,5\n3;4\n")
    assert list(read_features(path, ModelColumns(None, (None, None)))) == [0, 1]


def test_labels_of_a_test_file_are_those_of_the_model(tmp_path):
    path = write(tmp_path, "x\ty\n1\t1\n2\t-1\n3\t0\n")
    X, y = read_test(path, "y", ModelColumns(("x",), (None,)), np.array(["-1.0", "1.0"], dtype=object))
    assert X["x"].tolist() == [1, 2, 3]
    assert y.tolist() == ["1.0", "-1.0", 0]
    with pytest.raises(DataFileError, match="has no column 'label'"):
        read_test(path, None, ModelColumns(("x",), (None,)), np.array(["-1.0", "1.0"], dtype=object))


def test_options_about_columns_are_for_csv_files(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.zeros((2, 2)), y=np.arange(2))
    with pytest.raises(DataFileError, match="options about columns are for CSV files"):
        read_labelled(tmp_path / "data.npz", None, ColumnRules(drop=("a",)))


def test_npz(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.arange(8).reshape(2, 2, 2), y=np.array(["a", "b"]))
    X, y = read_labelled(path, None)
    assert X.shape == (2, 4)
    assert y.tolist() == ["a", "b"]
    with pytest.raises(DataFileError, match="no array 'z'; it has X, y"):
        read_labelled(path, "z")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"y": np.zeros(2)}, "no array 'X'"),
        ({"X": np.zeros((2, 2)), "y": np.zeros(3)}, "one label per row"),
        ({"X": np.array([["a"]]), "y": np.zeros(1)}, "numeric table"),
        ({"X": np.zeros((40, 2)), "y": np.arange(40) / 3}, "'y' looks continuous: 40 different numbers in 40 rows"),
        ({"X": np.array([[object()]]), "y": np.zeros(1)}, "not an NPZ file of plain arrays"),
    ],
)
def test_bad_npz_is_named(tmp_path, arrays, words):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataFileError, match=words):
        read_labelled(path, None)


def test_a_file_that_only_calls_itself_npz(tmp_path):
    with pytest.raises(DataFileError, match="not an NPZ file"):
        read_labelled(write(tmp_path, "hello", "data.npz"), None)


@pytest.mark.parametrize(
    "text", ["a,label\n1,01\n2,02\n", "a,label\n1,99999999999999999999\n2,3\n", "a,label\n1,+1\n2,2\n"]
)
def test_labels_that_are_not_printed_like_integers_stay_text(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    _, y = read_labelled(path, None)
    assert y.tolist() == [line.split(",")[1] for line in text.split()[1:]]
