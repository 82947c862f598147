"""Probabilities of the classes, from the integer scores of networks that tell two classes apart.

Training fits a :class:`Sigmoid` to each network.  For prediction it becomes a :class:`ProbabilityTable`: bytes over the
clipped score.  The probabilities of more than two classes are coupled from those of all pairs.  Everything here is
integer arithmetic that fits 32 bits, except where noted, so that C, ONNX and JavaScript give the same numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import cache
from typing import Any

import numpy as np

from bemi.checks import check_number
from bemi.ensemble.subsets import class_subsets
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers
from bemi.inputs.inputs import Inputs
from bemi.network import Network

UNIT = 2**32
"""Denominator of slopes, intercepts and shares."""

LARGEST_SLOPE = 2**40
LARGEST_INTERCEPT = 2**40
"""Log-odds of 256, far beyond what a byte can tell from certainty."""

CERTAIN = 256
"""Denominator of the bytes in tables, which are in 1..255."""

UNDECIDED = UNIT // 64
"""Log-odds at least this far from even, with the sign of the score, so that a byte is never exactly a half."""

WHOLE = 2**16
"""Denominator of probabilities."""

LONGEST_TABLE = 128
"""Entries of a table.  Neighbours then differ by at most a sixth in log-odds, which costs no measurable log-loss."""

MOST_CLASSES = 2**10
"""Sums of as many reciprocals fit into 31 bits."""

RECIPROCAL = 2**20
SHARE = 2**28
"""Numerators of 1/r in units of 2^-12, and of probabilities in units of 2^-16 from sums of these."""


@cache
def _thresholds() -> tuple[int, ...]:
    """Twice the log-odds, over 2^32, from which on a probability is rounded to 2, 3, ..., 255 256ths.

    Decimal logarithms are correctly rounded on every platform; those of floating point are not.
    """
    exact = Context(prec=40)
    odds = (exact.divide(Decimal(2 * byte - 1), Decimal(2 * CERTAIN + 1 - 2 * byte)) for byte in range(2, CERTAIN))
    return tuple(int((2 * UNIT * exact.ln(ratio)).to_integral_value()) for ratio in odds)


@dataclass(frozen=True)
class Sigmoid:
    """Log-odds of the first class of a network: ``(slope * score + intercept) / 2^32``, Platt's sigmoid.

    The label is the sign of the score, which is right more often than the side of even odds.  So that the more probable
    class is the label, log-odds of the wrong sign are replaced by the smallest that a byte shows.

    Attributes
    ----------
    slope
        At least 0: a larger score never makes the first class less likely.
    intercept
        Log-odds at score 0, with the prior of the training rows.
    moved
        Added at the end, for another prior; None in files written before labels and probabilities agreed.
    """

    slope: int
    intercept: int
    moved: int | None = 0

    @classmethod
    def of(cls, slope: float, intercept: float) -> Sigmoid:
        """The sigmoid of real numbers, rounded and clipped to the range that files hold."""
        return cls(max(0, min(LARGEST_SLOPE, round(slope * UNIT))), _inside(intercept * UNIT))

    def shifted(self, log_odds: float) -> Sigmoid:
        """The sigmoid with this added to the log-odds."""
        if self.moved is None:
            return replace(self, intercept=_inside(self.intercept + log_odds * UNIT))
        return replace(self, moved=_inside(self.moved + log_odds * UNIT))

    def probability(self, twice_score: int) -> int:
        """``256 / (1 + exp(-log-odds))`` at half of ``twice_score``, rounded to 1..255."""
        twice = self.slope * twice_score + 2 * self.intercept
        if self.moved is not None:
            decided = max(twice, 2 * UNDECIDED) if twice_score >= 0 else min(twice, -2 * UNDECIDED)
            twice = decided + 2 * self.moved
        return 1 + bisect_right(_thresholds(), twice)


@dataclass(frozen=True)
class ProbabilityTable:
    """Probability of the first class by score: ``entries[(clip(score, start, end) - start) >> shift] / 256``.

    Attributes
    ----------
    start, shift
        The smallest score that the table tells from smaller ones, and how many low bits of a score it ignores.
    entries
        Numbers in 1..255.
    """

    start: int
    shift: int
    entries: tuple[int, ...]

    @classmethod
    def of(cls, sigmoid: Sigmoid, lowest: int, highest: int) -> ProbabilityTable:
        """The table of a sigmoid for scores in ``lowest..highest``; scores beyond count as the nearest of these."""
        # Up to the one score and from the other on, which bisection finds, the byte does not change.
        least, most = sigmoid.probability(2 * lowest), sigmoid.probability(2 * highest)
        first = _last(lowest, highest, lambda score: sigmoid.probability(2 * score) == least)
        last = -_last(-highest, -first, lambda score: sigmoid.probability(-2 * score) == most)
        shift = 0
        while (last - first) >> shift > LONGEST_TABLE - 4:
            shift += 1
        width = 1 << shift
        # Entry 0 ends with the first score or before it, and the last entry begins near the last one; in between, the
        # middle of the scores of an entry stands for them all.  No entry has scores of both signs.
        start = (first + 1) // width * width - width
        middles = range(2 * start + width - 1, 2 * last, 2 * width)
        between = (max(least, sigmoid.probability(middle)) for middle in middles[1:])
        return cls(start, shift, (least, *between, *([most] if last > first else [])))

    @property
    def end(self) -> int:
        """The largest score that the table tells from larger ones."""
        return self.start + (len(self.entries) << self.shift) - 1

    def __call__(self, scores: Integers) -> Integers:
        """Probabilities in 256ths."""
        return np.array(self.entries)[(np.clip(scores, self.start, self.end) - self.start) >> self.shift]


@dataclass(frozen=True)
class Probabilities:
    """How scores become probabilities; part of an ensemble with a network for every pair of classes.

    Attributes
    ----------
    sigmoids
        One per network.
    prior
        Shares of the classes that the sigmoids assume, as numerators over 2^32: those of the training rows, unless
        :meth:`with_prior` changed them.
    tables
        The sigmoids as tables.
    """

    sigmoids: tuple[Sigmoid, ...]
    prior: tuple[int, ...]
    tables: tuple[ProbabilityTable, ...]

    @classmethod
    def of(
        cls, sigmoids: Sequence[Sigmoid], prior: Sequence[int], networks: Sequence[Network], inputs: Inputs
    ) -> Probabilities:
        """Probabilities with tables for the scores that inputs like the training rows can have."""
        low, high = inputs.bounds(inputs.scaling.low, inputs.scaling.high)
        tables = [ProbabilityTable.of(s, *_scores(n, low, high)) for s, n in zip(sigmoids, networks, strict=True)]
        return cls(tuple(sigmoids), tuple(prior), tuple(tables))

    def with_prior(self, shares: Sequence[float], networks: Sequence[Network], inputs: Inputs) -> Probabilities:
        """The probabilities for rows among which the classes have these shares.

        For classes i, j of a pair, ``log((share_i / prior_i) / (share_j / prior_j))`` is added to the log-odds.
        """
        prior = [max(1, round(share * UNIT)) for share in shares]
        moves = np.log(prior) - np.log(self.prior)
        pairs = class_subsets(len(prior), 2)
        sigmoids = [s.shifted(float(moves[i] - moves[j])) for s, (i, j) in zip(self.sigmoids, pairs, strict=True)]
        return Probabilities.of(sigmoids, prior, networks, inputs)

    def of_scores(self, scores: Integers) -> Integers:
        """Probabilities of the classes in 65536ths, at least 1, from all scores, shape (rows, networks).

        Their sum is 65536 for two classes, and up to rounding for more.
        """
        firsts = np.stack([table(column) for table, column in zip(self.tables, scores.T, strict=True)], axis=1)
        return coupled(firsts, len(self.prior))


def _inside(number: float) -> int:
    """A number of log-odds in the range that files hold."""
    return max(-LARGEST_INTERCEPT, min(LARGEST_INTERCEPT, round(number)))


def shares_of(given: Mapping[Any, float], labels: Sequence[Any]) -> list[float]:
    """Shares of the classes, in the order of their labels, divided by their sum; ValueError if one is missing."""
    unknown = [label for label in given if label not in labels]
    missing = [label for label in labels if label not in given]
    if unknown or missing:
        wrong = f"{unknown[0]!r} is not a class" if unknown else f"class {missing[0]!r} has none"
        raise ValueError(f"a prior needs a share for every class: {wrong}")
    for label, share in given.items():
        check_number(f"the share of class {label!r}", share, positive=True)
    total = sum(given.values())
    return [given[label] / total for label in labels]


def coupled(firsts: Integers, classes: int) -> Integers:
    """Probabilities of the classes in 65536ths, from those of each pair's first class in 256ths, shape (rows, pairs).

    With r_ij the probability of i against j, ``p_i = 1 / (sum_j 1 / r_ij - (k - 2))``, then divided by their sum
    (Price, Knerr, Personnaz and Dreyfus, 1995).  Quotients are floors, except that the last is rounded.
    """
    if classes == 2:
        return firsts * (WHOLE // CERTAIN) @ np.array([[1, -1]]) + np.array([0, WHOLE])
    sums = np.full((len(firsts), classes), -(classes - 2) * (RECIPROCAL // CERTAIN))
    for column, (i, j) in zip(firsts.T, class_subsets(classes, 2), strict=True):
        sums[:, i] += RECIPROCAL // column
        sums[:, j] += RECIPROCAL // (CERTAIN - column)
    shares = np.maximum(1, SHARE // sums)
    total = shares.sum(axis=1, keepdims=True)
    return np.maximum(1, (shares * WHOLE + total // 2) // total)


def _scores(network: Network, low: Integers, high: Integers) -> tuple[int, int]:
    """Smallest and largest score of a network for inputs in ``low..high``."""
    weights = network.weights[0][:, 0].astype(object)
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    limit = PRE_ACTIVATION_LIMIT // 4  # room for a table's end beyond the largest score
    lowest, highest = int(up @ low + down @ high), int(up @ high + down @ low)
    return max(-limit, min(limit, lowest)), max(-limit, min(limit, highest))


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last number in ``low..high`` up to which a property holds, which it does at ``low``."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
