"""From an ensemble to a folder of Verilog."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.checks import check_choice, check_integer
from bemi.ensemble.ensemble import ensemble_of
from bemi.exact import Integers
from bemi.export.verilog.circuit import Circuit
from bemi.export.verilog.costs import Costs, costs
from bemi.export.verilog.header import header
from bemi.export.verilog.sums import Stream, parallel_module
from bemi.export.verilog.text import address_bits, runtime
from bemi.export.verilog.vectors import given_rows, random_rows
from bemi.files import write_texts

INTERFACES = ("stream", "parallel")
VECTORS = 100

WIDEST_ROW = 1024
"""Bits of a row that a parallel input may have."""


@dataclass(frozen=True)
class VerilogExport:
    """The files by name, and what the circuit costs."""

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
) -> VerilogExport:
    """Write ``bemi_model.v``, a test bench with its vectors, and a Makefile to a folder, created if necessary.

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
    """
    made = export(model, interface=interface, input_bits=input_bits, vectors=vectors, rows=rows)
    write_texts(folder, made.files)
    return made


def export(
    model: Any,
    *,
    interface: str = "stream",
    input_bits: int | None = None,
    vectors: int = VECTORS,
    rows: Any = None,
) -> VerilogExport:
    """What :func:`write` writes."""
    check_choice("interface", interface, INTERFACES)
    check_integer("vectors", vectors, 1)
    circuit = Circuit(ensemble_of(model), input_bits)
    row_bits = circuit.format.bits * len(circuit.features)
    if interface == "parallel" and row_bits > WIDEST_ROW:
        raise ValueError(f"a row has {row_bits} bits, too many for a parallel input; use interface='stream'")
    stream = Stream(circuit) if interface == "stream" else None
    tried, labels = random_rows(circuit, vectors)
    if rows is not None:
        more, more_labels = given_rows(circuit, rows)
        tried, labels = np.concatenate([tried, more]), np.concatenate([labels, more_labels])
    cost = costs(circuit, stream)
    module = parallel_module(circuit) if stream is None else stream.module()
    files = {
        "bemi_model.v": f"{header(circuit, interface, cost)}\n{module}",
        "test_bench.v": _test_bench(circuit, interface, len(tried)),
        "inputs.txt": _lines(tried),
        "labels.txt": _lines(labels[:, None]),
        "Makefile": runtime("Makefile", {}),
    }
    return VerilogExport(files, cost)


def _test_bench(circuit: Circuit, interface: str, rows: int) -> str:
    features, label_bits = len(circuit.features), address_bits(circuit.classes)
    at_a_time = 1 if interface == "stream" else features
    return runtime(
        "test_bench.v",
        {
            "rows": rows,
            "words": features // at_a_time,
            "features": at_a_time,
            "width": circuit.format.bits,
            "label_top": label_bits - 1,
            "label_zeros": 32 - label_bits,
        },
    )


def _lines(rows: Integers) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows.tolist())
