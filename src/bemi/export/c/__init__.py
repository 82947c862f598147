"""C99 for devices: one header, one source, integers only, no allocation, no library calls.

The source is assembled from the files in ``runtime`` that an ensemble needs, the code of its transform, and tables.
Networks are folded over the whole range of the input type (:mod:`bemi.ensemble.folding`), so that every possible input
gets the same label as in Python.  docs/export.md explains how to use it.
"""

from bemi.export.c.costs import Costs
from bemi.export.c.inputs import TYPES, input_types
from bemi.export.c.writing import LAYOUTS, OPTIMIZE, CExport, export, write

__all__ = ["LAYOUTS", "OPTIMIZE", "TYPES", "CExport", "Costs", "export", "input_types", "write"]
