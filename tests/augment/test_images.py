"""Variants of images: resampling, and random deformations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.ndimage import map_coordinates
from sklearn.base import clone

from bemi import ImageDeformations
from bemi.augment.images import STEPS, moved, resampled


@given(
    arrays.arrays(np.int64, (2, 6 * 7), elements=st.integers(0, 1000)),
    arrays.arrays(np.float64, (2, 2, 6, 7), elements=st.floats(-50, 50)),
)
def test_interpolation_is_that_of_scipy(X, sources):
    fine = np.rint(sources * STEPS) / STEPS
    found = resampled(X, (6, 7, 1), sources)
    for image, where, made in zip(X.reshape(2, 6, 7), fine, found, strict=True):
        # Pixels outside the image are 0, also half a pixel outside.
        framed = np.pad(image.astype(float), 60)
        expected = map_coordinates(framed, where + 60, order=1)
        assert np.abs(made - expected.ravel()).max() <= 0.5 + 1e-6


@given(st.integers(1, 7), st.integers(1, 7), st.floats(-180, 180), st.floats(-3, 3))
def test_a_pixel_mixes_at_most_one_whole_pixel(height, width, angle, shift):
    turn = np.radians(angle)
    matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    sources = moved(height, width, matrix[None]) - shift
    bright = np.full((1, height * width), STEPS**2)
    made = resampled(bright, (height, width, 1), sources)
    assert made.min() >= 0
    assert made.max() <= STEPS**2


@given(arrays.arrays(np.int64, (2, 5 * 4 * 3), elements=st.integers(0, 1000)))
def test_pixels_that_stay_are_the_image(X):
    still = np.repeat(moved(5, 4, np.eye(2)[None]), 2, axis=0)
    assert np.array_equal(resampled(X, (5, 4, 3), still), X)


STILL = {"rotation": 0, "scaling": 0, "shear": 0, "shift": 0, "bending": 0}


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, (5, 9 * 12 * 2))


def deformations(**changed):
    return ImageDeformations(**{"copies": 3, "shape": (9, 12, 2), **changed})


def test_without_changes_copies_are_the_images(images):
    made = deformations(**STILL).variants(images)
    assert made.shape == (5, 3, 216)
    assert (made == images[:, None]).all()


@pytest.mark.parametrize("name", STILL)
def test_every_amount_changes_images(images, name):
    made = deformations(**STILL | {name: 0.9}).variants(images)
    assert (made != images[:, None]).any(axis=(1, 2)).all()


def test_copies_of_an_image_differ_and_are_reproducible(images):
    made = deformations().variants(images)
    assert len(np.unique(made.reshape(-1, 216), axis=0)) == 15
    assert np.array_equal(made, clone(deformations()).variants(images))
    assert not np.array_equal(made, deformations(random_state=1).variants(images))


def test_pieces_are_the_copies_of_all_images(monkeypatch, images):
    whole = deformations().variants(images)
    monkeypatch.setattr("bemi.augment.images._AT_A_TIME", 2)
    pieces = list(deformations().pieces(images))
    assert list(map(len, pieces)) == [2, 2, 1]
    assert np.array_equal(np.concatenate(pieces), whole)


def test_values_stay_within_the_range(images):
    made = deformations(copies=20).variants(images + 50)
    assert made.min() == 0  # from outside the image
    assert made.max() <= images.max() + 50


def test_channels_move_together(images):
    one = images.reshape(5, 9, 12, 2)[..., 0]
    twice = np.repeat(one[..., None], 2, axis=3).reshape(5, -1)
    made = deformations().variants(twice).reshape(5, 3, 9, 12, 2)
    assert np.array_equal(made[..., 0], made[..., 1])


def test_turns_a_bar_by_its_angle():
    """A horizontal bar, turned by at most 45 degrees: its main axis turns by as much, and evenly to both sides."""
    bar = np.zeros((1, 41, 41), dtype=np.int64)
    bar[0, 19:22, 6:35] = 200
    made = ImageDeformations(**STILL | {"rotation": 45}, copies=200).variants(bar.reshape(1, -1))
    places = np.indices((41, 41)).reshape(2, -1) - 20
    angles = []
    for image in made[0]:
        (yy, xy), (_, xx) = (image * places) @ places.T
        angles.append(np.degrees(0.5 * np.arctan2(2 * xy, xx - yy)))
    assert 40 < max(angles) < 46
    assert -46 < min(angles) < -40
    assert abs(np.mean(angles)) < 6


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("copies", 0), ("rotation", -1), ("scaling", 1), ("shear", np.nan), ("shift", "1"), ("random_state", -1)],
)
def test_invalid_parameters(images, name, wrong):
    with pytest.raises(ValueError, match=name):
        deformations(**{name: wrong}).variants(images)
