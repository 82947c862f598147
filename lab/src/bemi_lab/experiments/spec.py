"""What an experiment is: a data set, a grid of cells, and what the paper reports for each of them.

The command line lists experiments in its help, so this module imports nothing slow.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from itertools import product
from typing import Any

from bemi.inputs.registry import NO_TRANSFORM
from bemi_lab.datasets.paper_images import SAMPLES as PAPER_SAMPLES

PAPER_IMAGES, RANDOM_IMAGES = "paper", "random"
IMAGES = (PAPER_IMAGES, RANDOM_IMAGES)
"""Which images samples have: rules of :func:`bemi_lab.datasets.sample`."""


def paper_stages() -> tuple[str, ...]:
    """The stages of the paper's networks."""
    from bemi.stages import PAPER_STAGES

    return PAPER_STAGES


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment; every sample of a cell is one ensemble.

    ``classes`` is None for all classes, ``per_class`` is None if the sample is not drawn class by class,
    ``transform`` is a short name in :mod:`bemi.inputs.registry`, and ``mw_loss`` is None for the classifier's default.
    """

    transform: str = NO_TRANSFORM
    classes: tuple[Any, ...] | None = None
    hidden_layers: tuple[int, ...] = (4, 4)
    weight_bound: int = 1
    stages: tuple[str, ...] = field(default_factory=paper_stages)
    mw_loss: float | None = None
    per_class: int | None = None

    @property
    def name(self) -> str:
        """A name for files, different for every cell of an experiment."""
        parts = [self.transform] if self.transform != NO_TRANSFORM else []
        parts += [f"classes-{'-'.join(map(str, self.classes))}"] if self.classes else []
        parts += [f"layers-{'-'.join(map(str, self.hidden_layers))}"] if self.hidden_layers else []
        parts += [f"P{self.weight_bound}", "-".join(self.stages)]
        parts += [f"loss{self.mw_loss:g}"] if self.mw_loss is not None else []
        parts += [f"n{self.per_class:03d}"] if self.per_class else []
        return "_".join(parts)


AXES = tuple(axis.name for axis in fields(Cell))


def cell(settings: Mapping[str, Any]) -> Cell:
    """A cell from settings as TOML and JSON write them."""
    return Cell(**{axis: _frozen(value) for axis, value in settings.items()})


@dataclass(frozen=True)
class Systems:
    """Other systems that an experiment compares with ours.

    Attributes
    ----------
    names
        Names in :data:`bemi_lab.experiments.systems.NAMES`.
    per_class
        Training rows of each class.
    samples
        Draws of training rows.
    seconds, paper_seconds
        Time for a system on a sample, by default and in their papers.
    """

    names: tuple[str, ...]
    per_class: tuple[int, ...]
    samples: int
    seconds: float
    paper_seconds: float


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file describes it.

    Attributes
    ----------
    name, title, question, source
        Name, heading, the question it answers, and where the paper shows it.
    dataset
        Name of the data set.
    cells
        The settings to run.
    samples
        Draws of training rows per cell.
    time_limit
        Seconds per network; None is the classifier's default.
    equal_shares
        Whether every stage gets the same share of the time, as in the paper's Experiments 1 and 6.
    split
        Rows to draw and how many of them to hold out for testing, if samples are not drawn class by class.
    noise
        Levels of each kind of noise (:mod:`bemi_lab.experiments.noise`) under which ensembles are also tested.
    radii
        Radii for which to report the share of test rows with at least that certified radius; empty for none.
    tables, figures
        What the report shows.
    paper_seconds
        The paper's time limit per network, on 8 cores; 0 for experiments that are not the paper's.
    paper
        What the paper reports, by cell and measure, in %; empty for other experiments.
    paper_confusion
        The paper's confusion matrix, and for how many rows per class.
    paper_sizes
        All numbers of rows per class in the paper, which determine its images; None if its rows are not known.
    published
        Other systems' published accuracies, and how they were measured: ``"all_good"``, ``"largest"`` or ``"voting"``.
    systems
        Other systems to run, if any.
    """

    name: str
    title: str
    question: str
    source: str
    dataset: str
    cells: tuple[Cell, ...]
    samples: int
    time_limit: float | None
    equal_shares: bool
    split: tuple[int, int] | None
    noise: Mapping[str, tuple[float, ...]]
    radii: tuple[int, ...]
    tables: tuple[str, ...]
    figures: tuple[str, ...]
    paper_seconds: float
    paper: Mapping[Cell, Mapping[str, float]]
    paper_confusion: tuple[int, list[list[float]]] | None
    published: tuple[Mapping[str, Any], ...]
    paper_sizes: tuple[int, ...] | None = None
    systems: Systems | None = None


