"""First-layer weights as bytes: lists, packed or words; the files ``runtime/sum_*.c`` read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.exact import Integers
from bemi.export.c.costs import LIST, NIBBLES, PACKED, WORDS, steps
from bemi.export.c.dictionary_coding import DICTIONARIES, Word, spelled
from bemi.network import bits_per_weight

LONGEST_STEP = LARGEST_GROUP = 255
MOST_GROUPS = 255
LARGEST_LISTED = 63
"""Weights of lists, and their differences from a base weight, are signed bytes."""

WIDEST = 24
"""Maximum bits of a packed weight."""


@dataclass(frozen=True)
class Encoded:
    """Weights of all neurons.

    Attributes
    ----------
    file
        File of the runtime that reads them.
    neurons
        Bytes of each neuron.  In lists with common inputs, the last neuron is their sum.
    has_common
        Whether neurons refer to a sum of common inputs.
    additions
        Number of inputs added for each neuron.
    groups
        Number of products of a weight and a sum of inputs, for each neuron.
    bits
        Bits of a packed weight, else 0.
    dictionary
        Step and weight of each word, if there are words.
    """

    file: str
    neurons: tuple[bytes, ...]
    has_common: bool
    additions: tuple[int, ...]
    groups: tuple[int, ...]
    bits: int = 0
    dictionary: tuple[Word, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all neurons."""
        return sum(map(len, self.neurons))

    @property
    def steps(self) -> float:
        """Instructions for the sums of all neurons."""
        return steps(self.file, sum(self.additions), sum(self.groups), self.bits)


def packed(columns: Integers, weight_bound: int) -> Encoded:
    """Each neuron as its first linked input, the number of inputs up to the last linked one, and packed weights.

    Parameters
    ----------
    columns
        Shape (inputs, neurons).
    weight_bound
        The paper's P: a weight w is stored as w + P.
    """
    bits = bits_per_weight(weight_bound)
    found, additions = [], []
    for column in columns.T:
        used = np.flatnonzero(column)
        start, count = (int(used[0]), int(used[-1] - used[0] + 1)) if len(used) else (0, 0)
        fields = (column[start : start + count] + weight_bound)[:, None] >> np.arange(bits) & 1
        body = np.packbits(fields.astype(np.uint8).reshape(-1), bitorder="little").tobytes()
        found.append(start.to_bytes(2, "little") + count.to_bytes(2, "little") + body)
        additions.append(count)
    file = NIBBLES if bits == 4 else PACKED
    return Encoded(file, tuple(found), False, tuple(additions), tuple(additions), bits=bits)


def worded(columns: Integers, dictionary: tuple[Word, ...]) -> Encoded:
    """Each neuron as words of a dictionary."""
    found = tuple(spelled(column, dictionary) for column in columns.T)
    additions = tuple(2 * len(own) for own in found)
    return Encoded(WORDS, found, False, additions, additions, dictionary=dictionary)


def listed(columns: Integers, with_base: bool = True) -> Encoded:
    """Each neuron as a base weight for the common inputs, and lists of the inputs with another weight.

    With A the common inputs and b the base weight, ``w x = b sum(x_i: i in A) + sum((w_i - b [i in A]) x_i)``.  On
    images, most weights in the middle are +1 or -1, so with one of the two as the base only the others are listed.  The
    common inputs, and the base of each neuron, are chosen to minimise the number of bytes.
    """
    linked = (columns != 0).mean(axis=1)
    # An input is common if more than this share of the neurons has a link to it; with 1, none is.
    shares = (0.25, 0.5, 0.75, 1.0) if with_base else (1.0,)
    return min((_listed(columns, (linked > share).astype(np.int64)) for share in shares), key=lambda made: made.size)


def _listed(columns: Integers, common: Integers) -> Encoded:
    found = []
    for column in columns.T:
        bases = np.unique(column) if common.any() else np.zeros(1, dtype=np.int64)
        base = min(bases.tolist(), key=lambda base: (np.count_nonzero(column - base * common), abs(base)))
        found.append((base, column - base * common))
    has_common = any(base for base, _ in found)
    if has_common:
        found.append((0, common))
    groups = [_groups(rest) for _, rest in found]
    return Encoded(
        file=LIST,
        neurons=tuple(
            base.to_bytes(1, "little", signed=True) + bytes([len(own)]) + b"".join(own)
            for (base, _), own in zip(found, groups, strict=True)
        ),
        has_common=has_common,
        additions=tuple(int(np.count_nonzero(rest)) for _, rest in found),
        groups=tuple(map(len, groups)),
    )


def _groups(column: Integers) -> list[bytes]:
    """Groups of inputs with equal weight: the weight, the count after the first, the first, and steps to the others."""
    groups: list[bytes] = []
    for weight in np.unique(column[column != 0]).tolist():
        inputs = np.flatnonzero(column == weight)
        while len(inputs):
            steps = np.diff(inputs[: LARGEST_GROUP + 1])
            far = np.flatnonzero(steps > LONGEST_STEP)
            count = int(far[0]) if len(far) else len(steps)
            head = weight.to_bytes(1, "little", signed=True) + bytes([count])
            groups.append(head + int(inputs[0]).to_bytes(2, "little") + bytes(steps[:count].tolist()))
            inputs = inputs[count + 1 :]
    return groups


def encoded(columns: Integers, weight_bound: int, optimize: str, with_base: bool = True) -> Encoded:
    """Weights in the format that needs the fewest bytes or steps.

    Parameters
    ----------
    columns
        Shape (inputs, neurons).
    weight_bound
        The paper's P.
    optimize
        ``"size"`` or ``"speed"``.
    with_base
        Whether lists may have base weights, which can make partial sums larger than the result.
    """
    choices = []
    if bits_per_weight(weight_bound) <= WIDEST:
        choices.append(packed(columns, weight_bound))
    if weight_bound <= LARGEST_LISTED and all(map(_can_be_listed, columns.T)):
        choices.append(listed(columns, with_base))
    # C has no empty tables.
    if weight_bound <= LARGEST_LISTED and columns.any():
        choices += [worded(columns, dictionary) for dictionary in DICTIONARIES]
    if not choices:
        raise ValueError(f"weights up to {weight_bound} are too large to export; the most is {2 ** (WIDEST - 1) - 1}")
    if optimize == "size":
        return min(choices, key=lambda made: made.size)
    return min(choices, key=lambda made: made.steps)


def _can_be_listed(column: Integers) -> bool:
    # A base weight may add the inputs without a link to the groups.
    return len(_groups(column)) < MOST_GROUPS // 2
