"""First-layer weights in C: lists, packed, dictionary-coded or in batches; the files ``runtime/sum_*.c`` read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bemi.exact import Integers
from bemi.export.c.costs import LIST, NIBBLES, PACKED, WORDS, steps
from bemi.inputs.export_hooks import BATCH, BATCH_OFFSET
from bemi.network import bits_per_weight

LONGEST_STEP = LARGEST_GROUP = 255
MOST_GROUPS = 255
LARGEST_LISTED = 63
"""Weights of lists, and their differences from a base weight, are signed bytes."""

WIDEST = 24
"""Maximum bits of a packed weight."""

Word = tuple[int, int]
"""Of a dictionary: move on by a step, then add a weight times the input there.

Few-bit networks have many small weights and many gaps.  Sixteen words for the usual steps and weights, half a byte
each, take little more room than the best code of single weights, and are read without a branch."""

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

AS_WORDS = "words"

BATCH_BITS = 4
"""Bits of a weight in a batch."""


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
    neurons, additions = [], []
    for column in columns.T:
        used = np.flatnonzero(column)
        start, count = (int(used[0]), int(used[-1] - used[0] + 1)) if len(used) else (0, 0)
        fields = (column[start : start + count] + weight_bound)[:, None] >> np.arange(bits) & 1
        body = np.packbits(fields.astype(np.uint8).reshape(-1), bitorder="little").tobytes()
        neurons.append(start.to_bytes(2, "little") + count.to_bytes(2, "little") + body)
        additions.append(count)
    file = NIBBLES if bits == 4 else PACKED
    return Encoded(file, tuple(neurons), False, tuple(additions), tuple(additions), bits=bits)


def dictionary_coded(columns: Integers, dictionary: tuple[Word, ...]) -> Encoded:
    """Each neuron as words of a dictionary."""
    neurons = tuple(code_words(column, dictionary) for column in columns.T)
    additions = tuple(2 * len(words) for words in neurons)
    return Encoded(WORDS, neurons, False, additions, additions, dictionary=dictionary)


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
    parts = []
    for column in columns.T:
        bases = np.unique(column) if common.any() else np.zeros(1, dtype=np.int64)
        base = min(bases.tolist(), key=lambda base: (np.count_nonzero(column - base * common), abs(base)))
        parts.append((base, column - base * common))
    has_common = any(base for base, _ in parts)
    if has_common:
        parts.append((0, common))
    groups = [_groups(rest) for _, rest in parts]
    return Encoded(
        file=LIST,
        neurons=tuple(
            base.to_bytes(1, "little", signed=True) + bytes([len(own)]) + b"".join(own)
            for (base, _), own in zip(parts, groups, strict=True)
        ),
        has_common=has_common,
        additions=tuple(int(np.count_nonzero(rest)) for _, rest in parts),
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
        ``"size"`` or ``"speed"``; :data:`AS_WORDS` for words, whatever they take.
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
        choices += [dictionary_coded(columns, dictionary) for dictionary in DICTIONARIES]
    if not choices:
        raise ValueError(f"weights up to {weight_bound} are too large to export; the most is {2 ** (WIDEST - 1) - 1}")
    if optimize == AS_WORDS:
        choices = [choice for choice in choices if choice.file == WORDS]
        if not choices:
            raise ValueError(f"only weights up to {LARGEST_LISTED}, not all 0, can be data; use 'bemi export c'")
    if optimize in ("size", AS_WORDS):
        return min(choices, key=lambda made: made.size)
    return min(choices, key=lambda made: made.steps)


def _can_be_listed(column: Integers) -> bool:
    # A base weight may add the inputs without a link to the groups.
    return len(_groups(column)) < MOST_GROUPS // 2


def code_words(column: Integers, dictionary: tuple[Word, ...]) -> bytes:
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


@dataclass(frozen=True)
class Batches:
    """Weights of all neurons for sums that grow by a batch of inputs at a time; ``runtime/batches.c`` reads them.

    A transform that hands over its outputs as it finds them (:class:`bemi.inputs.export_hooks.CWindow`) needs no array
    for them: only the sums of the neurons are stored.

    Attributes
    ----------
    words
        For each batch of inputs, a word for each neuron: weights plus P, four bits each, lowest bits first.
    starts
        For each neuron, what its sum starts with: the products of constant inputs, and what takes back that the others
        come plus :data:`BATCH_OFFSET`.
    largest
        No sum exceeds this, nor a part of it.
    """

    words: tuple[int, ...]
    starts: tuple[int, ...]
    largest: int


def weights_in_batches(columns: Integers, order: Sequence[int], constant: int, weight_bound: int) -> Batches:
    """Weights in batches, for a transform that hands over its outputs as it finds them.

    Parameters
    ----------
    columns
        Weights of shape (inputs, neurons).
    order
        Inputs in the order in which they are handed over.
    constant
        Value of all others, whose products the sums start with.
    weight_bound
        The paper's P.
    """
    own = columns[list(order)]
    padded = np.pad(own, ((0, -len(own) % BATCH), (0, 0))).reshape(-1, BATCH, own.shape[1])
    words = ((padded + weight_bound) << (BATCH_BITS * np.arange(BATCH))[:, None]).sum(axis=1)
    starts = constant * (columns.sum(axis=0) - own.sum(axis=0)) - BATCH_OFFSET * own.sum(axis=0)
    largest = weight_bound * (3 * 2 * BATCH_OFFSET * len(own) + abs(constant) * (len(columns) - len(own)))
    return Batches(tuple(words.reshape(-1).tolist()), tuple(starts.tolist()), largest)


def save_memory(inputs: int, neurons: int, weight_bound: int) -> bool:
    """Whether weights have four bits, and the sums of the neurons take no more room than the inputs."""
    return 2 * weight_bound < 2**BATCH_BITS and 4 * neurons <= inputs
