"""Checks bounds from all neurons with large margins and their combinations: Max-Margin and Min-Weight (R63 to R65).

The checker makes the lists itself.  The sums of all weights of the last inputs are lanes of one long integer per row,
so a few operations tell for thousands of neurons which of them have a sum of large absolute value on the row.  A list
has one long integer per row, too, one bit per neuron: where that neuron is wrong.  The neurons that are right on given
rows are the bits that are 0 in all of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

from bemi.certificate.arithmetic import Rows, packed, whole_bytes
from bemi.certificate.limits import KIND, fits, only, require, whole

MOST_NEURONS = 1 << 21
"""Dichotomies of a list, with both orientations."""

_LAST_PARTS = 2500  # weight vectors of the last inputs


def combined_margins_bound(rows: Rows, proof: Any) -> int:
    """The bound that the proof gives on the sum of margins of every network (R64)."""
    _check_shape(rows)
    only(proof, {"value", "any", "labels"}, KIND)
    size, bound = rows.layers[1], rows.weight_bound
    largest = bound * max(rows.norms) + 1
    value = whole(proof["value"], 0, 1 << 40, "sum of margins")
    widest = whole(proof["any"], 1, largest, "margin of a neuron")
    right = whole(proof["labels"], 0, widest + 1, "margin of a neuron with the labels")
    forms = []
    level = right + 1
    for used in range(1, size + 1):
        for weights in combinations_with_replacement(range(bound, 0, -1), used):
            for least in sorted({t for t in _sums(weights) if t >= 1}):
                caps = [right if sum(weights) - 2 * w < least else widest for w in weights]
                if right == 0 and 0 in caps:
                    continue
                needed = value + 1 - least - (size - used) * widest
                if sum(caps) < needed:
                    continue
                forms.append((weights, least, needed))
                level = min(level, *(needed - (sum(caps) - cap) for cap in caps))
    neurons = Neurons(rows, max(1, level), by_links=False)
    require(not neurons.values or neurons.values[0] <= widest, "a neuron has a larger margin")
    everywhere = neurons.best(neurons.wrong_on(range(len(neurons.rows))), 0)
    require(everywhere is None or neurons.values[everywhere] <= right, "a neuron with the labels has a larger margin")
    for weights, least, needed in forms:
        require(not _wider(neurons, weights, least, needed), "a combination of neurons has larger margins")
    return value


def combined_links_bound(rows: Rows, margins: Sequence[Sequence[int]], proof: Any) -> int:
    """The bound that the proof gives on the links of every network that keeps the margins (R65)."""
    _check_shape(rows)
    only(proof, {"links"}, KIND)
    links = whole(proof["links"], 0, 1 << 40, "number of links")
    first, least = margins[0], margins[1][0]
    require(min(first) >= 1 and least >= 1, "combinations are for margins of at least 1")
    lists = {margin: Neurons(rows, margin, by_links=True) for margin in set(first)}
    if not all(neurons.values for neurons in lists.values()):
        return links
    order = sorted(range(len(first)), key=lambda j: (len(lists[first[j]].values), first[j], j))
    slots = [first[j] for j in order]
    for weights in product(range(rows.weight_bound, -1, -1), repeat=len(slots)):
        alike = [j for j in range(1, len(slots)) if slots[j] == slots[j - 1]]
        if sum(weights) < least or any(weights[j] > weights[j - 1] for j in alike):
            continue
        needed = sum(w > 0 for w in weights) - links + 1
        chosen = [lists[margin] for margin in slots]
        require(not _fewer(chosen, weights, least, needed), "a combination of neurons has fewer links")
    return links


def _check_shape(rows: Rows) -> None:
    require(len(rows.layers) == 3 and rows.layers[-1] == 1, "combinations are for one hidden layer and one output")
    require((rows.weight_bound + 1) ** rows.layers[1] <= 4096, "there are too many output weights")
    require(all(rows.norms), "a row of zeros has no margin")


def _sums(weights: Sequence[int]) -> set[int]:
    """All sums of the weights with signs."""
    sums = {0}
    for w in weights:
        sums = {s + w for s in sums} | {s - w for s in sums}
    return sums


class Neurons:
    """One neuron for each dichotomy that has a margin, with both orientations, best first (R63).

    ``values`` are margins, or numbers of links negated; ``wrong[k]`` has a bit for each neuron that is wrong on row k.
    """

    def __init__(self, rows: Rows, level: int, *, by_links: bool) -> None:
        signed = {tuple(x * code[0] for x in row) for row, code in zip(rows.rows, rows.codes, strict=True)}
        self.rows = sorted(signed, key=lambda row: (sum(map(abs, row)), row))
        self.work, self.level = rows.work, level
        best: dict[int, int] = {}
        for wrong, margin, links in self._listed(rows.live, rows.weight_bound):
            value = -links if by_links else margin
            if best.get(wrong, value) <= value:
                best[wrong] = value
                require(2 * len(best) <= MOST_NEURONS, "there are too many neurons to try")
        every = (1 << len(self.rows)) - 1
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        self.values = [value for _, value in ranked for _ in range(2)]
        self.masks = [mask for wrong, _ in ranked for mask in (wrong, every ^ wrong)]
        count = len(self.masks)
        fits(len(self.rows) * count // 8 + 80 * count)
        self.work.spend(len(self.rows) * count)
        self.wrong = []
        for k in range(len(self.rows)):
            text = "".join("1" if mask >> k & 1 else "0" for mask in reversed(self.masks))
            self.wrong.append(int.from_bytes(_bits(text), "big") if text else 0)
        self._full = (1 << count) - 1
        self._cost = 2 + count // 2048

    def _listed(self, live: Sequence[int], bound: int) -> Iterator[tuple[int, int, int]]:
        """Rows on which it is wrong, margin and links of every neuron with the margin; one of each and its negative."""
        last, weights = 0, range(-bound, bound + 1)
        while last < len(live) and (2 * bound + 1) ** (last + 1) <= _LAST_PARTS:
            last += 1
        cut = len(live) - last
        ends = list(product(weights, repeat=last))
        end_links = [sum(w != 0 for w in end) for end in ends]
        largest = bound * max(sum(map(abs, row)) for row in self.rows)
        if self.level > largest:
            return
        bits = whole_bytes(2 + (2 * largest + self.level).bit_length())
        fits(len(self.rows) * len(ends) * (bits // 8 + 16))
        self.work.spend(len(self.rows) * len(ends) * (2 + last))
        parts = [[sum(w * row[i] for w, i in zip(end, live[cut:], strict=True)) for end in ends] for row in self.rows]
        ones = packed([1] * len(ends), bits)
        high = ones << (bits - 1)
        lanes = [packed(sums, bits) for sums in parts]
        reach, within = high - self.level * ones, high + (self.level - 1) * ones
        cost = 4 + len(ends) * bits // 256
        columns = [[row[i] for i in live[:cut]] for row in self.rows]
        for begin in product(weights, repeat=cut):
            lead = next((w for w in begin if w), 0)
            if lead < 0:
                continue
            starts = [sum(map(int.__mul__, begin, column)) for column in columns]
            self.work.spend(len(starts) * (1 + cut))
            alive = high
            for start, lane in zip(starts, lanes, strict=True):
                self.work.spend(cost)
                sums = lane + start * ones
                # The highest bits tell which sums reach the level, and which are above its negative.
                alive &= ~((sums + reach) ^ (sums + within))
                if not alive:
                    break
            if not alive:
                continue
            linked = sum(w != 0 for w in begin)
            size = bits // 8
            marks = alive.to_bytes(size * len(ends), "little")[size - 1 :: size]
            for place, mark in enumerate(marks):
                # Without a first part, the first weight of the last one decides between a neuron and its negative.
                if not mark or (not lead and next((w for w in ends[place] if w), 0) < 0):
                    continue
                self.work.spend(2 * len(starts))
                sums_here = [start + part[place] for start, part in zip(starts, parts, strict=True)]
                wrong = sum(1 << k for k, s in enumerate(sums_here) if s < 0)
                if wrong & 1:
                    wrong ^= (1 << len(starts)) - 1
                yield wrong, min(map(abs, sums_here)), linked + end_links[place]

    def wrong_on(self, rows: Iterator[int] | Sequence[int]) -> int:
        """A bit for each neuron that is wrong on one of some rows."""
        found = 0
        for k in rows:
            self.work.spend(self._cost)
            found |= self.wrong[k]
        return found

    def best(self, excluded: int, begin: int) -> int | None:
        """The first neuron from a place on that is not excluded."""
        self.work.spend(3 * self._cost)
        left = (self._full ^ excluded) >> begin
        return begin + (left & -left).bit_length() - 1 if left else None


def _bits(text: str) -> bytes:
    return int(text, 2).to_bytes(-(-len(text) // 8), "big")


def _must(sums: Sequence[int], rest: int, weight: int, least: int) -> list[int]:
    """Rows whose sum stays below the margin if a neuron of this weight is wrong, whatever the rest does."""
    return [k for k, s in enumerate(sums) if s + rest - 2 * weight < least]


def _moved(neurons: Neurons, sums: Sequence[int], at: int, weight: int) -> list[int]:
    mask = neurons.masks[at]
    return [s - weight if mask >> k & 1 else s + weight for k, s in enumerate(sums)]


def _wider(neurons: Neurons, weights: tuple[int, ...], least: int, needed: int) -> bool:
    """Whether neurons with these output weights and margins of at least ``needed`` give each row a sum of ``least``.

    They are chosen by falling margins; each takes one of the weights that are left.
    """
    values, every = neurons.values, (1 << len(neurons.rows)) - 1

    def search(
        total: int, place: int, left: tuple[int, ...], sums: Sequence[int], chosen: list[tuple[int, int]]
    ) -> bool:
        rest, excluded, best = sum(left), {}, {}
        for w in set(left):
            neurons.work.spend(2 * len(sums))
            excluded[w] = neurons.wrong_on(_must(sums, rest, w, least))
            found = neurons.best(excluded[w], place)
            if found is None:
                return False
            best[w] = found
        if total + sum(values[best[w]] for w in left) < needed:
            return False
        if len(left) == 1:
            return True
        for w in sorted(set(left), reverse=True):
            others = list(left)
            others.remove(w)
            at: int | None = best[w]
            while at is not None:
                value = values[at]
                if total + value + sum(min(value, values[best[o]]) for o in others) < needed:
                    break
                neurons.work.spend(2 * len(sums))
                # Opposite neurons of equal weights add nothing: without them, the weights are others of these.
                opposite = any(v == w and neurons.masks[at] ^ mask == every for mask, v in chosen)
                moved = _moved(neurons, sums, at, w)
                if not opposite and search(total + value, at, tuple(others), moved, [*chosen, (neurons.masks[at], w)]):
                    return True
                at = neurons.best(excluded[w], at + 1)
        return False

    return search(0, 0, weights, [0] * len(neurons.rows), [])


def _fewer(lists: Sequence[Neurons], weights: Sequence[int], least: int, needed: int) -> bool:
    """Whether neurons, one of each list, with these output weights and values of at least ``needed`` do so."""

    def search(total: int, depth: int, places: int, sums: Sequence[int]) -> bool:
        rest, found = sum(weights[depth:]), []
        for j in range(depth, len(lists)):
            lists[j].work.spend(2 * len(sums))
            excluded = lists[j].wrong_on(_must(sums, rest, weights[j], least))
            alike = j > 0 and lists[j] is lists[j - 1] and weights[j] == weights[j - 1]
            at = lists[j].best(excluded, places if alike and j == depth else 0)
            if at is None:
                return False
            found.append((at, excluded))
        values = [lists[j].values[at] for j, (at, _) in enumerate(found, depth)]
        if total + sum(values) < needed:
            return False
        if depth == len(lists) - 1:
            return True
        first, excluded = found[0]
        at_now: int | None = first
        while at_now is not None and total + lists[depth].values[at_now] + sum(values[1:]) >= needed:
            moved = _moved(lists[depth], sums, at_now, weights[depth])
            lists[depth].work.spend(2 * len(sums))
            if search(total + lists[depth].values[at_now], depth + 1, at_now, moved):
                return True
            if not weights[depth]:
                return False  # what it is wrong on does not matter, and no other is better
            at_now = lists[depth].best(excluded, at_now + 1)
        return False

    return search(0, 0, 0, [0] * len(lists[0].rows))
