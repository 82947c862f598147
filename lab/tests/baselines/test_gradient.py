"""Gradient descent for binarised networks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from bemi_lab.baselines.gradient import STRAIGHT_THROUGH, Activation, Adam, descend, forward_and_back, units
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bemi import Network
from bemi.network import sign
from bemi.problem import Problem

SMOOTH = Activation(np.tanh, lambda argument: 1 / np.cosh(argument) ** 2)
"""A stand-in for the sign whose slope is its true one."""


def random_problem(seed, rows=20, inputs=12, hidden=(5, 4), outputs=3, high=255):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, high, (rows, inputs), endpoint=True)
    data[:, 3] = 0
    return Problem(data, rng.choice([-1, 1], (rows, outputs)), hidden)


def random_latents(rng, layers, halves):
    return [rng.uniform(-1, 1, (halves, inputs, neurons)) for inputs, neurons in pairwise(layers)]


def all_fed(layers):
    return [np.ones(neurons) for neurons in layers[1:]]


def rows_right(problem, network):
    return (network.forward(problem.data) == problem.codes).all(axis=1).sum()


def loss_of(problem, network):
    """The loss again, from the network's own sums."""
    fan_in = (problem.data**2).sum(axis=1).mean() if not problem.hidden_layers else problem.hidden_layers[-1]
    scores = network.pre_activations(problem.data)[-1] / np.sqrt(fan_in)
    return (np.maximum(0, 1 - problem.codes * scores) ** 2).mean()


