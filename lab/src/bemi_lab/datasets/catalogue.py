"""Data sets by name: list them, download them, load them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bemi_lab.datasets import storage
from bemi_lab.datasets.description import DatasetError, Description
from bemi_lab.datasets.sets import SETS

if TYPE_CHECKING:
    from bemi_lab.datasets.dataset import Dataset

_NOT_HERE = "not here yet"


@dataclass(frozen=True)
class Listing:
    """A data set as lists show it; ``rows`` counts both parts, and ``place`` says where the files are now."""

    name: str
    rows: int
    test_rows: int
    features: int
    classes: int
    place: str
    source: str
    licence: str

    @property
    def here(self) -> bool:
        """Whether the data set can be loaded without a download."""
        return self.place != _NOT_HERE


def load(name: str) -> Dataset:
    """Load a data set by name.

    Files are taken from ``$BEMI_DATA/<name>/`` or the cache, and otherwise downloaded into the cache.  Wherever they
    come from, they must be exactly the published ones.  Data sets that are part of scikit-learn have no files.

    Missing values, which only ``heart-disease`` has, are NaN: cells marked ``?``, and zeros in ``trestbps`` and
    ``chol``, which no patient can have.  Impute them from training rows only; otherwise test rows leak into training.
    """
    known = _described(name)
    reader = import_module(f"bemi_lab.datasets.{known.reader}")
    return reader.build(known, storage.stored(known))


def fetch(name: str) -> tuple[Path, ...]:
    """Download what is missing of a data set, and return the folders that hold its files."""
    files = storage.stored(_described(name))
    return tuple(dict.fromkeys(file.path.parent for file in files.values()))


def available() -> tuple[Listing, ...]:
    """List all data sets and where their files are, without reading or downloading any."""
    return tuple(
        Listing(
            name=name,
            rows=known.train + known.test,
            test_rows=known.test,
            features=known.features,
            classes=known.classes,
            place=_place(known),
            source=known.source,
            licence=known.licence,
        )
        for name, known in SETS.items()
    )


def _described(name: str) -> Description:
    if name not in SETS:
        raise DatasetError(f"unknown dataset {name!r}; known: {', '.join(SETS)}")
    return SETS[name]


def _place(known: Description) -> str:
    if not known.files:
        return "part of scikit-learn"
    places = [storage.place(known, file) for file in known.files]
    if None in places:
        return _NOT_HERE
    return " and ".join(dict.fromkeys(filter(None, places)))
