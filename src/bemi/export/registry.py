"""The targets that an ensemble can be exported to."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Target:
    """A target.

    Attributes
    ----------
    name
        Name on the command line.
    words
        What it is, in one line.
    module
        Package whose ``write(model, path, ...)`` writes it; ``model`` is a fitted classifier or an ensemble.
    writes_folder
        Whether ``path`` is a folder rather than a file.
    """

    name: str
    words: str
    module: str
    writes_folder: bool = False

    def load(self) -> ModuleType:
        """The package, imported on demand, since its dependencies may be missing."""
        return import_module(self.module)


TARGETS = {
    target.name: target
    for target in (
        Target(
            "c",
            "C99 for small devices: integers only, nothing allocated, no library called",
            "bemi.export.c",
            writes_folder=True,
        ),
        Target("onnx", "an ONNX file with integer operators alone", "bemi.export.onnx"),
        Target("page", "one HTML file in which people can try the model and look into it", "bemi.export.page"),
    )
}
"""All targets, by name."""
