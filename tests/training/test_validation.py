"""Rows and labels as they are given."""

import numpy as np
import pandas as pd
import pytest
from soft_margins import soft_margins

from bemi import BeMiClassifier, TableBits
from bemi.training.training_set import check_new_classes, labels_of

TABLE = pd.DataFrame({"size": [1.0, 2.0, np.nan, 4.0], "colour": ["red", None, "blue", "red"]})


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 1], "inconsistent numbers of samples"),
        ([0, 1, np.nan, 1], "y contains NaN"),
        ([0.25, 0.5, 0.125, 0.75], "Unknown label type: continuous"),
        ([[0], [1]], "should be a 1d array|inconsistent"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        labels_of(y, TABLE)


def test_text_is_refused_where_numbers_are_needed():
    with pytest.raises(ValueError, match=r"^column 'colour' holds 'red' in row 0, which is not a number"):
        BeMiClassifier().fit(TABLE, [0, 1, 0, 1])


def test_predictions_take_text_where_training_did():
    classifier = soft_margins(inputs=TableBits(), time_limit=1).fit(TABLE, [0, 1, 1, 0])
    assert classifier.n_features_in_ == 2
    assert classifier.predict([[1.0, "red"], [None, "never seen"]]).shape == (2,)


@pytest.mark.parametrize(
    ("given", "has_rows", "message"),
    [
        (np.array(["a"]), True, "same type"),
        (np.array([0, 1]), True, "y has no new class"),
        (np.array([1, 2]), True, "1 is a class already"),
        (np.array([1, 2]), False, "class 0 has none"),
    ],
)
def test_classes_that_cannot_be_added(given, has_rows, message):
    with pytest.raises(ValueError, match=message):
        check_new_classes(np.array([0, 1]), given, has_rows)
