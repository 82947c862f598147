"""Tables of systems that are compared on tables, images or signals, each from a run and one of its grids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bemi_lab.datasets import Split
from bemi_lab.experiments import subjects
from bemi_lab.experiments.on_signals import GAIN
from bemi_lab.experiments.results import Run
from bemi_lab.experiments.spec import Grid
from bemi_lab.experiments.table import Spread, Table, interval

RANDOM_FOREST, MINIROCKET, RECOMMENDED = "random-forest", "minirocket", "recommended"


def _interval(noun: str) -> str:
    return (
        f"mean over the {noun}s of the paired difference, with its 95 % confidence interval (Student's t over {noun}s)"
    )


OVER_TABLES, OVER_SETS = _interval("table"), _interval("set")


def _accuracy_on_tables(run: Run, grid: Grid) -> Table:
    """Mean accuracy of every system, and how far ours is ahead; ours is the first of the grid."""
    ours, rows = grid.systems[0], []
    splits = [name for name in grid.splits if run.has(ours, name)]
    for system in _measured(run, grid):
        row: list[Any] = [_title(run, system)]
        for name in splits:
            row.append(_times(100, run.mean(system, name, "accuracy", grid.datasets)))
            row.append(None if system == ours else _difference(run, grid, ours, system, name, "accuracy", 100))
        rows.append(row)
    headings = ["system"]
    for name in splits:
        count = len(run.by_dataset(ours, name, "accuracy", grid.datasets))
        headings += [f"{_rows(name)} ({count} tables)", f"ours minus it, {_rows(name)}"]
    caption = f"Test accuracy in %, mean over tables; *ours minus it* in points: {OVER_TABLES}."
    return Table("accuracy", caption, headings, rows)


def _accuracy_on_signals(run: Run, grid: Grid) -> Table:
    """Mean accuracy of every system, and how far it is ahead of the reference."""
    rows, headings = [], ["system"]
    splits = [name for name in grid.splits if run.has(grid.systems[0], name)]
    for name in splits:
        count = len(run.by_dataset(grid.systems[0], name, "accuracy", grid.datasets))
        headings += [f"{_rows(name)} ({count} sets)", "minus MiniRocket"]
    for system in _measured(run, grid):
        row: list[Any] = [_title(run, system)]
        for name in splits:
            ahead = _difference(run, grid, system, MINIROCKET, name, "accuracy", 100)
            row += [_times(100, run.mean(system, name, "accuracy", grid.datasets))]
            row += [None if system == MINIROCKET else ahead]
        rows.append(row)
    caption = f"Test accuracy in %, mean over sets; *minus MiniRocket* in points: {OVER_SETS}."
    return Table("accuracy", caption, headings, rows)


def _by_dataset(run: Run, grid: Grid, name: str, caption: str, first: str, noun: str, other: str) -> Table:
    """Accuracy on each data set, and how far ours, the first of the grid, is ahead of another system."""
    ours, systems, rows = grid.systems[0], _measured(run, grid), []
    for split in grid.splits:
        ahead = run.differences(ours, other, split, "accuracy", grid.datasets)
        means = {system: run.by_dataset(system, split, "accuracy", grid.datasets) for system in systems}
        for dataset in grid.datasets:
            if any(dataset in means[system] for system in systems):
                values = [_times(100, means[system].get(dataset)) for system in systems]
                rows.append([_rows(split), dataset, *values, _times(100, ahead.get(dataset))])
    reference = "MiniRocket" if other == MINIROCKET else "random forest"
    headings = [first, noun, *(_title(run, system) for system in systems), f"ours minus {reference}"]
    return Table(name, caption, headings, rows)


def _accuracy_by_table(run: Run, grid: Grid) -> Table:
    caption = "Test accuracy in % by table, mean over the samples."
    return _by_dataset(run, grid, "accuracy-by-table", caption, "rows", "table", RANDOM_FOREST)


def _accuracy_by_set(run: Run, grid: Grid) -> Table:
    caption = "Test accuracy in % by set, mean over the draws."
    return _by_dataset(run, grid, "accuracy-by-set", caption, "windows", "set", MINIROCKET)


def _apart(run: Run, grid: Grid) -> Table:
    caption = (
        "Sets that the settings were not chosen on, test accuracy in %, mean over the draws. In PLAID, currents when "
        "a device is switched on are far above those while it runs."
    )
    return _by_dataset(run, grid, "apart", caption, "windows", "set", MINIROCKET)


def _proved(run: Run, grid: Grid, system: str, split: str) -> list[Any] | None:
    """What our training proved and took: gap, largest gap, share of certified models, links and seconds."""
    gaps = run.by_dataset(system, split, "gap", grid.datasets)
    if not gaps:
        return None
    largest = run.by_dataset(system, split, "largest_gap", grid.datasets)
    certified, links, seconds = (run.mean(system, split, m, grid.datasets) for m in ("certified", "links", "seconds"))
    spread = Spread.of([100 * gap for gap in gaps.values()])
    return [spread, 100 * max(largest.values()), _times(100, certified), links, seconds]


def _training_on_tables(run: Run, grid: Grid) -> Table:
    """What our training took and proved, and how good its estimate of the accuracy was."""
    ours, rows = grid.systems[0], []
    for name in grid.splits:
        proved = _proved(run, grid, ours, name)
        if proved is not None:
            expected = run.by_dataset(ours, name, "expected", grid.datasets)
            reached = run.by_dataset(ours, name, "accuracy", grid.datasets)
            surplus = interval([100 * (expected[table] - reached[table]) for table in expected])
            rows.append([_rows(name), *proved[:3], surplus, *proved[3:]])
    headings = [
        *("rows", "gap %", "largest gap %", "certified %", "expected minus reached accuracy", "links", "seconds"),
    ]
    caption = (
        "Our models: certified gap, mean over tables with the smallest and the largest table's; share of models of "
        "which every bound is certified; the accuracy that training expected minus that on the test rows, in points "
        "with a 95 % confidence interval; links of all networks together; seconds of training on one core, the choice "
        "of settings included."
    )
    return Table("training", caption, headings, rows)


def _training_on_signals(run: Run, grid: Grid) -> Table:
    """What our training took and proved."""
    rows = [
        [_rows(name), _title(run, system), *proved]
        for name in grid.splits
        for system in _measured(run, grid)
        if (proved := _proved(run, grid, system, name)) is not None
    ]
    caption = (
        "Our models: certified gap, mean over sets with the smallest and the largest set's; the largest gap of a "
        "network, mean over the draws of the set in which it is largest; share of models of which every bound is "
        "certified; links of all networks together; seconds of training on one core."
    )
    headings = ["windows", "system", "gap %", "largest gap %", "certified %", "links", "seconds"]
    return Table("training", caption, headings, rows)


def _moved(run: Run, grid: Grid) -> Table:
    """What a shift or another unit costs; the first system of the grid sees the table as it is."""
    before, rows = grid.systems[0], []
    for name in grid.splits:
        for system in grid.systems[1:]:
            lost = run.differences(system, before, name, "accuracy", grid.datasets)
            if lost:
                means = [_times(100, run.mean(s, name, "accuracy", list(lost))) for s in (before, system)]
                change = _spread_times(100, interval(list(lost.values())))
                rows.append([_rows(name), _title(run, system), *means, change, _worst(lost)])
    headings = ["rows", "system", "accuracy as it is", "changed", "difference", "worst table"]
    caption = f"Accuracy in % when every numeric feature is shifted or has another unit; difference: {OVER_TABLES}."
    return Table("moved", caption, headings, rows)


def _lower_gain(run: Run, grid: Grid) -> Table:
    """What happens to all systems if the sensor measures less than in training."""
    rows = []
    for name in grid.splits:
        for system in _measured(run, grid):
            before, after = (run.by_dataset(system, name, m, grid.datasets) for m in ("accuracy", "lower_gain"))
            if after:
                lost = {dataset: after[dataset] - before[dataset] for dataset in after}
                change = interval([100 * value for value in lost.values()])
                means = [_times(100, run.mean(system, name, m, grid.datasets)) for m in ("accuracy", "lower_gain")]
                rows.append([_rows(name), _title(run, system), *means, change, _worst(lost)])
    caption = (
        f"Test accuracy in % when all values of the test windows are multiplied by {GAIN}. Only the scenarios "
        "of our models prepare for it. Difference in points: mean over sets, with its 95 % confidence interval."
    )
    headings = ["windows", "system", "accuracy as it is", f"at gain {GAIN}", "difference", "worst set"]
    return Table("lower-gain", caption, headings, rows)


def _worst(lost: Mapping[str, float]) -> str:
    worst = min(lost, key=lambda dataset: lost[dataset])
    return f"{worst} {100 * lost[worst]:+.2f}"


CARD_MEASURES = {"auc": "AUC", "log_loss": "log-loss", "calibration_error": "calibration error", "accuracy": "accuracy"}


def _cards(run: Run, grid: Grid) -> Table:
    """Scorecards beside FasterRisk's: means over tables, then paired differences."""
    (name,) = grid.splits
    rows: list[list[Any]] = []
    for system in _measured(run, grid):
        means = [run.mean(system, name, measure, grid.datasets) for measure in (*CARD_MEASURES, "seconds")]
        gap = _times(100, run.mean(system, name, "gap", grid.datasets))
        rows.append([_title(run, system), *map(_three, means), gap])
    for ours in (system for system in grid.systems if system.startswith("card-")):
        links = ours.removeprefix("card-")
        theirs = f"fasterrisk-{links}"
        if run.has(ours, name) and run.has(theirs, name):
            ahead = [_difference(run, grid, ours, theirs, name, measure) for measure in CARD_MEASURES]
            rows.append([f"ours minus FasterRisk, {links} links", *map(_spread_text, ahead), None, None])
    headings = ["system", *CARD_MEASURES.values(), "seconds", "certified gap %"]
    caption = (
        f"Cards with points -5..5 on the same bits, {_rows(name)}, tables of two classes. Means over tables; "
        f"differences: {OVER_TABLES}."
    )
    return Table("cards", caption, headings, rows)


