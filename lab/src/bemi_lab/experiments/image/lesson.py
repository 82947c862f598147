"""What all systems learn from on one draw: images, what our model chooses on them, and the inputs that follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from bemi.classifier import BeMiClassifier
from bemi.training.settings import seed_of
from numpy.typing import NDArray

from bemi import recommended
from bemi.exact import Integers
from bemi.inputs.inputs import Inputs
from bemi.training.choosing.choice import Choice, choose
from bemi.training.training_set import variants_of
from bemi_lab.datasets import Dataset, Sample, load, sample
from bemi_lab.experiments.signal.draws import draw
from bemi_lab.experiments.spec import Settings

Found = TypeVar("Found")


@dataclass(frozen=True)
class Timed:
    """Seconds of the processor and of the clock."""

    cpu: float
    wall: float


def timed(work: Callable[[], Found]) -> tuple[Found, Timed]:
    """What a function returns, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, Timed(time.process_time() - cpu, time.perf_counter() - wall)


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs of the networks with labels, the same inputs of the test images, and the price C of such rows."""

    train: Integers
    labels: NDArray[Any]
    test: Integers
    price: float


@dataclass(frozen=True, eq=False)
class Lesson:
    """One draw; what several systems need is made once."""

    images: Sample
    settings: Settings

    def model(self, **chosen: Any) -> BeMiClassifier:
        """The recommended model; with settings of a candidate nothing is left to choose."""
        names = ("engine", "solver", "time_limit", "node_limit", "gap")
        return recommended(self.images.train_X, **{name: getattr(self.settings, name) for name in names}, **chosen)

    @cached_property
    def choice(self) -> tuple[Choice, Timed]:
        """What the recommended model chooses on the training images when it is fitted."""
        model, X, y = self.model(), self.images.train_X, self.images.train_y
        candidates, weights, seed = model.candidates, np.ones(len(y)), seed_of(model.random_state)
        assert candidates is not None
        defaults = model.get_params(deep=False)
        return timed(lambda: choose(candidates, X, y, defaults=defaults, weights=weights, seed=seed))

    @cached_property
    def plain(self) -> Rows:
        """Histograms of the images, straightened, without copies."""
        model = self.model()
        inputs = self._inputs(model)
        return Rows(inputs.of(self.images.train_X), self.images.train_y, inputs.of(self.images.test_X), model.C)

    @cached_property
    def as_chosen(self) -> tuple[Rows, Timed]:
        """Inputs as our model chose them, deformed copies included, and the time that the copies took."""
        chosen = self.choice[0].candidate.settings
        inputs, y = self._inputs(self.model(**chosen)), self.images.train_y
        given, test = inputs.of(self.images.train_X), inputs.of(self.images.test_X)
        if chosen["scenarios"] is None:
            return Rows(given, y, test, chosen["C"]), Timed(0.0, 0.0)
        rows = inputs.checked(self.images.train_X)
        copies, seconds = timed(lambda: variants_of(inputs, rows, chosen["scenarios"]))
        train = np.concatenate([given, copies.reshape(-1, inputs.size)])
        labels = np.concatenate([y, np.repeat(y, copies.shape[1])])
        return Rows(train, labels, test, chosen["C"]), seconds

    def _inputs(self, model: BeMiClassifier) -> Inputs:
        settings = model.get_params(deep=False)
        return Inputs.fit(self.images.train_X, settings["input_scaling"], settings["transform"])


@lru_cache(maxsize=1)
def lesson(dataset: str, draw_name: str, index: int, settings: Settings) -> Lesson:
    """The lesson of a draw; systems come one after the other on the same one, so the last is kept."""
    return Lesson(sample(_loaded(dataset), draw(draw_name).per_class, index, settings.seed), settings)


@lru_cache(maxsize=1)
def _loaded(dataset: str) -> Dataset:
    return load(dataset)
