"""Images: what is recommended, with its own choice, beside classifiers in floating point on the same inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from bemi.exact import Integers
from bemi.export import c
from bemi_lab import classifiers
from bemi_lab.classifiers import Choice, Classifier
from bemi_lab.datasets import Dataset, Sample, Split, load
from bemi_lab.experiments.networks import unit_length
from bemi_lab.experiments.on_tables import what_was_proved
from bemi_lab.experiments.small_cnn import SmallCNN
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.subjects import Job, Subject, System

RECOMMENDED = "recommended"

LOGISTIC = 10.0
"""C of logistic regression, in our prices: 100 on few rows and 10 on copies were the best of 1, 10 and 100 on other
training images.  SVMs did best there with our prices, of 1 and 10."""

AT_ONCE = 2000
"""Images that are predicted together: kernel matrices of all of them would take too much memory."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class ImageSystem(System):
    """A system on plain rows, on those that our model chose, or on pixels; ``make`` takes rows and their price."""

    as_chosen: bool = False
    on_pixels: bool = False


@dataclass(frozen=True)
class Timed:
    """Seconds of the processor and of the clock."""

    cpu: float
    wall: float


def timed(work: Callable[[], Result]) -> tuple[Result, Timed]:
    """What a function returns, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, Timed(time.process_time() - cpu, time.perf_counter() - wall)


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs of the networks with labels, the same inputs of the test images, and the price C of such rows."""

    train: Integers
    labels: NDArray[Any]
    test: Integers
    price: float


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Images of one draw, and what our model chooses on them; what several systems need is made once."""

    images: Sample
    settings: Settings

    def model(self, **chosen: Any) -> Classifier:
        """The recommended model; with settings of a candidate nothing is left to choose."""
        return classifiers.few_bit(self.images.train_X, **self.settings.limits, **chosen)

    @cached_property
    def choice(self) -> tuple[Choice, Timed]:
        """What the recommended model chooses on the training images when it is fitted."""
        return timed(lambda: classifiers.choice(self.model(), self.images.train_X, self.images.train_y))

    @cached_property
    def plain(self) -> Rows:
        """Histograms of the images, straightened, without copies."""
        model = self.model()
        inputs = classifiers.inputs_of(model, self.images.train_X)
        price = classifiers.settings_of(model, self.images.train_X)["C"]
        return Rows(inputs.of(self.images.train_X), self.images.train_y, inputs.of(self.images.test_X), price)

    @cached_property
    def as_chosen(self) -> tuple[Rows, Timed]:
        """Inputs as our model chose them, deformed copies included, and the time that the copies took."""
        X, y = self.images.train_X, self.images.train_y
        model = self.model(**self.choice[0].candidate.settings)
        inputs, chosen = classifiers.inputs_of(model, X), classifiers.settings_of(model, X)
        given, test = inputs.of(X), inputs.of(self.images.test_X)
        copies, seconds = timed(lambda: classifiers.copies_of(inputs, X, chosen))
        if copies is None:
            return Rows(given, y, test, chosen["C"]), Timed(0.0, 0.0)
        train = np.concatenate([given, copies.reshape(-1, inputs.size)])
        labels = np.concatenate([y, np.repeat(y, copies.shape[1])])
        return Rows(train, labels, test, chosen["C"]), seconds


@lru_cache(maxsize=1)
def training_images(dataset: str, split: str, index: int, settings: Settings) -> TrainingImages:
    """The images of a draw; systems come one after the other on the same one, so the last is kept."""
    return TrainingImages(Split.parse(split).of_images(_loaded(dataset), index, settings.seed), settings)


@lru_cache(maxsize=1)
def _loaded(dataset: str) -> Dataset:
    return load(dataset)


def _linear(rows: NDArray, price: float) -> ClassifierMixin:
    # Kernels given as functions are matrix products, many times faster on many rows.
    return SVC(kernel=linear_kernel, C=price, break_ties=True)


def _rbf(rows: NDArray, price: float) -> ClassifierMixin:
    # Equivalent to gamma="scale".
    gamma = 1.0 / (rows.shape[1] * float(rows.var()) or 1.0)
    return SVC(kernel=partial(rbf_kernel, gamma=gamma), C=price, break_ties=True)


def _logistic(rows: NDArray, price: float) -> ClassifierMixin:
    return LogisticRegression(C=LOGISTIC * price, max_iter=2000)


def _pairs(rows: NDArray, price: float) -> ClassifierMixin:
    # For rows whose kernel matrix would not fit into memory; no intercepts, as in our networks.
    machine = LinearSVC(loss="hinge", C=price, fit_intercept=False, random_state=0)
    return OneVsOneClassifier(machine)


def _cnn(rows: NDArray, price: float) -> SmallCNN:
    return SmallCNN()


def _systems() -> Iterator[ImageSystem]:
    yield ImageSystem(RECOMMENDED, "FewBitClassifier", classifiers.few_bit)
    others = {
        "linear-svm": ("linear SVM", _linear),
        "rbf-svm": ("RBF SVM", _rbf),
        "logistic-regression": ("logistic regression", _logistic),
    }
    for name, (title, make) in others.items():
        yield ImageSystem(f"{name}-as-chosen", f"{title}, rows as ours", make, as_chosen=True)
    for name, (title, make) in others.items():
        yield ImageSystem(name, f"{title}, plain rows", make)
    yield ImageSystem("linear-svm-pairs", "linear SVMs of pairs, plain rows", _pairs)
    yield ImageSystem("small-cnn", "small CNN on pixels, deformed", _cnn, needs="torch", on_pixels=True)


def measure(system: ImageSystem, dataset: str, job: Job, settings: Settings) -> dict[str, Any]:
    """Train a system on a draw, on one core, and measure it on the draw's test images."""
    with threadpool_limits(1):
        drawn = training_images(dataset, job.split, job.sample, settings)
        if system.name == RECOMMENDED:
            return _ours(drawn)
        images = drawn.images
        if system.on_pixels:
            return _other(
                system.make(images.train_X, 1.0), images.train_X, images.train_y, images.test_X, images.test_y
            )
        rows = drawn.as_chosen[0] if system.as_chosen else drawn.plain
        train, test = unit_length(rows.train), unit_length(rows.test)
        return _other(system.make(train, rows.price), train, rows.labels, test, images.test_y)


