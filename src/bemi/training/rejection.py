"""Fits the ranges by which unknown rows are recognised, and the threshold that rejects a given share of known rows.

Ranges contain all rows that they are fitted on, so the strangeness of these says nothing.  Every row is therefore
judged by ranges, and labelled by SVMs, that were fitted without it and without its recording.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils import _safe_indexing

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.subsets import class_subsets
from bemi.ensemble.unknown import (
    DOUBLINGS,
    IS_LEVEL,
    LARGEST,
    MOST_EXAMPLES,
    MOST_MARGINS,
    MOST_PAIRS,
    MOST_SINGLE,
    MOST_WEIGHT,
    OUTSIDE,
    STEPS,
    KnownRanges,
    levels_of,
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
from bemi.training.svm import Answers
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

EXAMPLES_OF_CLASS = 2
"""Fewer examples than this for each class are not compared: a window of many channels would need too much memory."""

EXAMPLES_COUNT = 0.5
MARGINS_MAY_COUNT = (0.0, 0.25, 1.0)
"""Shares of ranges, in units of how much both vary between known rows.  That of margins is chosen: the one with which
rows are told best from those of a class that is left out."""

BEYOND = 2**31
"""Size of a score that is never the smallest."""

MARGIN_BITS = 7
"""Half of the training rows of a network's classes have scores of at most so many bits once these are halved."""

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
    inputs = ensemble.inputs
    rows = inputs.checked(tested.X)
    ranges, _ = fitted_ranges(inputs, values_of(inputs, rows), tested.targets, classes)
    ranges = replace(ranges, halvings=_halvings(ensemble, tested), usual_margin=LARGEST)
    known, unlike = [], []
    for fold, answers, held in zip(tested.folds, tested.answers, tested.held, strict=True):
        values = values_of(fold.inputs, fold.trained, fold.svm_rows.inputs.astype(np.int64))
        own, examples = fitted_ranges(fold.inputs, values, fold.svm_rows.targets, classes)
        own = replace(own, halvings=ranges.halvings, usual_margin=LARGEST)
        values = values_of(fold.inputs, fold.held_out, fold.tested.astype(np.int64))
        scores = _as_of_networks(ensemble, answers)
        known.append(own.parts(values, answers.labels, scores))
        if classes > 2:
            of_examples = fold.svm_rows.targets[examples]
            unlike += _left_out(own, of_examples, values, answers, scores, tested.targets[held])
    told = _parts(known)
    ranges, strange, others = _weighted(ranges, told, _parts([parts for _, parts in unlike]) if unlike else None)
    # Of n new rows and this one, each is equally likely to be the strangest.
    place = min(len(strange), math.ceil((1 - asked) * (len(strange) + 1)))
    threshold = int(np.sort(strange)[place - 1])
    unseen = None
    if others is not None:
        of_class = np.repeat([label for label, _ in unlike], [len(parts[0]) for _, parts in unlike])
        # Each class counts the same.
        unseen = float(np.mean([(others[of_class == label] > threshold).mean() for label in np.unique(of_class)]))
    known_ranges = replace(
        ranges,
        threshold=threshold,
        asked=asked,
        tested=len(strange),
        recordings=0 if of_group is None else len(np.unique(of_group)),
        unseen=unseen,
    )
    return replace(ensemble, known_ranges=known_ranges)


Parts = tuple[Integers, Integers, Integers]
"""As :meth:`KnownRanges.parts` gives them."""


def _parts(pieces: Sequence[Parts]) -> Parts:
    outside, lacking, distance = map(np.concatenate, zip(*pieces, strict=True))
    return outside, lacking, distance


def _weighted(ranges: KnownRanges, told: Parts, others: Parts | None) -> tuple[KnownRanges, Integers, Integers | None]:
    """The ranges with weights, and how strange held-out rows, and those of classes left out, are with these.

    What parts lack is counted from :data:`LARGEST`; margins below the median are strange.
    """
    usual = LARGEST - int(np.median(told[1]))
    told, others = _below(usual, told), None if others is None else _below(usual, others)
    unit, of_margins = OUTSIDE * _spread(told[0]), 1 / _spread(told[1])
    of_examples = EXAMPLES_COUNT / _spread(told[2]) if len(ranges.examples) else 0.0
    best = (0.0, 0.0)
    for share in MARGINS_MAY_COUNT if ranges.needs_scores and others is not None else (0.0,):
        shares = np.array([share * of_margins, of_examples])
        weights = np.minimum(np.rint(unit * shares), MOST_WEIGHT).astype(np.int64)
        area = 1.0 if others is None else _area(_summed(weights, told), _summed(weights, others))
        if area > best[0]:
            best, ranges = (area, share), replace(ranges, weights=weights, usual_margin=usual)
    if best[1] == 0:
        ranges = replace(ranges, halvings=ranges.halvings[:0], usual_margin=0)
    return ranges, _summed(ranges.weights, told), None if others is None else _summed(ranges.weights, others)


def _below(usual: int, parts: Parts) -> Parts:
    outside, lacking, distance = parts
    return outside, np.maximum(0, lacking - (LARGEST - usual)), distance


