"""Recommended settings: those that measured best on images, on signals and on tables, and the paper's own.

The measurements are in docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.augment.images import ImageDeformations
from bemi.augment.scenarios import SignalScenarios
from bemi.classifier import BeMiClassifier
from bemi.inputs.hog.transform import IntegerHog
from bemi.inputs.images import why_no_image
from bemi.inputs.registry import describe
from bemi.inputs.scaling import are_integers
from bemi.inputs.signal.transform import SignalCounts
from bemi.inputs.table.transform import TableBits
from bemi.stages import SOFT_STAGES
from bemi.training.choosing.choice import Candidate
from bemi.training.parameters import check_probabilities


@dataclass(frozen=True)
class Preset:
    """Named settings of the classifier, and why they were chosen."""

    name: str
    settings: dict[str, Any]
    why: str


_SOFT: dict[str, Any] = {"hidden_layers": (), "weight_bound": 7, "stages": SOFT_STAGES}


def paper(why: str = "asked for") -> Preset:
    """The paper's settings, which are the classifier's own defaults.

    Ties are broken by margin here too; ``ties="abstain"`` is the paper's voting rule.
    """
    names = ("hidden_layers", "weight_bound", "stages", "transform", "input_scaling")
    defaults = BeMiClassifier().get_params()
    return Preset("the paper", {name: defaults[name] for name in names}, why)


def images(
    shape: Sequence[int] | None = None, *, integers: bool = True, compare: bool = True, why: str = "asked for"
) -> Preset:
    """Soft margins on gradient histograms; ``shape`` as :class:`bemi.IntegerHog` takes it.

    Whether to straighten images, and whether to train on deformed copies of them, is decided by cross-validation.  With
    ``compare=False`` images are straightened, and nothing is compared.
    """
    given = None if shape is None else tuple(shape)
    settings = _SOFT | {
        "transform": IntegerHog(shape=given),
        # Pixels share one unit, so one factor must scale them all.
        "input_scaling": "auto" if integers else "common",
    }
    return Preset("images", settings | ({"candidates": image_candidates(given)} if compare else {}), why)


MOST_IMAGES = 2000
"""With more images than this, nothing is compared: deformed copies gain little, and take long."""

MOST_PIXELS = 64 * 64 * 3
"""The same for larger images."""


def image_candidates(shape: tuple[int, ...] | None = None) -> tuple[Candidate, ...]:
    """Images straightened and strongly deformed, or as they are, slightly deformed or without copies.

    Cross-validation of a hundred images is noisy, so there are few candidates, far apart, and others must beat the
    usual one by half a standard error: digits gain by all of the copies in training more than by the few compared.  A
    price of 1 suits the many rows that copies make, 10 the few that there are without.
    """
    upright, given = IntegerHog(shape=shape), IntegerHog(shape=shape, straighten=False)
    small = ImageDeformations(rotation=4, scaling=0.1, shear=0.05, shift=0.02, bending=0.02, shape=shape)
    large = ImageDeformations(shape=shape)
    as_it_is = "images as they are"
    return (
        Candidate("straightened images, deformed", {"transform": upright, "scenarios": large, "C": 1.0}, inf),
        Candidate(f"{as_it_is}, slightly deformed", {"transform": given, "scenarios": small, "C": 1.0}, 0, 0.5),
        Candidate(as_it_is, {"transform": given, "scenarios": None, "C": 10.0}, 0, 0.5),
    )


def signals(channels: int | None = None, *, compare: bool = True, why: str = "asked for") -> Preset:
    """Soft margins on counts of a signal; ``channels`` as :class:`bemi.SignalCounts` takes it.

    Scenarios are added where cross-validation shows that they help, unless ``compare`` is False.
    """
    settings = _SOFT | {"transform": SignalCounts(channels), "input_scaling": "auto"}
    return Preset("signals", settings | ({"candidates": signal_candidates()} if compare else {}), why)


FEW_RECORDINGS = 20
"""Up to so many recordings of a class, or windows if recordings are not known, small scenarios are usual for signals;
docs/signals.md has what they gain."""


SMALL_GAINS, GAINS, SHIFTS = (0.8, 1.25), (0.625, 1.5), (-0.125, 0.125)
"""Gains and shifts, in windows, of the scenarios to choose from."""


def signal_candidates() -> tuple[Candidate, ...]:
    """Windows as they were recorded, or also at other gains, earlier and later, or with a little noise."""
    nothing: tuple[float, ...] = ()
    return (
        Candidate("windows as recorded", {"scenarios": None}, inf),
        Candidate("small gains and shifts", {"scenarios": SignalScenarios(SMALL_GAINS, SHIFTS)}, FEW_RECORDINGS),
        Candidate("gains", {"scenarios": SignalScenarios(GAINS)}),
        Candidate("shifts", {"scenarios": SignalScenarios(nothing, SHIFTS)}),
        Candidate("gains and shifts", {"scenarios": SignalScenarios(GAINS, SHIFTS)}),
        Candidate("noise", {"scenarios": SignalScenarios(nothing, nothing, (0.03,))}),
    )


PRICES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Prices C to choose from."""

LANDMARKS = 256
"""Training rows that others are compared with, at most."""


USUAL_PRICE = 3.0
"""Price C of bits where nothing is compared."""


TABLE_BOUND = 15
"""Weight bound of tables: their integer weights come closer to the continuous optimum than with 7, and so does the
proof, at equal accuracy."""


