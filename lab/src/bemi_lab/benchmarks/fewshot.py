"""What scenarios, medoids and fewer networks are worth: test accuracy on few-shot samples.

python -m bemi_lab.benchmarks.fewshot scenarios                       with and without variants of the images
python -m bemi_lab.benchmarks.fewshot medoids                         medoids of 400 rows per class against random rows
python -m bemi_lab.benchmarks.fewshot subsets                         fewer networks, chosen from the data and at random
python -m bemi_lab.benchmarks.fewshot scenarios --data digits --samples 0,1,2 --shots 2,6

Soft margins with P = 7 on IntegerHog unless stated otherwise; samples of seed 0, tested on the first 800 test images of
each class (digits: on all other rows).  Prints a JSON line per classifier and a table at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bemi import BeMiClassifier, IntegerHog
from bemi.augment.images import ImageScenarios
from bemi.ensemble.subsets import chosen_subsets, components
from bemi.exact import Integers
from bemi.stages import SOFT_STAGES
from bemi_lab.benchmarks.common import Record, one_core, percent
from bemi_lab.datasets import Dataset, Sample, load, sample
from bemi_lab.experiments import markdown

SOFT: dict[str, Any] = {"hidden_layers": (), "weight_bound": 7, "stages": SOFT_STAGES, "time_limit": None}
POOL = 400
"""Rows of each class that medoids are chosen from."""

HARD_PAIRS = ((4, 9), (3, 5), (2, 7))
COUNTS = (45, 35, 25, 15, 9)
RANDOM_DRAWS = 5
MORE = ("CPU seconds", "rows added per network")


def classifier(**settings: Any) -> BeMiClassifier:
    return BeMiClassifier(**(SOFT | {"transform": IntegerHog()} | settings))


def scenarios(dataset: Dataset, shots: int, index: int) -> Iterator[Record]:
    rows = sample(dataset, shots, index)
    larger = ImageScenarios(rotations=(-10, 10), scalings=(0.9, 1.1))
    for name, made in (("rows alone", None), ("±5°, ±5 %", ImageScenarios()), ("±10°, ±10 %", larger)):
        began = time.process_time()
        model = classifier(scenarios=made).fit(rows.train_X, rows.train_y)
        seconds = time.process_time() - began
        added = float(np.mean([len(a) for a in model.added_rows_.values()]))
        yield {"way": name, "accuracy": accuracy(model, rows), "CPU seconds": seconds, "rows added per network": added}


def medoids(dataset: Dataset, shots: int, index: int) -> Iterator[Record]:
    rows = sample(dataset, POOL, index)
    # A sample's rows are in random order within their class.
    first = np.concatenate([np.flatnonzero(rows.train_y == c)[:shots] for c in np.unique(rows.train_y)])
    kinds = {"HOG": (None, classifier())}
    kinds |= {f"pixels {a}/{b}": ((a, b), BeMiClassifier(time_limit=3.0)) for a, b in HARD_PAIRS}
    for kind, (classes, model) in kinds.items():
        train = np.isin(rows.train_y, np.unique(rows.train_y) if classes is None else classes)
        test = np.isin(rows.test_y, rows.train_y[train])
        part = Sample(rows.train_X[train], rows.train_y[train], rows.test_X[test], rows.test_y[test], rows.disjoint)
        chosen = np.isin(np.flatnonzero(train), first)
        model.fit(part.train_X[chosen], part.train_y[chosen])
        yield {"way": f"{kind}, random", "accuracy": accuracy(model, part)}
        began = time.process_time()
        model.set_params(max_per_class=shots).fit(part.train_X, part.train_y)
        yield {"way": f"{kind}, medoids", "accuracy": accuracy(model, part), "CPU seconds": time.process_time() - began}


def subsets(dataset: Dataset, shots: int, index: int) -> Iterator[Record]:
    rows = sample(dataset, shots, index)
    model = classifier().fit(rows.train_X, rows.train_y)
    classes = len(model.classes_)
    every = model.ensemble_.subsets
    rng = np.random.default_rng(index)
    for count in COUNTS:
        # A network does not depend on which others there are, so all are trained once.
        chosen = chosen_subsets(model.training_rows_, model.training_targets_, classes, 2, count)
        yield {"way": f"{count}, chosen", "accuracy": accuracy(_part(model, chosen), rows)}
        drawn = [_joining(rng, every, count, classes) for _ in range(RANDOM_DRAWS)]
        found = [accuracy(_part(model, subsets), rows) for subsets in drawn]
        yield {"way": f"{count}, random", "accuracy": float(np.mean(found))}


def _part(model: BeMiClassifier, subsets: Integers) -> BeMiClassifier:
    """The same classifier with the networks of these classes alone."""
    whole = model.ensemble_
    position = {tuple(subset): index for index, subset in enumerate(whole.subsets.tolist())}
    chosen = [position[tuple(subset)] for subset in subsets.tolist()]
    parts = ([of_each[index] for index in chosen] for of_each in (whole.networks, whole.reports, whole.splitting))
    return BeMiClassifier.from_ensemble(whole.with_networks(subsets, *parts))


def _joining(rng: np.random.Generator, every: Integers, count: int, classes: int) -> Integers:
    """Random pairs of classes that connect all classes."""
    while True:
        subsets = every[np.sort(rng.permutation(len(every))[:count])]
        if not components(subsets, classes).any():
            return subsets


def accuracy(model: BeMiClassifier, rows: Sample) -> float:
    return float(np.mean(model.predict(rows.test_X) == rows.test_y))


MEASURED = {"scenarios": (scenarios, (2, 6, 10, 20)), "medoids": (medoids, (10, 40)), "subsets": (subsets, (10, 40))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MEASURED)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--samples", type=_integers, default=(0, 1, 2))
    parser.add_argument("--shots", type=_integers, help="rows per class")
    options = parser.parse_args()
    measure, shots = MEASURED[options.what]
    dataset = load(options.data)
    records = []
    with one_core():
        for number in options.shots or shots:
            for index in options.samples:
                for found in measure(dataset, number, index):
                    records.append({"data": options.data, "per class": number, "sample": index} | found)
                    print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    print(_table(records))


def _table(records: list[Record]) -> str:
    """Means over the samples; accuracies of the single samples in brackets."""
    rows = []
    for number, way in dict.fromkeys((r["per class"], r["way"]) for r in records):
        same = [r for r in records if (r["per class"], r["way"]) == (number, way)]
        found = [r["accuracy"] for r in same]
        more = [f"{np.mean([r[name] for r in same]):.1f}" for name in MORE if name in same[0]]
        each = " ".join(percent(a, 1) for a in found)
        rows.append((number, way, f"{percent(float(np.mean(found)))} ({each})", *more, *["-"] * (2 - len(more))))
    return markdown.table(("per class", "", "accuracy %", *MORE), rows)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


if __name__ == "__main__":
    main()
