"""Counts of a signal as part of an ONNX graph, one group of nodes per difference and per dilation of the kernels.

A graph has a node per operation, so operations on all channels at once keep it small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bemi.inputs.signal.responses import CENTRE, LARGEST, TAPS, THRESHOLDS, Layout

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor
    from bemi.inputs.signal.transform import SignalCounts


def outputs(x: Tensor, counts: SignalCounts) -> Tensor:
    """All outputs from readings."""
    layout = counts.layout_
    samples = _samples(x, counts)
    found: list[tuple[Sequence[int], Tensor]] = []
    own = len(layout.differences) // layout.channels
    for place in range(own):
        found.append(_levels(samples, counts, range(place, len(layout.differences), own)))
    for dilation in range(len(layout.kernel_dilations)):
        positions = _rocket_of(layout, dilation)
        if positions:
            found.append((positions, _kernels(samples, counts, dilation, positions)))
    places = np.concatenate([np.array(positions) for positions, _ in found])
    first, *others = [tensor for _, tensor in found]
    counted = first.concatenated(*others, axis=1) if others else first
    counted = counted.gather(np.argsort(places), axis=1) // (1 << counts.count_shift)
    scaled = ((counted - counts.means_) * (1 << counts.doublings_)).at_least(-LARGEST).at_most(LARGEST)
    # As many columns as there are constants, for any number of windows.
    constant = (scaled.slice(0, 1, axis=1) * 0 + LARGEST).gather(np.zeros(layout.constants, dtype=np.int64), axis=1)
    return scaled.concatenated(constant, axis=1)


def _samples(x: Tensor, counts: SignalCounts) -> Tensor:
    """Samples of shape (windows, channels, time)."""
    layout, samples = counts.layout_, counts.samples_
    low, high = samples.reading_range
    offsets, shifts = np.array(samples.offsets), np.array(samples.shifts)
    within = x.at_least(low).at_most(high).reshape(-1, layout.time, layout.channels)
    # Clipped before it is divided, since a division truncates: so it is never negative.
    above = (within - (offsets - (samples.limit << shifts))).at_least(0) // (1 << shifts)
    return (above.at_most(2 * samples.limit) - samples.limit).transpose(0, 2, 1)


def _levels(samples: Tensor, counts: SignalCounts, places: range) -> tuple[Sequence[int], Tensor]:
    """Counts of one difference in all channels, and their positions."""
    layout = counts.layout_
    difference = layout.differences[places[0]]
    end, d = difference.positions(layout.time), difference.distance
    response = samples
    if difference.order == 1:
        response = samples.slice(d, layout.time, 2) - samples.slice(0, end, 2)
    elif difference.order == 2:
        response = samples.slice(0, end, 2) - samples.slice(d, d + end, 2) * 2 + samples.slice(2 * d, layout.time, 2)
    positions = [THRESHOLDS * place + q for place in places for q in range(THRESHOLDS)]
    thresholds = counts.thresholds_[positions].reshape(layout.channels, THRESHOLDS, 1)
    counted = _counted(response.unsqueeze(2), thresholds, 3)
    return positions, counted.reshape(0, len(positions))


def _rocket_of(layout: Layout, dilation: int) -> list[int]:
    """Outputs of the kernels that have a dilation, counted from the first kernel's."""
    ways = range(dilation * layout.channels, (dilation + 1) * layout.channels)
    return sorted(layout.first_rocket + output for way in ways for output in layout.rocket_of(way))


def _kernels(samples: Tensor, counts: SignalCounts, dilation: int, positions: Sequence[int]) -> Tensor:
    """Counts of the kernels of one dilation."""
    layout = counts.layout_
    d = layout.kernel_dilations[dilation]
    padded = samples.pad((0, 0, CENTRE * d), (0, 0, CENTRE * d))
    taps = [padded.slice(tap * d, tap * d + layout.time, 2) for tap in range(TAPS)]
    total = taps[0]
    for tap in taps[1:]:
        total = total + tap
    # Not negative, so that the division rounds down.
    largest = TAPS * counts.samples_.limit
    thirds = (total + largest) // 3 - largest // 3
    own = [layout.kernel(position - layout.first_rocket) for position in positions]
    channels, chosen = np.array([channel for channel, _, _ in own]), np.array([taps for _, _, taps in own])
    every = taps[0].concatenated(*taps[1:], axis=1)
    response = every.gather(chosen[:, 0] * layout.channels + channels, axis=1)
    for place in (1, 2):
        response = response + every.gather(chosen[:, place] * layout.channels + channels, axis=1)
    response = response - thirds.gather(channels, axis=1)
    return _counted(response, counts.thresholds_[list(positions)].reshape(-1, 1), 2)


def _counted(response: Tensor, thresholds: np.ndarray, axis: int) -> Tensor:
    """How often responses exceed thresholds along an axis."""
    return (response >= thresholds + 1).cast(np.int32).sum(axis)
