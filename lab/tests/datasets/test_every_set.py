"""The real sets: each loaded once, all that is tested on it, then let go, as some take half a gigabyte."""

import numpy as np
import pytest
from bemi_lab.datasets import sample
from bemi_lab.datasets.registry import SETS

FIRST_LABELS = {"mnist": [5, 0, 4, 1, 9], "fashion-mnist": [9, 0, 0, 3, 0], "digits": [0, 1, 2, 3, 4]}
BRIGHTEST = {"mnist": 255, "fashion-mnist": 255, "digits": 16}
CLASS_NAMES = {
    "fashion-mnist": "T-shirt/top, Trouser, Pullover, Dress, Coat, Sandal, Shirt, Sneaker, Bag, Ankle boot",
    "heart-disease": "absence, presence",
    "breast-cancer": "malignant, benign",
    "wine": "class_0, class_1, class_2",
    "iris": "setosa, versicolor, virginica",
}


@pytest.fixture(
    scope="module",
    params=[
        name for name, known in SETS.items() if known.reader != "readers.csv" and known.package in (None, "sklearn")
    ],
)
def data(request, real_set):
    return real_set(request.param)


def test_sets_are_as_described(data):
    known = SETS[data.name]
    assert data.train_X.shape == (known.train, known.features)
    assert data.test_X.shape == (known.test, known.features)
    assert data.train_y.shape == (known.train,)
    assert data.test_y.shape == (known.test,)
    assert data.has_test == (known.test > 0)
    assert np.unique(data.train_y).tolist() == list(range(known.classes))
    assert {data.train_y.dtype, data.test_y.dtype} == {np.dtype(np.int64)}


def test_images_are_integers_and_other_rows_are_named_floats(data):
    features = data.train_X.shape[1]
    if data.name in BRIGHTEST:
        assert {data.train_X.dtype, data.test_X.dtype} == {np.dtype(np.int64)}
        assert (data.train_X.min(), data.train_X.max()) == (0, BRIGHTEST[data.name])
        assert np.prod(data.shape) == features
        assert data.train_y[:5].tolist() == FIRST_LABELS[data.name]
        assert data.feature_names is None
    else:
        assert {data.train_X.dtype, data.test_X.dtype} == {np.dtype(np.float64)}
        assert data.shape is None
        assert len(set(data.feature_names)) == features


def test_class_names(data):
    assert ", ".join(data.class_names or ()) == CLASS_NAMES.get(data.name, "")


def test_samples(data):
    classes = (0, 1)
    first, second = (sample(data, 20, index, classes=classes) for index in (0, 1))
    for given in (first, second):
        assert np.bincount(given.train_y).tolist() == [20, 20]
    assert not np.array_equal(first.train_X, second.train_X, equal_nan=True)
    if data.has_test:
        # The paper tests on 800 images of each class; every class has as many.
        assert np.bincount(data.test_y).min() >= 800
        assert np.bincount(first.test_y).tolist() == [800, 800]
        assert np.array_equal(first.test_X, second.test_X)
        assert not {row.tobytes() for row in first.train_X} & {row.tobytes() for row in second.train_X}
    else:
        assert len(first.test_y) == np.count_nonzero(np.isin(data.train_y, classes)) - 40
