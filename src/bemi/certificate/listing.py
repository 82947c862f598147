"""Lists of all neurons with a margin on given rows, made in the standard library alone (R63).

The sums of all weights of the last inputs are lanes of one long integer per row, so a few operations tell for thousands
of neurons which of them have a sum of large absolute value on the row.  A list has one long integer per row, too, one
bit per neuron: where that neuron is wrong.  The neurons that are right on given rows are the bits that are 0 in all of
these.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import product

from bemi.certificate.arithmetic import packed, whole_bytes
from bemi.certificate.limits import Row, Work, fits, require

MOST_NEURONS = 1 << 21
"""Entries of a list: dichotomies, with both orientations."""

_LAST_PARTS = 2500  # weight vectors of the last inputs
_SHORTEST = 1 << 10  # entries of the shortest beginning of a list that is asked by itself


class Neurons:
    """One neuron for each dichotomy that has a margin, with both orientations, best first.

    Parameters
    ----------
    rows
        Inputs times codes: a neuron is right where its sum is positive.
    bound, level
        P, and the margin that neurons have at least.
    by_links
        Whether their values are numbers of links, negated, or margins.

    Attributes
    ----------
    rows, values, masks
        Distinct rows; the value of each neuron, and the rows on which it is wrong, one bit each.
    """

    def __init__(self, rows: Iterable[Row], bound: int, level: int, work: Work, *, by_links: bool) -> None:
        self.rows = sorted(set(rows), key=lambda row: (sum(map(abs, row)), row))
        self._work, self._level = work, level
        best: dict[int, int] = {}
        for wrong, margin, links in self._listed(bound):
            value = -links if by_links else margin
            if best.get(wrong, value) <= value:
                best[wrong] = value
                require(2 * len(best) <= MOST_NEURONS, "there are too many neurons to try")
        every = (1 << len(self.rows)) - 1
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        self.values = [value for _, value in ranked for _ in range(2)]
        self.masks = [mask for wrong, _ in ranked for mask in (wrong, every ^ wrong)]
        self._falling = [-value for value in self.values]
        count = len(self.masks)
        fits(len(self.rows) * count // 3 + 88 * count)
        work.spend(len(self.rows) * count)
        self._wrong = []
        for k in range(len(self.rows)):
            text = "".join("1" if mask >> k & 1 else "0" for mask in reversed(self.masks))
            self._wrong.append(int(text, 2) if text else 0)
        # Beginnings of the list, since most questions are for good neurons only.
        self._lengths = [count]
        while self._lengths[-1] > 4 * _SHORTEST:
            self._lengths.append(self._lengths[-1] // 4)
        self._beginnings = [[column & (1 << length) - 1 for column in self._wrong] for length in self._lengths]
        self._full = [(1 << length) - 1 for length in self._lengths]

    def _listed(self, bound: int) -> Iterator[tuple[int, int, int]]:
        """Rows on which it is wrong, margin and links of every neuron with the margin; one of each and its negative."""
        live = [i for i, column in enumerate(zip(*self.rows, strict=True)) if any(column)]
        last, weights = 0, range(-bound, bound + 1)
        while last < len(live) and (2 * bound + 1) ** (last + 1) <= _LAST_PARTS:
            last += 1
        cut = len(live) - last
        ends = list(product(weights, repeat=last))
        end_links = [sum(w != 0 for w in end) for end in ends]
        largest = bound * max(sum(map(abs, row)) for row in self.rows)
        if self._level > largest:
            return
        bits = whole_bytes(2 + (2 * largest + self._level).bit_length())
        fits(len(self.rows) * len(ends) * (bits // 8 + 16))
        self._work.spend(len(self.rows) * len(ends) * (2 + last))
        parts = [[sum(w * row[i] for w, i in zip(end, live[cut:], strict=True)) for end in ends] for row in self.rows]
        ones = packed([1] * len(ends), bits)
        high = ones << (bits - 1)
        lanes = [packed(sums, bits) for sums in parts]
        reach, within = high - self._level * ones, high + (self._level - 1) * ones
        cost = 4 + len(ends) * bits // 256
        columns = [[row[i] for i in live[:cut]] for row in self.rows]
        for begin in product(weights, repeat=cut):
            lead = next((w for w in begin if w), 0)
            if lead < 0:
                continue
            starts = [sum(map(int.__mul__, begin, column)) for column in columns]
            self._work.spend(len(starts) * (1 + cut))
            alive = high
            for start, lane in zip(starts, lanes, strict=True):
                self._work.spend(cost)
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
                self._work.spend(2 * len(starts))
                sums_here = [start + part[place] for start, part in zip(starts, parts, strict=True)]
                wrong = sum(1 << k for k, s in enumerate(sums_here) if s < 0)
                if wrong & 1:
                    wrong ^= (1 << len(starts)) - 1
                yield wrong, min(map(abs, sums_here)), linked + end_links[place]

    def right_everywhere(self) -> int | None:
        """The best value of a neuron that is right on all rows."""
        asked, every = self.question(), (1 << len(self.rows)) - 1
        at = self.first(self.narrowed(asked, every, 0, self.values[-1]), 0) if self.values else None
        return None if at is None else self.values[at]

    def question(self) -> Question:
        """About neurons that may be right or wrong on any row."""
        return 0, 0

    def narrowed(self, question: Question, right: int, wrong: int, floor: int) -> Question:
        """About those of them that are right on some rows, wrong on others, and of value ``floor`` at least."""
        which, excluded = question
        end = bisect_right(self._falling, -floor)
        while which + 1 < len(self._lengths) and end <= self._lengths[which + 1]:
            which += 1
        full, columns = self._full[which], self._beginnings[which]
        excluded &= full
        self._work.spend((2 + right.bit_count() + wrong.bit_count()) * (2 + self._lengths[which] // 2048))
        for k in _bits(right):
            excluded |= columns[k]
        for k in _bits(wrong):
            excluded |= full ^ columns[k]
        return which, excluded

    def first(self, question: Question, place: int) -> int | None:
        """The first of them from a place on."""
        which, excluded = question
        self._work.spend(3 * (2 + self._lengths[which] // 2048))
        left = (self._full[which] ^ excluded) >> place
        return place + (left & -left).bit_length() - 1 if left else None

    def places(self, question: Question, place: int) -> Iterator[int]:
        """All of them from a place on."""
        which, excluded = question
        self._work.spend(self._lengths[which] // 8)
        text = f"{(self._full[which] ^ excluded) >> place:b}"[::-1]
        at = text.find("1")
        while at >= 0:
            yield place + at
            at = text.find("1", at + 1)


Question = tuple[int, int]
"""A beginning of a list, by its number, and its excluded neurons, one bit each."""


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
