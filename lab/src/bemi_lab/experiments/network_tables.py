"""Tables of a run's ensembles: ours, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bemi.ensemble.voting import LabelStatus
from bemi.network import bits_per_weight
from bemi.stages import PAPER_STAGES, get, list_title
from bemi_lab.classifiers import input_title
from bemi_lab.experiments.networks import ALTERNATIVES, REFERENCE
from bemi_lab.experiments.noise import LEVELS
from bemi_lab.experiments.results import OURS, CellResult, Run, gap
from bemi_lab.experiments.spec import NO_INPUTS, Cell
from bemi_lab.experiments.table import Spread, Table

WEIGHT_SHARES = ("w=-P", "w=0", "w=P", "others")


def axis_value(axis: str, value: Any) -> str:
    """A cell's setting as text for people."""
    if value is None:
        return "-"
    if axis == "stages":
        return "+".join(stage.upper() for stage in value)
    if axis == "classes":
        return "/".join(map(str, value))
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


AXIS_HEADINGS = {
    "transform": "transform",
    "classes": "classes",
    "hidden_layers": "hidden layers",
    "weight_bound": "P",
    "stages": "stages",
    "mw_loss": "mw loss",
    "per_class": "per class",
}


def _labels(run: Run, result: CellResult) -> list[Any]:
    values = [(axis, getattr(result.cell, axis)) for axis in run.varying()]
    return [value if isinstance(value, int) else axis_value(axis, value) for axis, value in values]


def _axis_headings(run: Run) -> list[str]:
    return [AXIS_HEADINGS[axis] for axis in run.varying()]


def paper_spread(result: CellResult) -> Spread | float | None:
    """The paper's accuracy, with its range if it is known."""
    mean = result.paper.get("accuracy")
    if mean is None or "lowest" not in result.paper:
        return mean
    return Spread(mean, result.paper["lowest"], result.paper["highest"])


def difference(run: Run, ours: float, paper: float | None) -> float | None:
    """Ours minus the paper's; only on the same images, since on others the draw matters more than the method."""
    return ours - paper if run.on_paper_images and paper is not None else None


OTHER_SAMPLES = "paper (other samples)"


def paper_title(run: Run) -> str:
    """Heading of the paper's numbers; it says so if they belong to other samples than ours."""
    return "paper" if run.on_paper_images else OTHER_SAMPLES


def accuracy(run: Run) -> Table:
    # With two classes no row stays unclassified, so one accuracy is enough.
    ties = any(result.unclassified.high > 0 for result in run.cells)
    rows = []
    for result in run.cells:
        paper = result.paper.get("accuracy")
        row = [*_labels(run, result), len(result.records), result.accuracy, paper_spread(result)]
        row.append(difference(run, result.accuracy.mean, paper))
        if ties:
            row += [result.accuracy_with_ties, result.unclassified, result.paper.get("unclassified")]
        rows.append(row + [result.alternative(name).mean for name in ALTERNATIVES])
    headings = [*_axis_headings(run), "samples", "ours", paper_title(run), "difference"]
    headings += ["ours, ties by margin", "unclassified", "paper's"] if ties else []
    headings += ALTERNATIVES
    rule = (
        " *Ours* and the paper's follow the paper's voting rule, which leaves some rows unclassified; with *ties by "
        "margin* every row gets a label."
    )
    caption = (
        f"Test accuracy in %: mean over the samples, smallest and largest in brackets.{rule if ties else ''} The last "
        "four columns are scikit-learn's classifiers on exactly the same rows, untuned."
    )
    return Table("accuracy", caption, headings, rows).without_empty_columns()


def links(run: Run) -> Table:
    rows = []
    for result in run.cells:
        ours, paper = result.links(), result.paper.get("links")
        rows.append([*_labels(run, result), ours, paper, difference(run, ours.mean, paper)])
    headings = [*_axis_headings(run), "ours", paper_title(run), "difference"]
    caption = "Non-zero weights in % of all weights, after the last stage."
    return Table("links", caption, headings, rows).without_empty_columns()


