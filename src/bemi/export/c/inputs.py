"""Inputs of exported C: their types and ranges, before and after the transform, and what the header says about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bemi.checks import check_choice
from bemi.ensemble.ensemble import Ensemble
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.export import PREFIX
from bemi.export.c.text import comment
from bemi.inputs.export_hooks import CReading, bits_of, range_of, smallest_type
from bemi.inputs.fixed_point import MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import reader_of

READING = "int32_t"
"""Type of a reading."""

READING_TYPES = ("int16_t", READING)
"""Types of readings that a transform makes itself."""

TYPES = {kind: range_of(kind) for kind in ("uint8_t", "int8_t", "uint16_t", "int16_t", READING)}
"""Integer types of C with their ranges, small ones first."""

SCALED_TYPES = ("int16_t",)
"""Types for scaled features that do not saturate: room for larger values than in training, which end at 127, and for
negative ones, even if training had none."""

MOST_NAMED = 1000
"""Categories with more levels get no names; their readings are the positions in the sorted list of levels."""

LONGEST_NAME = 55
"""Compilers may look at the first 63 characters of a name only; a number follows where names would be the same."""


@dataclass(frozen=True, eq=False)
class InputTypes:
    """Types and ranges.

    Attributes
    ----------
    type
        Type of an input.
    low, high
        Every input in this range gets the same label as in Python.
    value_type
        Type of an input of the networks, after the transform.
    value_low, value_high
        Range of each input of the networks.
    """

    type: str
    low: int
    high: int
    value_type: str
    value_low: Integers
    value_high: Integers


def input_types(ensemble: Ensemble, input_type: str | None = None) -> InputTypes:
    """Types and ranges for an ensemble; by default, the input type is the smallest that fits.

    If the transform accepts only a small range, or the scaling saturates, the type holds this range, otherwise the
    training rows.  Inputs that are readings have the type that their transform makes them for.
    """
    if input_type is not None:
        check_choice("input_type", input_type, TYPES)
    inputs = ensemble.inputs
    # Sums must stay below the same limit as in Python.
    largest_sum = max(int(np.abs(network.weights[0]).sum(axis=0).max()) for network in ensemble.networks)
    largest_safe_input = (PRE_ACTIVATION_LIMIT - 1) // max(largest_sum, 1)
    kind, low, high = _input_range(inputs, input_type)
    if inputs.transform is None:
        _check_sums(max(inputs.scaling.high, -inputs.scaling.low), largest_safe_input)
        low, high = max(low, -largest_safe_input), min(high, largest_safe_input)
    value_low, value_high = inputs.bounds(low, high)
    lowest, highest = int(value_low.min()), int(value_high.max())
    if inputs.transform is None:
        return InputTypes(kind, low, high, kind, value_low, value_high)
    _check_sums(max(highest, -lowest), largest_safe_input)
    return InputTypes(kind, low, high, _smallest(lowest, highest), value_low, value_high)


def _input_range(inputs: Inputs, given: str | None) -> tuple[str, int, int]:
    """Type of an input, the given one if there is one, and the range of its values."""
    if not inputs.takes_integers:
        low, high = reader_of(inputs.transform).reading_range
        kind = _smallest(low, high, READING_TYPES)
        if given not in (None, kind):
            raise ValueError(
                f"inputs of this model are readings of {bits_of(kind)} bits, {kind}; leave out input_type={given!r}"
            )
        return kind, low, high
    scaling, accepted = inputs.scaling, inputs.closed_range
    if accepted is not None:
        kind = given or _smallest(*accepted)
        return kind, max(accepted[0], TYPES[kind][0]), min(accepted[1], TYPES[kind][1])
    if scaling.limit is not None:
        kind = given or _smallest(-scaling.limit, scaling.limit)
        if TYPES[kind][0] > -scaling.limit or TYPES[kind][1] < scaling.limit:
            raise ValueError(
                f"input_type={kind!r} does not hold -{scaling.limit}..{scaling.limit}, which scaled features fill; "
                f"leave it out for {_smallest(-scaling.limit, scaling.limit)}"
            )
        return kind, *TYPES[kind]
    names = tuple(TYPES) if scaling.scale is None else (*SCALED_TYPES, READING)
    kind = given or _smallest(scaling.low, scaling.high, names)
    return kind, *TYPES[kind]


def _smallest(low: int, high: int, names: tuple[str, ...] = tuple(TYPES)) -> str:
    return smallest_type(low, high, names)


def _check_sums(largest: int, largest_safe_input: int) -> None:
    if largest > largest_safe_input:
        raise ValueError(
            f"inputs up to {largest} may overflow 32-bit sums, which are safe up to {largest_safe_input}; "
            "scale the data down and train again"
        )


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


def declarations(readings: Sequence[CReading], others: str, name: str = PREFIX) -> str:
    """C for the header: the reading of a missing cell and the levels of categories.

    Parameters
    ----------
    readings
        What the inputs are.
    others
        The rest of the program, whose names levels must not have.
    name
        What names begin with.
    """
    missing = f"{name.upper()}_MISSING"
    parts = [f"/* A missing cell. */\n#define {missing} ({MISSING + 1}L - 1)\n"]
    taken = _names_in(others) | {missing}
    for place, reading in enumerate(readings):
        if reading.levels and len(reading.levels) <= MOST_NAMED:
            about = f"Levels of x[{place}], {_in_comment(reading.name)}; -1 is any other."
            names = [_name(f"{reading.name} {level}", "LEVEL", taken, name) for level in reading.levels]
            parts.append(_enumeration(about, names, reading.levels))
    return "\n".join(parts)


def class_names(labels: Sequence[object], others: str, name: str = PREFIX) -> str:
    """C for the header: the classes as constants; arguments as for :func:`declarations`."""
    if len(labels) > MOST_NAMED:
        return ""
    taken = _names_in(others)
    texts = [str(label) for label in labels]
    # Otherwise -1 and 1 would be the same.
    names = [_name(re.sub(r"^-(?=[.\d])", "minus ", text), "CLASS", taken, name) for text in texts]
    return _enumeration("Classes by name.", names, texts)


def _enumeration(about: str, names: Sequence[str], texts: Sequence[str]) -> str:
    """Names of the numbers from 0, and in comments what they name."""
    numbered = enumerate(zip(names, texts, strict=True))
    lines = [f"    {name} = {number}, /* {_in_comment(text)} */" for number, (name, text) in numbered]
    return "\n".join([f"/* {about} */", "enum {", *lines, "};\n"])


def _names_in(program: str) -> set[str]:
    return set(re.findall(r"\w+", program))


def _name(text: str, otherwise: str, taken: set[str], prefix: str) -> str:
    """A name for a text that is not taken; it is from now on."""
    own = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_") or otherwise
    own = f"{prefix.upper()}_{own}"[:LONGEST_NAME]
    name = next(name for name in _variants(own) if name not in taken)
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
