"""Tables of systems that are compared on tables, images or signals, each from a run and one of its grids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

from bemi.report.estimates import accuracy_range
from bemi_lab.datasets import Split
from bemi_lab.datasets.sampling import PUBLISHED
from bemi_lab.experiments import subjects
from bemi_lab.experiments.on_signals import GAIN
from bemi_lab.experiments.results import Run
from bemi_lab.experiments.spec import Grid
from bemi_lab.experiments.table import Row, Spread, Table, interval

RANDOM_FOREST, MINIROCKET, RECOMMENDED = "random-forest", "minirocket", "recommended"
CARD_MEASURES = {"auc": "AUC", "log_loss": "log-loss", "calibration_error": "calibration error", "accuracy": "accuracy"}


def _interval(noun: str) -> str:
    return (
        f"mean over the {noun}s of the paired difference, with its 95 % confidence interval (Student's t over {noun}s)"
    )


def _accuracy(run: Run, grid: Grid) -> Table:
    """Mean accuracy of every system; on tables how far ours is ahead of it, on signals how far it is of MiniRocket."""
    ours, noun, rows = grid.systems[0], _noun(run), []
    for system in _measured(run, grid):
        row: Row = {"system": _title(run, system)}
        for name in (name for name in grid.splits if run.has(ours, name)):
            count = len(run.by_dataset(ours, name, "accuracy", grid.datasets))
            row[f"{_rows(name)} ({count} {noun}s)"] = _mean(run, grid, system, name, "accuracy", 100)
            heading = f"ours minus it, {_rows(name)}" if noun == "table" else f"minus MiniRocket, {_rows(name)}"
            pair = (ours, system) if noun == "table" else (system, MINIROCKET)
            row[heading] = None if pair[0] == pair[1] else _difference(run, grid, *pair, name, "accuracy", 100)
        rows.append(row)
    what = "*ours minus it*" if noun == "table" else "*minus MiniRocket*"
    return Table(f"Test accuracy in %, mean over {noun}s; {what} in points: {_interval(noun)}.", rows)


def _by_dataset(run: Run, grid: Grid, caption: str, first: str, other: str) -> Table:
    """Accuracy on each data set, and how far ours, the first of the grid, is ahead of another system."""
    systems, rows = _measured(run, grid), []
    reference = "MiniRocket" if other == MINIROCKET else "random forest"
    for split in grid.splits:
        ahead = run.differences(grid.systems[0], other, split, "accuracy", grid.datasets)
        means = {_title(run, s): run.by_dataset(s, split, "accuracy", grid.datasets) for s in systems}
        for dataset in grid.datasets:
            if any(dataset in known for known in means.values()):
                row = {first: _rows(split), _noun(run): dataset}
                row |= {title: _times(100, known.get(dataset)) for title, known in means.items()}
                rows.append(row | {f"ours minus {reference}": _times(100, ahead.get(dataset))})
    return Table(caption, rows)


APART = (
    "Sets that the settings were not chosen on, test accuracy in %, mean over the draws. In PLAID, currents when "
    "a device is switched on are far above those while it runs."
)


def _proved(run: Run, grid: Grid, system: str, split: str) -> Row | None:
    """What our training proved and took."""
    gaps = run.by_dataset(system, split, "gap", grid.datasets)
    if not gaps:
        return None
    return {
        "gap %": Spread.of([100 * gap for gap in gaps.values()]),
        "largest gap %": 100 * max(run.by_dataset(system, split, "largest_gap", grid.datasets).values()),
        "certified %": _mean(run, grid, system, split, "certified", 100),
        "links": _mean(run, grid, system, split, "links"),
        "seconds": _mean(run, grid, system, split, "seconds"),
    }


def _unknown(run: Run, grid: Grid) -> Table:
    """How many rows of each unknown kind are rejected, and how well strangeness and chances tell them apart."""
    rows: list[Row] = []
    (system,) = grid.systems
    for dataset in grid.datasets:
        for split in grid.splits:
            records = run.records_of(system, split, dataset)
            kinds = dict.fromkeys(name.partition(", ")[2] for r in records for name in r if name.startswith("area, "))
            lost = _spread(run, system, split, dataset, "lost")
            for kind in kinds:
                rejected = _spread(run, system, split, dataset, f"rejected, {kind}")
                areas = [_value(run, system, split, f"{what}, {kind}", dataset) for what in ("area", "chances")]
                row: Row = {"set": dataset, "rows": _rows(split), "known rows rejected %": lost, "unknown": kind}
                row |= {"rejected %": rejected, "AUC": _three(areas[0]), "AUC of the largest chance": _three(areas[1])}
                rows.append(row)
    return Table(
        "Known and unknown rows that are rejected in %, mean over the draws (smallest to largest), and the area under "
        "the ROC curve with which strangeness, or one minus the largest probability, tells unknown rows from known.",
        rows,
    )


def _coverage(run: Run, grid: Grid) -> Table:
    """How often the range of the expected accuracy holds the accuracy, over all data sets of a grid."""
    rows: list[Row] = []
    for system, split in product(grid.systems, grid.splits):
        records = [record for name in grid.datasets for record in run.records_of(system, split, name)]
        known = [record for record in records if "covered" in record]
        if known:
            mean = {name: 100 * sum(r[name] for r in known) / len(known) for name in MEASURED}
            covered = Spread(mean["covered"], *(100 * s for s in accuracy_range(mean["covered"] / 100, len(known))))
            row: Row = {"model": _title(run, system), "rows": _rows(split), "draws": len(records)}
            row |= {"without an estimate": len(records) - len(known), "ranges that hold it %": covered}
            row |= {"expected %": mean["expected"], "accuracy %": mean["accuracy"]}
            rows.append(row | {"low %": mean["low"], "high %": mean["high"]})
    return Table(
        "How many of the 95 % ranges hold the accuracy on other rows (in brackets the exact 95 % range of this share "
        "for independent draws), and means over the draws.",
        rows,
    )


MEASURED = ("covered", "expected", "low", "high", "accuracy")


def _training_on_tables(run: Run, grid: Grid) -> Table:
    """What our training took and proved, and how good its estimate of the accuracy was."""
    ours, rows = grid.systems[0], []
    for name in grid.splits:
        proved = _proved(run, grid, ours, name)
        if proved is not None:
            expected, reached = (run.by_dataset(ours, name, m, grid.datasets) for m in ("expected", "accuracy"))
            surplus = interval([100 * (expected[table] - reached[table]) for table in expected])
            rows.append({"rows": _rows(name)} | proved | {"expected minus reached accuracy": surplus})
    caption = (
        "Our models: certified gap, mean over tables with the smallest and the largest table's; share of models of "
        "which every bound is certified; links of all networks together; seconds of training on one core, the choice "
        "of settings included; the accuracy that training expected minus that on the test rows, in points with a 95 % "
        "confidence interval."
    )
    return Table(caption, rows)


def _training_on_signals(run: Run, grid: Grid) -> Table:
    """What our training took and proved."""
    rows = [
        {"windows": _rows(name), "system": _title(run, system)} | proved
        for name in grid.splits
        for system in _measured(run, grid)
        if (proved := _proved(run, grid, system, name)) is not None
    ]
    caption = (
        "Our models: certified gap, mean over sets with the smallest and the largest set's; the largest gap of a "
        "network, mean over the draws of the set in which it is largest; share of models of which every bound is "
        "certified; links of all networks together; seconds of training on one core."
    )
    return Table(caption, rows)


def _changed(run: Run, grid: Grid, name: str, system: str, before: tuple[str, str], after: tuple[str, str]) -> Row:
    """Accuracy of a system, or in a measure, before and after a change: means and differences over data sets."""
    values = [run.by_dataset(s, name, measure, grid.datasets) for s, measure in (before, after)]
    lost = {dataset: values[1][dataset] - values[0][dataset] for dataset in values[1] if dataset in values[0]}
    worst = min(lost, key=lambda dataset: lost[dataset])
    means = [100 * sum(known[dataset] for dataset in lost) / len(lost) for known in values]
    what, noun = ("rows", "table") if _noun(run) == "table" else ("windows", "set")
    return {
        what: _rows(name),
        "system": _title(run, system),
        "accuracy as it is": means[0],
        "changed" if noun == "table" else f"at gain {GAIN}": means[1],
        "difference": interval([100 * value for value in lost.values()]),
        f"worst {noun}": f"{worst} {100 * lost[worst]:+.2f}",
    }


def _moved(run: Run, grid: Grid) -> Table:
    """What a shift or another unit costs; the first system of the grid sees the table as it is."""
    before = (grid.systems[0], "accuracy")
    rows = [
        _changed(run, grid, name, system, before, (system, "accuracy"))
        for name in grid.splits
        for system in grid.systems[1:]
        if run.differences(system, before[0], name, "accuracy", grid.datasets)
    ]
    caption = (
        f"Accuracy in % when every numeric feature is shifted or has another unit; difference: {_interval('table')}."
    )
    return Table(caption, rows)


def _lower_gain(run: Run, grid: Grid) -> Table:
    """What happens to all systems if the sensor measures less than in training."""
    rows = [
        _changed(run, grid, name, system, (system, "accuracy"), (system, "lower_gain"))
        for name in grid.splits
        for system in _measured(run, grid)
        if run.by_dataset(system, name, "lower_gain", grid.datasets)
    ]
    caption = (
        f"Test accuracy in % when all values of the test windows are multiplied by {GAIN}. Only the scenarios "
        "of our models prepare for it. Difference in points: mean over sets, with its 95 % confidence interval."
    )
    return Table(caption, rows)


def _cards(run: Run, grid: Grid) -> Table:
    """Scorecards beside FasterRisk's: means over tables, then paired differences."""
    (name,) = grid.splits
    rows: list[Row] = []
    for system in _measured(run, grid):
        row: Row = {title: _three(_mean(run, grid, system, name, m)) for m, title in CARD_MEASURES.items()}
        row["seconds"] = _three(_mean(run, grid, system, name, "seconds"))
        row["certified gap %"] = _mean(run, grid, system, name, "gap", 100)
        rows.append({"system": _title(run, system)} | row)
    # Models that are no cards show what so few lines cost.
    no_cards = {s: _title(run, s) for s in grid.systems if not s.startswith(("card-", "fasterrisk-"))}
    for links in (s.removeprefix("card-") for s in grid.systems if s.startswith("card-")):
        ours = f"card-{links}"
        differences = {f"ours minus FasterRisk, {links} links": f"fasterrisk-{links}"}
        differences |= {f"ours, {links} links, minus {title}": system for system, title in no_cards.items()}
        for title, other in differences.items():
            if run.has(ours, name) and run.has(other, name):
                ahead = {t: _signed(_difference(run, grid, ours, other, name, m)) for m, t in CARD_MEASURES.items()}
                rows.append({"system": title} | ahead | {"seconds": None, "certified gap %": None})
    caption = (
        f"Cards with points -5..5, FasterRisk's on bits at up to eight thresholds per column, {_rows(name)}, tables of "
        "two classes. Means over tables; seconds of one core; "
        f"differences: {_interval('table')}."
    )
    return Table(caption, rows)


