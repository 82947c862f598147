"""First-layer weights as words of half a byte; ``runtime/sum_words.c`` reads them.

Few-bit networks have many small weights and many gaps.  A word means: move on by a step, then add a weight times the
input there.  Sixteen words for the usual steps and weights take little more room than the best code of single weights,
and are read without a branch.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from bemi.exact import Integers

Word = tuple[int, int]
"""Step and weight."""

NOTHING: Word = (0, 0)
"""Fills the last byte."""

WIDE: tuple[Word, ...] = (
    *(NOTHING, (0, 3), (0, -3), (1, 1), (1, -1), (1, 2), (1, -2), (1, 3), (1, -3), (1, 4), (1, -4)),
    *((2, 1), (2, -1), (2, 0), (5, 0), (12, 0)),
)
NARROW: tuple[Word, ...] = (
    *(NOTHING, (0, 1), (0, -1), (1, 1), (1, -1), (1, 2), (1, -2), (2, 1), (2, -1), (3, 1), (3, -1), (4, -1)),
    *((4, 0), (8, 0), (12, 0), (32, 0)),
)
DICTIONARIES = (WIDE, NARROW)
"""For P = 7 and for smaller bounds, with the fewest words on MNIST and Fashion-MNIST with ten images per class.  Any
weight can be written with either."""

BYTES_OF_WORDS = 2
"""Neurons are a multiple of this long, because that many bytes are read at a time."""


def spelled(column: Integers, dictionary: tuple[Word, ...]) -> bytes:
    """The weights of one neuron, two words in a byte, lower half first."""
    linked = np.flatnonzero(column)
    steps = np.diff(linked, prepend=-1).tolist()
    codes = [code for event in zip(steps, column[linked].tolist(), strict=True) for code in _codes(dictionary, *event)]
    codes += [dictionary.index(NOTHING)] * (-len(codes) % (2 * BYTES_OF_WORDS))
    return bytes(low | high << 4 for low, high in zip(codes[::2], codes[1::2], strict=True))


def _codes(dictionary: tuple[Word, ...], step: int, weight: int) -> tuple[int, ...]:
    """The fewest words that move on by a step and add a weight there; positions in the dictionary."""
    longest = max(dictionary)
    # A long gap begins with the longest steps: only the end of it needs thought.
    many = max(0, step // longest[0] - 2)
    rest = _fewest(dictionary, step - many * longest[0], weight)
    assert rest is not None, "every weight can be written"
    return (dictionary.index(longest),) * many + rest


@cache
def _fewest(dictionary: tuple[Word, ...], step: int, weight: int) -> tuple[int, ...] | None:
    """The same; None if there is no way."""
    if step == weight == 0:
        return ()
    ways = []
    for code, (own_step, own_weight) in enumerate(dictionary):
        # Nothing is added on the way.  Once there, every word brings the rest nearer to 0.
        if own_weight == 0 and 0 < own_step <= step:
            ways.append((code, _fewest(dictionary, step - own_step, weight)))
        elif own_weight != 0 and own_step == step and (step > 0 or 0 < own_weight * weight <= weight * weight):
            ways.append((code, _fewest(dictionary, 0, weight - own_weight)))
    return min(((code, *rest) for code, rest in ways if rest is not None), key=len, default=None)
