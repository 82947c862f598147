"""Weights as words: reading them gives the weights again, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.export.c.dictionary_coding import DICTIONARIES, NARROW, WIDE, spelled
from bemi.export.c.weights import LARGEST_LISTED, encoded, packed


def read(written, dictionary, inputs):
    """As ``sum_words.c`` reads, with the weight of each input in place of its product."""
    weights, at = np.zeros(inputs, dtype=np.int64), -1
    for byte in written:
        for code in (byte & 15, byte >> 4):
            step, weight = dictionary[code]
            at += step
            assert 0 <= at < inputs, "nothing is read beside the inputs"
            weights[at] += weight
    return weights


columns = st.lists(
    st.one_of(st.just(0), st.integers(-3, 3), st.integers(-LARGEST_LISTED, LARGEST_LISTED)), min_size=1, max_size=60
)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
@given(column=columns, gap=st.integers(0, 500))
def test_words_say_what_they_are_made_from(dictionary, column, gap):
    weights = np.array([*column[:5], *[0] * gap, *column[5:]])
    written = spelled(weights, dictionary)
    assert len(written) % 2 == 0
    assert np.array_equal(read(written, dictionary, len(weights)), weights)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_a_word_is_half_a_byte_and_each_is_there_once(dictionary):
    assert len(dictionary) == len(set(dictionary)) == 16


@pytest.mark.parametrize(("bound", "dictionary", "scale", "share"), [(7, WIDE, 1.0, 0.8), (1, NARROW, 0.25, 0.5)])
def test_mostly_small_weights_take_less_room_than_packed(bound, dictionary, scale, share):
    weights = np.rint(np.random.default_rng(0).laplace(0, scale, (784, 45))).clip(-bound, bound).astype(np.int64)
    smallest = encoded(weights, bound, "size")
    assert smallest.dictionary == dictionary
    assert smallest.size < share * packed(weights, bound).size
    assert encoded(weights, bound, "speed").file == "sum_list.c"
