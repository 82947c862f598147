"""All neurons with a margin of at least some level, found without a tree.

A weight vector has a first and a last part.  The sums of all last parts are computed once.  For every first part its
sums are added to them in lanes of 16 bits (32 if the data need them), and lanes are dropped where the absolute value
is below the level on one of the rows.  Rows of smallest norm come first, since few neurons reach the level there.  A
neuron and its negative count once: of the weight vectors in lexicographic order only the second half is tried.

Neurons are kept by their dichotomy of the rows: for each, the one of largest value, which is its margin, or the number
of its links negated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline

Words = NDArray[np.uint64]
"""Sets of rows, 64 in a word."""

MOST_LAST_PARTS = 1 << 14
"""Weight vectors of the last inputs: their sums stay in the processor's cache."""

MOST_DICHOTOMIES = 1_500_000
"""A list ends when it has so many: some hundred megabytes with its tree."""

_LANES = 1 << 28  # between two looks at the clock: a few tenths of a second
_FEW_LANES = 0.02  # part of the lanes that are better looked at one by one
_SECONDS_PER_LANE, _SECONDS_BEFORE, _DEAR = 1e-9, 1e-8, 1e8
_SAMPLED_PARTS, _SAMPLED_SUMS = 64, 3e7  # of a sample at most
_TAIL = 20  # neurons at the end of the sample that are enough for an estimate


@dataclass(frozen=True, eq=False)
class NeuronList:
    """Dichotomies of the rows with their best neurons, largest values first.

    Attributes
    ----------
    level
        Every neuron with a margin of at least this has its dichotomy in the list, if it is ``complete``.
    wrong
        For each dichotomy the rows with a negative sum, as words.
    values, margins
        The value of each neuron, and its margin.
    weights
        One column per neuron.
    """

    level: int
    complete: bool
    wrong: Words
    values: Integers
    margins: Integers
    weights: Integers

    def with_neuron(self, rows: Integers, weights: Integers, value: int) -> NeuronList:
        """The list with one more neuron, of no larger value than all others."""
        wrong = np.zeros((1, self.wrong.shape[1]), dtype=np.uint64)
        for k in np.flatnonzero(rows @ weights < 0).tolist():
            wrong[0, k >> 6] |= np.uint64(1 << (k & 63))
        return replace(
            self,
            wrong=np.concatenate([self.wrong, wrong]),
            values=np.append(self.values, value),
            margins=np.append(self.margins, np.abs(rows @ weights).min()),
            weights=np.concatenate([self.weights, weights[:, None]], axis=1),
        )