@pytest.mark.parametrize("halves", [1, 2])
@pytest.mark.parametrize("layers", [(4, 2), (3, 4, 2), (5, 4, 3, 2), (3, 4, 4, 4, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_the_backward_pass_agrees_with_finite_differences(seed, layers, halves):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(6, layers[0]))
    codes = rng.choice([-1.0, 1.0], (6, layers[-1]))
    latents = random_latents(rng, layers, halves)
    fed = all_fed(layers)
    if seed % 2:
        for on in fed[:-1]:
            on[-1] = 0
    sizes = list(rng.uniform(0.3, 3, len(latents)))

    def result():
        return forward_and_back(latents, fed, data, codes, sizes, SMOOTH)

    gradient = result().gradient
    numeric = [np.empty_like(latent) for latent in latents]
    for latent, slopes in zip(latents, numeric, strict=True):
        for link in np.ndindex(latent.shape):
            here = latent[link]
            latent[link] = here + 1e-5
            above = result().loss
            latent[link] = here - 1e-5
            slopes[link] = (above - result().loss) / 2e-5
            latent[link] = here
    for exact, approximate in zip(gradient, numeric, strict=True):
        assert np.linalg.norm(exact) > 0
        assert np.linalg.norm(exact - approximate) <= 1e-6 * np.linalg.norm(approximate)


def test_the_straight_through_gradient_passes_inside_the_window_only():
    arguments = np.array([-1.5, -1.0, -0.2, 0.0, 1.0, 1.01])
    assert STRAIGHT_THROUGH.slope(arguments).tolist() == [0, 1, 1, 1, 1, 0]
    # One row, one hidden neuron: its sum is the input in a unit of 4, and the output wants the other sign.
    for value, passes in ((3.0, True), (4.0, True), (5.0, False)):
        done = forward_and_back(
            [np.full((1, 1, 1), 0.5)] * 2,
            all_fed((1, 1, 1)),
            np.array([[value]]),
            np.array([[-1.0]]),
            [4.0, 1.0],
            STRAIGHT_THROUGH,
        )
        # loss (1 + s)^2 with s = +1
        assert done.loss == 4
        assert done.gradient[1].item() == 4
        assert done.gradient[0].item() == (value if passes else 0)


@given(
    data=arrays(np.int64, (4, 3), elements=st.integers(-2, 2)),
    seed=st.integers(0, 100),
    halves=st.sampled_from((1, 2)),
    dtype=st.sampled_from((np.float32, np.float64)),
)
def test_training_sees_what_the_network_gives(data, seed, halves, dtype):
    """Small numbers, so that sums of exactly zero are common."""
    layers = (3, 4, 4, 2)
    latents = [a.astype(dtype) for a in random_latents(np.random.default_rng(seed), layers, halves)]
    latents[0][:, 0] = 0  # the sign of zero is +1 for latent weights too
    sizes = [2.5, 2.0, 2.0]
    done = forward_and_back(
        latents, all_fed(layers), data.astype(dtype), np.ones((4, 2), dtype), sizes, STRAIGHT_THROUGH
    )
    weights = [sign(latent).sum(axis=0) // halves for latent in latents]
    assert all(np.array_equal(a, b) for a, b in zip(weights, done.weights, strict=True))
    assert (done.weights[0][0] == 1).all()
    for exact, seen, unit in zip(Network(tuple(weights)).pre_activations(data), done.sums, sizes, strict=True):
        assert np.array_equal(exact, np.rint(seen * unit))
        assert np.array_equal(sign(exact), sign(seen))


@pytest.mark.parametrize("high", [255, 2**26])
@pytest.mark.parametrize("ternary", [True, False])
def test_the_loss_is_that_of_the_network(ternary, high):
    """Sums of up to 10 * 2**26 are beyond single precision."""
    problem = random_problem(1, high=high)
    descent = descend(problem, ternary=ternary, seconds=None, steps=30)
    assert descent.loss == pytest.approx(loss_of(problem, descent.network), rel=1e-5)


def test_sums_beyond_single_precision_stay_exact():
    """Rows that differ by one in 2**25; rounded to single precision they would be the same.

    Weights (1, -1) have all rows right, (1, 1) all but one and the smaller loss, by the squares of 1 + sqrt(2) and 1.
    """
    data = np.array([[2**25, 2**25 + 1]] + [[2**25 + 1, 2**25]] * 10)
    problem = Problem(data, np.array([[-1]] + [[1]] * 10))

    def descent(seed, steps):
        return descend(problem, ternary=False, seconds=None, steps=steps, seed=seed)

    starts_right = [seed for seed in range(20) if descent(seed, 0).network.weights[0].ravel().tolist() == [1, -1]]
    assert starts_right
    for seed in starts_right:
        done = descent(seed, 300)
        assert rows_right(problem, done.network) == 11
        assert done.loss == pytest.approx(1, rel=1e-6)


def test_units_are_the_spread_of_sums_under_random_signs():
    problem = random_problem(0, rows=5, hidden=(9,))
    first, second = units(problem.data.astype(np.float32), problem.hidden_layers)
    signs = np.random.default_rng(0).choice([-1, 1], (problem.data.shape[1], 20_000))
    assert first == pytest.approx(np.sqrt(((problem.data @ signs) ** 2).mean()), rel=0.03)
    assert second == 3


def test_adam_moves_by_its_rate_where_the_gradient_is_constant():
    """Both of its averages, corrected for their start at zero, are then exact, whatever the gradient's size."""
    arrays = [np.array([0.5, 0.5, 0.0]), np.array([[-0.8]])]
    adam = Adam(arrays, learning_rate=0.1)
    for _ in range(4):
        adam.step([np.array([3.0, -200.0, 0.01]), np.array([[7.0]])])
    assert np.allclose(arrays[0], [0.1, 0.9, -0.4], atol=1e-5)
    assert arrays[1].item() == -1, "clipped"


def test_adam_forgets():
    """After gradients 1 and 0 the averages are 0.9 * 0.1 over 1 - 0.9**2 and 0.999 * 0.001 over 1 - 0.999**2."""
    arrays = [np.zeros(1)]
    adam = Adam(arrays, learning_rate=0.1)
    adam.step([np.ones(1)])
    after_one = arrays[0].item()
    adam.step([np.zeros(1)])
    expected = 0.1 * (0.09 / 0.19) / np.sqrt(0.000999 / 0.001999)
    assert after_one - arrays[0].item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("ternary", [True, False])
@pytest.mark.parametrize("hidden", [(), (5,), (5, 5)])
def test_separable_rows_are_learned(hidden, ternary):
    rng = np.random.default_rng(0)
    data = rng.integers(-100, 100, (30, 7))
    truth = rng.choice([-1, 1], (7, 2))
    sums = data @ truth
    # With a wide margin, which the hinge asks for.
    clear = (np.abs(sums) > 150).all(axis=1)
    assert clear.sum() >= 5
    problem = Problem(data[clear], np.sign(sums[clear]), hidden)
    descent = descend(problem, ternary=ternary, seconds=60, steps=5000)
    assert rows_right(problem, descent.network) == clear.sum()
    if not hidden:
        assert descent.loss == pytest.approx(loss_of(problem, descent.network), abs=1e-6)


def test_it_stops_at_zero_loss():
    problem = Problem(np.array([[3, 3], [-3, -3]]), np.array([[1], [-1]]))
    descent = descend(problem, ternary=True, seconds=None, steps=10_000)
    assert descent.finished
    assert descent.loss == 0
    assert descent.steps < 10_000
    assert descent.network == Network((np.array([[1], [1]]),))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), ternary=st.booleans(), biased=st.booleans())
def test_weights_and_constant_neurons(seed, ternary, biased):
    problem = replace(random_problem(seed), biased=biased)
    network = descend(problem, ternary=ternary, seconds=None, steps=25, seed=seed).network
    assert network.layers == problem.layers
    weights = [w.copy() for w in network.weights]
    assert (weights[0][3] == 0).all(), "input 3 is zero in every row"
    weights[0] = np.delete(weights[0], 3, axis=0)
    if biased:
        for w in weights[:-1]:
            assert (w[:, -1] == 0).all()
        assert all((sums[:, -1] == 0).all() for sums in network.pre_activations(problem.data)[:-1])
        weights = [w[:, :-1] for w in weights[:-1]] + weights[-1:]
    values = np.concatenate([w.ravel() for w in weights])
    assert set(values.tolist()) == ({-1, 0, 1} if ternary else {-1, 1})


def test_biases_are_learned():
    """Rows in opposite pairs that should all give -1, which neurons that tell the two apart cannot bring about."""
    problem = Problem(np.array([[5, 1], [1, 5], [-5, -1], [-1, -5]]), np.full((4, 1), -1), (4,), biased=True)
    descent = descend(problem, ternary=True, seconds=None, steps=3000)
    assert descent.finished
    assert descent.network.weights[1][-1].tolist() == [-1]


def test_the_best_network_is_kept():
    """More steps never make it worse, and a run is a prefix of a longer one."""
    problem = random_problem(5, hidden=(6,))
    runs = [descend(problem, ternary=True, seconds=None, steps=n, learning_rate=0.1) for n in range(60)]
    scores = [(rows_right(problem, d.network), -d.loss) for d in runs]
    assert scores == sorted(scores)
    assert len(set(scores)) > 3
    assert len({d.network for d in runs}) == len(set(scores)) < len(runs)
    assert [d.steps for d in runs] == list(range(60))
    assert not any(d.finished for d in runs)


def test_a_seed_settles_the_network():
    problem = random_problem(7)
    first, again, other = (descend(problem, ternary=True, seconds=None, steps=50, seed=seed) for seed in (3, 3, 4))
    assert first.network == again.network
    assert first.loss == again.loss
    assert first.network != other.network


def test_the_time_limit_is_kept(looks):
    problem = Problem(np.array([[1, 2], [1, 2]]), np.array([[1], [-1]]), (3,))
    descent = descend(problem, ternary=True, seconds=20.0)
    # The clock moves by a second at every look, at one before the first step and one after the last.
    assert (descent.steps, descent.seconds) == (19, 21)
    assert not descent.finished


def test_rows_of_zeros_are_no_trouble():
    problem = Problem(np.zeros((2, 3)), np.array([[1], [1]]))
    descent = descend(problem, ternary=True, seconds=None, steps=3)
    assert descent.network.links == 0
    assert descent.loss == 1


@pytest.mark.parametrize(
    ("problem", "limits", "words"),
    [
        (Problem(np.eye(2), np.array([[1], [-1]]), weight_bound=2), {"seconds": 1}, "weight_bound must be 1, got 2"),
        (Problem(np.zeros((0, 2)), np.zeros((0, 1))), {"seconds": 1}, "at least one training row"),
        (Problem(np.eye(2), np.array([[1], [-1]])), {"seconds": None}, "a limit of seconds or of steps"),
    ],
)
def test_what_cannot_be_trained_is_refused(problem, limits, words):
    with pytest.raises(ValueError, match=words):
        descend(problem, ternary=True, **limits)
