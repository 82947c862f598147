"""The vote in Verilog: from the signs of sums to a label."""

from __future__ import annotations

from collections.abc import Sequence

from bemi.export.verilog.blocks import (
    Memory,
    address_bits,
    choice,
    constant,
    extended,
    looked_up,
    runtime,
    zero_extended,
)
from bemi.export.verilog.circuit import Circuit, Voter, integer_bits
from bemi.export.verilog.pipeline import Pipeline
from bemi.problem.problem import ABSTAIN

TIE_STATES = "    localparam [3:0] CHOOSE = 4'd8, FETCH = 4'd9, WEIGH = 4'd10, COMPARE = 4'd11, TAKE = 4'd12;"

AT_THE_END: dict[str, list[str]] = {"evidence": [], "unclassified": ["out_unclassified <= 1'b1;"]}
"""What a row is marked with at its end, by the name that :meth:`bemi.ensemble.ties.TieRule.piece` gives the rule."""


def vote_of_sums(circuit: Circuit) -> str:
    """From the sums ``sum_0``, ``sum_1``, ... to a label; it begins when ``complete`` meets ``vote_ready``."""
    vote_bits = circuit.classes.bit_length()
    network_bits = address_bits(len(circuit.voters))
    label_bits = address_bits(circuit.classes)
    upper: list[str] = []
    votes = [_vote(circuit, number, voter, vote_bits, upper) for number, voter in enumerate(circuit.voters)]
    common = {
        "label_top": label_bits - 1,
        "signs_top": max(1, len(circuit.voting)) - 1,
        "positive": _joined([f"~sum_{neuron}[{circuit.neurons[neuron].bits - 1}]" for neuron in circuit.voting]),
        # Without a link to any input, all votes are constant.
        "unused": "" if circuit.voting else "    wire unused_signs = &{1'b0, signs};",
        "upper": "\n".join(upper),
        "vote_top": vote_bits - 1,
    }
    if circuit.single:
        return runtime("single.v", common | {"votes": votes[0]})
    return runtime(
        "vote.v",
        common
        | _numbers(circuit, vote_bits, network_bits, label_bits)
        | _counting(circuit, vote_bits, label_bits)
        | _ties(circuit, vote_bits, network_bits, label_bits)
        | {"votes": choice("network", "cast", votes, network_bits)},
    )


def _numbers(circuit: Circuit, vote_bits: int, network_bits: int, label_bits: int) -> dict[str, object]:
    """Widths and constants of the vote."""
    classes, number_bits = circuit.classes, circuit.classes.bit_length()
    members = [constant(word, classes) for word in member_words(circuit).words]
    return {
        "network_top": network_bits - 1,
        "class_top": label_bits - 1,
        "classes_top": classes - 1,
        "leading_top": number_bits - 1,
        "final_network": constant(len(circuit.voters) - 1, network_bits),
        "first_network": constant(0, network_bits),
        "one_network": constant(1, network_bits),
        "final_class": constant(classes - 1, label_bits),
        "first_class": constant(0, label_bits),
        "one_class": constant(1, label_bits),
        "none": constant(classes, vote_bits),
        "one_leader": constant(1, classes),
        "one_leading": constant(1, number_bits),
        "subset_size": constant(circuit.ensemble.subsets.shape[1], number_bits),
        "members": choice("network", "members", members, network_bits),
    }


def _counting(circuit: Circuit, vote_bits: int, label_bits: int) -> dict[str, object]:
    """A counter per class, and its share by class."""
    bits, names = circuit.most_votes.bit_length(), [f"count_{c}" for c in range(circuit.classes)]
    share_bits = (circuit.most_votes * max(circuit.multiples)).bit_length()
    lines = [f"    reg [{bits - 1}:0] {', '.join(names)};", "    always @(posedge clk)", "        if (begins) begin"]
    lines += [f"            {name} <= {constant(0, bits)};" for name in names]
    lines += ["        end else if (counting) begin"]
    for number, name in enumerate(names):
        lines += [f"            if (voted == {constant(number, vote_bits)})"]
        lines += [f"                {name} <= {name} + {constant(1, bits)};"]
    pairs = zip(names, circuit.multiples, strict=True)
    shares = [times(zero_extended(name, bits, share_bits), multiple, share_bits) for name, multiple in pairs]
    return {
        "share_top": share_bits - 1,
        "counts": "\n".join([*lines, "        end"]),
        "shares": choice("candidate", "share_of", shares, label_bits),
    }


