"""Test accuracy: what copies, medoids and fewer networks are worth, how windows fare at other gains, how well classes
are learned without training, and how good probabilities are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from bemi.augment.medoids import select_rows
from bemi.ensemble import LearnedClass, predict_learned
from bemi.ensemble.probabilities import UNIT
from bemi.ensemble.subsets import chosen_subsets, class_subsets, components
from bemi.exact import Integers
from bemi_lab import classifiers, datasets
from bemi_lab.benchmarks.frame import Benchmark, Column, Record, Settings, grouped, mean, share, table
from bemi_lab.benchmarks.problems import image_set
from bemi_lab.classifiers import Classifier
from bemi_lab.datasets import Sample, Split, sample
from bemi_lab.datasets.registry import SETS
from bemi_lab.experiments.on_tables import logistic_regression_by_loss
from bemi_lab.experiments.on_unknown import unknown_windows
from bemi_lab.experiments.table import Table

# Few images, soft margins with P = 7 on gradient histograms: a seed is the index of a sample of seed 0, tested on the
# first 800 test images of each class (digits: on all other rows).

POOL = 400
"""Rows of each class that medoids are chosen from."""

HARD_PAIRS = ((4, 9), (3, 5), (2, 7))
COUNTS = (45, 35, 25, 15, 9)
RANDOM_DRAWS = 5


@dataclass(frozen=True)
class FewRows:
    """A data set and training rows of each class."""

    data: str
    rows: int

    @property
    def name(self) -> str:
        return f"{self.data} {self.rows}"


def _cells(rows: Sequence[int], data: Sequence[str] = ("mnist", "fashion-mnist", "digits")) -> list[FewRows]:
    return [FewRows(name, number) for name in data for number in rows]


def _soft(**settings: Any) -> Classifier:
    return classifiers.soft(inputs="hog", time_limit=None, **settings)


def _with_copies(cell: FewRows, index: int, settings: Settings) -> Iterator[Record]:
    rows = sample(image_set(cell.data), cell.rows, index)
    for name, copies in classifiers.IMAGE_COPIES.items():
        began = time.process_time()
        model = _soft(copies=copies).fit(rows.train_X, rows.train_y)
        seconds = time.process_time() - began
        added = float(np.mean([len(a) for a in model.added_rows_.values()]))
        yield {"way": name, "accuracy": _score(model, rows), "CPU seconds": seconds, "rows added per network": added}


def _with_medoids(cell: FewRows, index: int, settings: Settings) -> Iterator[Record]:
    rows = sample(image_set(cell.data), POOL, index)
    # A sample's rows are in random order within their class.
    first = np.concatenate([np.flatnonzero(rows.train_y == c)[: cell.rows] for c in np.unique(rows.train_y)])
    kinds: dict[str, tuple[Any, Classifier]] = {"HOG": (np.unique(rows.train_y), _soft())}
    kinds |= {f"pixels {a}/{b}": ((a, b), classifiers.paper(time_limit=3.0)) for a, b in HARD_PAIRS}
    for kind, (classes, model) in kinds.items():
        train = np.isin(rows.train_y, classes)
        test = np.isin(rows.test_y, classes)
        part = Sample(rows.train_X[train], rows.train_y[train], rows.test_X[test], rows.test_y[test], rows.disjoint)
        chosen = np.isin(np.flatnonzero(train), first)
        model.fit(part.train_X[chosen], part.train_y[chosen])
        yield {"way": f"{kind}, random", "accuracy": _score(model, part)}
        began = time.process_time()
        medoids = select_rows(model.ensemble_.inputs.of(part.train_X), part.train_y, cell.rows)
        model.fit(part.train_X[medoids], part.train_y[medoids])
        yield {"way": f"{kind}, medoids", "accuracy": _score(model, part), "CPU seconds": time.process_time() - began}


def _with_fewer_networks(cell: FewRows, index: int, settings: Settings) -> Iterator[Record]:
    rows = sample(image_set(cell.data), cell.rows, index)
    model = _soft().fit(rows.train_X, rows.train_y)
    classes = len(model.classes_)
    rng = np.random.default_rng(index)
    for count in COUNTS:
        # A network does not depend on which others there are, so all are trained once.
        chosen = chosen_subsets(model.training_rows_, model.training_targets_, classes, 2, count)
        yield {"way": f"{count}, chosen", "accuracy": _score(_part(model, chosen), rows)}
        drawn = [_joining(rng, model.ensemble_.subsets, count, classes) for _ in range(RANDOM_DRAWS)]
        accuracies = [_score(_part(model, subsets), rows) for subsets in drawn]
        yield {"way": f"{count}, random", "accuracy": float(np.mean(accuracies))}


def _part(model: Classifier, subsets: Integers) -> Classifier:
    """The same classifier with the networks of these classes alone."""
    whole = model.ensemble_
    position = {tuple(subset): index for index, subset in enumerate(whole.subsets.tolist())}
    chosen = [position[tuple(subset)] for subset in subsets.tolist()]
    parts = ([of_each[index] for index in chosen] for of_each in (whole.networks, whole.reports, whole.splitting))
    return classifiers.of_ensemble(whole.with_networks(subsets, *parts))


def _joining(rng: np.random.Generator, every: Integers, count: int, classes: int) -> Integers:
    """Random pairs of classes that connect all classes."""
    while True:
        subsets = every[np.sort(rng.permutation(len(every))[:count])]
        if not components(subsets, classes).any():
            return subsets


def _score(model: Classifier, rows: Sample) -> float:
    return float(np.mean(model.predict(rows.test_X) == rows.test_y))


def _few_shot(records: Sequence[Record]) -> Iterator[Table]:
    """Means over the samples, and the accuracies of the single samples."""
    columns: dict[str, Column] = {
        **{"data, rows per class": "cell", "trained on": "way", "accuracy %": share("accuracy")},
        "by sample": lambda rs: " ".join(f"{100 * r['accuracy']:.1f}" for r in rs),
        **{"CPU seconds": mean("CPU seconds"), "rows added per network": mean("rows added per network")},
    }
    yield table(records, ["cell", "way"], columns)


# Windows of signals as recorded, quieter, louder and late; a seed is that of a draw.

TESTS: dict[str, Callable[[NDArray], NDArray]] = {
    "as recorded": lambda X: X,
    "gain 0.7": lambda X: 0.7 * X,
    "gain 1.3": lambda X: 1.3 * X,
    # They begin an eighth of their length too early.
    "late by T/8": lambda X: X[:, np.maximum(np.arange(X.shape[1]) - X.shape[1] // 8, 0)],
}


def _signals() -> list[str]:
    return [name for name, known in SETS.items() if known.reader.startswith("signals.")]


def _at_other_gains(cell: FewRows, seed: int, settings: Settings) -> Iterator[Record]:
    if not datasets.is_here(cell.data):
        return
    windows = datasets.load(cell.data)
    X, y = windows.train_X, windows.train_y
    train, test = Split.parse(f"per-class-{cell.rows}").of_windows(y, windows.groups, seed)
    for way in classifiers.WINDOW_COPIES:
        model = classifiers.fixed(X, copies=way, n_jobs=1, **settings.limits).fit(X[train], y[train])
        yield {"way": way} | {name: float(model.score(change(X[test]), y[test])) for name, change in TESTS.items()}


def _gains(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {"set, windows per class": "cell", "trained on": "way"}
    yield table(records, ["cell", "way"], columns | {name: share(name) for name in TESTS}, digits=1)


# A class that a model without it learns from a few windows, as a device does, or that it is trained on; which one it is
# changes with the seed.  Models reject unknown windows.

LEARNED = 5
"""Windows of the class."""

FURTHER = {"watch": 20, "JapaneseVowels": 20, "BasicMotions": 10, "PickupGestureWiimoteZ": 6}
"""Sets, and windows of the other classes."""


def _further_class(cell: FewRows, seed: int, settings: Settings) -> Iterator[Record]:
    if not datasets.is_here(cell.data):
        return
    windows = datasets.load(cell.data)
    X, y = windows.train_X, windows.train_y
    classes = np.unique(y)
    new = classes[seed % len(classes)]
    train, test = Split.parse(f"per-class-{cell.rows}").of_windows(y, windows.groups, seed)
    few, train = train[y[train] == new][:LEARNED], train[y[train] != new]
    both = np.concatenate([train, few])
    X_test, is_new = X[test], y[test] == new
    noise = unknown_windows(X_test, np.random.default_rng(seed))["noise"]
    groups = [None if windows.groups is None else windows.groups[rows] for rows in (train, both)]
    model = classifiers.few_bit(X, reject=0.05, **settings.limits).fit(X[train], y[train], groups=groups[0])
    learned = LearnedClass.of(model, X[few])
    names = np.array([*model.classes_, new, "unclassified"], dtype=object)
    found = {"neither": (model.predict(X_test), model.predict(noise))}
    found["learned"] = tuple(names[predict_learned(model, rows, [learned])] for rows in (X_test, noise))
    model.add_classes(X[both], y[both], groups=groups[1])
    found["trained"] = model.predict(X_test), model.predict(noise)
    for way, (labels, of_noise) in found.items():
        right = labels == y[test]
        yield {
            "way": way,
            "accuracy": float(right.mean()),
            "known": float(right[~is_new].mean()),
            "new": float(right[is_new].mean()) if is_new.any() else None,
            "lost": float((labels[~is_new] == new).mean()),
            "noise": float((of_noise == new).mean()),
        }


def _further_classes(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {"set, windows per class": "cell", "the new class is": "way", "seeds": len}
    columns |= {"accuracy %": share("accuracy"), "known classes %": share("known"), "new class %": share("new")}
    columns |= {"known taken for it %": share("lost"), "noise taken for it %": share("noise")}
    yield table(records, ["cell", "way"], columns, digits=1)


# Probabilities: how often the likeliest class is not the label, and how good coupled ones are beside other ways.

TWO_CLASSES = (
    *("banana", "breast-cancer", "heart920", "ionosphere", "mammographic"),
    *("penguin-sex", "pima-na", "saheart", "tictactoe", "votes84"),
)
SEVERAL = {"iris": 75, "wine": 89, "glass": 107, "contraceptive": 300, "digits": 200}
"""Tables of more than two classes, and their training rows."""

DRAWS = 5


TABLES = [
    *(FewRows(table, rows) for rows in (40, 100, 300) for table in TWO_CLASSES),
    *(FewRows(*item) for item in SEVERAL.items()),
]


def _probabilities(cell: FewRows, seed: int, settings: Settings) -> Iterator[Record]:
    data = datasets.load(cell.data)
    X, y, split = data.table, data.train_y, Split.parse(f"random-{cell.rows}")
    for draw in range(seed * DRAWS, (seed + 1) * DRAWS) if split.suits_table(y) else ():
        train, test = split.of_table(y, draw)
        rows = X.iloc[train], y[train]
        model = _with_probabilities(cell.data, rows[0], settings).fit(*rows)
        kind = cell.name if cell.data in SEVERAL else f"two classes, {cell.rows} rows"
        yield {"seed": draw, "kind": kind} | _measured(model, rows, (X.iloc[test], y[test]))


def _with_probabilities(table: str, X: pd.DataFrame, settings: Settings) -> Classifier:
    if table in SEVERAL and table != "digits":
        return classifiers.soft(inputs="bits", C=1.0, probabilities=True, **settings.limits)
    return classifiers.few_bit(X).set_params(probabilities=True, **settings.limits)


def _measured(model: Classifier, train: tuple, test: tuple) -> Record:
    X, y = test
    chances = model.predict_proba(X)
    likeliest, labels = model.classes_[chances.argmax(axis=1)], model.predict(X)
    other = logistic_regression_by_loss(train[1], 0).fit(*train)
    return {
        "differ": float(np.mean(likeliest != labels)),
        "right by label": float(np.mean(labels == y)),
        "right by chance": float(np.mean(likeliest == y)),
        "here": _loss(model, y, chances),
        "Wu, Lin, Weng": _loss(model, y, wu_lin_weng(_pair_chances(model, X), len(model.classes_))),
        "logistic regression": _loss(other, y, other.predict_proba(X)),
    }


def _loss(model: Any, y: NDArray[Any], chances: NDArray[np.float64]) -> float:
    return float(log_loss(y, chances / chances.sum(axis=1, keepdims=True), labels=model.classes_))


def _pair_chances(model: Classifier, X: pd.DataFrame) -> NDArray[np.float64]:
    """Chance of the first class of every pair in floating point, without tables, shape (rows, pairs)."""
    ensemble = model.ensemble_
    rows = ensemble.inputs.of(X)
    scores = np.stack([network.pre_activations(rows)[0][:, 0] for network in ensemble.networks], axis=1)
    slopes = np.array([sigmoid.slope for sigmoid in ensemble.probabilities.sigmoids]) / UNIT
    intercepts = np.array([sigmoid.intercept for sigmoid in ensemble.probabilities.sigmoids]) / UNIT
    return 1 / (1 + np.exp(-(scores * slopes + intercepts)))


def wu_lin_weng(firsts: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """The chances that minimise ``sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2`` with sum 1 (Wu, Lin and Weng, 2004)."""
    r = np.zeros((len(firsts), classes, classes))
    for column, (i, j) in zip(firsts.T, class_subsets(classes, 2), strict=True):
        r[:, i, j], r[:, j, i] = column, 1 - column
    # The minimum of p'Qp under sum(p) = 1 solves a linear system, row by row.
    q = -r * r.transpose(0, 2, 1)
    q[:, range(classes), range(classes)] = (r**2).sum(axis=1)
    border = np.ones((len(firsts), classes, 1))
    left = np.block([[q, border], [border.transpose(0, 2, 1), np.zeros((len(firsts), 1, 1))]])
    right = np.zeros((len(firsts), classes + 1, 1))
    right[:, -1] = 1
    return np.clip(np.linalg.solve(left, right)[:, :-1, 0], 1e-12, None)


def _over_tables(field: str, times: float = 1) -> Column:
    """The mean over tables of their means."""
    one = mean(field, times)
    return lambda records: float(np.mean([one(group) for group in grouped(records, ["cell"])]))


def _chances(records: Sequence[Record]) -> Iterator[Table]:
    columns: dict[str, Column] = {"table, training rows": "kind", "samples": len}
    columns["likeliest class is not the label %"] = _over_tables("differ", 100)
    columns |= {f"{field} %": _over_tables(field, 100) for field in ("right by label", "right by chance")}
    columns |= {f"log-loss {way}": _over_tables(way) for way in ("here", "Wu, Lin, Weng", "logistic regression")}
    yield table(records, ["kind"], columns, digits=3)


BENCHMARKS = {
    "scenarios": Benchmark(_cells((2, 6, 10, 20)), _with_copies, _few_shot),
    "medoids": Benchmark(_cells((10, 40), ("mnist",)), _with_medoids, _few_shot),
    "subsets": Benchmark(_cells((10, 40), ("mnist",)), _with_fewer_networks, _few_shot),
    "gain": Benchmark(_cells((5, 10), _signals()), _at_other_gains, _gains),
    "learned": Benchmark([FewRows(*item) for item in FURTHER.items()], _further_class, _further_classes),
    "chances": Benchmark(TABLES, _probabilities, _chances),
}