def tables(why: str = "asked for", *, compare: bool = True, **columns: Any) -> Preset:
    """Soft margins on values, bits, similarities to training rows or all of them, whichever cross-validation prefers.

    Bits if ``compare`` is False: nothing is compared.  ``columns`` are ``categorical`` and ``numeric`` of
    :class:`bemi.TableBits`.
    """
    soft = _SOFT | {"weight_bound": TABLE_BOUND}
    if not compare:
        settings = {"transform": TableBits(**columns), "C": USUAL_PRICE, "input_scaling": "auto", "probabilities": True}
        return Preset("tables", soft | settings, why)
    kinds = {
        "values": TableBits(thresholds=0, values=True, **columns),
        "bits": TableBits(**columns),
        "values and bits": TableBits(values=True, **columns),
        "similarities": TableBits(thresholds=0, similarities=LANDMARKS, **columns),
        "values, bits and similarities": TableBits(values=True, similarities=LANDMARKS, **columns),
    }
    candidates = tuple(
        Candidate(f"{name}, C = {price:g}", {"transform": transform, "C": price})
        for name, transform in kinds.items()
        for price in PRICES
    )
    return Preset("tables", soft | {"input_scaling": "auto", "candidates": candidates, "probabilities": True}, why)


def choose(X: Any, image_shape: Sequence[int] | None = None, *, compare: bool = True) -> Preset:
    """Settings for these rows: those for images if ``image_shape`` is given or the rows look like square images.

    An array of shape (windows, time, channels) is a signal.  ``compare`` as :func:`tables` takes it.
    """
    rows = np.asarray(X)
    if rows.ndim == 3:
        if image_shape is not None:
            raise ValueError("image_shape is for rows of pixels, shape (rows, pixels); three dimensions are a signal")
        why = f"windows of {rows.shape[1]} samples of {rows.shape[2]} channels are a signal"
        return signals(compare=compare, why=why)
    if image_shape is not None:
        why = f"the images are {' x '.join(map(str, image_shape))}"
        return images(image_shape, integers=are_integers(rows), compare=compare and _few(rows), why=why)
    why_not = why_no_image(rows)
    if why_not is not None:
        return tables(f"the rows are not treated as images: {why_not}", compare=compare)
    side = isqrt(rows.shape[1])
    why = f"{side} x {side} non-negative integers per row, with neighbours alike, are treated as images"
    return images(compare=compare and _few(rows), why=why)


def _few(rows: NDArray) -> bool:
    """Whether there is time to compare, and images are small enough to be straightened."""
    return len(rows) <= MOST_IMAGES and rows[0].size <= MOST_PIXELS


def in_words(settings: Mapping[str, Any]) -> str:
    """The networks that a classifier with these settings trains, in words."""
    seen = describe(settings.get("transform"))
    if settings.get("candidates") is not None:
        best = f"the best of {len(settings['candidates'])} candidates by cross-validation"
        seen = best if settings.get("transform") is None else f"{seen}, {best}"
    elif settings["input_scaling"] == "per-feature":
        seen += ", each scaled to -127..127"
    sizes = ", ".join(map(str, settings["hidden_layers"]))
    hidden = f"hidden layers {sizes}" if sizes else "no hidden layer"
    bound = settings["weight_bound"]
    return f"{seen}; {hidden}, weights in -{bound}..{bound}, stages {', '.join(settings['stages'])}"


def recommended(X: Any, *, image_shape: Sequence[int] | None = None, **parameters: Any) -> BeMiClassifier:
    """An unfitted classifier with the settings that measured best on data like these.

    It usually has several candidates, and chooses among them when it is fitted, by cross-validation on
    the rows given to ``fit`` alone; ``choice_`` then says what was chosen, and what accuracy to expect.  Give ``fit``
    the ``groups`` of windows, the recordings that they come from.

    Parameters
    ----------
    X
        Rows, a data frame or an array of shape (rows, features), or windows of a signal, shape (windows, time,
        channels): only their kind matters.
    image_shape
        ``(height, width)`` or ``(height, width, channels)``, needed if rows are images that are not square and grey.
    **parameters
        Parameters of :class:`bemi.BeMiClassifier`; they override the recommended ones.
    """
    return BeMiClassifier(**overridden(choose(X, image_shape).settings, parameters))


def overridden(settings: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in which given parameters replace those that are recommended, or that candidates would choose."""
    merged = {**settings, **parameters}
    if "probabilities" in settings and "probabilities" not in parameters:
        merged["probabilities"] = settings["probabilities"] and _give_chances(merged)
    candidates = merged.get("candidates")
    if candidates is None:
        return merged
    left: dict[str, Candidate] = {}
    for candidate in candidates:
        own = {name: value for name, value in candidate.settings.items() if name not in parameters}
        left.setdefault(repr(sorted(own.items())), replace(candidate, settings=own))
    if len(left) > 1:
        return merged | {"candidates": tuple(left.values())}
    (only,) = left.values()
    if {name for candidate in candidates for name in candidate.settings} == {"scenarios"}:
        # There is nothing to choose, but an accuracy to estimate.
        return merged | {"candidates": (Candidate("scenarios as given", {}),)}
    return merged | {"candidates": None, **only.settings}


def _give_chances(settings: Mapping[str, Any]) -> bool:
    """Whether networks with these settings can have probabilities."""
    complete = BeMiClassifier().get_params() | dict(settings)
    try:
        check_probabilities(complete, complete["stages"])
    except ValueError:
        return False
    return True
