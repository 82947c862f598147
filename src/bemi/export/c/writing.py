"""From an ensemble to files of C."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from bemi.checks import check_choice
from bemi.ensemble.ensemble import ensemble_of
from bemi.ensemble.smoothing import Smoothing
from bemi.export.c import program, smooth
from bemi.export.c.costs import CODE, Costs
from bemi.export.c.layout import Layout
from bemi.export.c.one_neuron import OneNeuron
from bemi.export.c.types import input_types
from bemi.files import write_texts

OPTIMIZE = ("speed", "size")


@dataclass(frozen=True)
class CExport:
    """The files, and what they cost.

    Attributes
    ----------
    header, source, example
        Text of ``bemi_model.h``, ``bemi_model.c`` and ``main.c``.
    costs
        Flash, stack and time on a Cortex-M3.
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
    """
    made = export(model, optimize=optimize, input_type=input_type, smoothing=smoothing)
    write_texts(folder, {"bemi_model.h": made.header, "bemi_model.c": made.source, "main.c": made.example})
    return made


def export(
    model: Any, *, optimize: str = "speed", input_type: str | None = None, smoothing: Smoothing | None = None
) -> CExport:
    """What :func:`write` writes."""
    ensemble = ensemble_of(model)
    check_choice("optimize", optimize, OPTIMIZE)
    types = input_types(ensemble, input_type)
    layout = OneNeuron.of(ensemble, types) or Layout(ensemble, types, optimize)
    if smoothing is not None:
        more = smooth.static_bytes(smoothing, len(ensemble.classes))
        flash, static = layout.costs.flash + CODE["smooth.c"], layout.costs.static + more
        layout.costs = replace(layout.costs, flash=flash, static=static)
    texts = (program.header(layout, smoothing), program.source(layout, smoothing), program.example(layout))
    return CExport(*texts, layout.costs)
