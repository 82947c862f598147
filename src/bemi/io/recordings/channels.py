"""Doubts about channels: constant ones, clipped ones, and columns that are no channels at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.io.cells import Tell

CLIPPED = 0.01
"""Share of samples at the largest or smallest value above which a channel may be clipped."""

MANY_VALUES = 32
"""A channel with fewer different values is a switch or a counter, whose extremes are frequent anyway."""

MANY_SAMPLES = 1000
"""With fewer samples a single one would be a large share."""


def check_no_column_of_another_kind(X: NDArray, names: Sequence[Any]) -> None:
    """Raise ValueError for channels that nobody named and that look like a recording's name or a clock."""
    if len(X) < 2:
        return
    for channel, name in enumerate(names):
        values = X[:, :, channel]
        if (values == values[:, :1]).all() and (values != values[0, 0]).any():
            raise ValueError(
                f"column {name!r} never changes within a window; name it as id if it tells recordings apart, otherwise "
                "name the channels"
            )
        if (np.diff(values, axis=1) > 0).all():
            raise ValueError(
                f"column {name!r} only grows; if it is a clock, name it as time, otherwise name the channels"
            )


def tell_doubts(X: NDArray, names: Sequence[Any], tell: Tell) -> None:
    """Tell which channels are constant or clipped, for windows of shape (windows, time, channels)."""
    constant = [name for channel, name in enumerate(names) if np.ptp(X[:, :, channel]) == 0]
    if constant:
        tell(f"{_listed(constant)} with one value in all windows, which tells nothing")
    for channel, name in enumerate(names):
        values, counts = np.unique(X[:, :, channel], return_counts=True)
        for end, word in ((-1, "largest"), (0, "smallest")):
            share = counts[end] / counts.sum()
            # Zero is where a signal rests, such as a current that is off.
            if (
                min(len(values) / MANY_VALUES, counts.sum() / MANY_SAMPLES) >= 1
                and share > CLIPPED
                and values[end] != 0
            ):
                tell(
                    f"channel {name!r} may be clipped: {100 * share:.1f} % of its samples have the {word} value "
                    f"{values[end]:g}"
                )


def _listed(names: Sequence[Any]) -> str:
    return f"channel{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
