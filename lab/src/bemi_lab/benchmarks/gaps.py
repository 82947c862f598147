"""Gaps of the engines: on the paper's cells, beside the whole-stage program, as problems grow, and where bounds are
hard to come by."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bemi.exact import Integers
from bemi.problem.problem import Problem, class_codes
from bemi_lab import classifiers, datasets
from bemi_lab.benchmarks.common import (
    Benchmark,
    Cell,
    Record,
    Settings,
    by_cell,
    image_set,
    known_gaps,
    measure,
    measure_alone,
    networks,
    percent,
    sample,
)
from bemi_lab.experiments import spec
from bemi_lab.experiments.table import markdown

FEW_PAIRS = 3
"""Pairs of classes, unless told otherwise, where a benchmark need not measure all."""

HIDDEN = (4, 4)

Measurements = Callable[[Settings], Iterator[Record]]


def _training(cells: Sequence[Cell]) -> Measurements:
    """Train every network of the cells."""

    def measurements(settings: Settings) -> Iterator[Record]:
        for head, problem in networks(cells, settings, settings.pairs):
            yield head | measure(problem, settings.engine, settings.seconds)

    return measurements


# The paper's cells.

PAPER = {
    Cell(experiment.dataset, cell.hidden_layers, cell.per_class): values
    for experiment in map(spec.load, ("exp3a", "exp3b", "exp4a", "exp4b"))
    for cell, values in experiment.paper.values.items()
    if cell.per_class is not None
}
"""Table tab:all_stages of the paper."""

TARGETS: dict[tuple[int, ...], tuple[float, float]] = {(4, 4): (0.35, 1.0), (10, 3): (0.15, 0.4)}
"""Max-Margin gap to reach in %, mean and 95th percentile, by hidden layers."""


def _table_report(records: Sequence[Record]) -> str:
    groups = by_cell(records)
    cells = [cell for cell in PAPER if cell.name in groups]
    gaps = markdown(
        (
            *("set", "hidden", "per class", "networks", "SM all right %", "SM s", "MM ran", "MM certified"),
            *("gap mean %", "p95 %", "max %", "target mean / p95", "reached", "paper mean / max", "hardest pair"),
        ),
        [_gap_row(cell, groups[cell.name]) for cell in cells],
    )
    links = markdown(
        (
            *("set", "hidden", "per class", "links % after MM", "paper", "links % after MW", "proved at least %"),
            *("paper", "wall s mean", "max", "CPU s mean", "max"),
        ),
        [_link_row(cell, groups[cell.name]) for cell in cells],
    )
    return f"## Gaps\n\n{gaps}\n\n## Links and seconds\n\n{links}"


def _name(cell: Cell) -> tuple[object, ...]:
    return cell.data, ",".join(map(str, cell.hidden)), cell.shots


def _gap_row(cell: Cell, records: Sequence[Record]) -> tuple[object, ...]:
    count = len(records)
    all_right = sum(r["sm"]["objective"] == r["outputs"] for r in records)
    certified = sum(r["mm"]["proof"] == "certified" for r in records)
    gaps = known_gaps(records)
    mean, p95, largest = (gaps.mean(), np.percentile(gaps, 95), gaps.max()) if len(gaps) else (np.nan,) * 3
    target_mean, target_p95 = TARGETS[cell.hidden]
    reached = len(gaps) == count and 100 * mean <= target_mean and 100 * p95 <= target_p95
    paper_mean, paper_max = PAPER[cell]["mean_gap"], PAPER[cell]["max_gap"]
    # A stage that did not run is harder than any gap.
    hardest = max(records, key=lambda r: np.inf if r["mm"]["gap"] is None else r["mm"]["gap"])
    return (
        *_name(cell),
        count,
        percent(all_right / count, 1),
        f"{np.mean([_sat_margin_seconds(r) for r in records]):.2f}",
        len(gaps),
        certified,
        percent(mean, 3),
        percent(p95, 3),
        percent(largest, 3),
        f"{target_mean} / {target_p95}",
        "yes" if reached else "no",
        f"{paper_mean} / {paper_max}",
        f"{hardest['pair']} (seed {hardest['seed']})",
    )


def _sat_margin_seconds(record: Record) -> float:
    """Sat-Margin with the search for its first network, which no stage's own seconds include."""
    return record["wall"] - record["mm"]["seconds"] - record["mw"]["seconds"]


