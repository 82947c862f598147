"""Weights as words and in batches: reading them gives the weights again, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.export.c.weights import (
    DICTIONARIES,
    LARGEST_LISTED,
    NARROW,
    WIDE,
    code_words,
    encoded,
    packed,
    save_memory,
    weights_in_batches,
)
from bemi.inputs.export_hooks import BATCH, BATCH_OFFSET


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
    written = code_words(weights, dictionary)
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


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 7), st.sampled_from([0, 127, -5]), st.integers(0, 2**32))
def test_sums_of_batches_are_those_of_the_weights(inputs, neurons, bound, constant, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(-bound, bound + 1, (inputs, neurons))
    order = rng.permutation(inputs)[: rng.integers(1, inputs + 1)]
    made = weights_in_batches(columns, order.tolist(), constant, bound)
    x = np.full(inputs, constant)
    x[order] = rng.integers(-BATCH_OFFSET, BATCH_OFFSET + 1, len(order))
    given_inputs = np.zeros(-(-len(order) // BATCH) * BATCH, dtype=np.int64)
    given_inputs[: len(order)] = x[order] + BATCH_OFFSET
    words = np.array(made.words, dtype=np.int64).reshape(-1, neurons)
    sums = np.array(made.starts)
    for batch, eight in zip(words, given_inputs.reshape(-1, BATCH), strict=True):
        sums += sum(((batch >> (4 * place) & 15) - bound) * int(value) for place, value in enumerate(eight))
        assert np.abs(sums).max() <= made.largest
    assert np.array_equal(sums, x @ columns)
    assert max(made.words) < 2**32


def test_when_batches_are_used():
    assert save_memory(456, 21, 7)
    assert save_memory(456, 114, 1)
    assert not save_memory(456, 115, 7)
    assert not save_memory(456, 21, 8)
