"""Rows for the test bench, as the circuit is given them, and the labels that Python gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.voting import vote
from bemi.exact import Integers, Rows
from bemi.export.verilog.circuit import Circuit
from bemi.inputs.circuit_terms import BitTerm, NumberTerm


def random_rows(circuit: Circuit, count: int, seed: int = 0) -> tuple[Integers, Integers]:
    """Rows that try a circuit, and their labels: any integers, rows that are mostly 0, ends, and cuts of the bits."""
    rng = np.random.default_rng(seed)
    given, features = circuit.format, circuit.ensemble.inputs.features
    rows = rng.integers(given.low, given.high + 1, (count, features))
    kind = rng.integers(0, 4, count)[:, None]
    sparse = np.where(rng.random(rows.shape) < rng.random((count, 1)), 0, rows)
    ends = np.where(rng.random(rows.shape) < 0.5, given.low, given.high)
    rows = np.choose(kind, [rows, sparse, np.where(rng.random(rows.shape) < 0.9, sparse, ends), sparse])
    for feature, places in enumerate(circuit.features):
        near = _near(circuit, places)
        chosen = (kind[:, 0] > 1) & (rng.random(count) < 0.9)
        if len(near):
            rows[chosen, feature] = rng.choice(near, chosen.sum())
    rows = np.clip(rows, given.low, given.high)
    if given.has_missing:
        rows[rng.random(rows.shape) < 0.05] = given.missing
    return _within(circuit, rows)


def given_rows(circuit: Circuit, X: Any) -> tuple[Integers, Integers]:
    """Rows as Python takes them, and their labels; ValueError if the circuit cannot take them."""
    inputs = circuit.ensemble.inputs
    if not _inside(circuit, inputs.of(X)).all():
        ends = (
            f"{circuit.format.low}..{circuit.format.high}" if inputs.scaling.scale is None else "what it saturates at"
        )
        raise ValueError(f"rows have values outside the circuit's range, {ends}")
    return circuit.format.encoded(inputs.readings(X)), circuit.ensemble.votes(X).label


def labels(ensemble: Ensemble, inputs: Integers) -> Integers:
    """Class indices for inputs of the networks, -1 for unclassified."""
    folded = ensemble.folded()

    def evidence(chosen: Integers) -> Integers:
        return folded.evidence(Rows(inputs[chosen]))

    votes = folded.votes(Rows(inputs))
    return vote(votes, ensemble.subsets, len(ensemble.classes), ties=ensemble.ties, evidence=evidence).label


def _near(circuit: Circuit, places: list[int]) -> Integers:
    """Readings at which terms change, those beside them, and the range that numbers come from."""
    found: list[int] = []
    for place in places:
        term = circuit.terms[place]
        if isinstance(term, BitTerm):
            found += [term.reading + step for step in (-1, 0, 1)]
        elif term.multiplier and term.scaled:
            reach = (127 << term.shift) // term.multiplier
            found += np.linspace(term.centre - reach, term.centre + reach, 40).round().astype(int).tolist()
    return np.array([value for value in found if circuit.format.low <= value <= circuit.format.high], dtype=np.int64)


def _inside(circuit: Circuit, inputs: Integers) -> np.ndarray:
    """Which inputs of the networks the circuit computes without saturating where Python does not."""
    lows, highs = circuit.input_bounds
    return (inputs >= lows) & (inputs <= highs)


def _within(circuit: Circuit, rows: Integers) -> tuple[Integers, Integers]:
    """Rows, with features that only the circuit would let saturate replaced, and their labels."""
    inputs = circuit.ensemble.inputs
    seen = inputs.from_readings(circuit.format.decoded(rows))
    inside = _inside(circuit, seen)
    if not inside.all():
        # Without a transform, each input of the networks is a feature.
        middle = [term.centre if isinstance(term, NumberTerm) else 0 for term in circuit.input_terms]
        rows = np.where(inside, rows, np.clip(middle, circuit.format.low, circuit.format.high))
        seen = inputs.from_readings(rows)
    return rows, labels(circuit.ensemble, seen)