def _cards_by_table(run: Run, grid: Grid) -> Table:
    (name,) = grid.splits
    systems = _measured(run, grid)
    with_gap = {system: run.mean(system, name, "gap", grid.datasets) is not None for system in systems}
    headings = ["table"]
    for system in systems:
        headings += [f"{_title(run, system)}: AUC", "log-loss"] + (["gap %"] if with_gap[system] else [])
    rows = []
    for table in grid.datasets:
        row: list[Any] = [table]
        for system in systems:
            row += [_three(_value(run, system, name, measure, table)) for measure in ("auc", "log_loss")]
            row += [_times(100, _value(run, system, name, "gap", table))] if with_gap[system] else []
        rows.append(row)
    return Table("cards-by-table", "The same by table.", headings, rows)


def _probabilities(run: Run, grid: Grid) -> Table:
    """How good the predicted probabilities are."""
    ours, rows = grid.systems[0], []
    for name in grid.splits:
        for system in _measured(run, grid):
            count = len(run.by_dataset(system, name, "log_loss", grid.datasets))
            if not count:
                continue
            measures = ("log_loss", "calibration_error", "auc", "accuracy")
            means = [_three(run.mean(system, name, measure, grid.datasets)) for measure in measures]
            ahead = None if system == ours else _difference(run, grid, ours, system, name, "log_loss")
            rows.append([_rows(name), count, _title(run, system), *means, _spread_text(ahead)])
    headings = [
        *("rows", "tables", "system", "log-loss", "calibration error", "AUC", "accuracy", "ours minus it: log-loss"),
    ]
    caption = (
        "Chances on tables of two classes: log-loss, and expected calibration error over ten bins of equal width. "
        f"Means over tables; difference: {OVER_TABLES}."
    )
    return Table("chances", caption, headings, rows)


