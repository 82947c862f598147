"""Sums of the neurons in Verilog: added up while features arrive, or computed from a whole row at once."""

from __future__ import annotations

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
    sliced,
    zero_extended,
)
from bemi.export.verilog.circuit import Circuit, Neuron, integer_bits
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

    def functions(self) -> str:
        """Verilog functions for numbers, if there are any that are not taken as they are."""
        if not self.numbers:
            return ""
        inputs, (low, high) = self.circuit.format, self.ends
        if not self.scaled:
            wide = max(self.bits, inputs.bits) + 1
            widened = extended if inputs.signed else zero_extended
            names: dict[str, object] = {"value_top": self.bits - 1, "in_top": inputs.bits - 1}
            if inputs.low < low or high < inputs.high:
                names |= {"wide_top": wide - 1, "wide": widened("x", inputs.bits, wide)}
                return runtime("clipped.v", names | {"value": self._clipped("wide", wide)})
            return runtime("number.v", names | {"value": widened("x", inputs.bits, self.bits)})
        wide, top = self.wide_bits, inputs.bits - 1
        zero = any(term.missing_is_zero for term in self.numbers)
        missing = f"x == {constant(inputs.missing, inputs.bits)} ? {constant(0, self.bits)} : " if zero else ""
        return runtime(
            "scaled.v",
            {
                "value_top": self.bits - 1,
                "in_top": top,
                "multiplier_top": self.multiplier_bits - 1,
                "wide_top": wide - 1,
                "x": zero_extended(f"~x[{top}], x[{top - 1}:0]", inputs.bits, wide),
                "multiplier": zero_extended("multiplier", self.multiplier_bits, wide),
                "shift": self.shift,
                "value": missing + self._clipped("wide", wide),
            },
        )

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Where numbers saturate."""
        (ends,) = {term.bounds for term in self.numbers}
        return ends

    def _clipped(self, name: str, bits: int) -> str:
        """A wide number that saturates."""
        low, high = self.ends
        narrow = f"{name}[{self.bits - 1}:0]"
        return (
            f"$signed({name}) < $signed({constant(low, bits)}) ? {constant(low, self.bits)} : "
            f"$signed({name}) > $signed({constant(high, bits)}) ? {constant(high, self.bits)} : {narrow}"
        )

    def number(self, x: str, term: NumberTerm) -> str:
        """A number of a feature."""
        if not self.scaled:
            return f"number({x})"
        multiplier = constant(self.multiplier(term), self.multiplier_bits)
        return f"number({x}, {multiplier}, {constant(self.offset(term), self.wide_bits)})"

    def reading(self, term: BitTerm) -> int:
        """The reading that a bit compares with, as the circuit is given it."""
        return self.circuit.format.missing if term.reading == MISSING else term.reading


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
        lines, start = [f"    reg [{self.memory.bits - 1}:0] control;"], 0
        for field in self.fields:
            top = start + field.bits - 1
            bits, width = (f"[{start}]", "") if field.bits == 1 else (f"[{top}:{start}]", f"[{field.bits - 1}:0] ")
            lines.append(f"    wire {width}{field.name} = control{bits};")
            start = top + 1
        words = [constant(word, self.memory.bits) for word in self.memory.words]
        return [*lines, "    always @* begin", choice("step", "control", words, step_bits), "    end"]


class Stream:
    """The module of a stream of features.

    Attributes
    ----------
    circuit
        The circuit.
    steps
        For each step, the feature and the position of its term, None for a feature without one.
    word_bits
        Bits of one neuron's weight.
    delay
        Clocks from taking a feature to having added it.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.values = circuit, Values(circuit)
        without: list[int | None] = [None]
        self.steps = [(feature, term) for feature, terms in enumerate(circuit.features) for term in terms or without]
        bound = circuit.ensemble.weight_bound
        self.word_bits, self.delay = 1 + bound.bit_length(), 1 if bound == 1 else 2
        if circuit.bits_only:
            largest = max([1, *self._points()])
            self.word_bits, self.delay = integer_bits(-largest, largest), 1

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
        features = [feature for feature, _ in self.steps]
        lasts = [int(feature != after) for feature, after in zip(features, [*features[1:], None], strict=True)]
        fields: list[Field] = []
        if not all(lasts):
            fields.append(Field("last", 1, lasts))
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
        circuit, steps = self.circuit, len(self.steps)
        step_bits, delay = address_bits(steps), self.delay
        next_of = "{adds}" if delay == 1 else "{adding[0], adds}"
        value_bits = 1 if circuit.bits_only else self.values.bits
        body = runtime(
            "stream.v",
            {
                "step_top": step_bits - 1,
                "final_step": constant(steps - 1, step_bits),
                "zero_step": constant(0, step_bits),
                "one_step": constant(1, step_bits),
                "control": self._control(step_bits),
                "weights_top": self.weights.bits - 1,
                "value_top": value_bits - 1,
                "minus_register": "" if circuit.bits_only else f"    reg [{value_bits - 1}:0] minus;",
                "delay_top": delay - 1,
                "no_delay": constant(0, delay),
                "next_adding": next_of,
                "next_finishing": "{take && final_step}" if delay == 1 else "{finishing[0], take && final_step}",
                "made_any": "made[0]" if circuit.bits_only else "made != " + constant(0, value_bits),
                "minus": "" if circuit.bits_only else "            minus <= -made;",
                "rom": memory("step", "weights", self.weights.words, step_bits, self.weights.bits),
                "sums": self._sums(),
            },
        )
        about = "Adds up the sums of all networks while features arrive, one step per clock, and lets them vote."
        return _module(name, self.values, about, circuit.format.bits, body)

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

    def _control(self, step_bits: int) -> str:
        """The wires ``last`` and ``made``, the value of the step."""
        control, has_bits = self.control, self.control.has("reading")
        lines = [] if control.has("last") else ["    wire last = 1'b1;"]
        lines += control.lines(step_bits)
        if has_bits:
            lines.append("    wire holds = equal ? in_data == reading : $signed(in_data) >= $signed(reading);")
        made_top = 0 if self.circuit.bits_only else self.values.bits - 1
        lines.append(f"    wire [{made_top}:0] made = {self._made(has_bits)};")
        return "\n".join(lines)

    def _made(self, has_bits: bool) -> str:
        values = self.values
        if self.circuit.bits_only:
            return "holds" if has_bits else "^in_data"
        number = "number(in_data, multiplier, offset)" if values.scaled else "number(in_data)"
        if not has_bits:
            return number
        (level,) = {term.level for term in self.circuit.terms if isinstance(term, BitTerm)}
        bit = f"(holds ? {constant(level, values.bits)} : {constant(-level, values.bits)})"
        return f"is_number ? {number} : {bit}"

    def _sums(self) -> str:
        """The registers of the sums, and what is added to them."""
        circuit, neurons = self.circuit, self.circuit.neurons
        if not neurons:
            return "    wire unused = &{1'b0, weights, adding, cleared, value};"
        names = [f"sum_{number}" for number in range(len(neurons))]
        lines = [f"    reg [{neuron.bits - 1}:0] {name};" for name, neuron in zip(names, neurons, strict=True)]
        lines += self._products()
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

    def _products(self) -> list[str]:
        """The value and its negative; where weights have several bits, registers of all products."""
        if self.circuit.bits_only:
            return ["    wire unused = &{1'b0, value, weights};"]
        bits, neurons = self.values.bits, self.circuit.neurons
        lines = []
        if self.delay == 1:
            widest = max(neuron.bits for neuron in neurons)
            for name in ("value", "minus"):
                lines += [f"    wire [{widest - 1}:0] {name}_wide = {extended(name, bits, widest)};"]
            return [*lines, "    wire unused = &{1'b0, weights, value, minus, value_wide, minus_wide};"]
        wide, rows = bits + self.word_bits - 1, self.word_bits - 1
        for name in ("value", "minus"):
            lines += [f"    wire [{wide - 1}:0] {name}_wide = {extended(name, bits, wide)};"]
        products = []
        for number in range(len(neurons)):
            low = number * self.word_bits
            signed, zero = f"signed_{number}", constant(0, wide)
            parts = [f"(weights[{low + b}] ? {f'{signed} << {b}' if b else signed} : {zero})" for b in range(rows)]
            lines += [f"    wire [{wide - 1}:0] {signed} = weights[{low + rows}] ? minus_wide : value_wide;"]
            lines += [f"    reg [{wide - 1}:0] product_{number};"]
            products += [f"            product_{number} <= {' + '.join(parts)};"]
        lines += ["    always @(posedge clk)", "        if (adding[0]) begin", *products, "        end"]
        unused = ", ".join(f"product_{number}" for number in range(len(neurons)))
        return [*lines, f"    wire unused = &{{1'b0, weights, {unused}}};"]

    def _added(self, number: int, neuron: Neuron) -> tuple[str, str]:
        """When something is added to a sum, and what."""
        low, top = number * self.word_bits, (number + 1) * self.word_bits - 1
        if self.circuit.bits_only:
            return "", sliced("weights", low, top, neuron.bits)
        if self.delay == 2:
            return "", extended(f"product_{number}", self.values.bits + self.word_bits - 1, neuron.bits)
        slices = [f"{name}_wide[{neuron.bits - 1}:0]" for name in ("minus", "value")]
        return f"if (weights[{low}]) ", f"(weights[{top}] ? {slices[0]} : {slices[1]})"


