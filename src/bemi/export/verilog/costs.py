"""What a circuit costs, estimated before it is synthesized.

Cycles are exact.  The rest is for an iCE40, whose lookup tables have four inputs and whose block RAMs have 4,096 bits;
tests synthesize small circuits to compare.
"""

from __future__ import annotations

from dataclasses import dataclass

from bemi.export.verilog.circuit import Circuit
from bemi.export.verilog.sums import Stream


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
    networks, classes, evidence = len(circuit.voters), circuit.classes, len(circuit.evidence)
    loading = 1 if stream is None else len(stream.steps.of) + stream.delay
    # Taking over the sums, the votes, the classes, the judgement, and the label.
    voting = 0 if circuit.single else networks + classes + 2
    latency, busy = loading + 1 + (voting or 1), voting + 1 if voting else 1
    return Costs(0, 0, 0, latency, max(busy, loading if stream is None else loading + 1), _tie(circuit))


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
