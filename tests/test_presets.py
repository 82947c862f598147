"""Which settings are taken for which data."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import bemi
from bemi import BeMiClassifier, IntegerHog, TableBits, presets

DIGITS = load_digits().data


@pytest.mark.parametrize("rows", [5, 50, 500])
def test_digits_are_images(rows):
    preset = presets.choose(DIGITS[:rows])
    assert preset.name == "images"
    assert isinstance(preset.settings["transform"], IntegerHog)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (load_wine().data, "13 features"),
        (DIGITS[:, :63], "63 features"),
        (DIGITS / 16, "not all integers"),
        (DIGITS - 1, "not within 0..65535"),
        (np.random.default_rng(0).permutation(DIGITS.T).T, "not alike"),
        (np.random.default_rng(0).poisson(2, (50, 100)), "not alike"),
        (np.ones((5, 64)), None),
    ],
)
def test_other_rows_are_tables(rows, why):
    preset = presets.choose(rows)
    # Rows without any difference are whatever one likes.
    assert preset.name == ("tables" if why else "images")
    assert why is None or why in preset.why


def test_the_papers_settings_are_the_defaults():
    defaults = BeMiClassifier().get_params()
    assert BeMiClassifier(**presets.paper().settings).get_params() == defaults


def test_a_classifier_for_the_data():
    clf = bemi.recommended(DIGITS, weight_bound=3, n_jobs=2)
    assert (clf.weight_bound, clf.n_jobs, clf.stages) == (3, 2, ("ml2",))
    assert bemi.recommended(DIGITS, image_shape=(4, 16)).transform.shape == (4, 16)
    assert bemi.recommended(DIGITS / 16, image_shape=(8, 8)).input_scaling == "common"


def test_a_constant_input_shifts_a_neuron(tmp_path):
    """A threshold that no line through the origin gives; the model survives its file."""
    X = np.array([[5.5], [6.0], [7.0], [1.0], [2.0], [2.5]])
    y = np.array([1, 1, 1, 0, 0, 0])
    clf = bemi.recommended(X).fit(X, y)
    assert clf.transform_.has_constant
    assert clf.score(X, y) == 1
    assert BeMiClassifier(hidden_layers=(), stages=("ml2",)).fit(X, y).score(X, y) < 1
    bemi.save(clf, tmp_path / "m")
    assert bemi.load(tmp_path / "m").predict(X).tolist() == y.tolist()
    assert bemi.verify(tmp_path / "m").networks == 1


def test_settings_in_words():
    known = (presets.paper(), presets.images(), presets.tables(), presets.tables(compare=False))
    words = [presets.in_words(preset.settings) for preset in known]
    assert words == [
        "features as they are; hidden layers 4, 4, weights in -1..1, stages sm, mm, mw",
        "gradient histograms; no hidden layer, weights in -7..7, stages ml2",
        f"the best of {len(presets.tables().settings['candidates'])} candidates by cross-validation; no hidden layer, "
        "weights in -15..15, stages ml2",
        f"{TableBits().describe()}; no hidden layer, weights in -15..15, stages ml2",
    ]


def test_a_table_can_be_trained_without_comparing():
    X = np.array([[5.5, 1], [6.0, 0], [7.0, 1], [1.0, 0], [2.0, 1], [2.5, 0]])
    preset = presets.choose(X, compare=False)
    assert preset.name == "tables"
    clf = BeMiClassifier(**preset.settings).fit(X, [1, 1, 1, 0, 0, 0])
    assert clf.choice_ is None
    assert clf.score(X, [1, 1, 1, 0, 0, 0]) == 1


def test_recommended_probabilities_give_way_to_parameters_that_exclude_them():
    table = load_wine().data
    assert bemi.recommended(table).probabilities
    assert bemi.recommended(table, C=1.0).probabilities
    assert not bemi.recommended(table, subsets=2).probabilities
    assert not bemi.recommended(table, subset_size=3).probabilities
    assert not bemi.recommended(table, stages=("sm",)).probabilities
    assert bemi.recommended(table, subsets=2, probabilities=True).probabilities, "what is asked for is refused by fit"
