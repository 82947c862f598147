"""Pipelines in Verilog: each adder ends in a register, and values that are early wait for those that are late."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from bemi.export.verilog.blocks import constant, extended
from bemi.export.verilog.circuit import integer_bits

EVERY = slice(None)
"""All bits of a signal."""


@dataclass(frozen=True)
class Signal:
    """A value in Verilog, in two's complement.

    Attributes
    ----------
    name
        Name of its wire or register.
    bits
        Width.
    low, high
        Smallest and largest value.
    stage
        Clocks after which it is there; None if it never changes.
    cells
        What its bits are, the lowest first: 0, 1, or anything that equal bits share.
    """

    name: str
    bits: int
    low: int
    high: int
    stage: int | None
    cells: tuple[Hashable, ...]

    @property
    def changing(self) -> int:
        """Bits that change."""
        return len({*self.cells} - {0, 1})


class Cells:
    """Full adders and registers of single bits as a synthesizer keeps them: equal ones once, and only those needed.

    A cell is a number; 0 and 1 are constants.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Hashable, ...], int] = {}
        self._cells: list[tuple[Hashable, ...]] = [(), ()]
        self._needed: set[int] = set()

    def given(self, bit: Hashable) -> int:
        """A bit from elsewhere, or a cell as it is."""
        return bit if isinstance(bit, int) else self._cell("given", bit)

    def register(self, bit: Hashable) -> int:
        """A register of a bit."""
        cell = self.given(bit)
        return cell if cell < 2 else self._cell("register", cell)

    def added(self, first: Hashable, second: Hashable, carry: int) -> tuple[int, int]:
        """The sum of three bits, and what it carries."""
        a, b, c = (*sorted((self.given(first), self.given(second))), carry)
        changing = [cell for cell in (a, b, c) if cell > 1]
        ones = (a, b, c).count(1)
        if len(changing) < 2 and not (changing and ones):
            return (changing[0], 0) if changing else (ones & 1, ones >> 1)
        made = self._cell("sum", a, b, c)
        # Two equal constants decide what is carried; two different ones hand on the third bit.
        if len(changing) == 1:
            return made, changing[0] if ones == 1 else 1
        return made, self._cell("carry", a, b, c)

    def need(self, cells: Iterable[Hashable]) -> None:
        """Keep these, and all that they are made of."""
        left = [self.given(cell) for cell in cells]
        while left:
            cell = left.pop()
            if cell not in self._needed:
                self._needed.add(cell)
                left += [part for part in self._cells[cell][1:] if isinstance(part, int)]

    def count(self, kind: str) -> int:
        """Cells of a kind, ``register`` or ``sum``, that are needed."""
        return sum(self._cells[cell][:1] == (kind,) for cell in self._needed)

    def _cell(self, *made_of: Hashable) -> int:
        if made_of not in self._numbers:
            self._numbers[made_of] = len(self._cells)
            self._cells.append(made_of)
        return self._numbers[made_of]


