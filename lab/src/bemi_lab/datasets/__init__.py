"""Data sets by name, from the user's folder, the cache or their public homes, and few-shot samples of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name in _SAMPLING:
        return getattr(import_module(f"{__name__}.sampling"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