@dataclass(frozen=True)
class Settings:
    """What the user chooses; everything else is in the experiment's file."""

    dataset: str
    engine: str = "decomposition"
    solver: str = "highs"
    time_limit: float = 10.0
    node_limit: int | None = None
    gap: float = 0.01
    seed: int = 0
    system_seconds: float | None = None
    images: str = RANDOM_IMAGES


NETWORKS = "networks"
"""The kind of experiments whose file names none: they train ensembles on a grid of settings."""

BUNDLED = {"mnist": "digits", "fashion-mnist": "digits", "heart-disease": "breast-cancer"}
"""Stand-ins from scikit-learn, for quick runs if a data set's files are missing."""


def check_images(name: str, paper_sizes: tuple[int, ...] | None, images: str) -> None:
    """Raise ValueError for the paper's images of an experiment for which they are not known."""
    if images == PAPER_IMAGES and paper_sizes is None:
        raise ValueError(f"it is not known which rows the paper takes in {name}; run it with random ones")


def names() -> list[str]:
    """Names of all experiments, the paper's in its order."""
    return sorted(path.name.removesuffix(".toml") for path in _folder().iterdir() if path.name.endswith(".toml"))


def read_file(name: str) -> dict[str, Any]:
    """What an experiment's file says."""
    if name not in names():
        raise ValueError(f"unknown experiment {name!r}; known: {', '.join(names())}")
    return tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))


def kind(name: str) -> str:
    """Kind of an experiment, a name in :data:`bemi_lab.experiments.experiment_types.KINDS`."""
    return read_file(name).get("kind", NETWORKS)


def load(name: str, *, quick: bool = False) -> Experiment:
    """An experiment that trains networks, from its file; ``quick`` reads its small version."""
    content = read_file(name)
    small = content["quick"] if quick else {}
    # One grid, or several if not every combination makes sense.
    grids = content["cells"] if isinstance(content["cells"], list) else [content["cells"]]
    paper = content.get("paper", {"seconds": 0.0, "values": []})
    confusion = paper.get("confusion")
    split = content.get("split")
    return Experiment(
        name=name,
        title=content["title"],
        question=content["question"],
        source=content["source"],
        dataset=content["dataset"],
        cells=tuple(cell for axes in grids for cell in _grid({a: small.get(a, values) for a, values in axes.items()})),
        samples=small.get("samples", PAPER_SAMPLES),
        time_limit=small.get("time_limit", content.get("time_limit")),
        equal_shares=content.get("equal_shares", False),
        split=(split["rows"], split["test"]) if split else None,
        noise={kind: tuple(levels) for kind, levels in content.get("noise", {}).items()},
        radii=tuple(content.get("radii", ())),
        tables=tuple(content["tables"]),
        figures=tuple(content["figures"]),
        paper_seconds=paper["seconds"],
        paper=_paper_values(paper["values"], grids[0]),
        paper_confusion=(confusion["per_class"], confusion["percent"]) if confusion else None,
        published=tuple(content.get("published", ())),
        paper_sizes=_frozen(paper.get("sizes")),
        systems=_systems(content["systems"] | small.get("systems", {})) if "systems" in content else None,
    )


def _systems(settings: Mapping[str, Any]) -> Systems:
    return Systems(**{name: _frozen(value) for name, value in settings.items()})


def _folder() -> Any:
    return files("bemi_lab.experiments") / "specs"


def _grid(axes: Mapping[str, list[Any]]) -> tuple[Cell, ...]:
    """Every combination of the values on the axes; the last axis varies fastest."""
    return tuple(cell(dict(zip(axes, values, strict=True))) for values in product(*axes.values()))


def _paper_values(entries: list[dict[str, Any]], axes: Mapping[str, list[Any]]) -> dict[Cell, dict[str, float]]:
    """The paper's measures by cell: an entry lists them along one axis; ``where`` fixes the values of other axes."""
    # An axis with a single value need not be repeated by every entry.
    fixed = {axis: values[0] for axis, values in axes.items() if len(values) == 1}
    found = {}
    for entry in entries:
        where = fixed | entry.get("where", {})
        (along,) = (axis for axis in entry if axis in AXES)
        measures = [key for key in entry if key not in (along, "where")]
        for position, value in enumerate(entry[along]):
            found[cell(where | {along: value})] = {measure: float(entry[measure][position]) for measure in measures}
    return found


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
