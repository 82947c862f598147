"""Gaps of the engines: on the paper's cells, beside the whole-stage program, as problems grow, and where bounds are
hard to come by; and what each strategy of the decomposition contributes there."""

from __future__ import annotations

import functools
import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bemi.engines.portfolio import observed
from bemi.exact import Integers
from bemi.problem.problem import Problem, class_codes
from bemi.stages.registry import PAPER_STAGES
from bemi.stages.registry import get as stage_of
from bemi.training.pipeline import train
from bemi_lab import classifiers, datasets
from bemi_lab.benchmarks import middle
from bemi_lab.benchmarks.frame import (
    Benchmark,
    Column,
    Record,
    Settings,
    at,
    by_stage,
    joined,
    known,
    largest,
    mean,
    share,
    table,
    values,
)
from bemi_lab.benchmarks.problems import (
    Cell,
    image_set,
    measure,
    measure_alone,
    pair_problems,
    sample,
    stage_record,
    warm_up,
)
from bemi_lab.experiments import spec
from bemi_lab.experiments.table import Table

FEW_PAIRS = 3
"""Pairs of classes, unless told otherwise, where a benchmark need not measure all."""

HIDDEN = (4, 4)


def _all_right(records: Sequence[Record]) -> int:
    return sum(r["sm"]["objective"] == r["outputs"] for r in records)


def _percentile(path: str, rank: float) -> Column:
    return lambda records: float(np.percentile(found, rank)) if (found := values(records, path, 100)) else None


def _training(cell: Cell, seed: int, settings: Settings) -> Iterator[Record]:
    """Train every network."""
    for pair, problem in pair_problems(cell, seed, settings.pairs):
        yield {"pair": pair} | measure(problem, settings.engine, settings.seconds)


# The paper's cells.

PAPER = {
    Cell(experiment.dataset, cell.hidden_layers, cell.per_class): measured
    for experiment in map(spec.load, ("exp3a", "exp3b", "exp4a", "exp4b"))
    for cell, measured in experiment.paper.values.items()
    if cell.per_class is not None
}
"""Table tab:all_stages of the paper."""


def _paper(measure: str) -> Column:
    by_name = {cell.name: measured[measure] for cell, measured in PAPER.items()}
    return lambda records: by_name[records[0]["cell"]]


def _hardest(records: list[Record]) -> str:
    # A stage that did not run is harder than any gap.
    record = max(records, key=lambda r: np.inf if r["mm"]["gap"] is None else r["mm"]["gap"])
    return f"{record['pair']} (seed {record['seed']})"


def _links(stage: str, field: str = "links") -> Column:
    """In % of all weights; a stage without a bound proves nothing, so its share of the mean is 0."""
    return lambda records: 100 * float(np.mean([r[stage][field] or 0 for r in records])) / records[0]["total_links"]


def _seconds_to_sat_margin(records: list[Record]) -> float:
    """With the search for the first network, which no stage's own seconds include."""
    return float(np.mean([r["wall"] - r["mm"]["seconds"] - r["mw"]["seconds"] for r in records]))


def _paper_tables(records: Sequence[Record]) -> Iterator[Table]:
    gaps: dict[str, Column] = {
        "cell": "cell",
        "networks": len,
        "SM all right %": lambda rs: 100 * _all_right(rs) / len(rs),
        "SM s": _seconds_to_sat_margin,
        "MM ran": known("mm.gap"),
        "MM certified": lambda rs: sum(r["mm"]["proof"] == "certified" for r in rs),
        "gap mean %": share("mm.gap"),
        "p95 %": _percentile("mm.gap", 95),
        "max %": largest("mm.gap", 100),
        "paper mean %": _paper("mean_gap"),
        "paper max %": _paper("max_gap"),
        "hardest pair": _hardest,
    }
    links: dict[str, Column] = {
        "cell": "cell",
        "links % after MM": _links("mm"),
        "links % after MM, paper": _paper("links_mm"),
        "links % after MW": _links("mw"),
        "proved at least %": _links("mw", "bound"),
        "links % after MW, paper": _paper("links"),
        "wall s mean": mean("wall"),
        "wall s max": largest("wall"),
        "CPU s mean": mean("cpu"),
        "CPU s max": largest("cpu"),
    }
    yield table(records, ["cell"], gaps, "## Gaps", digits=3)
    yield table(records, ["cell"], links, "## Links and seconds")


# Two engines on the same problems.

