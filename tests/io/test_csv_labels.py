"""Labels of files."""

from __future__ import annotations

import numpy as np
import pytest

from bemi.io import DataFileError, check_classes, known_labels


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
