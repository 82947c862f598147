"""Data sets by name, from the user's folder, the cache or their public homes, and few-shot samples of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bemi import lazily
from bemi_lab.datasets.registry import Description, available, fetch, is_here, load
from bemi_lab.datasets.storage import FOLDER_VARIABLE, DatasetError

if TYPE_CHECKING:
    from bemi_lab.datasets.sampling import Dataset, Sample, Split, draw, sample, split

_SAMPLING = ("Dataset", "Sample", "Split", "draw", "sample", "split")
"""Names that need NumPy; they are imported on first use, so that listing the data sets is fast."""

__all__ = [
    "FOLDER_VARIABLE",
    "Dataset",
    "DatasetError",
    "Description",
    "Sample",
    "Split",
    "available",
    "draw",
    "fetch",
    "is_here",
    "load",
    "sample",
    "split",
]

__getattr__ = lazily(__name__, {"sampling": _SAMPLING})
