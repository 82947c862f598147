"""Sat-Margin's bound for networks with several outputs: tries every last layer.

The layers below are given all freedom: they may show the last layer any pattern of signs for any row.  For given last
weights a row then has at most as many confident outputs as its code's best pattern gives.  docs/certificates.md says
why few last layers have to be tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

from bemi.certificate.limits import KIND, LARGEST_MARGIN, CertificateError, Row, only, require, whole

_MOST_NEURONS, _MOST_KINDS = 8, 4000
_MOST_WORK = 1 << 24
"""Columns that may be tried, times patterns: what needs more is refused, since nobody would wait for it."""


def last_layer_bound(codes: Sequence[Row], neurons: int, weight_bound: int, proof: Any) -> int:
    """The proof's bound, after a check that no last layer lets more outputs be confident (R22).

    ``neurons`` is the number of neurons below the last layer.
    """
    bound = whole(only(proof, {"bound"}, KIND)["bound"], 0, LARGEST_MARGIN, "bound")
    require(len(codes), "there are no rows")
    rows: Counter[Row] = Counter()
    for code in codes:
        # With a pattern for a code, the opposite pattern does the same for the opposite code.
        rows[code if code[0] > 0 else tuple(-y for y in code)] += 1
    _refuse_better(neurons, weight_bound, tuple(sorted(rows.items())), bound)
    return bound


@lru_cache(maxsize=256)
def _refuse_better(neurons: int, weight_bound: int, rows: tuple[tuple[Row, int], ...], bound: int) -> None:
    """Refuse a ``bound`` that a last layer exceeds, and a search with too many layers to try (R22)."""
    small = neurons <= _MOST_NEURONS and math.comb(neurons + weight_bound, neurons) <= _MOST_KINDS
    require(small, "there are too many last layers to try")
    threshold = -(-weight_bound * (neurons + 1) // 4)
    outputs = len(rows[0][0])
    allowed = outputs * sum(count for _, count in rows) - bound - 1  # outputs that a better layer may lose
    kinds = _kinds(neurons, weight_bound, threshold)
    left = _MOST_WORK >> neurons
    everything = (1 << (1 << neurons)) - 1
    # An entry: the output to choose next, for each neuron its weights so far, for each code the patterns that have
    # lost at most 0, 1, ... of the outputs chosen.
    none: Row = ()
    stack = [(0, [none] * neurons, [[everything] for _ in rows])]
    while stack:
        at, weights, patterns = stack.pop()
        for kind in kinds:
            for column in _columns(kind, weights):
                left -= 1
                require(left >= 0, "there are too many last layers to try")
                plus = _confident(column, threshold)
                minus = _confident([-w for w in column], threshold)
                lost, after = 0, []
                for (code, count), sets in zip(rows, patterns, strict=True):
                    confident = plus if code[at] > 0 else minus
                    new = [sets[0] & confident]
                    new += [(more & confident) | fewer for fewer, more in pairwise(sets)]
                    new.append(sets[-1])
                    lost += count * next(t for t, found in enumerate(new) if found)
                    if lost > allowed:
                        break
                    after.append(new)
                if lost > allowed:
                    continue
                if at + 1 == outputs:
                    raise CertificateError("a last layer lets more outputs be confident")
                stack.append((at + 1, [(*w, c) for w, c in zip(weights, column, strict=True)], after))


@lru_cache(maxsize=1 << 15)
def _confident_set(column: Row, threshold: int) -> int:
    sums = [0]
    for weight in column:
        sums = [s + weight for s in sums] + [s - weight for s in sums]
    return sum(1 << pattern for pattern, s in enumerate(sums) if s >= threshold)


def _confident(column: Sequence[int], threshold: int) -> int:
    """The patterns of signs, as bits, for which an output with these weights reaches the threshold."""
    return _confident_set(tuple(column), threshold)


def _kinds(neurons: int, weight_bound: int, threshold: int) -> list[Row]:
    """Absolute weights of a column, in decreasing order, that no others make superfluous (R22, kinds).

    Others do if they are confident on the same patterns and more: exchanging neurons and signs keeps that.
    """
    kinds: dict[int, Row] = {}
    for kind in combinations_with_replacement(range(weight_bound, -1, -1), neurons):
        kinds.setdefault(_confident(kind, threshold), kind)
    return [kind for own, kind in kinds.items() if all(own == other or own & ~other for other in kinds)]


def _columns(kind: Row, weights: Sequence[Row]) -> Iterator[list[int]]:
    """Weights of one more output with these absolute values, up to what exchanging neurons can do (R22, order).

    Neurons with equal weights so far are neighbours and may change places, so their new weights do not increase.  A
    neuron without weights so far may change its sign, so its new weight is not negative.
    """
    stack: list[tuple[list[int], Row]] = [([], kind)]
    while stack:
        column, left = stack.pop()
        at = len(column)
        if at == len(weights):
            yield column
            continue
        for size in set(left):
            rest = list(left)
            rest.remove(size)
            for weight in {size, -size}:
                if weight < 0 and not any(weights[at]):
                    continue
                if at and weights[at - 1] == weights[at] and weight > column[-1]:
                    continue
                stack.append(([*column, weight], tuple(rest)))
