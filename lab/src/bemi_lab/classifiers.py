"""Our classifiers as experiments and benchmarks use them: the only module here that knows the library's estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bemi import (
    BeMiClassifier,
    ConstantInput,
    ImageScenarios,
    IntegerHog,
    SignalCounts,
    SignalScenarios,
    TableBits,
    presets,
    recommended,
)
from bemi.ensemble.ensemble import Ensemble
from bemi.exact import Integers
from bemi.inputs import registry
from bemi.inputs.inputs import Inputs
from bemi.stages import SOFT_STAGES
from bemi.training.choosing.choice import Choice, choose
from bemi.training.settings import seed_of
from bemi.training.training_set import variants_of

Classifier: TypeAlias = Any
"""One of the library's estimators."""

SMALL_GAINS, GAINS, SHIFTS = presets.SMALL_GAINS, presets.GAINS, presets.SHIFTS
"""Gains and shifts of copies of windows: those that suit few windows, those that prepare for other sensors."""

CARD_THRESHOLDS, CARD_POINTS = 8, 5
"""Thresholds of a column, and the most points of a line, on scorecards."""

IMAGE_COPIES = {
    "rows alone": None,
    "±5°, ±5 %": ImageScenarios(),
    "±10°, ±10 %": ImageScenarios(rotations=(-10, 10), scalings=(0.9, 1.1)),
}
"""Copies of images that few-shot benchmarks compare, by name."""

WINDOW_COPIES = {
    "windows alone": None,
    "small gains and shifts": SignalScenarios(SMALL_GAINS, SHIFTS),
    "gains": SignalScenarios(),
    "gains and shifts": SignalScenarios(GAINS, SHIFTS),
}
"""Copies of windows that benchmarks compare, by name."""

INPUTS: dict[str, Callable[[], Any]] = {
    "bits": TableBits,
    "constant": ConstantInput,
    "counts": SignalCounts,
    "differences": partial(SignalCounts, rocket=0),
    "fifteen-bits": partial(SignalCounts, bits=15),
    "hog": IntegerHog,
    "values-and-bits": partial(TableBits, values=True),
}
"""What networks see instead of the features, by name."""


def paper(**parameters: Any) -> Classifier:
    """The paper's networks, with its stages and hidden layers unless stated otherwise."""
    return BeMiClassifier(**parameters)


def networks(*, inputs: str, mw_loss: float | None = None, **parameters: Any) -> Classifier:
    """Networks of a cell of an experiment: any stages, on inputs of this short name."""
    classifier = BeMiClassifier(transform=registry.make(inputs), **parameters)
    return classifier if mw_loss is None else classifier.set_params(mw_loss=mw_loss)


def few_bit(X: Any, *, inputs: str | None = None, **parameters: Any) -> Classifier:
    """What is recommended for such rows; inputs, unless given, copies and C are chosen when it is fitted."""
    return recommended(X, **({} if inputs is None else {"transform": INPUTS[inputs]()}), **parameters)


def fixed(X: Any, *, copies: str | None = None, inputs: str | None = None, **parameters: Any) -> Classifier:
    """What is recommended for such rows, but nothing is chosen by cross-validation.

    ``copies`` is a name in :data:`WINDOW_COPIES`, and ``inputs`` one in :data:`INPUTS`; None for the usual inputs.
    """
    made = {} if copies is None else {"scenarios": WINDOW_COPIES[copies]}
    return few_bit(X, inputs=inputs, candidates=None, **made, **parameters)


def soft(*, inputs: str | None = None, copies: Any = None, weight_bound: int = 7, **parameters: Any) -> Classifier:
    """Linear neurons with soft margins on inputs of that name, None for the features themselves."""
    return BeMiClassifier(
        hidden_layers=(),
        stages=SOFT_STAGES,
        weight_bound=weight_bound,
        transform=None if inputs is None else INPUTS[inputs](),
        scenarios=copies,
        **parameters,
    )


def usual(kind: str, *, inputs: str | None = "usual", **parameters: Any) -> Classifier:
    """What is recommended for ``"images"`` or ``"tables"``, comparing nothing; inputs as usual, of a name, or none."""
    settings = dict((presets.images if kind == "images" else presets.tables)(compare=False).settings)
    if inputs != "usual":
        settings["transform"] = None if inputs is None else INPUTS[inputs]()
    return BeMiClassifier(**settings, **parameters)


def scorecard(lines: int, **parameters: Any) -> Classifier:
    """A scorecard of at most this many lines, with probabilities."""
    return BeMiClassifier(
        hidden_layers=(),
        stages=SOFT_STAGES,
        transform=TableBits(thresholds=CARD_THRESHOLDS),
        weight_bound=CARD_POINTS,
        C=3.0,
        hinges=2,
        max_links=lines,
        probabilities=True,
        **parameters,
    )


def card_bits(thresholds: int) -> TableBits:
    """The bits that lines of a scorecard are about, for other systems on the same inputs."""
    return TableBits(thresholds=thresholds)


def of_ensemble(ensemble: Ensemble) -> Classifier:
    """A fitted classifier with these networks."""
    return BeMiClassifier.from_ensemble(ensemble)


def choice(model: Classifier, X: Any, y: NDArray[Any]) -> Choice:
    """What a recommended model chooses on rows when it is fitted."""
    assert model.candidates is not None
    defaults, weights = model.get_params(deep=False), np.ones(len(y))
    return choose(model.candidates, X, y, defaults=defaults, weights=weights, seed=seed_of(model.random_state))


def inputs_of(model: Classifier, X: Any) -> Inputs:
    """How a model turns rows into the integers that its networks see, fitted on these rows."""
    settings = model.get_params(deep=False)
    return Inputs.fit(X, settings["input_scaling"], settings["transform"])


def inputs_by_name(name: str, X: Any) -> Inputs:
    """The same for inputs of a short name."""
    return Inputs.fit(X, "auto", registry.make(name))


def copies_of(inputs: Inputs, X: Any, settings: Mapping[str, Any]) -> Integers | None:
    """Inputs of the copies that chosen settings make of rows, shape (rows, copies, inputs); None if they make none."""
    if settings["scenarios"] is None:
        return None
    return variants_of(inputs, inputs.checked(X), settings["scenarios"])


def input_title(name: str) -> str:
    """What networks with inputs of this short name see, for headings and legends."""
    kind = registry.by_short_name(name)
    return "raw pixels" if kind is None else kind.TITLE
