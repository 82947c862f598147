"""What an experiment is: cells of networks to train, and grids of systems to compare, as its file in ``specs/`` says.

The command line lists experiments in its help, so this module imports nothing slow.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from itertools import product
from typing import Any

PAPER_IMAGES, RANDOM_IMAGES = "paper", "random"
IMAGES = (PAPER_IMAGES, RANDOM_IMAGES)
"""Which images samples have: rules of :func:`bemi_lab.datasets.sample`."""

SAMPLES = 5
"""Draws of training rows, as in the paper."""

BUNDLED = {"mnist": "digits", "fashion-mnist": "digits", "heart-disease": "breast-cancer"}
"""Stand-ins from scikit-learn, for quick runs if a data set's files are missing."""

NETWORKS = "networks"
"""The kind of experiments whose file names none: they train ensembles on a grid of settings."""

NO_INPUTS = "none"
"""Short name of no inputs but the features themselves."""


def paper_stages() -> tuple[str, ...]:
    """The stages of the paper's networks."""
    from bemi.stages import PAPER_STAGES

    return PAPER_STAGES


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment; every sample of a cell is one ensemble.

    ``classes`` is None for all classes, ``per_class`` is None if the sample is not drawn class by class,
    ``transform`` is the short name of what networks see, and ``mw_loss`` is None for the classifier's default.
    """

    transform: str = NO_INPUTS
    classes: tuple[Any, ...] | None = None
    hidden_layers: tuple[int, ...] = (4, 4)
    weight_bound: int = 1
    stages: tuple[str, ...] = field(default_factory=paper_stages)
    mw_loss: float | None = None
    per_class: int | None = None

    @property
    def name(self) -> str:
        """A name for files, different for every cell of an experiment."""
        parts = [self.transform] if self.transform != NO_INPUTS else []
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
class Grid:
    """Systems that are compared with each other, on every split of every data set."""

    systems: tuple[str, ...]  # of the experiment's kind, in the order of the report
    splits: tuple[str, ...]  # names as bemi_lab.datasets.Split.parse takes them
    datasets: tuple[str, ...] = ()  # empty for that of the experiment
    report: tuple[str, ...] = ()  # names of the tables that show it
    samples: int = SAMPLES  # seeds, or folds


@dataclass(frozen=True)
class Paper:
    """What the paper says about an experiment; empty for those that are not the paper's."""

    seconds: float = 0.0  # its time limit per network, on 8 cores
    system_seconds: float | None = None  # that of other systems' papers
    values: Mapping[Cell, Mapping[str, float]] = field(default_factory=dict)  # by cell and measure, in %
    confusion: tuple[int, list[list[float]]] | None = None  # rows per class, and the matrix
    sizes: tuple[int, ...] | None = None
    """All its numbers of rows per class, which determine its images; None if its rows are not known."""
    published: tuple[Mapping[str, Any], ...] = ()
    """Other systems' accuracies, and how they were measured: ``"all_good"``, ``"largest"`` or ``"voting"``."""


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file describes it."""

    name: str
    title: str
    question: str
    kind: str  # a name in bemi_lab.experiments.subjects.KINDS: what is compared, on which kind of data
    dataset: str  # that of the kind if grids name several
    source: str = ""  # where the paper shows it
    cells: tuple[Cell, ...] = ()  # networks to train
    grids: tuple[Grid, ...] = ()  # systems to compare
    samples: int = SAMPLES  # draws of training rows per cell
    time_limit: float | None = None  # seconds per network, None for the default
    system_seconds: float | None = None  # of another system on a sample
    equal_shares: bool = False  # of the time, for every stage, as in the paper's Experiments 1 and 6
    split: tuple[int, int] | None = None  # rows to draw and to hold out, if samples are not drawn class by class
    noise: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # levels of each kind, to test under
    radii: tuple[int, ...] = ()  # certified radii for which to report the share of test rows
    tables: tuple[str, ...] = ()  # what the report shows of the cells
    figures: tuple[str, ...] = ()
    needs_all: bool = True  # otherwise data sets that are not here are left out
    paper: Paper = field(default_factory=Paper)

    def check_images(self, images: str) -> None:
        """Raise ValueError for the paper's images if they are not known."""
        if images == PAPER_IMAGES and self.paper.sizes is None:
            raise ValueError(f"it is not known which rows the paper takes in {self.name}; run it with random ones")


