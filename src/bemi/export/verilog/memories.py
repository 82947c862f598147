"""Read-only memories, and what they cost on an iCE40."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

BLOCK_RAM = 1024
"""Bits in lookup tables that Yosys finds as expensive as a block RAM."""

SHAPES = ((256, 16), (512, 8), (1024, 4), (2048, 2))
"""Words, and bits of a word, that a block RAM can have."""

LEAST_REGISTERED = 9
"""A combinational memory of so many words is read one clock ahead by Yosys, and gets registers."""

LEAF = 16
"""Words that a lookup table of four inputs holds one bit of."""


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
    found: set[Hashable] = {block for block in blocks if len(set(block)) > 1}
    level: list[Hashable] = [*blocks]
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        # Each level chooses by another bit of the number, so a choice is the same only in its level.
        level = [off if off == on else (len(level), off, on) for off, on in pairs]
        found.update(choice for choice, (off, on) in zip(level, pairs, strict=True) if off != on)
    return found
