"""What the header says about inputs that are readings: their units, the levels of categories, and missing cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bemi.export.c.text import comment
from bemi.inputs.export_hooks import CReading
from bemi.inputs.fixed_point_inputs import MISSING
from bemi.inputs.inputs import Inputs

MOST_NAMED = 1000
"""Categories with more levels get no names; their readings are the positions in the sorted list of levels."""

LONGEST_NAME = 50
"""Compilers may look at the first 63 characters of a name only."""


def scaled_readings(inputs: Inputs) -> tuple[CReading, ...]:
    """What ``bemi_scale`` takes; nothing if features enter unchanged."""
    scale = inputs.scaling.scale
    if scale is None:
        return ()
    names = inputs.names or [f"feature {place}" for place in range(inputs.features)]
    return tuple(CReading(name, decimals) for name, decimals in zip(names, scale.decimals.tolist(), strict=True))


def units(readings: Sequence[CReading], array: str) -> list[str]:
    """How each element of an array of readings is made, one line each."""
    lines = [
        "Readings are the features in the units below, rounded to the nearest integer, halves to the even one, and",
        f"saturate at {MISSING + 1} and {-MISSING - 1}:",
    ]
    for place, reading in enumerate(readings):
        unit = f" * 10^{reading.decimals}" if reading.decimals else ""
        level = ": one of its levels, -1 for any other" if reading.levels is not None else ""
        unused = "" if reading.used else " (not used)"
        lines.append(f"  {array}[{place}] = {reading.name}{unit}{level}{unused}")
    return lines


def declarations(readings: Sequence[CReading], others: str) -> str:
    """C for the header: the reading of a missing cell and the levels of categories.

    Parameters
    ----------
    readings
        What the inputs are.
    others
        The rest of the program, whose names levels must not have.
    """
    taken = set(re.findall(r"\w+", others))
    parts = [f"/* A missing cell. */\n#define BEMI_MISSING ({MISSING + 1}L - 1)\n"]
    taken.add("BEMI_MISSING")
    for place, reading in enumerate(readings):
        if reading.levels and len(reading.levels) <= MOST_NAMED:
            names = [_name(f"{reading.name} {level}", taken) for level in reading.levels]
            levels = zip(names, enumerate(reading.levels), strict=True)
            lines = [f"    {name} = {index}, /* {_in_comment(level)} */" for name, (index, level) in levels]
            about = f"/* Levels of x[{place}], {_in_comment(reading.name)}; -1 is any other. */"
            parts.append("\n".join([about, "enum {", *lines, "};\n"]))
    return "\n".join(parts)


def _name(text: str, taken: set[str]) -> str:
    """A name for a level that is not taken; it is from now on."""
    own = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_") or "LEVEL"
    name = next(name for name in _variants(f"BEMI_{own[:LONGEST_NAME]}") if name not in taken)
    taken.add(name)
    return name


def _variants(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _in_comment(text: str) -> str:
    return comment([text]).strip() or "(empty)"
