"""Sums in Verilog of a whole row at once."""

from __future__ import annotations

from bemi.export.verilog.blocks import (
    constant,
    extended,
    looked_up,
    runtime,
    shifted,
)
from bemi.export.verilog.circuit import Circuit, Neuron, integer_bits
from bemi.export.verilog.pipeline import EVERY, Pipeline, Signal
from bemi.export.verilog.sums import Values, module_of_sums, started
from bemi.inputs.circuit_terms import BitTerm, FeatureTerm, NumberTerm

LEAF_BITS = 4
"""Bits whose sum a lookup table of four inputs gives, for each bit of the sum."""


class Parallel:
    """The module for whole rows.

    Attributes
    ----------
    circuit
        The circuit.
    pipeline
        From the row, in its stage 0, to the sums.
    sums
        The sums of all neurons, in the last stage.
    depth
        The last stage.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.values, self.pipeline = circuit, Values(circuit), Pipeline("pipe", "advance")
        terms = [self._term(term) for term in circuit.terms]
        sums = [self._sum(neuron, terms) for neuron in circuit.neurons]
        self.depth = max((signal.stage or 0 for signal in sums), default=0)
        self.sums = [
            self.pipeline.at(signal, self.depth, _used(neuron))
            for signal, neuron in zip(sums, circuit.neurons, strict=True)
        ]

    def module(self, name: str) -> str:
        """The module of this name."""
        row_bits = self.circuit.format.bits * len(self.circuit.features)
        depth, neurons = self.depth, self.circuit.neurons
        wires = [
            f"    wire [{neuron.bits - 1}:0] sum_{number} = {extended(signal.name, signal.bits, neuron.bits)};"
            for number, (neuron, signal) in enumerate(zip(neurons, self.sums, strict=True))
        ]
        unused = ["row", *(f"sum_{number}" for number in range(len(neurons)))]
        body = runtime(
            "parallel.v",
            {
                "in_top": row_bits - 1,
                "depth": depth,
                "empty": constant(0, depth + 1),
                "next_filled": shifted("filled", "in_valid", depth + 1),
                "sums": "\n".join(
                    [self.pipeline.lines(), *wires, f"    wire unused = &{{1'b0, {', '.join(unused)}}};"]
                ),
            },
        )
        about = "Takes a whole row at once, computes the sums of all networks from it, and lets them vote."
        return module_of_sums(name, self.values, about, row_bits, body)

    def _term(self, term: FeatureTerm) -> Signal:
        values, pipeline, inputs = self.values, self.pipeline, self.circuit.format
        place = f"row[{(term.feature + 1) * inputs.bits - 1}:{term.feature * inputs.bits}]"
        x = pipeline.wire(place, inputs.low, inputs.high, 0, inputs.bits)
        if isinstance(term, NumberTerm):
            if not values.scaled:
                return values.number(pipeline, x, [])
            rows = values.rows(pipeline, x, [values.multiplier(term)])
            return values.number(pipeline, x, [*rows, pipeline.constant(values.offset(term))])
        reading = constant(values.reading(term), inputs.bits)
        return pipeline.flag(f"{x.name} == {reading}" if term.equal else f"$signed({x.name}) >= $signed({reading})", 1)

    def _sum(self, neuron: Neuron, terms: list[Signal]) -> Signal:
        """A sum of all terms: bits by tables of four, numbers shifted, and complements instead of negatives."""
        pipeline, start, bits, operands = self.pipeline, started(self.circuit, neuron), [], []
        for term, signal, weight in zip(self.circuit.terms, terms, neuron.weights.tolist(), strict=True):
            if isinstance(term, BitTerm):
                bits += [(signal.name, 2 * term.level * weight)] if weight else []
                continue
            for b in range(abs(weight).bit_length()):
                if abs(weight) >> b & 1:
                    operands.append(self._shifted(signal, b, negative=weight < 0))
                    # -x = ~x + 1
                    start += (weight < 0) << b
        for place in range(0, len(bits), LEAF_BITS):
            names, points = zip(*bits[place : place + LEAF_BITS], strict=True)
            sums = [start + sum(p for b, p in enumerate(points) if on >> b & 1) for on in range(1 << len(names))]
            width = integer_bits(min(*sums, -1), max(sums))
            leaf = looked_up([constant(value, width) for value in sums], names)
            columns = [tuple(value >> bit & 1 for value in sums) for bit in range(width)]
            cells = [column[0] if len({*column}) == 1 else (names, column) for column in columns]
            operands.append(pipeline.register(leaf, min(sums), max(sums), 2, width, cells))
            start = 0
        if start or not operands:
            operands.append(pipeline.constant(start))
        return pipeline.total(operands, neuron.bits, _used(neuron))

    def _shifted(self, signal: Signal, shift: int, *, negative: bool) -> Signal:
        """A number shifted to the left, or the complement of the number shifted."""
        low, high = signal.low << shift, signal.high << shift
        assert signal.stage is not None
        if negative:
            # A register of its own: adders take complements only from there without further cells.
            signal = self.pipeline.register(
                f"~{signal.name}", -signal.high - 1, -signal.low - 1, signal.stage + 1, signal.bits
            )
            low, high = signal.low << shift, signal.high << shift
        expression = f"{{{signal.name}, {constant(0, shift)}}}" if shift else signal.name
        cells = (*[0] * shift, *signal.cells)
        return self.pipeline.wire(expression, low, high, signal.stage, signal.bits + shift, cells)


def _used(neuron: Neuron) -> slice:
    """Bits of a sum that the vote reads: of one that is no evidence only the sign."""
    return EVERY if neuron.scale else slice(-1, None)