def _cards_by_table(run: Run, grid: Grid) -> Table:
    (name,) = grid.splits
    rows = []
    for table in grid.datasets:
        row: Row = {"table": table}
        for system in _measured(run, grid):
            title = _title(run, system)
            row[f"{title}: AUC"], row[f"{title}: log-loss"] = (
                _three(_value(run, system, name, measure, table)) for measure in ("auc", "log_loss")
            )
            row[f"{title}: gap %"] = _times(100, _value(run, system, name, "gap", table))
        rows.append(row)
    return Table("The same by table.", rows).without_empty_columns()


def _probabilities(run: Run, grid: Grid) -> Table:
    """How good the predicted probabilities are."""
    ours, rows = grid.systems[0], []
    measures = ("log_loss", "calibration_error", "auc", "accuracy")
    for name in grid.splits:
        for system in _measured(run, grid):
            count = len(run.by_dataset(system, name, "log_loss", grid.datasets))
            if count:
                row: Row = {"rows": _rows(name), "tables": count, "system": _title(run, system)}
                row |= {CARD_MEASURES[m]: _three(_mean(run, grid, system, name, m)) for m in measures}
                ahead = None if system == ours else _difference(run, grid, ours, system, name, "log_loss")
                rows.append(row | {"ours minus it: log-loss": _signed(ahead)})
    caption = (
        "Chances on tables of two classes: log-loss, and expected calibration error over ten bins of equal width. "
        f"Means over tables; difference: {_interval('table')}."
    )
    return Table(caption, rows)


