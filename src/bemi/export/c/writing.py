"""From an ensemble to a header, a source and an example in C."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from string import Template
from typing import Any

import bemi
from bemi.checks import check_choice, check_prefix
from bemi.ensemble.ensemble import ensemble_of
from bemi.ensemble.smoothing import Smoothing
from bemi.export import PREFIX
from bemi.export.c.costs import CODE, Costs
from bemi.export.c.extras import smoothing_bytes, smoothing_declaration, stream_declarations
from bemi.export.c.inputs import READING, class_names, declarations, input_types, scaled_readings, units
from bemi.export.c.layout import AnyLayout, layout_of
from bemi.export.c.text import comment, named, runtime, string, text_of
from bemi.export.c.unknown import LEARNING, learning_declarations
from bemi.files import write_files
from bemi.inputs.images import pixel_order
from bemi.inputs.inputs import Inputs
from bemi.io.signals import ModelWindows

PREDICT = "            int label = bemi_predict(given);"
SCALE_AND_PREDICT = """            static bemi_input_t x[BEMI_INPUTS];
            int label;
            bemi_scale(given, x);
            label = bemi_predict(x);"""

OPTIMIZE = ("speed", "size")

LAYOUTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "plain": ("", ()),
    "arduino": ("src/", ("library.properties",)),
    "platformio": ("src/", ("library.json",)),
    "cmake": ("", ("CMakeLists.txt",)),
    "esp-idf": ("", ("CMakeLists.txt",)),
    "zephyr": ("", ("CMakeLists.txt", "zephyr/module.yml")),
}
"""Folder of header and source, and the files in ``layouts`` that tell a build system about them."""


IMAGE = """/* Shape of the image. */
#define BEMI_IMAGE_HEIGHT {}
#define BEMI_IMAGE_WIDTH {}
#define BEMI_IMAGE_CHANNELS {}
"""


@dataclass(frozen=True)
class CExport:
    """The generated files and their costs.

    Attributes
    ----------
    header, source, example
        Text of ``bemi_model.h``, ``bemi_model.c`` and ``example/main.c``.
    costs
        Flash, stack and time on a Cortex-M3.
    name
        What all names begin with, those of files, too.
    layout
        How they lie in a folder, one of :data:`LAYOUTS`.

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
    name: str = PREFIX
    layout: str = "plain"

    @property
    def files(self) -> dict[str, str]:
        """Texts by the names of their files.

        Examples
        --------
        >>> list(made.files)
        ['bemi_model.h', 'bemi_model.c', 'example/main.c']
        """
        folder, build = LAYOUTS[self.layout]
        model = f"{folder}{self.name}_model"
        # A folder that is copied into a program whole must not bring a second main.
        files = {f"{model}.h": self.header, f"{model}.c": self.source, "example/main.c": self.example}
        return files | {file: named(text_of("layouts", self.layout, file), self.name) for file in build}


