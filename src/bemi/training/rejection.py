"""Fits the ranges by which unknown rows are recognised, and the threshold that rejects a given share of known rows.

Ranges contain all rows that they are fitted on, so the strangeness of these says nothing.  Every row is therefore
judged by ranges, and labelled by SVMs, that were fitted without it and without its recording.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.unknown import (
    DOUBLINGS,
    IS_LEVEL,
    LARGEST,
    MOST_PAIRS,
    MOST_SINGLE,
    STEPS,
    KnownRanges,
    looks_at_columns,
    pair_features,
    single_features,
    summaries_of,
    values_of,
)
from bemi.exact import Integers
from bemi.inputs.fixed_point import LARGEST_READING, MISSING
from bemi.inputs.inputs import Inputs
from bemi.inputs.table.cells import as_given
from bemi.training.folds import FOLDS, HeldOut
from bemi.training.plan import seed_of
from bemi.training.training_set import Given, class_weights, given_weights
from bemi.training.validation import labels_of

MOST_ROWS = 2000
"""Ranges, and the threshold, are fitted on at most this many rows: those of more rows would be wider than those of the
folds."""

FEW_ROWS, MANY_FOLDS = 500, 10
"""Up to so many rows there are more folds, whose ranges are nearly those of all rows."""

DEVIATION = 8
"""A standard deviation of a column as a feature, up to a power of two: so 16 of them are told apart."""

TABLE_BYTES, FEWEST = 480, 24
"""Bytes of starts, shifts and steps, by which the number of features is limited, but not below the second number."""

PAIRS = 2 / 3
"""Pairs for each feature of one column or input: more of them cost tables of few columns more than they recognise."""


def with_known_ranges(ensemble: Ensemble, settings: Mapping[str, Any], given: Given) -> Ensemble:
    """The ensemble with ranges that reject about ``settings["reject"]`` of known rows."""
    rows = as_given(given.X)
    labels = labels_of(given.y, rows)
    weights = given_weights(given.sample_weight, len(labels))
    counted = np.flatnonzero(weights)
    rows, labels, weights = _safe_indexing(rows, counted), labels[counted], weights[counted]
    targets = ensemble.class_indices(labels)
    weights = weights * class_weights(settings["class_weight"], ensemble.classes, targets, weights)[targets]
    of_group = None if given.groups is None else np.asarray(given.groups)[counted]
    seed, asked, classes = seed_of(settings["random_state"]), float(settings["reject"]), len(ensemble.classes)
    folds = MANY_FOLDS if len(rows) <= FEW_ROWS else FOLDS
    tested = HeldOut.of(
        settings, rows, labels, weights=weights, groups=of_group, seed=seed, most=MOST_ROWS, folds=folds
    )
    if not tested.folds:
        what, few = "rows" if of_group is None else "recordings", ensemble.classes[int(tested.groups.argmin())]
        raise ValueError(f"reject needs at least two {what} of every class, and class {few} has one; leave reject out")
    strange, unlike = [], []
    for fold, answers, held in zip(tested.folds, tested.answers, tested.held, strict=True):
        values = values_of(fold.inputs, fold.trained, fold.svm_rows.inputs.astype(np.int64))
        ranges = fitted_ranges(fold.inputs, values, fold.svm_rows.targets, classes)
        values = values_of(fold.inputs, fold.held_out, fold.tested.astype(np.int64))
        strange.append(ranges.strangeness(values, answers.labels))
        if classes > 2:
            unlike.append(ranges.strangeness(values, answers.among_others(tested.targets[held])))
    inputs = ensemble.inputs
    ranges = fitted_ranges(inputs, values_of(inputs, inputs.checked(tested.X)), tested.targets, classes)
    # Of n new rows and this one, each is equally likely to be the strangest.
    held_out = np.sort(np.concatenate(strange))
    place = min(len(held_out), math.ceil((1 - asked) * (len(held_out) + 1)))
    recordings = 0 if of_group is None else len(np.unique(of_group))
    threshold = int(held_out[place - 1])
    known = replace(
        ranges,
        threshold=threshold,
        asked=asked,
        tested=len(held_out),
        recordings=recordings,
        # Each class counts the same.
        unseen=_of_classes(np.concatenate(unlike) > threshold, tested) if unlike else None,
    )
    return replace(ensemble, known_ranges=known)


def fitted_ranges(inputs: Inputs, values: Integers, targets: Integers, classes: int) -> KnownRanges:
    """Ranges of rows of these classes; without a threshold.

    A range ends the mean distance from the class's median beyond the outermost row.
    """
    centres, exponents = _scale(inputs, values)
    every = single_features(values, centres, exponents)
    fixed = () if looks_at_columns(inputs) or summaries_of(inputs) is not None else inputs.constant_inputs
    features = max(FEWEST, min(MOST_SINGLE + MOST_PAIRS, TABLE_BYTES // (classes + 2)))
    positions = _positions(every, targets, classes, fixed, min(MOST_SINGLE, features * 2 // 3))
    most = min(MOST_PAIRS, features - features * 2 // 3, round(PAIRS * len(positions)))
    pairs, sums = _pairs(every[:, positions], targets, classes, most)
    single = every[:, positions]
    seen = np.concatenate([single, pair_features(single, pairs, sums)], axis=1)
    middles = _medians(seen, targets, classes)
    room = np.rint(np.abs(seen - middles[targets]).sum(axis=0) / max(1, len(seen) - classes)).astype(np.int64)
    ends = [(seen[targets == label].min(axis=0), seen[targets == label].max(axis=0)) for label in range(classes)]
    low = np.clip(np.array([least for least, _ in ends]) - room, -LARGEST, LARGEST)
    high = np.clip(np.array([most for _, most in ends]) + room, -LARGEST, LARGEST)
    starts = low.min(axis=0)
    spans = high.max(axis=0) - starts
    shifts = np.array([max(0, int(-(-span // (STEPS - 1)) - 1).bit_length()) for span in spans.tolist()])
    # Rounded outward.
    steps = np.stack([(low - starts) >> shifts, -((starts - high) >> shifts)], axis=2)
    return KnownRanges(
        positions, centres[positions], exponents[positions], pairs, sums, starts, shifts, steps, 0, 1.0, 0, 0, None
    )


def _of_classes(rejected: NDArray[np.bool_], tested: HeldOut) -> float:
    """Mean over the classes of the share of rows that are rejected, fold by fold."""
    own = np.concatenate([tested.targets[held] for held in tested.held])
    return float(np.mean([rejected[own == label].mean() for label in np.unique(own)]))


def _scale(inputs: Inputs, values: Integers) -> tuple[Integers, Integers]:
    """Centres and exponents by which columns, or inputs of the networks, become features."""
    if not looks_at_columns(inputs):
        low, high = inputs.bounds(inputs.scaling.low, inputs.scaling.high)
        centre = int(low.min() + high.max()) // 2
        reach = int(high.max()) - centre
        count = values.shape[1]
        return np.full(count, centre), np.full(count, -(max(0, reach - 1) // LARGEST).bit_length())
    levels = [unit.get("levels") is not None for unit in inputs.reading_units() or ()] or [False] * values.shape[1]
    scales = [
        (0, IS_LEVEL) if is_level else _of_column(column) for column, is_level in zip(values.T, levels, strict=True)
    ]
    centres, exponents = np.array(scales, dtype=np.int64).T
    return centres, exponents


def _of_column(column: Integers) -> tuple[int, int]:
    """Centre and exponent of a column of numbers; one that never changed is seen at a hundredth of its size."""
    there = column[column != MISSING]
    if not len(there):
        return 0, DOUBLINGS[0]
    centre = int(np.clip(np.floor(np.median(there)), -LARGEST_READING, LARGEST_READING))
    deviation = float(there.std()) or max(1.0, abs(centre) / 100)
    return centre, int(np.clip(round(math.log2(DEVIATION / deviation)), DOUBLINGS[0], DOUBLINGS[-1]))


def _positions(every: Integers, targets: Integers, classes: int, fixed: tuple[int, ...], most: int) -> Integers:
    """Which features are looked at: half of them evenly spread, which are all kinds of inputs, and half those that vary
    least within the classes, each the best of evenly spread ones."""
    able = np.setdiff1d(np.arange(every.shape[1]), fixed)
    if len(able) <= most:
        return able
    within = np.abs(every - _medians(every, targets, classes)[targets]).mean(axis=0)
    total = np.abs(every - np.floor(np.median(every, axis=0))).mean(axis=0)
    varies = np.where(total > 0, (within + 1) / (total + 1), np.inf)[able]
    half = most // 2
    even = np.arange(half) * len(able) // half
    best = [start + half * int(varies[start::half].argmin()) for start in range(half)]
    return able[np.unique([*even.tolist(), *best])]


def _pairs(single: Integers, targets: Integers, classes: int, most: int) -> tuple[Integers, int]:
    """The pairs that are most correlated within classes, and how many of them are sums, which come first.

    Sums and differences vary least where features are correlated, sums where the correlation is negative.
    """
    apart = (single - _medians(single, targets, classes)[targets]).astype(np.float64)
    lengths = np.sqrt((apart**2).sum(axis=0))
    correlations = apart.T @ apart / np.maximum(np.outer(lengths, lengths), 1e-9)
    first, second = np.triu_indices(single.shape[1], 1)
    own = correlations[first, second]
    order = np.argsort(-np.abs(own), kind="stable")[:most]
    order = order[np.abs(own[order]) > 0]
    order = order[np.argsort(own[order] > 0, kind="stable")]
    return np.stack([first[order], second[order]], axis=1), int((own[order] < 0).sum())


def _medians(features: Integers, targets: Integers, classes: int) -> Integers:
    """Median of each feature in each class."""
    middles = [np.floor(np.median(features[targets == label], axis=0)) for label in range(classes)]
    return np.array(middles).astype(np.int64)