class Pipeline:
    """Registers that make up a pipeline.

    Parameters
    ----------
    prefix
        What the names of its registers begin with.
    enable
        The wire that lets it move; None if it always moves.

    Attributes
    ----------
    tables
        Bits of all tables that are looked up.
    """

    def __init__(self, prefix: str, enable: str | None = None) -> None:
        self._prefix, self._enable = prefix, enable
        self._declared: list[str] = []
        self._assigned: list[str] = []
        self._known: dict[tuple[str, int, int | None], Signal] = {}
        self._cells, self.tables = Cells(), 0

    @property
    def flip_flops(self) -> int:
        """Bits of all registers."""
        return self._cells.count("register")

    @property
    def adders(self) -> int:
        """Bits of all adders."""
        return self._cells.count("sum")

    def wire(
        self,
        expression: str,
        low: int,
        high: int,
        stage: int | None,
        bits: int | None = None,
        cells: Sequence[Hashable] | None = None,
    ) -> Signal:
        """A wire, as wide as its range unless ``bits`` says otherwise."""
        return self._named(expression, low, high, stage, bits, cells, registered=False)

    def given(self, name: str, bits: int, stage: int) -> Signal:
        """A value of this name from elsewhere."""
        low, high = -1 << bits - 1, (1 << bits - 1) - 1
        return Signal(name, bits, low, high, stage, tuple((name, bit) for bit in range(bits)))

    def constant(self, value: int) -> Signal:
        """A value that never changes."""
        bits = _bits(value, value)
        return self.wire(constant(value, bits), value, value, None, bits, [value >> bit & 1 for bit in range(bits)])

    def register(
        self,
        expression: str,
        low: int,
        high: int,
        stage: int,
        bits: int | None = None,
        cells: Sequence[Hashable] | None = None,
    ) -> Signal:
        """A register of an expression over signals of the stage before ``stage``; equal ones are one."""
        made = self._named(expression, low, high, stage, bits, cells, registered=True)
        self._cells.need(made.cells)
        return made

    def flag(self, expression: str, stage: int) -> Signal:
        """A register of one bit, which has no sign."""
        return self.register(expression, 0, 1, stage, 1)

    def at(self, signal: Signal, stage: int, used: slice = EVERY) -> Signal:
        """The signal at a later stage, of which the bits ``used`` are."""
        signal = self._at(signal, stage)
        self._cells.need(signal.cells[used])
        return signal

    def rows(self, number: Signal, multipliers: Sequence[int], selector: str) -> list[Signal]:
        """What adds up to the product of a number that has no sign and the multiplier in the wire ``selector``."""
        columns = [tuple(m >> b & 1 for m in multipliers) for b in range(max(multipliers).bit_length())]
        rows = []
        for b, column in enumerate(columns):
            if any(column):
                bits, gated = number.bits, number
                if not all(column):
                    # Bits that are equal in all multipliers share their cells.
                    condition = f"{selector}[{columns.index(column)}]"
                    choice = f"{condition} ? {number.name} : {constant(0, bits)}"
                    gated = self._named(choice, 0, number.high, (number.stage or 0) + 1, bits, None, registered=True)
                moved = f"{{1'b0, {gated.name}{f', {constant(0, b)}' if b else ''}}}"
                cells = (*[0] * b, *gated.cells, 0)
                rows.append(self.wire(moved, 0, number.high << b, gated.stage, bits + b + 1, cells))
        return rows

    def total(self, operands: Iterable[Signal], bits: int, used: slice = EVERY) -> Signal:
        """The sum, by a tree of adders that adds what is there first; at most ``bits`` wide, it wraps.

        Only the bits ``used`` are.
        """
        # Of those that are there together the widest come first, since one that is left over has to be kept.
        queue = [(-1 if s.stage is None else s.stage, -s.bits, number, s) for number, s in enumerate(operands)]
        heapq.heapify(queue)
        number = len(queue)
        while len(queue) > 1:
            stage_a, *_, a = heapq.heappop(queue)
            stage_b, *_, b = heapq.heappop(queue)
            stage = max(stage_a, stage_b, 0)
            low, high = a.low + b.low, a.high + b.high
            width = min(_bits(low, high), bits)
            delayed = [self._at(s, stage) for s in (a, b)]
            parts = [extended(s.name, s.bits, width) for s in delayed]
            cells, carry = [], 0
            for first, second in zip(*(_widened(s.cells, width) for s in delayed), strict=True):
                cell, carry = self._cells.added(first, second, carry)
                cells.append(cell)
            made = self._named(" + ".join(parts), low, high, stage + 1, width, cells, registered=True)
            heapq.heappush(queue, (stage + 1, -width, number, made))
            number += 1
        total = queue[0][-1] if queue else self.constant(0)
        self._cells.need(total.cells[used])
        return total

    def lines(self) -> str:
        """The registers in Verilog."""
        if not self._declared:
            return ""
        lines, names = self._declared, ", ".join(signal.name for signal in self._known.values())
        if self._assigned:
            lines = [*lines, "    always @(posedge clk) begin", *self._assigned, "    end"]
            if self._enable:
                lines[lines.index("    always @(posedge clk) begin")] = (
                    f"    always @(posedge clk) if ({self._enable}) begin"
                )
        return "\n".join([*lines, f"    wire unused_{self._prefix} = &{{1'b0, {names}}};"])

    def _at(self, signal: Signal, stage: int) -> Signal:
        while signal.stage is not None and signal.stage < stage:
            expression, low, high = signal.name, signal.low, signal.high
            signal = self._named(expression, low, high, signal.stage + 1, signal.bits, signal.cells, registered=True)
        return signal

    def _named(
        self,
        expression: str,
        low: int,
        high: int,
        stage: int | None,
        bits: int | None,
        cells: Sequence[Hashable] | None,
        *,
        registered: bool,
    ) -> Signal:
        bits = _bits(low, high) if bits is None else bits
        key = expression, bits, stage
        if key in self._known:
            return replace(self._known[key], low=low, high=high)
        name = f"{self._prefix}_{len(self._known)}"
        cells = bits_of(expression, low, high, bits) if cells is None else tuple(cells)
        if registered:
            self._declared.append(f"    reg [{bits - 1}:0] {name};")
            self._assigned.append(f"        {name} <= {expression};")
            cells = tuple(self._cells.register(cell) for cell in cells)
        else:
            self._declared.append(f"    wire [{bits - 1}:0] {name} = {expression};")
        made = self._known[key] = Signal(name, bits, low, high, stage, cells)
        # A register that is 0 unless something holds is reset, which takes no table.
        is_reset = registered and expression.endswith(f" : {constant(0, bits)}")
        self.tables += made.changing if " ? " in expression and not is_reset else 0
        return made


def bits_of(name: str, low: int, high: int, bits: int) -> tuple[Hashable, ...]:
    """The bits of a value about which only its range is known, and that zeros or ones are above it."""
    changing = bits if low < 0 <= high else min(bits, high.bit_length() if high >= 0 else (~low).bit_length())
    return (*((name, bit) for bit in range(changing)), *[int(low < 0)] * (bits - changing))


def _widened(cells: Sequence[Hashable], bits: int) -> Sequence[Hashable]:
    """The bits of a value in two's complement in another number of bits."""
    return (*cells[:bits], *[cells[-1]] * (bits - len(cells)))


def _bits(low: int, high: int) -> int:
    return integer_bits(min(low, -1), high)