def started(circuit: Circuit, neuron: Neuron) -> int:
    """A sum in which no bit is on yet; one that is adds twice its level times the weight."""
    bits = [(int(neuron.weights[index]), t.level) for index, t in enumerate(circuit.terms) if isinstance(t, BitTerm)]
    return neuron.constant - sum(weight * level for weight, level in bits)


def parallel_module(circuit: Circuit, name: str) -> str:
    """The module of this name for whole rows."""
    values, width = Values(circuit), circuit.format.bits
    row_bits = width * len(circuit.features)
    terms = []
    for index, term in enumerate(circuit.terms):
        x = f"row[{(term.feature + 1) * width - 1}:{term.feature * width}]"
        if isinstance(term, NumberTerm):
            terms.append(f"    wire [{values.bits - 1}:0] term_{index} = {values.number(x, term)};")
        else:
            reading = constant(values.reading(term), width)
            holds = f"{x} == {reading}" if term.equal else f"$signed({x}) >= $signed({reading})"
            terms.append(f"    wire term_{index} = {holds};")
    sums = [_sum(circuit, values, number, neuron) for number, neuron in enumerate(circuit.neurons)]
    unused = ["row", *(f"term_{index}" for index in range(len(terms))), *(f"sum_{n}" for n in range(len(sums)))]
    body = runtime(
        "parallel.v",
        {
            "in_top": row_bits - 1,
            "terms": "\n".join(terms),
            "sums": "\n".join([*sums, f"    wire unused = &{{1'b0, {', '.join(unused)}}};"]),
        },
    )
    about = "Takes a whole row at once, computes the sums of all networks from it, and lets them vote."
    return _module(name, values, about, row_bits, body)