def _link_row(cell: Cell, records: Sequence[Record]) -> tuple[object, ...]:
    total = records[0]["total_links"]
    # A stage without a bound proves nothing, so its share of the mean is 0.
    proved = np.mean([r["mw"]["bound"] or 0 for r in records])
    paper_mm, paper_mw = PAPER[cell]["links_mm"], PAPER[cell]["links"]
    return (
        *_name(cell),
        percent(_mean_links(records, "mm") / total),
        paper_mm,
        percent(_mean_links(records, "mw") / total),
        percent(float(proved) / total),
        paper_mw,
        *_mean_and_max([r["wall"] for r in records]),
        *_mean_and_max([r["cpu"] for r in records]),
    )


def _mean_links(records: Sequence[Record], stage: str) -> float:
    return float(np.mean([record[stage]["links"] for record in records]))


def _mean_and_max(seconds: Sequence[float]) -> tuple[str, str]:
    return f"{np.mean(seconds):.2f}", f"{max(seconds):.2f}"


# Two engines on the same problems.

REFERENCE = "monolithic"
SIDE_BY_SIDE = [Cell(data, HIDDEN, shots) for data in ("mnist", "fashion-mnist") for shots in (10, 40)]


def _two_engines(settings: Settings) -> Iterator[Record]:
    for head, problem in networks(SIDE_BY_SIDE, settings, settings.pairs or FEW_PAIRS):
        for role, engine in (("chosen", settings.engine), ("reference", REFERENCE)):
            yield head | {"role": role} | measure(problem, engine, settings.seconds)


def _side_by_side_report(records: Sequence[Record]) -> str:
    roles = {role: [r for r in records if r["role"] == role] for role in ("chosen", "reference")}
    rows = [_side_by_side_row(chosen, reference) for chosen, reference in zip(*roles.values(), strict=False)]
    table = markdown(
        (
            *("cell", "pair", "seed", "SM right", "MM rows", "MM objective ratio", "MM gap %"),
            *("MW links", "wall s", "CPU s"),
        ),
        rows,
    )
    note = (
        f"Two values in a column: {roles['chosen'][0]['engine']}, then {REFERENCE}. The ratio compares Max-Margin "
        "objectives and is given only where both engines ran the stage on as many rows."
    )
    return f"{note}\n\n{table}"


def _side_by_side_row(chosen: Record, reference: Record) -> tuple[object, ...]:
    both = (chosen, reference)
    objectives = [r["mm"]["objective"] for r in both]
    rows = [r["mm"]["rows"] for r in both]
    comparable = None not in objectives and rows[0] == rows[1]
    return (
        chosen["cell"],
        chosen["pair"],
        chosen["seed"],
        " / ".join(f"{r['sm']['objective']} of {r['outputs']}" for r in both),
        " / ".join(map(str, rows)),
        f"{objectives[0] / objectives[1]:.4f}" if comparable else "-",
        " / ".join(percent(r["mm"]["gap"]) for r in both),
        " / ".join(str(r["mw"]["links"]) for r in both),
        " / ".join(f"{r['wall']:.2f}" for r in both),
        " / ".join(f"{r['cpu']:.2f}" for r in both),
    )


# Growth; one process per network.

AXES = {
    "images per class": {shots: Cell("mnist", HIDDEN, shots) for shots in (10, 20, 40, 100, 200)},
    "features": {
        64: Cell("digits", HIDDEN, 40),
        196: Cell("mnist-196", HIDDEN, 40),
        784: Cell("mnist", HIDDEN, 40),
        3072: Cell("mnist-3072", HIDDEN, 40),
    },
    "classes": {count: Cell(f"halves-{count}", HIDDEN, 10) for count in (10, 30, 100)},
    "weight bound P": {bound: Cell("mnist", HIDDEN, 40, bound) for bound in (1, 3, 7, 15)},
}


def _growing(settings: Settings) -> Iterator[Record]:
    # A cell on two axes is measured once.
    cells = list(dict.fromkeys(cell for axis in AXES.values() for cell in axis.values()))
    for head, problem in networks(cells, settings, settings.pairs or FEW_PAIRS):
        yield head | measure_alone(problem, settings.engine, settings.seconds)


def _growth_report(records: Sequence[Record]) -> str:
    groups = by_cell(records)
    parts = []
    for axis, cells in AXES.items():
        rows = [_growth_row(value, groups[cell.name]) for value, cell in cells.items() if cell.name in groups]
        headings: tuple[str, ...] = (
            *(axis, "networks", "SM all right", "MM ran", "gap mean %", "gap max %", "wall s mean", "wall s max"),
            *("CPU s mean", "peak RSS MB", "of it before training"),
        )
        if axis == "classes":
            headings += ("hours for all pairs on one core",)
            rows = [(*row, _hours(int(row[0]), groups[cells[int(row[0])].name])) for row in rows]
        if rows:
            parts.append(f"## By {axis}\n\n{markdown(headings, rows)}")
    return "\n\n".join(parts)


