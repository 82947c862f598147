"""Medoids against all ways to pick rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.augment import k_medoids, select_rows


def cost(X, chosen):
    return np.linalg.norm(X[:, None] - X[list(chosen)], axis=2).min(axis=1).sum()


@given(st.integers(2, 8), st.integers(1, 3), st.integers(0, 10_000))
@settings(max_examples=60)
def test_no_exchange_improves_and_the_best_is_near(rows, k, seed):
    k = min(k, rows)
    X = np.random.default_rng(seed).integers(0, 12, (rows, 2))
    chosen = k_medoids(X, k).tolist()
    assert chosen == sorted(set(chosen))
    assert len(chosen) == k
    reached = cost(X, chosen)
    for out in chosen:
        for new in set(range(rows)) - set(chosen):
            assert cost(X, {*chosen, new} - {out}) >= reached - 1e-6
    best = min(cost(X, c) for c in combinations(range(rows), k))
    assert best <= reached + 1e-6
    if k == 1:
        assert reached == pytest.approx(best)


def test_a_local_optimum_is_seldom_a_bad_one():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        X = rng.integers(0, 30, (9, 3))
        found.append(cost(X, k_medoids(X, 3)) / min(cost(X, c) for c in combinations(range(9), 3)))
    assert np.mean(np.array(found) < 1 + 1e-9) > 0.7
    assert max(found) < 1.25


def test_clear_clusters_are_found():
    rng = np.random.default_rng(1)
    centres = np.array([[0, 0], [100, 0], [0, 100], [100, 100]])
    X = np.repeat(centres, 10, axis=0) + rng.integers(-3, 4, (40, 2))
    assert sorted(k_medoids(X, 4) // 10) == [0, 1, 2, 3]


def test_equal_rows_do_no_harm():
    X = np.ones((6, 2), dtype=int)
    assert len(k_medoids(X, 3)) == 3
    assert k_medoids(X, 6).tolist() == list(range(6))


def test_rows_are_selected_class_by_class():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 50, (30, 4))
    y = np.array(["a", "b", "c"])[rng.permutation(np.repeat([0, 1, 2], [18, 10, 2]))]
    chosen = select_rows(X, y, 5)
    assert (np.diff(chosen) > 0).all()
    assert {label: int((y[chosen] == label).sum()) for label in "abc"} == {"a": 5, "b": 5, "c": 2}
    for label in "ab":
        rows = np.flatnonzero(y == label)
        assert np.array_equal(chosen[y[chosen] == label], rows[k_medoids(X[rows], 5)])
    assert select_rows(X, y, 18).tolist() == list(range(30))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: k_medoids(X, 5), "k is 5, but there are only 4 rows"),
        (lambda X: k_medoids(X, 0), "k must be an integer of at least 1, got 0"),
        (lambda X: select_rows(X, [0, 0, 1, 1], 1.5), "per_class must be an integer of at least 1, got 1.5"),
        (lambda X: select_rows(X, [0, 1], 1), r"y must have one label per row \(4\), it has 2"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(np.arange(8).reshape(4, 2))
