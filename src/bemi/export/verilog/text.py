"""Verilog as text: files of the runtime, constants of a width, and comments that nothing can leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template

LONGEST_TEXT = 200
"""Characters of a text from a model in a comment."""


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