def _ties(circuit: Circuit, vote_bits: int, network_bits: int, label_bits: int) -> dict[str, object]:
    """What happens if the paper's rule gives no label."""
    done = [*AT_THE_END[circuit.ensemble.ties.piece("Verilog")], "state <= DONE;", "out_valid <= 1'b1;"]
    # Without any evidence the first of the leaders wins, which is the label so far.
    if not circuit.evidence:
        return {"evidence": "", "tie_states": "", "states": "", "undecided": _indented(done)}
    chosen = [circuit.neurons[neuron] for neuron in circuit.evidence]
    weighing, sum_bits = Weighing(circuit), circuit.evidence_bits
    facts, scale_bits = fact_words(circuit), circuit.scale_bits
    place_bits, product_bits = weighing.place_bits, weighing.product_bits
    support_bits = max(product_bits, circuit.largest_support.bit_length())
    values = {
        "one_class": constant(1, label_bits),
        "place_top": place_bits - 1,
        "first_place": constant(0, place_bits),
        "one_place": constant(1, place_bits),
        "final_place": constant(len(chosen) - 1, place_bits),
        "drained_place": constant(weighing.clocks - 1, place_bits),
        "sum_top": sum_bits - 1,
        "scale_top": scale_bits - 1,
        "nearest_top": product_bits - 1,
        "support_top": support_bits - 1,
        "facts_top": facts.bits - 1,
        "final_bit": scale_bits,
        "network_low": scale_bits + 1,
        "network_high": facts.bits - 1,
        "no_support": constant(0, support_bits),
        "farthest": constant(-1, product_bits),
        "supported_wide": zero_extended("supported", product_bits, support_bits),
        "multiplied": weighing.pipeline.lines(),
        "product": zero_extended(weighing.product.name, weighing.product.bits, product_bits),
        "weighing": weighing.valid.name,
        "final_neuron": weighing.final.name,
        "for_candidate": weighing.for_candidate.name,
        "bank_top": sum_bits * len(chosen) - 1,
        "bank": _joined(
            [extended(f"sum_{neuron}", circuit.neurons[neuron].bits, sum_bits) for neuron in circuit.evidence]
        ),
        "rotated": _rotated("bank", sum_bits, sum_bits * len(chosen)),
        "facts": choice("place", "facts", [constant(word, facts.bits) for word in facts.words], place_bits),
        "weighed": choice(
            *("candidate", "weighed", [times("support", m, support_bits) for m in circuit.multiples], label_bits)
        ),
    }
    return {
        "states": TIE_STATES,
        "evidence": runtime("evidence.v", values),
        "tie_states": runtime("ties.v", values),
        "undecided": _indented(["found <= 1'b0;", "state <= CHOOSE;"]),
    }