def _summed(weights: Integers, parts: Parts) -> Integers:
    outside, *further = parts
    return OUTSIDE * outside + weights @ np.stack(further)


def _area(known: Integers, others: Integers) -> float:
    """Area under the curve of the others against known rows."""
    return float(roc_auc_score(np.repeat([0, 1], [len(known), len(others)]), np.concatenate([known, others])))


def _spread(part: Integers) -> float:
    """By how much the larger values exceed the median, at least 1."""
    middle, large = np.quantile(part, (0.5, 0.95))
    return max(1.0, float(large - middle))


def _halvings(ensemble: Ensemble, tested: HeldOut) -> Integers:
    """Of the score of each network; none unless the networks tell all pairs of three or more classes apart."""
    pairs = class_subsets(len(ensemble.classes), 2)
    if not 1 < len(pairs) <= MOST_MARGINS or len(ensemble.layers) > 2 or not np.array_equal(ensemble.subsets, pairs):
        return np.empty(0, dtype=np.int64)
    sizes = np.abs(ensemble.scores(tested.X))
    medians = [np.median(sizes[np.isin(tested.targets, pair), n]) for n, pair in enumerate(pairs)]
    return np.array([max(0, int(median).bit_length() - MARGIN_BITS) for median in medians])


def _as_of_networks(ensemble: Ensemble, answers: Answers) -> Integers:
    """Scores of SVMs in the units of the networks: as if they had weights of the same size."""
    scores = np.zeros((len(answers.labels), len(ensemble.networks)))
    places = {tuple(pair): place for place, pair in enumerate(ensemble.subsets.tolist())}
    for pair, norm, column in zip(answers.pairs.tolist(), answers.norms, answers.scores.T, strict=True):
        place = places.get(tuple(pair))
        if place is not None:
            scores[:, place] = column * (np.abs(ensemble.networks[place].weights[0]).sum() / norm)
    return np.rint(scores).astype(np.int64)


def _left_out(
    ranges: KnownRanges, of_examples: Integers, values: Integers, answers: Answers, scores: Integers, targets: Integers
) -> list[tuple[int, Parts]]:
    """For each class of the rows, what they are told by without that class: its ranges, examples and networks."""
    found, labels = [], answers.among_others(targets)
    for label in np.unique(targets).tolist():
        own = targets == label
        without = scores[own]
        if ranges.needs_scores:
            first, second = class_subsets(len(ranges.steps), 2).T
            without[:, first == label], without[:, second == label] = -BEYOND, BEYOND
        examples = ranges.examples[of_examples != label] if len(ranges.examples) else ranges.examples
        found.append((label, replace(ranges, examples=examples).parts(values[own], labels[own], without)))
    return found


def fitted_ranges(inputs: Inputs, values: Integers, targets: Integers, classes: int) -> tuple[KnownRanges, Integers]:
    """Ranges and examples of rows of these classes, and which rows are examples; without weights and a threshold.

    A range ends the mean distance from the class's median beyond the outermost row.
    """
    centres, exponents = _scale(inputs, values)
    every = single_features(values, centres, exponents)
    fixed = () if looks_at_columns(inputs) or summaries_of(inputs) is not None else inputs.constant_inputs
    levels = levels_of(inputs)
    if EXAMPLES_OF_CLASS * classes * len(levels) > MOST_EXAMPLES:
        levels = levels[:0]
    table_bytes = TABLE_BYTES - (2 * MOST_EXAMPLES if len(levels) else 0)
    features = max(FEWEST, min(MOST_SINGLE + MOST_PAIRS, table_bytes // (classes + 2)))
    positions = _positions(every, targets, classes, fixed, min(MOST_SINGLE, features * 2 // 3))
    positions = np.union1d(positions, levels)
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
    looked_at = np.searchsorted(positions, levels)
    examples = _examples(single[:, looked_at]) if len(levels) else np.empty(0, dtype=np.int64)
    ranges = KnownRanges(
        positions=positions,
        centres=centres[positions],
        exponents=exponents[positions],
        pairs=pairs,
        sums=sums,
        starts=starts,
        shifts=shifts,
        steps=steps,
        halvings=np.empty(0, dtype=np.int64),
        usual_margin=0,
        looked_at=looked_at,
        examples=single[examples][:, looked_at],
        weights=np.zeros(2, dtype=np.int64),
        threshold=0,
        asked=1.0,
        tested=0,
        recordings=0,
        unseen=None,
    )
    return ranges, examples


def _examples(features: Integers) -> Integers:
    """As many rows as there is memory for: the most central one, then the one that is farthest from those before."""
    chosen = [int(np.abs(features - np.median(features, axis=0)).sum(axis=1).argmin())]
    nearest = np.abs(features - features[chosen[0]]).sum(axis=1)
    while nearest.max() > 0 and (len(chosen) + 1) * features.shape[1] <= MOST_EXAMPLES:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.abs(features - features[chosen[-1]]).sum(axis=1))
    return np.array(chosen)


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
