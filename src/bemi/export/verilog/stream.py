"""Sums in Verilog that are added up while features arrive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from bemi.export.verilog.blocks import (
    Memory,
    address_bits,
    choice,
    constant,
    extended,
    memory,
    packed,
    runtime,
    shifted,
    sliced,
)
from bemi.export.verilog.circuit import Circuit, Neuron, integer_bits
from bemi.export.verilog.pipeline import Pipeline, Signal
from bemi.export.verilog.sums import Values, module_of_sums, started
from bemi.inputs.circuit_terms import BitTerm, NumberTerm


@dataclass(frozen=True)
class Field:
    """A part of the word that controls a step: its name, its width, and its value in each step."""

    name: str
    bits: int
    values: list[int]

    @property
    def memory(self) -> Memory:
        """The part by itself."""
        return Memory([value % (1 << self.bits) for value in self.values], self.bits, rest=self.values[-1])


@dataclass(frozen=True)
class Fields:
    """The words that control the steps."""

    fields: list[Field]

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return any(field.name == name for field in self.fields)

    @property
    def stage(self) -> int:
        """Clocks from a step to its word: block RAM is slow, so a register follows it."""
        return 2 if self.memory and self.memory.block_rams else 1

    def signal(self, name: str, pipeline: Pipeline) -> Signal:
        """A field in its stage."""
        (field,) = (field for field in self.fields if field.name == name)
        low, high = min(field.values), max(field.values)
        cells: list[Hashable] = []
        for bit in range(field.bits):
            column = tuple(word >> bit & 1 for word in field.memory.words)
            # Block RAM keeps equal columns apart.
            cells.append(column[0] if len({*column}) == 1 else (name, bit) if self.stage == 2 else column)
        return pipeline.at(Signal(name, field.bits, low, high, 1, tuple(cells)), self.stage)

    @cached_property
    def memory(self) -> Memory | None:
        """All fields side by side, the first in the lowest bits; None without any."""
        if not self.fields:
            return None
        words, start = [0] * len(self.fields[0].values), 0
        for field in self.fields:
            words = [word | more << start for word, more in zip(words, field.memory.words, strict=True)]
            start += field.bits
        return Memory(words, start, rest=words[-1])

    def lines(self, step_bits: int) -> list[str]:
        """The memory in Verilog, and a wire for each field."""
        if self.memory is None:
            return []
        bits = self.memory.bits
        lines, start = [f"    reg [{bits - 1}:0] control;"], 0
        for field in self.fields:
            top = start + field.bits - 1
            place, width = (f"[{start}]", "") if field.bits == 1 else (f"[{top}:{start}]", f"[{field.bits - 1}:0] ")
            lines.append(f"    wire {width}{field.name} = control{place};")
            start = top + 1
        rom = memory("step", "control", self.memory.words, step_bits, bits)
        unused = ", ".join(field.name for field in self.fields)
        return [
            *lines,
            "    always @(posedge clk) begin",
            rom,
            "    end",
            f"    wire unused_fields = &{{1'b0, {unused}}};",
        ]


class Stream:
    """The module of a stream of features.

    Attributes
    ----------
    circuit
        The circuit.
    steps
        For each step, the feature and the position of its term, None for a feature without one.
    lasts
        For each step, whether it is the last one of its feature.
    word_bits
        Bits of one neuron's weight.
    making
        The pipeline from a feature, in its stage 1, to a value.
    made
        The value, 0 if it changes no sum.
    step_of_value
        The step of the value.
    multiplying
        The pipeline from values and weights to products.
    products
        What is added to each sum, if weights have several bits.
    delay
        Clocks from a value to having added it.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.values = circuit, Values(circuit)
        without: list[int | None] = [None]
        self.steps = [(feature, term) for feature, terms in enumerate(circuit.features) for term in terms or without]
        features = [feature for feature, _ in self.steps]
        self.lasts = [int(feature != after) for feature, after in zip(features, [*features[1:], None], strict=True)]
        self.word_bits = 1 + circuit.ensemble.weight_bound.bit_length()
        if circuit.bits_only:
            largest = max([1, *self._points()])
            self.word_bits = integer_bits(-largest, largest)
        self.making, self.multiplying = Pipeline("made"), Pipeline("product")
        self.made = self._made()
        self.step_of_value = self.making.at(self.making.given("step", address_bits(len(self.steps)), 0), self.stages)
        self.products = [] if circuit.bits_only or self.word_bits == 2 else self._products()
        self.delay = 1 + max((product.stage or 0 for product in self.products), default=0)

    @property
    def stages(self) -> int:
        """Clocks from taking a feature to its value."""
        assert self.made.stage is not None
        return self.made.stage

    @cached_property
    def weights(self) -> Memory:
        """The weights of all neurons in each step."""
        words = [self._word(index) for _, index in self.steps]
        return Memory(words, max(1, self.word_bits * len(self.circuit.neurons)), rest=0)

    @cached_property
    def control(self) -> Fields:
        """What each step does."""
        values = self.values
        terms = [None if index is None else self.circuit.terms[index] for _, index in self.steps]
        bits = [term if isinstance(term, BitTerm) else None for term in terms]
        numbers = [term if isinstance(term, NumberTerm) else None for term in terms]
        fields: list[Field] = []
        if any(bits):
            fields.append(Field("equal", 1, [int(t is not None and t.equal) for t in bits]))
            fields.append(Field("reading", self.circuit.format.bits, [values.reading(t) if t else 0 for t in bits]))
        if any(bits) and values.numbers:
            fields.append(Field("is_number", 1, [int(t is not None) for t in numbers]))
        if values.scaled:
            multipliers = [values.multiplier(t) if t else 0 for t in numbers]
            fields.append(Field("multiplier", values.multiplier_bits, multipliers))
            fields.append(Field("offset", values.wide_bits, [values.offset(t) if t else 0 for t in numbers]))
        return Fields(fields)

    def module(self, name: str) -> str:
        """The module of this name."""
        circuit, steps, step_bits = self.circuit, len(self.steps), address_bits(len(self.steps))
        stages, delay = self.stages, self.delay
        value_bits = 1 if circuit.bits_only else self.values.bits
        step = self.step_of_value.name
        body = runtime(
            "stream.v",
            {
                "in_top": circuit.format.bits - 1,
                "step_top": step_bits - 1,
                "final_step": constant(steps - 1, step_bits),
                "zero_step": constant(0, step_bits),
                "one_step": constant(1, step_bits),
                "control": "\n".join([*self._last(step_bits), *self.control.lines(step_bits), self.making.lines()]),
                "made": self.made.name,
                "weights_top": self.weights.bits - 1,
                "value_top": value_bits - 1,
                "minus_register": "" if circuit.bits_only else f"    reg [{value_bits - 1}:0] minus;",
                "made_top": stages - 1,
                "delay_top": delay - 1,
                "finish_top": stages + delay - 1,
                "none_taken": constant(0, stages),
                "none_adding": constant(0, delay),
                "none_finishing": constant(0, stages + delay),
                "next_taken": shifted("taken", "take", stages),
                "next_adding": shifted("adding", "adds", delay),
                "next_finishing": shifted("finishing", "take && final_step", stages + delay),
                "made_any": f"{self.made.name} != {constant(0, value_bits)}",
                "minus": "" if circuit.bits_only else f"        minus <= -{self.made.name};",
                "rom": memory(step, "weights", self.weights.words, step_bits, self.weights.bits),
                "sums": self._sums(),
            },
        )
        about = "Adds up the sums of all networks while features arrive, one step per clock, and lets them vote."
        return module_of_sums(name, self.values, about, circuit.format.bits, body)

    def _points(self) -> list[int]:
        """Magnitudes of what bits add to sums."""
        bits = [(index, t.level) for index, t in enumerate(self.circuit.terms) if isinstance(t, BitTerm)]
        return [2 * level * int(abs(n.weights[index])) for n in self.circuit.neurons for index, level in bits]

    def _word(self, index: int | None) -> int:
        """Weights of all neurons in a step."""
        if index is None:
            return 0
        weights = [int(neuron.weights[index]) for neuron in self.circuit.neurons]
        term = self.circuit.terms[index]
        if self.circuit.bits_only:
            assert isinstance(term, BitTerm)
            return packed((2 * term.level * weight for weight in weights), self.word_bits)
        # The magnitude, below the sign.
        top = self.word_bits - 1
        return packed((abs(weight) + (int(weight < 0) << top) for weight in weights), self.word_bits)

    def _last(self, step_bits: int) -> list[str]:
        """The wire ``last``: whether the step is the last one of its feature."""
        if all(self.lasts):
            return ["    wire last = 1'b1;"]
        values = [constant(last, 1) for last in self.lasts]
        return ["    reg last;", "    always @* begin", choice("step", "last", values, step_bits), "    end"]

    def _made(self) -> Signal:
        """The value of a step, from ``data`` and the fields of ``control``."""
        values, pipeline, inputs, control = self.values, self.making, self.circuit.format, self.control
        data = pipeline.at(pipeline.given("data", inputs.bits, 1), control.stage)
        tested = control.stage + 1
        has_bits = control.has("reading")
        holds = pipeline.flag("^data", tested)
        if has_bits:
            reading = control.signal("reading", pipeline).name
            tests = (f"{data.name} == {reading}", f"$signed({data.name}) >= $signed({reading})")
            equal = pipeline.at(control.signal("equal", pipeline), tested).name
            same, least = (pipeline.flag(test, tested).name for test in tests)
            holds = pipeline.wire(f"{equal} ? {same} : {least}", 0, 1, tested, 1)
        if self.circuit.bits_only:
            return holds
        rows = []
        if values.scaled:
            multipliers = [values.multiplier(term) for term in values.numbers]
            rows = values.rows(pipeline, data, multipliers, control.signal("multiplier", pipeline).name)
            rows.append(control.signal("offset", pipeline))
        number = values.number(pipeline, data, rows)
        if not has_bits:
            return number
        (level,) = {term.level for term in self.circuit.terms if isinstance(term, BitTerm)}
        stage = max(number.stage or 0, tested)
        is_number = control.signal("is_number", pipeline)
        chosen, on, number = (pipeline.at(s, stage) for s in (is_number, holds, number))
        bit = f"({on.name} ? {constant(level, values.bits)} : {constant(-level, values.bits)})"
        return pipeline.wire(f"{chosen.name} ? {number.name} : {bit}", -level, level, stage, values.bits)

    def _products(self) -> list[Signal]:
        """The products of the value with the weights of each neuron."""
        bits, pipeline, found = self.values.bits, self.multiplying, []
        largest = (1 << bits - 1) - 1
        for number in range(len(self.circuit.neurons)):
            low, rows = number * self.word_bits, self.word_bits - 1
            signed = pipeline.wire(f"weights[{low + rows}] ? minus : value", -largest, largest, 0, bits).name
            parts = []
            for b in range(rows):
                shifted_value = f"{{{signed}, {constant(0, b)}}}" if b else signed
                expression = f"weights[{low + b}] ? {shifted_value} : {constant(0, bits + b)}"
                cells = [*[0] * b, *((low + b, bit) for bit in range(bits))]
                parts.append(pipeline.wire(expression, -largest << b, largest << b, 0, bits + b, cells))
            found.append(pipeline.total(parts, bits + rows))
        return found

    def _sums(self) -> str:
        """The registers of the sums, and what is added to them."""
        circuit, neurons = self.circuit, self.circuit.neurons
        if not neurons:
            return "    wire unused = &{1'b0, weights, adding, cleared, value};"
        names = [f"sum_{number}" for number in range(len(neurons))]
        lines = [f"    reg [{neuron.bits - 1}:0] {name};" for name, neuron in zip(names, neurons, strict=True)]
        lines += self._addends()
        lines += ["    // After a prediction the sums start again with what the constant inputs contribute."]
        lines += ["    always @(posedge clk)", "        if (cleared) begin"]
        for name, neuron in zip(names, neurons, strict=True):
            start = started(circuit, neuron) if circuit.bits_only else neuron.constant
            lines += [f"            {name} <= {constant(start, neuron.bits)};"]
        lines += [f"        end else if (adding[{self.delay - 1}]) begin"]
        for number, (name, neuron) in enumerate(zip(names, neurons, strict=True)):
            condition, added = self._added(number, neuron)
            lines += [f"            {condition}{name} <= {name} + {added};"]
        return "\n".join([*lines, "        end"])

    def _addends(self) -> list[str]:
        """What sums are made of: weights, the value and its negative, or products."""
        unused = "    wire unused = &{1'b0, weights, value};"
        if self.circuit.bits_only:
            return [unused]
        if self.products:
            return [self.multiplying.lines(), unused]
        widest = max(neuron.bits for neuron in self.circuit.neurons)
        wide = [
            f"    wire [{widest - 1}:0] {name}_wide = {extended(name, self.values.bits, widest)};"
            for name in ("value", "minus")
        ]
        return [*wide, "    wire unused = &{1'b0, weights, value, minus, value_wide, minus_wide};"]

    def _added(self, number: int, neuron: Neuron) -> tuple[str, str]:
        """When something is added to a sum, and what."""
        low, top = number * self.word_bits, (number + 1) * self.word_bits - 1
        if self.circuit.bits_only:
            return "", sliced("weights", low, top, neuron.bits)
        if self.products:
            product = self.products[number]
            return "", extended(product.name, product.bits, neuron.bits)
        slices = [f"{name}_wide[{neuron.bits - 1}:0]" for name in ("minus", "value")]
        return f"if (weights[{low}]) ", f"(weights[{top}] ? {slices[0]} : {slices[1]})"
