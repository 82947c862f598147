"""Integer type and range of the inputs of exported C, before and after the transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.checks import check_choice
from bemi.ensemble.ensemble import Ensemble
from bemi.products import PRE_ACTIVATION_LIMIT, Integers

TYPES = {
    "uint8_t": (0, 2**8 - 1),
    "int8_t": (-(2**7), 2**7 - 1),
    "uint16_t": (0, 2**16 - 1),
    "int16_t": (-(2**15), 2**15 - 1),
    "int32_t": (-(2**31), 2**31 - 1),
}
"""Integer types of C with their ranges, small ones first."""

SCALED_TYPES = ("uint16_t", "int16_t")
"""Types for scaled features, whose largest training magnitude is 127: room for larger values than in training."""


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

    If the transform accepts only a small range, the type holds this range, otherwise the training rows.
    """
    if input_type is not None:
        check_choice("input_type", input_type, TYPES)
    inputs, scaling = ensemble.inputs, ensemble.inputs.scaling
    # Sums must stay below the same limit as in Python.
    largest_sum = max(int(np.abs(network.weights[0]).sum(axis=0).max()) for network in ensemble.networks)
    largest_safe_input = (PRE_ACTIVATION_LIMIT - 1) // max(largest_sum, 1)
    accepted = inputs.closed_range
    if accepted is not None:
        kind = input_type or _smallest(*accepted)
        low, high = max(accepted[0], TYPES[kind][0]), min(accepted[1], TYPES[kind][1])
    else:
        names = tuple(TYPES) if scaling.scale is None else SCALED_TYPES
        kind = input_type or _smallest(scaling.low, scaling.high, names)
        low, high = TYPES[kind]
    if inputs.transform is None:
        _check_sums(max(scaling.high, -scaling.low), largest_safe_input)
        low, high = max(low, -largest_safe_input), min(high, largest_safe_input)
    value_low, value_high = inputs.bounds(low, high)
    lowest, highest = int(value_low.min()), int(value_high.max())
    if inputs.transform is None:
        return InputTypes(kind, low, high, kind, value_low, value_high)
    _check_sums(max(highest, -lowest), largest_safe_input)
    return InputTypes(kind, low, high, _smallest(lowest, highest), value_low, value_high)


def _smallest(low: int, high: int, names: tuple[str, ...] = tuple(TYPES)) -> str:
    return next((name for name in names if TYPES[name][0] <= low and high <= TYPES[name][1]), "int32_t")


def _check_sums(largest: int, largest_safe_input: int) -> None:
    if largest > largest_safe_input:
        raise ValueError(
            f"inputs up to {largest} may overflow 32-bit sums, which are safe up to {largest_safe_input}; "
            "scale the data down and train again"
        )
