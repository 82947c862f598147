"""Weights in lots: words and starts hold what the sums need."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bemi.export.c.batches import in_lots, save_memory
from bemi.inputs.export_hooks import LOT, LOT_OFFSET


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 7), st.sampled_from([0, 127, -5]), st.integers(0, 2**32))
def test_sums_are_those_of_the_weights(inputs, neurons, bound, constant, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(-bound, bound + 1, (inputs, neurons))
    order = rng.permutation(inputs)[: rng.integers(1, inputs + 1)]
    made = in_lots(columns, order.tolist(), constant, bound)
    x = np.full(inputs, constant)
    x[order] = rng.integers(-LOT_OFFSET, LOT_OFFSET + 1, len(order))
    given_inputs = np.zeros(-(-len(order) // LOT) * LOT, dtype=np.int64)
    given_inputs[: len(order)] = x[order] + LOT_OFFSET
    words = np.array(made.words, dtype=np.int64).reshape(-1, neurons)
    sums = np.array(made.starts)
    for lot, eight in zip(words, given_inputs.reshape(-1, LOT), strict=True):
        sums += sum(((lot >> (4 * place) & 15) - bound) * int(value) for place, value in enumerate(eight))
        assert np.abs(sums).max() <= made.largest
    assert np.array_equal(sums, x @ columns)
    assert max(made.words) < 2**32


def test_when_they_are_used():
    assert save_memory(456, 21, 7)
    assert save_memory(456, 114, 1)
    assert not save_memory(456, 115, 7)
    assert not save_memory(456, 21, 8)
