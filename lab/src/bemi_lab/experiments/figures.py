"""Figures of a run in the paper's form: mean lines with minimum-maximum bands, matrices, weights as images."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from bemi_lab.classifiers import input_title
from bemi_lab.datasets import Split
from bemi_lab.datasets.sampling import PUBLISHED
from bemi_lab.experiments import subjects
from bemi_lab.experiments.network_tables import (
    FLOAT_BITS,
    axis_heading,
    axis_value,
    by_size,
    confusion_percent,
    most_rows,
    noise_curves,
    paper_title,
    system,
)
from bemi_lab.experiments.networks import REFERENCE
from bemi_lab.experiments.noise import LEVELS
from bemi_lab.experiments.results import CellResult, Run

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, distinguishable for colour-blind readers."""
MARKERS = "osD^v*"
GREY = "#777777"
ALL_OF_A_CLASS = 6000
"""Training images of a class where all of MNIST or Fashion-MNIST are taken; of MNIST there are 5,421 to 6,742."""


def available() -> bool:
    """Whether the drawing library is installed: ``pip install 'bemi-lab[figures]'``."""
    return find_spec("matplotlib") is not None


def as_svg(figure: Any) -> bytes:
    """A figure as a file; the same run gives the same bytes."""
    made = io.BytesIO()
    figure.savefig(made, format="svg", metadata={"Date": None})
    _pyplot().close(figure)
    return made.getvalue()


SETTINGS: dict[Any, Any] = {
    **{"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True},
    **{"grid.color": "#e5e5e5", "axes.axisbelow": True, "legend.frameon": False},
    **{"svg.hashsalt": "bemi", "svg.fonttype": "none"},
}


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(SETTINGS)
    return pyplot


def _panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """A figure and its axes, an array of rows."""
    return _pyplot().subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)


def _style(number: int) -> dict[str, str]:
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}


def _legend_below(figure: Any, axis: Any, **options: Any) -> None:
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, **options)


Values = Callable[[CellResult], Any]


def accuracy(run: Run) -> Any:
    """Test accuracy under the paper's rule, with the paper's curves dashed and two alternatives in grey."""

    others = ("linear SVM", "RBF SVM")
    return _lines(run, "test accuracy in %", lambda r: r.accuracy, lambda r: r.paper.get("accuracy"), others)


def links(run: Run) -> Any:
    """Non-zero weights after the last stage."""

    return _lines(run, "non-zero weights in %", lambda r: r.links(), lambda r: r.paper.get("links"))


def _lines(run: Run, ylabel: str, ours: Values, paper: Values, alternatives: Sequence[str] = ()) -> Any:
    """One panel per set of classes, one line per other setting, along the last axis that varies."""
    varying = run.varying()
    along = next((axis for axis in ("per_class", "weight_bound") if axis in varying), "per_class")
    panels = list(dict.fromkeys(result.cell.classes for result in run.cells))
    lines = [axis for axis in varying if axis not in (along, "classes")]
    figure, axes = _panels(1, len(panels), (5.2 * len(panels) + 1.2, 3.8), sharey=True)
    ticks = sorted({getattr(result.cell, along) or 0 for result in run.cells})
    # Bits double at each step, so their axis counts steps; images per class are to scale.
    place = {value: float(position if along == "weight_bound" else value) for position, value in enumerate(ticks)}

    def places(results: Sequence[CellResult]) -> list[float]:
        return [place[getattr(result.cell, along) or 0] for result in results]

    for axis, classes in zip(axes[0], panels, strict=True):
        groups: dict[tuple[Any, ...], list[CellResult]] = {}
        for result in run.cells:
            if result.cell.classes == classes:
                groups.setdefault(tuple(getattr(result.cell, name) for name in lines), []).append(result)
        for number, (values, results) in enumerate(groups.items()):
            style, x, spreads = _style(number), places(results), [ours(result) for result in results]
            label = ", ".join(_line_label(name, value) for name, value in zip(lines, values, strict=True)) or "bemi"
            axis.plot(x, [s.mean for s in spreads], label=label, markersize=5, **style)
            low, high = [s.low for s in spreads], [s.high for s in spreads]
            axis.fill_between(x, low, high, color=style["color"], alpha=0.15, lw=0)
            known = [result for result in results if paper(result) is not None]
            if known:
                text = f"{label}, {paper_title(run)}" if lines else f"the {paper_title(run)}"
                axis.plot(places(known), list(map(paper, known)), ls="--", lw=1, mfc="white", label=text, **style)
        first = next(iter(groups.values()))
        for name, dashes in zip(alternatives, (":", "-."), strict=False):
            means = [result.alternative(name).mean for result in first]
            axis.plot(places(first), means, color=GREY, ls=dashes, lw=1.2, label=name)
        axis.set_xticks([place[value] for value in ticks], [str(value) for value in ticks])
        axis.set_xlabel("training rows per class" if along == "per_class" else axis_heading(along))
        if classes is not None and len(panels) > 1:
            axis.set_title(axis_value("classes", classes))
    axes[0][0].set_ylabel(ylabel)
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return figure


