"""Verilog-2001 for FPGAs: one module, its test bench with vectors from Python, and a Makefile.

``circuit.py`` describes what is computed: terms, neurons with the widths of their sums, votes, ties.  ``sums.py`` and
``vote.py`` write Verilog of it, with the files in ``runtime``.  docs/hardware.md explains the circuit.
"""

from bemi.export.verilog.costs import Costs
from bemi.export.verilog.writing import INTERFACES, VECTORS, VerilogExport, export, write

__all__ = ["INTERFACES", "VECTORS", "Costs", "VerilogExport", "export", "write"]
