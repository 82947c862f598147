"""Tables that the report on images shows, each from a run and one of its grids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from bemi_lab.experiments.image.systems import RECOMMENDED, SYSTEMS
from bemi_lab.experiments.results import Spread
from bemi_lab.experiments.signal.draws import draw
from bemi_lab.experiments.tables import Table
from bemi_lab.experiments.tabular.results import TableRun
from bemi_lab.experiments.tabular.spec import Grid


def accuracy(run: TableRun, grid: Grid) -> Table:
    """Accuracy of every system on every data set, by the number of images of a class."""
    splits = [split for split in grid.splits if run.has(RECOMMENDED, split)]
    rows = []
    for name in grid.tables:
        for system in grid.systems:
            found = [_spread(run, system, split, name, "accuracy", 100) for split in splits]
            if any(found):
                rows.append([name, SYSTEMS[system].title, *found])
    caption = (
        "Test accuracy in % by the number of training images of a class, mean over the draws with the smallest and the "
        "largest. *Rows as ours*: histograms as our model chose them, deformed copies included; *plain rows*: "
        "histograms of the straightened images."
    )
    return Table("accuracy", caption, ["data set", "system", *(str(draw(split).per_class) for split in splits)], rows)


def training(run: TableRun, grid: Grid) -> Table:
    """What our models proved, and what choosing and training took."""
    rows = []
    for name, split in _measured(run, grid):
        gap, largest = (_spread(run, RECOMMENDED, split, name, measure, 100) for measure in ("gap", "largest_gap"))
        certified = run.values(RECOMMENDED, split, name, "certified")
        assert largest is not None
        seconds = [_mean(run, split, name, measure) for measure in ("choosing", "deforming", "cpu", "seconds")]
        share = 100 * sum(certified.values()) / len(certified)
        rows.append([name, draw(split).title, len(certified), gap, largest.high, share, *seconds])
    caption = (
        "Our models: draws; certified gap, mean over the networks of a draw, mean over the draws with the smallest and "
        "the largest draw's; the largest gap of a network; share of models of which every bound is certified; seconds "
        "of one core, means over the draws: choosing, deforming, and everything from choosing to the last network, by "
        "the processor's clock and by the wall's."
    )
    headings = ["data set", "training", "draws", "gap %", "largest gap %", "certified %", "choosing s", "deforming s"]
    return Table("training", caption, [*headings, "all s", "wall s"], rows)


def choices(run: TableRun, grid: Grid) -> Table:
    """What cross-validation on the training images chose."""
    rows = []
    for name, split in _measured(run, grid):
        chosen = Counter(run.values(RECOMMENDED, split, name, "choice").values())
        rows.append([name, draw(split).title, "; ".join(f"{choice}: {n}" for choice, n in chosen.most_common())])
    caption = "What our models chose by cross-validation on the training images, and on how many draws."
    return Table("choices", caption, ["data set", "training", "choice"], rows)


REPORTS: dict[str, Callable[[TableRun, Grid], Table]] = {
    "accuracy": accuracy,
    "training": training,
    "choices": choices,
}
"""All tables by name."""


def _measured(run: TableRun, grid: Grid) -> Iterator[tuple[str, str]]:
    """Data sets and draws on which our models were measured."""
    for name in grid.tables:
        for split in grid.splits:
            if run.values(RECOMMENDED, split, name, "accuracy"):
                yield name, split


def _spread(run: TableRun, system: str, split: str, name: str, measure: str, times: float) -> Spread | None:
    found = run.values(system, split, name, measure).values()
    return Spread.of([times * value for value in found]) if found else None


def _mean(run: TableRun, split: str, name: str, measure: str) -> Any:
    return run.by_table(RECOMMENDED, split, measure, [name])[name]
