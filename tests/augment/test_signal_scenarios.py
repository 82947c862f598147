"""Variants of windows of a signal, and networks that are trained on them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import bemi
from bemi import SignalCounts, SignalScenarios
from bemi.augment import from_parameters, parameters

WINDOWS = np.arange(48).reshape(2, 8, 3) - 10


def variants(**kinds):
    return SignalScenarios(**({"gains": (), "shifts": (), "noise": ()} | kinds)).variants(WINDOWS)


def test_gains_multiply_and_round():
    made = variants(gains=(0.5, 2))
    assert made.shape == (2, 2, 8, 3)
    assert np.array_equal(made[:, 1], 2 * WINDOWS)
    assert np.array_equal(made[:, 0], np.rint(WINDOWS / 2))


def test_shifts_move_and_repeat_the_ends():
    late, early = np.moveaxis(variants(shifts=(0.25, -0.25)), 1, 0)
    assert np.array_equal(late[:, 2:], WINDOWS[:, :-2])
    assert np.array_equal(late[:, :2], WINDOWS[:, [0, 0]])
    assert np.array_equal(early[:, :-2], WINDOWS[:, 2:])
    assert np.array_equal(early[:, -2:], WINDOWS[:, [-1, -1]])


def test_noise_is_in_units_of_the_channel_and_always_the_same():
    loud = np.random.default_rng(0).normal(0, (10, 1000), (50, 40, 2)).round().astype(int)
    (made,) = np.moveaxis(SignalScenarios((), noise=(0.1,)).variants(loud), 1, 0)
    spread = (made - loud).std(axis=(0, 1)) / loud.std(axis=(0, 1))
    assert spread == pytest.approx([0.1, 0.1], rel=0.1)
    assert np.array_equal(made, SignalScenarios((), noise=(0.1,)).variants(loud)[:, 0])
    assert not np.array_equal(made, SignalScenarios((), noise=(0.1,), random_state=1).variants(loud)[:, 0])


def test_none_at_all():
    assert variants().shape == (2, 0, 8, 3)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"gains": 2}, "gains must be a tuple of numbers of at least 0"),
        ({"gains": (-1,)}, "gains must be a tuple of numbers of at least 0"),
        ({"shifts": (1,)}, "shifts must be fractions of a window"),
        ({"noise": ("a",)}, "noise must be a tuple of numbers"),
        ({"random_state": -1}, "random_state of scenarios"),
    ],
)
def test_bad_parameters(given, error):
    with pytest.raises(ValueError, match=error):
        SignalScenarios(**given).check()


def test_rows_of_a_table_are_no_windows():
    with pytest.raises(ValueError, match=r"are for windows of a signal, .* use inputs=SignalCounts\(\)"):
        SignalScenarios().variants(np.ones((2, 3), dtype=int))


def test_the_model_file_knows_them():
    made = SignalScenarios((0.5,), (0.1,), (), 3)
    same = from_parameters(parameters(made))
    assert same.get_params() == made.get_params() == clone(made).get_params()


def waves(gain, seed=0, count=40):
    generator = np.random.default_rng(seed)
    y = np.arange(count) % 2
    wave = np.sin(np.arange(64) * 0.4 + generator.uniform(0, 6, count)[:, None]) * np.where(y, 600, 1000)[:, None]
    return (gain * (wave + generator.normal(0, 30, wave.shape)))[:, :, None].round().astype(int), y


def test_networks_learn_from_variants(tmp_path):
    """Amplitude is all that tells these classes apart, so a variant at the gain of the other class contradicts it."""
    X, y = waves(1.0)
    plain = bemi.FewBitClassifier(inputs=SignalCounts(), copies=None, C=10.0, random_state=0).fit(X, y)
    taught = bemi.FewBitClassifier(
        inputs=SignalCounts(), copies=SignalScenarios((0.9, 1.1)), C=10.0, random_state=0
    ).fit(X, y)
    assert taught.given_rows_ == len(X)
    assert len(taught.training_rows_) > len(X)
    assert plain.given_rows_ is None
    test, truth = waves(1.0, seed=1)
    assert taught.score(test, truth) == 1
    # What a network sees of a variant is what it sees of a window with these readings.
    (added,) = taught.added_rows_.values()
    louder = taught.transform_.transform(np.rint(1.1 * X))
    quieter = taught.transform_.transform(np.rint(0.9 * X))
    seen = {row.tobytes() for row in [*louder, *quieter]}
    assert all(row.tobytes() in seen for row in taught.training_rows_[added])
    bemi.save(taught, tmp_path / "m")
    assert bemi.verify(tmp_path / "m").networks == 1
    assert bemi.load(tmp_path / "m").copies.gains == (0.9, 1.1)


def test_readings_of_variants_saturate():
    X, y = waves(30.0)
    clf = bemi.FewBitClassifier(inputs=SignalCounts(), copies=SignalScenarios((4.0,)), C=10.0).fit(X, y)
    assert clf.transform_.reading_range == (-(2**15), 2**15 - 1)
    louder = clf.transform_.from_fixed_point_inputs(np.clip(4 * X, -(2**15), 2**15 - 1).reshape(len(X), -1))
    seen = {row.tobytes() for row in louder}
    assert all(row.tobytes() in seen for row in clf.training_rows_[len(X) :])


def test_copies_are_compared_unless_they_are_given():
    X, y = waves(1.0)
    clf = bemi.FewBitClassifier(node_limit=1, time_limit=None, probabilities=False).fit(X, y)
    names = list(clf.choice_.accuracies)
    assert names[0] == "windows as recorded"
    assert len(names) == 6
    given = bemi.FewBitClassifier(copies=SignalScenarios(), node_limit=1, time_limit=None, probabilities=False)
    assert list(given.fit(X, y).choice_.accuracies) == ["settings as given"]
    assert given.copies.gains == (0.625, 1.5)