def _hours(classes: int, records: Sequence[Record]) -> str:
    return f"{math.comb(classes, 2) * np.mean([r['wall'] for r in records]) / 3600:.2f}"


def _growth_row(value: int, records: Sequence[Record]) -> tuple[str, ...]:
    gaps = known_gaps(records)
    heaviest = max(records, key=lambda r: r["peak_mb"])
    return (
        str(value),
        str(len(records)),
        str(sum(r["sm"]["objective"] == r["outputs"] for r in records)),
        str(len(gaps)),
        percent(gaps.mean() if len(gaps) else None, 3),
        percent(gaps.max() if len(gaps) else None, 3),
        f"{np.mean([r['wall'] for r in records]):.2f}",
        f"{np.max([r['wall'] for r in records]):.2f}",
        f"{np.mean([r['cpu'] for r in records]):.2f}",
        f"{heaviest['peak_mb']:.0f}",
        f"{heaviest['peak_mb_before']:.0f}",
    )


# Light images: the hardest samples that the experiments draw.

LIGHT = [
    Cell("mnist#4", HIDDEN, 30),
    Cell("mnist#3", HIDDEN, 40),
    Cell("fashion-mnist#2", HIDDEN, 30),
    Cell("fashion-mnist#1", HIDDEN, 40),
]

_NAMED = 3  # pairs that a row of the table names


def _light_report(records: Sequence[Record]) -> str:
    rows = []
    for cell, measured in by_cell(records).items():
        gaps = 100 * known_gaps(measured)
        ran = [r for r in measured if r["mm"].get("gap") is not None]
        worst = sorted(ran, key=lambda r: -r["mm"]["gap"])[:_NAMED]
        named = ", ".join(f"{r['pair']} {r['mm']['gap']:.2%}" for r in worst)
        rows.append((cell, len(measured), f"{gaps.mean():.3f}", f"{np.percentile(gaps, 95):.3f}", named))
    return markdown(("sample", "networks", "gap mean %", "p95 %", "largest"), rows)


# How far the word "exact" holds: every stage on ordinary problems, two networks at a time, each on a core of its own.

CORES = 2
HARD_SAMPLE = 4242  # one of large Min-Weight gaps, and the sample that the other seeds give
WITH_FIVE = [(min(c, 5), max(c, 5)) for c in range(10) if c != 5]
LARGE_SAMPLE_PAIRS = ((0, 1), (4, 9), (3, 5), (8, 9), (1, 7), (2, 6))


Problems = Callable[[int], Iterator[tuple[str, Problem]]]
"""From a seed to names and problems of networks."""


@dataclass(frozen=True)
class Family:
    """Networks of one kind.

    Attributes
    ----------
    name
        What they are.
    problems
        Names and problems of the networks, for a seed.
    goals
        By stage: the mean and largest gap in % to reach, as text.
    """

    name: str
    problems: Problems
    goals: dict[str, str]


def _pairs(data: str, shots: int, *, within: Sequence[tuple[int, int]] | None = None) -> Problems:
    def problems(seed: int) -> Iterator[tuple[str, Problem]]:
        X, y = sample(data, shots, seed)
        for a, b in within or combinations(np.unique(y).tolist(), 2):
            yield f"{a}/{b}", _problem(X, y, (a, b))

    return problems


def _hard_pairs(seed: int) -> Iterator[tuple[str, Problem]]:
    drawn = datasets.sample(image_set("mnist"), 10, seed, seed=HARD_SAMPLE)
    for a, b in combinations(range(10), 2):
        yield f"{a}/{b}", _problem(drawn.train_X, drawn.train_y, (a, b))


def _one_network(shots: int) -> Problems:
    def problems(seed: int) -> Iterator[tuple[str, Problem]]:
        X, y = sample("mnist", shots, seed)
        yield "0..9", _problem(X, y, range(10))

    return problems


def _four_classes(seed: int) -> Iterator[tuple[str, Problem]]:
    X, y = sample("mnist", 10, seed)
    for classes in ((0, 1, 2, 3), (4, 5, 6, 7), (1, 4, 7, 9)):
        yield ",".join(map(str, classes)), _problem(X, y, classes)