REFERENCE = "monolithic"
SIDE_BY_SIDE = [Cell(data, HIDDEN, shots) for data in ("mnist", "fashion-mnist") for shots in (10, 40)]


def _two_engines(cell: Cell, seed: int, settings: Settings) -> Iterator[Record]:
    for pair, problem in pair_problems(cell, seed, settings.pairs or FEW_PAIRS):
        for engine in (settings.engine, REFERENCE):
            yield {"pair": pair} | measure(problem, engine, settings.seconds)


def _ratio(records: list[Record]) -> float | None:
    """Of Max-Margin objectives, only where both engines ran the stage on as many rows."""
    if len(values(records, "mm.objective")) < 2 or len(set(values(records, "mm.rows"))) > 1:
        return None
    ours, other = values(records, "mm.objective")
    return ours / other


def _side_by_side(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{field: field for field in ("cell", "pair", "seed")},
        "SM right": lambda rs: " / ".join(f"{r['sm']['objective']} of {r['outputs']}" for r in rs),
        "MM rows": joined("mm.rows"),
        "MM objective ratio": _ratio,
        "MM gap %": joined("mm.gap", ".2f", 100),
        "MW links": joined("mw.links"),
        "wall s": joined("wall", ".2f"),
        "CPU s": joined("cpu", ".2f"),
    }
    note = f"Two values in a column: {records[0]['engine']}, then {REFERENCE}."
    yield table(records, ["cell", "seed", "pair"], columns, note, digits=4)


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


def _growing(cell: Cell, seed: int, settings: Settings) -> Iterator[Record]:
    for pair, problem in pair_problems(cell, seed, settings.pairs or FEW_PAIRS):
        yield {"pair": pair} | measure_alone(problem, settings.engine, settings.seconds)


def _growth(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        "value": "value",
        "networks": len,
        "SM all right": _all_right,
        "MM ran": known("mm.gap"),
        "gap mean %": share("mm.gap"),
        "gap max %": largest("mm.gap", 100),
        "wall s mean": mean("wall"),
        "wall s max": largest("wall"),
        "CPU s mean": mean("cpu"),
        "peak RSS MB": largest("peak_mb"),
        "of it before training": lambda rs: max(rs, key=lambda r: r["peak_mb"])["peak_mb_before"],
    }
    hours: dict[str, Column] = {
        "hours for all pairs on one core": lambda rs: (
            math.comb(rs[0]["value"], 2) * float(np.mean(values(rs, "wall"))) / 3600
        )
    }
    for axis, cells in AXES.items():
        by_name = {cell.name: value for value, cell in cells.items()}
        part = [record | {"value": by_name[record["cell"]]} for record in records if record["cell"] in by_name]
        if part:
            yield table(part, ["value"], columns | (hours if axis == "classes" else {}), f"## By {axis}", digits=3)


# Light images: the hardest samples that the experiments draw.

LIGHT = [
    *(Cell("mnist#4", HIDDEN, 30), Cell("mnist#3", HIDDEN, 40)),
    *(Cell("fashion-mnist#2", HIDDEN, 30), Cell("fashion-mnist#1", HIDDEN, 40)),
]


def _three_largest(records: list[Record]) -> str:
    ran = [r for r in records if at(r, "mm.gap") is not None]
    return ", ".join(f"{r['pair']} {r['mm']['gap']:.2%}" for r in sorted(ran, key=lambda r: -r["mm"]["gap"])[:3])


