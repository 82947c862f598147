"""Variants of rows: what they look like, and that nothing else comes out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bemi import ImageScenarios, NoiseScenarios
from bemi.augment import from_parameters, parameters

NOTHING = {"rotations": (), "shears": (), "scalings": (), "shifts": (), "noise": ()}


def variants(image, **kinds):
    """All variants of one image, each as an array of its shape."""
    image = np.asarray(image)
    made = ImageScenarios(**(NOTHING | kinds), shape=image.shape).variants(image.reshape(1, -1))
    return list(made[0].reshape(-1, *image.shape))


STROKE = np.array([[0, 0, 9, 0, 0], [0, 0, 9, 0, 0], [0, 0, 9, 0, 0], [0, 0, 9, 0, 0], [0, 5, 9, 0, 0]])


def test_a_quarter_turn_is_exact():
    (turned,) = variants(STROKE, rotations=(90,))
    assert np.array_equal(turned, np.rot90(STROKE))


def test_shifts_go_four_ways_and_bring_in_zeros():
    up, down, left, right = variants(STROKE, shifts=(1,))
    assert np.array_equal(up[:-1], STROKE[1:])
    assert not up[-1].any()
    assert np.array_equal(down[1:], STROKE[:-1])
    assert np.array_equal(left[:, :-1], STROKE[:, 1:])
    assert np.array_equal(right[:, 1:], STROKE[:, :-1])


def test_a_shift_by_half_a_pixel_is_a_mean():
    *_, right = variants([[0, 8, 2]], shifts=(0.5,))
    assert right.tolist() == [[0, 4, 5]]


def test_a_shear_moves_lines_by_their_distance_from_the_middle():
    (sheared,) = variants(STROKE, shears=(1,))
    assert sheared.argmax(axis=1).tolist() == [4, 3, 2, 1, 0]


def test_a_scaling_keeps_the_middle():
    smaller, larger = variants(np.pad([[7]], 4), scalings=(0.5, 2))
    assert smaller[4, 4] == larger[4, 4] == 7
    assert (larger > 0).sum() > (smaller > 0).sum()
    (half,) = variants(np.full((8, 8), 6), scalings=(0.5,))
    assert np.array_equal(np.flatnonzero(half.any(axis=0)), [2, 3, 4, 5])


def test_channels_stay_apart():
    image = np.zeros((4, 4, 2), dtype=int)
    image[1, 1, 0], image[2, 2, 1] = 5, 7
    (turned,) = variants(image, rotations=(90,))
    assert np.array_equal(turned[..., 0], np.rot90(image[..., 0]))
    assert np.array_equal(turned[..., 1], np.rot90(image[..., 1]))


KINDS = {
    "rotations": st.lists(st.floats(-180, 180), max_size=2),
    "shears": st.lists(st.floats(-1, 1), max_size=2),
    "scalings": st.lists(st.floats(0.3, 3), max_size=2),
    "shifts": st.lists(st.floats(-4, 4), max_size=1),
    "noise": st.lists(st.floats(0, 1), max_size=2),
}


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000), st.fixed_dictionaries(KINDS))
@settings(max_examples=60)
def test_variants_are_integers_within_the_range(height, width, seed, kinds):
    images = np.random.default_rng(seed).integers(0, 256, (3, height * width))
    made = ImageScenarios(**kinds, shape=(height, width)).variants(images)
    each = {name: len(values) for name, values in kinds.items()}
    assert made.shape == (3, sum(each.values()) + 3 * each["shifts"], height * width)
    assert made.dtype == np.int64
    assert made.min(initial=0) >= 0
    assert made.max(initial=0) <= images.max()
    again = ImageScenarios(**kinds, shape=(height, width)).variants(images)
    assert np.array_equal(made, again)


@given(st.integers(0, 1000), st.floats(0, 2), st.integers(1, 5))
@settings(max_examples=40)
def test_noise_keeps_every_feature_in_its_range(seed, scale, copies):
    X = np.random.default_rng(seed).integers(-50, 50, (6, 4))
    X[:, 0] = 7
    made = NoiseScenarios(scale=scale, copies=copies, random_state=seed).variants(X)
    assert made.shape == (6, copies, 4)
    assert (made >= X.min(axis=0)).all()
    assert (made <= X.max(axis=0)).all()
    assert (made[..., 0] == 7).all()


def test_noise_grows_with_its_scale_and_has_a_seed():
    X = np.random.default_rng(0).integers(-1000, 1000, (50, 3))
    moved = [np.abs(NoiseScenarios(scale=s, copies=3).variants(X) - X[:, None]).mean() for s in (0, 0.05, 0.2)]
    assert moved[0] == 0
    assert 0 < 2 * moved[1] < moved[2]
    other = NoiseScenarios(random_state=1).variants(X)
    assert not np.array_equal(NoiseScenarios(random_state=2).variants(X), other)


@pytest.mark.parametrize(
    ("scenarios", "words"),
    [
        (ImageScenarios(rotations=10), "rotations must be a tuple of numbers, got 10"),
        (ImageScenarios(scalings=(0, 1)), "scalings must be a tuple of numbers of at least 0.1, got (0, 1)"),
        (ImageScenarios(noise=(-0.1,)), "noise must be a tuple of numbers of at least 0"),
        (ImageScenarios(shears=("a",)), "shears must be a tuple of numbers"),
        (ImageScenarios(shifts=(np.nan,)), "shifts must be a tuple of numbers"),
        (ImageScenarios(shape=(3, 2)), "shape (3, 2) means 6 features, but X has 4"),
        (ImageScenarios(random_state=None), "random_state of scenarios must be an integer"),
        (NoiseScenarios(scale=-1), "scale must be a number of at least 0, got -1"),
        (NoiseScenarios(copies=0), "copies must be an integer of at least 1, got 0"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(scenarios, words):
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        scenarios.variants(np.ones((2, 4), dtype=int))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scenarios", [ImageScenarios(shears=(0.1,), shape=(4, 2)), NoiseScenarios(0.3, 2, 5)])
def test_a_model_file_can_name_them(scenarios):
    again = from_parameters(parameters(scenarios))
    assert type(again) is type(scenarios)
    assert again.get_params() == scenarios.get_params() == clone(scenarios).get_params()
    assert parameters(object()) is None
