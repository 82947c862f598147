"""How much of an image has each colour, beside gradients."""

from collections import Counter
from math import isqrt

import numpy as np
import pytest

from bemi import FewBitClassifier, IntegerHog
from bemi.estimators.kinds import images


def discs(images, side, seed):
    """Red and grey discs anywhere on a greyish background, and which are red."""
    rng = np.random.default_rng(seed)
    red = np.arange(images) % 2 == 1
    down, across = np.mgrid[:side, :side]
    made = []
    for is_red in red:
        image = np.tile(rng.integers(90, 130, 3), (side, side, 1))
        radius = rng.integers(side // 8, side // 4)
        y, x = rng.integers(radius, side - radius, 2)
        bright = int(rng.integers(150, 220))
        inside = (down - y) ** 2 + (across - x) ** 2 < radius**2
        image[inside] = [bright, bright // 4, bright // 4] if is_red else [bright * 2 // 3] * 3
        made.append(np.clip(image + rng.normal(0, 8, image.shape), 0, 255).round())
    return np.array(made, dtype=int).reshape(images, -1), red


@pytest.mark.parametrize("maximum", [255, 200, 3])
def test_colours_are_counted(maximum):
    rng = np.random.default_rng(maximum)
    X = rng.integers(0, maximum + 1, (6, 19 * 22 * 3))
    X[1:, : 3 * 200] = X[1:, :3].repeat(200, axis=0).reshape(5, -1)  # large areas of one colour
    plain, coloured = (IntegerHog((19, 22, 3), maximum, colours=colours).fit(X) for colours in (False, True))
    found = coloured.transform(X)
    highest, most = coloured.constants.highest, 19 * 22 // 16
    for image, outputs in zip(X, found, strict=True):
        counts = Counter(tuple(4 * int(v) // (maximum + 1) for v in pixel) for pixel in image.reshape(-1, 3))
        wanted = [
            isqrt(min(counts[r, g, b], most) * highest**2 // most) for r in range(4) for g in range(4) for b in range(4)
        ]
        assert outputs[-64:].tolist() == wanted
    assert found.max() <= highest
    assert np.array_equal(found[:, :-64], plain.transform(X))
    assert len(coloured.get_feature_names_out()) == coloured.n_outputs == found.shape[1]


def test_files_keep_them():
    hog = IntegerHog((9, 8, 3), 255, colours=True).fit(np.zeros((1, 216), dtype=int))
    X = np.random.default_rng(0).integers(0, 256, (4, 216))
    assert np.array_equal(IntegerHog.from_parameters(hog.parameters()).transform(X), hog.transform(X))
    assert "colours" not in IntegerHog((9, 8, 3), 255).fit(X).parameters()


def test_only_three_channels_have_colours():
    with pytest.raises(ValueError, match="images of 3 channels, these have 1"):
        IntegerHog((8, 8), colours=True).fit(np.zeros((1, 64), dtype=int))


def test_a_red_disc_is_not_a_grey_one():
    X, red = discs(30, 32, 0)
    new, truth = discs(200, 32, 1)
    right = {}
    for colours in (False, True):
        hog = IntegerHog((32, 32, 3), straighten=False, colours=colours)
        classifier = FewBitClassifier((32, 32, 3), inputs=hog, copies=None, C=10.0, probabilities=False)
        right[colours] = (classifier.fit(X, red).predict(new) == truth).mean()
    # Edges tell little: grey discs are less bright.
    assert right[True] > max(0.95, right[False] + 0.15)


@pytest.mark.parametrize(("shape", "offered"), [((32, 32, 3), True), ((32, 32), False), ((32, 32, 4), False)])
def test_cross_validation_may_choose_them(shape, offered):
    kind = images(np.zeros((1, np.prod(shape)), dtype=int), shape)
    assert any(candidate.settings["inputs"].colours for candidate in kind.candidates) == offered
    assert not kind.candidates[0].settings["inputs"].colours