def _heart_disease(weight_bound: int) -> Problems:
    def problems(seed: int) -> Iterator[tuple[str, Problem]]:
        for index in range(3 * seed, 3 * seed + 3):
            rows = datasets.split(image_set("heart-disease"), index)
            X = np.where(np.isnan(rows.train_X), np.nanmedian(rows.train_X, axis=0), rows.train_X)
            classifier = classifiers.paper(hidden_layers=(5,), weight_bound=weight_bound)
            (task,) = classifier.training_tasks(X, rows.train_y).values()
            yield f"sample {index}", task.problem

    return problems


def _problem(X: Integers, y: Integers, classes: Sequence[int]) -> Problem:
    chosen = np.isin(y, classes)
    return Problem(X[chosen], class_codes(len(classes))[np.searchsorted(classes, y[chosen])], HIDDEN, 1)


FAMILIES = [
    Family("10 digits in one network, 2 per class", _one_network(2), {"sm": "proved", "mm": "2"}),
    Family("10 digits in one network, 10 per class", _one_network(10), {"sm": "proved", "mm": "2"}),
    Family("4 digits in one network, 10 per class", _four_classes, {"sm": "proved", "mm": "2", "mw": "15"}),
    Family("pairs of MNIST, 10 per class, hard sample", _hard_pairs, {"mw": "3 / 5"}),
    Family("pairs of MNIST, 10 per class", _pairs("mnist", 10), {"mw": "3 / 5"}),
    Family("pairs of 8 x 8 digits, 10 per class", _pairs("digits", 10), {"mw": "2 / 5"}),
    *(
        Family(f"Heart Disease, P = {bound}", _heart_disease(bound), {"sm": "5", "mm": "10", "mw": "15"})
        for bound in (1, 3, 7, 15)
    ),
    Family("one light image: MNIST 40, index 3", _pairs("mnist#3", 40, within=WITH_FIVE), {"mm": "- / 1"}),
    Family(
        "one light image: Fashion-MNIST 40, index 1",
        _pairs("fashion-mnist#1", 40, within=WITH_FIVE),
        {"mm": "- / 1"},
    ),
    Family("pairs of MNIST, 200 per class", _pairs("mnist", 200, within=LARGE_SAMPLE_PAIRS), {"mm": "- / 0.5"}),
]


def _exact_measurements(settings: Settings) -> Iterator[Record]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(CORES, mp_context=spawn) as pool:
        for cell, seed, head in settings.chosen(FAMILIES):
            problems = list(cell.problems(seed))
            step = 1 if settings.pairs is None else max(1, len(problems) // settings.pairs)
            running = [
                (name, pool.submit(measure, problem, settings.engine, settings.seconds))
                for name, problem in problems[::step]
            ]
            for name, future in running:
                yield head | {"pair": name} | future.result()


def _exact_report(records: Sequence[Record]) -> str:
    rows = []
    for cell in FAMILIES:
        found = [record for record in records if record["cell"] == cell.name]
        for stage, goal in cell.goals.items() if found else ():
            ran = [record for record in found if record[stage]["gap"] is not None]
            gaps = 100 * known_gaps(found, stage)
            if not ran:
                rows.append((cell.name, stage, f"0 of {len(found)}", "-", "-", "-", "-", goal, "-"))
                continue
            worst = max(ran, key=lambda record: record[stage]["gap"])
            seconds = [record[stage]["seconds"] for record in ran]
            rows.append(
                (
                    cell.name,
                    stage,
                    f"{len(ran)} of {len(found)}",
                    f"{gaps.mean():.2f}",
                    f"{gaps.max():.2f} ({worst['pair']})",
                    _values(worst[stage]),
                    f"{sum(gap == 0 for gap in gaps)}",
                    goal,
                    f"{np.mean(seconds):.1f}",
                )
            )
    headings = (
        *("networks", "stage", "ran", "gap mean %", "largest %", "value / bound there", "optimal", "to reach %"),
        "seconds",
    )
    return markdown(headings, rows)


def _values(stage: Record) -> str:
    return f"{stage['objective']} / {stage['bound']}"


BENCHMARKS = {
    "table": Benchmark(_training(list(PAPER)), _table_report),
    "sidebyside": Benchmark(_two_engines, _side_by_side_report),
    "growth": Benchmark(_growing, _growth_report),
    "light": Benchmark(_training(LIGHT), _light_report),
    "exact": Benchmark(_exact_measurements, _exact_report, all_cores=True),
}
