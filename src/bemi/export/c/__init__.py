"""C99 for devices: one header, one source, integers only, nothing allocated, no library called.

The source is put together from the pieces in ``runtime`` that an ensemble needs, from the piece of its transform, and
from tables.  Networks are folded over the whole range of the inputs' type (:mod:`bemi.ensemble.folding`), so that
whatever can be passed gets the label that Python gives it.  docs/export.md explains how to use it.
"""

from bemi.export.c.costs import Costs
from bemi.export.c.types import TYPES
from bemi.export.c.writing import OPTIMIZE, CExport, export, write

__all__ = ["OPTIMIZE", "TYPES", "CExport", "Costs", "export", "write"]
