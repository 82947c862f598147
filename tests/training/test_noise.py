"""What noise costs, as training estimates it, and noisy copies that prevent it."""

import numpy as np
import pytest

from bemi import FewBitClassifier, SignalCounts, SignalScenarios
from bemi.training.noise import NOISE, with_noise


def windows(rows, seed, *, size=1.6, spread=0.1, rough=0):
    """Small movements, and large ones, which may be rough.  Noise hides how rough they are, but not how large."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    sizes = np.where(y, size, 1.0)[:, None, None] * rng.lognormal(0, spread, (rows, 1, 2))
    phase = rng.uniform(0, 6, (rows, 1, 2)) + np.arange(32)[:, None] * 0.2
    roughness = np.where(y, rough, 0)[:, None, None] * rng.normal(0, 1, (rows, 32, 2))
    return np.rint(1000 * sizes * np.sin(phase) + roughness), y


def noisy(X, level, seed=9):
    return X + np.random.default_rng(seed).normal(0, 1, X.shape) * level * X.std(axis=(0, 1))


def test_the_accuracy_under_noise_is_stated():
    X, y = windows(40, 0)
    model = FewBitClassifier(inputs=SignalCounts(rocket=0), time_limit=2.0).fit(X, y)
    choice = model.choice_
    assert tuple(choice.under_noise) == NOISE
    new, labels = windows(300, 1)
    for level, stated in choice.under_noise.items():
        assert model.score(noisy(new, level), labels) == pytest.approx(stated, abs=0.17)
    assert "with noise of 10 % and 30 % of the signal's spread" in choice.in_words()


def test_noisy_copies_are_chosen_where_they_prevent_errors():
    X, y = windows(40, 0)
    choice = FewBitClassifier(inputs=SignalCounts(rocket=0)).choose(X, y)
    assert choice.candidate.settings["copies"].noise[-2:] == NOISE
    assert choice.name.endswith(", and noise")
    usual = FewBitClassifier(inputs=SignalCounts(rocket=0), copies=None, time_limit=2.0).fit(X, y)
    ready = FewBitClassifier(
        inputs=SignalCounts(rocket=0), copies=choice.candidate.settings["copies"], time_limit=2.0
    ).fit(X, y)
    new, labels = windows(300, 1)
    assert ready.score(noisy(new, 0.1), labels) > usual.score(noisy(new, 0.1), labels) + 0.05
    assert ready.score(new, labels) > usual.score(new, labels) - 0.05


def test_noisy_copies_are_not_chosen_where_they_cost_accuracy_without_noise():
    hard = {"size": 1.4, "spread": 0.15, "rough": 60}
    X, y = windows(40, 0, **hard)
    choice = FewBitClassifier(inputs=SignalCounts(rocket=0)).choose(X, y)
    assert tuple(choice.under_noise) == NOISE
    usual = choice.candidate.settings["copies"]
    assert not set(NOISE) & set(usual.noise)
    new, labels = windows(300, 1, **hard)
    before, after = (
        FewBitClassifier(inputs=SignalCounts(rocket=0), copies=copies, time_limit=1.0, probabilities=False).fit(X, y)
        for copies in (usual, with_noise(usual))
    )
    assert after.score(noisy(new, 0.1), labels) > before.score(noisy(new, 0.1), labels) + 0.1
    assert after.score(new, labels) < before.score(new, labels)


def test_copies_that_are_given_stay():
    X, y = windows(16, 0)
    for copies in (None, SignalScenarios((0.5,))):
        choice = FewBitClassifier(inputs=SignalCounts(rocket=0), copies=copies).choose(X, y)
        assert "copies" not in choice.candidate.settings
        assert not choice.under_noise


def test_noise_is_added_to_other_copies():
    made = with_noise(SignalScenarios((0.5,), (0.1,), (0.03,)))
    assert (made.gains, made.shifts, made.noise) == ((0.5,), (0.1,), (0.03, *NOISE))
    assert (with_noise(None).gains, with_noise(None).noise) == ((), NOISE)
