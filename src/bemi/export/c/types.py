"""Integer type and range of the inputs of exported C, before and after the transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.checks import check_choice
from bemi.ensemble.ensemble import Ensemble
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.inputs.c_types import bits_of, range_of, smallest_type
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
