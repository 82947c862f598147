"""Writes the files of an export from its layout."""

from __future__ import annotations

from string import Template

import bemi
from bemi.export.c.layout import Layout
from bemi.export.c.text import comment, runtime, string
from bemi.inputs.inputs import Inputs


def header(layout: Layout) -> str:
    """Text of ``bemi_model.h``."""
    ensemble, types, costs = layout.ensemble, layout.input_types, layout.costs
    sizes = " x ".join(map(str, ensemble.layers))
    bound = ensemble.weight_bound
    about = f"{len(ensemble.networks)} networks of {sizes} neurons, weights in -{bound}..{bound}."
    return Template(runtime("bemi_model.h")).substitute(
        version=bemi.__version__,
        about=comment([about, *costs.in_words(), *_scaling(ensemble.inputs)]),
        flash=costs.flash,
        stack=costs.stack,
        inputs=ensemble.inputs.features,
        input_type=types.type,
        # The smallest integer has no literal: its digits are too large without the sign.
        low=f"({types.low + 1}L - 1)" if types.low < 0 else "0",
        high=f"{types.high}" if types.high < 2**15 else f"{types.high}L",
        classes=len(ensemble.classes),
        labels=", ".join(string(str(label)) for label in ensemble.classes.tolist()),
    )


def source(layout: Layout) -> str:
    """Text of ``bemi_model.c``."""
    prepare = ["    state.z = x;", "    state.common = 0;"]
    if layout.transform is not None:
        values = f"    bemi_value_t z[{len(layout.input_types.value_low)}];"
        prepare = [values, f"    {layout.transform.function}(x, z);", "    state.z = z;", "    state.common = 0;"]
    if layout.weights.has_common:
        prepare.append(f"    state.common = bemi_sum(&state, {len(layout.weights.neurons) - 1});")
    ties = runtime("ties.c").rstrip() if layout.by_evidence else "    return -1;"
    *parts, decision = layout.runtime_files()
    return "\n".join(
        [
            '/* See bemi_model.h. */\n#include "bemi_model.h"\n',
            runtime("memory.c"),
            "".join(f"#define {name} {value}\n" for name, value in layout.macros.items()),
            "".join(f"typedef {kind} {name};\n" for name, kind in layout.types.items()),
            runtime("state.c"),
            *layout.tables.text,
            *([] if layout.transform is None else [layout.transform.source]),
            *map(runtime, parts),
            Template(runtime(decision)).substitute(prepare="\n".join(prepare), ties=ties),
        ]
    )


def example() -> str:
    """Text of ``main.c``."""
    return runtime("main.c")


def _scaling(inputs: Inputs) -> list[str]:
    """A description of the inputs; one line per feature if they are scaled."""
    factors = inputs.scaling.factors
    if factors is None:
        return ["Inputs are the features as they are."]
    names = inputs.names or [f"feature {i}" for i in range(len(factors))]
    features = enumerate(zip(names, factors.tolist(), strict=True))
    return [
        "Inputs are features times a factor, rounded to the nearest integer, halves to the even one:",
        *(f"  x[{i}] = {name} * {factor!r}" for i, (name, factor) in features),
    ]
