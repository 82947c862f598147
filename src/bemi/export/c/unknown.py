"""C that leaves unknown rows without a label (:mod:`bemi.ensemble.unknown`), and learns classes."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

import numpy as np

from bemi.ensemble.learned import MOST_ROWS, NEARER
from bemi.ensemble.unknown import STEPS, KnownRanges
from bemi.export.c.costs import CODE
from bemi.export.c.text import runtime
from bemi.inputs.export_hooks import BATCH, BATCH_OFFSET, SIGNED, CCode, CTable, read_macro, smallest_type

SINGLE, PAIR, RANGE = 25, 22, 30
"""Instructions for a feature of one value, for one of two, and for comparing one with its range."""

TAKEN = 12
"""Instructions for keeping a value of a batch, and twice as many for looking at a batch."""

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

KEEP = """    {
        /* Inputs that tell whether a row is known are kept behind the sums. */
        uint8_t *to = (uint8_t *)sums + BEMI_READ8(bemi_known_from[lot]);
        uint_fast8_t mask = BEMI_READ8(bemi_known_of[lot]);
        for (i = 0; mask; i++, mask >>= 1)
            if (mask & 1)
                *to++ = eight[i];
    }
"""
"""The end of ``bemi_take``, where ``sums`` points behind the last sum."""

ROOM = " + (BEMI_KNOWN_SINGLE + sizeof(bemi_sum_t) - 1) / sizeof(bemi_sum_t)"
"""Further sums in the state, for the inputs that are kept."""

COPY = """    {
        const uint8_t *kept = (const uint8_t *)(state.sums + BEMI_NEURONS);
        uint_fast8_t i;
        for (i = 0; i < BEMI_KNOWN_SINGLE; i++)
            z[i] = kept[i];
    }"""
"""Where inputs come in batches: hands them on once all have come."""


def of_columns(ranges: KnownRanges, kind: str) -> CCode:
    """``bemi_known`` for inputs of the program of this type."""
    centres = ranges.centres.tolist()
    width = smallest_type(min(centres), max(centres), SIGNED[1:])
    tables = (
        CTable("bemi_known_centres", width, centres),
        CTable("bemi_known_exponents", "int8_t", ranges.exponents.tolist()),
    )
    macros = {"BEMI_KNOWN_COLUMNS": 1, **read_macro("KNOWN_CENTRE", width)}
    return _code(ranges, kind, ranges.positions.tolist(), macros, tables)


def of_inputs(ranges: KnownRanges, kind: str, used: Sequence[int]) -> CCode:
    """``bemi_known`` for an array of the inputs of the networks at the positions ``used``, of this type."""
    places = np.searchsorted(used, ranges.positions).tolist()
    return _code(ranges, kind, places, _one_scale(ranges, 0), ())


def of_batches(ranges: KnownRanges, order: Sequence[int]) -> CCode:
    """``bemi_known`` for inputs that come in batches in this order, of which it tells which to keep."""
    come = np.empty(max(order) + 1, dtype=np.int64)
    come[list(order)] = np.arange(len(order))
    come = come[ranges.positions]
    batches = -(-len(order) // BATCH)
    masks = [sum(1 << int(at % BATCH) for at in come[come // BATCH == batch]) for batch in range(batches)]
    starts = [int((come // BATCH < batch).sum()) for batch in range(batches)]
    tables = (CTable("bemi_known_from", "uint8_t", starts), CTable("bemi_known_of", "uint8_t", masks))
    # In the order in which they come.
    kept = np.argsort(np.argsort(come)).tolist()
    return _code(ranges, "uint8_t", kept, _one_scale(ranges, BATCH_OFFSET), tables)


def _one_scale(ranges: KnownRanges, offset: int) -> dict[str, object]:
    """Macros for features that have one centre and one exponent, made of values to which an offset was added."""
    return {
        "BEMI_KNOWN_COLUMNS": 0,
        "BEMI_KNOWN_CENTRE": int(ranges.centres[0]) + offset,
        "BEMI_KNOWN_UNIT": 1 << -int(ranges.exponents[0]),
    }


def _code(
    ranges: KnownRanges, kind: str, places: list[int], macros: dict[str, object], tables: tuple[CTable, ...]
) -> CCode:
    single, pairs = len(ranges.positions), len(ranges.pairs)
    at = "(i)"
    if places != list(range(single)):
        width = smallest_type(0, max(places), ("uint8_t", "uint16_t"))
        tables = (*tables, CTable("bemi_known_at", width, places))
        at = f"BEMI_READ{'8' if width == 'uint8_t' else '16'}(bemi_known_at[i])"
    ends = (ranges.steps[:, :, 0] + STEPS * ranges.steps[:, :, 1]).reshape(-1).tolist()
    if pairs:
        sides = zip(("firsts", "seconds"), ranges.pairs.T.tolist(), strict=True)
        tables = (*tables, *(CTable(f"bemi_known_{side}", "uint8_t", own) for side, own in sides))
    return CCode(
        Template(runtime("unknown.c")).substitute(kind=kind, wide="int32_t" if macros["BEMI_KNOWN_COLUMNS"] else kind),
        {
            **macros,
            "BEMI_KNOWN_SINGLE": single,
            "BEMI_KNOWN_PAIRS": pairs,
            "BEMI_KNOWN_SUMS": ranges.sums,
            "BEMI_KNOWN_LIMIT": f"{ranges.threshold}UL",
            "BEMI_KNOWN_AT(i)": at,
        },
        (
            *tables,
            CTable("bemi_known_starts", "int8_t", ranges.starts.tolist()),
            CTable("bemi_known_shifts", "uint8_t", ranges.shifts.tolist()),
            CTable("bemi_known_ends", "uint8_t", ends),
        ),
        CODE["unknown.c, columns" if macros["BEMI_KNOWN_COLUMNS"] else "unknown.c"],
    )


def rejecting(head: str, label: str, values: str, room: str = "") -> str:
    """A function with this head; ``label`` is C that labels a row, ``values`` what features are made of."""
    return _calling(head, "bemi_known({values}, {label})", label, values, room)


def learning(kind: str, label: str, values: str, room: str = "", *, in_window: bool) -> list[str]:
    """The functions that learn a row, and that label one by learned classes, too; arguments as above."""
    macros = {"BEMI_LEARNED_NEARER": NEARER[0], "BEMI_KNOWN_NEARER": NEARER[1]}
    names = ("bemi_decide_learn", "bemi_decide_learned") if in_window else ("bemi_learn", "bemi_predict_learned")
    calls = ("bemi_learn_values({values}, learned)", "bemi_nearest({values}, {label}, learned, count)")
    before = "static int" if in_window else "int"
    row = "*x, uint_fast16_t oldest" if in_window else "x[BEMI_INPUTS]"
    heads = (
        f"{before} {name}(const bemi_input_t {row}, {further})"
        for name, further in zip(names, (LEARN, PREDICT_LEARNED), strict=True)
    )
    return [
        "".join(f"#define {name} {value}\n" for name, value in macros.items()),
        Template(runtime("learn.c")).substitute(kind=kind),
        *(_calling(head, call, label, values, room) for head, call in zip(heads, calls, strict=True)),
        *([runtime("learn_stream.c")] if in_window else []),
    ]


def _calling(head: str, call: str, label: str, values: str, room: str) -> str:
    function = call.format(values=values, label="label" if room else label)
    if room:
        needed = f"const int label = {label}" if "{label}" in call else f"(void){label}"
        room = f"    {room};\n    {needed};\n"
    return Template(FUNCTION).substitute(head=head, room=room, function=function)


def learning_declarations(ranges: KnownRanges, *, in_window: bool) -> str:
    """C for the header: classes that are learned on the device."""
    features = len(ranges.starts)
    names = {"features": features, "bytes": learned_bytes(ranges), "rows": MOST_ROWS}
    return Template(runtime("learn.h")).substitute(names) + (runtime("learn_stream.h") if in_window else "")


def learned_bytes(ranges: KnownRanges) -> int:
    """Bytes of RAM for a learned class."""
    return 2 * len(ranges.starts) + 2


def instructions(ranges: KnownRanges, batches: int) -> int:
    """Instructions for a row, at most; ``batches`` of the inputs, 0 if they are stored."""
    single, pairs = len(ranges.positions), len(ranges.pairs)
    kept = TAKEN * (2 * batches + 2 * single) if batches else 0
    return SINGLE * single + PAIR * pairs + RANGE * (single + pairs) + kept


def stack_bytes(ranges: KnownRanges, *, in_batches: bool) -> int:
    """Bytes of arrays on the stack; the inputs that are kept are there twice."""
    return len(ranges.starts) + FRAME + (2 * len(ranges.positions) + 4 if in_batches else 0)
