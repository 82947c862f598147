"""What rows may be, and the settings to choose from for each kind.

They are those that measured best on images, tables and signals; lab/reports has the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bemi.augment.images import ImageDeformations
from bemi.augment.scenarios import SignalScenarios
from bemi.inputs.hog import IntegerHog
from bemi.inputs.images import full_shape, shrunk_shape, why_no_image
from bemi.inputs.registry import takes_images
from bemi.inputs.scaling import are_integers
from bemi.inputs.signal import SignalCounts
from bemi.inputs.table import TableBits
from bemi.inputs.transform import Takes
from bemi.settings import AUTO, EXPLAINABLE, SETTINGS, is_auto
from bemi.training.choice import MOST_ROWS, Candidate

COMPARED = ("inputs", "copies", "C")
"""Settings that cross-validation chooses."""

MOST_IMAGES, MOST_DEFORMED = 2000, 20_000
"""With more images than the first, two slightly deformed copies of each are enough, and only straightening is compared,
on a part of the images; with more than the second, images that are not straightened gain nothing by copies."""

MANY_COMPARED = 3000
"""Images on which settings are compared where there are more than ``MOST_DEFORMED``: a thousand tell too little."""

MANY_IMAGES_PENALTY, UNDEFORMED_PENALTY = 3.0, 10.0
"""C for many images, and for those neither straightened nor deformed.  On held-out training images of MNIST, 10 was no
better without copies, and with them it takes twice the time; of Fashion-MNIST it was better by 0.2 points."""

LARGEST_SIDE = 64
"""Images with longer sides are shrunk."""

MOST_PIXELS = LARGEST_SIDE**2 * 3
"""With larger images, of many channels, nothing is compared."""

FEW_RECORDINGS = 20
"""Up to so many recordings of a class, or windows if recordings are not known, small copies are usual for signals;
docs/signals.md has what they gain."""

SMALL_GAINS, GAINS, SHIFTS = (0.8, 1.25), (0.625, 1.5), (-0.125, 0.125)
"""Gains and shifts, in windows, of the copies to choose from."""

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Values of C to choose from."""

CARD_THRESHOLDS, CARD_PENALTIES = (4, 8, 16), (0.1, 0.3, 1.0, 3.0, 10.0)
"""Thresholds per column, and values of C, to choose from for scorecards."""

CARD_RULES, CARD_RULE_LENGTH = 64, 3
"""Rules that scorecards may have lines of, and most conditions of each."""

FEW_CARD_ROWS = 100
"""Up to so many rows of a class, the usual settings of scorecards are hard to beat."""

USUAL_PENALTY = 3.0
"""C for bits of a table where nothing is compared."""

FEW_RULES, RULES, MOST_RULES = 32, 512, 1024
"""Rules, at most: as many as people read, as many as bend a model for thousands of rows, and for more of them."""

ROWS_PER_RULE = 4
"""Of more rows than it takes for ``RULES``, up to ``MOST_RULES``."""

LANDMARKS = 256
"""Training rows that others are compared with, at most."""

WEIGHT_BOUND, TABLE_BOUND = 7, 15
"""Weight bound, and that of tables: their integer weights come closer to the continuous optimum than with 7, and so
does the proof, at equal accuracy."""


@dataclass(frozen=True)
class Kind:
    """What rows are, and which settings suit them.

    Attributes
    ----------
    name
        One of :data:`bemi.settings.KINDS`.
    why
        Why the rows are treated as such.
    usual
        Settings where nothing is compared.
    candidates
        Settings to compare by cross-validation; empty if there are too many rows for that.
    estimated
        Whether the accuracy is estimated even if nothing is left to choose.
    compared_on
        Number of rows that settings are compared on, if there are more.
    """

    name: str
    why: str
    usual: Mapping[str, Any]
    candidates: tuple[Candidate, ...] = ()
    estimated: bool = False
    compared_on: int = MOST_ROWS


