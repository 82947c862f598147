"""Counts of a signal in a page: the data for ``signal_counts.js``, and the fields of the form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bemi.inputs.export_hooks import PagePiece, file_of, number_field
from bemi.inputs.fixed_point_inputs import POWERS_OF_TEN

if TYPE_CHECKING:
    from bemi.inputs.signal.transform import SignalCounts


def page_piece(counts: SignalCounts) -> PagePiece:
    """The transform in a page."""
    layout, samples = counts.layout_, counts.samples_
    data = {
        "time": layout.time,
        "channels": layout.channels,
        "decimals": samples.decimals,
        "powers": POWERS_OF_TEN[np.abs(samples.decimals)].tolist(),
        "range": samples.reading_range,
        "offsets": samples.offsets,
        "shifts": samples.shifts,
        "limit": samples.limit,
        "differences": [[d.channel, d.order, d.distance] for d in layout.differences],
        "rocket": [[channel, dilation, *taps] for channel, dilation, taps in map(layout.kernel, range(layout.rocket))],
        "thresholds": counts.thresholds_.tolist(),
        "countShift": counts.count_shift,
        "means": counts.means_.tolist(),
        "doublings": counts.doublings_.tolist(),
        "constants": layout.constants,
        "names": layout.names(),
    }
    return PagePiece(file_of(__package__, "signal_counts.js"), data)


def page_fields(counts: SignalCounts, rows: Sequence[Sequence[Any]] | None) -> list[dict[str, Any]]:
    """A field per channel, with its range and its usual value in these rows, or else in training."""
    layout, samples = counts.layout_, counts.samples_
    seen = None
    if rows is not None and len(rows):
        seen = np.array(rows, dtype=np.float64).reshape(-1, layout.channels)
    fields = []
    for channel, decimals in enumerate(samples.decimals):
        middle, reach = samples.offsets[channel], samples.limit << samples.shifts[channel]
        known = np.array([middle - reach, middle, middle + reach]) * 10.0**-decimals
        ends = known if seen is None else seen[:, channel]
        usual = float(np.median(ends))
        fields.append(number_field(f"channel {channel}", float(ends.min()), usual, float(ends.max()), decimals))
    return fields
