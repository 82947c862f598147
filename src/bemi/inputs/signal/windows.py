"""Windows as they are given: arrays of shape (windows, time, channels), or (windows, time x channels) row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.checks import check_finite

SHORTEST, LONGEST = 3, 2**15 - 1
"""Samples of a window: a curvature needs three, and counts have 16 bits."""


def as_windows(X: Any) -> NDArray:
    """Finite numbers in two or three dimensions."""
    rows = np.asarray(X)
    if rows.ndim not in (2, 3):
        raise ValueError(
            f"windows must have shape (windows, time, channels) or (windows, time x channels), got {rows.shape}; "
            "one window alone is X[None]"
        )
    if rows.dtype.kind not in "biuf":
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"windows must hold numbers: {error}") from None
    check_finite(as_rows(rows))
    return rows


def as_rows(windows: NDArray) -> NDArray:
    """Windows in two dimensions, sample by sample with the channels of a sample together."""
    # -1 would not do for no window at all.
    return windows.reshape(len(windows), math.prod(windows.shape[1:]))


def shaped(rows: NDArray, time: int, channels: int) -> NDArray:
    """Windows in three dimensions; ValueError unless each has this many samples and channels."""
    own = rows.shape[1:]
    if own == (time, channels):
        return rows
    if len(own) == 2:
        swapped = "; swap the axes, np.swapaxes(X, 1, 2)" if own == (channels, time) else ""
        wanted = f"{time} samples of {channels} channels"
        raise ValueError(f"windows must be {wanted}, these are {own[0]} of {own[1]}{swapped}")
    if own != (time * channels,):
        raise ValueError(
            f"windows must have {time * channels} features ({time} samples of {channels} channels), these have {own[0]}"
        )
    return rows.reshape(len(rows), time, channels)


def shape_of(rows: NDArray, channels: int | None) -> tuple[int, int]:
    """Samples and channels of training windows; ``channels`` is what the user says, None for nothing."""
    if rows.ndim == 3:
        time, own = rows.shape[1:]
        if channels not in (None, own):
            raise ValueError(f"channels is {channels}, but the windows have {own}; their shape is (time, channels)")
    else:
        own = channels or 1
        time, rest = divmod(rows.shape[1], own)
        if rest:
            raise ValueError(f"{rows.shape[1]} features are no whole number of samples of {own} channels")
    if not len(rows) or not own:
        raise ValueError(f"training needs at least one window of one channel, got an array of shape {rows.shape}")
    if not SHORTEST <= time <= LONGEST:
        raise ValueError(f"windows must have {SHORTEST} to {LONGEST} samples, these have {time}")
    return int(time), int(own)
