"""Data sets by name, from the user's folder, the cache or their public homes, and few-shot samples of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bemi_lab.datasets.catalogue import Listing, available, fetch, load
from bemi_lab.datasets.description import DatasetError
from bemi_lab.datasets.storage import FOLDER_VARIABLE

if TYPE_CHECKING:
    from bemi_lab.datasets.dataset import Dataset
    from bemi_lab.datasets.sampling import Sample, draw, sample, split

_HOMES = {"Dataset": "dataset", "Sample": "sampling", "draw": "sampling", "sample": "sampling", "split": "sampling"}
"""Names that need NumPy, by module; they are imported on first use, so that listing the data sets is fast."""

__all__ = [
    "FOLDER_VARIABLE",
    "Dataset",
    "DatasetError",
    "Listing",
    "Sample",
    "available",
    "draw",
    "fetch",
    "load",
    "sample",
    "split",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