def _size(run: Run, grid: Grid) -> Table:
    """Many rows: time, gap and accuracy."""
    rows = []
    for name in grid.splits:
        for table in grid.datasets:
            for system in _measured(run, grid):
                accuracy, gap, seconds = (_value(run, system, name, m, table) for m in ("accuracy", "gap", "seconds"))
                if accuracy is not None:
                    row: Row = {"table": table, "rows": _rows(name), "system": _title(run, system)}
                    row |= {"accuracy": 100 * accuracy, "certified gap %": _times(100, gap)}
                    rows.append(row | {"seconds": seconds})
    return Table("Thousands of training rows, on one core.", rows)


def _accuracy_on_images(run: Run, grid: Grid) -> Table:
    """Accuracy of every system on every data set of any grid, by the number of images of a class."""
    splits = [split for split in grid.splits if run.has(RECOMMENDED, split)]
    rows = []
    for name in dict.fromkeys(name for each in run.experiment.grids for name in each.datasets):
        for system in dict.fromkeys(system for each in run.experiment.grids for system in each.systems):
            spreads = {_per_class(s): _spread(run, system, s, name, "accuracy") for s in splits}
            if any(spreads.values()):
                rows.append({"data set": name, "system": _title(run, system)} | spreads)
    caption = (
        "Test accuracy in % by the number of training images of a class, mean over the draws with the smallest and the "
        "largest. *Rows as ours*: histograms as our model chose them, deformed copies included; *plain rows*: "
        "histograms of the straightened images."
    )
    return Table(caption, rows)