def _line_label(axis: str, value: Any) -> str:
    text = axis_value(axis, value)
    return text if axis == "stages" else f"{axis_heading(axis)} = {text}"


def frontier(run: Run) -> Any:
    """Accuracy against the bits of all weights, and against the links; one row of panels per size of sample."""
    sizes = by_size(run)
    order = list(dict.fromkeys(_line(result) for result in run.cells))
    figure, axes = _panels(len(sizes), 2, (9, 2.7 * len(sizes) + 0.9), sharey="row", sharex="col")
    for row, (size, results) in zip(axes, sizes.items(), strict=True):
        _against(row[0], results, lambda result: result.bits, order)
        _against(row[1], results, lambda result: result.links_in_all, order)
        machines = {r.cell.transform: r for r in results if not r.cell.hidden_layers}
        for style, (transform, result) in zip((":", "-."), machines.items(), strict=False):
            accuracy = result.alternative(REFERENCE).mean
            for axis in row:
                axis.axhline(accuracy, color=GREY, ls=style, lw=1, label=f"linear SVM, {input_title(transform)}")
            row[0].plot(FLOAT_BITS * result.inputs, accuracy, "x", color=GREY)
        row[0].set_ylabel(f"accuracy in %, {size} per class")
    axes[-1][0].set_xlabel("bits of all weights (cross: 32 for each of the SVM's)")
    axes[-1][1].set_xlabel("links: non-zero weights")
    _legend_below(figure, axes[0][1], title="numbers: P", title_fontsize=8)
    return figure


def _line(result: CellResult) -> str:
    """The system without its weight bound: cells with the same text form a line."""
    return system(result.cell).rsplit(", P", 1)[0]


def _against(axis: Any, results: list[CellResult], cost: Callable[[CellResult], float], order: Sequence[str]) -> None:
    """Accuracy of cells against their cost, in lines along the weight bound; ``order`` determines the colours."""
    lines: dict[str, list[CellResult]] = {}
    for result in results:
        lines.setdefault(_line(result), []).append(result)
    for label, line in lines.items():
        x, y = [cost(result) for result in line], [result.accuracy_with_ties.mean for result in line]
        axis.plot(x, y, lw=1, ms=5, label=label, **_style(order.index(label)))
        for result, left, top in zip(line, x, y, strict=True):
            text = str(result.cell.weight_bound)
            axis.annotate(text, (left, top), (0, 6), textcoords="offset points", ha="center", fontsize=7)
    axis.set_xscale("log")
    from matplotlib import ticker

    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value / 1000:,g}k"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.margins(y=0.15)


