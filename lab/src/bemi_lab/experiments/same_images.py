"""Comparisons across runs, on the same images: ours beside the paper, and our own systems with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from bemi.stages import PAPER_STAGES
from bemi_lab.experiments.network_tables import axis_heading, axis_value, difference, paper_spread
from bemi_lab.experiments.results import CellResult, Run
from bemi_lab.experiments.spec import AXES, PAPER_IMAGES, RANDOM_IMAGES, Cell
from bemi_lab.experiments.table import Row, Spread, Table, interval

SAMPLE_AXES = ("classes", "per_class")
"""Axes that say which rows a cell has; the others say what is trained on them."""

IMAGES_IN_WORDS = {PAPER_IMAGES: "the paper's", RANDOM_IMAGES: "random"}


def beside_the_paper(runs: Sequence[Run]) -> Table:
    """Every cell that was run on the paper's images, and the same cell on random ones."""
    on_random = {
        (run.experiment.name, run.settings["engine"], result.cell): result.accuracy
        for run in runs
        if run.images == RANDOM_IMAGES and run.on_paper_data
        for result in run.cells
    }
    rows = [
        {
            "experiment": run.experiment.name,
            "setting": setting(result.cell),
            "per class": result.cell.per_class,
            "ours, the paper's images": result.accuracy,
            "paper": paper_spread(result),
            "difference": difference(run, result.accuracy.mean, result.paper.get("accuracy")),
            "ours, random images": on_random.get((run.experiment.name, run.settings["engine"], result.cell)),
        }
        for run in runs
        if run.on_paper_images
        for result in run.cells
    ]
    caption = (
        "Test accuracy in % under the paper's voting rule: mean over the samples, smallest and largest in brackets. "
        "On the paper's images, ours and the paper's were trained and tested on the same images, so that the "
        "difference is one of training. Random images say more about new data; how far they are from the paper's "
        "numbers says nothing about either system."
    )
    return Table(caption, rows)


def own_systems(runs: Sequence[Run]) -> Table:
    """Our systems in pairs that differ in one setting, or from the paper's system, sample by sample."""
    rows = [
        _pair(run, result, known[other][1])
        for known in _comparable(runs).values()
        for run, result in known.values()
        for other in _compared_with(result.cell)
        if other in known
    ]
    caption = (
        "Our own systems on the same images: test accuracy in % under the paper's voting rule, and its mean "
        "difference, paired by sample, with a 95 % confidence interval (Student's t over the samples) in brackets. An "
        "interval that contains 0 shows no difference; of a hundred comparisons without any difference, five are "
        "expected to show one by chance. "
        "Samples of sets without a test part overlap, which makes their intervals a little too narrow."
    )
    return Table(caption, rows).without_empty_columns()


def setting(cell: Cell) -> str:
    """What is special about a cell, in words: where it differs from the paper's networks."""
    return _in_words(cell, [axis for axis in _unusual(cell) if axis != "per_class"]) or "the paper's networks"


def _unusual(cell: Cell) -> list[str]:
    """Axes on which a cell differs from the paper's networks on all classes."""
    usual = Cell()
    return [axis for axis in AXES if getattr(cell, axis) != getattr(usual, axis)]


def _in_words(cell: Cell, axes: Sequence[str]) -> str:
    parts = []
    for axis in axes:
        text = axis_value(axis, getattr(cell, axis)) or "none"
        parts.append(text if axis == "stages" else f"{axis_heading(axis)} {text}")
    return ", ".join(parts)


def _comparable(runs: Sequence[Run]) -> dict[tuple[Any, ...], dict[Cell, tuple[Run, CellResult]]]:
    """Cells of runs whose samples are the same and were trained in the same way, by what they have in common."""
    groups: dict[tuple[Any, ...], dict[Cell, tuple[Run, CellResult]]] = {}
    for run in runs:
        settings, experiment = run.settings, run.experiment
        rows = experiment.paper.sizes if run.images == PAPER_IMAGES else settings["seed"]
        key = (settings["dataset"], run.images, rows, experiment.split, settings["engine"], experiment.equal_shares)
        for result in run.cells:
            groups.setdefault(key, {}).setdefault(result.cell, (run, result))
    return groups


def _compared_with(cell: Cell) -> Iterator[Cell]:
    """The cells that differ in one axis, which has the paper's value; for soft margins also the paper's networks."""
    usual = Cell()
    trained = [axis for axis in _unusual(cell) if axis not in SAMPLE_AXES]
    for axis in trained:
        yield replace(cell, **{axis: getattr(usual, axis)})
    if len(trained) > 1 and not set(cell.stages) <= set(PAPER_STAGES):
        yield replace(usual, **{axis: getattr(cell, axis) for axis in SAMPLE_AXES})


def _pair(run: Run, one: CellResult, other: CellResult) -> Row:
    common = sorted({r["sample"] for r in one.records} & {r["sample"] for r in other.records})
    engine = "" if run.settings["engine"] == "decomposition" else f" ({run.settings['engine']} engine)"
    paper_rule = [_by_sample(result, "paper_accuracy", common) for result in (one, other)]
    with_ties = [_by_sample(result, "accuracy", common) for result in (one, other)]
    differing = [axis for axis in AXES if getattr(one.cell, axis) != getattr(other.cell, axis)]
    shared = [axis for axis in _unusual(one.cell) if axis not in (*differing, "per_class")]
    open_rows = max(one.unclassified.high, other.unclassified.high) > 0
    means = [Spread.of(values).mean if values else None for values in paper_rule]
    return {
        "data": f"{run.settings['dataset']}{engine}",
        "images": IMAGES_IN_WORDS[run.images],
        "both": _in_words(one.cell, shared) or None,
        "setting": _in_words(one.cell, differing),
        "compared with": _in_words(other.cell, differing),
        "per class": one.cell.per_class,
        "samples": len(common),
        "its accuracy": means[0],
        "the other's": means[1],
        "difference": _paired(*paper_rule),
        "difference, ties by margin": _paired(*with_ties) if open_rows else None,
    }


def _by_sample(result: CellResult, measure: str, samples: Sequence[int]) -> list[float]:
    known = {record["sample"]: 100 * record[measure] for record in result.records}
    return [known[sample] for sample in samples]


def _paired(ours: Sequence[float], theirs: Sequence[float]) -> Spread | None:
    return interval([a - b for a, b in zip(ours, theirs, strict=True)])
