"""From an ensemble to a folder of Verilog: the module with its header, and a test bench with its vectors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

import bemi
from bemi.checks import check_choice, check_integer, check_prefix
from bemi.ensemble.ensemble import Ensemble, ensemble_of
from bemi.ensemble.voting import vote
from bemi.exact import Integers, Rows
from bemi.export import PREFIX
from bemi.export.verilog.blocks import address_bits, comment, constant, quoted, runtime, zero_extended
from bemi.export.verilog.circuit import SCALED_LIMIT, Circuit, InputFormat
from bemi.export.verilog.costs import Costs, costs
from bemi.export.verilog.parallel import Parallel
from bemi.export.verilog.stream import Stream
from bemi.files import write_files
from bemi.inputs.circuit_terms import BitTerm, NumberTerm
from bemi.inputs.fixed_point import in_units
from bemi.inputs.images import pixel_order

MOST_LEVELS = 100
"""Categories with more levels are not listed; their readings are the positions in the sorted list of levels."""

INTERFACES = ("stream", "parallel")
VECTORS = 100

WIDEST_ROW = 1024
"""Bits of a row that a parallel input may have."""


@dataclass(frozen=True)
class VerilogExport:
    """The generated files by name, and the costs of the circuit.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import verilog
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> made = verilog.export(clf)
    >>> "module bemi_model" in made.files["bemi_model.v"]
    True
    """

    files: dict[str, str]
    costs: Costs


def write(
    model: Any,
    folder: str | os.PathLike,
    *,
    interface: str = "stream",
    input_bits: int | None = None,
    vectors: int = VECTORS,
    rows: Any = None,
    name: str = PREFIX,
) -> VerilogExport:
    """Write ``bemi_model.v``, ``bemi_axis.v``, a test bench with its vectors, and a Makefile to a folder.

    Parameters
    ----------
    model
        A fitted classifier or an :class:`bemi.ensemble.ensemble.Ensemble`.
    folder
        Where to write.
    interface
        ``"stream"`` takes one feature per clock, ``"parallel"`` a whole row.
    input_bits
        Bits of a feature that enters as it is; None for the fewest that hold the training rows.
    vectors
        Random rows for the test bench.
    rows
        Further rows for it, as ``predict`` takes them.
    name
        Replaces ``bemi`` in the names of the module and its file, so that models with different names fit into one
        design.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> from bemi.export import verilog
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> sorted(verilog.write(clf, mkdtemp()).files)
    ['Makefile', 'bemi_axis.v', 'bemi_model.v', 'inputs.txt', 'labels.txt', 'test_bench.v']
    """
    made = export(model, interface=interface, input_bits=input_bits, vectors=vectors, rows=rows, name=name)
    write_files(folder, made.files)
    return made


def export(
    model: Any,
    *,
    interface: str = "stream",
    input_bits: int | None = None,
    vectors: int = VECTORS,
    rows: Any = None,
    name: str = PREFIX,
) -> VerilogExport:
    """The files that :func:`write` writes, as text.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import verilog
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> made = verilog.export(clf, interface="parallel")
    >>> made.costs.latency
    5
    """
    check_choice("interface", interface, INTERFACES)
    check_integer("vectors", vectors, 1)
    check_prefix("name", name)
    ensemble = ensemble_of(model)
    if ensemble.known_ranges is not None:
        raise ValueError("circuits label every row, so reject cannot be exported to Verilog; train without it")
    circuit = Circuit(ensemble, input_bits)
    row_bits = circuit.format.bits * len(circuit.features)
    if interface == "parallel" and row_bits > WIDEST_ROW:
        raise ValueError(f"a row has {row_bits} bits, too many for a parallel input; use interface='stream'")
    sums = Stream(circuit) if interface == "stream" else Parallel(circuit)
    tried, labels = random_rows(circuit, vectors)
    if rows is not None:
        more, more_labels = given_rows(circuit, rows)
        tried, labels = np.concatenate([tried, more]), np.concatenate([labels, more_labels])
    cost = costs(circuit, sums)
    module = f"{name}_model"
    files = {
        f"{module}.v": f"{_header(circuit, interface, cost)}\n{sums.module(module)}",
        **_around(circuit, sums, len(tried), name),
        "inputs.txt": _lines(tried),
        "labels.txt": _lines(labels[:, None]),
        "Makefile": runtime("Makefile", {"module": module, "axis": f"{name}_axis"}),
    }
    return VerilogExport(files, cost)


def _around(circuit: Circuit, sums: Stream | Parallel, rows: int, name: str) -> dict[str, str]:
    """AXI-Stream around the module, and the test bench around that."""
    features, label_bits, width = len(circuit.features), address_bits(circuit.classes), circuit.format.bits
    at_a_time, under_way = (features, sums.depth + 2) if isinstance(sums, Parallel) else (1, 2)
    words = features // at_a_time
    beat_bits, mark_bits, to_bits = address_bits(words), address_bits(under_way), _bytes(label_bits)
    values = {
        "axis": f"{name}_axis",
        "module": f"{name}_model",
        "rows": rows,
        "words": words,
        "features": at_a_time,
        "width": width,
        "from_top": _bytes(at_a_time * width) - 1,
        "to_top": to_bits - 1,
        "label_zeros": 32 - to_bits,
    }
    around = {
        "in_top": at_a_time * width - 1,
        "label_top": label_bits - 1,
        "label": zero_extended("label", label_bits, to_bits),
        "beat_top": beat_bits - 1,
        "no_beat": constant(0, beat_bits),
        "one_beat": constant(1, beat_bits),
        "final_beat": constant(words - 1, beat_bits),
        "rows": under_way,
        "marks_top": (1 << mark_bits) - 1,
        "mark_top": mark_bits - 1,
        "no_mark": constant(0, mark_bits),
        "one_mark": constant(1, mark_bits),
    }
    return {
        f"{name}_axis.v": runtime("axis.v", values | around),
        "test_bench.v": runtime("test_bench.v", values),
    }


def _bytes(bits: int) -> int:
    """Bits in whole bytes."""
    return -(-bits // 8) * 8


def _lines(rows: Integers) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows.tolist())


def _header(circuit: Circuit, interface: str, costs: Costs) -> str:
    """The comment above the module."""
    ensemble = circuit.ensemble
    count, bound = len(ensemble.networks), ensemble.weight_bound
    sizes = " x ".join(map(str, ensemble.layers))
    kept, neurons = len(circuit.neurons), count * ensemble.layers[1]
    lines = [
        f"Written by bemi {bemi.__version__}.",
        f"{count} network{'s' * (count > 1)} of {sizes} neurons, weights in -{bound}..{bound}.",
        f"Of {neurons} first-layer neurons, {kept} can matter and {'is' if kept == 1 else 'are'} computed.",
        "",
        *_input(circuit, interface),
        "",
        *_output(circuit),
        "",
        *costs.in_words(),
    ]
    return comment(lines)


def _input(circuit: Circuit, interface: str) -> list[str]:
    """Width, units, categories and missing cells."""
    features, given = len(circuit.features), circuit.format
    kind = f"{'signed' if given.signed else 'unsigned'} integers of {given.bits} bits, {given.low}..{given.high}"
    if interface == "stream":
        lines = [f"in_data takes the {features} features of a row in order, one after another: {kind}."]
    else:
        lines = [f"in_data takes the {features} features of a row at once: {kind}, the first in the lowest bits."]
    lines += [
        "A transfer happens in every clock in which in_valid and in_ready are 1; until then in_data must not change."
    ]
    inputs = circuit.ensemble.inputs
    units = inputs.reading_units()
    if inputs.image_shape is not None:
        lines += pixel_order(inputs.image_shape, name="feature ")
    if units is None:
        return [*lines, "Features enter as they are; in this range they get the same label as in Python."]
    lines += [
        "They are readings: the features in the units below, rounded to the nearest integer, halves to the even one.",
        f"Smaller and larger readings are replaced by {given.low} and {given.high}.",
    ]
    scaling = inputs.scaling
    if scaling.scale is not None and scaling.limit is None:
        lines.append(f"Up to {SCALED_LIMIT // 127} times the largest training magnitude, labels are those of Python.")
    if given.has_missing:
        lines.append(f"A missing cell is {given.missing}.")
    for place, unit in enumerate(units):
        lines += _unit(place, unit, given, used=bool(circuit.features[place]))
    return lines


def _unit(place: int, unit: dict[str, Any], given: InputFormat, *, used: bool) -> list[str]:
    """How one feature is read."""
    start = f"  feature {place}{'' if used else ', not used'}: "
    if "levels" not in unit:
        return [f"{start}in units of {in_units(1, unit['decimals'])}, {quoted(unit['name'])}"]
    levels = unit["levels"]
    lines = [f"{start}a category, -1 for any other than these, {quoted(unit['name'])}"]
    if len(levels) <= MOST_LEVELS:
        return [*lines, *(f"    {number}: {quoted(level)}" for number, level in enumerate(levels))]
    return [*lines, f"    0..{len(levels) - 1} in the order of the model's {len(levels)} levels"]


def _output(circuit: Circuit) -> list[str]:
    """Labels, and what happens to ties."""
    labels = circuit.ensemble.classes.tolist()
    lines = ["out_label is the number of the class, valid while out_valid is 1 and until out_ready is 1:"]
    lines += [f"  {number}: {quoted(str(label))}" for number, label in enumerate(labels)]
    if circuit.ensemble.ties.labels_every_row:
        return [*lines, "out_unclassified is 0: every row gets a label."]
    return [*lines, "out_unclassified is 1 for rows that the vote leaves open; out_label then means nothing."]


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
    return circuit.format.encoded(inputs.fixed_point_inputs(X)), circuit.ensemble.votes(X).label


def labels(ensemble: Ensemble, inputs: Integers) -> Integers:
    """Class indices for inputs of the networks, -1 for unclassified."""
    folded = ensemble.folded()

    def evidence(chosen: Integers) -> Integers:
        return folded.evidence(Rows(inputs[chosen]))

    votes = folded.votes(Rows(inputs))
    return vote(votes, ensemble.subsets, len(ensemble.classes), ties=ensemble.ties, evidence=evidence).label


def _near(circuit: Circuit, places: list[int]) -> Integers:
    """Readings at which terms change, those beside them, and the range that numbers come from."""
    readings: list[int] = []
    for place in places:
        term = circuit.terms[place]
        if isinstance(term, BitTerm):
            readings += [term.reading + step for step in (-1, 0, 1)]
        elif term.multiplier and term.scaled:
            reach = (127 << term.shift) // term.multiplier
            readings += np.linspace(term.centre - reach, term.centre + reach, 40).round().astype(int).tolist()
    return np.array([value for value in readings if circuit.format.low <= value <= circuit.format.high], dtype=np.int64)


def _inside(circuit: Circuit, inputs: Integers) -> np.ndarray:
    """Which inputs of the networks the circuit computes without saturating where Python does not."""
    lows, highs = circuit.input_bounds
    return (inputs >= lows) & (inputs <= highs)


def _within(circuit: Circuit, rows: Integers) -> tuple[Integers, Integers]:
    """Rows, with features that only the circuit would let saturate replaced, and their labels."""
    inputs = circuit.ensemble.inputs
    seen = inputs.from_fixed_point_inputs(circuit.format.decoded(rows))
    inside = _inside(circuit, seen)
    if not inside.all():
        # Without a transform, each input of the networks is a feature.
        middle = [term.centre if isinstance(term, NumberTerm) else 0 for term in circuit.input_terms]
        rows = np.where(inside, rows, np.clip(middle, circuit.format.low, circuit.format.high))
        seen = inputs.from_fixed_point_inputs(rows)
    return rows, labels(circuit.ensemble, seen)