def _size(run: Run, grid: Grid) -> Table:
    """Many rows: time, gap and accuracy."""
    rows = []
    for name in grid.splits:
        for table in grid.datasets:
            for system in _measured(run, grid):
                values = [_value(run, system, name, measure, table) for measure in ("accuracy", "gap", "seconds")]
                if values[0] is not None:
                    shares = [_times(100, value) for value in values[:2]]
                    rows.append([table, _rows(name), _title(run, system), *shares, values[2]])
    headings = ["table", "rows", "system", "accuracy", "certified gap %", "seconds"]
    return Table("size", "Thousands of training rows, on one core.", headings, rows)


def _accuracy_on_images(run: Run, grid: Grid) -> Table:
    """Accuracy of every system on every data set, by the number of images of a class."""
    splits = [split for split in grid.splits if run.has(RECOMMENDED, split)]
    rows = []
    for name in grid.datasets:
        for system in grid.systems:
            spreads = [_spread(run, system, split, name, "accuracy") for split in splits]
            if any(spreads):
                rows.append([name, _title(run, system), *spreads])
    caption = (
        "Test accuracy in % by the number of training images of a class, mean over the draws with the smallest and the "
        "largest. *Rows as ours*: histograms as our model chose them, deformed copies included; *plain rows*: "
        "histograms of the straightened images."
    )
    headings = ["data set", "system", *(str(Split.parse(split).rows) for split in splits)]
    return Table("accuracy", caption, headings, rows)


