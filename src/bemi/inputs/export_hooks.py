"""What a transform hands to the exports: its C, its part of an ONNX graph, its script for the page, terms of a circuit.

Each export asks for one method and knows nothing else about a transform:

``c_code(low, high)``
    A :class:`CTransform`, for inputs of a type that holds ``low..high``.  A class with the flag ``selects_outputs``
    takes a third argument, the increasing positions of the outputs to compute; the networks do not look at the others.
``c_neuron(weights)``
    Optional: a :class:`CTransform` for a model that is one neuron with these weights, with the function
    ``static bemi_sum_t function(const bemi_input_t *x)``, its sum; None if the outputs are better computed first.
``c_window(in_batches, summed)``
    Optional, for windows of a signal: a :class:`CWindow`, which reads a window from a ring buffer, may hand over its
    outputs in batches, and may also give their ``summaries``.
``onnx(x)``
    The tensor of its outputs, from the tensor of its inputs, or of readings if it makes them itself; int32, shapes
    (rows, inputs) and (rows, outputs).
``page_script()``
    A :class:`PageScript`.
``circuit_terms()``
    A :data:`bemi.inputs.circuit_terms.Term` for each output; only if each output depends on one feature.
``page_rows(X)``, ``page_fields(rows)``
    Only if it makes readings itself: rows as lists of plain cells, None for a missing one, and the fields of the page's
    form (:func:`number_field`, :func:`choice_field`) for such rows, or for None; for windows one per channel.

All of them compute the same integers as ``transform``.  Inputs outside ``input_range`` are clipped to it, except in the
page, which rejects them as Python does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

SHARED_NAMES = (
    *("bemi_input_t", "bemi_value_t", "bemi_sum_t", "BEMI_INPUTS"),
    *("BEMI_READ8", "BEMI_READ16", "BEMI_READ32"),
    "bemi_take",
)
"""What a transform's C code may use from the program: types of inputs, outputs and sums, the number of inputs, the
macros that read tables of 8, 16 and 32 bits, and what takes outputs in batches, see :class:`CWindow`."""

BATCH, BATCH_OFFSET = 8, 127
"""Outputs that are handed over at a time, see :class:`CWindow`, and what is added to each so that none is negative."""


SIGNED = ("int8_t", "int16_t", "int32_t")
UNSIGNED = ("uint8_t", "uint16_t", "uint32_t")
"""Integer types of C."""


def bits_of(kind: str) -> int:
    """Bits of a type, such as 16 for ``int16_t``."""
    return int(kind.removeprefix("u").removeprefix("int").removesuffix("_t"))


def range_of(kind: str) -> tuple[int, int]:
    """Smallest and largest value of a type."""
    bits = bits_of(kind)
    return (0, 2**bits - 1) if kind in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def smallest_type(low: int, high: int, kinds: tuple[str, ...] = SIGNED) -> str:
    """The first of these types that holds ``low..high``, or else the last."""
    fitting = (kind for kind in kinds if range_of(kind)[0] <= low and high <= range_of(kind)[1])
    return next(fitting, kinds[-1])


def read_macro(name: str, kind: str) -> dict[str, object]:
    """The macro ``BEMI_READ_name(place)``, which reads a table of this type; on AVR, values are unsigned until cast."""
    return {f"BEMI_READ_{name}(place)": f"(({kind})BEMI_READ{bits_of(kind)}(place))"}


@dataclass(frozen=True)
class CTable:
    """A constant array.

    Attributes
    ----------
    name
        Name in C.
    kind
        Type of an entry, such as ``uint8_t``.
    values
        The entries.
    """

    name: str
    kind: str
    values: Sequence[int]


@dataclass(frozen=True)
class CCode:
    """Some C99 that calls no library, and what it is compiled with.

    Attributes
    ----------
    source
        Functions.
    macros
        Values of the macros that they use.
    tables
        Tables that they use.
    code_bytes
        Bytes of code on a Cortex-M3 with gcc -Os, at most.
    """

    source: str
    macros: Mapping[str, object]
    tables: tuple[CTable, ...]
    code_bytes: int

    def followed_by(self, source: str, code_bytes: int) -> CCode:
        """This code and more that uses it."""
        return replace(self, source=f"{self.source}\n{source}", code_bytes=self.code_bytes + code_bytes)


@dataclass(frozen=True)
class CReading:
    """What an input of a program is, if it is a reading (:mod:`bemi.inputs.fixed_point`).

    Attributes
    ----------
    name
        Name of the column.
    decimals
        Decimals of its readings.
    levels
        Texts of its categories, whose indices are the readings; None for numbers.
    used
        Whether the program looks at it.
    """

    name: str
    decimals: int = 0
    levels: tuple[str, ...] | None = None
    used: bool = True


@dataclass(frozen=True)
class CTransform(CCode):
    """A transform in C.

    The source uses only :data:`SHARED_NAMES` from the rest of the program.  Its own names begin with ``bemi_`` or
    ``BEMI_``, too, but the program refers only to ``function``, so code that is combined can be given different
    prefixes.

    Attributes
    ----------
    source
        Defines ``static void function(const bemi_input_t *x, bemi_value_t *z)``.
    stack_bytes
        Bytes of arrays on the stack other than inputs and outputs.
    instructions
        Instructions for one row on a Cortex-M3 with gcc -Os, at most.
    function
        Name of the function.
    readings
        What each input is, if inputs are readings of columns.
    about_inputs
        What the inputs are, in lines of text, if there is more to say than that they are the features.
    header
        C for the header of the program: macros that say the same to callers, such as the shape of an image.
    """

    stack_bytes: int
    instructions: int
    function: str = "bemi_transform"
    readings: tuple[CReading, ...] = ()
    about_inputs: tuple[str, ...] = ()
    header: str = ""


@dataclass(frozen=True)
class CWindow(CTransform):
    """A transform of windows in C that need not lie in order.

    The source defines ``static void function(const bemi_input_t *x, uint_fast16_t oldest, bemi_value_t *z)``, where the
    oldest sample of the window is the one of this index.  Its header defines ``BEMI_WINDOW`` and
    ``BEMI_CHANNELS``, the samples of a window and the values of a sample.

    In batches, the last argument is ``bemi_sum_t *sums`` instead.  The function hands over its outputs as it finds
    them, so that they need not be stored: it calls ``bemi_take(sums, batch, eight)`` of the program with the number of
    a batch and :data:`BATCH` outputs plus :data:`BATCH_OFFSET`, as ``const uint8_t *``.  What is missing in the last
    batch is 0.

    If summaries are asked for, ``int8_t *summed`` follows, which takes them.

    Attributes
    ----------
    time, channels
        Samples of a window, and values of a sample.
    order
        Outputs in the order in which they are handed over, without constant ones; None if they are stored in their own.
    constant
        Value of the outputs that are not handed over, if there are any.
    decimals
        Those of the readings of each channel.
    """

    time: int = 0
    channels: int = 0
    order: tuple[int, ...] | None = None
    constant: int = 0
    decimals: tuple[int, ...] = ()


def number_field(
    name: str,
    low: float,
    start: float,
    high: float,
    decimals: int,
    *,
    missing: bool = False,
    may_be_empty: bool = False,
) -> dict[str, Any]:
    """A field of a page's form for a number, with its range and usual value.

    ``missing`` adds a box for a missing cell; ``may_be_empty`` lets people delete the number instead.
    """
    # About a hundred steps from end to end, but none below the unit of the readings.
    digits = min(decimals, 2 - math.floor(math.log10(min(high - low, 1e308)))) if high > low else decimals
    step = float(f"1e{-digits}")
    ends = round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits)
    low, high, start = (_plain(end) for end in (*ends, round(start, decimals)))
    return {
        **{"kind": "number", "name": name, "low": low, "high": high, "start": start, "step": _plain(step)},
        **{"missing": missing, "mayBeEmpty": may_be_empty},
    }


def _plain(number: float) -> float | int:
    return int(number) if float(number).is_integer() else float(number)


def choice_field(name: str, choices: Sequence[Any], start: Any, *, missing: bool = False) -> dict[str, Any]:
    """A field of a page's form for one of several values."""
    return {"kind": "choice", "name": name, "choices": list(choices), "start": start, "missing": missing}


@dataclass(frozen=True)
class PageScript:
    """A transform in a page.

    Attributes
    ----------
    script
        JavaScript that registers the transform in the table ``TRANSFORMS`` of ``scaling.js``, under its ``NAME``: its
        ``inputs(integers, data)`` gives the inputs of the networks, from cells if the transform makes readings itself.
        It runs in its own block.
    data
        JSON-serialisable data for the script.
    """

    script: str
    data: Mapping[str, Any]


def export_hook(transform: Any, method: str, target: str) -> Callable[..., Any]:
    """A transform's method for an export; ValueError if its class does not define one.

    An inherited method does not count, since a derived class may compute something else.
    """
    if method not in vars(type(transform)):
        name = type(transform).__name__
        raise ValueError(f"the transform {name} cannot be exported to {target}: it has no {method} of its own")
    return getattr(transform, method)


def file_of(package: str, name: str) -> str:
    """Text of a file in a transform's folder."""
    return (files(package) / name).read_text(encoding="utf-8")