def _per_class(split: str) -> str:
    """Training images of a class."""
    parsed = Split.parse(split)
    return "all" if parsed.name == PUBLISHED else str(parsed.rows)


def _training_on_images(run: Run, grid: Grid) -> Table:
    """What our models proved, and what choosing and training took."""
    rows = []
    for name, split in _images(run, grid):
        certified = run.values(RECOMMENDED, split, name, "certified")
        largest = _spread(run, RECOMMENDED, split, name, "largest_gap")
        assert largest is not None
        row: Row = {"data set": name, "training": _rows(split), "draws": len(certified)}
        row |= {"gap %": _spread(run, RECOMMENDED, split, name, "gap"), "largest gap %": largest.high}
        row["certified %"] = 100 * sum(certified.values()) / len(certified)
        seconds = {"choosing": "choosing s", "deforming": "deforming s", "cpu": "all s", "seconds": "wall s"}
        row |= {title: _value(run, RECOMMENDED, split, m, name) for m, title in seconds.items()}
        flash = _value(run, RECOMMENDED, split, "flash", name)
        rows.append(row | ({} if flash is None else {"flash kB": flash / 1000}))
    caption = (
        "Our models: draws; certified gap, mean over the networks of a draw, mean over the draws with the smallest and "
        "the largest draw's; the largest gap of a network; share of models of which every bound is certified; seconds "
        "of one core, means over the draws: choosing, deforming, and everything from choosing to the last network, by "
        "the processor's clock and by the wall's; flash of the C without probabilities, as its header states it."
    )
    return Table(caption, rows)


