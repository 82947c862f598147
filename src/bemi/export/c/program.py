"""Writes the files of an export from its layout."""

from __future__ import annotations

from string import Template
from typing import Any

import bemi
from bemi.ensemble.smoothing import Smoothing
from bemi.export.c import smooth, window
from bemi.export.c.fixed_point_inputs import declarations, scaled_readings, units
from bemi.export.c.layout import Layout
from bemi.export.c.one_neuron import OneNeuron
from bemi.export.c.text import comment, runtime, string
from bemi.export.c.types import READING

AnyLayout = Layout | OneNeuron

PREDICT = "            int label = bemi_predict(given);"
SCALE_AND_PREDICT = """            static bemi_input_t x[BEMI_INPUTS];
            int label;
            bemi_scale(given, x);
            label = bemi_predict(x);"""


def header(layout: AnyLayout, smoothing: Smoothing | None = None) -> str:
    """Text of ``bemi_model.h``."""
    ensemble, types, costs = layout.ensemble, layout.input_types, layout.costs
    sizes = " x ".join(map(str, ensemble.layers))
    bound, count = ensemble.weight_bound, len(ensemble.networks)
    about = f"{count} network{'s' * (count > 1)} of {sizes} neurons, weights in -{bound}..{bound}."
    raw = () if layout.transform is None else layout.transform.readings
    return Template(runtime("bemi_model.h")).substitute(
        version=bemi.__version__,
        about=comment([about, *costs.in_words(), *_inputs(layout)]),
        flash=costs.flash,
        stack=costs.stack,
        inputs=ensemble.inputs.features,
        input_type=types.type,
        # The smallest integer has no literal: its digits are too large without the sign.
        low=f"({types.low + 1}L - 1)" if types.low < 0 else "0",
        high=f"{types.high}" if types.high < 2**15 else f"{types.high}L",
        classes=len(ensemble.classes),
        labels=", ".join(string(str(label)) for label in ensemble.classes.tolist()),
        readings=declarations(raw, source(layout) + runtime("bemi_model.h")) + "\n" if raw else "",
        proba="" if ensemble.probabilities is None else runtime("proba.h"),
        scale="" if layout.scaling is None else _scale_declaration(layout),
        window="" if layout.window is None else window.sizes(layout.window, types.type),
        smooth="" if smoothing is None else smooth.declaration(smoothing),
        ring="" if layout.window is None else window.declarations(layout.chances is not None),
    )


def source(layout: AnyLayout, smoothing: Smoothing | None = None) -> str:
    """Text of ``bemi_model.c``."""
    return "\n".join(
        [
            '/* See bemi_model.h. */\n#include "bemi_model.h"\n',
            runtime("memory.c"),
            "".join(f"#define {name} {value}\n" for name, value in layout.macros.items()),
            "".join(f"typedef {kind} {name};\n" for name, kind in layout.types.items()),
            *layout.tables.text,
            *layout.code(),
            *([] if smoothing is None else [smooth.code(len(layout.ensemble.classes))]),
        ]
    )


def example(layout: AnyLayout) -> str:
    """Text of ``main.c``; it takes readings if inputs are made of them."""
    names: dict[str, Any] = {"what": "integers", "type": "bemi_input_t", "predict": PREDICT}
    names |= {"low": "BEMI_INPUT_MIN", "high": "BEMI_INPUT_MAX"}
    if layout.scaling is not None:
        names = {"what": "readings", "type": READING, "predict": SCALE_AND_PREDICT}
        names |= {"low": "INT32_MIN", "high": "INT32_MAX"}
    return Template(runtime("main.c")).substitute(names)


def _inputs(layout: AnyLayout) -> list[str]:
    """What the inputs are; one line per feature if they are readings, or made of them."""
    if layout.scaling is not None:
        return [
            "Inputs are made of readings by bemi_scale.",
            *units(scaled_readings(layout.ensemble.inputs), "reading"),
        ]
    if layout.transform is not None and layout.transform.readings:
        return ["Inputs are readings.", *units(layout.transform.readings, "x")]
    if layout.transform is not None and layout.transform.about_inputs:
        return list(layout.transform.about_inputs)
    return ["Inputs are the features as they are."]


def _scale_declaration(layout: AnyLayout) -> str:
    limit = layout.ensemble.inputs.scaling.limit
    ends = "BEMI_INPUT_MIN and BEMI_INPUT_MAX" if limit is None else f"-{limit} and {limit}"
    about = f"/* Inputs from readings, whose units are listed above, exactly as in Python; they saturate at {ends}. */"
    return f"\n{about}\nvoid bemi_scale(const {READING} reading[BEMI_INPUTS], bemi_input_t x[BEMI_INPUTS]);\n"
