"""Rules: several conditions on columns together, which tell what single bits do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import GradientBoostingClassifier

from bemi.exact import Integers
from bemi.inputs.fixed_point import MISSING
from bemi.inputs.table.columns import AtLeast, Column, Condition, IsLevel, IsMissing, Output, Rule, shortest_between

LEAVES = 8
"""Of a tree: most rules have three or four conditions."""

FEWEST_ROWS = 10
"""Of the training rows at which a rule was found."""

LEARNING_RATE = 0.3

PART = 0.5
"""Share of the rows that each tree sees, which makes the trees different."""

ENOUGH_ROWS, MOST_ROWS = 10_000, 40_000
"""Of more rows than the first, each split looks at fewer columns, so that trees take no longer; of more than the
second, so many are looked at, evenly spaced."""

_SEED = 0


@dataclass(frozen=True)
class _Feature:
    """What trees see of a column: the place of its reading among all, or whether it has a level or lacks the cell."""

    column: int
    readings: Integers
    bit: Output | None = None

    def of(self, readings: Integers) -> Integers:
        own = readings[:, self.column]
        return np.searchsorted(self.readings, own) if self.bit is None else (own == self.bit.reading).astype(np.int64)

    def above(self, place: int) -> Condition:
        """The condition of being beyond a place."""
        if self.bit is not None:
            return Condition(self.bit, True)
        below, above = int(self.readings[place]), int(self.readings[place + 1])
        if below == MISSING:
            return Condition(IsMissing(self.column, MISSING), False)
        return Condition(AtLeast(self.column, shortest_between(below, above)), True)


def evenly_spaced(rows: int, most: int) -> NDArray[np.int64]:
    """At most so many of the rows."""
    return np.unique(np.linspace(0, rows - 1, most).astype(np.int64))


def _features(columns: Sequence[Column], readings: Integers) -> list[_Feature]:
    features = []
    for place, column in enumerate(columns):
        if column.levels is None or column.thresholds:
            features.append(_Feature(place, np.unique(readings[:, place])))
            continue
        bits: list[Output] = [IsLevel(place, level) for level in column.bit_levels]
        bits += [IsMissing(place, MISSING)] if column.has_missing else []
        features += [_Feature(place, np.arange(2), bit) for bit in bits]
    return features


def holds(rule: Rule, readings: Integers) -> NDArray[np.bool_]:
    """In which rows all conditions of a rule hold."""
    on = np.ones(len(readings), dtype=bool)
    for bit, wanted in rule.conditions:
        own = readings[:, bit.column]
        on &= (own >= bit.reading if isinstance(bit, AtLeast) else own == bit.reading) == wanted
    return on


def best_rules(columns: Sequence[Column], readings: Integers, y: ArrayLike, most: int, longest: int) -> list[Rule]:
    """At most so many different rules: leaves of the small trees that gradient boosting grows, in this order.

    Parameters
    ----------
    columns
        The columns, with levels and thresholds.
    readings
        Of the training rows, shape (rows, columns).
    y
        Labels.
    most
        Number of rules.
    longest
        Most conditions of a rule.
    """
    some = evenly_spaced(len(readings), MOST_ROWS)
    readings, labels = readings[some], np.asarray(y)[some]
    features = _features(columns, readings)
    if len(np.unique(labels)) < 2 or not features:
        return []
    seen = np.stack([feature.of(readings) for feature in features], axis=1).astype(np.float32)
    of_round = LEAVES * (1 if len(np.unique(labels)) == 2 else len(np.unique(labels)))
    boosting = GradientBoostingClassifier(
        n_estimators=-(-most // of_round) + 1,
        learning_rate=LEARNING_RATE,
        max_depth=longest,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=min(FEWEST_ROWS, max(1, int(PART * len(labels)) // 4)),
        subsample=PART,
        max_features=min(1.0, ENOUGH_ROWS / len(labels)),
        random_state=_SEED,
    ).fit(seen, labels)
    rules: dict[bytes, Rule] = {}
    for tree in boosting.estimators_.ravel():
        for conditions in _leaves(tree.tree_, features):
            if len(conditions) > 1:
                rule = Rule(0, 0, conditions)
                on = holds(rule, readings)
                # What holds in the same rows is the same rule.
                if on.any() and not on.all():
                    rules.setdefault(np.packbits(on).tobytes(), rule)
    return list(rules.values())[:most]


def _leaves(tree: object, features: Sequence[_Feature]) -> Iterator[tuple[Condition, ...]]:
    """The conditions of each leaf, without those that others imply."""
    left, right, tested, threshold = (
        getattr(tree, name).tolist() for name in ("children_left", "children_right", "feature", "threshold")
    )
    nodes: list[tuple[int, dict[tuple[int, bool], int]]] = [(0, {})]
    while nodes:
        node, limits = nodes.pop()
        if left[node] < 0:
            yield tuple(
                Condition(condition.bit, condition.holds == beyond)
                for (feature, beyond), place in sorted(limits.items())
                for condition in (features[feature].above(place),)
            )
            continue
        place, lower, upper = int(threshold[node]), (tested[node], False), (tested[node], True)
        nodes.append((right[node], {**limits, upper: max(place, limits.get(upper, place))}))
        nodes.append((left[node], {**limits, lower: min(place, limits.get(lower, place))}))