@dataclass(frozen=True)
class Settings:
    """What the user chooses; everything else is in the experiment's file."""

    dataset: str
    engine: str = "decomposition"
    solver: str = "highs"
    time_limit: float = 10.0
    node_limit: int | None = None
    gap: float | None = None
    seed: int = 0
    system_seconds: float | None = None
    images: str = RANDOM_IMAGES

    @property
    def limits(self) -> dict[str, Any]:
        """Those that every classifier of ours takes."""
        return {name: getattr(self, name) for name in ("engine", "solver", "time_limit", "node_limit", "gap")}


def names() -> list[str]:
    """Names of all experiments, the paper's in its order."""
    return sorted(path.name.removesuffix(".toml") for path in _folder().iterdir() if path.name.endswith(".toml"))


def load(name: str, *, quick: bool = False) -> Experiment:
    """An experiment from its file; ``quick`` reads its small version."""
    if name not in names():
        raise ValueError(f"unknown experiment {name!r}; known: {', '.join(names())}")
    content = tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    small = content.pop("quick") if quick else {}
    content.pop("quick", None)
    # One grid of cells, or several if not every combination makes sense.
    cells = content.pop("cells", [])
    cells = cells if isinstance(cells, list) else [cells]
    grids = [_grid(grid, small) for grid in content.pop("grids", [])]
    paper, split = content.pop("paper", {}), content.pop("split", None)
    kind = content.pop("kind", NETWORKS)
    content |= {key: small[key] for key in ("samples", "time_limit", "system_seconds") if key in small}
    return Experiment(
        name=name,
        kind=kind,
        dataset=content.pop("dataset", kind),
        cells=tuple(cell for axes in cells for cell in _cells({a: small.get(a, values) for a, values in axes.items()})),
        grids=tuple(grid for grid in grids if grid.splits and grid.systems),
        split=(split["rows"], split["test"]) if split else None,
        noise={kind: tuple(levels) for kind, levels in content.pop("noise", {}).items()},
        needs_all=not quick,
        paper=_paper(paper, content.pop("published", []), cells[0] if cells else {}),
        **{key: _frozen(value) for key, value in content.items()},
    )


def _grid(content: Mapping[str, Any], small: Mapping[str, Any]) -> Grid:
    """A grid; the small version keeps what it lists."""
    axes = {
        axis: tuple(value for value in content[axis] if value in small.get(axis, content[axis]))
        for axis in ("systems", "splits", "datasets")
        if axis in content
    }
    if axes.get("datasets") == ():
        axes["systems"] = ()
    samples = int(small.get("grid_samples", small.get("samples", content["samples"])))
    return Grid(**axes, report=tuple(content["report"]), samples=samples)


def _folder() -> Any:
    return files("bemi_lab.experiments") / "specs"


def _cells(axes: Mapping[str, list[Any]]) -> tuple[Cell, ...]:
    """Every combination of the values on the axes; the last axis varies fastest."""
    return tuple(cell(dict(zip(axes, values, strict=True))) for values in product(*axes.values()))


def _paper(content: Mapping[str, Any], published: list[dict[str, Any]], axes: Mapping[str, list[Any]]) -> Paper:
    """What the paper says: an entry of its values lists measures along one axis; ``where`` fixes other axes."""
    # An axis with a single value need not be repeated by every entry.
    fixed = {axis: values[0] for axis, values in axes.items() if len(values) == 1}
    found = {}
    for entry in content.get("values", []):
        where = fixed | entry.get("where", {})
        (along,) = (axis for axis in entry if axis in AXES)
        measures = [key for key in entry if key not in (along, "where")]
        for position, value in enumerate(entry[along]):
            found[cell(where | {along: value})] = {measure: float(entry[measure][position]) for measure in measures}
    confusion = content.get("confusion")
    return Paper(
        seconds=content.get("seconds", 0.0),
        system_seconds=content.get("system_seconds"),
        values=found,
        confusion=(confusion["per_class"], confusion["percent"]) if confusion else None,
        sizes=_frozen(content.get("sizes")),
        published=tuple(published),
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
