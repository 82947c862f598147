"""Windows that come with packages."""

import numpy as np
import pytest
from bemi_lab.datasets import load, signals
from bemi_lab.datasets.registry import SETS
from bemi_lab.datasets.signals import padded

WINDOWS = {name: known for name, known in SETS.items() if known.reader.startswith("signals.")}


@pytest.mark.parametrize("name", WINDOWS)
def test_every_set_has_its_shape(name):
    known = WINDOWS[name]
    if not known.here:
        pytest.skip(f"{known.package} is not installed")
    found = load(name)
    assert found.train_X.shape == (known.train, *known.shape)
    assert len(np.unique(found.train_y)) == known.classes
    assert np.isfinite(found.train_X).all()
    assert len(found.train_y) == len(found.train_X)
    if name == "watch":
        assert len(np.unique(found.groups)) == 10
        # Gravity: accelerations are in g.
        assert 0.9 < np.median(np.linalg.norm(found.train_X, axis=2)) < 1.1
    else:
        assert found.groups is None


def test_every_package_has_a_reader():
    for known in WINDOWS.values():
        assert callable(getattr(signals, known.reader.removeprefix("signals.")))


def test_short_windows_stand_still_at_their_end():
    made = padded([np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([[7.0, 8]])])
    assert made.tolist() == [[[1, 2], [3, 4], [5, 6]], [[7, 8], [7, 8], [7, 8]]]


def test_lines_of_data():
    assert list(signals._data_lines(["#a", "@x", "", "@Data", "", "1,2:b", " 3:c "])) == ["1,2:b", "3:c"]
