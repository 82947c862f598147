"""One neuron's linear program against HiGHS, and its exact bounds against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.decomposition.neuron.rounding import integer_weights
from bemi.engines.decomposition.neuron.weight_trees import WidestTree
from bemi.limits import FOREVER
from bemi.programs import Builder
from bemi.solvers import highs


@st.composite
def rows_and_signs(draw: st.DrawFn, inputs: int = 6, rows: int = 6):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    low = draw(st.sampled_from((-20, 0)))
    count, width = draw(st.integers(1, rows)), draw(st.integers(1, inputs))
    data = rng.integers(low, 21, (count, width))
    signs = rng.choice(np.array([-1, 0, 1], dtype=np.int8), count)
    signs[0] = signs[0] or 1
    return data, signs, draw(st.integers(1, 3))


def margin_by_highs(data, signs, bound) -> float:
    used = signs != 0
    builder = Builder()
    w = builder.columns(data.shape[1], -bound, bound, integer=False)
    m = builder.columns(1, 0, np.inf, integer=False)
    columns = np.broadcast_to(np.append(w, m), (used.sum(), data.shape[1] + 1))
    builder.rows(columns, np.column_stack([signs[used, None] * data[used], -np.ones(used.sum())]), lower=0)
    return highs.solve(builder.program("max", m)).objective


@settings(max_examples=200)
@given(rows_and_signs(inputs=12, rows=12))
def test_value_and_bound_agree_with_highs(case):
    data, signs, bound = case
    lp = NeuronLP(data, bound)
    found = lp.solve(signs)
    truth = margin_by_highs(data, signs, bound)
    assert found.bound == lp.exact_bound(signs, found.multipliers)
    # Margins below 1 are of no use, and the walk may stop there.
    assert found.bound == pytest.approx(int(truth + 1e-6), abs=0) or truth < 1
    if found.exact:
        assert found.value == pytest.approx(truth, abs=1e-5)
        assert np.abs(found.weights).max() <= bound + 1e-9
        used = signs != 0
        assert (signs * found.sums)[used].min() >= found.value - 1e-5
    turned = lp.solve(-signs)
    assert turned.bound == found.bound


@settings(max_examples=100)
@given(rows_and_signs(inputs=4, rows=5))
def test_integer_weights_on_tiny_cases(case):
    data, signs, bound = case
    signs = np.where(signs == 0, 1, signs)
    best = max(
        int((signs * (data @ np.array(w))).min()) for w in product(range(-bound, bound + 1), repeat=data.shape[1])
    )
    lp = NeuronLP(data, bound)
    found = lp.solve(signs)
    assert found.bound >= best
    if not found.exact:
        return
    multipliers = np.zeros(len(data), dtype=np.int64)
    for k, v in found.multipliers:
        multipliers[k] = v
    live = data[:, lp.live]
    weights, margin = integer_weights(
        live, signs.astype(np.int64), bound, found.weights, found.value, multipliers.astype(float), proposals=2000
    )
    assert margin == int((signs * (live @ weights)).min()) <= best
    # The tree finds the best weights above a margin, or shows that there are none.
    for above in {margin, margin - 1, best} - {-1}:
        tree = WidestTree(live, signs.astype(np.int64), bound, above=max(0, above))
        tree.grow(FOREVER)
        assert tree.margin == tree.bound == max(0, above, best)
        assert (tree.weights is None) == (best <= max(0, above))
        if tree.weights is not None:
            assert int((signs * (live @ tree.weights)).min()) == best


def test_stop_ends_early_with_a_valid_bound():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (30, 200))
    signs = np.where(np.arange(30) < 15, 1, -1).astype(np.int8)
    full = NeuronLP(data, 1).solve(signs)
    early = NeuronLP(data, 1).solve(signs, stop=full.bound + 500)
    assert full.bound <= early.bound <= full.bound + 500
    assert not early.exact


def test_caps_are_bounds():
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, (12, 60))
    lp = NeuronLP(data, 1)
    signs = np.zeros(12, dtype=np.int8)
    signs[:6] = [1, -1, 1, -1, 1, -1]
    found = lp.solve(signs)
    rows, turns = np.tile(np.arange(6, 12), 2), np.repeat([1, -1], 6)
    for (cap, step), row, turn in zip(lp.caps(signs, found, rows, turns), rows, turns, strict=True):
        more = signs.copy()
        more[row] = turn
        multipliers = lp.cap_multipliers(found, int(row), step)
        assert lp.solve(more).bound <= lp.exact_bound(more, multipliers) <= cap + 1
