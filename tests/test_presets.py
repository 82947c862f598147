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
    assert (clf.weight_bound, clf.n_jobs, clf.stages) == (3, 2, ("soft",))
    assert bemi.recommended(DIGITS, image_shape=(4, 16)).transform.shape == (4, 16)
    assert bemi.recommended(DIGITS / 16, image_shape=(8, 8)).input_scaling == "common"


def test_a_constant_input_shifts_a_neuron(tmp_path):
    """A threshold that no line through the origin gives; the model survives its file."""
    X = np.array([[5.5], [6.0], [7.0], [1.0], [2.0], [2.5]])
    y = np.array([1, 1, 1, 0, 0, 0])
    clf = bemi.recommended(X).fit(X, y)
    assert clf.transform_.has_constant
    assert clf.score(X, y) == 1
    assert BeMiClassifier(hidden_layers=(), stages=("soft",)).fit(X, y).score(X, y) < 1
    bemi.save(clf, tmp_path / "m")
    assert bemi.load(tmp_path / "m").predict(X).tolist() == y.tolist()
    assert bemi.verify(tmp_path / "m").networks == 1


def test_settings_in_words():
    alone = presets.images(compare=False)
    known = (presets.paper(), presets.images(), alone, presets.tables(), presets.tables(compare=False))
    words = [presets.in_words(preset.settings) for preset in known]
    assert words == [
        "features as they are; hidden layers 4, 4, weights in -1..1, stages sm, mm, mw",
        f"gradient histograms, the best of {len(presets.image_candidates())} candidates by cross-validation; "
        "no hidden layer, weights in -7..7, stages soft",
        "gradient histograms; no hidden layer, weights in -7..7, stages soft",
        f"the best of {len(presets.tables().settings['candidates'])} candidates by cross-validation; no hidden layer, "
        "weights in -15..15, stages soft",
        f"{TableBits().describe()}; no hidden layer, weights in -15..15, stages soft",
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


def test_upright_and_slanted_strokes_are_told_apart_only_if_images_are_not_straightened():
    """The choice looks at the images: where the slant tells the class, straightening would remove it."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    slants = rng.uniform(0.1, 0.4, 40) * (2 * labels - 1)
    rows, columns = np.indices((20, 20))
    middles = 9.5 + rng.uniform(-1, 1, 40)[:, None, None] + slants[:, None, None] * (9.5 - rows)
    images = np.clip(2 - np.abs(columns - middles), 0, 1) * 200 * ((rows > 3) & (rows < 16))
    images = images.astype(np.int64).reshape(40, -1)
    clf = bemi.recommended(images, image_shape=(20, 20), n_jobs=1).fit(images, labels)
    assert clf.choice_.name.startswith("images as they are")
    assert not clf.transform_.straighten
    assert clf.score(images, labels) == 1


def test_what_is_usual_for_images():
    """Cross-validation of a few images is noisy: another candidate must beat the usual one."""
    candidates = presets.image_candidates()
    assert {c.name: c.usual_up_to for c in candidates if c.usual_up_to} == {"straightened images, deformed": np.inf}
    assert [c.standard_errors for c in candidates[1:]] == [0.5, 0.5]


def test_with_two_images_of_a_class_deformed_copies_are_usual(tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    few = np.concatenate([np.flatnonzero(y == label)[:2] for label in range(3)])
    clf = bemi.recommended(X, n_jobs=1).fit(X[few], y[few])
    assert clf.choice_.name == "straightened images, deformed"
    assert "usual" in clf.choice_.in_words()
    assert any(len(added) for added in clf.added_rows_.values())
    bemi.save(clf, tmp_path / "m")
    loaded = bemi.load(tmp_path / "m")
    assert loaded.scenarios.get_params() == clf._copy(clf.choice_.candidate).scenarios.get_params()
    assert bemi.verify(tmp_path / "m").certified["soft"] == 3


def test_many_or_large_images_are_not_compared():
    assert presets.choose(DIGITS[:1000]).settings["candidates"]
    assert "candidates" not in presets.choose(np.concatenate([DIGITS, DIGITS])).settings
    assert "candidates" not in presets.choose(np.zeros((5, 300 * 300)), (300, 300)).settings
    assert "candidates" not in presets.choose(DIGITS, compare=False).settings