def _training_on_images(run: Run, grid: Grid) -> Table:
    """What our models proved, and what choosing and training took."""
    rows = []
    for name, split in _images(run, grid):
        gap, largest = (_spread(run, RECOMMENDED, split, name, measure) for measure in ("gap", "largest_gap"))
        certified = run.values(RECOMMENDED, split, name, "certified")
        assert largest is not None
        seconds = [_value(run, RECOMMENDED, split, m, name) for m in ("choosing", "deforming", "cpu", "seconds")]
        share = 100 * sum(certified.values()) / len(certified)
        rows.append([name, _rows(split), len(certified), gap, largest.high, share, *seconds])
    caption = (
        "Our models: draws; certified gap, mean over the networks of a draw, mean over the draws with the smallest and "
        "the largest draw's; the largest gap of a network; share of models of which every bound is certified; seconds "
        "of one core, means over the draws: choosing, deforming, and everything from choosing to the last network, by "
        "the processor's clock and by the wall's."
    )
    headings = ["data set", "training", "draws", "gap %", "largest gap %", "certified %", "choosing s", "deforming s"]
    return Table("training", caption, [*headings, "all s", "wall s"], rows)


def _choices(run: Run, grid: Grid) -> Table:
    """What cross-validation on the training images chose."""
    rows = []
    for name, split in _images(run, grid):
        chosen = Counter(run.values(RECOMMENDED, split, name, "choice").values())
        rows.append([name, _rows(split), "; ".join(f"{choice}: {n}" for choice, n in chosen.most_common())])
    caption = "What our models chose by cross-validation on the training images, and on how many draws."
    return Table("choices", caption, ["data set", "training", "choice"], rows)


TABLES: dict[str, dict[str, Callable[[Run, Grid], Table]]] = {
    "tables": {
        "accuracy": _accuracy_on_tables,
        "accuracy-by-table": _accuracy_by_table,
        "training": _training_on_tables,
        "moved": _moved,
        "cards": _cards,
        "cards-by-table": _cards_by_table,
        "chances": _probabilities,
        "size": _size,
    },
    "images": {"accuracy": _accuracy_on_images, "training": _training_on_images, "choices": _choices},
    "signals": {
        "accuracy": _accuracy_on_signals,
        "accuracy-by-set": _accuracy_by_set,
        "training": _training_on_signals,
        "lower-gain": _lower_gain,
        "apart": _apart,
    },
}
"""Tables by name, for each kind of experiments."""

BRIEF: dict[str, dict[str, set[str]]] = {
    "tables": {
        "accuracy": set(),
        "moved": {"worst table"},
        "cards": {"calibration error", "accuracy"},
        "chances": {"tables", "AUC", "accuracy"},
    },
    "images": {"accuracy": set(), "choices": set()},
    "signals": {"accuracy": set(), "lower-gain": {"worst set"}},
}
"""Tables that fit a terminal without these columns."""


def _title(run: Run, system: str) -> str:
    return subjects.get(run.experiment.kind).systems[system].title


def _rows(split: str) -> str:
    return Split.parse(split).title


def _measured(run: Run, grid: Grid) -> list[str]:
    """Systems of a grid that have results on its data sets."""
    return [s for s in grid.systems if any(run.by_dataset(s, name, "accuracy", grid.datasets) for name in grid.splits)]


def _images(run: Run, grid: Grid) -> Iterator[tuple[str, str]]:
    """Data sets and splits on which our models were measured."""
    for name in grid.datasets:
        for split in grid.splits:
            if run.values(RECOMMENDED, split, name, "accuracy"):
                yield name, split


def _value(run: Run, system: str, split: str, measure: str, dataset: str) -> float | None:
    return run.by_dataset(system, split, measure, [dataset]).get(dataset)


def _spread(run: Run, system: str, split: str, dataset: str, measure: str) -> Spread | None:
    values: Sequence[float] = list(run.values(system, split, dataset, measure).values())
    return Spread.of([100 * value for value in values]) if values else None


def _difference(run: Run, grid: Grid, a: str, b: str, name: str, measure: str, times: float = 1) -> Spread | None:
    return _spread_times(times, interval(list(run.differences(a, b, name, measure, grid.datasets).values())))


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _spread_times(factor: float, value: Spread | None) -> Spread | None:
    return None if value is None else Spread(factor * value.mean, factor * value.low, factor * value.high)


def _three(value: float | None) -> str | None:
    """Three decimals: of log-losses and areas the third one matters."""
    return None if value is None else f"{value:.3f}"


def _spread_text(value: Spread | None) -> str | None:
    return None if value is None else f"{value.mean:+.3f} ({value.low:+.3f} to {value.high:+.3f})"
