"""Building blocks of the Verilog: constants of a width, choices, read-only memories and their costs, comments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from string import Template

LONGEST_TEXT = 200
"""Characters of a text from a model in a comment."""

BLOCK_RAM = 1024
"""Bits in lookup tables that Yosys finds as expensive as a block RAM."""

SHAPES = ((256, 16), (512, 8), (1024, 4), (2048, 2))
"""Words, and bits of a word, that a block RAM can have."""

LEAST_REGISTERED = 9
"""A combinational memory of so many words is read one clock ahead by Yosys, and gets registers."""

LEAF = 16
"""Words that a lookup table of four inputs holds one bit of."""


class Marked(Template):
    """A template whose names begin with ``%%``: Verilog uses the usual ``$`` itself."""

    delimiter = "%%"


def runtime(name: str, values: Mapping[str, object]) -> str:
    """Text of a file of the runtime, with its marks replaced."""
    return Marked((files("bemi.export.verilog") / "runtime" / name).read_text(encoding="utf-8")).substitute(values)


def constant(value: int, bits: int) -> str:
    """A constant of this many bits, negative ones in two's complement."""
    return f"{bits}'h{value % (1 << bits):x}"


def extended(name: str, bits: int, wanted: int) -> str:
    """A signed value of some bits in another number of bits."""
    if wanted <= bits:
        return name if wanted == bits else f"{name}[{wanted - 1}:0]"
    return f"{{{{{wanted - bits}{{{name}[{bits - 1}]}}}}, {name}}}"


def sliced(name: str, low: int, top: int, wanted: int) -> str:
    """A signed value in some bits of a vector, in another number of bits."""
    more = wanted - (top - low + 1)
    if more <= 0:
        return f"{name}[{low + wanted - 1}:{low}]"
    return f"{{{{{more}{{{name}[{top}]}}}}, {name}[{top}:{low}]}}"


def zero_extended(name: str, bits: int, wanted: int) -> str:
    """A value that is not negative in another number of bits."""
    if wanted <= bits:
        return name if wanted == bits else f"{name}[{wanted - 1}:0]"
    return f"{{{wanted - bits}'h0, {name}}}"


def address_bits(count: int) -> int:
    """Bits that number so many things."""
    return max(1, (count - 1).bit_length())


def packed(values: Iterable[int], bits: int) -> int:
    """Values of this many bits each as one number, the first in the lowest bits."""
    return sum((value % (1 << bits)) << (place * bits) for place, value in enumerate(values))


def choice(selector: str, target: str, values: Sequence[str], bits: int) -> str:
    """A case statement that gives ``target`` the value of a number; the last value stands for all larger numbers."""
    lines = [f"            {constant(number, bits)}: {target} = {value};" for number, value in enumerate(values[:-1])]
    end = f"            default: {target} = {values[-1]};"
    return "\n".join([f"        case ({selector})", *lines, end, "        endcase"])


def memory(selector: str, target: str, words: Sequence[int], bits: int, word_bits: int) -> str:
    """A case statement that reads a memory into the register ``target``; what is not listed is 0."""
    space, listed = " " * 16, [(number, word) for number, word in enumerate(words) if word]
    lines = [f"{space}{constant(number, bits)}: {target} <= {constant(word, word_bits)};" for number, word in listed]
    end = f"{space}default: {target} <= {constant(0, word_bits)};"
    return "\n".join([f"            case ({selector})", *lines, end, "            endcase"])


def shifted(register: str, new: str, bits: int) -> str:
    """What a shift register of this many bits becomes, with a new bit at its lowest place."""
    return f"{{{register}[{bits - 2}:0], {new}}}" if bits > 1 else new


def looked_up(values: Sequence[str], names: Sequence[str]) -> str:
    """The value at the position whose bit i is ``names[i]``."""
    if len(set(values)) == 1:
        return values[0]
    half = len(values) // 2
    off, on = (looked_up(part, names[:-1]) for part in (values[:half], values[half:]))
    return off if on == off else f"({names[-1]} ? {on} : {off})"


def comment(lines: Iterable[str]) -> str:
    """Lines as comments; whatever they contain stays in them.

    A backslash, which could join lines, and everything that is no printable ASCII character become question marks.
    Tools look for orders only at the beginning of a comment, so text from a model must not stand there.
    """
    plain = ("".join(c if " " <= c <= "~" and c != "\\" else "?" for c in line) for line in lines)
    return "\n".join(f"// {line}".rstrip() for line in plain)


def quoted(text: str) -> str:
    """Text from a model inside a comment; long text is cut, since Icarus Verilog refuses very long lines."""
    cut = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 4] + " ..."
    return '"' + cut.replace('"', "'") + '"'


@dataclass(frozen=True)
class Memory:
    """A read-only memory.

    Attributes
    ----------
    words
        Its words; at least one.
    bits
        Bits of a word.
    rest
        What it gives for numbers beyond the words.
    """

    words: Sequence[int]
    bits: int
    rest: int

    @property
    def size(self) -> int:
        """Words that it has room for."""
        return 1 << (len(self.words) - 1).bit_length()

    @cached_property
    def columns(self) -> list[tuple[int, ...]]:
        """The bits of a word, each over all words; those that are constant need no memory and are left out."""
        words = [*self.words, *[self.rest] * (self.size - len(self.words))]
        every = (tuple(word >> bit & 1 for word in words) for bit in range(self.bits))
        return [column for column in every if len(set(column)) > 1]

    @cached_property
    def lanes(self) -> set[tuple[int, ...]]:
        """The columns that differ; lookup tables and flip-flops serve equal ones together."""
        return set(self.columns)

    @property
    def block_rams(self) -> int:
        """Block RAMs; 0 if it is left to lookup tables."""
        columns = len(self.columns)
        fewest = min(-(-self.size // depth) * -(-columns // width) for depth, width in SHAPES)
        return fewest if self.size * columns > BLOCK_RAM * fewest else 0

    @property
    def luts(self) -> int:
        """Lookup tables: one for 16 words of a lane, and one to choose between two; what is equal is shared."""
        return 0 if self.block_rams else len(set().union(*map(_parts, self.lanes)))

    @property
    def flip_flops(self) -> int:
        """Flip-flops of a register that takes its words."""
        return 0 if self.block_rams else len(self.lanes)

    @property
    def registered(self) -> int:
        """Flip-flops that Yosys adds if the memory has no clock."""
        return self.flip_flops if len(self.words) >= LEAST_REGISTERED else 0


def _parts(lane: tuple[int, ...]) -> set[Hashable]:
    """The lookup tables that a lane is made of."""
    blocks = [lane[start : start + LEAF] for start in range(0, len(lane), LEAF)]
    tables: set[Hashable] = {block for block in blocks if len(set(block)) > 1}
    level: list[Hashable] = [*blocks]
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        # Each level chooses by another bit of the number, so a choice is the same only in its level.
        level = [off if off == on else (len(level), off, on) for off, on in pairs]
        tables.update(choice for choice, (off, on) in zip(level, pairs, strict=True) if off != on)
    return tables
