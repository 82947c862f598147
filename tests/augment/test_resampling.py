"""Pixels from other places of an image, compared with SciPy's interpolation."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.ndimage import map_coordinates

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
