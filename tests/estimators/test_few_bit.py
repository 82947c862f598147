"""The classifier that looks at its rows: what it takes them for, and which settings it chooses."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from soft_margins import soft_margins

import bemi
from bemi import BeMiClassifier, ConstantInput, FewBitClassifier, ImageScenarios, IntegerHog, SignalCounts, TableBits
from bemi.estimators.kinds import images, kind_of, left_to_choose, tables

DIGITS = load_digits().data


@pytest.mark.parametrize("rows", [5, 50, 500])
def test_digits_are_images(rows):
    kind = kind_of(DIGITS[:rows])
    assert kind.name == "image"
    assert isinstance(kind.usual["inputs"], IntegerHog)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (load_wine().data, "13 columns"),
        (DIGITS[:, :63], "63 columns"),
        (DIGITS / 16, "not all integers"),
        (DIGITS - 1, "not within 0..65535"),
        (np.random.default_rng(0).permutation(DIGITS.T).T, "not alike"),
        (np.random.default_rng(0).poisson(2, (50, 100)), "not alike"),
        (np.ones((5, 64)), None),
    ],
)
def test_other_rows_are_tables(rows, why):
    kind = kind_of(rows)
    # Rows without any difference are whatever one likes.
    assert kind.name == ("table" if why else "image")
    assert why is None or why in kind.why


def test_what_is_given_decides_what_rows_are():
    assert kind_of(DIGITS, "table").name == "table"
    assert kind_of(DIGITS, inputs=TableBits()).name == "table"
    assert kind_of(load_wine().data, inputs=SignalCounts(1)).name == "signal"
    assert kind_of(np.zeros((2, 30, 3))).name == "signal"
    shaped = kind_of(DIGITS, (4, 16))
    assert shaped.usual["inputs"].shape == (4, 16)
    assert "4 x 16" in shaped.why
    assert kind_of(DIGITS / 16, (8, 8)).usual["input_scaling"] == "common"
    assert kind_of(DIGITS, "image").usual["input_scaling"] == "auto"


def test_one_line_is_all_a_user_writes():
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(FewBitClassifier(node_limit=5, time_limit=None), X[::4], y[::4], cv=2)
    assert scores.mean() > 0.85


def test_fit_looks_at_the_rows_and_construction_does_not():
    X, y = load_iris(return_X_y=True)
    clf = FewBitClassifier(node_limit=5, time_limit=None).fit(X[::5], y[::5])
    assert clf.get_params() == FewBitClassifier(node_limit=5, time_limit=None).get_params()
    assert (clf.choice_.kind, len(clf.choice_.accuracies)) == ("table", len(tables().candidates))
    assert "not images" in clf.choice_.why
    assert clf.ensemble_.training.settings["C"] == clf.choice_.candidate.settings["C"]
    assert clf.ensemble_.training.settings["weight_bound"] == 15
    again = clf.fit(np.rint(10 * X[::5]), y[::5])
    assert again.choice_.kind == "table"


def test_given_settings_are_not_chosen():
    given = {"inputs": "auto", "copies": "auto", "C": "auto", "monotone": None}
    every = tables().candidates
    assert [c.name for c in left_to_choose(tables(), given)] == [c.name for c in every]
    assert {c.settings.get("C") for c in left_to_choose(tables(), given | {"C": 1.0})} == {None}
    assert len(left_to_choose(tables(), given | {"inputs": TableBits()})) == 6
    (only,) = left_to_choose(tables(), given | {"inputs": TableBits(), "C": 1.0})
    assert (only.name, only.settings) == ("settings as given", {})
    copies = left_to_choose(images(DIGITS), given | {"inputs": IntegerHog(), "C": 1.0})
    assert [set(candidate.settings) for candidate in copies] == [{"copies"}] * 3


def test_nothing_is_compared_if_everything_is_given():
    X, y = load_iris(return_X_y=True)
    clf = soft_margins(inputs=ConstantInput(), node_limit=5, time_limit=None).fit(X[::5], y[::5])
    assert clf.choice_.accuracies == {}
    assert clf.choice_.expected is None
    assert clf.choice_.in_words() == "settings as given; nothing was left to choose"


def test_probabilities_come_by_themselves_where_they_cost_little():
    X, y = load_iris(return_X_y=True)
    settings = {"inputs": ConstantInput(), "copies": None, "C": 1.0, "node_limit": 1, "time_limit": None}
    assert FewBitClassifier(**settings).fit(X, y).predict_proba(X).shape == (150, 3)
    few = FewBitClassifier(**settings, subsets=2).fit(X, y)
    assert not hasattr(few, "predict_proba"), "they need a network for every pair of classes"
    assert not hasattr(FewBitClassifier(**settings, probabilities=False), "predict_proba")
    assert not hasattr(BeMiClassifier(), "predict_proba")


def test_a_constant_input_shifts_a_neuron(tmp_path):
    """A threshold that no line through the origin gives; the model survives its file."""
    X = np.array([[5.5], [6.0], [7.0], [1.0], [2.0], [2.5]])
    y = np.array([1, 1, 1, 0, 0, 0])
    clf = bemi.FewBitClassifier().fit(X, y)
    assert clf.transform_.has_constant
    assert clf.score(X, y) == 1
    assert soft_margins(weight_bound=7).fit(X, y).score(X, y) < 1
    bemi.save(clf, tmp_path / "m")
    assert bemi.load(tmp_path / "m").predict(X).tolist() == y.tolist()
    assert bemi.verify(tmp_path / "m").networks == 1


def test_upright_and_slanted_strokes_are_told_apart_only_if_images_are_not_straightened():
    """The choice looks at the images: where the slant tells the class, straightening would remove it."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    slants = rng.uniform(0.1, 0.4, 40) * (2 * labels - 1)
    rows, columns = np.indices((20, 20))
    middles = 9.5 + rng.uniform(-1, 1, 40)[:, None, None] + slants[:, None, None] * (9.5 - rows)
    images = np.clip(2 - np.abs(columns - middles), 0, 1) * 200 * ((rows > 3) & (rows < 16))
    images = images.astype(np.int64).reshape(40, -1)
    clf = bemi.FewBitClassifier(kind=(20, 20), n_jobs=1).fit(images, labels)
    assert clf.choice_.name.startswith("images as they are")
    assert not clf.transform_.straighten
    assert clf.score(images, labels) == 1


