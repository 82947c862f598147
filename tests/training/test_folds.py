"""Folds: groups stay together, classes are spread, and what cannot be estimated is said."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from soft_margins import choosing

from bemi import SignalCounts, SignalScenarios
from bemi.settings import SETTINGS
from bemi.training import Candidate, choose
from bemi.training.training_set import class_in_one_group, group_codes, group_folds, row_folds


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=4, max_size=60),
    folds=st.integers(2, 5),
    seed=st.integers(0, 3),
)
def test_groups_stay_together_and_every_class_can_be_learnt(rows, folds, seed):
    groups = np.unique([group for group, _ in rows], return_inverse=True)[1]
    targets = np.unique([target for _, target in rows], return_inverse=True)[1]
    lone = [c for c in range(targets.max() + 1) if len(set(groups[targets == c])) == 1]
    assert class_in_one_group(targets, groups) == (lone[0] if lone else None)
    parts = group_folds(targets, groups, folds, np.random.default_rng(seed))
    for group in set(groups):
        assert len(set(parts[groups == group])) == 1
    if not lone:
        for part in set(parts):
            assert set(targets[parts != part]) == set(targets), "a class that training would not know"


def test_equal_groups_are_spread_evenly():
    groups = np.repeat(np.arange(10), 4)
    targets = np.tile([0, 1], 20)
    parts = group_folds(targets, groups, 5, np.random.default_rng(0))
    assert np.bincount(parts).tolist() == [8] * 5


def test_rows_are_spread_class_by_class():
    targets = np.repeat([0, 1], [10, 5])
    parts = row_folds(targets, 5, np.random.default_rng(0))
    assert [np.bincount(parts[targets == c]).tolist() for c in (0, 1)] == [[2] * 5, [1] * 5]


def test_groups_must_be_one_per_row():
    with pytest.raises(ValueError, match=r"groups must have one entry per row \(3\)"):
        group_codes([1, 2], 3)
    with pytest.raises(ValueError, match="row 1 has none"):
        group_codes(np.array(["a", None, "b"], dtype=object), 3)


PLAIN = {name: setting.default for name, setting in SETTINGS.items()} | {"inputs": SignalCounts(), "weight_bound": 7}
AS_RECORDED = Candidate("as recorded", {"copies": None}, usual_up_to=inf)


def leaking(people=8, per_person=6, seed=0):
    """Windows that tell the person but not the label: each person has a tone of their own, and a label by chance."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(people), per_person)
    phase = generator.uniform(0, 6, len(groups))[:, None]
    X = 1000 * np.sin(np.arange(48) * (0.2 + 0.25 * groups[:, None]) + phase)
    return X[:, :, None].round().astype(int), generator.permutation(people)[groups] % 2, groups


def test_windows_of_one_recording_do_not_help_each_other():
    X, y, groups = leaking()
    by_window = choose([AS_RECORDED], X, y, defaults=PLAIN, weights=None, seed=0)
    by_person = choose([AS_RECORDED], X, y, defaults=PLAIN, weights=None, seed=0, groups=groups)
    assert by_window.expected > 0.9, "this is what leaks"
    assert by_person.expected < 0.7
    assert by_person.recordings == 8
    assert "on new recordings" in by_person.in_words()
    assert "5-fold cross-validation of 8 recordings" in by_person.in_words()
    assert by_person.high - by_person.low > by_window.high - by_window.low


def test_one_recording_of_a_class_allows_no_estimate():
    X, y, _groups = leaking()
    choice = choose([AS_RECORDED], X, y, defaults=PLAIN, weights=None, seed=0, groups=y)
    assert choice.expected is None
    assert choice.in_words() == (
        "as recorded; the accuracy cannot be estimated: class 0 occurs in only one recording, "
        f"{y[y == 0][0]}; record every class at least twice"
    )


def test_a_classifier_takes_groups():
    X, y, groups = leaking()
    clf = choosing(AS_RECORDED, kind="signal", time_limit=2.0)
    assert clf.fit(X, y, groups=groups).choice_.recordings == 8
    assert clf.fit(X, y).choice_.recordings is None
    with pytest.raises(ValueError, match="groups must have one entry per row"):
        clf.fit(X, y, groups=groups[1:])


def quiet_and_loud(seed, people=12):
    """People who move in one of two ways, as strongly as they like: how strongly they move tells nothing."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(people), 4)
    y = groups % 2
    gain = np.exp(generator.uniform(-1.5, 1.5, people))[groups]
    wave = np.sin(np.arange(64) * np.where(y, 0.37, 0.35)[:, None] + generator.uniform(0, 6, len(y))[:, None])
    X = 1500 * gain[:, None] * (wave + generator.normal(0, 0.2, wave.shape))
    return X[:, :, None].round().astype(int), y, groups


GAINS = Candidate("gains", {"copies": SignalScenarios((0.4, 0.6, 1.5, 2.4))})


def test_scenarios_are_taken_where_they_help_and_the_reason_is_told():
    X, y, groups = quiet_and_loud(1)
    choice = choose([AS_RECORDED, GAINS], X, y, defaults=PLAIN, weights=None, seed=0, groups=groups)
    assert choice.accuracies["gains"] > choice.accuracies["as recorded"] + 0.1
    assert choice.name == "gains"
    assert f"gains ({choice.reason}); expected" in choice.in_words()
    gain = 100 * (choice.accuracies["gains"] - choice.accuracies["as recorded"])
    assert choice.reason.startswith(f"{gain:+.1f} ± ")


def test_a_candidate_says_how_much_better_it_must_be():
    X, y, groups = quiet_and_loud(1)
    for needed, expected in ((0.5, "gains"), (30.0, "as recorded")):
        gains = replace(GAINS, standard_errors=needed)
        choice = choose([AS_RECORDED, gains], X, y, defaults=PLAIN, weights=None, seed=0, groups=groups)
        assert choice.name == expected


def test_two_recordings_of_a_class_are_too_few_to_leave_what_is_usual():
    X, y, _groups = quiet_and_loud(1)
    halves = np.arange(len(y)) // 2 % 2
    choice = choose([AS_RECORDED, GAINS], X, y, defaults=PLAIN, weights=None, seed=0, groups=halves)
    assert choice.in_words().startswith("as recorded (the default with so few rows of each class); expected accuracy")


def test_other_candidates_need_more_than_chance():
    X, y, _groups = leaking()
    same = Candidate("same", {"copies": SignalScenarios((1.0,))})
    choice = choose([same, AS_RECORDED], X, y, defaults=PLAIN, weights=None, seed=0)
    assert choice.name == "as recorded"
    assert "too little to change" in choice.in_words()
    free = choose([same, Candidate("as recorded", {"copies": None})], X, y, defaults=PLAIN, weights=None, seed=0)
    assert free.accuracies["same"] >= free.accuracies["as recorded"]
    assert (free.name, free.reason) == ("same", "")


@pytest.mark.parametrize(("recordings", "expected"), [(1, "gains"), (2, "gains"), (3, "as recorded")])
def test_what_is_usual_depends_on_the_number_of_recordings(recordings, expected):
    """Both are right about everything, so there is nothing to choose by."""
    few = Candidate("gains", GAINS.settings, usual_up_to=2)
    y = np.tile([0, 1], 12)
    X = (1000 * np.sin(np.arange(48) * np.where(y, 0.2, 0.9)[:, None]))[:, :, None].round().astype(int)
    groups = np.arange(24) // 2 % recordings
    choice = choose([AS_RECORDED, few], X, y, defaults=PLAIN, weights=None, seed=0, groups=groups)
    assert choice.name == expected
    assert (choice.expected is None) == (recordings == 1)
