"""Windows in C: samples are pushed one by one, and the last ones are a window."""

from __future__ import annotations

from bemi.export.c.text import BYTES, runtime
from bemi.inputs.export_hooks import CWindow

HEAD = "static int bemi_decide(const bemi_input_t *x, uint_fast16_t oldest)"
HEAD_OF_CHANCES = "static int bemi_decide_proba(const bemi_input_t *x, uint_fast16_t oldest, uint16_t *p)"
"""Functions that the public ones call with a window, or with the ring buffer."""

PLACE = 4
"""Bytes beside the samples: where the oldest is, and whether there are enough."""


def files(in_lots: bool, has_chances: bool) -> list[str]:
    """Files of the runtime that windows need."""
    return [*(["lots.c"] if in_lots else []), "ring.c", *(["ring_proba.c"] if has_chances else [])]


def code(has_chances: bool) -> list[str]:
    """Public functions."""
    return [runtime("ring.c"), *([runtime("ring_proba.c")] if has_chances else [])]


def static_bytes(window: CWindow, input_type: str) -> int:
    """Bytes of RAM for the last samples."""
    return window.time * window.channels * BYTES[input_type] + PLACE


def sizes(window: CWindow, input_type: str) -> str:
    """C for the header: the shape of a window, and its bytes."""
    lines = {
        "BEMI_WINDOW": window.time,
        "BEMI_CHANNELS": window.channels,
        "BEMI_STATIC_BYTES": static_bytes(window, input_type),
    }
    text = "".join(f"#define {name} {value}\n" for name, value in lines.items())
    return f"/* Samples of a window, channels of a sample, and bytes that bemi_push needs. */\n{text}\n"


def declarations(has_chances: bool) -> str:
    """C for the header: the functions."""
    return runtime("ring.h") + (runtime("ring_proba.h") if has_chances else "")
