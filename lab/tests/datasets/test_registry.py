"""Sets by name."""

from dataclasses import replace

import numpy as np
import pytest
from bemi_lab.datasets import DatasetError, available, fetch, is_here, load
from bemi_lab.datasets.registry import SETS

from . import tiny

FIRST = ["mnist", "fashion-mnist", "heart-disease", "digits", "breast-cancer", "wine", "iris"]


def test_load(folder):
    data = load("tiny")
    assert np.array_equal(data.train_X, tiny.IMAGES[: tiny.TRAIN].reshape(6, 6))
    assert data.class_names == ("a", "b", "c")


@pytest.mark.parametrize("function", [load, fetch])
def test_unknown_name(function):
    with pytest.raises(DatasetError) as caught:
        function("minst")
    assert str(caught.value).startswith(f"unknown dataset 'minst'; known: {', '.join(FIRST)}, ")


def test_fetch_returns_the_folders(folder, cache, home, monkeypatch):
    assert fetch("tiny") == (folder,)
    monkeypatch.setitem(SETS, "tiny", tiny.describe(home.mirror("good")))
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    assert fetch("tiny") == (folder, cache / "tiny")
    assert home.requests == {"good": 1}


def test_fetch_checks_the_files(folder):
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(DatasetError, match="damaged or the wrong file"):
        fetch("tiny")


def test_fetch_has_nothing_to_do_for_bundled_sets(cache):
    assert fetch("iris") == ()


def test_available_says_where_files_are(folder, cache):
    def listed():
        return {listing.name: listing for listing in available()}

    tiny_set = listed()["tiny"]
    assert (tiny_set.rows, tiny_set.test, tiny_set.features, tiny_set.classes) == (9, 3, 6, 3)
    assert (tiny_set.source, tiny_set.licence) == ("made up", "none")
    assert tiny_set.place == "BEMI_DATA folder"
    assert listed()["mnist"].place == "not here yet"
    assert listed()["wine"].place == "part of scikit-learn"
    name = "train-labels-idx1-ubyte.gz"
    (folder / name).unlink()
    assert listed()["tiny"].place == "not here yet"
    (cache / "tiny").mkdir(parents=True)
    (cache / "tiny" / name).write_bytes(tiny.FILES[name])
    assert listed()["tiny"].place == "BEMI_DATA folder and cache"
    for name in tiny.FILES:
        (cache / "tiny" / name).write_bytes(tiny.FILES[name])
        (folder / name).unlink(missing_ok=True)
    assert listed()["tiny"].place == "cache"


def test_all_sets_are_listed():
    listings = available()
    assert [listing.name for listing in listings][: len(FIRST)] == FIRST
    assert len(listings) == 7 + 12 + 12
    assert all(listing.source and listing.licence for listing in listings)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(SETS, "nowhere", replace(SETS["watch"], name="nowhere", package="no_such_package"))
    assert not is_here("nowhere")
    with pytest.raises(
        DatasetError, match=r'package no_such_package; install it with: pip install "bemi-lab\[signals\]"'
    ):
        load("nowhere")
