"""Branch and bound on the weights of one neuron against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bemi.certificate import Rows
from bemi.certificate.links import links_bound
from bemi.engines.decomposition.neuron.few_links import forced_weights
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.decomposition.neuron.weight_trees import LinkTree


@st.composite
def neurons(draw):
    """Rows, P, and the signs and margin of some weights; all weights; and the fewest links that keep the margin."""
    rows, inputs, bound = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cells = st.lists(st.integers(-9, 9), min_size=inputs, max_size=inputs)
    data = np.array(draw(st.lists(cells, min_size=rows, max_size=rows)))
    every = np.stack(np.meshgrid(*[np.arange(-bound, bound + 1)] * inputs), axis=-1).reshape(-1, inputs)
    start = every[draw(st.integers(0, len(every) - 1))]
    signs = np.where(data @ start >= 0, 1, -1)
    margin = int(np.abs(data @ start).min())
    assume(margin >= 1)
    keeping = every[((every @ data.T) * signs >= margin).all(axis=1)]
    return data, signs.astype(np.int8), bound, margin, keeping


def replayed(data, signs, bound, margin, tree) -> int:
    """What the checker makes of the tree; without a hidden layer the signs are the codes."""
    rows = Rows(data.tolist(), signs[:, None].tolist(), [data.shape[1], 1], bound)
    return links_bound(rows, [[margin]], {"target": 99, "tree": [["B", [0], tree]]})


@settings(max_examples=300)
@given(neuron=neurons(), nodes=st.integers(0, 60))
def test_the_bound_holds_at_any_time_and_is_exact_in_the_end(neuron, nodes):
    data, signs, bound, margin, keeping = neuron
    best = np.count_nonzero(keeping, axis=1).min()
    signs = signs * signs[0]  # the checker takes the first row as positive
    tree = LinkTree(data, signs, bound, margin)
    numbers = np.arange(len(data)), np.arange(data.shape[1])
    tree.grow(99, nodes)
    assert tree.bound <= best
    assert replayed(data, signs, bound, margin, tree.proof(*numbers)) == tree.bound
    tree.grow(99, 10_000)
    assert tree.exhausted
    assert tree.bound == best == np.count_nonzero(tree.solution)
    assert (signs * (data @ tree.solution)).min() >= margin
    assert replayed(data, signs, bound, margin, tree.proof(*numbers)) == best


@settings(max_examples=300)
@given(neuron=neurons())
def test_forced_weights_are_those_of_every_neuron_with_the_margin(neuron):
    data, signs, bound, margin, keeping = neuron
    forced = forced_weights((signs[:, None] * data).T, bound, margin)
    assert (np.abs(forced)[forced != 0] == bound).all()
    assert (keeping[:, forced != 0] == forced[forced != 0]).all()


def test_a_margin_that_leaves_no_choice_forces_all_weights():
    columns = np.array([[5, 1], [3, 0], [0, 7]])
    assert forced_weights(columns, 1, 8).tolist() == [1, 1, 1]
    assert forced_weights(columns[:, :1], 1, 8).tolist() == [1, 1, 0]
    assert forced_weights(columns[:, :1], 1, 5).tolist() == [1, 0, 0]


def test_a_hundred_nodes_raise_the_bound_of_the_linear_program():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 200, (12, 30)) * (rng.random((12, 30)) < 0.6)
    signs = np.repeat([1, -1], 6).astype(np.int8)
    margin = int(0.9 * NeuronLP(data, 1).solve(signs).value)
    tree = LinkTree(data, signs, 1, margin)
    before = tree.bound
    tree.grow(99, 100)
    assert tree.bound >= before + 2
