"""Optional functions besides ``bemi_predict``: probabilities, samples one by one, smoothed labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from string import Template

from bemi.ensemble.probabilities import Probabilities
from bemi.ensemble.smoothing import Smoothing
from bemi.export.c.costs import CODE
from bemi.export.c.text import BYTES, runtime
from bemi.inputs.export_hooks import CCode, CTable, CWindow, read_macro, smallest_type

PREDICT = "int bemi_predict(const bemi_input_t x[BEMI_INPUTS])"
PREDICT_PROBA = "int bemi_predict_proba(const bemi_input_t x[BEMI_INPUTS], uint16_t p[BEMI_CLASSES])"

DECIDE = "static int bemi_decide(const bemi_input_t *x, uint_fast16_t oldest)"
DECIDE_PROBA = "static int bemi_decide_proba(const bemi_input_t *x, uint_fast16_t oldest, uint16_t *p)"
"""Functions that the public ones call with a window, or with the samples of a stream."""

STREAM_STATE = 4
"""Bytes beside the samples of a stream: where the oldest is, and whether there are enough."""


def probabilities_of_two(probabilities: Probabilities, *, prepare: str, score: str, head: str = PREDICT_PROBA) -> CCode:
    """Probabilities of two classes, with a table of bytes.

    Parameters
    ----------
    probabilities
        Those of the ensemble.
    prepare, score
        C that makes what the score is computed from, and the score.
    head
        Declaration of the function.
    """
    (table,) = probabilities.tables
    macros = {
        "BEMI_CHANCES": len(table.entries),
        "BEMI_CHANCES_FROM": f"({table.start}L)",
        "BEMI_CHANCES_SHIFT": table.shift,
    }
    source = Template(runtime("probabilities_pair.c")).substitute(head=head, prepare=prepare, score=score)
    return CCode(source, macros, (CTable("bemi_chances", "uint8_t", table.entries),), CODE["probabilities_pair.c"])


def coupled_probabilities(probabilities: Probabilities, *, prepare: str, head: str = PREDICT_PROBA) -> CCode:
    """Probabilities of more than two classes, from those of all pairs, with a table of bytes for every network.

    ``prepare`` is C that makes the state of a prediction.
    """
    tables = probabilities.tables
    starts = [table.start for table in tables]
    offsets = [*accumulate((len(table.entries) for table in tables), initial=0)]
    start_kind = smallest_type(min(starts), max(starts))
    offset_kind = smallest_type(0, offsets[-1], ("uint16_t", "uint32_t"))
    return CCode(
        Template(runtime("probabilities.c")).substitute(head=head, prepare=prepare),
        read_macro("START", start_kind) | read_macro("CHANCES", offset_kind),
        (
            CTable("bemi_chances_from", start_kind, starts),
            CTable("bemi_chances_shift", "uint8_t", [table.shift for table in tables]),
            CTable("bemi_chances_at", offset_kind, offsets),
            CTable("bemi_chances", "uint8_t", [chance for table in tables for chance in table.entries]),
        ),
        CODE["probabilities.c"],
    )


def stream_files(*, proba: bool) -> list[str]:
    """Files of the runtime with the public functions of windows; ``proba`` for those of probabilities, too."""
    return ["stream.c", *(["stream_proba.c"] if proba else [])]


def stream_declarations(window: CWindow, *, proba: bool) -> str:
    """C for the header: streams, and the functions of windows."""
    return runtime("stream.h") + (runtime("stream_proba.h") if proba else "") + _push_float(window.decimals)


def _push_float(decimals: Sequence[int]) -> str:
    """A function of the header that makes readings; like Python, it multiplies or divides by an exact power of ten."""
    tables, units = "", "".join(f" {'*' if d > 0 else '/'} 1e{abs(d)}" for d in set(decimals) if d)
    if len(set(decimals)) > 1:
        ways = {"times": [max(d, 0) for d in decimals], "parts": [max(-d, 0) for d in decimals]}
        for name, powers in ways.items():
            tables += f"    static const double {name}[] = {{{', '.join(f'1e{power}' for power in powers)}}};\n"
        units = " * times[channel] / parts[channel]"
    return Template(runtime("push_float.h")).substitute(tables=tables, units=units)


def stream_bytes(window: CWindow, input_type: str) -> int:
    """Bytes of RAM for a stream."""
    return window.time * window.channels * BYTES[input_type] + STREAM_STATE


def smoothing_declaration(smoothing: Smoothing, classes: int) -> str:
    """C for the header: what smooths labels, see :class:`bemi.ensemble.smoothing.Smoothing`."""
    names = {"length": smoothing.length, "votes": smoothing.votes, "kind": _label_type(classes)}
    return Template(runtime("smooth.h")).substitute(names)


def smoothing_bytes(smoothing: Smoothing, classes: int) -> int:
    """Bytes of RAM for the last labels."""
    return (smoothing.length + 2) * BYTES[_label_type(classes)]


def _label_type(classes: int) -> str:
    """Type of a label plus 1."""
    return "uint8_t" if classes < 256 else "uint16_t"