def _light(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {"sample": "cell", "networks": len, "gap mean %": share("mm.gap")}
    columns |= {"p95 %": _percentile("mm.gap", 95), "largest": _three_largest}
    yield table(records, ["cell"], columns, digits=3)


# How far the word "exact" holds: every stage on ordinary problems, two networks at a time, each on a core of its own.

CORES = 2
HARD_SAMPLE = 4242  # one of large Min-Weight gaps, and the sample that the other seeds give
WITH_FIVE = [(min(c, 5), max(c, 5)) for c in range(10) if c != 5]
LARGE_SAMPLE_PAIRS = ((0, 1), (4, 9), (3, 5), (8, 9), (1, 7), (2, 6))
FOURS = ((0, 1, 2, 3), (4, 5, 6, 7), (1, 4, 7, 9))

Problems = Iterator[tuple[str, Problem]]


@dataclass(frozen=True)
class Family:
    """Networks of one kind: their names and problems for a seed, and the stages that its table shows."""

    name: str
    of_seed: Callable[[int], Problems]
    stages: tuple[str, ...]

    def problems(self, seed: int, count: int | None) -> Problems:
        """About as many as asked for, evenly spread; None for all."""
        every = list(self.of_seed(seed))
        yield from every[:: 1 if count is None else max(1, len(every) // count)]


def _groups(X: Integers, y: Integers, groups: Sequence[Sequence[int]] | None = None) -> Problems:
    """A network for each group of classes; all pairs unless stated."""
    for classes in groups or list(combinations(np.unique(y).tolist(), 2)):
        chosen = np.isin(y, classes)
        codes = class_codes(len(classes))[np.searchsorted(classes, y[chosen])]
        name = ("/" if len(classes) == 2 else ",").join(map(str, classes))
        yield name, Problem(X[chosen], codes, HIDDEN, 1)


def _of(data: str, shots: int, groups: Sequence[Sequence[int]] | None = None) -> Callable[[int], Problems]:
    return lambda seed: _groups(*sample(data, shots, seed), groups)


def _hard_pairs(seed: int) -> Problems:
    drawn = datasets.sample(image_set("mnist"), 10, seed, seed=HARD_SAMPLE)
    return _groups(drawn.train_X, drawn.train_y)


def _heart_disease(weight_bound: int, seed: int) -> Problems:
    for index in range(3 * seed, 3 * seed + 3):
        rows = datasets.split(image_set("heart-disease"), index)
        X = np.where(np.isnan(rows.train_X), np.nanmedian(rows.train_X, axis=0), rows.train_X)
        classifier = classifiers.paper(hidden_layers=(5,), weight_bound=weight_bound)
        (task,) = classifier.training_tasks(X, rows.train_y).values()
        yield f"sample {index}", task.problem


FAMILIES = [
    Family("10 digits in one network, 2 per class", _of("mnist", 2, [range(10)]), ("sm", "mm")),
    Family("10 digits in one network, 10 per class", _of("mnist", 10, [range(10)]), ("sm", "mm")),
    Family("4 digits in one network, 10 per class", _of("mnist", 10, FOURS), ("sm", "mm", "mw")),
    Family("pairs of MNIST, 10 per class, hard sample", _hard_pairs, ("mw",)),
    Family("pairs of MNIST, 10 per class", _of("mnist", 10), ("mw",)),
    Family("pairs of 8 x 8 digits, 10 per class", _of("digits", 10), ("mw",)),
    *(
        Family(f"Heart Disease, P = {bound}", functools.partial(_heart_disease, bound), ("sm", "mm", "mw"))
        for bound in (1, 3, 7, 15)
    ),
    Family("one light image: MNIST 40, index 3", _of("mnist#3", 40, WITH_FIVE), ("mm",)),
    Family("one light image: Fashion-MNIST 40, index 1", _of("fashion-mnist#1", 40, WITH_FIVE), ("mm",)),
    Family("pairs of MNIST, 200 per class", _of("mnist", 200, LARGE_SAMPLE_PAIRS), ("mm",)),
]


@functools.cache
def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(CORES, mp_context=multiprocessing.get_context("spawn"))


def _two_at_a_time(family: Family, seed: int, settings: Settings) -> Iterator[Record]:
    running = [
        (name, _pool().submit(measure, problem, settings.engine, settings.seconds))
        for name, problem in family.problems(seed, settings.pairs)
    ]
    for name, future in running:
        yield {"pair": name} | future.result()


def _worst(text: Callable[[Record], str]) -> Column:
    """Something about the network with the largest gap of a stage."""

    def column(records: list[Record]) -> str | None:
        ran = [record for record in records if record["gap"] is not None]
        return text(max(ran, key=lambda record: record["gap"])) if ran else None

    return column


def _exact(records: Sequence[Record]) -> Iterator[Table]:
    shown = {family.name: family.stages for family in FAMILIES}
    columns: dict[str, Column] = {
        "networks": "cell",
        "stage": "stage",
        "ran": lambda rs: f"{len(values(rs, 'gap'))} of {len(rs)}",
        "gap mean %": share("gap"),
        "largest %": largest("gap", 100),
        "where": _worst(lambda r: r["pair"]),
        "value / bound there": _worst(lambda r: f"{r['objective']} / {r['bound']}"),
        "optimal": lambda rs: sum(r["gap"] == 0 for r in rs),
        "seconds": lambda rs: mean("seconds")([r for r in rs if r["gap"] is not None]),
    }
    yield table(by_stage(records, lambda r: shown[r["cell"]]), ["cell", "stage"], columns)


# What each strategy contributes, on the same families and on random tables.


def _random_tables(size: str, weight_bound: int, seed: int) -> Problems:
    for cell in middle.cells(size, weight_bound):
        data, codes = cell.draw(seed)
        yield cell.name, Problem(data, codes[:, None], cell.hidden, weight_bound)


WITH_TABLES = [
    *FAMILIES,
    *(
        Family(f"tables {size}, P = {bound}", functools.partial(_random_tables, size, bound), PAPER_STAGES)
        for size in middle.SIZES
        for bound in middle.WEIGHT_BOUNDS
    ),
]


def _observed(problem: Problem, settings: Settings, without: str | None = None) -> tuple[list[Any], dict[str, Any]]:
    """What the strategies contributed to a training, and the reports of its stages; one may be left out."""
    warm_up("decomposition")
    with middle.processor_time(), observed(() if without is None else {without}) as contributions:
        training = train(problem, PAPER_STAGES, time_limit=settings.seconds, gap=0.0)
    return list(contributions), dict(training.reports)


def _contributing(family: Family, seed: int, settings: Settings) -> Iterator[Record]:
    for name, problem in family.problems(seed, settings.pairs or FEW_PAIRS):
        contributions, reports = _observed(problem, settings)
        stages = {stage: stage_record(report) for stage, report in reports.items()}
        yield {"pair": name, "contributions": [asdict(c) for c in contributions]} | stages


def _gap_closed(records: list[Record]) -> float | None:
    closed = [100 * (r["gap_before"] - r["gap_after"]) for r in records if np.isfinite(r["gap_before"])]
    return float(np.mean([points for points in closed if np.isfinite(points)] or [np.nan]))


def _contributed(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"stage": "stage", "strategy": "strategy", "ran": len, "mean s": mean("seconds")},
        "better network": lambda rs: sum(r["network_improved"] for r in rs),
        "better bound": lambda rs: sum(r["bound_improved"] for r in rs),
        "gap closed, points": _gap_closed,
        "proved": lambda rs: sum(r["gap_after"] == 0 < r["gap_before"] for r in rs),
    }
    every = [contribution for record in records for contribution in record["contributions"]]
    every.sort(key=lambda contribution: PAPER_STAGES.index(contribution["stage"]))
    yield table(every, ["stage", "strategy"], columns)


def _without_each(family: Family, seed: int, settings: Settings) -> Iterator[Record]:
    """Train each network again without each strategy that ran."""
    for name, problem in family.problems(seed, settings.pairs or FEW_PAIRS):
        contributions, reports = _observed(problem, settings)
        for stage, strategy in dict.fromkeys((c.stage, c.strategy) for c in contributions):
            before, after = reports[stage], _observed(problem, settings, strategy)[1][stage]
            record = {"pair": name, "stage": stage, "strategy": strategy, "lost": before.ran and not after.ran}
            if before.ran and after.ran:
                better = stage_of(stage).better
                record["value"] = better(before.objective, after.objective) - better(after.objective, before.objective)
                # The tighter of two bounds is the one that the other beats.
                record["bound"] = better(after.bound, before.bound) - better(before.bound, after.bound)
            yield record | {"more": after.seconds - before.seconds}


def _counts(field: str) -> Column:
    return lambda records: " / ".join(str(sum(at(r, field) == sign for r in records)) for sign in (1, -1))


def _switched_off(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {
        **{"stage": "stage", "without": "strategy", "networks": len},
        "no network": lambda rs: sum(r["lost"] for r in rs),
        "worse / better objective": _counts("value"),
        "looser / tighter bound": _counts("bound"),
        "mean s more": mean("more"),
    }
    yield table(records, ["stage", "strategy"], columns)


EVERY_SIZE = list(dict.fromkeys(cell for axis in AXES.values() for cell in axis.values()))
"""A cell on two axes is measured once."""

BENCHMARKS = {
    "table": Benchmark(list(PAPER), _training, _paper_tables),
    "sidebyside": Benchmark(SIDE_BY_SIDE, _two_engines, _side_by_side),
    "growth": Benchmark(EVERY_SIZE, _growing, _growth),
    "light": Benchmark(LIGHT, _training, _light),
    "exact": Benchmark(FAMILIES, _two_at_a_time, _exact, all_cores=True),
    "portfolio": Benchmark(WITH_TABLES, _contributing, _contributed),
    "ablation": Benchmark(WITH_TABLES, _without_each, _switched_off),
}
