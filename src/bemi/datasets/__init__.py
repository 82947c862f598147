"""Datasets by name, from the user's folder, the cache or their public homes, and samples of them."""

from bemi.datasets.catalogue import Listing, available, fetch, load
from bemi.datasets.dataset import Dataset, DatasetError
from bemi.datasets.sampling import Sample, draw, sample, split
from bemi.datasets.storage import FOLDER_VARIABLE

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
