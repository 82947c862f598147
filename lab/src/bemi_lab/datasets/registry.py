"""The data sets: what each contains, who published it, which files or package hold it; list, fetch and load them.

The facts are in ``sets.toml``.  Nothing slow is imported before a set is loaded, so that listing the sets is fast.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi_lab.datasets import storage
from bemi_lab.datasets.storage import DataFile, DatasetError

if TYPE_CHECKING:
    from bemi_lab.datasets.sampling import Dataset

BUNDLED, TABLES = "sklearn", "tables"
"""The package whose data sets are always here; the folder that all CSV files share."""

INSTALL_SIGNALS = 'pip install "bemi-lab[signals]"'

_NOT_HERE = "not here yet"


@dataclass(frozen=True)
class Description:
    """A data set before it is loaded; ``train``, ``test`` are rows, and ``features`` those of a row.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> iris = next(known for known in datasets.available() if known.name == "iris")
    >>> iris.rows, iris.features, iris.classes, iris.place
    (150, 4, 3, 'part of scikit-learn')
    """

    name: str
    train: int
    features: int
    classes: int
    source: str  # who published it
    reader: str  # MODULE.FUNCTION of this package, from the description and its files to the Dataset
    test: int = 0
    licence: str = "as its publishers say"
    files: tuple[DataFile, ...] = ()
    mirrors: tuple[str, ...] = ()  # addresses to which a file's name is appended, tried in this order
    package: str | None = None  # that holds it, if no files of ours do
    shape: tuple[int, int] | None = None  # height and width of an image; samples and channels of a window
    class_names: tuple[str, ...] | None = None
    folder: str | None = None  # of its files, below the data folder; one of its own unless stated

    @property
    def rows(self) -> int:
        """Rows of both parts."""
        return self.train + self.test

    @property
    def place(self) -> str:
        """Where it is now, in words."""
        if self.package == BUNDLED:
            return "part of scikit-learn"
        if self.package is not None:
            return f"part of {self.package}" if find_spec(self.package) else _NOT_HERE
        places = [storage.place(self, file) for file in self.files]
        return _NOT_HERE if None in places else " and ".join(dict.fromkeys(filter(None, places)))

    @property
    def here(self) -> bool:
        """Whether it can be loaded without a download."""
        return self.place != _NOT_HERE


def load(name: str) -> Dataset:
    """Load a data set by name.

    Files are taken from ``$BEMI_DATA/<name>/`` or the cache, and otherwise downloaded into the cache.  Wherever they
    come from, they must be exactly the published ones.  Some data sets are part of Python packages instead.

    Missing values are NaN.  In ``heart-disease`` these are cells marked ``?``, and zeros in ``trestbps`` and ``chol``,
    which no patient can have.  Impute them from training rows only; otherwise test rows leak into training.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> iris = datasets.load("iris")
    >>> iris.train_X.shape, iris.has_test
    ((150, 4), False)
    """
    known = described(name)
    if known.package is not None and find_spec(known.package) is None:
        raise DatasetError(f"{name} comes with the package {known.package}; install it with: {INSTALL_SIGNALS}")
    module, function = known.reader.split(".")
    reader = getattr(import_module(f"bemi_lab.datasets.{module}"), function)
    return reader(known, storage.stored(known))


def fetch(name: str) -> tuple[Path, ...]:
    """Download what is missing of a data set, and return the folders that hold its files.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> datasets.fetch("iris")  # part of scikit-learn
    ()
    """
    files = storage.stored(described(name))
    return tuple(dict.fromkeys(file.path.parent for file in files.values()))


def available() -> tuple[Description, ...]:
    """All data sets, as their descriptions; nothing is read or downloaded.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> "mnist" in {known.name for known in datasets.available()}
    True
    """
    return tuple(SETS.values())


def is_here(name: str) -> bool:
    """Whether a data set can be loaded without a download.

    Examples
    --------
    >>> from bemi_lab import datasets
    >>> datasets.is_here("iris")
    True
    """
    return described(name).here


def described(name: str) -> Description:
    """What is known about the data set of that name; raises DatasetError for unknown names."""
    if name not in SETS:
        raise DatasetError(f"unknown dataset {name!r}; known: {', '.join(SETS)}")
    return SETS[name]


def _description(name: str, facts: Mapping[str, Any]) -> Description:
    """A description from its facts; CSV files share a folder, and each package with signals has a reader."""
    known: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    known["files"] = tuple(DataFile(*file) for file in facts.get("files", ()))
    package = facts.get("package")
    if package not in (None, BUNDLED):
        known |= {"features": prod(facts["shape"]), "reader": f"signals.{package}"}
        known["source"] = f"installed with {package}, whose documentation names its publishers"
    elif "reader" not in facts:
        known |= {"folder": TABLES, "reader": "readers.csv"}
    return Description(name, **known)


SETS = {
    name: _description(name, facts)
    for name, facts in tomllib.loads((files(__package__) / "sets.toml").read_text(encoding="utf-8")).items()
}
"""All data sets by name, in the order in which lists show them: images and tables, CSV files, signals."""
