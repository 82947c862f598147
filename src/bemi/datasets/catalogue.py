"""All sets by name: what there is, getting it here, loading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bemi.datasets import storage
from bemi.datasets.bundled import BREAST_CANCER, DIGITS, IRIS, WINE
from bemi.datasets.dataset import Dataset, DatasetError
from bemi.datasets.description import Description
from bemi.datasets.heart_disease import HEART_DISEASE
from bemi.datasets.images import FASHION_MNIST, MNIST

SETS = {known.name: known for known in (MNIST, FASHION_MNIST, HEART_DISEASE, DIGITS, BREAST_CANCER, WINE, IRIS)}

_NOT_HERE = "not here yet"


@dataclass(frozen=True)
class Listing:
    """One line of a list of sets; ``rows`` counts both parts, and ``place`` says where its files are now."""

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
        """Whether the set can be loaded without a download."""
        return self.place != _NOT_HERE


def load(name: str) -> Dataset:
    """Load a set by name.

    Its files are looked for in ``$BEMI_DATA/<name>/`` and in the cache, then downloaded into the cache; wherever they
    are from, they must be exactly those that were published.  Sets that are part of scikit-learn have no files.

    Missing values, which only ``heart-disease`` has, are NaN: cells marked ``?``, and zeros in ``trestbps`` and
    ``chol``, which no patient can have.  Impute them from training rows alone, or test rows leak into the training.
    """
    known = _described(name)
    return known.build(known, storage.stored(known))


def fetch(name: str) -> tuple[Path, ...]:
    """Make sure that all files of a set are here, and return the folders that they are in."""
    files = storage.stored(_described(name))
    return tuple(dict.fromkeys(file.path.parent for file in files.values()))


def available() -> tuple[Listing, ...]:
    """What is known of every set, and where its files are; nothing is read or downloaded for it."""
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
