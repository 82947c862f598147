"""Smoothing over time: pushed, in a batch, and as its definition reads."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi import Smoothing

LABELS = st.lists(st.integers(-1, 4), max_size=60)


@st.composite
def settings(draw):
    length = draw(st.integers(1, 9))
    return length, draw(st.integers(1, length))


def defined(labels, length, votes, unsure):
    """The definition read aloud, from the beginning for every label."""
    found = []
    for end in range(1, len(labels) + 1):
        stable = unsure
        for now in range(1, end + 1):
            last = labels[max(0, now - length) : now]
            counts = Counter(label for label in last if label != unsure)
            if counts and max(counts.values()) >= votes:
                leaders = {label for label, count in counts.items() if count == max(counts.values())}
                stable = next(label for label in reversed(last) if label in leaders)
        found.append(stable)
    return found


@given(LABELS, settings())
def test_pushed_and_in_a_batch(labels, parameters):
    smoothing = Smoothing(*parameters, unsure=-1)
    expected = defined(labels, *parameters, -1)
    assert [smoothing.push(label) for label in labels] == expected
    found = smoothing(labels)
    assert found.tolist() == expected
    if labels:
        assert found.dtype.kind == "i"
    smoothing.reset()
    assert [smoothing.push(label) for label in labels] == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", "c"])), max_size=40), settings())
def test_every_recording_starts_afresh(rows, parameters):
    groups, labels = [g for g, _ in rows], [label for _, label in rows]
    found = Smoothing(*parameters)(np.array(labels, dtype=object), groups=groups)
    for group in set(groups):
        own = [label for g, label in rows if g == group]
        assert [label for g, label in zip(groups, found, strict=True) if g == group] == defined(own, *parameters, None)


def test_what_was_pushed_plays_no_part_in_a_batch():
    smoothing = Smoothing(3, 2)
    for _ in range(3):
        smoothing.push("a")
    assert smoothing(["b", "c", "c"]).tolist() == [None, None, "c"]
    assert smoothing.push("b") == "a"


def test_a_single_wrong_label_never_shows():
    labels = np.repeat([3, 8, 3, 1], [10, 1, 10, 12])
    found = Smoothing(5, 3, unsure=-1)(labels)
    assert found.tolist() == [-1] * 2 + [3] * 21 + [1] * 10
    assert Smoothing(1, 1, unsure=-1)(labels).tolist() == labels.tolist()


def test_it_prints_as_it_is_made():
    assert repr(Smoothing(5, 3)) == "Smoothing(length=5, votes=3, unsure=None)"


def test_bad_parameters_are_named():
    for parameters, message in (
        ((0, 1), "length must be"),
        ((256, 1), "length must be"),
        ((5, 6), "votes must be"),
        ((5, 0), "votes must be"),
        ((2.5, 1), "length must be"),
    ):
        with pytest.raises(ValueError, match=message):
            Smoothing(*parameters)
    with pytest.raises(ValueError, match="3 labels need as many groups, got 2"):
        Smoothing()([1, 2, 3], groups=[0, 0])
    with pytest.raises(ValueError, match="labels must be a sequence"):
        Smoothing()([[1, 2]])
