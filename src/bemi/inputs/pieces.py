"""What a transform hands to the exports: its C, its part of an ONNX graph, its script for the page.

Each export asks for one method and knows nothing else of a transform:

``c_piece(low, high)``
    A :class:`CPiece`, for inputs of a type that holds ``low..high``.
``onnx(x)``
    The tensor of its outputs, from the tensor of its inputs; int32, shapes (rows, inputs) and (rows, outputs).
``page_piece()``
    A :class:`PagePiece`.

All of them compute the integers that ``transform`` gives.  Inputs outside ``input_range`` are treated as the nearest
that is inside, except in the page, which refuses them as Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

SHARED_NAMES = ("bemi_input_t", "bemi_value_t", "BEMI_INPUTS", "BEMI_READ8", "BEMI_READ16", "BEMI_READ32")
"""What the C of a transform may use of the program: types of inputs and outputs, the number of inputs, and how tables
of 8, 16 and 32 bits are read."""


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
class CPiece:
    """A transform in C.

    Of what the rest of the program defines, the source uses only :data:`SHARED_NAMES`.  Its own names begin with
    ``bemi_`` or ``BEMI_`` too, but only ``function`` matters to the program, so that pieces that stand side by side can
    be given prefixes of their own.

    Attributes
    ----------
    source
        C99 that calls no library and defines ``static void function(const bemi_input_t *x, bemi_value_t *z)``.
    macros
        Values of the macros that it uses.
    tables
        Tables that it uses.
    code_bytes, stack_bytes
        Bytes of code, and of arrays on the stack beside inputs and outputs, on a Cortex-M3 with gcc -Os.
    instructions
        Instructions for one row, likewise.
    function
        Name of the function.
    """

    source: str
    macros: Mapping[str, object]
    tables: tuple[CTable, ...]
    code_bytes: int
    stack_bytes: int
    instructions: int
    function: str = "bemi_transform"


@dataclass(frozen=True)
class PagePiece:
    """A transform in a page.

    Attributes
    ----------
    script
        JavaScript that enters the transform in the table ``TRANSFORMS`` of ``scaling.js``, under its ``NAME``: its
        ``inputs(integers, data)`` gives the inputs of the networks.  It stands in a block of its own.
    data
        What the script computes with, as JSON can hold it.
    """

    script: str
    data: Mapping[str, Any]


def own_piece(transform: Any, method: str, target: str) -> Callable[..., Any]:
    """A transform's method for an export; ValueError if it has none of its own.

    An inherited one does not count, since a derived class may compute something else.
    """
    if method not in vars(type(transform)):
        name = type(transform).__name__
        raise ValueError(f"the transform {name} cannot be exported to {target}: it has no {method} of its own")
    return getattr(transform, method)


def file_of(package: str, name: str) -> str:
    """Text of a file in a transform's folder."""
    return (files(package) / name).read_text(encoding="utf-8")
