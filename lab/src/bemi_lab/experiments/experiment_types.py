"""Kinds of experiments: who reads their files, runs them and reports on them.

The command line lists experiments in its help, so this module imports nothing slow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi_lab.experiments import spec
from bemi_lab.experiments.image import spec as image
from bemi_lab.experiments.signal import spec as signal
from bemi_lab.experiments.tabular import spec as tabular

if TYPE_CHECKING:
    from bemi_lab.experiments.section import Section


@dataclass(frozen=True)
class Kind:
    """A kind of experiments.

    Attributes
    ----------
    load
        From a name, and whether to read the small version, to the experiment.
    runner
        Module with ``reproduce(experiment, settings, folder, *, samples, n_jobs, show, shard)``, which runs what is
        unfinished, and ``remarks(experiment)``, lines for the user about what cannot run here.
    reporter
        Module with ``section(folder)``, a run's part of a page.
    """

    load: Callable[..., Any]
    runner: str
    reporter: str

    def reproduce(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        return import_module(self.runner).reproduce(*arguments, **options)

    def remarks(self, experiment: Any) -> list[str]:
        return import_module(self.runner).remarks(experiment)

    def section(self, folder: Path) -> Section:
        return import_module(self.reporter).section(folder)


KINDS = {
    spec.NETWORKS: Kind(spec.load, "bemi_lab.experiments.run", "bemi_lab.experiments.network_section"),
    "images": Kind(image.load, "bemi_lab.experiments.image.run", "bemi_lab.experiments.image.section"),
    "signals": Kind(signal.load, "bemi_lab.experiments.signal.run", "bemi_lab.experiments.signal.section"),
    "tables": Kind(tabular.load, "bemi_lab.experiments.tabular.run", "bemi_lab.experiments.tabular.section"),
}
"""All kinds by name."""


def of(experiment: str) -> Kind:
    """The kind of the experiment of that name."""
    return KINDS[spec.kind(experiment)]


def of_run(folder: Path) -> Kind:
    """The kind of the experiment whose run is in a folder."""
    from bemi_lab.experiments.folder import read_run

    return of(read_run(folder)["experiment"])
