"""C that leaves unknown rows without a label (:mod:`bemi.ensemble.unknown`), and learns classes."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

import numpy as np

from bemi.ensemble.learned import MOST_ROWS, NEARER
from bemi.ensemble.unknown import IS_LEVEL, OUTSIDE, STEPS, KnownRanges
from bemi.export.c.costs import CODE
from bemi.export.c.text import runtime
from bemi.inputs.export_hooks import SIGNED, CCode, CTable, read_macro, smallest_type

SINGLE, PAIR, RANGE, MARGIN, EXAMPLE = 25, 22, 30, 24, 9
"""Instructions for a feature of one value, for one of two, for comparing one with its range, for the margin to another
class, and for a feature of an example."""

MARGINS_BYTES, EXAMPLES_BYTES = 100, 70
"""Bytes of code for margins and examples."""

HANDED_MARGIN = ", uint_fast8_t margin"

MOST_ENDS = 480
"""Up to so many ends of ranges are numbers, which are quick to compare; more are steps, two of them a byte."""

FRAME, LEARNING = 48, 64
"""Bytes of stack for calls and local variables, without the arrays; more where classes are learned."""

FUNCTION = """$head
{
${room}    return $function;
}
"""
"""A function that calls another one with what features are made of."""

LEARN = "bemi_learned_t *learned"
PREDICT_LEARNED = "const bemi_learned_t *learned, uint_fast8_t count"
"""Parameters of the functions that learn a row and that label one."""


def of_columns(ranges: KnownRanges, kind: str) -> CCode:
    """``bemi_known`` for inputs of the program of this type."""
    centres = ranges.centres.tolist()
    width = smallest_type(min(centres), max(centres), SIGNED[1:])
    tables = (
        CTable("bemi_known_centres", width, centres),
        CTable("bemi_known_halvings", "int8_t", (-ranges.exponents).tolist()),
    )
    levels = ranges.exponents == IS_LEVEL
    macros = {
        "BEMI_KNOWN_COLUMNS": 1,
        "BEMI_KNOWN_LEVELS": int(levels.any()),
        "BEMI_KNOWN_DOUBLES": int((ranges.exponents[~levels] > 0).any()),
        **read_macro("KNOWN_CENTRE", width),
    }
    return _code(ranges, kind, ranges.positions.tolist(), macros, tables)


def of_inputs(ranges: KnownRanges, kind: str, used: Sequence[int]) -> CCode:
    """``bemi_known`` for an array of summaries, or of the inputs of the networks that are ``used``, of this type."""
    places = np.searchsorted(used, ranges.positions).tolist()
    # They have one centre and one exponent.
    macros: dict[str, object] = {
        "BEMI_KNOWN_COLUMNS": 0,
        "BEMI_KNOWN_CENTRE": int(ranges.centres[0]),
        "BEMI_KNOWN_UNIT": 1 << -int(ranges.exponents[0]),
    }
    return _code(ranges, kind, places, macros, ())


def _code(
    ranges: KnownRanges, kind: str, places: list[int], macros: dict[str, object], tables: tuple[CTable, ...]
) -> CCode:
    single, pairs = len(ranges.positions), len(ranges.pairs)
    at = "(i)"
    if places != list(range(single)):
        width = smallest_type(0, max(places), ("uint8_t", "uint16_t"))
        tables = (*tables, CTable("bemi_known_at", width, places))
        at = f"BEMI_READ{'8' if width == 'uint8_t' else '16'}(bemi_known_at[i])"
    ends = np.stack(ranges.ranges, axis=2)
    in_steps = ends.size > MOST_ENDS
    if in_steps:
        kind_of_end = "uint8_t"
        ends = ranges.steps[:, :, 0] + STEPS * ranges.steps[:, :, 1]
        tables = (
            *tables,
            CTable("bemi_known_starts", "int8_t", ranges.starts.tolist()),
            CTable("bemi_known_shifts", "uint8_t", ranges.shifts.tolist()),
        )
    else:
        kind_of_end = smallest_type(int(ends.min()), int(ends.max()))
        macros = {**macros, **read_macro("KNOWN_END", kind_of_end)}
    if pairs:
        sides = zip(("firsts", "seconds"), ranges.pairs.T.tolist(), strict=True)
        tables = (*tables, *(CTable(f"bemi_known_{side}", "uint8_t", own) for side, own in sides))
    has_margins, (examples, looked_at) = ranges.needs_scores, ranges.examples.shape
    code_bytes = CODE["unknown.c, columns" if macros["BEMI_KNOWN_COLUMNS"] else "unknown.c"]
    outside, threshold = OUTSIDE, ranges.threshold
    if not has_margins and not examples:
        outside, threshold = 1, threshold // OUTSIDE
    if has_margins:
        tables = (*tables, CTable("bemi_known_margin_halvings", "uint8_t", ranges.halvings.tolist()))
        macros |= {"BEMI_KNOWN_USUAL_MARGIN": ranges.usual_margin, "BEMI_KNOWN_LACKING": f"{ranges.weights[0]}UL"}
        code_bytes += MARGINS_BYTES
    if examples:
        tables = (
            *tables,
            CTable("bemi_known_looked_at", "uint8_t", ranges.looked_at.tolist()),
            CTable("bemi_known_examples", "int8_t", ranges.examples.reshape(-1).tolist()),
        )
        macros |= {"BEMI_KNOWN_LOOKED_AT": looked_at, "BEMI_KNOWN_DISTANCE": f"{ranges.weights[1]}UL"}
        code_bytes += EXAMPLES_BYTES
    names = {"kind": kind, "wide": "int32_t" if macros["BEMI_KNOWN_COLUMNS"] else kind}
    return CCode(
        Template(runtime("unknown.c")).substitute(names, margin=HANDED_MARGIN * has_margins),
        {
            **macros,
            "BEMI_KNOWN_SINGLE": single,
            "BEMI_KNOWN_PAIRS": pairs,
            "BEMI_KNOWN_SUMS": ranges.sums,
            "BEMI_KNOWN_STEPS": int(in_steps),
            "BEMI_KNOWN_MARGINS": int(has_margins),
            "BEMI_KNOWN_EXAMPLES": examples,
            "BEMI_KNOWN_OUTSIDE": f"{outside}U",
            "BEMI_KNOWN_LIMIT": f"{threshold}UL",
            "BEMI_KNOWN_AT(i)": at,
        },
        (*tables, CTable("bemi_known_ends", kind_of_end, ends.reshape(-1).tolist())),
        code_bytes,
    )


def rejecting(head: str, label: str, values: str, room: str = "", margin: str = "") -> str:
    """A function with this head; ``label`` is C that labels a row, ``values`` what features are made of, ``room``
    declares what is handed on, and ``margin`` is the argument for margins, if they count."""
    return _calling(head, f"bemi_known({{values}}, {{label}}{margin})", label, values, room)


def learning(kind: str, label: str, values: str, room: str = "", margin: str = "", *, in_window: bool) -> list[str]:
    """The functions that learn a row, and that label one by learned classes, too; arguments as above."""
    macros = {"BEMI_LEARNED_NEARER": NEARER[0], "BEMI_KNOWN_NEARER": NEARER[1]}
    names = ("bemi_decide_learn", "bemi_decide_learned") if in_window else ("bemi_learn", "bemi_predict_learned")
    calls = ("bemi_learn_values({values}, learned)", f"bemi_nearest({{values}}, {{label}}, learned, count{margin})")
    before = "static int" if in_window else "int"
    row = "*x, uint_fast16_t oldest" if in_window else "x[BEMI_INPUTS]"
    heads = (
        f"{before} {name}(const bemi_input_t {row}, {further})"
        for name, further in zip(names, (LEARN, PREDICT_LEARNED), strict=True)
    )
    return [
        "".join(f"#define {name} {value}\n" for name, value in macros.items()),
        Template(runtime("learn.c")).substitute(kind=kind, **_handed_margin(margin)),
        *(_calling(head, call, label, values, room) for head, call in zip(heads, calls, strict=True)),
        *([runtime("learn_stream.c")] if in_window else []),
    ]


def _handed_margin(margin: str) -> dict[str, str]:
    return {"margin": HANDED_MARGIN, "hands_on": ", margin"} if margin else {"margin": "", "hands_on": ""}


def _calling(head: str, call: str, label: str, values: str, room: str) -> str:
    function = call.format(values=values, label="label" if room else label)
    if room:
        needed = f"const int label = {label}" if "{label}" in call else f"(void){label}"
        room += f"    {needed};\n"
    return Template(FUNCTION).substitute(head=head, room=room, function=function)


def learning_declarations(ranges: KnownRanges, *, in_window: bool) -> str:
    """C for the header: classes that are learned on the device."""
    features = len(ranges.starts)
    names = {"features": features, "bytes": learned_bytes(ranges), "rows": MOST_ROWS}
    return Template(runtime("learn.h")).substitute(names) + (runtime("learn_stream.h") if in_window else "")


def learned_bytes(ranges: KnownRanges) -> int:
    """Bytes of RAM for a learned class."""
    return 2 * len(ranges.starts) + 2


def instructions(ranges: KnownRanges) -> int:
    """Instructions for a row, at most."""
    single, pairs = len(ranges.positions), len(ranges.pairs)
    margins = MARGIN * len(ranges.steps) * ranges.needs_scores
    return SINGLE * single + PAIR * pairs + RANGE * (single + pairs) + margins + EXAMPLE * ranges.examples.size


def stack_bytes(ranges: KnownRanges) -> int:
    """Bytes of arrays on the stack."""
    return len(ranges.starts) + FRAME
