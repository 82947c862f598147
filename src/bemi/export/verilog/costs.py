"""What a circuit costs, estimated before it is synthesized.

Cycles are exact.  The rest is for an iCE40, whose lookup tables have four inputs and whose block RAMs have 4,096 bits;
tests synthesize small circuits to compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.export.verilog.circuit import Circuit
from bemi.export.verilog.sums import Stream, Values
from bemi.export.verilog.text import address_bits
from bemi.inputs.terms import BitTerm

CONTROL = 50
"""Lookup tables for counters and states of a part."""

ROM = 1.15 / 16
"""Lookup tables for a bit of a small memory."""

COMPARISON = 1.5
"""Lookup tables for comparing one bit."""

PRODUCT = 1.2
"""Lookup tables for one partial product of a multiplier."""

ADDER = 0.68
"""Lookup tables for adding one bit of a link in a sum of many numbers."""

THRESHOLD = 0.35
"""Lookup tables for comparing one bit with a constant."""

LEAST_MEMORY, FEW_WORDS = 8192, 128
"""Yosys leaves memories of fewer bits or words to lookup tables."""

SHAPES = ((256, 16), (512, 8), (1024, 4), (2048, 2))
"""Words, and bits of a word, that a block RAM can have."""


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
    """

    luts: int
    flip_flops: int
    block_rams: int
    latency: int
    interval: int
    tie: int

    def in_words(self) -> list[str]:
        """The costs as lines of text."""
        tie = f"; a tie takes up to {self.tie} more" if self.tie else ""
        return [
            f"Clocks: {self.latency} from the first feature to the label, then a label every {self.interval}{tie}.",
            f"Estimated for an iCE40: {self.luts} lookup tables of 4 inputs, {self.flip_flops} flip-flops, "
            f"{self.block_rams} block RAMs of 4,096 bits.",
            "make report measures this with Yosys.",
        ]


def costs(circuit: Circuit, stream: Stream | None) -> Costs:
    """Costs of a circuit; ``stream`` is None if rows come at once."""
    loading = 1 if stream is None else len(stream.steps.of) + stream.delay
    # The votes, the classes, the judgement, and the label.
    voting = 1 if circuit.single else len(circuit.voters) + circuit.classes + 2
    busy = 1 if circuit.single else voting + 1
    sums = _parallel(circuit) if stream is None else _stream(circuit, stream)
    vote = _vote(circuit)
    return Costs(
        luts=round(sums.luts + vote.luts),
        flip_flops=sums.flip_flops + vote.flip_flops,
        block_rams=sums.block_rams,
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
    values, (words, word_bits) = stream.values, stream.rom
    sum_bits = sum(neuron.bits for neuron in circuit.neurons)
    in_memory = words * word_bits >= LEAST_MEMORY and words > FEW_WORDS
    flip_flops = sum_bits + address_bits(words) + 2 + 2 * stream.delay
    luts = CONTROL + sum_bits + (0 if in_memory else ROM * words * word_bits)
    flip_flops += 0 if in_memory else word_bits
    if not circuit.bits_only:
        luts, flip_flops = luts + 3 * values.bits, flip_flops + 2 * values.bits
        luts += sum_bits if stream.delay == 1 else 0
    if stream.delay == 2:
        wide, rows = values.bits + stream.word_bits - 1, stream.word_bits - 1
        luts += len(circuit.neurons) * wide * (1 + 2 * (rows - 1))
        flip_flops += len(circuit.neurons) * wide
    if any(isinstance(term, BitTerm) for term in circuit.terms):
        luts += COMPARISON * circuit.format.bits + ROM * words * (circuit.format.bits + 2)
    if values.scaled:
        luts += PRODUCT * circuit.format.bits * values.multiplier_bits + 3 * values.wide_bits
        luts += ROM * words * (values.multiplier_bits + values.wide_bits)
    blocks = min(-(-words // depth) * -(-word_bits // width) for depth, width in SHAPES)
    return Part(luts, flip_flops, blocks if in_memory else 0)


def _parallel(circuit: Circuit) -> Part:
    """Sums of a whole row: a test or a scale per term, and an adder per link."""
    values, bits = Values(circuit), circuit.format.bits
    numbers = len(values.numbers)
    scale = PRODUCT / 2 * bits * values.multiplier_bits + 3 * values.wide_bits if values.scaled else 0
    adders = sum(ADDER * neuron.bits * int(np.count_nonzero(neuron.weights)) for neuron in circuit.neurons)
    luts = THRESHOLD * bits * (len(circuit.terms) - numbers) + scale * numbers + adders
    return Part(luts, sum(1 for places in circuit.features if places) * bits + 1)


def _vote(circuit: Circuit) -> Part:
    """From sums to a label."""
    label_bits, vote_bits = address_bits(circuit.classes), circuit.classes.bit_length()
    if circuit.single:
        return Part(4, label_bits + 1)
    networks, classes = len(circuit.voters), circuit.classes
    count_bits = circuit.most_votes.bit_length()
    share_bits = (circuit.most_votes * max(circuit.multiples)).bit_length()
    luts = CONTROL + networks * (vote_bits / 1.5 + classes / 8) + classes * (count_bits + 4) + 4 * share_bits
    flip_flops = len(circuit.voting) + classes * (count_bits + 1) + share_bits + 3 * label_bits
    flip_flops += address_bits(networks) + 6
    if circuit.evidence:
        chosen = [circuit.neurons[place] for place in circuit.evidence]
        scale_bits = max(neuron.scale or 0 for neuron in chosen).bit_length()
        product_bits = max(neuron.largest_evidence for neuron in chosen).bit_length()
        support_bits, sum_bits = circuit.largest_support.bit_length(), circuit.evidence_bits
        luts += len(chosen) * sum_bits + PRODUCT * sum_bits * scale_bits + 3 * (product_bits + support_bits)
        luts += len(chosen) * (scale_bits + 1) / 6
        flip_flops += len(chosen) * sum_bits + sum_bits + scale_bits + 2 * product_bits + 2 * support_bits
        flip_flops += address_bits(len(chosen)) + 2
    return Part(luts, flip_flops)


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
