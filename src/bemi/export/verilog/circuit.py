"""What a circuit computes, apart from Verilog: the format of its inputs, neurons, votes and ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bemi.checks import check_integer
from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.folding import FoldedNetwork
from bemi.ensemble.subsets import memberships
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.inputs.circuit_terms import BitTerm, ConstantTerm, FeatureTerm, NumberTerm, Term
from bemi.inputs.fixed_point import MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import Takes
from bemi.problem.problem import ABSTAIN

MOST_BITS = 32

SCALED_LIMIT = 511
"""Scaled features that do not saturate in Python saturate here: four times the largest training magnitude, 127."""


@dataclass(frozen=True)
class InputFormat:
    """The integers that a circuit takes, one per feature.

    Attributes
    ----------
    bits, signed
        Width, and whether it includes a sign.
    has_missing
        Whether cells may be missing; the most negative number stands for these, and no value becomes it.
    """

    bits: int
    signed: bool
    has_missing: bool = False

    @property
    def low(self) -> int:
        """Smallest value."""
        return (1 - 2 ** (self.bits - 1) if self.has_missing else -(2 ** (self.bits - 1))) if self.signed else 0

    @property
    def high(self) -> int:
        """Largest value."""
        return 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1

    @property
    def missing(self) -> int:
        """The number that stands for a missing cell."""
        return -(2 ** (self.bits - 1))

    def encoded(self, readings: Integers) -> Integers:
        """Readings as the circuit takes them: they saturate."""
        within = np.clip(readings, self.low, self.high)
        return np.where(readings == MISSING, self.missing, within) if self.has_missing else within

    def decoded(self, given: Integers) -> Integers:
        """The readings behind what the circuit was given."""
        return np.where(given == self.missing, MISSING, given) if self.has_missing else given


def terms_of(inputs: Inputs) -> list[Term]:
    """What a circuit computes for each input of the networks, from integers or readings."""
    limit = PRE_ACTIVATION_LIMIT - 1
    numbers = [NumberTerm(feature, -limit, limit) for feature in range(inputs.features)]
    scale = inputs.scaling.scale
    if scale is not None:
        end = inputs.scaling.limit or SCALED_LIMIT
        parts = zip(scale.centres.tolist(), scale.multipliers.tolist(), scale.shifts.tolist(), strict=True)
        numbers = [NumberTerm(feature, -end, end, *part) for feature, part in enumerate(parts)]
    if inputs.transform is None:
        return list(numbers)
    if "circuit_terms" not in vars(type(inputs.transform)):
        usual = "train on columns that are computed before the circuit"
        instead = getattr(inputs.transform, "INSTEAD_OF_CIRCUIT", usual)
        raise ValueError(f"{type(inputs.transform).__name__} cannot be exported to Verilog yet; {instead}")
    terms: list[Term] = inputs.transform.circuit_terms()  # type: ignore[attr-defined]
    if not inputs.takes_integers:
        return terms
    # What the transform takes are the scaled features.
    return [numbers[t.feature].within(t.low, t.high) if isinstance(t, NumberTerm) else t for t in terms]


def input_format(inputs: Inputs, terms: Sequence[Term], bits: int | None) -> InputFormat:
    """The fewest bits for the terms that are used, or for features as they are the given number, if any."""
    has_missing = Takes.by(inputs.transform).allows_missing
    if inputs.transform is None and inputs.scaling.scale is None:
        seen = inputs.scaling.low, inputs.scaling.high
        signed = seen[0] < 0
        fewest = max(integer_bits(*seen), 1 + signed)
        if bits is None:
            bits = fewest
        check_integer("input_bits", bits, fewest, MOST_BITS)
        return InputFormat(bits, signed)
    if bits is not None:
        raise ValueError("inputs of this model are readings, whose width follows from the model; leave out input_bits")
    dependent = [term for term in terms if not isinstance(term, ConstantTerm)]
    formats = (InputFormat(number, True, has_missing) for number in range(2, MOST_BITS + 1))
    enough = (f for f in formats if all(term.unchanged_by(f.low, f.high) for term in dependent))
    return next(enough, InputFormat(MOST_BITS, True, has_missing))


def integer_bits(low: int, high: int) -> int:
    """Bits of an integer in ``low..high``, including a sign if ``low`` is negative."""
    return max(low.bit_length() if low >= 0 else (-1 - low).bit_length() + 1, high.bit_length() + (low < 0), 1)


@dataclass(frozen=True, eq=False)
class Neuron:
    """A first-layer neuron whose sum is computed.

    Attributes
    ----------
    network
        Position of its network.
    weights
        Its weight of each term of the circuit.
    constant
        What the constant inputs contribute to its sum.
    low, high
        Smallest and largest sum.
    scale
        Multiplier of the sum's magnitude as evidence; None if the neuron is no evidence.
    """

    network: int
    weights: Integers
    constant: int
    low: int
    high: int
    scale: int | None

    @property
    def bits(self) -> int:
        """Width of the sum, which has a sign.  Partial sums may overflow it: they wrap, and wrap back."""
        return integer_bits(min(self.low, -1), self.high)

    @property
    def largest_evidence(self) -> int:
        """Largest magnitude of the sum times the scale; 0 if the neuron is no evidence."""
        return max(-self.low, self.high, 0) * (self.scale or 0)


@dataclass(frozen=True, eq=False)
class Voter:
    """A network after folding.

    Attributes
    ----------
    folded
        The folded network.
    neurons
        Positions, among all neurons of the circuit, of those that its vote depends on.
    evidence
        Positions of those that are its evidence.
    """

    folded: FoldedNetwork
    neurons: tuple[int, ...]
    evidence: tuple[int, ...]


class Circuit:
    """An ensemble as a circuit.

    Attributes
    ----------
    ensemble
        The ensemble.
    format
        What the circuit is given for each feature.
    input_terms
        What each input of the networks is.
    terms
        Those that are made of features and that some neuron needs, in the order of the features.
    neurons
        The neurons whose sums are computed, those of a network together.
    voters
        The networks.
    single
        Whether one network decides on its own, since it never abstains.
    by_evidence
        Whether evidence decides ties.
    """

    def __init__(self, ensemble: Ensemble, input_bits: int | None = None) -> None:
        self.ensemble = ensemble
        terms = terms_of(ensemble.inputs)
        self.format = input_format(ensemble.inputs, self._linked(terms), input_bits)
        self.input_terms = terms = [self._bounded(term) for term in terms]
        lows, highs = self.input_bounds
        self._check_sums(max(-int(lows.min()), int(highs.max())))
        folded = ensemble.folded(lows, highs).networks
        first = folded[0].table
        self.single = len(folded) == 1 and first is not None and ABSTAIN not in first
        self.by_evidence = ensemble.ties.reads_evidence and not self.single
        kept = [self._kept(network) for network in folded]
        columns = np.concatenate(
            [n.network.weights[0][:, neurons] for n, neurons in zip(folded, kept, strict=True)], axis=1
        )
        linked = np.abs(columns).sum(axis=1) > 0
        used = [index for index, term in enumerate(terms) if linked[index] and not isinstance(term, ConstantTerm)]
        used.sort(key=lambda index: terms[index].feature)  # type: ignore[union-attr]
        self.terms: tuple[FeatureTerm, ...] = tuple(terms[index] for index in used)  # type: ignore[misc]
        self.voters: list[Voter] = []
        self.neurons: list[Neuron] = []
        for number, (network, neurons) in enumerate(zip(folded, kept, strict=True)):
            places = {int(neuron): len(self.neurons) + index for index, neuron in enumerate(neurons)}
            scales = dict(zip(network.split.tolist(), network.scales.tolist(), strict=True)) if self.by_evidence else {}
            for neuron in neurons.tolist():
                weights = network.network.weights[0][:, neuron]
                self.neurons.append(_neuron(number, weights, terms, used, scales.get(neuron)))
            voting = tuple(places[neuron] for neuron in network.neurons.tolist())
            self.voters.append(Voter(network, voting, tuple(places[neuron] for neuron in scales)))

    @property
    def input_bounds(self) -> tuple[Integers, Integers]:
        """Smallest and largest value of each input of the networks."""
        low, high = zip(*(term.bounds for term in self.input_terms), strict=True)
        return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.ensemble.classes)

    @cached_property
    def features(self) -> list[list[int]]:
        """For each feature, the positions of its terms."""
        positions: list[list[int]] = [[] for _ in range(self.ensemble.inputs.features)]
        for index, term in enumerate(self.terms):
            positions[term.feature].append(index)
        return positions

    @cached_property
    def bits_only(self) -> bool:
        """Whether all terms are bits, so that a weight is added or not."""
        return all(isinstance(term, BitTerm) for term in self.terms)

    @cached_property
    def multiples(self) -> tuple[int, ...]:
        """What the votes and the evidence of each class are multiplied by before they are compared.

        Classes are compared by shares of their networks; over a common denominator these are integers.
        """
        networks = [int(n) for n in memberships(self.ensemble.subsets, self.classes)]
        common = math.lcm(*(n for n in networks if n))
        return tuple(common // max(n, 1) for n in networks)

    @property
    def most_votes(self) -> int:
        """Most votes that a class can get."""
        return int(memberships(self.ensemble.subsets, self.classes).max())

    @cached_property
    def voting(self) -> list[int]:
        """Neurons that some vote depends on, in order."""
        return [neuron for voter in self.voters for neuron in voter.neurons]

    @property
    def evidence_bits(self) -> int:
        """Bits that hold the sum of any neuron that is evidence."""
        return max(self.neurons[neuron].bits for neuron in self.evidence)

    @cached_property
    def evidence(self) -> list[int]:
        """Neurons that are evidence, in order."""
        return [neuron for voter in self.voters for neuron in voter.evidence]

    @property
    def scale_bits(self) -> int:
        """Bits of the multiplier of any neuron that is evidence."""
        return max(self.neurons[neuron].scale or 0 for neuron in self.evidence).bit_length()

    @cached_property
    def largest_support(self) -> int:
        """Largest sum of evidence for a class, after multiplication."""
        nearest = [min((self.neurons[k].largest_evidence for k in v.evidence), default=0) for v in self.voters]
        sums = [
            multiple * sum(n for n, v in zip(nearest, self.voters, strict=True) if c in v.folded.subset)
            for c, multiple in enumerate(self.multiples)
        ]
        return max(sums)

    def _linked(self, terms: list[Term]) -> list[Term]:
        """Terms that a weight of some network is not 0 for."""
        weights = np.concatenate([n.weights[0] for n in self.ensemble.networks], axis=1)
        return [term for term, links in zip(terms, weights, strict=True) if np.count_nonzero(links)]

    def _bounded(self, term: Term) -> Term:
        """The term, with bounds that follow from the range of the inputs."""
        if isinstance(term, NumberTerm) and not term.scaled:
            return term.within(self.format.low, self.format.high)
        return term

    def _check_sums(self, largest: int) -> None:
        total = max(int(np.abs(network.weights[0]).sum(axis=0).max()) for network in self.ensemble.networks)
        if largest * total >= PRE_ACTIVATION_LIMIT:
            raise ValueError(
                f"inputs up to {largest} may lead to sums beyond 32 bits, which Python refuses; use fewer input_bits "
                "or scale the data down and train again"
            )

    def _kept(self, network: FoldedNetwork) -> Integers:
        """Neurons whose sums are needed: the vote depends on them, or they are evidence."""
        if not self.by_evidence:
            return network.neurons
        return np.concatenate([network.neurons, np.setdiff1d(network.split, network.neurons)]).astype(np.int64)


def _neuron(network: int, weights: Integers, terms: list[Term], used: list[int], scale: int | None) -> Neuron:
    ends = [sorted(int(w) * end for end in term.bounds) for w, term in zip(weights, terms, strict=True)]
    constant = sum(int(w) * t.value for w, t in zip(weights, terms, strict=True) if isinstance(t, ConstantTerm))
    return Neuron(network, weights[used], constant, sum(e[0] for e in ends), sum(e[1] for e in ends), scale)
