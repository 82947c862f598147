"""A page for people: one HTML file in which a trained ensemble can be tried and looked into.

It holds the networks, some test rows and everything that draws them, loads nothing and sends nothing.  What is in
``files``, and the script of the transform, computes the same integers as Python; docs/page.md shows what there is to
see.
"""

from bemi.export.page.results import TestData
from bemi.export.page.writing import SAMPLES, TrainingData, page, write

__all__ = ["SAMPLES", "TestData", "TrainingData", "page", "write"]
