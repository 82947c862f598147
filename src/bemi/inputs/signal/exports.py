"""Counts of a signal in C, in an ONNX graph and in a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bemi.inputs.export_hooks import CTable, CTransform, CWindow, PageScript, file_of, number_field, read_macro
from bemi.inputs.fixed_point import POWERS_OF_TEN
from bemi.inputs.signal.responses import CENTRE, KERNELS, LARGEST, LARGEST_RESPONSE, TAPS, THRESHOLDS, Layout

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor
    from bemi.inputs.signal import SignalCounts

FRAMES = 60
"""Bytes of stack for calls and local variables, without the arrays."""

OFFSET = 0x2B00
"""What is added to differences of 12-bit samples so that they are not negative, :data:`LARGEST_RESPONSE` times the
largest sample or a little more: a number that a Cortex-M3 can add to both halves of a word in one instruction."""

LEVELS_BYTES, ROCKET_BYTES, SUMMARY_BYTES = 650, 650, 130
"""Bytes of code, and of what kernels and summaries add."""

SAMPLE, DIFFERENCE, THRESHOLD, POSITION, SUM, THIRD, OUTPUT, SUMMARY = 16, 5.4, 1.9, 6, 56, 14, 52, 140
"""Instructions at a position: for a sample, for a difference and for comparing it with a threshold, for the response of
a kernel, for the sum of its taps from scratch, and for its third; those for an output, and for summaries."""

PLAIN = """static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    bemi_window(x, 0, z);
}
"""


def c_code(counts: SignalCounts) -> CTransform:
    """The transform in C, for readings in order."""
    window = c_window(counts, in_batches=False, summed=False)
    shape = {"BEMI_TIME": window.time, "BEMI_CHANNELS": window.channels}
    return CTransform(
        source=f"{window.source}\n{PLAIN}",
        macros={**window.macros, **shape},
        tables=window.tables,
        code_bytes=window.code_bytes,
        stack_bytes=window.stack_bytes,
        instructions=window.instructions,
        about_inputs=window.about_inputs,
        header=window.header,
    )


def c_window(counts: SignalCounts, in_batches: bool, summed: bool) -> CWindow:
    """The transform in C, for readings in a ring buffer."""
    layout, samples = counts.layout_, counts.samples_
    wide = samples.bits > 12
    limit_kind, top = ("uint32_t", 2**31) if wide else ("uint16_t", 2**15)
    margin = CENTRE * max(layout.kernel_dilations, default=0)
    own = layout.differences[: len(layout.differences) // layout.channels]
    lowest = [offset - (samples.limit << shift) for offset, shift in zip(samples.offsets, samples.shifts, strict=True)]
    # A sum of these and a response has its top bit if the response exceeds the threshold.
    limits = top - 1 - counts.thresholds_
    offset = LARGEST_RESPONSE * samples.limit if wide else OFFSET
    limits[: layout.first_rocket] -= offset
    macros: dict[str, object] = {
        "BEMI_TIME": "BEMI_WINDOW",
        "BEMI_LOTS": int(in_batches),
        "BEMI_SUMMED": int(summed),
        # Four times a wide sample needs more than the 16 bits of an int on small devices.
        "BEMI_LIMIT": f"{samples.limit}{'UL' if wide else 'U'}",
        "BEMI_OFFSET": f"{offset}{'UL' if wide else 'U'}",
        "BEMI_WIDE": int(wide),
        "BEMI_COUNT_SHIFT": counts.count_shift,
        "BEMI_MARGIN": margin,
        "BEMI_DIFFERENCES": len(own),
        "BEMI_ROCKET": layout.rocket,
        "BEMI_COUNTS": layout.counts,
        "BEMI_CONSTANTS": layout.constants,
        **read_macro("LIMIT", limit_kind),
    }
    tables = [
        CTable("bemi_lowest", "int32_t", lowest),
        CTable("bemi_shifts", "uint8_t", samples.shifts),
        CTable("bemi_orders", "uint8_t", [difference.order for difference in own]),
        CTable("bemi_distances", "uint16_t", [difference.distance for difference in own]),
        CTable("bemi_limits", limit_kind, limits.tolist()),
        CTable("bemi_means", "uint8_t", counts.means_.tolist()),
        CTable("bemi_factors", "uint8_t", (1 << counts.doublings_).tolist()),
    ]
    if summed:
        tables.append(CTable("bemi_higher", "uint8_t", (counts.higher @ (1 << np.arange(THRESHOLDS))).tolist()))
    if layout.rocket:
        macros |= {
            "BEMI_FIRST": layout.first_rocket,
            "BEMI_PER_KERNEL": layout.per_kernel,
            "BEMI_DILATIONS": len(layout.kernel_dilations),
            "BEMI_WAYS": layout.ways,
            "BEMI_INVERSE": f"{layout.inverse}UL",
        }
        tables += [
            CTable("bemi_dilations", "uint16_t", layout.kernel_dilations),
            CTable("bemi_kernels", "uint16_t", [a | b << 4 | c << 8 for a, b, c in KERNELS]),
        ]
    positions = sum(difference.positions(layout.time) for difference in layout.differences)
    # Sums are made from scratch up to the first dilation.
    thirds = layout.channels * sum(SUM * dilation + THIRD * layout.time for dilation in layout.kernel_dilations)
    per_position = (DIFFERENCE + THRESHOLD * THRESHOLDS) * positions + POSITION * layout.time * layout.rocket + thirds
    # Wide words hold one position instead of two.
    steps = (2 if wide else 1) * per_position + SAMPLE * layout.time * layout.channels + OUTPUT * layout.counts
    steps += SUMMARY * len(layout.differences) * summed
    return CWindow(
        source=file_of(__package__, "signal_counts.c"),
        macros=macros,
        tables=tuple(tables),
        code_bytes=LEVELS_BYTES + (ROCKET_BYTES if layout.rocket else 0) + (SUMMARY_BYTES if summed else 0),
        stack_bytes=2 * (2 * margin + layout.time + 1) + (4 if wide else 2) * (layout.time + 1) + FRAMES,
        instructions=round(steps),
        function="bemi_window",
        about_inputs=_about_inputs(counts),
        header=_header(counts),
        time=layout.time,
        channels=layout.channels,
        order=_order(layout) if in_batches else None,
        constant=LARGEST,
        decimals=samples.decimals,
    )


def _order(layout: Layout) -> tuple[int, ...]:
    """Outputs in the order in which C finds them: those of a channel together, its kernels by dilation."""
    order: list[int] = []
    per_channel = layout.first_rocket // layout.channels
    for channel in range(layout.channels):
        order += range(channel * per_channel, (channel + 1) * per_channel)
        for way in range(channel, layout.ways, layout.channels):
            order += [layout.first_rocket + output for output in layout.rocket_of(way)]
    return tuple(order)


def _about_inputs(counts: SignalCounts) -> tuple[str, ...]:
    """How a window lies in the input, and in which units."""
    layout, samples = counts.layout_, counts.samples_
    place = f"x[{layout.channels} * t + c] is channel c" if layout.channels > 1 else "x[t] is the value"
    lines = [f"Inputs are a window of {layout.time} samples, oldest first; {place} at time t."]
    if any(samples.decimals):
        units, *others = set(samples.decimals)
        by = "" if others else f" by 10^{units}"
        lines.append(
            f"Values are multiplied{by}, rounded to the nearest integer, halves to the even one; they saturate."
        )
        if others:
            lines += [f"  channel {place} * 10^{decimals}" for place, decimals in enumerate(samples.decimals)]
    return tuple(lines)


def _header(counts: SignalCounts) -> str:
    """Shape of a window, and what values are multiplied by: one number if it is the same in all channels."""
    factors = [f"{10**d}{'L' * (d > 4)}" if 0 <= d <= 9 else f"1e{d}" for d in counts.samples_.decimals]
    one = len(set(factors)) == 1
    factor = f"BEMI_FACTOR {factors[0]}" if one else f"BEMI_FACTORS {{{', '.join(factors)}}}"
    return f"""/* Samples of a window, values of a sample, and what values are multiplied by before they are rounded. */
