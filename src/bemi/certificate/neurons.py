"""Checks bounds by trying all neurons: Max-Margin's by those that split (R42), Min-Weight's by the smallest (R52).

**Neurons that split.** Neurons without sums of 0 may be turned together with their output weights, so let no output
weight be negative.  A neuron is right on a row if it then gives the sign of its code.  Of n neurons let all but h be
constant; they add a constant to the output.

- h = 0 cannot give two codes, and h = 1 only if a neuron is right on all rows.
- h = 2: an increasing function of two signs is constant, one of them, or their AND or OR.  So both neurons are right on
  all rows of one class, and each row of the other class has one of them right.  Some row has only one of them right,
  since otherwise one neuron would do, so the output's margin is at most P.
- h >= 3: the margins are at most ``(n - 3) c + 3 d``, and n P for the output.

**Fewest links.** A neuron that must keep a margin has at least as many links as the smallest neuron with that margin,
whatever its signs.

With one hidden layer and one output, let all neurons but two have required margins that only constant neurons reach,
and let no neuron be right on all rows.  Then the other two split, and the output is their AND or OR, so they are a
pair: both right on all rows of one class, one of them right on each other row.  Without a constant, the output could
not be right for both ``+ -`` and ``- +``, so it has three links or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bemi.certificate.arithmetic import Rows, packed, whole_bytes
from bemi.certificate.limits import KIND, fits, only, require, whole, whole_row

_MOST_NODES = 1 << 22
"""Partial weight vectors that are tried for a proof: seconds."""


def splits_bound(rows: Rows, proof: Any) -> int:
    """The bound that the proof gives on the sum of margins of every network (R42)."""
    require(len(rows.layers) == 3 and rows.layers[-1] == 1, "splits are for one hidden layer and one output")
    size, bound = rows.layers[1], rows.weight_bound
    require(size >= 3, "splits are for three neurons or more")
    codes = [code[0] for code in rows.codes]
    require({1, -1} <= set(codes), "splits are for rows of two codes")
    largest = bound * max(rows.norms) + 1
    only(proof, {"constant", "other", "order", "pairs"}, KIND)
    constant = whole(proof["constant"], 1, largest, "margin of constant neurons")
    other = whole(proof["other"], 0, constant + 1, "margin of other neurons")
    every = Neurons(rows, proof["order"])
    require(not any(every.with_signs([1] * len(codes), constant)), "a constant neuron has a larger margin")
    first = [1] + [0] * (len(codes) - 1)
    require(not any(every.with_signs(first, other, constant=False)), "a neuron that splits has a larger margin")
    require(not any(every.with_signs(codes, 0)), "a neuron is right on all rows")
    found = (size - 3) * constant + 3 * other + size * bound
    require(isinstance(proof["pairs"], list) and len(proof["pairs"]) == 2, "there is not one entry per code")
    for side, entry in zip((1, -1), proof["pairs"], strict=True):
        row, most = whole_row(entry, 0, 1 << 40, "entry of a pair")
        require(row < len(codes) and codes[row] != side, "a pair is not listed for a row of the other code")
        _check_pairs(every, codes, side, row, most)
        if most:
            found = max(found, (size - 2) * constant + most + bound)
    return found


def _check_pairs(every: Neurons, codes: Sequence[int], side: int, row: int, most: int) -> None:
    """Require that no two neurons have more than ``most`` together, right on one side and covering the other (R42).

    One of the two is right on ``row``.  All such neurons are listed; the other must be right where the first is wrong.
    """
    signs = [y if y == side or k == row else 0 for k, y in enumerate(codes)]
    widest: dict[tuple[bool, ...], int] = {}
    for sums in every.with_signs(signs, 0):
        pattern = tuple(s * y > 0 for s, y in zip(sums, codes, strict=True))
        widest[pattern] = max(widest.get(pattern, 0), min(map(abs, sums)))
        fits(len(widest) * (8 * len(codes) + 200))
    tried: list[tuple[bool, ...]] = []
    for pattern, margin in sorted(widest.items(), key=lambda entry: -entry[1]):
        # A wider neuron that is right on these rows and more leaves the other one more possibilities.
        every.spend(4 * (len(tried) + 1) * len(codes))
        if any(all(a <= b for a, b in zip(pattern, wider, strict=True)) for wider in tried):
            continue
        tried.append(pattern)
        needed = [y if y == side or not right else 0 for y, right in zip(codes, pattern, strict=True)]
        require(not any(every.with_signs(needed, max(0, most - margin))), "a pair of neurons has larger margins")


class Neurons:
    """All neurons with given signs and margins, found by fixing one weight after the other (R42, R52).

    A row has a digit in two long integers: the largest sum that it can still get, and minus the smallest, each less
    the least that counts and plus half the digit's range.  So the highest bits tell which rows can still have which
    sign.
    """

    def __init__(self, rows: Rows, order: Any) -> None:
        inputs = whole_row(order, 0, rows.layers[0], "input")
        require(sorted(inputs) == list(range(rows.layers[0])), "the order does not have every input once")
        self._bound, self._count = rows.weight_bound, len(rows)
        largest = 2 * self._bound * max(rows.norms) + 2
        self._bits = bits = whole_bytes(largest.bit_length() + 1)
        self._work, self._cost = rows.work, 4 + self._count * bits // 100
        fits(bits // 4 * self._count * len(inputs) * (2 * self._bound + 1))
        self._work.spend(4 * self._count * len(inputs) * (2 * self._bound + 1))
        self._ones = packed([1] * self._count, bits)
        self._high = self._ones << (bits - 1)
        self._full = self._packed([self._bound * norm for norm in rows.norms])
        self._steps = []
        for i in inputs:
            values = [row[i] for row in rows.rows]
            worst = self._packed([self._bound * abs(x) for x in values])
            column = self._packed(values)
            self._steps.append(
                [(w * column - worst, -w * column - worst) for w in range(-self._bound, self._bound + 1)]
            )
        self._nodes = 0

    def spend(self, steps: int) -> None:
        """Count steps of a check that uses these neurons."""
        self._work.spend(steps)

    def _packed(self, values: Sequence[int]) -> int:
        return packed(values, self._bits)

    def with_signs(
        self, signs: Sequence[int], level: int, *, constant: bool = True, most_links: int | None = None
    ) -> Iterator[list[int]]:
        """The sums of every neuron with these signs (0 for either) and absolute sums above the level."""
        for sums, _ in self.with_links(signs, level, constant, len(self._steps) if most_links is None else most_links):
            yield sums

    def with_links(
        self, signs: Sequence[int], level: int, constant: bool, most_links: int
    ) -> Iterator[tuple[list[int], int]]:
        """The same with the number of links of each neuron, which may have at most so many."""
        top = self._bits - 1
        may_plus = self._packed([int(s >= 0) for s in signs]) << top
        may_minus = self._packed([int(s <= 0) for s in signs]) << top
        if level >= 1 << top:
            return
        start = self._full + self._high - (level + 1) * self._ones
        open_nodes = [(start, start, 0, 0)]
        while open_nodes:
            most, least, depth, links = open_nodes.pop()
            if depth == len(self._steps):
                yield self._sums(most, level), links
                continue
            self._work.spend(self._cost * len(self._steps[depth]))
            self._nodes += len(self._steps[depth])
            require(self._nodes <= _MOST_NODES, "there are too many neurons to try")
            for weight, (up, down) in enumerate(self._steps[depth], -self._bound):
                now = links + (weight != 0)
                if now > most_links:
                    continue
                higher, lower = most + up, least + down
                plus, minus = higher & may_plus, lower & may_minus
                if plus | minus == self._high and (constant or (plus and minus)):
                    open_nodes.append((higher, lower, depth + 1, now))

    def _sums(self, reach: int, level: int) -> list[int]:
        """The sums behind a long integer once all weights are fixed."""
        bits, half = self._bits, 1 << (self._bits - 1)
        size = bits // 8
        content = reach.to_bytes(size * self._count, "little")
        digits = [int.from_bytes(content[k : k + size], "little") for k in range(0, len(content), size)]
        self._work.spend(4 * self._count)
        return [digit - half + level + 1 for digit in digits]


_OUTPUT_LINKS = 3


def listed_links_bound(rows: Rows, margins: Sequence[Sequence[int]], proof: Any) -> int:
    """The bound that the proof gives on the links of every network that keeps the margins (R52)."""
    require(len(rows.layers) > 2, "listed neurons are for networks with a hidden layer")
    only(proof, {"order", "single", "pair"}, KIND)
    every = Neurons(rows, proof["order"])
    first = sorted(margins[0])
    require(first[0] >= 1, "listed neurons are for margins of at least 1")
    known = []
    require(isinstance(proof["single"], list), "listed neurons are missing")
    for entry in proof["single"]:
        margin, links = whole_row(entry, 0, 1 << 40, "number of links")
        require(margin >= 1 and 1 <= links <= rows.layers[0], "links of a neuron are out of range")
        any_signs = [1] + [0] * (len(rows) - 1)
        smaller = every.with_signs(any_signs, margin - 1, most_links=links - 1)
        require(not any(smaller), "a neuron with this margin has fewer links")
        known.append((margin, links))
    needed = [max((n for m, n in known if m <= margin), default=0) for margin in first]
    bound = rows.weight_bound
    above = sum(max(0, -(-m // bound)) for layer in margins[1:] for m in layer)
    if proof["pair"] is None:
        return sum(needed) + above
    return sum(needed[2:]) + _pair_links(every, rows, first, proof["pair"]) + _OUTPUT_LINKS


def _pair_links(every: Neurons, rows: Rows, margins: Sequence[int], pair: Any) -> int:
    """The links of the two neurons with the smallest margins, if they must be a pair (R52)."""
    require(len(rows.layers) == 3 and rows.layers[-1] == 1, "pairs are for one hidden layer and one output")
    require(len(margins) >= 3, "pairs are for three neurons or more")
    codes = [code[0] for code in rows.codes]
    require({1, -1} <= set(codes), "pairs are for rows of two codes")
    only(pair, {"wide", "rows", "links"})
    wide = whole(pair["wide"], 1, margins[2] + 1, "margin of constant neurons")
    links = whole(pair["links"], 2, 2 * rows.layers[0] + 1, "number of links of a pair")
    first = [1] + [0] * (len(codes) - 1)
    require(not any(every.with_signs(first, wide - 1, constant=False)), "a neuron that splits has this margin")
    require(not any(every.with_signs(codes, 0)), "a neuron is right on all rows")
    require(isinstance(pair["rows"], list) and len(pair["rows"]) == 2, "there is not one row per code")
    for side, row in zip((1, -1), pair["rows"], strict=True):
        whole(row, 0, len(codes), "row")
        require(codes[row] != side, "neurons are not listed for a row of the other code")
        _check_side(every, codes, side, row, margins[:2], links)
    return links


def _check_side(every: Neurons, codes: Sequence[int], side: int, row: int, margins: Sequence[int], links: int) -> None:
    """Require that every pair with these margins, right on one side and covering the other, has so many links (R52)."""
    low, high = margins
    signs = [y if y == side or k == row else 0 for k, y in enumerate(codes)]
    fewest: dict[tuple[tuple[bool, ...], bool], int] = {}
    # The other neuron has a link at least.
    for sums, own in every.with_links(signs, low - 1, True, links - 2):
        pattern = tuple(s * y > 0 for s, y in zip(sums, codes, strict=True))
        key = (pattern, min(map(abs, sums)) >= high)
        fewest[key] = min(fewest.get(key, own), own)
        fits(len(fewest) * (8 * len(codes) + 300))
    for (pattern, wider), own in fewest.items():
        needed = [y if y == side or not right else 0 for y, right in zip(codes, pattern, strict=True)]
        level = (low if wider else high) - 1
        others = every.with_signs(needed, level, most_links=links - 1 - own)
        require(not any(others), "a pair of neurons has fewer links")
