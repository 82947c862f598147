"""Relations between rows, and how many neurons may separate two of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.engines.decomposition.min_weight.relations import Relations, allowed_counts


@settings(max_examples=200)
@given(data=st.data())
def test_no_network_separates_rows_in_a_number_that_is_excluded(data):
    bound, size = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    sizes = data.draw(st.sampled_from([(1,), (2,), (2, 1), (2, 2)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    inputs = rng.choice([-1, 1], (2, size))
    signals, above = inputs, []
    for count in sizes:
        sums = signals @ rng.integers(-bound, bound + 1, (signals.shape[1], count))
        above.append(np.abs(sums).min(axis=0).tolist())
        signals = np.where(sums >= 0, 1, -1)
    differ = (signals[0] != signals[1]).tolist()
    above = [[m - data.draw(st.integers(0, 2)) for m in layer] for layer in above]
    separated = int((inputs[0] != inputs[1]).sum())
    assert allowed_counts(above, bound, size, differ)[separated]


@pytest.mark.parametrize(
    ("above", "differ", "counts"),
    [
        # An output with margin 1 separates by one input at least, and agrees by one at least.
        ([[1]], [True], [1, 2, 3, 4]),
        ([[1]], [False], [0, 1, 2, 3]),
        ([[3]], [True], [3, 4]),
        # Neurons with margin 3 separate or agree by three of four inputs.
        ([[3, 3, 3, 1], [1]], [True], [1, 3, 4]),
        ([[3, 3, 3, 1], [1]], [False], [0, 1, 3]),
        ([[4, 4, 4, 4], [4]], [True], [4]),
        ([[1, 1, 1, 1], [2, 2]], [True, False], [1, 2, 3]),
        # An output without a margin may be wrong.
        ([[0]], [True], [0, 1, 2, 3, 4]),
    ],
)
def test_counts_follow_from_the_margins_above(above, differ, counts):
    allowed = allowed_counts(above, 1, 4, differ)
    assert [h for h, fits in enumerate(allowed) if fits] == counts


@given(joins=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8), signs=st.integers(0, 63))
def test_relations_are_those_of_the_signs_they_come_from(joins, signs):
    sign = [1 if signs >> k & 1 else -1 for k in range(6)]
    relations = Relations.unknown(1, 6)
    for a, b in joins:
        if not relations.between(0, a, b):
            relations.join(0, a, b, sign[a] * sign[b])
    for a, b in product(range(6), repeat=2):
        assert relations.between(0, a, b) in (0, sign[a] * sign[b])
    # The first row of a component represents it, whatever the order of the joins.
    component = relations.component[0]
    assert all(component[k] == min(np.flatnonzero(component == component[k])) for k in range(6))
    assert (relations.parity[0][np.unique(component)] == 1).all()


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_neuron_with_a_margin_and_at_most_two_links_copies_an_input(bound):
    # The bound on the links above the first layer rests on this.
    rng = np.random.default_rng(bound)
    copies = 0
    for _ in range(200):
        inputs = rng.choice([-1, 1], (4, 3))
        for weights in product(range(-bound, bound + 1), repeat=3):
            sums = inputs @ np.array(weights)
            if np.count_nonzero(weights) <= 2 and np.abs(sums).min() >= 1:
                signs = np.sign(sums)
                copies += 1
                assert any((signs == s * inputs[:, i]).all() for s in (1, -1) for i in range(3))
    assert copies > 1000
