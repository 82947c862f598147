"""What a circuit costs, estimated before it is synthesized.

Cycles are exact.  The rest is for an iCE40, whose lookup tables have four inputs and whose block RAMs have 4,096 bits:
flip-flops and block RAMs by counting the registers and memories that Yosys keeps, lookup tables by what each part
needs.  Tests synthesize small circuits to compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from bemi.export.verilog.blocks import Memory, address_bits
from bemi.export.verilog.circuit import Circuit, Neuron
from bemi.export.verilog.sums import Stream, Values
from bemi.export.verilog.vote import fact_words, member_words
from bemi.inputs.circuit_terms import BitTerm

MEASURED = "Measured by Yosys: nothing yet; make report measures, and writes it here."
"""The line of the header that ``make report`` replaces."""

HANDSHAKE = 10
"""Lookup tables for taking features one by one, besides the counter of steps."""

VOTING = 50
"""Lookup tables for the states of the vote."""

PRODUCT = 2
"""Lookup tables for one bit times one bit in a multiplier: to select it, and to add it."""

ADDER = 0.68
"""Lookup tables for adding one bit of a link in a sum of many numbers."""

THRESHOLD = 0.35
"""Lookup tables for comparing one bit with a constant."""

EQUAL = 2 / 3
"""Lookup tables for comparing one bit with one bit: one for two pairs, and one for three results."""


@dataclass(frozen=True)
class Costs:
    """Resources that a circuit needs.

    Attributes
    ----------
    luts, flip_flops, block_rams
        Lookup tables of four inputs, flip-flops, and memories of 4,096 bits, about.
    latency
        Clocks from the first feature of a row to its label, without a tie.
    interval
        Clocks from one label to the next if rows follow one another, without a tie.
    tie
        Clocks that a tie adds at most.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import verilog
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> costs = verilog.export(clf).costs
    >>> costs.luts > 0
    True
    """

    luts: int
    flip_flops: int
    block_rams: int
    latency: int
    interval: int
    tie: int

    def in_words(self) -> list[str]:
        """The costs as human-readable lines.

        Examples
        --------
        >>> len(costs.in_words())
        3
        """
        tie = f"; a tie takes up to {self.tie} more" if self.tie else ""
        return [
            f"Clocks: {self.latency} from the first feature to the label, then a label every {self.interval}{tie}.",
            f"Estimated for an iCE40: {self.luts} lookup tables of 4 inputs, {self.flip_flops} flip-flops, "
            f"{self.block_rams} block RAMs of 4,096 bits.",
            MEASURED,
        ]


def costs(circuit: Circuit, stream: Stream | None) -> Costs:
    """Costs of a circuit; ``stream`` is None if rows come at once."""
    loading = 1 if stream is None else len(stream.steps) + stream.delay
    # The votes, the classes, the judgement, and the label.
    voting = 1 if circuit.single else len(circuit.voters) + circuit.classes + 2
    busy = 1 if circuit.single else voting + 1
    sums = _parallel(circuit) if stream is None else _stream(circuit, stream)
    vote = _vote(circuit)
    return Costs(
        luts=round(sums.luts + vote.luts),
        flip_flops=sums.flip_flops + vote.flip_flops,
        block_rams=sums.block_rams + vote.block_rams,
        latency=loading + 1 + voting,
        interval=max(busy, 1 if stream is None else loading + 1),
        tie=_tie(circuit),
    )


@dataclass(frozen=True)
class Part:
    """Cells of a part of a circuit."""

    luts: float
    flip_flops: int
    block_rams: int = 0


def _stream(circuit: Circuit, stream: Stream) -> Part:
    """Sums that are added up while features arrive."""
    counter, neurons, values = address_bits(len(stream.steps)), circuit.neurons, stream.values
    luts = HANDSHAKE + counter + EQUAL * counter + stream.weights.luts
    flip_flops = counter + 2 + 2 * stream.delay + stream.weights.flip_flops
    blocks = stream.weights.block_rams
    sum_bits = sum(neuron.bits - _constant_bits(circuit, neuron) for neuron in neurons)
    luts, flip_flops = luts + sum_bits, flip_flops + sum_bits
    if not circuit.bits_only:
        luts, flip_flops = luts + 3 * values.bits, flip_flops + 2 * values.bits
    if stream.delay == 1 and not circuit.bits_only:
        luts += sum(min(values.bits, neuron.bits) for neuron in neurons)
    if stream.delay == 2:
        wide, rows = values.bits + stream.word_bits - 1, stream.word_bits - 1
        luts += len(neurons) * wide * (1 + PRODUCT * (rows - 1))
        flip_flops += len(neurons) * wide
    control = stream.control.memory
    if control is not None:
        luts, flip_flops, blocks = luts + control.luts, flip_flops + control.registered, blocks + control.block_rams
    for field in stream.control.fields:
        if field.name == "reading":
            # Whether it is equal, and at least as large: a carry chain takes the complement of the reading.
            luts += EQUAL * field.bits + len(field.memory.lanes)
        elif field.name == "multiplier":
            luts += PRODUCT * circuit.format.bits * _rows(field.values) + 3 * values.wide_bits
    return Part(luts, flip_flops, blocks)


def _constant_bits(circuit: Circuit, neuron: Neuron) -> int:
    """Lowest bits of a sum that never change, since all that is added is a multiple of a power of two."""
    steps = [2 * term.level if circuit.bits_only and isinstance(term, BitTerm) else 1 for term in circuit.terms]
    common = math.gcd(*(step * int(weight) for step, weight in zip(steps, neuron.weights, strict=True)))
    return max(0, (common & -common).bit_length() - 1)


def _rows(multipliers: Sequence[int]) -> int:
    """Rows of the circuit that multiplies by any of these: bits that are 1 in some of them."""
    return reduce(or_, multipliers).bit_count()


def _parallel(circuit: Circuit) -> Part:
    """Sums of a whole row: a test or a scale per term, and an adder per link."""
    values, bits = Values(circuit), circuit.format.bits
    tests = len(circuit.terms) - len(values.numbers)
    adders = sum(ADDER * neuron.bits * int(np.count_nonzero(neuron.weights)) for neuron in circuit.neurons)
    luts = THRESHOLD * bits * tests + adders
    if values.scaled:
        # Of the rows of a product with a constant, the first needs no adder.
        rows = sum(max(0, values.multiplier(term).bit_count() - 1) for term in values.numbers)
        luts += PRODUCT * bits * rows + 3 * values.wide_bits * len(values.numbers)
    return Part(luts, sum(1 for places in circuit.features if places) * bits + 1)


def _vote(circuit: Circuit) -> Part:
    """From sums to a label."""
    label_bits, vote_bits = address_bits(circuit.classes), circuit.classes.bit_length()
    if circuit.single:
        return Part(4, label_bits + 1)
    networks, classes, members = len(circuit.voters), circuit.classes, member_words(circuit)
    count_bits = circuit.most_votes.bit_length()
    share_bits = (circuit.most_votes * max(circuit.multiples)).bit_length()
    luts = VOTING + members.luts + networks * vote_bits / 1.5 + classes * (count_bits + 4) + 4 * share_bits
    # The signs, the votes, the classes that lead and their number, and the class that is looked at.
    flip_flops = len(circuit.voting) + classes * (count_bits + 1) + share_bits + vote_bits + 2 * label_bits
    flip_flops += address_bits(networks) + members.registered + 2
    flip_flops += 5 * (1 + bool(circuit.evidence))
    blocks = members.block_rams
    if circuit.evidence:
        chosen, facts = [circuit.neurons[place] for place in circuit.evidence], fact_words(circuit)
        scales = [neuron.scale or 0 for neuron in chosen]
        several = any(len(voter.evidence) > 1 for voter in circuit.voters)
        product_bits = max(neuron.largest_evidence for neuron in chosen).bit_length()
        support_bits, sum_bits = circuit.largest_support.bit_length(), circuit.evidence_bits
        luts += len(chosen) * sum_bits + PRODUCT * sum_bits * _rows(scales) + 3 * (product_bits + support_bits)
        luts += facts.luts
        flip_flops += len(chosen) * sum_bits + sum_bits + (1 + several) * product_bits + 2 * support_bits
        flip_flops += address_bits(len(chosen)) + facts.registered + 1
        flip_flops += len(Memory(scales, circuit.scale_bits, rest=scales[-1]).lanes) + several
        blocks += facts.block_rams
    return Part(luts, flip_flops, blocks)


def _tie(circuit: Circuit) -> int:
    """Clocks of the longest tie: one per network to find the one that decides, then evidence for every leader."""
    if circuit.single:
        return 0
    networks, classes, size = len(circuit.voters), circuit.classes, circuit.ensemble.subsets.shape[1]
    if not circuit.evidence:
        return networks
    leader = 2 + 3 * len(circuit.evidence)
    everyone = leader * classes + (networks if size == classes else 0)
    return max(everyone, networks + leader * size + classes - size)