def _module(name: str, values: Values, about: str, in_bits: int, body: str) -> str:
    """The module around what makes the sums."""
    circuit = values.circuit
    names = {
        "module": name,
        "about": about,
        "in_top": in_bits - 1,
        "label_top": address_bits(circuit.classes) - 1,
        "unclassified_kind": "wire" if circuit.single else "reg",
        "functions": values.functions(),
        "body": body,
        "vote": vote_of_sums(circuit),
    }
    return runtime("module.v", names)


def _sum(circuit: Circuit, values: Values, number: int, neuron: Neuron) -> str:
    """A sum of all terms."""
    bits, parts = neuron.bits, []
    for index, term in enumerate(circuit.terms):
        weight = int(neuron.weights[index])
        if not weight:
            continue
        if isinstance(term, BitTerm):
            points = constant(2 * term.level * weight, bits)
            parts.append(f" + (term_{index} ? {points} : {constant(0, bits)})")
        else:
            wide = extended(f"term_{index}", values.bits, bits)
            product = wide if abs(weight) == 1 else f"{wide} * {constant(abs(weight), bits)}"
            parts.append(f" {'-' if weight < 0 else '+'} {product}")
    start = constant(started(circuit, neuron), bits)
    return f"    wire [{bits - 1}:0] sum_{number} = {start}{''.join(parts)};"
