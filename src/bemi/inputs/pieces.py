"""What a transform hands to the exports: its C, its part of an ONNX graph, its script for the page.

Each export asks for one method and knows nothing else about a transform:

``c_piece(low, high)``
    A :class:`CPiece`, for inputs of a type that holds ``low..high``.
``onnx(x)``
    The tensor of its outputs, from the tensor of its inputs, or of readings if it takes raw columns; int32, shapes
    (rows, inputs) and (rows, outputs).
``page_piece()``
    A :class:`PagePiece`.

All of them compute the same integers as ``transform``.  Inputs outside ``input_range`` are clipped to it, except in the
page, which rejects them as Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

SHARED_NAMES = ("bemi_input_t", "bemi_value_t", "BEMI_INPUTS", "BEMI_READ8", "BEMI_READ16", "BEMI_READ32")
"""What a transform's C code may use from the program: types of inputs and outputs, the number of inputs, and the
macros that read tables of 8, 16 and 32 bits."""


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

    The source uses only :data:`SHARED_NAMES` from the rest of the program.  Its own names begin with ``bemi_`` or
    ``BEMI_``, too, but the program refers only to ``function``, so pieces that are combined can be given different
    prefixes.

    Attributes
    ----------
    source
        C99 that calls no library and defines ``static void function(const bemi_input_t *x, bemi_value_t *z)``.
    macros
        Values of the macros that it uses.
    tables
        Tables that it uses.
    code_bytes, stack_bytes
        Bytes of code, and of arrays on the stack other than inputs and outputs, on a Cortex-M3 with gcc -Os.
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
        JavaScript that registers the transform in the table ``TRANSFORMS`` of ``scaling.js``, under its ``NAME``: its
        ``inputs(integers, data)`` gives the inputs of the networks.  It runs in its own block.
    data
        JSON-serialisable data for the script.
    """

    script: str
    data: Mapping[str, Any]


def own_piece(transform: Any, method: str, target: str) -> Callable[..., Any]:
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
