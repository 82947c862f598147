"""Costs of exported C on a device, estimated before it is compiled.

Table sizes are exact.  Code, stack and instructions are those for a Cortex-M3 with gcc -Os, rounded up; tests compile
and run exports to compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bemi.inputs.export_hooks import CCode, CTransform

LIST, PACKED, NIBBLES = "sum_list.c", "sum_packed.c", "sum_nibbles.c"
WORDS, BATCHES = "sum_words.c", "sum_batches.c"
"""Files of the runtime that add up inputs, by how weights are stored."""

CODE = {
    LIST: 230,
    PACKED: 100,
    NIBBLES: 110,
    WORDS: 130,
    BATCHES: 0,
    "batches.c": 170,
    "stream.c": 120,
    "stream_proba.c": 40,
    "smooth.c": 180,
    "vote_table.c": 90,
    "vote_layers.c": 330,
    "pairs.c": 380,
    "sets.c": 420,
    "evidence.c": 240,
    "single.c": 40,
    "neuron.c": 30,
    "scale.c": 60,
    "probabilities.c": 400,
    "probabilities_pair.c": 60,
    "unknown.c": 280,
    "learn.c": 420,
    "learn_stream.c": 140,
    "unknown.c, columns": 320,
}
"""Bytes of code by file of the runtime."""

FRAMES = 200
"""Bytes of stack for calls and local variables, without the arrays."""

ELECTION = 80
"""Bytes of stack for a decision in a function of its own, because probabilities need it, too."""

ADDITION = 4.9
GROUP = 34
"""Instructions for adding one input from a list, and for one group of inputs in it."""

UNPACKING, BIT = 13, 0.9
"""Instructions for adding one input with a packed weight, and for each bit of the weight."""

HALF_BYTE, WORD = 6, 7
"""Instructions for adding one input with a weight of half a byte, and for one word."""

BATCH_WEIGHT, BATCH_ITSELF = 2.1, 90
"""Instructions for adding one input of a batch, and for a batch."""

NETWORK = 120
NEURON = 30
"""Instructions for one network, and for each neuron after its first, without their sums."""

COUNT = 8
CLASS = 30
"""Instructions for reading one vote while counting those of one class, and for comparing a class with the best."""

UPPER = 14
"""Instructions for one weight above the first layer."""


@dataclass(frozen=True)
class Work:
    """Upper bounds on the work of one prediction.

    Attributes
    ----------
    file, bits
        File of the runtime that adds up inputs, and bits of a packed weight, else 0.
    batches
        Batches of inputs, each of which is added to all sums; 0 if inputs are stored.
    networks, classes
        Number of networks and classes.
    additions, groups, neurons
        Additions of inputs, groups of them, and neurons after the first of each network, for all votes.
    tie_additions, tie_groups, tie_neurons
        The same for all evidence.
    upper
        Weights above the first layer that are multiplied.
    by_evidence
        Whether evidence decides ties.
    """

    file: str
    bits: int
    batches: int
    networks: int
    classes: int
    additions: int
    groups: int
    neurons: int
    tie_additions: int
    tie_groups: int
    tie_neurons: int
    upper: int
    by_evidence: bool


@dataclass(frozen=True)
class Costs:
    """Resources that the exported code needs.

    Attributes
    ----------
    flash, tables
        Bytes of flash, and how many of them are tables.
    stack
        Bytes of stack.  The only other RAM is the input, and the state of each stream.
    additions
        Maximum number of additions of inputs in one prediction.
    instructions, without_tie
        Maximum number of instructions in one prediction, with a tie that needs evidence and without one.
    state
        Bytes of RAM that the caller has for each stream: its last samples, and its last labels if they are smoothed.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import c
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> costs = c.export(clf).costs
    >>> len(costs.in_words()) > 0
    True
    """

    flash: int
    tables: int
    stack: int
    additions: int
    instructions: int
    without_tie: int
    state: int = 0

    def in_words(self) -> list[str]:
        """The costs as human-readable lines.

        Examples
        --------
        >>> print(costs.in_words()[0])
        At most, on a Cortex-M3 and compiled with gcc -Os:
        """
        ram = f"the input and {self.stack} bytes of stack; nothing static, nothing allocated"
        if self.state:
            ram = f"{self.state} bytes for each stream, {self.stack} of stack; nothing static, nothing allocated"
        return [
            "At most, on a Cortex-M3 and compiled with gcc -Os:",
            f"  flash  {self.flash} bytes, of which tables take {self.tables}",
            f"  RAM    {ram}",
            f"  time   {self.additions} additions of inputs, {self.instructions} instructions "
            f"({self.without_tie} without a tie)",
        ]


def costs(
    files: Iterable[str],
    tables: int,
    arrays: int,
    work: Work,
    transform: CTransform | None,
    *others: CCode | None,
    state: int = 0,
    further: int = 0,
) -> Costs:
    """Costs of an export.

    Parameters
    ----------
    files
        Files of the runtime.
    tables
        Bytes of tables.
    arrays
        Bytes of arrays on the stack, without those of the transform.
    work
        Work of a prediction after the transform.
    transform
        The code of the transform, None without one.
    others
        Further code, which is not part of a prediction, such as that for scaling readings; None without one.
    state
        Bytes of RAM for each stream.
    further
        Instructions of a prediction after the vote.
    """
    first_layer = steps(work.file, work.additions, work.groups, work.bits)
    if work.batches:
        first_layer = BATCH_WEIGHT * work.additions + BATCH_ITSELF * work.batches
    plain = (
        first_layer
        + work.networks * (NETWORK + COUNT * work.classes)
        + CLASS * work.classes
        + NEURON * work.neurons
        + UPPER * work.upper
        + (0 if transform is None else transform.instructions)
        + further
    )
    tie = steps(work.file, work.tie_additions, work.tie_groups, work.bits)
    tie += 2 * work.networks * (NETWORK + COUNT * work.classes)
    tie += NEURON * work.tie_neurons
    return Costs(
        flash=tables
        + sum(CODE.get(name, 0) for name in files)
        + sum(0 if part is None else part.code_bytes for part in (transform, *others)),
        tables=tables,
        stack=arrays + FRAMES + (0 if transform is None else transform.stack_bytes),
        additions=work.additions + work.tie_additions,
        instructions=round(plain + tie) if work.by_evidence else round(plain),
        without_tie=round(plain),
        state=state,
    )


def steps(file: str, additions: int, groups: int, bits: int) -> float:
    """Instructions for adding inputs; only lists have groups."""
    if file == LIST:
        return additions * ADDITION + groups * GROUP
    if file == PACKED:
        return additions * (UNPACKING + BIT * bits)
    return additions * (WORD if file == WORDS else HALF_BYTE)
