"""What an exported ensemble accepts: the integer type of its inputs, their range, and that of the networks' inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.classifier import BeMiClassifier
from bemi.inputs.transforms import ConstantInput, IntegerHog
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
"""Types for scaled features, whose largest training magnitude is 127: room for values beyond what training saw."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Types and ranges.

    Attributes
    ----------
    type
        Type of an input.
    low, high
        Every input between these gets the label that Python gives it.
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


def inputs_of(classifier: BeMiClassifier, input_type: str | None = None) -> Inputs:
    """Types and ranges for a fitted classifier; the type of an input is the smallest that fits unless it is given."""
    if input_type is not None and input_type not in TYPES:
        raise ValueError(f"input_type must be one of {', '.join(TYPES)}, got {input_type!r}")
    scaling, transform = classifier.input_scaling_, classifier.transform_
    largest_sum = max(int(np.abs(n.weights[0]).sum(axis=0).max()) for n in classifier.networks_.values())
    inputs = next(iter(classifier.networks_.values())).layers[0]
    # No sum may reach the limit that Python keeps, too.
    reach = (PRE_ACTIVATION_LIMIT - 1) // max(largest_sum, 1)
    if type(transform) is IntegerHog:
        kind = input_type or _smallest(0, transform.maximum_)
        low, high = transform.output_range
        _check_reach(high, reach)
        brightest = min(transform.maximum_, TYPES[kind][1])
        return Inputs(kind, 0, brightest, _smallest(low, high), np.full(inputs, low), np.full(inputs, high))
    kind = input_type or _smallest(scaling.low, scaling.high, tuple(TYPES) if scaling.factors is None else SCALED_TYPES)
    low, high = TYPES[kind]
    if type(transform) is ConstantInput:
        level = transform.level_
        _check_reach(level, reach)
        value_low = np.full(inputs, max(low, -level))
        value_high = np.full(inputs, min(high, level))
        value_low[-1] = value_high[-1] = level
        return Inputs(kind, low, high, _smallest(int(value_low.min()), level), value_low, value_high)
    if transform is not None:
        raise ValueError(f"the transform {type(transform).__name__} cannot be exported; only bemi's own can")
    _check_reach(max(scaling.high, -scaling.low), reach)
    low, high = max(low, -reach), min(high, reach)
    return Inputs(kind, low, high, kind, np.full(inputs, low), np.full(inputs, high))


def _smallest(low: int, high: int, names: tuple[str, ...] = tuple(TYPES)) -> str:
    return next((name for name in names if TYPES[name][0] <= low and high <= TYPES[name][1]), "int32_t")


def _check_reach(largest: int, reach: int) -> None:
    if largest > reach:
        raise ValueError(
            f"inputs reach {largest}, and sums of inputs above {reach} may leave 32 bits; "
            "scale the data down and train again"
        )
