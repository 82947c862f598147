"""Which images the paper trains on: consecutive ones of each class, in the order of the data files.

The command line reads this module for its help, so it imports nothing slow.
"""

from __future__ import annotations

from collections.abc import Sequence

SAMPLES = 5
"""Samples of each size in the paper."""


def positions(per_class: int, index: int, sizes: Sequence[int] | None) -> range:
    """Positions of a sample among the training images of each class.

    With sizes S, sample z of size S[i] starts at position ``5 (S[0] + ... + S[i-1]) + S[i] z``, where the five samples
    of the smaller sizes and the earlier samples of this size end.  So the images of a sample depend on all sizes that
    an experiment has, and no two samples share an image.

    Parameters
    ----------
    per_class
        Images of each class; one of the sizes.
    index
        Number of the sample, 0 to 4.
    sizes
        All sizes of the experiment, in its order.
    """
    if not sizes:
        raise ValueError("the paper's images depend on all sizes of an experiment; give them, such as (10, 20, 30, 40)")
    if min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise ValueError(f"sizes must be positive and different, got {_listed(sizes)}")
    if per_class not in sizes:
        raise ValueError(f"the paper's images come in samples of {_listed(sizes)} per class, got {per_class}")
    if index not in range(SAMPLES):
        raise ValueError(f"the paper has {SAMPLES} samples of each size, numbered 0 to {SAMPLES - 1}, got {index}")
    start = SAMPLES * sum(sizes[: list(sizes).index(per_class)]) + per_class * index
    return range(start, start + per_class)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
