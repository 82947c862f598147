"""Noise in images, checked pixel by pixel."""

import numpy as np
import pytest
from bemi_lab.experiments.noise import KINDS, LEVELS, noisy_rows

ROWS = np.random.default_rng(0).integers(0, 17, (200, 48))
SHAPE = (6, 8)


def noisy(kind, level, key=(0, 0)):
    return noisy_rows(ROWS, SHAPE, kind, level, maximum=16, key=key)


@pytest.mark.parametrize("kind", KINDS)
def test_images_stay_images_and_the_same_for_everyone(kind):
    level = 2 if kind == "shift" else 0.5
    found = noisy(kind, level)
    assert found.shape == ROWS.shape
    assert found.dtype == np.int64
    assert (found.min(), found.max()) >= (0, 0)
    assert found.max() <= 16
    assert (found != ROWS).any()
    assert np.array_equal(found, noisy(kind, level))
    assert np.array_equal(noisy(kind, 0), ROWS)
    assert kind == "dimming" or not np.array_equal(found, noisy(kind, level, key=(0, 1)))
    assert LEVELS[kind]


def test_dead_pixels_are_black_or_white():
    found = noisy("salt and pepper", 0.5)
    changed = found[found != ROWS]
    assert set(changed) == {0, 16}
    assert 0.4 < np.mean(found != ROWS) < 0.5
    assert np.mean(changed == 0) == pytest.approx(0.5, abs=0.05)


def test_errors_have_the_size_asked_for():
    middle = np.full((100, 48), 128)
    found = noisy_rows(middle, SHAPE, "gaussian", 0.1, maximum=255, key=(0, 0))
    assert np.std(found - middle) == pytest.approx(25.5, rel=0.05)


def test_dimming_is_in_proportion():
    assert np.array_equal(noisy("dimming", 0.5), np.rint(ROWS / 2))


def test_shifts_lose_one_side():
    found, images = noisy("shift", 2).reshape(-1, *SHAPE), ROWS.reshape(-1, *SHAPE)
    ways = 0
    for image, moved in zip(images, found, strict=True):
        down, right = np.zeros_like(image), np.zeros_like(image)
        down[2:], right[:, 2:] = image[:-2], image[:, :-2]
        up, left = np.zeros_like(image), np.zeros_like(image)
        up[:-2], left[:, :-2] = image[2:], image[:, 2:]
        ways += any(np.array_equal(moved, way) for way in (down, right, up, left))
    assert ways == len(images)
