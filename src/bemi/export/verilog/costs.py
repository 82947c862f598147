"""What a circuit costs, estimated before it is synthesized.

Cycles are exact.  The rest is for an iCE40, whose lookup tables have four inputs and whose block RAMs have 4,096 bits:
flip-flops and block RAMs by counting the registers and memories that Yosys keeps, lookup tables by what each part
needs.  Tests synthesize small circuits to compare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bemi.export.verilog.blocks import Memory, address_bits
from bemi.export.verilog.circuit import Circuit, Neuron
from bemi.export.verilog.parallel import Parallel
from bemi.export.verilog.stream import Stream
from bemi.export.verilog.vote import Weighing, fact_words, member_words
from bemi.inputs.circuit_terms import BitTerm

MEASURED = "Measured by Yosys: nothing yet; make report measures, and writes it here."
"""The line of the header that ``make report`` replaces."""

HANDSHAKE = 10
"""Lookup tables for taking features one by one, besides the counter of steps."""

VOTING = 50
"""Lookup tables for the states of the vote."""

ADDER = 0.68
"""Lookup tables for adding one bit to a product with a constant."""

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


def costs(circuit: Circuit, sums: Stream | Parallel) -> Costs:
    """Costs of a circuit with these sums."""
    whole = isinstance(sums, Parallel)
    loading = 1 + sums.depth if isinstance(sums, Parallel) else len(sums.steps) + sums.stages + sums.delay
    # The votes, the classes, each a clock later, the judgement, and the label.
    voting = 1 if circuit.single else len(circuit.voters) + circuit.classes + 4
    busy = 1 if circuit.single else voting + 1
    part = _parallel(circuit, sums) if isinstance(sums, Parallel) else _stream(circuit, sums)
    vote = _vote(circuit)
    return Costs(
        luts=round(part.luts + vote.luts),
        flip_flops=part.flip_flops + vote.flip_flops,
        block_rams=part.block_rams + vote.block_rams,
        latency=loading + 1 + voting,
        interval=max(busy, 1 if whole else loading + 1),
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
    flip_flops = counter + 2 + 2 * (stream.stages + stream.delay) + circuit.format.bits + stream.weights.flip_flops
    blocks = stream.weights.block_rams
    sum_bits = sum(neuron.bits - _constant_bits(circuit, neuron) for neuron in neurons)
    luts, flip_flops = luts + sum_bits, flip_flops + sum_bits
    if not circuit.bits_only:
        luts, flip_flops = luts + 3 * values.bits, flip_flops + 2 * values.bits
    if not circuit.bits_only and not stream.products:
        luts += sum(min(values.bits, neuron.bits) for neuron in neurons)
    for pipeline in (stream.making, stream.multiplying):
        luts, flip_flops = luts + pipeline.adders + pipeline.tables, flip_flops + pipeline.flip_flops
    control = stream.control.memory
    if control is not None:
        luts, flip_flops, blocks = luts + control.luts, flip_flops + control.flip_flops, blocks + control.block_rams
    for field in stream.control.fields:
        if field.name == "reading":
            # Whether it is equal, and at least as large: a carry chain takes the complement of the reading.
            luts += EQUAL * field.bits + len(field.memory.lanes)
    luts += 2 * values.clipped_bits
    return Part(luts, flip_flops, blocks)


def _constant_bits(circuit: Circuit, neuron: Neuron) -> int:
    """Lowest bits of a sum that never change, since all that is added is a multiple of a power of two."""
    steps = [2 * term.level if circuit.bits_only and isinstance(term, BitTerm) else 1 for term in circuit.terms]
    common = math.gcd(*(step * int(weight) for step, weight in zip(steps, neuron.weights, strict=True)))
    return max(0, (common & -common).bit_length() - 1)


def _parallel(circuit: Circuit, parallel: Parallel) -> Part:
    """Sums of a whole row: a test or a scale per term, tables of four bits, and adders."""
    values, pipeline, bits = parallel.values, parallel.pipeline, circuit.format.bits
    tests = len(circuit.terms) - len(values.numbers)
    adders = pipeline.adders * (ADDER if values.scaled else 1)
    luts = THRESHOLD * bits * tests + adders + 2 * values.clipped_bits * len(values.numbers) + pipeline.tables
    row = sum(1 for places in circuit.features if places) * bits
    return Part(luts, row + parallel.depth + 1 + pipeline.flip_flops)


def _vote(circuit: Circuit) -> Part:
    """From sums to a label."""
    label_bits, vote_bits = address_bits(circuit.classes), circuit.classes.bit_length()
    if circuit.single:
        return Part(4, label_bits + 1)
    networks, classes, members = len(circuit.voters), circuit.classes, member_words(circuit)
    count_bits = circuit.most_votes.bit_length()
    share_bits = (circuit.most_votes * max(circuit.multiples)).bit_length()
    luts = VOTING + members.luts + networks * vote_bits / 1.5 + classes * (count_bits + 4) + 4 * share_bits
    # The signs, the votes, the shares, the classes that lead and their number, and what is looked at.
    flip_flops = len(circuit.voting) + classes * (count_bits + 1) + 2 * share_bits + 2 * vote_bits + 3 * label_bits
    flip_flops += address_bits(networks) + len(members.lanes) + 5
    flip_flops += 12 if circuit.evidence else 7
    blocks = members.block_rams
    if circuit.evidence:
        chosen, facts, weighing = (
            [circuit.neurons[place] for place in circuit.evidence],
            fact_words(circuit),
            Weighing(circuit),
        )
        scales = [neuron.scale or 0 for neuron in chosen]
        product_bits, support_bits = weighing.product_bits, circuit.largest_support.bit_length()
        luts += (len(chosen) + 1) * circuit.evidence_bits + facts.luts + 2 * support_bits
        luts += weighing.pipeline.adders + weighing.pipeline.tables
        # If each network has one sum that is evidence, none is compared with another.
        several = any(len(voter.evidence) > 1 for voter in circuit.voters)
        luts += 3 * product_bits if several else 0
        flip_flops += (len(chosen) + 1) * circuit.evidence_bits + (1 + several) * product_bits + 3 * support_bits
        flip_flops += weighing.place_bits + facts.registered + weighing.pipeline.flip_flops + 5
        flip_flops += len(Memory(scales, circuit.scale_bits, rest=scales[-1]).lanes)
        blocks += facts.block_rams
    return Part(luts, flip_flops, blocks)


def _tie(circuit: Circuit) -> int:
    """Clocks of the longest tie: one per network to find the one that decides, then evidence for every leader."""
    if circuit.single:
        return 0
    networks, classes, size = len(circuit.voters), circuit.classes, circuit.ensemble.subsets.shape[1]
    if not circuit.evidence:
        return networks + 1
    leader = Weighing(circuit).clocks + 4
    everyone = leader * classes + (networks + 1 if size == classes else 0)
    return max(everyone, networks + 1 + leader * size + classes - size)