def test_what_is_usual_for_images():
    """Cross-validation of a few images is noisy: another candidate must beat the usual one."""
    candidates = images(DIGITS).candidates
    assert {c.name: c.usual_up_to for c in candidates if c.usual_up_to} == {"straightened images, deformed": np.inf}
    assert [c.standard_errors for c in candidates[1:]] == [0.5, 0.5]


def test_with_two_images_of_a_class_deformed_copies_are_usual(tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    few = np.concatenate([np.flatnonzero(y == label)[:2] for label in range(3)])
    clf = bemi.FewBitClassifier(n_jobs=1).fit(X[few], y[few])
    assert clf.choice_.name == "straightened images, deformed"
    assert "the default" in clf.choice_.in_words()
    assert any(len(added) for added in clf.added_rows_.values())
    bemi.save(clf, tmp_path / "m")
    loaded = bemi.load(tmp_path / "m")
    assert loaded.copies.get_params() == clf.choice_.candidate.settings["copies"].get_params()
    assert loaded.choice_ is None
    assert bemi.verify(tmp_path / "m").certified["soft"] == 3


def test_of_many_images_only_straightening_is_compared_on_a_part_of_them():
    assert len(images(DIGITS[:1000]).candidates) == 3
    many = np.tile(DIGITS[:12].astype(np.int64), (200, 1))
    straight, as_they_are = images(many).candidates
    assert straight.settings["inputs"].straighten
    assert not as_they_are.settings["inputs"].straighten
    assert straight.settings["copies"].copies == as_they_are.settings["copies"].copies == 2
    deformed, plain = images(np.tile(DIGITS, (12, 1))).candidates
    assert (deformed.settings["inputs"].straighten, deformed.settings["copies"].copies) == (True, 2)
    assert (plain.settings["inputs"].straighten, plain.settings["copies"]) == (False, None)
    given = {"copies": None, "node_limit": 1, "time_limit": None}
    choice = FewBitClassifier(**given).fit(many, np.arange(2400) % 2).choice_
    assert set(choice.accuracies) == {straight.name, as_they_are.name}
    assert choice.given == 2400


def test_large_images_are_shrunk_and_those_of_many_channels_are_not_compared():
    large = images(np.zeros((5, 300 * 300)), (300, 300))
    assert large.usual["inputs"].shrink == 5
    assert large.candidates
    assert not images(np.zeros((5, 64 * 64 * 8)), (64, 64, 8)).candidates
    rows = np.random.default_rng(0).integers(0, 255, (6, 40 * 40 * 8))
    clf = FewBitClassifier((40, 40, 8), node_limit=1, time_limit=None).fit(rows, np.arange(6) % 2)
    assert clf.choice_.name == "usual settings"
    assert "too many to compare" in clf.choice_.in_words()


def test_copies_can_be_given():
    X, y = load_digits(n_class=2, return_X_y=True)
    clf = FewBitClassifier(copies=ImageScenarios(), node_limit=1, time_limit=None).fit(X[:20], y[:20])
    assert clf.choice_.kind == "image"
    assert clf.ensemble_.training.settings["copies"].get_params() == ImageScenarios().get_params()