def _choices(run: Run, grid: Grid) -> Table:
    """What cross-validation on the training images chose."""
    rows = []
    for name, split in _images(run, grid):
        chosen = Counter(run.values(RECOMMENDED, split, name, "choice").values())
        choice = "; ".join(f"{choice}: {n}" for choice, n in chosen.most_common())
        rows.append({"data set": name, "training": _rows(split), "choice": choice})
    caption = "What our models chose by cross-validation on the training images, and on how many draws."
    return Table(caption, rows)


BY_TABLE = "Test accuracy in % by table, mean over the samples."
BY_SET = "Test accuracy in % by set, mean over the draws."

TABLES: dict[str, dict[str, Callable[[Run, Grid], Table]]] = {
    "tables": {
        "accuracy": _accuracy,
        "accuracy-by-table": partial(_by_dataset, caption=BY_TABLE, first="rows", other=RANDOM_FOREST),
        "training": _training_on_tables,
        "moved": _moved,
        "cards": _cards,
        "cards-by-table": _cards_by_table,
        "chances": _probabilities,
        "size": _size,
    },
    "estimates": dict.fromkeys(("tables", "restrictions", "images", "signals", "recordings"), _coverage),
    "images": {"accuracy": _accuracy_on_images, "training": _training_on_images, "choices": _choices},
    "signals": {
        "accuracy": _accuracy,
        "accuracy-by-set": partial(_by_dataset, caption=BY_SET, first="windows", other=MINIROCKET),
        "training": _training_on_signals,
        "lower-gain": _lower_gain,
        "apart": partial(_by_dataset, caption=APART, first="windows", other=MINIROCKET),
    },
    "unknown": {"unknown": _unknown},
}
"""Tables by name, for each kind of experiments."""


def _title(run: Run, system: str) -> str:
    return subjects.get(run.experiment.kind).systems[system].title


def _noun(run: Run) -> str:
    return "table" if run.experiment.kind == "tables" else "set"


def _rows(split: str) -> str:
    return Split.parse(split).title


def _measured(run: Run, grid: Grid) -> list[str]:
    """Systems of a grid that have results on its data sets."""
    return [s for s in grid.systems if any(run.by_dataset(s, name, "accuracy", grid.datasets) for name in grid.splits)]


def _images(run: Run, grid: Grid) -> Iterator[tuple[str, str]]:
    """Data sets and splits on which our models were measured."""
    for name in dict.fromkeys(name for each in run.experiment.grids for name in each.datasets):
        for split in grid.splits:
            if run.values(RECOMMENDED, split, name, "accuracy"):
                yield name, split


def _mean(run: Run, grid: Grid, system: str, split: str, measure: str, times: float = 1) -> float | None:
    return _times(times, run.mean(system, split, measure, grid.datasets))


def _value(run: Run, system: str, split: str, measure: str, dataset: str) -> float | None:
    return run.by_dataset(system, split, measure, [dataset]).get(dataset)


def _spread(run: Run, system: str, split: str, dataset: str, measure: str) -> Spread | None:
    values = list(run.values(system, split, dataset, measure).values())
    return Spread.of([100 * value for value in values]) if values else None


def _difference(run: Run, grid: Grid, a: str, b: str, name: str, measure: str, times: float = 1) -> Spread | None:
    return _times(times, interval(list(run.differences(a, b, name, measure, grid.datasets).values())))


def _times(factor: float, value: Any) -> Any:
    return None if value is None else value * factor


def _three(value: float | None) -> str | None:
    """Three decimals: of log-losses and areas the third one matters."""
    return None if value is None else f"{value:.3f}"


def _signed(value: Spread | None) -> str | None:
    return None if value is None else f"{value.mean:+.3f} ({value.low:+.3f} to {value.high:+.3f})"
