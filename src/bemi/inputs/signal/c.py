"""Counts of a signal in C: what ``signal_counts.c`` is compiled with, and what it takes on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bemi.inputs.c_types import read_macro
from bemi.inputs.export_hooks import CPiece, CTable, CWindow, file_of
from bemi.inputs.signal.responses import CENTRE, KERNELS, LARGEST, LARGEST_RESPONSE, THRESHOLDS, Layout

if TYPE_CHECKING:
    from bemi.inputs.signal.transform import SignalCounts

FRAMES = 60
"""Bytes of stack for calls and local variables, without the arrays."""

OFFSET = 0x2B00
"""What is added to differences of 12-bit samples so that they are not negative, :data:`LARGEST_RESPONSE` times the
largest sample or a little more: a number that a Cortex-M3 can add to both halves of a word in one instruction."""

LEVELS_BYTES, ROCKET_BYTES = 650, 650
"""Bytes of code, and of what kernels add."""

SAMPLE, DIFFERENCE, THRESHOLD, POSITION, SUM, THIRD, OUTPUT = 16, 5.4, 1.9, 6, 56, 14, 52
"""Instructions at a position: for a sample, for a difference and for comparing it with a threshold, for the response of
a kernel, for the sum of its taps from scratch, and for its third; and those for an output."""

PLAIN = """static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    bemi_window(x, 0, z);
}
"""


def c_piece(counts: SignalCounts) -> CPiece:
    """The transform in C, for readings in order."""
    window = c_window(counts, lots=False)
    shape = {"BEMI_TIME": window.time, "BEMI_CHANNELS": window.channels}
    return CPiece(
        source=f"{window.source}\n{PLAIN}",
        macros={**window.macros, **shape},
        tables=window.tables,
        code_bytes=window.code_bytes,
        stack_bytes=window.stack_bytes,
        instructions=window.instructions,
        about_inputs=window.about_inputs,
    )


def c_window(counts: SignalCounts, lots: bool) -> CWindow:
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
        "BEMI_LOTS": int(lots),
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
    return CWindow(
        source=file_of(__package__, "signal_counts.c"),
        macros=macros,
        tables=tuple(tables),
        code_bytes=LEVELS_BYTES + (ROCKET_BYTES if layout.rocket else 0),
        stack_bytes=2 * (2 * margin + layout.time + 1) + (4 if wide else 2) * (layout.time + 1) + FRAMES,
        instructions=round(steps),
        function="bemi_window",
        about_inputs=_about_inputs(counts),
        time=layout.time,
        channels=layout.channels,
        order=_order(layout) if lots else None,
        constant=LARGEST,
    )


def _order(layout: Layout) -> tuple[int, ...]:
    """Outputs in the order in which C finds them: those of a channel together, its kernels by dilation."""
    found: list[int] = []
    per_channel = layout.first_rocket // layout.channels
    for channel in range(layout.channels):
        found += range(channel * per_channel, (channel + 1) * per_channel)
        for way in range(channel, layout.ways, layout.channels):
            found += [layout.first_rocket + output for output in layout.rocket_of(way)]
    return tuple(found)


def _about_inputs(counts: SignalCounts) -> tuple[str, ...]:
    """How a window lies in the input, and in which units."""
    layout, samples = counts.layout_, counts.samples_
    place = f"x[{layout.channels} * t + c]" if layout.channels > 1 else "x[t]"
    lines = [f"Inputs are a window of {layout.time} samples, oldest first; {place} is channel c at time t."]
    if any(samples.decimals):
        lines.append("Values are multiplied, rounded to the nearest integer, halves to the even one, and saturate:")
        lines += [f"  channel {place} * 10^{decimals}" for place, decimals in enumerate(samples.decimals)]
    return tuple(lines)