def write(
    model: Any,
    folder: str | os.PathLike,
    *,
    optimize: str = "speed",
    input_type: str | None = None,
    smoothing: Smoothing | None = None,
    probabilities: bool = True,
    name: str = PREFIX,
    layout: str = "plain",
    learn: bool = False,
) -> CExport:
    """Write ``bemi_model.h``, ``bemi_model.c`` and ``example/main.c`` to a folder, which is created if necessary.

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
    name
        Replaces ``bemi`` at the start of all names, and ``BEMI``: with ``"gestures"``, ``gestures_model.h`` declares
        ``gestures_predict`` and defines ``GESTURES_INPUTS``.  Models with different names fit into one program.
    layout
        What the folder is: a library of ``"arduino"`` or ``"platformio"``, a project of ``"cmake"``, a component of
        ``"esp-idf"``, or a module of ``"zephyr"``.
    learn
        Adds ``bemi_learn``, by which the device learns further classes from a few rows each
        (:mod:`bemi.ensemble.learned`); the model must have been trained with ``reject``.

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
    made = export(
        model,
        optimize=optimize,
        input_type=input_type,
        smoothing=smoothing,
        probabilities=probabilities,
        name=name,
        layout=layout,
        learn=learn,
    )
    write_files(folder, made.files)
    return made


def export(
    model: Any,
    *,
    optimize: str = "speed",
    input_type: str | None = None,
    smoothing: Smoothing | None = None,
    probabilities: bool = True,
    name: str = PREFIX,
    layout: str = "plain",
    learn: bool = False,
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
    check_prefix("name", name)
    check_choice("layout", layout, LAYOUTS)
    types = input_types(ensemble, input_type)
    if learn and ensemble.known_ranges is None:
        raise ValueError("classes are learned by the ranges that recognize unknown rows; train with reject=0.05")
    program = layout_of(ensemble, types, optimize, learn=learn)
    if smoothing is not None:
        state = program.costs.state + smoothing_bytes(smoothing, len(ensemble.classes))
        program.costs = replace(program.costs, flash=program.costs.flash + CODE["smooth.c"], state=state)
    if learn:
        flash = program.costs.flash + CODE["learn.c"] + CODE["learn_stream.c"] * (program.window is not None)
        program.costs = replace(program.costs, flash=flash, stack=program.costs.stack + LEARNING)
    source = named(_source(program, smoothing), name)
    example = named(_example(program, smoothing, f"../{LAYOUTS[layout][0]}".rstrip("/")), name)
    return CExport(_header(program, smoothing, source, name), source, example, program.costs, name, layout)


def _header(layout: AnyLayout, smoothing: Smoothing | None, source: str, name: str) -> str:
    """Text of ``bemi_model.h``.

    What the data say is filled in last: it keeps its names, and names that are made of it differ from the program's.
    """
    ensemble, types, costs, window = layout.ensemble, layout.input_types, layout.costs, layout.window
    known, sizes = ensemble.known_ranges, " x ".join(map(str, ensemble.layers))
    bound, count = ensemble.weight_bound, len(ensemble.networks)
    about = f"{count} network{'s' * (count > 1)} of {sizes} neurons, weights in -{bound}..{bound}."
    raw = () if layout.transform is None else layout.transform.readings
    labels = ensemble.classes.tolist()
    shape = "" if layout.transform is None else layout.transform.header
    if ensemble.inputs.rate is not None:
        shape += f"/* Samples per second. */\n#define BEMI_SAMPLE_RATE {ensemble.inputs.rate:g}\n"
    if ensemble.inputs.image_shape is not None:
        shape += IMAGE.format(*ensemble.inputs.image_shape)
    own = Template(runtime("bemi_model.h")).safe_substitute(
        version=bemi.__version__,
        flash=costs.flash,
        stack=costs.stack,
        inputs=ensemble.inputs.features,
        input_type=types.type,
        # The smallest integer has no literal: its digits are too large without the sign.
        low=f"({types.low + 1}L - 1)" if types.low < 0 else "0",
        high=f"{types.high}" if types.high < 2**15 else f"{types.high}L",
        classes=len(ensemble.classes),
        label_bytes=1 + max(len(str(label).encode()) for label in labels),
        shape=shape + "\n" * bool(shape),
        proba="" if ensemble.probabilities is None else runtime("proba.h"),
        scale="" if layout.scaling is None else _scale_declaration(layout),
        smooth="" if smoothing is None else smoothing_declaration(smoothing, len(ensemble.classes)),
        stream="" if window is None else stream_declarations(window, proba=layout.probabilities is not None),
        learn=learning_declarations(known, in_window=window is not None) if layout.learn and known else "",
    )
    own = named(own, name)
    levels = declarations(raw, own + source, name) if raw else ""
    constants = class_names(labels, own + source + levels, name)
    return Template(own).substitute(
        about=comment([about, *costs.in_words(), *_inputs(layout, name)]),
        labels=", ".join(string(str(label)) for label in labels),
        class_names=constants + "\n" * bool(constants),
        levels=levels + "\n" * bool(levels),
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
            *([] if smoothing is None else [runtime("smooth.c")]),
        ]
    )


def _example(layout: AnyLayout, smoothing: Smoothing | None, folder: str) -> str:
    """Text of ``main.c``, for header and source in a folder.

    It takes samples of a signal, readings if inputs are made of them, or else inputs.
    """
    names: dict[str, Any] = {"what": "integers", "type": "bemi_input_t", "predict": PREDICT, "folder": folder}
    names |= {"low": "BEMI_INPUT_MIN", "high": "BEMI_INPUT_MAX", "state": "", "start": "", "smooth": ""}
    if layout.scaling is not None:
        names |= {"what": "readings", "type": READING, "predict": SCALE_AND_PREDICT}
        names |= {"low": "INT32_MIN", "high": "INT32_MAX"}
    if smoothing is not None:
        names |= {"state": "    static bemi_smoother_t smoother;\n", "start": "    bemi_smoother_init(&smoother);\n"}
        deep = "        " if layout.window is not None else "            "
        names["smooth"] = f"{deep}label = bemi_smooth(&smoother, label);\n"
    return Template(runtime("main.c" if layout.window is None else "main_stream.c")).substitute(names)


def _inputs(layout: AnyLayout, name: str) -> list[str]:
    """What the inputs are; one line per feature if they are readings, or made of them."""
    image = layout.ensemble.inputs.image_shape
    if layout.scaling is not None:
        return [
            f"Inputs are made of readings by {name}_scale.",
            *(() if image is None else pixel_order(image, name="reading")),
            *units(scaled_readings(layout.ensemble.inputs), "reading"),
        ]
    if layout.transform is not None and layout.transform.readings:
        return ["Inputs are readings.", *units(layout.transform.readings, "x")]
    if layout.transform is not None and layout.transform.about_inputs:
        return [*layout.transform.about_inputs, *_channels(layout.ensemble.inputs)]
    if image is not None:
        return list(pixel_order(image))
    names = enumerate(layout.ensemble.inputs.names or ())
    return ["Inputs are the features as they are.", *(f"  x[{place}] = {feature}" for place, feature in names)]


def _channels(inputs: Inputs) -> list[str]:
    """Names and usual values of the channels of a signal, and its rate; nothing for other rows."""
    windows = ModelWindows.of(inputs)
    if windows is None:
        return []
    lines = [] if windows.rate is None else [f"There are {windows.rate:g} samples a second."]
    for channel, name in enumerate(windows.channels or [None] * windows.count):
        usual = "" if windows.quantiles is None else "usually {:.6g} to {:.6g}".format(*windows.usual(channel))
        lines.append(f"  c = {channel}: {', '.join(filter(None, (name, usual)))}")
    return lines


def _scale_declaration(layout: AnyLayout) -> str:
    limit = layout.ensemble.inputs.scaling.limit
    ends = "BEMI_INPUT_MIN and BEMI_INPUT_MAX" if limit is None else f"-{limit} and {limit}"
    about = f"/* Inputs from readings, whose units are listed above, exactly as in Python; they saturate at {ends}. */"
    return f"\n{about}\nvoid bemi_scale(const {READING} reading[BEMI_INPUTS], bemi_input_t x[BEMI_INPUTS]);\n"
