"""Synthesizable Verilog-2001 of an ensemble, with a test bench."""

from bemi.export.verilog.writing import INTERFACES, VerilogExport, export, write

__all__ = ["INTERFACES", "VerilogExport", "export", "write"]