def images(rows: NDArray, shape: Sequence[int] | None = None, why: str = "asked for") -> Kind:
    """Gradient histograms of images; ``shape`` as :class:`bemi.IntegerHog` takes it.

    Cross-validation of a hundred images is noisy, so there are few candidates, far apart, and others must beat the
    usual one by half a standard error: digits gain by all of the copies in training more than by the few compared.  A
    penalty of 1 suits the many rows that copies make, 10 the few that there are without.  With many images only
    straightening is compared, on a part of them; with very many, straightened and deformed ones with plain ones.
    Larger images are shrunk first.
    """
    given = None if shape is None else tuple(shape)
    whole = full_shape(given, rows[0].size)
    shrink = -(-max(whole[:2]) // LARGEST_SIDE)
    seen = given if shrink == 1 else shrunk_shape(whole, shrink)
    hog = partial(IntegerHog, shape=given, shrink=shrink)
    straight, as_they_are = hog(), hog(straighten=False)
    small = ImageDeformations(rotation=4, scaling=0.1, shear=0.05, shift=0.02, bending=0.02, shape=seen)
    large = ImageDeformations(shape=seen)
    candidates: tuple[Candidate, ...] = (
        Candidate("straightened images, deformed", {"inputs": straight, "copies": large, "C": 1.0}, inf),
        Candidate("images as they are, slightly deformed", {"inputs": as_they_are, "copies": small, "C": 1.0}, 0, 0.5),
        Candidate("images as they are", {"inputs": as_they_are, "copies": None, "C": 10.0}, 0, 0.5),
    )
    if given is not None and given[2:] == (3,):
        coloured = hog(straighten=False, colours=True)
        candidates += (
            Candidate("shapes and colours, slightly deformed", {"inputs": coloured, "copies": small, "C": 1.0}, 0, 0.5),
            Candidate("shapes and colours", {"inputs": coloured, "copies": None, "C": 10.0}, 0, 0.5),
        )
    usual = {
        "inputs": straight,
        "copies": None,
        "C": SETTINGS["C"].default,
        "weight_bound": WEIGHT_BOUND,
        # Pixels share one unit, so one factor must scale them all.
        "input_scaling": "auto" if are_integers(rows) else "common",
    }
    if prod(shrunk_shape(whole, shrink)) > MOST_PIXELS:
        candidates = ()
    elif len(rows) > MOST_IMAGES:
        deformed = {"copies": clone(small).set_params(copies=2), "C": MANY_IMAGES_PENALTY}
        candidates = (
            Candidate("straightened images, slightly deformed", {"inputs": straight, **deformed}),
            Candidate("images as they are, slightly deformed", {"inputs": as_they_are, **deformed}),
        )
        if len(rows) > MOST_DEFORMED:
            alone = {"inputs": as_they_are, "copies": None, "C": UNDEFORMED_PENALTY}
            candidates = (candidates[0], Candidate("images as they are", alone))
            return Kind("image", why, usual, candidates, compared_on=MANY_COMPARED)
    return Kind("image", why, usual, candidates)


def signals(why: str = "asked for") -> Kind:
    """Counts of what happens in windows, as they were recorded, or also at other gains, earlier and later, or with a
    little noise."""
    nothing: tuple[float, ...] = ()
    candidates = (
        Candidate("windows as recorded", {"copies": None}, inf),
        Candidate("small gains and shifts", {"copies": SignalScenarios(SMALL_GAINS, SHIFTS)}, FEW_RECORDINGS),
        Candidate("gains", {"copies": SignalScenarios(GAINS)}),
        Candidate("shifts", {"copies": SignalScenarios(nothing, SHIFTS)}),
        Candidate("gains and shifts", {"copies": SignalScenarios(GAINS, SHIFTS)}),
        Candidate("noise", {"copies": SignalScenarios(nothing, nothing, (0.03,))}),
    )
    usual = {"inputs": SignalCounts(), "copies": None, "C": SETTINGS["C"].default, "weight_bound": WEIGHT_BOUND}
    return Kind("signal", why, usual, candidates)


def tables(rows: int = 0, why: str = "asked for") -> Kind:
    """Values, bits, rules, similarities to training rows or all of them, whichever cross-validation prefers.

    Similarities keep training rows in the model, so they must be better by more than a standard error.
    """
    rules = int(np.clip(rows // ROWS_PER_RULE, RULES, MOST_RULES))
    inputs = {
        "values": TableBits(thresholds=0, values=True),
        "bits": TableBits(),
        "values and bits": TableBits(values=True),
        "bits and a few rules": TableBits(rules=FEW_RULES),
        "values, bits and rules": TableBits(values=True, rules=rules),
        "similarities to training rows": TableBits(thresholds=0, similarities=LANDMARKS),
        "values, bits and similarities to training rows": TableBits(values=True, similarities=LANDMARKS),
    }
    candidates = tuple(
        Candidate(f"{name}, C = {C:g}", {"inputs": transform, "C": C}, 0, 1.0, bool(transform.similarities))
        for name, transform in inputs.items()
        for C in PENALTIES
    )
    usual = {"inputs": TableBits(), "copies": None, "C": USUAL_PENALTY, "weight_bound": TABLE_BOUND}
    return Kind("table", why, usual, candidates)


def cards() -> Kind:
    """Bits for scorecards: more or fewer thresholds, which lines have to be chosen from, and penalties; short rules.

    With few rows another card must beat the usual one clearly, since so many candidates are alike.  Lines with rules
    take longer to read, so they must be clearly better with many rows, too.
    """
    usual = {"inputs": TableBits(distinct=True), "C": USUAL_PENALTY}
    candidates = []
    for thresholds in CARD_THRESHOLDS:
        for C in CARD_PENALTIES:
            settings = {"inputs": TableBits(thresholds, distinct=True), "C": C}
            limit = FEW_CARD_ROWS if repr(settings) == repr(usual) else 0
            candidates.append(Candidate(f"up to {thresholds} thresholds per column, C = {C:g}", settings, limit))
    rules = TableBits(distinct=True, rules=CARD_RULES, rule_length=CARD_RULE_LENGTH)
    for C in CARD_PENALTIES:
        candidates.append(Candidate(f"rules, C = {C:g}", {"inputs": rules, "C": C}, last_resort=True))
    return Kind("table", "scorecards are for tables", usual, tuple(candidates), estimated=True)


def kind_of(X: Any, kind: Any = AUTO, inputs: Any = AUTO) -> Kind:
    """What rows are: as ``kind`` says, as ``inputs`` takes them, or as they look."""
    rows = np.asarray(X)
    asked = f"kind={kind!r}"
    if not isinstance(kind, str):
        if rows.ndim != 2:
            raise ValueError("images are rows of pixels, shape (rows, pixels); three dimensions are a signal")
        return images(rows, kind, f"the images are {' x '.join(map(str, kind))}")
    if kind == "signal" or (kind == AUTO and (rows.ndim == 3 or Takes.by(inputs) is Takes.WINDOWS)):
        sizes = f"windows of {rows.shape[1]} samples of {rows.shape[2]} channels are a signal" if rows.ndim == 3 else ""
        return signals(sizes or asked)
    if kind == "table":
        return tables(len(rows), asked)
    if kind == "image":
        return images(rows, None, asked)
    if takes_images(inputs):
        return images(rows, getattr(inputs, "shape", None), f"{type(inputs).__name__} takes images")
    if Takes.by(inputs) is Takes.RAW_COLUMNS:
        return tables(len(rows), f"{type(inputs).__name__} takes tables")
    why_not = why_no_image(rows)
    if why_not is not None:
        return tables(len(rows), f"not images: {why_not}")
    side = isqrt(rows.shape[1])
    return images(
        rows, None, f"{side} x {side} non-negative integers per row, with neighbours alike, are treated as images"
    )


def left_to_choose(kind: Kind, given: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """Distinct candidates of a kind that can obey the settings that are given, without these."""
    fixed = {name: given[name] for name in COMPARED if not is_auto(given[name])}
    different: dict[str, Candidate] = {}
    explainable = isinstance(given["inputs"], str) and given["inputs"] == EXPLAINABLE
    for candidate in kind.candidates:
        if candidate.last_resort and explainable:
            continue
        inputs = candidate.settings.get("inputs")
        joins_columns = any(getattr(inputs, name, None) for name in ("similarities", "rules"))
        if given["monotone"] is not None and joins_columns:
            continue  # such inputs do not grow with one column
        open_settings = {name: value for name, value in candidate.settings.items() if name not in fixed}
        named = replace(candidate, name=_name(candidate, open_settings), settings=open_settings)
        same = different.setdefault(repr(sorted(open_settings.items())), named)
        if same.usual_up_to < named.usual_up_to:  # of equals the usual one
            different[repr(sorted(open_settings.items()))] = named
    if len(different) == 1:
        return tuple(replace(candidate, name="settings as given") for candidate in different.values())
    return tuple(different.values())


def _name(candidate: Candidate, open_settings: Mapping[str, Any]) -> str:
    """The name of a candidate without its inputs, or its C, if these are given."""
    inputs, _, price = candidate.name.rpartition(", ")
    if not price.startswith("C = "):
        return candidate.name
    parts = [name for name, setting in ((inputs, "inputs"), (price, "C")) if setting in open_settings]
    return ", ".join(parts) or candidate.name
