"""From an ensemble to a header, a source and an example in C."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from string import Template
from typing import Any

import bemi
from bemi.checks import check_choice
from bemi.ensemble.ensemble import ensemble_of
from bemi.ensemble.smoothing import Smoothing
from bemi.export.c.costs import CODE, Costs
from bemi.export.c.extras import (
    ring_declarations,
    smoothing_bytes,
    smoothing_code,
    smoothing_declaration,
    window_sizes,
)
from bemi.export.c.inputs import READING, declarations, input_types, scaled_readings, units
from bemi.export.c.layout import AnyLayout, layout_of
from bemi.export.c.text import comment, runtime, string
from bemi.files import write_texts

PREDICT = "            int label = bemi_predict(given);"
SCALE_AND_PREDICT = """            static bemi_input_t x[BEMI_INPUTS];
            int label;
            bemi_scale(given, x);
            label = bemi_predict(x);"""

OPTIMIZE = ("speed", "size")


@dataclass(frozen=True)
class CExport:
    """The generated files and their costs.

    Attributes
    ----------
    header, source, example
        Text of ``bemi_model.h``, ``bemi_model.c`` and ``main.c``.
    costs
        Flash, stack and time on a Cortex-M3.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import c
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> made = c.export(clf, optimize="size")
    >>> made.header.count("bemi_predict(")
    1
    """

    header: str
    source: str
    example: str
    costs: Costs


def write(
    model: Any,
    folder: str | os.PathLike,
    *,
    optimize: str = "speed",
    input_type: str | None = None,
    smoothing: Smoothing | None = None,
    probabilities: bool = True,
) -> CExport:
    """Write ``bemi_model.h``, ``bemi_model.c`` and an example ``main.c`` to a folder, which is created if necessary.

    Parameters
    ----------
    model
        A fitted classifier or an :class:`bemi.ensemble.ensemble.Ensemble`.
    folder
        Where to write.
    optimize
        ``"speed"`` stores weights for the fewest steps, ``"size"`` for the least flash.
    input_type
        Type of an input, such as ``"int16_t"``; None chooses the smallest that holds the training rows.
    smoothing
        Adds ``bemi_smooth``, which smooths labels over time in this way; None leaves it out.
    probabilities
        Whether to write the probabilities of a model that has them; without them it takes less flash.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import bemi
    >>> from bemi.export import c
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> c.write(clf, mkdtemp()).costs.flash > 0
    True
    """
    made = export(model, optimize=optimize, input_type=input_type, smoothing=smoothing, probabilities=probabilities)
    write_texts(folder, {"bemi_model.h": made.header, "bemi_model.c": made.source, "main.c": made.example})
    return made


def export(
    model: Any,
    *,
    optimize: str = "speed",
    input_type: str | None = None,
    smoothing: Smoothing | None = None,
    probabilities: bool = True,
) -> CExport:
    """The files that :func:`write` writes, as text.

    Examples
    --------
    >>> import bemi
    >>> from bemi.export import c
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = bemi.BeMiClassifier(hidden_layers=(2,)).fit(X, y)
    >>> made = c.export(clf)
    >>> "bemi_predict" in made.header
    True
    """
    ensemble = ensemble_of(model)
    if not probabilities:
        ensemble = replace(ensemble, probabilities=None)
    check_choice("optimize", optimize, OPTIMIZE)
    types = input_types(ensemble, input_type)
    layout = layout_of(ensemble, types, optimize)
    if smoothing is not None:
        static = layout.costs.static + smoothing_bytes(smoothing, len(ensemble.classes))
        layout.costs = replace(layout.costs, flash=layout.costs.flash + CODE["smooth.c"], static=static)
    return CExport(_header(layout, smoothing), _source(layout, smoothing), _example(layout), layout.costs)


def _header(layout: AnyLayout, smoothing: Smoothing | None) -> str:
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
        readings=declarations(raw, _source(layout, None) + runtime("bemi_model.h")) + "\n" if raw else "",
        proba="" if ensemble.probabilities is None else runtime("proba.h"),
        scale="" if layout.scaling is None else _scale_declaration(layout),
        window="" if layout.window is None else window_sizes(layout.window, types.type),
        smooth="" if smoothing is None else smoothing_declaration(smoothing),
        ring="" if layout.window is None else ring_declarations(proba=layout.probabilities is not None),
    )


def _source(layout: AnyLayout, smoothing: Smoothing | None) -> str:
    """Text of ``bemi_model.c``."""
    return "\n".join(
        [
            '/* See bemi_model.h. */\n#include "bemi_model.h"\n',
            runtime("memory.c"),
            "".join(f"#define {name} {value}\n" for name, value in layout.macros.items()),
            "".join(f"typedef {kind} {name};\n" for name, kind in layout.types.items()),
            *layout.tables.text,
            *layout.code(),
            *([] if smoothing is None else [smoothing_code(len(layout.ensemble.classes))]),
        ]
    )


def _example(layout: AnyLayout) -> str:
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
