"""Smoothing of labels in C, see :class:`bemi.ensemble.smoothing.Smoothing`."""

from __future__ import annotations

from string import Template

from bemi.ensemble.smoothing import Smoothing
from bemi.export.c.text import BYTES, runtime


def label_type(classes: int) -> str:
    """Type of a label plus 1."""
    return "uint8_t" if classes < 256 else "uint16_t"


def code(classes: int) -> str:
    """The functions."""
    return f"typedef {label_type(classes)} bemi_label_t;\n\n{runtime('smooth.c')}"


def declaration(smoothing: Smoothing) -> str:
    """C for the header."""
    return Template(runtime("smooth.h")).substitute(length=smoothing.length, votes=smoothing.votes)


def static_bytes(smoothing: Smoothing, classes: int) -> int:
    """Bytes of RAM for the last labels, at most."""
    return (smoothing.length + 2) * BYTES[label_type(classes)] + 1
