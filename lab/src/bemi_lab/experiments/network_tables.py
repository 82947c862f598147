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
from bemi_lab.experiments.table import Row, Spread, Table

WEIGHT_SHARES = ("w=-P", "w=0", "w=P", "others")
AXIS_HEADINGS = {"hidden_layers": "hidden layers", "weight_bound": "P", "mw_loss": "mw loss", "per_class": "per class"}
"""Headings of axes that are not their names."""

OTHER_SAMPLES = "paper (other samples)"
FLOAT_BITS = 32
NOISE_ALTERNATIVES = ("RBF SVM", "1-NN")


def axis_heading(axis: str) -> str:
    return AXIS_HEADINGS.get(axis, axis)


def axis_value(axis: str, value: Any) -> str:
    """A cell's setting as text for people."""
    if value is None:
        return "-"
    if axis == "stages":
        return "+".join(stage.upper() for stage in value)
    if axis == "classes":
        return "/".join(map(str, value))
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _labels(run: Run, result: CellResult) -> Row:
    values = {axis: getattr(result.cell, axis) for axis in run.varying()}
    return {axis_heading(a): v if isinstance(v, int) else axis_value(a, v) for a, v in values.items()}


def paper_spread(result: CellResult) -> Spread | float | None:
    """The paper's accuracy, with its range if it is known."""
    mean = result.paper.get("accuracy")
    if mean is None or "lowest" not in result.paper:
        return mean
    return Spread(mean, result.paper["lowest"], result.paper["highest"])


def difference(run: Run, ours: float, paper: float | None) -> float | None:
    """Ours minus the paper's; only on the same images, since on others the draw matters more than the method."""
    return ours - paper if run.on_paper_images and paper is not None else None


def paper_title(run: Run) -> str:
    """Heading of the paper's numbers; it says so if they belong to other samples than ours."""
    return "paper" if run.on_paper_images else OTHER_SAMPLES


def accuracy(run: Run) -> Table:
    # With two classes no row stays unclassified, so one accuracy is enough.
    ties = any(result.unclassified.high > 0 for result in run.cells)
    rows = []
    for result in run.cells:
        row = _labels(run, result) | {"samples": len(result.records), "ours": result.accuracy}
        row[paper_title(run)] = paper_spread(result)
        row["difference"] = difference(run, result.accuracy.mean, result.paper.get("accuracy"))
        if ties:
            row |= {"ours, ties by margin": result.accuracy_with_ties, "unclassified": result.unclassified}
            row["paper's"] = result.paper.get("unclassified")
        rows.append(row | {name: result.alternative(name).mean for name in ALTERNATIVES})
    rule = (
        " *Ours* and the paper's follow the paper's voting rule, which leaves some rows unclassified; with *ties by "
        "margin* every row gets a label."
    )
    caption = (
        f"Test accuracy in %: mean over the samples, smallest and largest in brackets.{rule if ties else ''} The last "
        "four columns are scikit-learn's classifiers on exactly the same rows, untuned."
    )
    return Table(caption, rows).without_empty_columns()


def links(run: Run) -> Table:
    rows = []
    for result in run.cells:
        ours, paper = result.links(), result.paper.get("links")
        values = {"ours": ours, paper_title(run): paper, "difference": difference(run, ours.mean, paper)}
        rows.append(_labels(run, result) | values)
    return Table("Non-zero weights in % of all weights, after the last stage.", rows).without_empty_columns()


def reference(run: Run) -> Table:
    """Ours and the same linear SVM in floating point, paired by sample."""
    rows = []
    for result in run.cells:
        theirs = [100 * r["alternatives"][REFERENCE] for r in result.records]
        paired = np.subtract([100 * r["accuracy"] for r in result.records], theirs)
        gaps = result.stage_values(result.cell.stages[0], gap)
        seconds = [sum(s["seconds"] for n in r["networks"] for s in n["stages"].values()) for r in result.records]
        rows.append(
            _labels(run, result)
            | {
                "samples": len(theirs),
                "ours": result.accuracy_with_ties,
                "paper's rule": result.accuracy.mean,
                REFERENCE: float(np.mean(theirs)),
                "paired difference": float(paired.mean()),
                "standard error": float(paired.std(ddof=1) / np.sqrt(len(paired))) if len(paired) > 1 else None,
                "gap mean": float(np.mean(gaps)),
                "gap max": float(np.max(gaps)),
                "links": round(result.links_in_all),
                "weights": result.weights,
                "bits": result.bits,
                "s per ensemble": float(np.mean(seconds)),
            }
        )
    caption = (
        "Test accuracy in %, every row labelled (ties by margin), and under the paper's voting rule; beside it "
        '`SVC(kernel="linear", C=10)` on the same inputs (divided by their length, raw pixels by 255), label of its '
        "largest decision value. Paired difference: ours minus that SVM, sample by sample. Gap: certified, of the "
        "first stage, in %. Links, weights and bits of all networks together; seconds of training on one core."
    )
    return Table(caption, rows)


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