def reference(run: Run) -> Table:
    """Ours and the same linear SVM in floating point, paired by sample."""
    headings = [
        *_axis_headings(run),
        "samples",
        "ours",
        "paper's rule",
        REFERENCE,
        "paired difference",
        "standard error",
    ]
    headings += ["gap mean", "gap max", "links", "weights", "bits", "s per ensemble"]
    rows = []
    for result in run.cells:
        ours = [100 * r["accuracy"] for r in result.records]
        theirs = [100 * r["alternatives"][REFERENCE] for r in result.records]
        paired = np.subtract(ours, theirs)
        error = float(paired.std(ddof=1) / np.sqrt(len(paired))) if len(paired) > 1 else None
        gaps = result.stage_values(result.cell.stages[0], gap)
        seconds = [sum(s["seconds"] for n in r["networks"] for s in n["stages"].values()) for r in result.records]
        row = [*_labels(run, result), len(ours), result.accuracy_with_ties, result.accuracy.mean]
        row += [float(np.mean(theirs)), float(paired.mean()), error, float(np.mean(gaps)), float(np.max(gaps))]
        rows.append([*row, round(result.links_in_all), result.weights, result.bits, float(np.mean(seconds))])
    caption = (
        "Test accuracy in %, every row labelled (ties by margin), and under the paper's voting rule; beside it "
        '`SVC(kernel="linear", C=10)` on the same inputs (divided by their length, raw pixels by 255), label of its '
        "largest decision value. Paired difference: ours minus that machine, sample by sample. Gap: certified, of the "
        "first stage, in %. Links, weights and bits of all networks together; seconds of training on one core."
    )
    return Table("reference", caption, headings, rows)


def system(cell: Cell) -> str:
    """What a cell trains, in words, without the sample size."""
    trained = list_title(cell.stages)
    if cell.hidden_layers:
        return f"{trained} ({'the paper' if cell.stages == PAPER_STAGES else 'an ablation'})"
    fewer = "" if cell.mw_loss is None else f", fewer links for {cell.mw_loss:.0%}"
    return f"{trained}, {input_title(cell.transform)}{fewer}, P = {cell.weight_bound}"


def by_size(run: Run) -> dict[int | None, list[CellResult]]:
    """The cells, by training rows per class."""
    grouped: dict[int | None, list[CellResult]] = {}
    for result in run.cells:
        grouped.setdefault(result.cell.per_class, []).append(result)
    return grouped


FLOAT_BITS = 32


def frontier(run: Run) -> Table:
    """Accuracy and storage: links and bits of all networks."""
    rows: list[list[Any]] = []
    for size, results in by_size(run).items():
        for result in results:
            row = [size, system(result.cell), result.accuracy_with_ties, round(result.links_in_all)]
            rows.append([*row, result.weights, bits_per_weight(result.cell.weight_bound), result.bits])
        for transform, result in {r.cell.transform: r for r in results if not r.cell.hidden_layers}.items():
            row = [size, f"linear SVM in floating point, {input_title(transform)}", result.alternative(REFERENCE)]
            rows.append([*row, None, result.inputs, FLOAT_BITS, FLOAT_BITS * result.inputs])
    headings = ["per class", "system", "accuracy", "links", "weights", "bits per weight", "bits"]
    caption = (
        "Test accuracy in % (ties by margin), non-zero weights (links), weights, and bits of all weights of an "
        "ensemble: weights x ceil(log2(2 P + 1)), and 32 for every weight in floating point."
    )
    if any(result.cell.mw_loss is not None for result in run.cells):
        caption += " *Fewer links for x %*: Min-Weight after soft margins, which may raise their objective by x %."
    return Table("frontier", caption, headings, rows)


NOISE_ALTERNATIVES = ("RBF SVM", "1-NN")


