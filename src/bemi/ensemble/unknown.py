"""Recognising rows like none of the training rows, by ranges of each class.

A row is looked at through *features*: the columns of a table, summaries of a window, or else inputs of the networks,
and halves of sums or differences of two of these.  Each class has a range of every feature.  The strangeness of a row
is the sum of how far its features are outside the ranges of the class that the networks give it, of how far its scores
fall short of usual ones, and of how far it is from the nearest of some training rows, as far as these two help; if it
exceeds a threshold, the row is unknown.  Everything is integer arithmetic of 32 bits, so that C, ONNX and JavaScript
reject the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from bemi.checks import listed, members, whole
from bemi.ensemble.subsets import class_subsets
from bemi.exact import Integers, exact_product
from bemi.inputs.fixed_point import LARGEST_READING, MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.transform import SUMMED, Takes
from bemi.problem.problem import ABSTAIN

LARGEST = 127
"""Features are in -127..127."""

STEPS = 16
"""Ends of a range are one of so many equal steps, so a range takes a byte."""

MOST_SINGLE, MOST_PAIRS = 64, 32
"""Features of one input or column, and of two."""

IS_LEVEL = 127
"""In place of an exponent: the reading numbers a level, and only a level that training did not have is outside."""

MOST_EXAMPLES = 96
"""Bytes of the training rows that new ones are compared with."""

MOST_MARGINS = 255
"""Networks whose margins may count: the sums of more of them would not fit on a small device's stack."""

OUTSIDE, MOST_WEIGHT = 64, 2**15
"""Weight of what is outside the ranges, and the largest of other weights."""

LARGEST_SHARE = 0.5
"""Of known rows that may be rejected."""

DOUBLINGS = range(-31, 8)
"""Exponents of the factors by which columns become features."""


