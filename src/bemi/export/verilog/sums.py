"""What sums are made of, whether they are added up while features arrive or computed from a whole row at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bemi.export.verilog.blocks import (
    address_bits,
    constant,
    extended,
    runtime,
    zero_extended,
)
from bemi.export.verilog.circuit import Circuit, Neuron, integer_bits
from bemi.export.verilog.pipeline import Pipeline, Signal
from bemi.export.verilog.vote import vote_of_sums
from bemi.inputs.circuit_terms import BitTerm, NumberTerm
from bemi.inputs.fixed_point import MISSING


@dataclass(frozen=True, eq=False)
class Values:
    """How terms become values in Verilog: functions of a feature, and the widths of what they give.

    Attributes
    ----------
    circuit
        The circuit.
    """

    circuit: Circuit

    @cached_property
    def numbers(self) -> list[NumberTerm]:
        return [term for term in self.circuit.terms if isinstance(term, NumberTerm)]

    @cached_property
    def scaled(self) -> bool:
        """Whether numbers are scaled."""
        return any(term.scaled for term in self.numbers)

    @cached_property
    def shift(self) -> int:
        """The shift of all scales, to which multipliers are adapted."""
        return max((term.shift for term in self.numbers), default=0)

    def multiplier(self, term: NumberTerm) -> int:
        """The multiplier of a term, for the common shift."""
        return term.multiplier << self.shift - term.shift

    def offset(self, term: NumberTerm) -> int:
        """What is added to the product of the multiplier and a reading, both at least 0, before the shift.

        Multipliers of unsigned numbers are smaller circuits, so readings are counted from the smallest one.
        """
        return (self.circuit.format.missing - term.centre) * self.multiplier(term) + (1 << self.shift >> 1)

    @cached_property
    def multiplier_bits(self) -> int:
        """Bits of any multiplier."""
        return max(1, max(map(self.multiplier, self.numbers)).bit_length())

    @cached_property
    def wide_bits(self) -> int:
        """Bits of any number before the shift, with a sign."""
        ends = [
            self.offset(t) + m * self.multiplier(t)
            for t in self.numbers
            for m in (0, (1 << self.circuit.format.bits) - 1)
        ]
        return integer_bits(min(*ends, -1 << self.shift), max(*ends, 1 << self.shift))

    @cached_property
    def bits(self) -> int:
        """Bits of a value with a sign; wide enough for its negative, too."""
        largest = max((abs(end) for term in self.circuit.terms for end in term.bounds), default=1)
        return integer_bits(-largest, largest)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Where numbers saturate."""
        (ends,) = {term.bounds for term in self.numbers}
        return ends

    @cached_property
    def clipped_bits(self) -> int:
        """Bits of a number before it saturates; 0 if it never does."""
        inputs = self.circuit.format
        if self.scaled:
            return max(self.wide_bits - self.shift, self.bits)
        inside = not self.numbers or (self.ends[0] <= inputs.low and inputs.high <= self.ends[1])
        return 0 if inside else max(self.bits, inputs.bits) + 1

    def number(self, pipeline: Pipeline, x: Signal, rows: Sequence[Signal]) -> Signal:
        """A number of a feature; if it is scaled, ``rows`` add up to what is shifted."""
        (low, high), inputs, bits = self.ends, self.circuit.format, self.clipped_bits
        assert x.stage is not None
        if self.scaled:
            # The lowest bits only carry.
            product = pipeline.total(rows, self.wide_bits, slice(self.shift, None))
            stage = max(product.stage or 0, x.stage)
            wide = pipeline.wire(
                extended(product.name, product.bits, bits + self.shift), 0, 0, stage, bits + self.shift
            )
            wide = pipeline.wire(f"{wide.name}[{bits + self.shift - 1}:{self.shift}]", 0, 0, stage, bits)
        else:
            widened = extended if inputs.signed else zero_extended
            stage = x.stage
            wide = pipeline.wire(widened(x.name, x.bits, bits or self.bits), low, high, stage, bits or self.bits)
            if not bits:
                return wide
        below = pipeline.flag(f"$signed({wide.name}) < $signed({constant(low, bits)})", stage + 1).name
        above = pipeline.flag(f"$signed({wide.name}) > $signed({constant(high, bits)})", stage + 1).name
        wide = pipeline.register(f"{wide.name}[{self.bits - 1}:0]", low, high, stage + 1, self.bits)
        number = f"{below} ? {constant(low, self.bits)} : {above} ? {constant(high, self.bits)} : {wide.name}"
        if any(term.missing_is_zero for term in self.numbers):
            missing = pipeline.flag(f"{x.name} == {constant(inputs.missing, inputs.bits)}", x.stage + 1)
            number = f"{pipeline.at(missing, stage + 1).name} ? {constant(0, self.bits)} : {number}"
        return pipeline.register(number, low, high, stage + 2, self.bits)

    def rows(self, pipeline: Pipeline, x: Signal, multipliers: Sequence[int], selector: str = "") -> list[Signal]:
        """The rows of the product of a reading, counted from the smallest one, with the multiplier in ``selector``."""
        top = x.bits - 1
        counted = pipeline.wire(f"{{~{x.name}[{top}], {x.name}[{top - 1}:0]}}", 0, (1 << x.bits) - 1, x.stage, x.bits)
        return pipeline.rows(counted, multipliers, selector)

    def reading(self, term: BitTerm) -> int:
        """The reading that a bit compares with, as the circuit is given it."""
        return self.circuit.format.missing if term.reading == MISSING else term.reading


def started(circuit: Circuit, neuron: Neuron) -> int:
    """A sum in which no bit is on yet; one that is adds twice its level times the weight."""
    bits = [(int(neuron.weights[index]), t.level) for index, t in enumerate(circuit.terms) if isinstance(t, BitTerm)]
    return neuron.constant - sum(weight * level for weight, level in bits)


def module_of_sums(name: str, values: Values, about: str, in_bits: int, body: str) -> str:
    """The module around what makes the sums."""
    circuit = values.circuit
    names = {
        "module": name,
        "about": about,
        "in_top": in_bits - 1,
        "label_top": address_bits(circuit.classes) - 1,
        "unclassified_kind": "wire" if circuit.single else "reg",
        "body": body,
        "vote": vote_of_sums(circuit),
    }
    return runtime("module.v", names)