def noise_curves(results: Sequence[CellResult], kind: str) -> dict[str, list[float]]:
    """Accuracy by system, first without noise and then at each level of a kind; alternatives after the networks."""
    curves = {}
    for result in results:
        curves[system(result.cell)] = [result.accuracy_with_ties.mean, *result.under_noise(kind, OURS)]
    for transform, result in {r.cell.transform: r for r in results}.items():
        name = f"linear SVM, {input_title(transform)}"
        curves[name] = [result.alternative(REFERENCE).mean, *result.under_noise(kind, REFERENCE)]
    for name in NOISE_ALTERNATIVES:
        curves[f"{name}, {input_title(NO_INPUTS)}"] = [
            results[0].alternative(name).mean,
            *results[0].under_noise(kind, name),
        ]
    return curves


def noise(run: Run) -> Table:
    """Accuracy of every system under noise."""
    found: list[tuple[list[Any], dict[str, float]]] = []
    for size, results in by_size(run).items():
        for number, (kind, levels) in enumerate(run.experiment.noise.items()):
            curves = noise_curves(results, kind)
            if number == 0:
                found.append(([size, "none", "0"], {name: curve[0] for name, curve in curves.items()}))
            for position, level in enumerate(levels, 1):
                found.append(([size, kind, f"{level:g}"], {name: curve[position] for name, curve in curves.items()}))
    # An unfinished run may have some systems for some sizes only.
    names = list(dict.fromkeys(name for _, values in found for name in values))
    units = "; ".join(f"{kind}: {LEVELS[kind]}" for kind in run.experiment.noise)
    caption = (
        "Test accuracy in %, mean over the samples, ties by margin, when only the test images are disturbed; all "
        f"systems see the same images. Levels: {units}."
    )
    rows = [[*labels, *(values.get(name) for name in names)] for labels, values in found]
    return Table("noise", caption, ["per class", "noise", "level", *names], rows)


def radii(run: Run) -> Table:
    """How far inputs may move with the label provably unchanged."""
    steps = run.experiment.radii
    headings = ["per class", "system", "accuracy", "every input by", *(f"at least {step}" for step in steps)]
    headings.append("all inputs together by")
    rows: list[list[Any]] = []
    for size, results in by_size(run).items():
        for result in results:
            every = [record["radii"]["linf"] for record in result.records]
            together = [record["radii"]["l1"]["median"] for record in result.records]
            row = [size, system(result.cell), result.accuracy_with_ties.mean]
            row.append(float(np.mean([radius["median"] for radius in every])))
            row += [100 * float(np.mean([radius[str(step)] for radius in every])) for step in steps]
            rows.append([*row, float(np.mean(together))])
    caption = (
        "Certified radii: how far the integers that the networks see (pixels of 0..255, or histograms of 0..215) may "
        "move with the label provably unchanged: medians over the test rows, and the share of rows in % where every "
        "input may move by at least that much; means over the samples. A radius is a lower bound, and the label that "
        "stays need not be the right one."
    )
    return Table("radii", caption, headings, rows)


def statuses(run: Run) -> Table:
    headings = [*_axis_headings(run), "whose", "correct", "wrong", "n.l.", *(status.value for status in LabelStatus)]
    rows = []
    for result in run.cells:
        shares = {status.value: result.status(status.value).mean for status in LabelStatus}
        right = sum(shares[status.value] for status in LabelStatus if status.correct)
        open_ = result.unclassified.mean
        rows.append([*_labels(run, result), "ours", right, 100 - right - open_, open_, *shares.values()])
        if result.paper.keys() >= shares.keys():
            right, open_ = result.paper["accuracy"], result.paper["unclassified"]
            row = [*_labels(run, result), paper_title(run), right, 100 - right - open_, open_]
            rows.append(row + [result.paper[name] for name in shares])
    caption = (
        "Test rows in % by outcome and by label status (number of dominant labels: 1, m = 2, other; C correct, I "
        "incorrect; ' true label among the dominant ones, '' not)."
    )
    return Table("statuses", caption, headings, rows)


