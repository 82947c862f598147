"""Test images as a worse camera would take them.

Every kind of noise maps images of integers in 0..``maximum`` to such images, given a level and a random generator.  The
same sample, kind and level always give the same images, so all systems are tested on the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.int64]
"""Shape (images, height, width)."""


def gaussian(images: Images, level: float, maximum: int, rng: np.random.Generator) -> Images:
    """Normal noise on every pixel, with a standard deviation of ``level`` times the maximum."""
    noisy = images + rng.normal(0.0, level * maximum, images.shape)
    return np.clip(np.rint(noisy), 0, maximum).astype(np.int64)


def salt_and_pepper(images: Images, level: float, maximum: int, rng: np.random.Generator) -> Images:
    """A fraction ``level`` of all pixels is dead: half of them black, half of them white."""
    chance = rng.random(images.shape)
    return np.where(chance < level / 2, 0, np.where(chance < level, maximum, images))


def dimming(images: Images, level: float, maximum: int, rng: np.random.Generator) -> Images:
    """Every pixel is darker by a fraction ``level``; not random."""
    return np.rint(images * (1 - level)).astype(np.int64)


def shift(images: Images, level: float, maximum: int, rng: np.random.Generator) -> Images:
    """Every image is shifted by ``level`` pixels up, down, left or right; the gap is filled with black."""
    step = int(level)
    moved = np.zeros_like(images)
    height, width = images.shape[1:]
    direction = rng.integers(4, size=len(images))
    for number, (down, right) in enumerate(((step, 0), (-step, 0), (0, step), (0, -step))):
        chosen = direction == number
        target = moved[:, max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)]
        source = images[:, max(0, -down) : height + min(0, -down), max(0, -right) : width + min(0, -right)]
        target[chosen] = source[chosen]
    return moved


KINDS: Mapping[str, Callable[[Images, float, int, np.random.Generator], Images]] = {
    "gaussian": gaussian,
    "salt and pepper": salt_and_pepper,
    "dimming": dimming,
    "shift": shift,
}

LEVELS = {
    "gaussian": "standard deviation, share of maximum",
    "salt and pepper": "share of dead pixels",
    "dimming": "share of brightness lost",
    "shift": "pixels",
}
"""What the level of each kind measures."""


def noisy_rows(
    rows: NDArray, shape: tuple[int, int], kind: str, level: float, *, maximum: int, key: tuple[int, ...]
) -> NDArray[np.int64]:
    """Test rows under noise; ``key`` identifies the sample they belong to."""
    seeds = np.random.SeedSequence([*key, list(KINDS).index(kind), round(1000 * level)])
    images = rows.reshape(len(rows), *shape).astype(np.int64)
    return KINDS[kind](images, level, maximum, np.random.default_rng(seeds)).reshape(len(rows), -1)
