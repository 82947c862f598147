"""Which windows train and which test: a draw is determined by its name, the set and a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi_lab.experiments.signal.sets import Windows

Indices = NDArray[np.intp]

MOST_TESTED = 200
"""Windows to test on, at most."""


@dataclass(frozen=True)
class Draw:
    """``per-class-5``: five windows of every class train, and others test.

    Where it is known whom windows come from, those of one half of the people train, and those of the others test.
    """

    name: str
    per_class: int

    @property
    def title(self) -> str:
        return f"{self.per_class} per class"

    def takes_part(self, windows: Windows) -> bool:
        """Whether every class has windows left to test."""
        return bool(np.unique(windows.y, return_counts=True)[1].min() > self.per_class)

    def of(self, windows: Windows, seed: int) -> tuple[Indices, Indices]:
        """Positions of the windows that train, and of those that test."""
        rng = np.random.default_rng(seed)
        pool = np.arange(len(windows.y))
        others: Indices | None = None
        if windows.groups is not None:
            people = rng.permutation(np.unique(windows.groups))
            first = np.isin(windows.groups, people[: len(people) // 2])
            pool, others = np.flatnonzero(first), np.flatnonzero(~first)
        labels = windows.y[pool]
        own = [rng.permutation(pool[labels == label])[: self.per_class] for label in np.unique(windows.y)]
        train = np.concatenate(own)
        rest = np.setdiff1d(pool, train) if others is None else others
        return train, rng.permutation(rest)[:MOST_TESTED]


def draw(name: str) -> Draw:
    """The draw of that name."""
    kind, _, count = name.rpartition("-")
    if kind != "per-class" or not count.isdigit() or not int(count):
        raise ValueError(f"unknown draw {name!r}; known: per-class-N")
    return Draw(name, int(count))
