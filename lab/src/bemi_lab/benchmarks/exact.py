"""How far the word "exact" holds: every stage beyond Max-Margin on ordinary pairs, with what was aimed for.

Two networks are trained at a time, each on a core of its own.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bemi import BeMiClassifier
from bemi.exact import Integers
from bemi.problem.problem import Problem, class_codes
from bemi_lab import datasets
from bemi_lab.benchmarks.common import Record, Settings, image_set, known_gaps, measure, sample
from bemi_lab.experiments import markdown

CORES = 2
HIDDEN = (4, 4)
HARD_SAMPLE = 4242  # one of large Min-Weight gaps, and the sample that the other seeds give
LARGE_SAMPLE_PAIRS = ((0, 1), (4, 9), (3, 5), (8, 9), (1, 7), (2, 6))


@dataclass(frozen=True)
class Cell:
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
    problems: Callable[[int], Iterator[tuple[str, Problem]]]
    goals: dict[str, str]


def _pairs(data: str, shots: int, *, within: Sequence[tuple[int, int]] | None = None) -> Callable:
    def problems(seed: int) -> Iterator[tuple[str, Problem]]:
        X, y = sample(data, shots, seed)
        for a, b in within or combinations(np.unique(y).tolist(), 2):
            yield f"{a}/{b}", _problem(X, y, (a, b))

    return problems


def _hard_pairs(seed: int) -> Iterator[tuple[str, Problem]]:
    drawn = datasets.sample(image_set("mnist"), 10, seed, seed=HARD_SAMPLE)
    for a, b in combinations(range(10), 2):
        yield f"{a}/{b}", _problem(drawn.train_X, drawn.train_y, (a, b))


def _one_network(shots: int) -> Callable:
    def problems(seed: int) -> Iterator[tuple[str, Problem]]:
        X, y = sample("mnist", shots, seed)
        yield "0..9", _problem(X, y, range(10))

    return problems


def _four_classes(seed: int) -> Iterator[tuple[str, Problem]]:
    X, y = sample("mnist", 10, seed)
    for classes in ((0, 1, 2, 3), (4, 5, 6, 7), (1, 4, 7, 9)):
        yield ",".join(map(str, classes)), _problem(X, y, classes)


def _heart_disease(weight_bound: int) -> Callable:
    def problems(seed: int) -> Iterator[tuple[str, Problem]]:
        for index in range(3 * seed, 3 * seed + 3):
            rows = datasets.split(image_set("heart-disease"), index)
            X = np.where(np.isnan(rows.train_X), np.nanmedian(rows.train_X, axis=0), rows.train_X)
            classifier = BeMiClassifier(hidden_layers=(5,), weight_bound=weight_bound)
            (task,) = classifier.training_tasks(X, rows.train_y).values()
            yield f"sample {index}", task.problem

    return problems


def _problem(X: Integers, y: Integers, classes: Sequence[int]) -> Problem:
    chosen = np.isin(y, classes)
    return Problem(X[chosen], class_codes(len(classes))[np.searchsorted(classes, y[chosen])], HIDDEN, 1)


CELLS = [
    Cell("10 digits in one network, 2 per class", _one_network(2), {"sm": "proved", "mm": "2"}),
    Cell("10 digits in one network, 10 per class", _one_network(10), {"sm": "proved", "mm": "2"}),
    Cell("4 digits in one network, 10 per class", _four_classes, {"sm": "proved", "mm": "2", "mw": "15"}),
    Cell("pairs of MNIST, 10 per class, hard sample", _hard_pairs, {"mw": "3 / 5"}),
    Cell("pairs of MNIST, 10 per class", _pairs("mnist", 10), {"mw": "3 / 5"}),
    Cell("pairs of 8 x 8 digits, 10 per class", _pairs("digits", 10), {"mw": "2 / 5"}),
    *(
        Cell(f"Heart Disease, P = {bound}", _heart_disease(bound), {"sm": "5", "mm": "10", "mw": "15"})
        for bound in (1, 3, 7, 15)
    ),
    Cell(
        "one light image: MNIST 40, index 3",
        _pairs("mnist#3", 40, within=[(c, 5) if c < 5 else (5, c) for c in range(10) if c != 5]),
        {"mm": "- / 1"},
    ),
    Cell(
        "one light image: Fashion-MNIST 40, index 1",
        _pairs("fashion-mnist#1", 40, within=[(c, 5) if c < 5 else (5, c) for c in range(10) if c != 5]),
        {"mm": "- / 1"},
    ),
    Cell("pairs of MNIST, 200 per class", _pairs("mnist", 200, within=LARGE_SAMPLE_PAIRS), {"mm": "- / 0.5"}),
]


def measurements(settings: Settings) -> Iterator[Record]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(CORES, mp_context=spawn) as pool:
        for cell in filter(settings.wants, CELLS):
            for seed in settings.seeds:
                problems = list(cell.problems(seed))
                step = 1 if settings.pairs is None else max(1, len(problems) // settings.pairs)
                head = {"cell": cell.name, "seed": seed, "seconds_limit": settings.seconds}
                running = [
                    (name, pool.submit(measure, problem, settings.engine, settings.seconds))
                    for name, problem in problems[::step]
                ]
                for name, future in running:
                    yield head | {"pair": name} | future.result()


def report(records: Sequence[Record]) -> str:
    rows = []
    for cell in CELLS:
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
    return markdown.table(headings, rows)


def _values(stage: Record) -> str:
    return f"{stage['objective']} / {stage['bound']}"
