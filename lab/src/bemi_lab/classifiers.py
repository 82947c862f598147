"""Our classifiers as experiments and benchmarks use them: the only module here that knows the library's estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bemi import (
    BeMiClassifier,
    ConstantInput,
    FewBitClassifier,
    ImageScenarios,
    IntegerHog,
    ScorecardClassifier,
    SignalCounts,
    SignalScenarios,
    TableBits,
)
from bemi.ensemble.ensemble import Ensemble
from bemi.estimators import ESTIMATORS, kinds
from bemi.exact import Integers
from bemi.inputs import registry
from bemi.inputs.inputs import Inputs
from bemi.stages import SOFT_STAGES
from bemi.training.choice import Choice
from bemi.training.training_set import variants_of

Classifier: TypeAlias = Any
"""One of the library's estimators."""

SMALL_GAINS, GAINS, SHIFTS = kinds.SMALL_GAINS, kinds.GAINS, kinds.SHIFTS
"""Gains and shifts of copies of windows: those that suit few windows, those that prepare for other sensors."""

CARD_THRESHOLDS = 8
"""Thresholds of a column on scorecards."""

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


def networks(*, inputs: str, stages: tuple[str, ...], mw_loss: float | None = None, **parameters: Any) -> Classifier:
    """Networks of a cell of an experiment: any stages, on inputs of this short name."""
    transform = registry.make(inputs)
    if not set(SOFT_STAGES) & set(stages):
        return BeMiClassifier(inputs=transform, stages=stages, **parameters)
    parameters.pop("hidden_layers", None)
    loss = None if len(stages) == 1 else 0.01 if mw_loss is None else mw_loss
    return _fixed("table", inputs=transform, copies=None, mw_loss=loss, **parameters)


def _few_bit(kind: Any, **parameters: Any) -> Classifier:
    """A few-bit classifier; experiments may name an engine and a solver, which it does not have."""
    offered = signature(FewBitClassifier).parameters
    return FewBitClassifier(kind, **{name: value for name, value in parameters.items() if name in offered})


def _fixed(kind: str, **parameters: Any) -> Classifier:
    """The same with nothing left to choose, and probabilities only if asked for."""
    return _few_bit(kind, **{"C": 10.0, "weight_bound": 7, "probabilities": False} | parameters)


def few_bit(X: Any, *, inputs: Any = None, **parameters: Any) -> Classifier:
    """The few-bit classifier; inputs, unless given or named, copies and C are chosen when it is fitted."""
    given = {} if inputs is None else {"inputs": INPUTS[inputs]() if isinstance(inputs, str) else inputs}
    probabilities = kinds.kind_of(X).name == "table"
    return _few_bit("auto", **{"probabilities": probabilities} | given | parameters)


def fixed(X: Any, *, copies: str | None = None, inputs: str | None = None, **parameters: Any) -> Classifier:
    """The few-bit classifier with its usual settings: nothing is chosen by cross-validation.

    ``copies`` is a name in :data:`WINDOW_COPIES`, and ``inputs`` one in :data:`INPUTS`; None for the usual inputs.
    """
    usual_settings = kinds.kind_of(X).usual
    given = {name: usual_settings[name] for name in kinds.COMPARED}
    given |= {} if copies is None else {"copies": WINDOW_COPIES[copies]}
    given |= {} if inputs is None else {"inputs": INPUTS[inputs]()}
    return few_bit(X, **{"probabilities": False} | parameters).set_params(**given)


def soft(*, inputs: str | None = None, copies: Any = None, weight_bound: int = 7, **parameters: Any) -> Classifier:
    """Linear neurons with soft margins on inputs of that name, None for the features themselves."""
    transform = None if inputs is None else INPUTS[inputs]()
    return _fixed("table", inputs=transform, copies=copies, weight_bound=weight_bound, **parameters)


def usual(kind: str, *, inputs: str | None = "usual", **parameters: Any) -> Classifier:
    """Usual settings for ``"images"`` or ``"tables"``, comparing nothing; inputs as usual, of a name, or none."""
    if kind == "images":
        settings = {"inputs": IntegerHog(), "copies": None, "C": 10.0, "weight_bound": kinds.WEIGHT_BOUND}
    else:
        settings = dict(kinds.tables().usual) | {"probabilities": True}
    if inputs != "usual":
        settings["inputs"] = None if inputs is None else INPUTS[inputs]()
    return _fixed("table", **settings | parameters)


def scorecard(lines: int, **parameters: Any) -> Classifier:
    """A scorecard of at most this many lines, which chooses thresholds and C when it is fitted."""
    offered = signature(ScorecardClassifier).parameters
    return ScorecardClassifier(lines, **{name: value for name, value in parameters.items() if name in offered})


def card_bits(thresholds: int) -> TableBits:
    """The bits that lines of a scorecard are about, for other systems on the same inputs."""
    return TableBits(thresholds=thresholds)


def of_ensemble(ensemble: Ensemble) -> Classifier:
    """A fitted classifier with these networks."""
    return ESTIMATORS[ensemble.training.settings["estimator"]].from_ensemble(ensemble)


def choice(model: Classifier, X: Any, y: NDArray[Any]) -> Choice:
    """What a few-bit classifier chooses on rows when it is fitted."""
    return model.choose(X, y)


def settings_of(model: Classifier, X: Any) -> dict[str, Any]:
    """Inputs, copies, penalty and scaling of a few-bit classifier on these rows, usual ones where it would choose."""
    usual_settings = kinds.kind_of(X, model.kind, model.inputs).usual
    given = {name: value for name, value in model.get_params(deep=False).items() if not isinstance(value, str)}
    return {"input_scaling": "auto", **usual_settings, **given}


def inputs_of(model: Classifier, X: Any) -> Inputs:
    """How a few-bit classifier turns rows into the integers that its networks see, fitted on these rows."""
    settings = settings_of(model, X)
    return Inputs.fit(X, settings["input_scaling"], settings["inputs"])


def inputs_by_name(name: str, X: Any) -> Inputs:
    """The same for inputs of a short name."""
    return Inputs.fit(X, "auto", registry.make(name))


def copies_of(inputs: Inputs, X: Any, settings: Mapping[str, Any]) -> Integers | None:
    """Inputs of the copies that chosen settings make of rows, shape (rows, copies, inputs); None if they make none."""
    if settings["copies"] is None:
        return None
    return variants_of(inputs, inputs.checked(X), settings["copies"]).astype(np.int64)


def input_title(name: str) -> str:
    """What networks with inputs of this short name see, for headings and legends."""
    kind = registry.by_short_name(name)
    return "raw pixels" if kind is None else kind.TITLE
