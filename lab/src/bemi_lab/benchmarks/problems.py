"""What is measured in several benchmarks: samples, networks on pairs of classes, one training, memory."""

from __future__ import annotations

import functools
import math
import multiprocessing
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.datasets import load_digits

from bemi.exact import Integers
from bemi.limits import Limits
from bemi.problem.problem import Problem, class_codes
from bemi.report.summary import stage_numbers
from bemi.stages.result import StageResult
from bemi.training.pipeline import train
from bemi_lab import datasets
from bemi_lab.benchmarks.frame import Record
from bemi_lab.datasets import Dataset, draw, load


@dataclass(frozen=True)
class Cell:
    """Networks of one kind: data, hidden layers, images per class and weight bound."""

    data: str
    hidden: tuple[int, ...]
    shots: int
    weight_bound: int = 1

    @property
    def name(self) -> str:
        hidden = ",".join(map(str, self.hidden))
        return f"{self.data} {hidden} {self.shots} P={self.weight_bound}"


image_set = functools.lru_cache(maxsize=1)(load)
"""The data set loaded last; cells come grouped by data set, and one takes half a gigabyte."""

TEST_IMAGES = 800
"""Of each class; the smallest class of MNIST's test images has 892."""


def sample(data: str, shots: int, seed: int) -> tuple[Integers, Integers]:
    """A few-shot sample: rows and labels.

    ``"digits"`` has 64 features; ``"mnist-196"`` is MNIST pooled by 2 x 2; ``"mnist-3072"`` is MNIST enlarged by 2 x 2,
    noise on its ink, cut to 3072 features; ``"halves-N"`` has N classes, each the upper half of one digit above the
    lower half of another; ``"mnist#3"`` is sample 3 of the experiments, whatever the seed.
    """
    if "#" in data:
        drawn = _experiments_sample(data, shots)
        return drawn.train_X, drawn.train_y
    if data.startswith("halves-"):
        return _halves(image_set("mnist"), int(data.removeprefix("halves-")), shots, seed)
    if data == "digits":
        X, y = load_digits(return_X_y=True)
        chosen = draw(y, shots, seed)
        return X[chosen].astype(np.int64), y[chosen]
    known: Dataset = image_set("mnist" if data.startswith("mnist-") else data)
    chosen = draw(known.train_y, shots, seed)
    X, y = known.train_X[chosen], known.train_y[chosen]
    assert known.shape is not None
    images = X.reshape(-1, *known.shape)
    if data == "mnist-196":
        X = images.reshape(-1, 14, 2, 14, 2).sum(axis=(2, 4)).reshape(len(X), -1)
    elif data == "mnist-3072":
        large = images.repeat(2, axis=1).repeat(2, axis=2).reshape(len(X), -1)[:, :3072]
        noise = np.random.default_rng(seed).integers(-32, 33, size=large.shape)
        X = np.where(large > 0, np.clip(large + noise, 0, 255), 0)
    return X, y


def unseen_images(data: str, shots: int, seed: int) -> tuple[Integers, Integers]:
    """Test rows for a classifier of a sample: the first test images of each class, or all other rows of digits."""
    if "#" in data:
        drawn = _experiments_sample(data, shots)
        return drawn.test_X, drawn.test_y
    if data == "digits":
        X, y = load_digits(return_X_y=True)
        others = np.setdiff1d(np.arange(len(y)), draw(y, shots, seed))
        return X[others].astype(np.int64), y[others]
    known = image_set(data)
    rows = np.concatenate([np.flatnonzero(known.test_y == c)[:TEST_IMAGES] for c in np.unique(known.test_y)])
    return known.test_X[rows], known.test_y[rows]


def _experiments_sample(data: str, shots: int) -> datasets.Sample:
    name, index = data.split("#")
    return datasets.sample(image_set(name), shots, int(index))


def _halves(mnist: Dataset, classes: int, shots: int, seed: int) -> tuple[Integers, Integers]:
    rng = np.random.default_rng(seed)
    half = mnist.train_X.shape[1] // 2
    rows_of = [np.flatnonzero(mnist.train_y == digit) for digit in range(10)]
    X = []
    for kind in rng.permutation(100)[:classes]:
        upper, lower = (rng.choice(rows_of[digit], shots) for digit in divmod(kind, 10))
        X.append(np.concatenate([mnist.train_X[upper, :half], mnist.train_X[lower, half:]], axis=1))
    return np.concatenate(X), np.repeat(np.arange(classes), shots)


def pair_problems(cell: Cell, seed: int, pairs: int | None) -> Iterator[tuple[str, Problem]]:
    """Problems of some pairs of classes, evenly spaced over all pairs; None means all of them."""
    X, y = sample(cell.data, cell.shots, seed)
    every = list(combinations(np.unique(y).tolist(), 2))
    count = len(every) if pairs is None else min(pairs, len(every))
    for index in np.linspace(0, len(every) - 1, count).round().astype(int):
        a, b = every[index]
        chosen = np.isin(y, (a, b))
        codes = class_codes(2)[(y[chosen] == b).astype(int)]
        yield f"{a}/{b}", Problem(X[chosen], codes, cell.hidden, cell.weight_bound)


def measure(problem: Problem, engine: str, seconds: float) -> Record:
    """Train one network; wall and CPU seconds, and what each stage reported."""
    warm_up(engine)
    wall, cpu = time.perf_counter(), time.process_time()
    training = train(problem, engine=engine, time_limit=seconds, gap=0.0)
    return {
        "engine": engine,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "total_links": sum(w.size for w in training.network.weights),
        "outputs": problem.codes.size,
        **{stage: stage_record(report) for stage, report in training.reports.items()},
    }


def measure_alone(problem: Problem, engine: str, seconds: float) -> Record:
    """The same in a fresh process, with its peak memory before and after the training."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as alone:
        return alone.submit(_measure_with_memory, problem, engine, seconds).result()


def _measure_with_memory(problem: Problem, engine: str, seconds: float) -> Record:
    warm_up(engine)
    before = peak_megabytes()
    record = measure(problem, engine, seconds)
    return record | {"peak_mb_before": before, "peak_mb": peak_megabytes()}


@functools.cache
def warm_up(engine: str) -> None:
    """Train a toy network, so that compilation and imports are not measured."""
    data = np.random.default_rng(0).integers(1, 100, size=(8, 12))
    codes = np.repeat([[1], [-1]], 4, axis=0)
    # No time limit: a slow first compilation must not keep the later stages from running.
    train(Problem(data, codes, (2, 2)), engine=engine, time_limit=None, limits=Limits(nodes=10))


def stage_record(report: StageResult) -> Record:
    """What a stage reached; its gap is None if it did not run."""
    return stage_numbers(report) | {"gap": report.gap if math.isfinite(report.gap) else None}


def peak_megabytes(process: int | str = "self") -> float:
    """Largest resident memory of a process so far.

    The kernel's count for the process image, not ``ru_maxrss``: a new process inherits the latter from its parent.
    """
    try:
        with open(f"/proc/{process}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        return int(lines["VmHWM"].split()[0]) / 1024
    except FileNotFoundError:
        if process != "self":
            raise
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
