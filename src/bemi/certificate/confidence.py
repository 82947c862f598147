"""Checks Sat-Margin's bounds: by prices of rows for one output (R21), by trying every last layer for several (R22).

**Prices.** Turn neurons such that no output weight is negative.  A quota (a, r) fits output weights v if every set of
neurons that makes a row confident, all neurons of the set being right and all others wrong, has ``sum a_j >= r``.  If
every v has a quota, if p_k are prices in 0..1, and if no neuron is right on rows worth more than M, then

    confident rows  <=  sum_k (1 - p_k)  +  max(sum_j a_j / r) * M.

since a confident row has ``sum a_j >= r`` over the neurons that are right, so the confident rows together are worth at
most ``M sum_j a_j / r``, and each of them is 1 = p_k + (1 - p_k).  No neuron is right on more than M: that is found by
trying all weights in turn, with long integers as vectors of sums.

**Last layers.** The layers below are given all freedom: they may show the last layer any pattern of signs for any row.
For given last weights a row then has at most as many confident outputs as its code's best pattern gives.
R22 in docs/certificates.md says why few last layers have to be tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

from bemi.certificate.arithmetic import Rows, packed, whole_bytes
from bemi.certificate.limits import KIND, LARGEST_MARGIN, CertificateError, Row, fits, only, require, whole, whole_row

_LARGEST_UNIT = 1 << 20
_MOST_LISTS = 1 << 10
_MOST_NODES = 1 << 21
"""Limits on the unit of prices, on lists of output weights, and on weights tried: nothing takes longer than seconds."""


def confident_bound(rows: Rows, proof: Any) -> int:
    """The bound that the proof gives on the confident rows of every network with one output (R21)."""
    require(len(rows.layers) == 3, "prices are for one hidden layer")
    require(rows.layers[-1] == 1, "prices are for one output")
    only(proof, {"unit", "prices", "most", "order", "quotas"}, KIND)
    unit = whole(proof["unit"], 1, _LARGEST_UNIT, "unit of prices")
    prices = whole_row(proof["prices"], 0, unit + 1, "price")
    require(len(prices) == len(rows), "there is not one price per row")
    most = whole(proof["most"], 0, unit * len(rows) + 1, "value of a neuron")
    order = whole_row(proof["order"], 0, rows.layers[0], "input")
    require(sorted(order) == list(range(rows.layers[0])), "the order does not have every input once")
    ratio = _ratio(rows.layers[1], rows.weight_bound, proof["quotas"])
    codes = [code[0] for code in rows.codes]
    for targets in (codes, [-y for y in codes]):
        _check_neurons(rows, targets, prices, order, most)
    return math.floor((sum(unit - p for p in prices) + ratio * most) / unit)


def _ratio(size: int, bound: int, quotas: Any) -> Fraction:
    """The largest ``sum a_j / r`` of the quotas that output weights need (R21)."""
    require(isinstance(quotas, list) and len(quotas) <= _MOST_LISTS, "quotas are missing or too many")
    require(size <= 10 and math.comb(bound + size, size) <= _MOST_LISTS, "there are too many output weights")
    known = []
    for quota in quotas:
        *shares, least = whole_row(quota, 0, 1 << 10, "quota")
        require(len(shares) == size and least > 0, "a quota does not fit the neurons")
        known.append((Fraction(sum(shares), least), shares, least))
    known.sort(key=lambda entry: entry[0])
    threshold = -(-bound * (size + 1) // 4)
    sets = [[j for j in range(size) if subset >> j & 1] for subset in range(1 << size)]
    largest = Fraction(0)
    for weights in combinations_with_replacement(range(bound, -1, -1), size):
        total = sum(weights)
        enough = [right for right in sets if 2 * sum(weights[j] for j in right) - total >= threshold]
        fits = (
            ratio for ratio, shares, least in known if all(sum(shares[j] for j in right) >= least for right in enough)
        )
        ratio = next(fits, None)
        require(ratio is not None, f"no quota fits the output weights {weights}")
        assert ratio is not None
        if enough:
            largest = max(largest, ratio)
    return largest


def _check_neurons(rows: Rows, targets: Sequence[int], prices: Sequence[int], order: Sequence[int], most: int) -> None:
    """Require that no neuron gives their targets to rows worth more than ``most`` (R21).

    Weights are fixed one after the other.  A row has one digit of a long integer: the largest sum that it can still get
    towards its target, less what it needs (0 for +, 1 for -), plus half the digit's range, so that the highest bit
    tells whether the row can still be right.
    """
    paid = [k for k, price in enumerate(prices) if price]
    if sum(prices) <= most:
        return
    bound = rows.weight_bound
    largest = max((bound * rows.norms[k] for k in paid), default=0) + 1
    bits = whole_bytes(max(largest.bit_length(), sum(prices).bit_length()) + 2)
    fits(bits // 8 * len(paid) * len(order) * (2 * bound + 1))
    ones = packed([1] * len(paid), bits)
    high, modulus = ones << (bits - 1), (1 << bits) - 1
    worth = packed([prices[k] for k in paid], bits)
    steps = []
    for i in order:
        values = [targets[k] * rows.rows[k][i] for k in paid]
        # What a weight changes, compared with the best that it could contribute.
        steps.append([packed([w * x - bound * abs(x) for x in values], bits) for w in range(-bound, bound + 1)])
    rows.work.spend(4 * len(paid) * len(steps) * (2 * bound + 1))
    nodes, cost = 0, 4 + len(paid) * bits // 200
    start = high + packed([bound * rows.norms[k] - (targets[k] < 0) for k in paid], bits)
    open_nodes = [(start, 0)]
    while open_nodes:
        reach, depth = open_nodes.pop()
        require(depth < len(steps), "a neuron is right on rows that are worth more")
        nodes += len(steps[depth])
        require(nodes <= _MOST_NODES, "there are too many neurons to try")
        rows.work.spend(cost * len(steps[depth]))
        for step in steps[depth]:
            left = reach + step
            possible = left & high
            # Ones below the highest bit of the digits of possible rows; the digits of the product add up by modulus.
            if (worth & (possible - (possible >> (bits - 1)))) % modulus > most:
                open_nodes.append((left, depth + 1))


_MOST_NEURONS, _MOST_KINDS = 8, 4000
_MOST_WORK = 1 << 24
"""Columns that may be tried, times patterns: what needs more is refused, since it would take too long."""


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