@dataclass(frozen=True, eq=False)
class KnownRanges:
    """What rows of the classes look like, and from which strangeness on a row is unknown.

    Attributes
    ----------
    positions
        Of the values (:func:`values_of`) that are looked at; increasing.
    centres, exponents
        A value becomes the feature ``(value - centre) * 2^exponent``, rounded towards zero and clipped.
    pairs
        Positions of two of these features, shape (pairs, 2).
    sums
        So many of the pairs, the first ones, are sums; the others are differences.  Both are halved towards zero.
    starts, shifts
        The ends of the ranges of a feature are ``start + (step << shift)``.
    steps
        Lowest and highest step of each class and feature, shape (classes, features, 2).
    halvings
        How often the score of each network is halved to become a margin; empty if margins do not count.
    usual_margin
        Smaller margins of the class are strange.
    looked_at, examples
        Single features that examples are compared by, and these features of some training rows, shape (examples,
        features); both empty if none are compared.
    weights
        Of the lack of margin and of the distance from the nearest example.
    threshold
        A row is unknown if its strangeness is larger.
    asked
        Share of known rows that may be rejected, as it was asked for.
    tested
        Number of rows that the threshold was derived from.
    recordings
        Number of recordings that these rows come from; 0 if every row stands for itself.
    unseen
        Share of the rows of a class that would be rejected if training had not had that class; None with two classes.
    """

    positions: Integers
    centres: Integers
    exponents: Integers
    pairs: Integers
    sums: int
    starts: Integers
    shifts: Integers
    steps: Integers
    halvings: Integers
    usual_margin: int
    looked_at: Integers
    examples: Integers
    weights: Integers
    threshold: int
    asked: float
    tested: int
    recordings: int
    unseen: float | None

    @property
    def share(self) -> float:
        """Share of known rows that is expected to be rejected: of few rows, none exceeds the largest."""
        return max(self.asked, 1 / (self.tested + 1))

    @cached_property
    def ranges(self) -> tuple[Integers, Integers]:
        """Lower and upper ends, each of shape (classes, features)."""
        low, high = np.moveaxis(self.starts[:, None] + (self.steps << self.shifts[:, None]), 2, 0)
        return low, high

    def features(self, values: Integers) -> Integers:
        """Features of rows of values; shape (rows, features)."""
        single = single_features(values[:, self.positions], self.centres, self.exponents)
        return np.concatenate([single, pair_features(single, self.pairs, self.sums)], axis=1)

    @property
    def needs_scores(self) -> bool:
        """Whether strangeness depends on the scores of the networks."""
        return len(self.halvings) > 0

    def parts(self, values: Integers, labels: Integers, scores: Integers | None) -> tuple[Integers, Integers, Integers]:
        """How far the features are outside the ranges of these classes, how much the margins of the classes are below
        the usual one, and the distance from the nearest example; 0 for rows without a label.

        Scores are those of the networks of all pairs of classes, if they are needed.
        """
        features, (low, high) = self.features(values), self.ranges
        outside = np.maximum(0, np.maximum(low[labels] - features, features - high[labels])).sum(axis=1)
        lacking, distance = np.zeros((2, len(labels)), dtype=np.int64)
        if self.needs_scores:
            assert scores is not None
            lacking = np.maximum(0, self.usual_margin - margins(scores, labels, len(low), self.halvings))
        if len(self.examples):
            own = features[:, self.looked_at]
            distance = np.min([np.abs(own - example).sum(axis=1) for example in self.examples], axis=0)
        has_label = labels != ABSTAIN
        return outside * has_label, lacking * has_label, distance * has_label

    def strangeness(self, values: Integers, labels: Integers, scores: Integers | None = None) -> Integers:
        """How unlike these classes rows are; 0 for rows without a label.  Arguments as in :meth:`parts`."""
        outside, *further = self.parts(values, labels, scores)
        return OUTSIDE * outside + self.weights @ np.stack(further)

    def record(self) -> dict[str, Any]:
        """For the header of a model file."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> KnownRanges:
        """The ranges that gave a record that :func:`check_record` accepts."""
        arrays = {name: np.array(v, dtype=np.int64) for name, v in record.items() if isinstance(v, list)}
        arrays["pairs"] = arrays["pairs"].reshape(-1, 2)
        arrays["examples"] = arrays["examples"].reshape(-1, max(1, len(arrays["looked_at"])))
        return cls(**(dict(record) | arrays))


def looks_at_columns(inputs: Inputs) -> bool:
    """Whether features are made of the columns, or rather of the inputs of the networks.

    Bits of a column hide how far a value is out of range.
    """
    transform = inputs.transform
    return (
        transform is None
        or Takes.by(transform) is Takes.RAW_COLUMNS
        or bool(getattr(transform, "keeps_features", False))
    )


def values_of(inputs: Inputs, rows: Integers, seen: Integers | None = None) -> Integers:
    """What features are made of, for checked rows; ``seen`` is what the networks see of them if that is known.

    Means of sums are rounded towards zero."""
    if looks_at_columns(inputs):
        return inputs.integers(rows) if inputs.takes_integers else rows
    outputs, signs = inputs(rows) if seen is None else seen, summaries_of(inputs)
    if signs is None:
        return outputs
    sums = exact_product(outputs, signs)
    return np.sign(sums) * (np.abs(sums) // SUMMED)


def summaries_of(inputs: Inputs) -> Integers | None:
    """Signs of the inputs of the networks in the sums that features are made of; None if these are made of the inputs
    themselves, or of columns.

    Of a window, a single count varies much more than the sum of all counts of a level or a difference.
    """
    return getattr(inputs.transform, "summaries", None)


def levels_of(inputs: Inputs) -> Integers:
    """Positions of the values that tell how high each channel of a window is; none for other rows."""
    return np.asarray(getattr(inputs.transform, "level_summaries", ()), dtype=np.int64)


def count_of_values(inputs: Inputs) -> int:
    """How many values features may be made of."""
    signs = summaries_of(inputs)
    return inputs.features if looks_at_columns(inputs) else inputs.size if signs is None else signs.shape[1]


def single_features(values: Integers, centres: Integers, exponents: Integers) -> Integers:
    """Features of one column or input each."""
    apart = values.astype(np.int64) - centres
    up, down = np.maximum(exponents, 0), np.maximum(-exponents, 0)
    # At most 2^32 becomes at most 2^39.
    scaled = np.sign(apart) * ((np.abs(apart) << np.where(exponents == IS_LEVEL, 0, up)) >> down)
    scaled = np.where(exponents == IS_LEVEL, np.where(values < 0, -LARGEST, 0), scaled)
    return np.where(values == MISSING, 0, np.clip(scaled, -LARGEST, LARGEST))


def pair_features(single: Integers, pairs: Integers, sums: int) -> Integers:
    """Halves of sums and differences of two features, rounded towards zero."""
    first, second = single[:, pairs[:, 0]], single[:, pairs[:, 1]]
    both = first + np.where(np.arange(len(pairs)) < sums, second, -second)
    return np.sign(both) * (np.abs(both) >> 1)


def margins(scores: Integers, labels: Integers, classes: int, halvings: Integers) -> Integers:
    """Smallest score by which the networks of a row's class prefer it to another, in units of each network.

    At most :data:`LARGEST`, and 0 if one prefers another class.  Networks tell all pairs of classes apart, in order.
    """
    least = np.full(len(labels), LARGEST)
    for (first, second), column, halved in zip(class_subsets(classes, 2), scores.T, halvings, strict=True):
        for label, towards in ((first, column), (second, -column)):
            own = labels == label
            least[own] = np.minimum(least[own], np.maximum(0, towards[own]) >> halved)
    return least


_MEMBERS = {field.name for field in fields(KnownRanges)}


def check_record(record: Any, classes: int, values: int) -> None:
    """Raise ValueError unless a file's record describes ranges of so many classes, over so many columns or inputs."""
    given = members(record, "known_ranges", _MEMBERS)
    count = len(listed(given["positions"], "positions", MOST_SINGLE))
    for place in given["positions"]:
        whole(place, "a position", 0, values - 1)
    for centre in listed(given["centres"], "centres", count, count):
        whole(centre, "a centre", -LARGEST_READING, LARGEST_READING)
    for exponent in listed(given["exponents"], "exponents", count, count):
        if exponent != IS_LEVEL:
            whole(exponent, "an exponent", DOUBLINGS[0], DOUBLINGS[-1])
    pairs = listed(given["pairs"], "pairs", MOST_PAIRS)
    for pair in pairs:
        for place in listed(pair, "a pair", 2, 2):
            whole(place, "a feature of a pair", 0, count - 1)
    whole(given["sums"], "sums", 0, len(pairs))
    features = count + len(pairs)
    for start in listed(given["starts"], "starts", features, features):
        whole(start, "a start", -LARGEST, LARGEST)
    for shift in listed(given["shifts"], "shifts", features, features):
        whole(shift, "a shift", 0, 4)
    for of_class in listed(given["steps"], "steps", classes, classes):
        for steps in listed(of_class, "the steps of a class", features, features):
            low, high = (whole(step, "a step", 0, STEPS - 1) for step in listed(steps, "the steps of a range", 2, 2))
            if low > high:
                raise ValueError("a range must not end below its start")
    networks = classes * (classes - 1) // 2
    halvings = listed(given["halvings"], "halvings", networks)
    if halvings and not 1 < len(halvings) == networks <= MOST_MARGINS:
        raise ValueError("halvings must be those of all pairs of three or more classes")
    for halved in halvings:
        whole(halved, "a number of halvings", 0, 31)
    whole(given["usual_margin"], "usual_margin", 0, LARGEST)
    looked_at = listed(given["looked_at"], "looked_at", count)
    for place in looked_at:
        whole(place, "a feature of examples", 0, count - 1)
    for example in listed(given["examples"], "examples", MOST_EXAMPLES // max(1, len(looked_at)) if looked_at else 0):
        for feature in listed(example, "an example", len(looked_at), len(looked_at)):
            whole(feature, "a feature of an example", -LARGEST, LARGEST)
    for weight in listed(given["weights"], "weights", 2, 2):
        whole(weight, "a weight", 0, MOST_WEIGHT)
    whole(given["threshold"], "threshold", 0, 2**31 - 1)
    whole(given["tested"], "tested", 1, 2**31 - 1)
    whole(given["recordings"], "recordings", 0, given["tested"])
    unseen = given["unseen"]
    if unseen is not None and (type(unseen) is not float or not 0 <= unseen <= 1):
        raise ValueError("unseen must be a share")
    if type(given["asked"]) is not float or not 0 < given["asked"] <= LARGEST_SHARE:
        raise ValueError(f"asked must be a share of at most {LARGEST_SHARE}")