def _ours(drawn: TrainingImages) -> dict[str, Any]:
    """Choosing and training, which includes deforming, as fitting the recommended model does them."""
    choice, choosing = drawn.choice
    _, deforming = drawn.as_chosen
    images = drawn.images
    model = drawn.model(**choice.candidate.settings)
    model, training = timed(lambda: model.fit(images.train_X, images.train_y))
    return {
        "accuracy": round(float(np.mean(model.predict(images.test_X) == images.test_y)), 6),
        "choice": choice.name,
        "choosing": round(choosing.cpu, 3),
        "deforming": round(deforming.cpu, 3),
        "cpu": round(choosing.cpu + training.cpu, 3),
        "seconds": round(choosing.wall + training.wall, 3),
        "flash": flash(model),
        **what_was_proved(model),
    }


def flash(model: Classifier) -> int:
    """Bytes of flash of the model's C, without probabilities, as its header states them."""
    with TemporaryDirectory() as folder:
        return c.write(model, Path(folder) / "model", probabilities=False).costs.flash


def _other(model: Any, train: NDArray, labels: NDArray, test: NDArray, truth: NDArray) -> dict[str, Any]:
    model, training = timed(lambda: model.fit(train, labels))
    return {
        "accuracy": round(float(np.mean(_predicted(model, test) == truth)), 6),
        "rows": len(train),
        "cpu": round(training.cpu, 3),
        "seconds": round(training.wall, 3),
    }


def _predicted(model: ClassifierMixin, rows: NDArray) -> NDArray[Any]:
    parts = range(0, len(rows), AT_ONCE)
    return np.concatenate([model.predict(rows[start : start + AT_ONCE]) for start in parts])


SYSTEMS = {system.name: system for system in _systems()}
"""All systems by name."""

# Workers load the images themselves: all of them are too many to hand over for each draw.
SUBJECT = Subject(noun="data set", systems=SYSTEMS, load=str, measure=measure)
