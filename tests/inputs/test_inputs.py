"""Scaling and transform together, with a transform that takes columns as they are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, IntegerHog, NoiseScenarios, save
from bemi.export.c import export
from bemi.export.page import page
from bemi.inputs import Inputs, InputScaling, Takes

ROWS = np.array([[0.25, -3.0], [0.5, 1.5], [1.0, 2.0], [0.75, 6.0], [0.1, -1.0], [0.9, 3.5]])
LABELS = np.array([0, 1, 1, 1, 0, 1])


class AboveMedian(TransformerMixin, BaseEstimator):
    """Whether each raw column is above its training median, as +1 or -1."""

    NAME = "above-median"
    VERSION = 1
    TITLE = "signs"
    takes = Takes.RAW_COLUMNS

    def fit(self, X, y=None):
        self.medians_ = np.median(X, axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def fixed_point_inputs(self, X):
        return np.asarray(X)

    reading_range = (-(2**31), 2**31 - 1)

    def reading_units(self):
        return [{"name": f"column {place}", "decimals": 0} for place in range(self.n_features_in_)]

    def from_fixed_point_inputs(self, readings):
        check_is_fitted(self)
        return np.where(readings > self.medians_, 1, -1)

    def transform(self, X):
        return self.from_fixed_point_inputs(self.fixed_point_inputs(X))

    def describe(self):
        return "signs"

    @property
    def n_outputs(self):
        return self.n_features_in_

    def output_bounds(self, low, high):
        return np.full(self.n_outputs, -1), np.full(self.n_outputs, 1)

    def parameters(self):
        return {"name": self.NAME, "version": self.VERSION, "medians": self.medians_.tolist()}


def test_a_transform_gets_what_it_takes():
    raw = Inputs.fit(ROWS, "auto", AboveMedian())
    assert not raw.takes_integers
    assert raw.scaling.scale is None
    # Scaled and rounded, 0.5 and 0.75 would be 64 and 95, and -3.0 and -1.0 would be -64 and -21.
    assert raw.transform.medians_.tolist() == [0.625, 1.75]
    assert raw(ROWS).tolist() == [[-1, -1], [-1, -1], [1, 1], [1, 1], [-1, -1], [1, 1]]
    assert raw.widened(ROWS * 100) is raw
    scaled = Inputs.fit(ROWS, "auto", ConstantInput())
    assert scaled.takes_integers
    assert scaled(ROWS)[:, :2].tolist() == InputScaling.fit(ROWS, "centred")(ROWS).tolist()
    assert (
        Inputs.fit(ROWS, "per-feature", ConstantInput())(ROWS)[:, :2].tolist() == InputScaling.fit(ROWS)(ROWS).tolist()
    )
    assert Inputs.fit(ROWS, "auto", None)(ROWS).tolist() == InputScaling.fit(ROWS)(ROWS).tolist()


def test_readings_are_what_the_integers_are_made_of():
    scaled = Inputs.fit(ROWS, "centred", ConstantInput())
    assert scaled.fixed_point_inputs(ROWS).tolist() == np.rint(ROWS * [100, 10]).tolist()
    integers = scaled.scaling.scale.scaled(scaled.fixed_point_inputs(ROWS))
    assert np.array_equal(np.clip(integers, -127, 127), scaled.integers(ROWS))
    whole = np.array([[1, -3], [2, 5]])
    assert np.array_equal(Inputs.fit(whole, "auto", None).fixed_point_inputs(whole.astype(float)), whole)
    with pytest.raises(ValueError, match=r"rows must have 2 features, got an array of shape \(6, 1\)"):
        scaled.fixed_point_inputs(ROWS[:, :1])


def test_no_rows_have_no_inputs():
    for transform in (None, ConstantInput(), AboveMedian()):
        inputs = Inputs.fit(ROWS, "auto", transform)
        assert inputs(ROWS[:0]).shape == (0, inputs.size)


def test_a_scaling_that_would_not_be_used_is_refused():
    with pytest.raises(
        ValueError, match="AboveMedian takes features as they are given; leave out input_scaling='common'"
    ):
        Inputs.fit(ROWS, "common", AboveMedian())


def test_a_classifier_with_raw_columns(tmp_path):
    classifier = soft_margins(inputs=AboveMedian(), time_limit=None, node_limit=5)
    classifier.fit(ROWS, LABELS)
    signs = AboveMedian().fit(ROWS).transform(ROWS)
    assert np.array_equal(classifier.training_rows_, signs)
    plain = soft_margins(time_limit=None, node_limit=5).fit(signs, LABELS)
    assert np.array_equal(classifier.predict(ROWS), plain.predict(signs))
    assert np.array_equal(classifier.vote(ROWS).counts, plain.vote(signs).counts)
    with pytest.raises(ValueError, match=r"cannot be saved: transform must be one of .*, got 'above-median'"):
        save(classifier, tmp_path / "model.bemi")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"^the transform AboveMedian cannot be exported to C: it has no c_code"):
        export(classifier)
    with pytest.raises(
        ValueError, match=r"^the transform AboveMedian cannot be exported to a page: it has no page_script"
    ):
        page(classifier)


def test_a_raw_transform_has_no_part_in_onnx():
    pytest.importorskip("onnx")
    from bemi.export.onnx import model

    classifier = soft_margins(inputs=AboveMedian(), time_limit=None, node_limit=5)
    with pytest.raises(ValueError, match=r"^the transform AboveMedian cannot be exported to ONNX: it has no onnx"):
        model(classifier.fit(ROWS, LABELS))


def test_raw_columns_have_no_variants():
    classifier = soft_margins(inputs=AboveMedian(), copies=NoiseScenarios(), time_limit=None, node_limit=5)
    message = "AboveMedian takes features as they are given, so the rows have no scaled integers"
    with pytest.raises(ValueError, match=message):
        classifier.fit(ROWS, LABELS)


def test_bounds_and_what_is_accepted():
    images = np.random.default_rng(0).integers(0, 17, (5, 64))
    plain, hog, constant = (Inputs.fit(images, "auto", t) for t in (None, IntegerHog(), ConstantInput()))
    assert [i.closed_range for i in (plain, hog, constant)] == [None, (0, 16), None]
    assert [i.image_shape for i in (plain, hog, constant)] == [None, (8, 8, 1), None]
    assert [i.one_unit for i in (plain, hog, constant)] == [True, True, False]
    assert [i.size for i in (plain, hog, constant)] == [64, 256, 65]
    assert [set(end.tolist()) for end in plain.bounds(-3, 8)] == [{-3}, {8}]
    assert [end.tolist()[-2:] for end in constant.bounds(-3, 8)] == [[-3, 127], [8, 127]]
    assert [end.tolist() for end in hog.bounds(0, 16)] == [end.tolist() for end in hog.transform.output_bounds(0, 16)]


def test_features_behind_the_inputs():
    rows = np.array([[0.5, 0.0, 4.0], [1.0, 0.0, -8.0]])
    for transform in (None, ConstantInput()):
        inputs = Inputs.fit(rows, "per-feature", transform)
        assert np.allclose(inputs.features_of(inputs(rows)), rows, atol=0.05)
    hog = Inputs.fit(np.ones((2, 64), dtype=int), "auto", IntegerHog())
    assert hog.features_of(hog(np.ones((2, 64), dtype=int))) is None


class IsText(AboveMedian):
    """Whether each cell is the most frequent text of its column; missing cells are not."""

    NAME = "is-text"

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        columns = np.asarray(X, dtype=object).T
        self.usual_ = [max({v for v in column if isinstance(v, str)}, key=list(column).count) for column in columns]
        return self

    def fixed_point_inputs(self, X):
        return np.asarray(X, dtype=object)

    def from_fixed_point_inputs(self, readings):
        return np.where(readings == np.array(self.usual_, dtype=object), 1, -1)


def test_raw_columns_may_be_text_and_missing():
    table = pd.DataFrame(
        {"colour": ["red", "red", "blue", None, "red", "green"], "size": ["s", "s", "m", "l", "s", "l"]}
    )
    labels = np.array(["a", "a", "b", "b", "a", "b"])
    classifier = BeMiClassifier(hidden_layers=(), inputs=IsText()).fit(table, labels)
    assert classifier.feature_names_in_.tolist() == ["colour", "size"]
    assert classifier.predict(table).tolist() == labels.tolist()
    assert classifier.predict(pd.DataFrame({"colour": [np.nan], "size": ["s"]})).shape == (1,)
    assert classifier.ensemble_.votes(table).label.shape == (6,)
    with pytest.raises(ValueError, match="column 'colour' holds 'red' in row 0, which is not a number"):
        BeMiClassifier(hidden_layers=()).fit(table, labels)


def test_an_ensemble_names_the_cell_that_is_no_number():
    ensemble = BeMiClassifier(hidden_layers=()).fit(ROWS, LABELS).ensemble_
    for kind in (float, object):
        rows = ROWS.astype(kind)
        rows[3, 1] = np.nan
        with pytest.raises(ValueError, match="X contains NaN at row 3, column 1"):
            ensemble.votes(rows)
    with pytest.raises(ValueError, match=r"rows must have 2 features, got an array of shape \(6, 1\)"):
        ensemble.votes(ROWS[:, :1])