def stages(run: Run) -> Table:
    """Seconds, gaps, links and proofs of the paper's three stages."""
    counting, margin, weight = PAPER_STAGES
    after = [f"links after {stage.upper()}" for stage in (margin, weight)]
    headings = [
        *_axis_headings(run),
        *("whose", *(f"{stage.upper()} s" for stage in (counting, margin, weight))),
        *(f"{margin.upper()} gap mean", "max", *after, "active links", "proved at least", "bounds certified"),
    ]
    rows = []
    for result in run.cells:
        gaps = result.stage_values(margin, gap)
        by_stage = [result.stage_values(stage, lambda r: r["seconds"]) for stage in (counting, margin, weight)]
        total = result.records[0]["training"]["total_links"]
        proved = 100 * float(np.mean(result.stage_values(weight, lambda r: r["bound"]))) / total
        proofs = [stage["proof"] for r in result.records for n in r["networks"] for stage in n["stages"].values()]
        row = [*_labels(run, result), "ours", *(float(np.mean(seconds)) for seconds in by_stage)]
        row += [float(np.mean(gaps)), float(np.max(gaps)), result.links(margin).mean, result.links(weight).mean]
        row += [result.links(weight).mean * total / 100, proved]
        rows.append([*row, f"{proofs.count('certified')} of {len(proofs)}"])
        if "mean_gap" in result.paper:
            p = result.paper
            row = [*_labels(run, result), paper_title(run), p["sm_seconds"], None, None, p["mean_gap"], p["max_gap"]]
            rows.append([*row, p["links_mm"], p["links"], p["active_links"], None, None])
    caption = (
        "Per network: seconds of each stage on one core (the paper: 8 cores), gap of "
        f"{get(margin).title} in %, non-zero weights in % after {get(margin).title} and after {get(weight).title} and "
        f"their number, how many links {get(weight).title} proved to be needed for its margins, and how many of the "
        "stages' bounds `bemi verify` can check."
    )
    return Table("stages", caption, headings, rows)


def weights(run: Run) -> Table:
    headings = [*_axis_headings(run)]
    for name in WEIGHT_SHARES:
        headings += [name, f"{name}, {paper_title(run)}"]
    rows = []
    for result in run.cells:
        row = _labels(run, result)
        for name in WEIGHT_SHARES:
            row += [result.weight_share(name).mean, result.paper.get(name)]
        rows.append(row)
    return Table("weights", "Weights in % at -P, at 0, at P and between.", headings, rows).without_empty_columns()


def confusion(run: Run) -> Table:
    result = most_rows(run)
    labels = result.records[0]["classes"]
    size, paper = run.experiment.paper.confusion or (None, [])
    shown_too = run.on_paper_data and size == result.cell.per_class
    rows = []
    for number, (label, row) in enumerate(zip(labels, confusion_percent(result), strict=True)):
        rows.append([label, "ours", *map(float, row)])
        if shown_too:
            rows.append([label, paper_title(run), *map(float, paper[number])])
    caption = (
        f"Confusion matrix in %, {result.cell.per_class} per class, mean over the samples (the paper's: one sample): "
        "actual class in rows."
    )
    return Table("confusion", caption, ["actual", "whose", *map(str, labels), "n.l."], rows)


def most_rows(run: Run) -> CellResult:
    """The cell with the most training rows."""
    return max(run.cells, key=lambda result: result.cell.per_class or 0)


def confusion_percent(result: CellResult) -> np.ndarray:
    counts = np.sum([np.array(r["confusion"]) for r in result.records], axis=0)
    return 100 * counts / counts.sum(axis=1, keepdims=True)


TABLES: dict[str, Callable[[Run], Table]] = {
    "accuracy": accuracy,
    "reference": reference,
    "links": links,
    "frontier": frontier,
    "noise": noise,
    "radii": radii,
    "statuses": statuses,
    "stages": stages,
    "weights": weights,
    "confusion": confusion,
}
"""All tables by name."""