def noise(run: Run) -> Any:
    """Accuracy along the levels of each kind of noise; one row of panels per size of sample."""
    sizes, kinds = by_size(run), run.experiment.noise
    everything = noise_curves(run.cells, next(iter(kinds)))
    order, ours = list(everything), len({system(result.cell) for result in run.cells})
    figure, axes = _panels(len(sizes), len(kinds), (10.5, 2.7 * len(sizes) + 0.9), sharey="row")
    for row, (size, results) in zip(axes, sizes.items(), strict=True):
        for axis, (kind, levels) in zip(row, kinds.items(), strict=True):
            for name, curve in noise_curves(results, kind).items():
                # By name over all sizes, so that a system has one colour even if a run is unfinished.
                number = order.index(name)
                style: dict[str, Any] = {"color": GREY, "lw": 1.1, "ls": ("-", "--", ":", "-.")[(number - ours) % 4]}
                if number < ours:
                    style = {"ms": 4, "lw": 1.4, **_style(number)}
                axis.plot([0, *levels], curve, label=name, **style)
            axis.set_xticks([0, *levels], [f"{level:g}" for level in (0, *levels)])
        row[0].set_ylabel(f"accuracy in %, {size} per class")
    for top, bottom, kind in zip(axes[0], axes[-1], kinds, strict=True):
        top.set_title(kind, fontsize=9)
        bottom.set_xlabel(LEVELS[kind], fontsize=8)
    _legend_below(figure, axes[0][0])
    return figure


def confusion(run: Run) -> Any:
    """Actual class in rows, predicted in columns, unclassified last."""
    result = most_rows(run)
    share = confusion_percent(result)
    labels = [str(label) for label in result.records[0]["classes"]]
    figure, ((axis,),) = _panels(1, 1, (6.4, 5.4))
    axis.imshow(share, cmap="Blues", vmin=0, vmax=100)
    axis.grid(visible=False)
    for (row, column), value in np.ndenumerate(share):
        colour = "white" if value > 55 else "black"
        axis.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color=colour)
    axis.set_xticks(range(share.shape[1]), [*labels, "n.l."])
    axis.set_yticks(range(len(labels)), labels)
    axis.set_xlabel("predicted (n.l.: unclassified)")
    axis.set_ylabel("actual")
    axis.set_title(f"{result.cell.per_class} per class, mean of {len(result.records)} samples, in %", fontsize=9)
    return figure


def growth(run: Run) -> Any:
    """Wrong labels, seconds, gap and flash by the number of training images; one line per system and data set."""
    ours = {"gap": "mean certified gap in %", "flash": "flash in kB"}
    panels = {"accuracy": "wrong test images in %", "cpu": "seconds of one core", **ours}
    figure, axes = _panels(2, 2, (9.5, 6.4))
    for axis, (measure, heading) in zip(axes.flat, panels.items(), strict=True):
        drawn: list[tuple[str, str]] = []
        for grid in run.experiment.grids:
            for dataset, system_name in product(grid.datasets, grid.systems):
                if (dataset, system_name) in drawn:
                    continue
                drawn.append((dataset, system_name))
                title = subjects.get(run.experiment.kind).systems[system_name].title
                points = [
                    (images, _shown_as(measure, run.values(system_name, split, dataset, measure)[0]))
                    for split, images in _images_of_a_class(run, system_name, dataset)
                    if run.values(system_name, split, dataset, measure)
                ]
                if points:
                    axis.plot(*zip(*points, strict=True), label=f"{title}, {dataset}", ms=4, **_style(len(drawn) - 1))
        axis.set(xscale="log", ylabel=heading, yscale="log" if measure in ("accuracy", "cpu") else "linear")
        axis.set_xlabel("training images of a class")
    _legend_below(figure, axes[0][0])
    return figure


def _images_of_a_class(run: Run, system_name: str, dataset: str) -> list[tuple[str, float]]:
    """Splits on which a system was measured, and training images of a class, in ascending order."""
    splits = {
        record["split"] for record in run.systems if (record["system"], record["dataset"]) == (system_name, dataset)
    }
    sizes = {split: Split.parse(split).rows if split != PUBLISHED else ALL_OF_A_CLASS for split in splits}
    return sorted(sizes.items(), key=lambda item: item[1])


def _shown_as(measure: str, value: float) -> float:
    return {"accuracy": 100 * (1 - value), "gap": 100 * value, "flash": value / 1000}.get(measure, value)


FIGURES: dict[str, Callable[[Run], Any]] = {
    made.__name__: made for made in (accuracy, links, frontier, noise, confusion, growth)
}
