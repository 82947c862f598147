"""The integers that a circuit is given: how wide they are, where they saturate, and what stands for a missing cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bemi.checks import check_integer
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.inputs.circuit_terms import ConstantTerm, NumberTerm, Term
from bemi.inputs.fixed_point_inputs import MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import Takes

MOST_BITS = 32

SCALED_LIMIT = 511
"""Scaled features that do not saturate in Python saturate here: four times the largest training magnitude, 127."""


@dataclass(frozen=True)
class InputFormat:
    """The integers that a circuit takes, one per feature.

    Attributes
    ----------
    bits, signed
        Width, and whether it includes a sign.
    has_missing
        Whether cells may be missing; the most negative number stands for these, and no value becomes it.
    """

    bits: int
    signed: bool
    has_missing: bool = False

    @property
    def low(self) -> int:
        """Smallest value."""
        return (1 - 2 ** (self.bits - 1) if self.has_missing else -(2 ** (self.bits - 1))) if self.signed else 0

    @property
    def high(self) -> int:
        """Largest value."""
        return 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1

    @property
    def missing(self) -> int:
        """The number that stands for a missing cell."""
        return -(2 ** (self.bits - 1))

    def encoded(self, readings: Integers) -> Integers:
        """Readings as the circuit takes them: they saturate."""
        within = np.clip(readings, self.low, self.high)
        return np.where(readings == MISSING, self.missing, within) if self.has_missing else within

    def decoded(self, given: Integers) -> Integers:
        """The readings behind what the circuit was given."""
        return np.where(given == self.missing, MISSING, given) if self.has_missing else given


def terms_of(inputs: Inputs) -> list[Term]:
    """What a circuit computes for each input of the networks, from integers or readings."""
    limit = PRE_ACTIVATION_LIMIT - 1
    numbers = [NumberTerm(place, -limit, limit) for place in range(inputs.features)]
    scale = inputs.scaling.scale
    if scale is not None:
        end = inputs.scaling.limit or SCALED_LIMIT
        parts = zip(scale.centres.tolist(), scale.multipliers.tolist(), scale.shifts.tolist(), strict=True)
        numbers = [NumberTerm(place, -end, end, *part) for place, part in enumerate(parts)]
    if inputs.transform is None:
        return list(numbers)
    if "circuit_terms" not in vars(type(inputs.transform)):
        raise ValueError(
            f"{type(inputs.transform).__name__} cannot be exported to Verilog yet, only models of features as they "
            "are, of ConstantInput and of TableBits can"
        )
    own: list[Term] = inputs.transform.circuit_terms()  # type: ignore[attr-defined]
    if not inputs.takes_integers:
        return own
    # What the transform takes are the scaled features.
    return [numbers[t.feature].within(t.low, t.high) if isinstance(t, NumberTerm) else t for t in own]


def input_format(inputs: Inputs, terms: Sequence[Term], bits: int | None) -> InputFormat:
    """The fewest bits for the terms that are used, or for features as they are the given number, if any."""
    has_missing = Takes.by(inputs.transform).allows_missing
    if inputs.transform is None and inputs.scaling.scale is None:
        seen = inputs.scaling.low, inputs.scaling.high
        signed = seen[0] < 0
        fewest = max(integer_bits(*seen), 1 + signed)
        if bits is None:
            bits = fewest
        check_integer("input_bits", bits, fewest, MOST_BITS)
        return InputFormat(bits, signed)
    if bits is not None:
        raise ValueError("inputs of this model are readings, whose width follows from the model; leave out input_bits")
    dependent = [term for term in terms if not isinstance(term, ConstantTerm)]
    formats = (InputFormat(number, True, has_missing) for number in range(2, MOST_BITS + 1))
    enough = (f for f in formats if all(term.unchanged_by(f.low, f.high) for term in dependent))
    return next(enough, InputFormat(MOST_BITS, True, has_missing))


def integer_bits(low: int, high: int) -> int:
    """Bits of an integer in ``low..high``, including a sign if ``low`` is negative."""
    return max(low.bit_length() if low >= 0 else (-1 - low).bit_length() + 1, high.bit_length() + (low < 0), 1)
