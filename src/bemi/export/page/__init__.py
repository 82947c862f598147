"""An interactive page: one HTML file to try and inspect a trained ensemble.

It contains the networks, some test rows and all drawing code, loads nothing and sends nothing.  The scripts in
``files``, and that of the transform, compute the same integers as Python; docs/page.md gives a tour.
"""

from bemi.export.page.data import TestData
from bemi.export.page.writing import SAMPLES, TrainingData, page, page_file, write

__all__ = ["SAMPLES", "TestData", "TrainingData", "page", "page_file", "write"]