#define BEMI_WINDOW {counts.layout_.time}
#define BEMI_CHANNELS {counts.layout_.channels}
#define {factor}
"""


def onnx(counts: SignalCounts, x: Tensor) -> Tensor:
    """All outputs from readings.

    A graph has a node per operation, so operations on all channels at once keep it small.
    """
    layout = counts.layout_
    samples = _samples(x, counts)
    parts: list[tuple[Sequence[int], Tensor]] = []
    own = len(layout.differences) // layout.channels
    for place in range(own):
        parts.append(_levels(samples, counts, range(place, len(layout.differences), own)))
    for dilation in range(len(layout.kernel_dilations)):
        positions = _rocket_of(layout, dilation)
        if positions:
            parts.append((positions, _kernels(samples, counts, dilation, positions)))
    places = np.concatenate([np.array(positions) for positions, _ in parts])
    first, *others = [tensor for _, tensor in parts]
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


def page_script(counts: SignalCounts) -> PageScript:
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
    return PageScript(file_of(__package__, "signal_counts.js"), data)


def page_fields(counts: SignalCounts, rows: Sequence[Sequence[Any]] | None) -> list[dict[str, Any]]:
    """A field per channel, with its range and its usual value in these rows, or else in training."""
    layout, samples = counts.layout_, counts.samples_
    seen = None
    if rows is not None and len(rows):
        seen = np.array(rows, dtype=np.float64).reshape(-1, layout.channels)
    fields = []
    for channel, decimals in enumerate(samples.decimals):
        middle, reach = samples.offsets[channel], samples.limit << samples.shifts[channel]
        in_training = np.array([middle - reach, middle, middle + reach]) * 10.0**-decimals
        ends = in_training if seen is None else seen[:, channel]
        usual = float(np.median(ends))
        fields.append(number_field(f"channel {channel}", float(ends.min()), usual, float(ends.max()), decimals))
    return fields
