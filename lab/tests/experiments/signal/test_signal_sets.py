"""Sets that come with packages."""

import numpy as np
import pytest
from bemi_lab.experiments.signal import sets
from bemi_lab.experiments.signal.sets import SETS, is_here, load_set, padded

KNOWN = {
    "ACSF1": (200, 1460, 1, 10),
    "ArrowHead": (211, 251, 1, 3),
    "BasicMotions": (80, 100, 6, 4),
    "Coffee": (56, 286, 1, 2),
    "GunPoint": (200, 150, 1, 2),
    "ItalyPowerDemand": (1096, 24, 1, 2),
    "JapaneseVowels": (640, 29, 12, 9),
    "OSULeaf": (442, 427, 1, 6),
    "PLAID": (1074, 1344, 1, 11),
    "PickupGestureWiimoteZ": (100, 361, 1, 10),
    "Trace": (200, 275, 1, 4),
    "watch": (1833, 128, 3, 7),
}


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_its_shape(name):
    if not is_here(name):
        pytest.skip(f"{SETS[name][0]} is not installed")
    found = load_set(name)
    assert (*found.X.shape, len(np.unique(found.y))) == KNOWN[name]
    assert np.isfinite(found.X).all()
    assert len(found.y) == len(found.X)
    if name == "watch":
        assert len(np.unique(found.groups)) == 10
        # Gravity: accelerations are in g.
        assert 0.9 < np.median(np.linalg.norm(found.X, axis=2)) < 1.1
    else:
        assert found.groups is None


def test_short_windows_stand_still_at_their_end():
    made = padded([np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([[7.0, 8]])])
    assert made.tolist() == [[[1, 2], [3, 4], [5, 6]], [[7, 8], [7, 8], [7, 8]]]


def test_lines_of_data():
    assert list(sets._data_lines(["#a", "@x", "", "@Data", "", "1,2:b", " 3:c "])) == ["1,2:b", "3:c"]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(SETS, "nowhere", ("no_such_package", None))
    assert not is_here("nowhere")
    with pytest.raises(ValueError, match=r'package no_such_package; install it with: pip install "bemi\[signals\]"'):
        load_set("nowhere")
