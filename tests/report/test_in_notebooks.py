"""What notebooks and terminals show of fitted models, and which tables they take."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rich.console
from mixed_tables import new_rows, patients
from sklearn.base import clone

from bemi import FewBitClassifier, MarginsDisplay, ScorecardClassifier, TableBits, WeightsDisplay
from bemi.inputs.table.text import ColumnWarning

X, RISK = patients(90)
Y = np.where(np.median(RISK) < RISK, "high", "low")
FAST = {"node_limit": 5, "time_limit": None}


@pytest.fixture(scope="module")
def card():
    return ScorecardClassifier(max_lines=4, **FAST).fit(X, Y)


def test_a_card_is_a_picture(card):
    assert card.scorecard().figure()._repr_png_().startswith(b"\x89PNG")


def test_what_is_printed_fits_a_screen(card):
    shown = (
        card.choice_,
        card.reports_,
        card.ensemble_,
        WeightsDisplay.from_estimator(card),
        MarginsDisplay.from_estimator(card, X, Y),
    )
    assert all(len(repr(thing)) < 500 for thing in shown), [len(repr(thing)) for thing in shown]
    assert "gap" in repr(card.reports_)
    assert "expected accuracy" in repr(card.choice_)
    assert repr(card.scorecard()) == card.scorecard().text()
    assert len(repr(card.scorecard().cards)) < 200
    assert "Expected accuracy on new rows" in card._repr_mimebundle_()["text/html"]


def test_training_rows_inside_are_named():
    keeps = FewBitClassifier(inputs=TableBits(similarities=20), C=1.0, **FAST)
    assert keeps.fit(X, Y).ensemble_.inputs.rows_inside == 20
    assert "20 training rows inside" in repr(keeps.ensemble_)
    assert repr(keeps) == f"{clone(keeps)!r}  # 20 training rows inside"
    assert max(map(len, repr(clone(keeps)).splitlines())) < 80
    assert "contains 20 training rows" in keeps._repr_mimebundle_()["text/html"]
    rng = np.random.default_rng(1)
    square = rng.uniform(-1, 1, (90, 2)).round(3)
    angles = np.floor(np.arctan2(*square.T) / np.pi * 6 + 8 * np.hypot(*square.T)).astype(int) % 2
    chooses = FewBitClassifier(probabilities=False, **FAST)
    if "similarities" in chooses.choose(square, angles).name:
        with pytest.warns(ColumnWarning, match=r"^the model contains \d+ training rows, .* inputs='explainable'"):
            chooses.fit(square, angles)


@pytest.mark.parametrize("inputs", [TableBits(), None])
def test_tables_of_other_libraries_keep_their_names(inputs):
    columns = list(X) if inputs is not None else ["age", "dose"]
    frame = X[columns]
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    classifier = FewBitClassifier(inputs=inputs, C=1.0, probabilities=False, **FAST).fit(arrow, pa.array(Y))
    assert classifier.feature_names_in_.tolist() == columns
    assert np.array_equal(classifier.predict(arrow), classifier.predict(frame))
    if inputs is not None:
        swapped = new_rows(50)[columns[::-1]].astype({"grade": float}, errors="ignore")
        again = FewBitClassifier(inputs=inputs, C=1.0, probabilities=False, **FAST).fit(frame, Y)
        assert np.array_equal(classifier.predict(swapped), again.predict(swapped))


def test_a_table_that_needs_pyarrow_says_so():
    class Frame:
        def to_pandas(self):
            raise ModuleNotFoundError("pyarrow")

    with pytest.raises(ImportError, match=r"table needs pyarrow: pip install 'bemi\[tables\]'"):
        FewBitClassifier().fit(Frame(), Y)


def test_notebooks_need_no_widgets(monkeypatch, capsys):
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FewBitClassifier(inputs=TableBits(), C=1.0, verbose=1, **FAST).fit(X, Y)
    assert isinstance(X, pd.DataFrame)
    capsys.readouterr()