def frontier(run: Run) -> Table:
    """Accuracy and storage: links and bits of all networks."""
    rows: list[Row] = []
    for size, results in by_size(run).items():
        for result in results:
            row = {"per class": size, "system": system(result.cell), "accuracy": result.accuracy_with_ties}
            row |= {"links": round(result.links_in_all), "weights": result.weights}
            rows.append(row | {"bits per weight": bits_per_weight(result.cell.weight_bound), "bits": result.bits})
        for transform, result in {r.cell.transform: r for r in results if not r.cell.hidden_layers}.items():
            row = {"per class": size, "system": f"linear SVM in floating point, {input_title(transform)}"}
            row |= {"accuracy": result.alternative(REFERENCE), "links": None, "weights": result.inputs}
            rows.append(row | {"bits per weight": FLOAT_BITS, "bits": FLOAT_BITS * result.inputs})
    caption = (
        "Test accuracy in % (ties by margin), non-zero weights (links), weights, and bits of all weights of an "
        "ensemble: weights x ceil(log2(2 P + 1)), and 32 for every weight in floating point."
    )
    if any(result.cell.mw_loss is not None for result in run.cells):
        caption += " *Fewer links for x %*: Min-Weight after soft margins, which may raise their objective by x %."
    return Table(caption, rows)


def noise_curves(results: Sequence[CellResult], kind: str) -> dict[str, list[float]]:
    """Accuracy by system, first without noise and then at each level of a kind; alternatives after the networks."""

    def curve(result: CellResult, name: str) -> list[float]:
        return [result.alternative(name).mean, *result.under_noise(kind, name)]

    curves = {system(r.cell): [r.accuracy_with_ties.mean, *r.under_noise(kind, OURS)] for r in results}
    for transform, result in {r.cell.transform: r for r in results}.items():
        curves[f"linear SVM, {input_title(transform)}"] = curve(result, REFERENCE)
    return curves | {f"{name}, {input_title(NO_INPUTS)}": curve(results[0], name) for name in NOISE_ALTERNATIVES}


def noise(run: Run) -> Table:
    """Accuracy of every system under noise."""
    found: list[tuple[Row, dict[str, float]]] = []
    for size, results in by_size(run).items():
        for number, (kind, levels) in enumerate(run.experiment.noise.items()):
            curves = noise_curves(results, kind)
            for position, level in enumerate([0, *levels]):
                if position or not number:
                    labels = {"per class": size, "noise": kind if position else "none", "level": f"{level:g}"}
                    found.append((labels, {name: curve[position] for name, curve in curves.items()}))
    # An unfinished run may have some systems for some sizes only.
    names = dict.fromkeys(name for _, values in found for name in values)
    units = "; ".join(f"{kind}: {LEVELS[kind]}" for kind in run.experiment.noise)
    caption = (
        "Test accuracy in %, mean over the samples, ties by margin, when only the test images are disturbed; all "
        f"systems see the same images. Levels: {units}."
    )
    return Table(caption, [labels | {name: values.get(name) for name in names} for labels, values in found])


def radii(run: Run) -> Table:
    """How far inputs may move with the label provably unchanged."""
    rows: list[Row] = []
    for size, results in by_size(run).items():
        for result in results:
            every, together = ([r["radii"][norm] for r in result.records] for norm in ("linf", "l1"))
            row = {"per class": size, "system": system(result.cell), "accuracy": result.accuracy_with_ties.mean}
            row["every input by"] = float(np.mean([radius["median"] for radius in every]))
            for step in run.experiment.radii:
                row[f"at least {step}"] = 100 * float(np.mean([radius[str(step)] for radius in every]))
            rows.append(row | {"all inputs together by": float(np.mean([radius["median"] for radius in together]))})
    caption = (
        "Certified radii: how far the integers that the networks see (pixels of 0..255, or histograms of 0..215) may "
        "move with the label provably unchanged: medians over the test rows, and the share of rows in % where every "
        "input may move by at least that much; means over the samples. A radius is a lower bound, and the label that "
        "stays need not be the right one."
    )
    return Table(caption, rows)


