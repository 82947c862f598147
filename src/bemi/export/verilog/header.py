"""The comment at the top of the Verilog: what the circuit is, what it takes, how it is used and what it costs."""

from __future__ import annotations

from typing import Any

import bemi
from bemi.export.verilog.circuit import Circuit
from bemi.export.verilog.costs import Costs
from bemi.export.verilog.formats import SCALED_LIMIT, InputFormat
from bemi.export.verilog.text import comment, quoted
from bemi.inputs.fixed_point_inputs import in_units

MOST_LEVELS = 100
"""Categories with more levels are not listed; their readings are the positions in the sorted list of levels."""


def header(circuit: Circuit, interface: str, costs: Costs) -> str:
    """The comment."""
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
    units = circuit.ensemble.inputs.reading_units()
    if units is None:
        return [*lines, "Features enter as they are; in this range they get the same label as in Python."]
    lines += [
        "They are readings: the features in the units below, rounded to the nearest integer, halves to the even one.",
        f"Smaller and larger readings are replaced by {given.low} and {given.high}.",
    ]
    scaling = circuit.ensemble.inputs.scaling
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