class Weighing:
    """The pipeline from a sum and its multiplier, in its stage 1, to their product.

    Attributes
    ----------
    pipeline
        The pipeline.
    product, valid, final, for_candidate
        In the last stage: the product, whether there is one, whether it is the last of its network, and whether that
        voted for the class that is looked at.
    clocks
        Clocks for the evidence of one class: for all sums, for the pipeline and for the support that it ends in.
    place_bits
        Bits that count them.
    product_bits
        Bits of a product, which has no sign.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.pipeline = pipeline = Pipeline("tie")
        chosen = [circuit.neurons[neuron] for neuron in circuit.evidence]
        sum_bits = circuit.evidence_bits
        self.product_bits = max(sum_bits, max(neuron.largest_evidence for neuron in chosen).bit_length())
        scales = [neuron.scale or 0 for neuron in chosen]
        # A row of the product for each bit of one of them, whichever has fewer.
        magnitude, scale = (
            pipeline.wire(name, 0, (1 << bits) - 1, 1, bits)
            for name, bits in (("magnitude", sum_bits), ("scale", circuit.scale_bits))
        )
        parts = pipeline.rows(magnitude, scales, "scale")
        if sum_bits < len(parts):
            parts = pipeline.rows(scale, [1 << b for b in range(sum_bits)], "magnitude")
        product = pipeline.total(parts, self.product_bits)
        vote_bits = circuit.classes.bit_length()
        candidate = zero_extended("candidate", address_bits(circuit.classes), vote_bits)
        stage = max(product.stage or 0, 3)
        flags = [pipeline.given(name, 1, 1) for name in ("weighing", "final_neuron")]
        # The network is there in stage 1, its vote in stage 2.
        flags.append(pipeline.flag(f"voted == {candidate}", 3))
        self.product = pipeline.at(product, stage)
        self.valid, self.final, self.for_candidate = (pipeline.at(flag, stage) for flag in flags)
        self.clocks = len(chosen) + stage + 1
        self.place_bits = address_bits(self.clocks)


def member_words(circuit: Circuit) -> Memory:
    """The classes of each network, a bit for each."""
    words = [sum(1 << int(c) for c in voter.folded.subset) for voter in circuit.voters]
    return Memory(words, circuit.classes, rest=words[-1])


def fact_words(circuit: Circuit) -> Memory:
    """Of each neuron that is evidence: its multiplier, whether it is the last of its network, and that network."""
    last, shift = [voter.evidence[-1] for voter in circuit.voters if voter.evidence], circuit.scale_bits
    chosen = [(neuron, circuit.neurons[neuron]) for neuron in circuit.evidence]
    words = [(n.network << shift + 1) + ((neuron in last) << shift) + (n.scale or 0) for neuron, n in chosen]
    return Memory(words, shift + 1 + address_bits(len(circuit.voters)), rest=words[-1])


def _joined(parts: Sequence[str]) -> str:
    """One vector, the first part in its lowest bits."""
    return f"{{{', '.join(reversed(parts))}}}" if parts else "1'b0"


def _rotated(name: str, bits: int, total: int) -> str:
    """A vector with its lowest bits moved to the top."""
    return name if bits == total else f"{{{name}[{bits - 1}:0], {name}[{total - 1}:{bits}]}}"


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(" " * 24 + line for line in lines)


def _vote(circuit: Circuit, number: int, voter: Voter, bits: int, upper: list[str]) -> str:
    """The vote of a network as an expression; wires that it needs are appended to ``upper``."""
    folded = voter.folded
    if folded.table is not None:
        names, codes = [f"signs[{circuit.voting.index(neuron)}]" for neuron in voter.neurons], folded.table.tolist()
    else:
        # The first output is the most significant digit of the code, and -1 is the digit 1.
        names = _upper_layers(circuit, number, voter, upper)[::-1]
        codes = [*folded.subset.tolist(), *[ABSTAIN] * ((1 << len(names)) - len(folded.subset))]
    return looked_up([constant(circuit.classes if code == ABSTAIN else code, bits) for code in codes], names)


def _upper_layers(circuit: Circuit, number: int, voter: Voter, lines: list[str]) -> list[str]:
    """Wires for the layers above the first; the names of those that are 1 if an output is -1."""
    network, fixed = voter.folded.network, voter.folded.fixed
    places = [circuit.voting.index(neuron) for neuron in voter.neurons]
    live = dict(zip(voter.folded.neurons.tolist(), places, strict=True))
    positive = [f"signs[{live[n]}]" if n in live else "1'b1" if fixed[n] > 0 else "1'b0" for n in range(len(fixed))]
    negative: list[str] = []
    for layer, weights in enumerate(network.weights[1:], start=2):
        negative = [f"network_{number}_layer_{layer}_negative_{place}" for place in range(weights.shape[1])]
        for name, column in zip(negative, weights.T.tolist(), strict=True):
            largest = sum(map(abs, column))
            bits = integer_bits(-max(largest, 1), largest)
            parts = [
                f"({sign} ? {constant(weight, bits)} : {constant(-weight, bits)})"
                for sign, weight in zip(positive, column, strict=True)
                if weight
            ]
            lines.append(f"    wire [{bits - 1}:0] {name}_sum = {' + '.join(parts) or constant(0, bits)};")
            lines.append(f"    wire {name} = {name}_sum[{bits - 1}];")
            lines.append(f"    wire unused_{name} = &{{1'b0, {name}, {name}_sum}};")
        positive = [f"!{name}" for name in negative]
    return negative


def times(expression: str, multiple: int, bits: int) -> str:
    """A multiple of an expression of some bits."""
    return expression if multiple == 1 else f"{expression} * {constant(multiple, bits)}"
