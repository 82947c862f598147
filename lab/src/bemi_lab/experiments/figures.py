"""Figures of a run in the paper's form: mean lines with minimum-maximum bands, matrices, weights as images."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from bemi import Network
from bemi.running.journal import Journal
from bemi.stages import PAPER_STAGES
from bemi_lab.classifiers import input_title
from bemi_lab.experiments.network_tables import (
    AXIS_HEADINGS,
    FLOAT_BITS,
    WEIGHT_SHARES,
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
from bemi_lab.experiments.table import Spread

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, distinguishable for colour-blind readers."""
MARKERS = "osD^v*"
GREY = "#777777"


def available() -> bool:
    """Whether the drawing library is installed: ``pip install 'bemi-lab[figures]'``."""
    return find_spec("matplotlib") is not None


def as_svg(figure: Any) -> bytes:
    """A figure as a file; the same run gives the same bytes."""
    made = io.BytesIO()
    figure.savefig(made, format="svg", metadata={"Date": None})
    _pyplot().close(figure)
    return made.getvalue()


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#e5e5e5",
            "axes.axisbelow": True,
            "legend.frameon": False,
            "svg.hashsalt": "bemi",
            "svg.fonttype": "none",
        }
    )
    return pyplot


def _ticker() -> Any:
    from matplotlib import ticker

    return ticker


def accuracy(run: Run) -> Any:
    """Test accuracy under the paper's rule, with the paper's curves dashed and two alternatives in grey."""

    def paper(result: CellResult) -> Spread | None:
        values = result.paper
        if "accuracy" not in values:
            return None
        return Spread(values["accuracy"], values.get("lowest", math.nan), values.get("highest", math.nan))

    return _lines(run, "test accuracy in %", lambda result: result.accuracy, paper, alternatives=True)


def links(run: Run) -> Any:
    """Non-zero weights after the last stage."""

    def paper(result: CellResult) -> Spread | None:
        value = result.paper.get("links")
        return None if value is None else Spread(value, math.nan, math.nan)

    return _lines(run, "non-zero weights in %", lambda result: result.links(), paper, alternatives=False)


def _lines(
    run: Run,
    ylabel: str,
    ours: Callable[[CellResult], Spread],
    paper: Callable[[CellResult], Spread | None],
    *,
    alternatives: bool,
) -> Any:
    """One panel per set of classes, one line per other setting, along the last axis that varies."""
    pyplot = _pyplot()
    varying = run.varying()
    along = next((axis for axis in ("per_class", "weight_bound") if axis in varying), "per_class")
    panels = list(dict.fromkeys(result.cell.classes for result in run.cells))
    lines = [axis for axis in varying if axis not in (along, "classes")]
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(5.2 * len(panels) + 1.2, 3.8), squeeze=False, sharey=True, layout="constrained"
    )
    ticks = sorted({getattr(result.cell, along) or 0 for result in run.cells})
    # Bits double at each step, so their axis counts steps; images per class are to scale.
    place = {value: float(position if along == "weight_bound" else value) for position, value in enumerate(ticks)}
    for axis, classes in zip(axes[0], panels, strict=True):
        inside = [result for result in run.cells if result.cell.classes == classes]
        groups: dict[tuple[Any, ...], list[CellResult]] = {}
        for result in inside:
            groups.setdefault(tuple(getattr(result.cell, name) for name in lines), []).append(result)
        for number, (values, results) in enumerate(groups.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            label = ", ".join(_line_label(name, value) for name, value in zip(lines, values, strict=True)) or "bemi"
            x = [place[getattr(result.cell, along) or 0] for result in results]
            spreads = [ours(result) for result in results]
            axis.plot(x, [s.mean for s in spreads], color=colour, marker=marker, label=label, markersize=5)
            axis.fill_between(x, [s.low for s in spreads], [s.high for s in spreads], color=colour, alpha=0.15, lw=0)
            known = [(position, p) for position, r in zip(x, results, strict=True) if (p := paper(r)) is not None]
            if known:
                text = f"{label}, {paper_title(run)}" if lines else f"the {paper_title(run)}"
                means = [p.mean for _, p in known]
                axis.plot(
                    [k for k, _ in known], means, color=colour, ls="--", lw=1, marker=marker, mfc="white", label=text
                )
        if alternatives:
            first = next(iter(groups.values()))
            x = [place[getattr(result.cell, along) or 0] for result in first]
            for name, style in (("linear SVM", ":"), ("RBF SVM", "-.")):
                means = [result.alternative(name).mean for result in first]
                axis.plot(x, means, color=GREY, ls=style, lw=1.2, label=name)
        axis.set_xticks([place[value] for value in ticks], [str(value) for value in ticks])
        axis.set_xlabel("training rows per class" if along == "per_class" else AXIS_HEADINGS[along])
        if classes is not None and len(panels) > 1:
            axis.set_title(axis_value("classes", classes))
    axes[0][0].set_ylabel(ylabel)
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return figure


def _line_label(axis: str, value: Any) -> str:
    text = axis_value(axis, value)
    return text if axis == "stages" else f"{AXIS_HEADINGS[axis]} = {text}"


def frontier(run: Run) -> Any:
    """Accuracy against the bits of all weights, and against the links; one row of panels per size of sample."""
    pyplot = _pyplot()
    sizes = by_size(run)
    order = list(dict.fromkeys(_line(result) for result in run.cells))
    figure, axes = pyplot.subplots(
        len(sizes),
        2,
        figsize=(9, 2.7 * len(sizes) + 0.9),
        squeeze=False,
        sharey="row",
        sharex="col",
        layout="constrained",
    )
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
    handles, labels = axes[0][1].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, fontsize=8, title="numbers: P", title_fontsize=8
    )
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
        number = order.index(label)
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        x, y = [cost(result) for result in line], [result.accuracy_with_ties.mean for result in line]
        axis.plot(x, y, color=colour, marker=marker, lw=1, ms=5, label=label)
        for result, left, top in zip(line, x, y, strict=True):
            text = str(result.cell.weight_bound)
            axis.annotate(text, (left, top), (0, 6), textcoords="offset points", ha="center", fontsize=7)
    axis.set_xscale("log")
    ticker = _ticker()
    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value / 1000:,g}k"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.margins(y=0.15)


