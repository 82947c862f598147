"""Which sets of classes get a network."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.ensemble import chosen_subsets, components, fewest, given_subsets


def hang_together(subsets, n_classes):
    reached, last = {0}, set()
    while reached != last:
        last = set(reached)
        for subset in subsets:
            if reached & set(subset):
                reached |= set(subset)
    return reached == set(range(n_classes))


@given(st.data(), st.integers(2, 7), st.integers(2, 4), st.integers(0, 1000))
@settings(max_examples=80)
def test_chosen_sets_hang_together(data, n_classes, size, seed):
    size = min(size, n_classes)
    every = list(combinations(range(n_classes), size))
    count = data.draw(st.integers(fewest(n_classes, size), len(every)))
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 9, (3 * n_classes, 3)), np.repeat(np.arange(n_classes), 3)
    subsets = [tuple(s) for s in chosen_subsets(X, y, n_classes, size, count).tolist()]
    assert len(set(subsets)) == count
    assert set(subsets) <= set(every)
    assert subsets == sorted(subsets)
    assert hang_together(subsets, n_classes)
    assert components(np.array(subsets), n_classes).tolist() == [0] * n_classes


@given(st.integers(2, 9), st.integers(2, 4))
def test_fewer_sets_than_the_fewest_cannot_hang_together(n_classes, size):
    size = min(size, n_classes)
    chain = [range(start, min(start + size, n_classes)) for start in range(0, n_classes - 1, size - 1)]
    assert len(chain) == fewest(n_classes, size)
    assert hang_together(chain, n_classes)
    assert 1 + (len(chain) - 1) * (size - 1) < n_classes


def test_classes_that_are_alike_meet():
    # Four directions, two and two close to each other.
    X = np.array([[100, 0], [95, 5], [5, 95], [0, 100]])
    chosen = chosen_subsets(X, np.arange(4), 4, 2, 3).tolist()
    assert chosen == [[0, 1], [1, 2], [2, 3]]
    assert chosen_subsets(X, np.arange(4), 4, 2, 6).tolist() == [list(c) for c in combinations(range(4), 2)]


@pytest.mark.parametrize("count", [2, 7])
def test_a_number_that_cannot_be_is_refused(count):
    with pytest.raises(ValueError, match=rf"subsets must be in 3..6 for 4 classes, 2 per network, got {count}"):
        chosen_subsets(np.eye(4), np.arange(4), 4, 2, count)


def test_given_sets_are_put_in_order():
    assert given_subsets([("c", "b"), ("b", "a")], ["a", "b", "c"], 2).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ([("a", "x")], "subsets has 'x', which is not a class"),
        ([("a", "b", "c")], r"subsets must be sets of subset_size=2 different classes, got \('a', 'b', 'c'\)"),
        ([("a", "a")], "different classes"),
        (["a"], "different classes"),
        ([("a", "b"), ("b", "a"), ("c", "d")], r"subsets has \('a', 'b'\) twice"),
        ([("a", "b"), ("c", "d")], "subsets cannot tell 'a' from 'c': no chain of networks"),
        ([("a", "b"), ("b", "c")], "subsets cannot tell 'a' from 'd'"),
        ([], "subsets cannot tell 'a' from 'b'"),
    ],
)
def test_sets_that_do_not_serve_are_refused(sets, words):
    with pytest.raises(ValueError, match=words) as caught:
        given_subsets(sets, ["a", "b", "c", "d"], 2)
    assert "\n" not in str(caught.value)
