"""Frames of a camera are shrunk by means of boxes, in the model."""

import numpy as np
import pytest
from test_colours import discs

from bemi import FewBitClassifier, ImageDeformations, IntegerHog


def means(image, shape, box):
    """Of the definition, one box after the other."""
    height, width, channels = shape
    pixels = image.reshape(shape).tolist()
    return [
        (sum(pixels[r * box + i][c * box + j][k] for i in range(box) for j in range(box)) * 2 + box**2) // (2 * box**2)
        for r in range(height // box)
        for c in range(width // box)
        for k in range(channels)
    ]


@pytest.mark.parametrize(("shape", "box"), [((31, 40, 3), 3), ((32, 19, 1), 2), ((60, 64, 1), 4)])
def test_boxes_become_their_means(shape, box):
    X = np.random.default_rng(box).integers(0, 256, (5, np.prod(shape)))
    hog = IntegerHog(shape, 255, shrink=box).fit(X)
    small = np.array([means(image, shape, box) for image in X])
    assert np.array_equal(hog.shrunk(X), small)
    assert hog.shrunk_shape == (shape[0] // box, shape[1] // box, shape[2])
    assert np.array_equal(hog.transform(X), IntegerHog(hog.shrunk_shape, 255).fit(small).transform(small))
    assert np.array_equal(IntegerHog.from_parameters(hog.parameters()).transform(X), hog.transform(X))
    assert len(hog.get_feature_names_out()) == hog.n_outputs


def test_boxes_are_not_larger_than_the_image():
    for shrink in (0, 21, 2.5):
        with pytest.raises(ValueError, match="shrink must be"):
            IntegerHog((20, 30), shrink=shrink).fit(np.zeros((1, 600), dtype=int))


def test_large_images_are_shrunk_and_small_ones_are_not():
    X, red = discs(12, 68, 0)
    model = FewBitClassifier((68, 68, 3), copies=None, time_limit=0.1).fit(X, red)
    assert model.transform_.shrunk_shape == (34, 34, 3)
    assert model.transform_.image_shape == (68, 68, 3)
    X, red = discs(12, 32, 0)
    assert FewBitClassifier((32, 32, 3), copies=None, time_limit=0.1).fit(X, red).transform_.shrink == 1


def test_copies_are_made_of_shrunk_images():
    X, red = discs(10, 40, 0)
    copies = ImageDeformations(copies=2, shape=(20, 20, 3))
    hog = IntegerHog((40, 40, 3), straighten=False, colours=True, shrink=2)
    model = FewBitClassifier((40, 40, 3), inputs=hog, copies=copies, C=1.0, probabilities=False).fit(X, red)
    of_shrunk = model.transform_.of_shrunk
    small = FewBitClassifier((20, 20, 3), inputs=of_shrunk, copies=copies, C=1.0, probabilities=False)
    small.fit(hog.fit(X).shrunk(X), red)
    new, _ = discs(50, 40, 1)
    assert np.array_equal(model.predict(new), small.predict(hog.shrunk(new)))
