"""The range of an expected accuracy: how much rows and recordings tell, and what the returned model must obey."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from bemi import FewBitClassifier
from bemi.report.estimates import accuracy_range, effective_rows
from bemi.training.choice import MOST_ROWS


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_range_of_whole_rows_is_that_of_clopper_and_pearson(counts):
    right, rows = counts
    exact = binomtest(right, rows).proportion_ci(0.95, method="exact")
    assert accuracy_range(right / rows, rows) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=40))
def test_rows_that_stand_for_themselves_tell_as_much_as_they_are(hits):
    right = np.array(hits, dtype=float)
    assert effective_rows(right, np.ones(len(hits))) == pytest.approx(len(hits))
    assert effective_rows(right, np.full(len(hits), 0.25)) == pytest.approx(len(hits))


def test_windows_of_few_recordings_without_an_error_are_no_proof():
    """Eight windows in four recordings: no more than four independent rows."""
    right, recordings = np.ones(8), np.repeat(np.arange(4), 2)
    rows = effective_rows(right, np.ones(8), recordings)
    assert 1 <= rows <= 5
    low, high = accuracy_range(1.0, rows)
    assert low < 0.6
    assert high == 1


@pytest.mark.parametrize("recordings", [4, 10, 30])
@pytest.mark.parametrize("alike", [0.5, 5.0, 500.0])
def test_ranges_cover_the_accuracy_of_new_recordings(recordings, alike):
    """Recordings with accuracies of their own, from nearly all or nothing to all the same, ten windows each."""
    rng = np.random.default_rng(recordings)
    for truth in (0.6, 0.9, 0.97):
        covered = 0
        for _ in range(200):
            own = rng.beta(alike * truth, alike * (1 - truth), recordings)
            right = (rng.random((recordings, 10)) < own[:, None]).astype(float).ravel()
            rows = effective_rows(right, np.ones(right.size), np.repeat(np.arange(recordings), 10))
            low, high = accuracy_range(right.mean(), rows)
            covered += low <= truth <= high
        assert covered >= 180


def noisy_sum(rows, seed):
    """Ten numbers, of which all matter a little, so that a model of two lines is far from the best."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 10)).round(2)
    return X, (X.sum(axis=1) + rng.normal(size=rows) > 0).astype(int)


@pytest.mark.parametrize("restriction", [{}, {"max_links": 2}, {"monotone": {0: -1, 1: -1, 2: -1, 3: -1}}])
def test_the_estimate_is_about_the_model_that_is_returned(restriction):
    X, y = noisy_sum(150, 1)
    new, truth = noisy_sum(4000, 2)
    classifier = FewBitClassifier(C=1.0, time_limit=2.0, **restriction).fit(X, y)
    accuracy = classifier.score(new, truth)
    assert classifier.choice_.low <= accuracy <= classifier.choice_.high
    assert classifier.choice_.expected == pytest.approx(accuracy, abs=0.06)


def test_restrictions_lower_the_expectation():
    X, y = noisy_sum(150, 1)
    free, two = (FewBitClassifier(C=1.0, max_links=links).choose(X, y).expected for links in (None, 2))
    assert two < free - 0.1


def test_similarities_are_no_candidates_where_features_are_monotone():
    X, y = noisy_sum(60, 3)
    choice = FewBitClassifier(monotone={0: 1}).choose(X, y)
    assert choice.accuracies
    assert not any("similarities" in name for name in choice.accuracies)


def test_many_rows_are_all_used_for_the_estimate():
    """Settings are compared on a part of the rows; the accuracy is tested on the others, too."""
    X, y = noisy_sum(3 * MOST_ROWS, 4)
    choice = FewBitClassifier().choose(X, y)
    assert MOST_ROWS < choice.rows < choice.given == 3 * MOST_ROWS
    assert f"{choice.rows:,} rows of 3,000" in choice.in_words()
    assert choice.high - choice.low < 0.05