def noise(run: Run) -> Any:
    """Accuracy along the levels of each kind of noise; one row of panels per size of sample."""
    pyplot = _pyplot()
    sizes, kinds = by_size(run), run.experiment.noise
    everything = noise_curves(run.cells, next(iter(kinds)))
    order, ours = list(everything), len({system(result.cell) for result in run.cells})
    figure, axes = pyplot.subplots(
        len(sizes),
        len(kinds),
        figsize=(10.5, 2.7 * len(sizes) + 0.9),
        squeeze=False,
        sharey="row",
        layout="constrained",
    )
    for row, (size, results) in zip(axes, sizes.items(), strict=True):
        for axis, (kind, levels) in zip(row, kinds.items(), strict=True):
            for name, curve in noise_curves(results, kind).items():
                # By name over all sizes, so that a system has one colour even if a run is unfinished.
                number = order.index(name)
                after = number - ours
                style: dict[str, Any] = {"color": GREY, "lw": 1.1, "ls": ("-", "--", ":", "-.")[after % 4]}
                if after < 0:
                    style = {
                        "color": COLOURS[number % len(COLOURS)],
                        "marker": MARKERS[number % len(MARKERS)],
                        "ms": 4,
                        "lw": 1.4,
                    }
                axis.plot([0, *levels], curve, label=name, **style)
            axis.set_xticks([0, *levels], [f"{level:g}" for level in (0, *levels)])
        row[0].set_ylabel(f"accuracy in %, {size} per class")
    for top, bottom, kind in zip(axes[0], axes[-1], kinds, strict=True):
        top.set_title(kind, fontsize=9)
        bottom.set_xlabel(LEVELS[kind], fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def confusion(run: Run) -> Any:
    """Actual class in rows, predicted in columns, unclassified last."""
    pyplot = _pyplot()
    result = most_rows(run)
    share = confusion_percent(result)
    labels = [str(label) for label in result.records[0]["classes"]]
    figure, axis = pyplot.subplots(figsize=(6.4, 5.4), layout="constrained")
    axis.imshow(share, cmap="Blues", vmin=0, vmax=100)
    axis.grid(visible=False)
    for (row, column), value in np.ndenumerate(share):
        axis.text(
            column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color="white" if value > 55 else "black"
        )
    axis.set_xticks(range(share.shape[1]), [*labels, "n.l."])
    axis.set_yticks(range(len(labels)), labels)
    axis.set_xlabel("predicted (n.l.: unclassified)")
    axis.set_ylabel("actual")
    axis.set_title(f"{result.cell.per_class} per class, mean of {len(result.records)} samples, in %", fontsize=9)
    return figure


def weights(run: Run) -> Any:
    """Distribution of the weights: stacked bars, ours next to the paper's."""
    pyplot = _pyplot()
    results = run.cells
    shades = ("#D55E00", "#e8e8e8", "#0072B2", "#F0E442")
    figure, axis = pyplot.subplots(figsize=(max(6.0, 0.42 * len(results) + 2), 4.2), layout="constrained")
    for position, result in enumerate(results):
        ours = [result.weight_share(name).mean for name in WEIGHT_SHARES]
        pairs = [(-0.2, ours, 1.0)]
        if all(name in result.paper for name in WEIGHT_SHARES):
            pairs.append((0.2, [result.paper[name] for name in WEIGHT_SHARES], 0.55))
        for shift, shares, alpha in pairs:
            bottom = 0.0
            for share, shade, name in zip(shares, shades, WEIGHT_SHARES, strict=True):
                label = name if position == 0 and shift < 0 else None
                axis.bar(position + shift, share, 0.36, bottom=bottom, color=shade, alpha=alpha, label=label)
                bottom += share
    names = [", ".join(_tick(axis_name, result) for axis_name in run.varying()) for result in results]
    axis.set_xticks(range(len(results)), names, rotation=60, ha="right", fontsize=7)
    axis.set_ylabel(f"weights in % (right bar, paler: the {paper_title(run)})")
    axis.grid(visible=False)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    return figure


def _tick(axis: str, result: CellResult) -> str:
    text = axis_value(axis, getattr(result.cell, axis))
    return {"weight_bound": f"P={text}", "per_class": f"n={text}"}.get(axis, text)


def first_layer(run: Run) -> Any:
    """First-layer weights of one network as images, one row per stage; None if the run has no network files."""
    pyplot = _pyplot()
    chosen = _one_network(run)
    if chosen is None:
        return None
    title, snapshots = chosen
    neurons = next(iter(snapshots.values())).layers[1]
    side = math.isqrt(next(iter(snapshots.values())).layers[0])
    figure, axes = pyplot.subplots(
        len(snapshots),
        neurons,
        figsize=(1.5 * neurons + 0.6, 1.6 * len(snapshots) + 0.5),
        squeeze=False,
        layout="constrained",
    )
    for row, (stage, network) in zip(axes, snapshots.items(), strict=True):
        bound = network.weight_bound
        for number, axis in enumerate(row):
            image = network.weights[0][:, number].reshape(side, side)
            axis.imshow(image, cmap="RdBu", vmin=-bound, vmax=bound, interpolation="nearest")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.grid(visible=False)
            axis.set_xlabel(f"{np.count_nonzero(image)} links", fontsize=7, labelpad=2)
        row[0].set_ylabel(f"after {stage.upper()}")
    figure.suptitle(f"{title} (blue +P, white 0, red -P)", fontsize=9)
    return figure


def _one_network(run: Run) -> tuple[str, dict[str, Network]] | None:
    """The first network of digits 4 and 9, or of any classes, with all stages and the most rows, after each stage."""
    journal = run.store.folder / "networks"
    if not journal.is_dir():
        return None
    complete = [c for c in run.cells if len(c.cell.stages) == max(len(other.cell.stages) for other in run.cells)]
    result = max(complete, key=lambda c: (c.cell.classes == (4, 9), c.cell.per_class or 0, -c.cell.weight_bound))
    networks = result.records[0]["networks"]
    entry = next((n for n in networks if n["classes"] == [4, 9]), networks[0])
    if "file" not in entry or not Journal(journal).path(entry["file"]).exists():
        return None
    training = Journal(journal).read(entry["file"])
    if training is None or math.isqrt(training.network.layers[0]) ** 2 != training.network.layers[0]:
        return None
    # The first stage leaves arbitrary weights on irrelevant inputs; later ones show what the network looks at.
    first = PAPER_STAGES[0]
    snapshots = {s: r.network for s, r in training.reports.items() if s != first and r.network is not None}
    title = f"First layer, classes {axis_value('classes', tuple(entry['classes']))}, {result.cell.per_class} per class"
    return title, snapshots or {first: training.network}


FIGURES: dict[str, Callable[[Run], Any]] = {
    "accuracy": accuracy,
    "links": links,
    "frontier": frontier,
    "noise": noise,
    "confusion": confusion,
    "weights": weights,
    "first-layer": first_layer,
}