def statuses(run: Run) -> Table:
    names = [status.value for status in LabelStatus]
    rows: list[Row] = []

    def add(result: CellResult, whose: str, right: float, unclassified: float, shares: Row) -> None:
        row = _labels(run, result) | {"whose": whose, "correct": right, "wrong": 100 - right - unclassified}
        rows.append(row | {"n.l.": unclassified} | {name: shares[name] for name in names})

    for result in run.cells:
        shares = {name: result.status(name).mean for name in names}
        right = sum(shares[status.value] for status in LabelStatus if status.correct)
        add(result, "ours", right, result.unclassified.mean, shares)
        if result.paper.keys() >= shares.keys():
            paper = result.paper
            add(result, paper_title(run), paper["accuracy"], paper["unclassified"], paper)
    caption = (
        "Test rows in % by outcome and by label status (number of dominant labels: 1, m = 2, other; C correct, I "
        "incorrect; ' true label among the dominant ones, '' not)."
    )
    return Table(caption, rows)


def stages(run: Run) -> Table:
    """Seconds, gaps, links and proofs of the paper's three stages."""
    counting, margin, weight = (stage.upper() for stage in PAPER_STAGES)
    headings = [f"{counting} s", f"{margin} s", f"{weight} s", f"{margin} gap mean", "max", f"links after {margin}"]
    headings += [f"links after {weight}", "active links", "proved at least", "bounds certified"]
    rows = []
    for result in run.cells:
        gaps = result.stage_values("mm", gap)
        total = result.records[0]["training"]["total_links"]
        proofs = [stage["proof"] for r in result.records for n in r["networks"] for stage in n["stages"].values()]
        values: list[Any] = [
            *(float(np.mean(result.stage_values(stage, lambda r: r["seconds"]))) for stage in PAPER_STAGES),
            *(float(np.mean(gaps)), float(np.max(gaps)), result.links("mm").mean, result.links("mw").mean),
            result.links("mw").mean * total / 100,
            100 * float(np.mean(result.stage_values("mw", lambda r: r["bound"]))) / total,
            f"{proofs.count('certified')} of {len(proofs)}",
        ]
        rows.append(_labels(run, result) | {"whose": "ours"} | dict(zip(headings, values, strict=True)))
        if "mean_gap" in result.paper:
            p = result.paper
            values = [p["sm_seconds"], None, None, p["mean_gap"], p["max_gap"], p["links_mm"], p["links"]]
            values += [p["active_links"], None, None]
            rows.append(_labels(run, result) | {"whose": paper_title(run)} | dict(zip(headings, values, strict=True)))
    margins, weights = get("mm").title, get("mw").title
    caption = (
        f"Per network: seconds of each stage on one core (the paper: 8 cores), gap of {margins} in %, non-zero weights "
        f"in % after {margins} and after {weights} and their number, how many links {weights} proved to be needed for "
        "its margins, and how many of the stages' bounds `bemi verify` can check."
    )
    return Table(caption, rows)


def weights(run: Run) -> Table:
    rows = []
    for result in run.cells:
        row = _labels(run, result)
        for name in WEIGHT_SHARES:
            row |= {name: result.weight_share(name).mean, f"{name}, {paper_title(run)}": result.paper.get(name)}
        rows.append(row)
    return Table("Weights in % at -P, at 0, at P and between.", rows).without_empty_columns()


def confusion(run: Run) -> Table:
    result = most_rows(run)
    labels = result.records[0]["classes"]
    size, paper = run.experiment.paper.confusion or (None, [])
    rows = []
    for number, (label, ours) in enumerate(zip(labels, confusion_percent(result), strict=True)):
        found = {"ours": ours}
        if run.on_paper_data and size == result.cell.per_class:
            found[paper_title(run)] = paper[number]
        for whose, shares in found.items():
            values = dict(zip([*map(str, labels), "n.l."], map(float, shares), strict=True))
            rows.append({"actual": label, "whose": whose} | values)
    caption = (
        f"Confusion matrix in %, {result.cell.per_class} per class, mean over the samples (the paper's: one sample): "
        "actual class in rows."
    )
    return Table(caption, rows)


def most_rows(run: Run) -> CellResult:
    """The cell with the most training rows."""
    return max(run.cells, key=lambda result: result.cell.per_class or 0)


def confusion_percent(result: CellResult) -> np.ndarray:
    counts = np.sum([np.array(r["confusion"]) for r in result.records], axis=0)
    return 100 * counts / counts.sum(axis=1, keepdims=True)


TABLES: dict[str, Callable[[Run], Table]] = {
    made.__name__: made
    for made in (accuracy, reference, links, frontier, noise, radii, statuses, stages, weights, confusion)
}
"""All tables by name."""