class Lister:
    """Lists neurons on given rows, as often as needed."""

    def __init__(self, data: Integers, weight_bound: int) -> None:
        self.data, self.bound = data, weight_bound
        self.rows, self.inputs = data.shape
        self.base = 2 * weight_bound + 1
        last = 1
        while last < self.inputs - 1 and self.base ** (last + 1) <= MOST_LAST_PARTS:
            last += 1
        self.first = self.inputs - last
        self.last_parts, self.first_parts = self.base**last, self.base**self.first
        self.order = np.argsort(np.abs(data).sum(axis=1), kind="stable")
        sorted_rows = data[self.order]
        largest = weight_bound * int(np.abs(data).sum(axis=1).max(initial=0))
        kind = np.int16 if 2 * largest < 2**15 else np.int32 if 2 * largest < 2**31 else np.int64
        vectors = _vectors(np.arange(self.last_parts), last, weight_bound)
        padded = -(-self.last_parts // 8) * 8
        self.sums = np.zeros((self.rows, padded), dtype=kind)
        self.sums[:, : self.last_parts] = sorted_rows[:, self.first :] @ vectors.T
        self.by_part = np.ascontiguousarray(self.sums.T)
        self.links = np.zeros(padded, dtype=np.int64)
        self.links[: self.last_parts] = np.count_nonzero(vectors, axis=1)
        self.columns = np.ascontiguousarray(sorted_rows[:, : self.first].T)

    @property
    def vectors(self) -> int:
        """Number of weight vectors that a list tries."""
        return self.first_parts * self.last_parts // 2

    @property
    def hopeless_below(self) -> int:
        """The level below which there are too many dichotomies, as far as a sample tells."""
        return 1 if self.vectors < MOST_DICHOTOMIES else self.level_of(MOST_DICHOTOMIES)

    def level_of(self, dichotomies: float) -> int:
        """A level that about so many neurons reach, as far as a sample tells."""
        margins = np.sort(self._sample[-1])[::-1].astype(np.int64)
        place = dichotomies / (self.vectors / len(margins))
        if place >= _TAIL:
            return max(1, int(margins[min(int(place), len(margins) - 1)]))
        # Beyond the sample the number of neurons falls as fast as at its end.
        high, low = int(margins[_TAIL]), int(margins[min(len(margins) - 1, 100 * _TAIL)])
        steps = np.log(_TAIL / max(place, 1e-12)) / np.log(100)
        return max(1, high + int((high - low) * steps))

    @cached_property
    def _sample(self) -> Integers:
        """The smallest absolute sum on the first 1, 2, ... rows of the neurons of some first parts."""
        parts = max(1, min(_SAMPLED_PARTS, int(_SAMPLED_SUMS / (self.rows * self.last_parts))))
        step = max(1, (self.first_parts // 2) // parts)
        chosen = np.arange(self.first_parts // 2 + step // 2, self.first_parts, step)
        first = (_vectors(chosen, self.first, self.bound) @ self.columns).astype(self.sums.dtype)
        sums = np.abs(self.sums[:, None, : self.last_parts] + first.T[:, :, None])
        return np.minimum.accumulate(sums, axis=0).reshape(self.rows, -1)

    def _rows_for_all(self, level: int) -> int:
        """Rows after which few lanes are left."""
        alive = (self._sample >= level).mean(axis=1)
        return min(self.rows, int(np.searchsorted(-alive, -_FEW_LANES)) + 1)

    def list(
        self, level: int, *, by_links: bool = False, most: int = MOST_DICHOTOMIES, deadline: Deadline
    ) -> NeuronList:
        """All dichotomies of neurons with a margin of at least ``level``, which is at least 1.

        Parameters
        ----------
        level
            The margin.
        by_links
            Whether of equal dichotomies the neuron with the fewest links is kept; otherwise that of largest margin.
        most, deadline
            Where a list ends, then it is not complete.
        """
        words = -(-self.rows // 64)
        slots = 1 << 12
        table = np.full(slots, -1, dtype=np.int64)
        room = slots // 2
        wrong, values = np.zeros((room, words), np.uint64), np.zeros(room, np.int64)
        margins, places = np.zeros(room, np.int64), np.zeros(room, np.int64)
        early = self._rows_for_all(level)
        part, count, stop = self.first_parts // 2, 0, self.first_parts
        alive = np.zeros(self.sums.shape[1], dtype=np.uint8)
        stride = max(1, _LANES // self.last_parts)
        within = self.last_parts // 2 + 1  # of the first part that is zero, to start in the middle
        while part < stop:
            part, within, count = _scan(
                *(self.columns, self.sums, self.by_part, self.links, self.last_parts, self.bound, self.order),
                *(part, min(stop, part + stride), within, level, by_links, early, np.zeros_like(self.sums[0]), alive),
                *(table, wrong, values, margins, places, count),
            )
            if count == room:
                if count >= most:
                    break
                room *= 4
                wrong, values = _grown(wrong, room), _grown(values, room)
                margins, places = _grown(margins, room), _grown(places, room)
                table = np.full(2 * room, -1, dtype=np.int64)
                _rehash(table, wrong, count)
            if deadline.passed:
                break
        ranked = np.argsort(-values[:count], kind="stable")
        flipped = places[ranked] < 0
        codes = np.where(flipped, -places[ranked] - 1, places[ranked])
        weights = np.concatenate(
            [
                _vectors(codes // self.last_parts, self.first, self.bound),
                _vectors(codes % self.last_parts, self.inputs - self.first, self.bound),
            ],
            axis=1,
        ).T
        weights = weights * np.where(flipped, -1, 1)
        return NeuronList(level, part >= stop, wrong[ranked], values[ranked], margins[ranked], weights)


def seconds_needed(inputs: int, weight_bound: int) -> float:
    """About how long a list takes, with what comes before it."""
    vectors = (2 * weight_bound + 1) ** inputs // 2
    return _SECONDS_PER_LANE * vectors + _SECONDS_BEFORE * min(vectors, _DEAR)


def _vectors(codes: Integers, inputs: int, bound: int) -> Integers:
    """Weight vectors by their place in lexicographic order, one per row."""
    powers = (2 * bound + 1) ** np.arange(inputs - 1, -1, -1, dtype=np.int64)
    return codes[:, None] // powers % (2 * bound + 1) - bound


def _grown(array: NDArray, room: int) -> NDArray:
    larger = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True)
def _hashed(words):
    mixed = np.uint64(0)
    for w in range(words.shape[0]):
        mixed = (mixed ^ words[w]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


@njit(cache=True)
def _rehash(table, wrong, count):
    mask = np.uint64(table.shape[0] - 1)
    for entry in range(count):
        slot = _hashed(wrong[entry]) & mask
        while table[np.int64(slot)] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[np.int64(slot)] = entry


@njit(cache=True, error_model="numpy")
def _scan(
    columns,
    sums,
    by_part,
    links,
    parts,
    bound,
    order,
    begin,
    end,
    within,
    level,
    by_links,
    early,
    least_lanes,
    alive,
    table,
    wrong,
    values,
    margins,
    places,
    count,
):
    """Try first parts from ``begin`` on; returns where it stopped, part and place in it, and how many were found."""
    first, rows = columns.shape
    lane = sums.dtype.type
    padded = sums.shape[1]
    words = wrong.shape[1]
    mask = np.uint64(table.shape[0] - 1)
    eights = alive.view(np.uint64)
    base = np.zeros(rows, np.int64)
    lanes = np.zeros(rows, sums.dtype)
    found = np.zeros(words, np.uint64)
    for part in range(begin, end):
        left, linked = part, 0
        base[:] = 0
        for i in range(first - 1, -1, -1):
            w = left % (2 * bound + 1) - bound
            left //= 2 * bound + 1
            if w != 0:
                linked += 1
                for k in range(rows):
                    base[k] += w * columns[i, k]
        for k in range(rows):
            lanes[k] = lane(base[k])
        for k in range(0, early, 4):
            # Four rows at a time; where there are no more, the last ones again.
            row_a, row_b = sums[k], sums[min(k + 1, rows - 1)]
            row_c, row_d = sums[min(k + 2, rows - 1)], sums[min(k + 3, rows - 1)]
            a, b = lanes[k], lanes[min(k + 1, rows - 1)]
            c, d = lanes[min(k + 2, rows - 1)], lanes[min(k + 3, rows - 1)]
            for s in range(padded):
                p, q = lane(abs(lane(row_a[s] + a))), lane(abs(lane(row_b[s] + b)))
                r, t = lane(abs(lane(row_c[s] + c))), lane(abs(lane(row_d[s] + d)))
                smallest = min(min(p, q), min(r, t))
                if k == 0:
                    least_lanes[s] = smallest
                else:
                    least_lanes[s] = min(least_lanes[s], smallest)
        small = lane(level)
        for s in range(padded):
            alive[s] = least_lanes[s] >= small
        for eight in range(within >> 3, eights.shape[0]):
            if eights[eight] == 0:
                continue
            for s in range(max(within, eight << 3), min(parts, (eight << 3) + 8)):
                if not alive[s]:
                    continue
                least = np.int64(1) << 62
                for k in range(rows):
                    total = abs(np.int64(lane(by_part[s, k] + lanes[k])))
                    if total < least:
                        least = total
                        if least < level:
                            break
                if least < level:
                    continue
                if count == values.shape[0]:
                    return part, s, count
                found[:] = 0
                for k in range(rows):
                    if lane(by_part[s, k] + lanes[k]) < 0:
                        found[order[k] >> 6] |= np.uint64(1) << np.uint64(order[k] & 63)
                flip = found[0] & np.uint64(1)
                if flip:
                    for w in range(words):
                        found[w] = ~found[w]
                    if rows & 63:
                        found[words - 1] &= (np.uint64(1) << np.uint64(rows & 63)) - np.uint64(1)
                value = -(linked + links[s]) if by_links else least
                slot = _hashed(found) & mask
                entry = table[np.int64(slot)]
                while entry >= 0:
                    same = True
                    for w in range(words):
                        same &= wrong[entry, w] == found[w]
                    if same:
                        break
                    slot = (slot + np.uint64(1)) & mask
                    entry = table[np.int64(slot)]
                if entry < 0:
                    entry = count
                    count += 1
                    table[np.int64(slot)] = entry
                    wrong[entry] = found
                elif values[entry] > value or (values[entry] == value and margins[entry] >= least):
                    continue
                values[entry], margins[entry] = value, least
                place = part * parts + s
                places[entry] = -place - 1 if flip else place
        within = 0
    return end, 0, count
