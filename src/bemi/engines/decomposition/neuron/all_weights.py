"""All weight vectors of a neuron, tried in two halves: who has a margin, a billion in about a tenth of a second.

The second half of the inputs has N weight vectors, one bit each; for every row and threshold there is a string of bits
that tells whose sums reach it.  For each weight vector of the first half, a row's sum turns the margin into thresholds
on the second; the conjunction over rows leaves the neurons that have the margin.  Rows of smallest norm come first,
since few neurons have the margin there: a dozen usually leave none.  A neuron and its negative count once if no row has
a sign: of the weight vectors in lexicographic order only the second half is tried.  Where few links are asked for,
halves with few links come first, and those that have too many together are not tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.exhaustive import input_order
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline

Words = NDArray[np.uint64]
"""Sets of rows, 64 in a word."""

MOST_DICHOTOMIES = 1_500_000
"""A list ends when it has so many: some hundred megabytes with its tree."""

_SECOND_HALF = 20_000
"""Weight vectors of the second half at most: their thresholds stay in the processor's cache."""

_THRESHOLDS = 256
"""Thresholds of a row at most; between them, neurons are left that do not have the margin, and tested."""

_TESTS, _LOOKS = 1 << 20, 1 << 22
"""Tests of rows, and neurons that are left, between two looks at the clock: some tenths of a second."""

_SAMPLED_PARTS, _SAMPLED_SUMS = 64, 3e7  # of a sample at most
_TAIL = 20  # neurons at the end of the sample that are enough for an estimate
_SECONDS_PER_VECTOR, _SECONDS_BEFORE, _DEAR = 1e-10, 1e-9, 1e8


@dataclass(frozen=True, eq=False)
class NeuronList:
    """Dichotomies of the rows with their best neurons, largest values first.

    Attributes
    ----------
    level
        Every neuron with a margin of at least this has its dichotomy in the list, if it is ``complete``.
    wrong
        For each dichotomy the rows with a negative sum, as words; or the others, since neurons may be turned round.
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

    def joined(self, other: NeuronList) -> NeuronList:
        """The entries of two lists; complete if both are, at the level of this one."""
        values = np.append(self.values, other.values)
        order = np.argsort(-values, kind="stable")
        wrong, margins = np.concatenate([self.wrong, other.wrong]), np.append(self.margins, other.margins)
        weights = np.concatenate([self.weights, other.weights], axis=1)
        both = self.complete and other.complete
        return NeuronList(self.level, both, wrong[order], values[order], margins[order], weights[:, order])

    @classmethod
    def of(cls, rows: Integers, level: int, neurons: Sequence[Integers]) -> NeuronList:
        """Some neurons by their margins, where no other has a margin of ``level``."""
        weights = np.stack(neurons, axis=1) if neurons else np.zeros((rows.shape[1], 0), dtype=np.int64)
        sums = rows @ weights
        margins = np.abs(sums).min(axis=0)
        order = np.argsort(-margins, kind="stable")
        padded = np.zeros((-(-len(rows) // 64) * 64, len(margins)), dtype=bool)
        padded[: len(rows)] = sums < 0
        wrong = np.ascontiguousarray(np.packbits(padded.T, axis=1, bitorder="little")).view(np.uint64)
        return cls(level, True, wrong[order], margins[order], margins[order], weights[:, order])


class _Halves(NamedTuple):
    """What the searches know of the two halves.

    Columns of the first half's inputs and P; of the second half the sums of each weight vector, one per row of the
    array, with its links, and how many have at most so many links; the lowest sum of each row of the data, the steps of
    its thresholds, and by row and threshold which weight vectors reach it.
    """

    columns: Integers
    bound: int
    sums: Integers
    links: Integers
    up_to_links: Integers
    lowest: Integers
    steps: Integers
    at_least: Words


class _Entries(NamedTuple):
    """What was found: a hash table of dichotomies, and for each its rows, value, margin and place."""

    table: Integers
    wrong: Words
    values: Integers
    margins: Integers
    places: Integers

    @classmethod
    def empty(cls, room: int, words: int) -> _Entries:
        """Room for so many."""
        none = (np.zeros(room, np.int64) for _ in range(3))
        return cls(np.full(2 * room, -1, dtype=np.int64), np.zeros((room, words), np.uint64), *none)

    def grown(self, room: int) -> _Entries:
        """The same with more room."""
        larger, count = self.empty(room, self.wrong.shape[1]), len(self.values)
        for old, new in zip(self[1:], larger[1:], strict=True):
            new[:count] = old
        _rehash(larger.table, larger.wrong, count)
        return larger


class AllWeights:
    """All weight vectors on given rows, tried as often as needed.

    Parameters
    ----------
    data, weight_bound
        Rows, and P.

    Examples
    --------
    >>> import numpy as np
    >>> every = AllWeights(np.array([[3, -1], [-2, 4]]), 1)
    >>> every.best(np.zeros(2, np.int64), Deadline()).margins, every.list(2, Deadline()).margins
    (array([4]), array([4, 2]))
    """

    def __init__(self, data: Integers, weight_bound: int) -> None:
        self.bound, self.base = weight_bound, 2 * weight_bound + 1
        self.rows, self.inputs = data.shape
        live = np.flatnonzero((data != 0).any(axis=0))
        self._order = live[input_order(data[:, live])]
        last = 0
        while last < len(live) and self.base ** (last + 1) <= _SECOND_HALF:
            last += 1
        self._first, self._last = len(live) - last, last
        self.vectors = self.base ** len(live)
        norms = np.abs(data).sum(axis=1)
        self._ranked = np.argsort(norms, kind="stable")
        self._largest = weight_bound * int(norms.max(initial=0)) + 1
        kind = np.int32 if self._largest < 2**31 else np.int64
        columns = np.ascontiguousarray(data[np.ix_(self._ranked, self._order)].T.astype(kind))
        vectors: Integers = self._digits(np.arange(self.base**last), last).astype(kind)
        links = np.count_nonzero(vectors, axis=1)
        self._second = np.argsort(links, kind="stable")
        self._columns = columns[: self._first]
        self._sums: Integers = vectors[self._second] @ columns[self._first :]
        self._links = links[self._second]
        self._tests = 0

    @cached_property
    def _halves(self) -> _Halves:
        lowest, highest = self._sums.min(axis=0), self._sums.max(axis=0)
        steps = np.maximum(1, -(-(highest - lowest + 1) // _THRESHOLDS))
        most = int(((highest - lowest) // steps).max()) + 2
        at_least = _thresholds(np.ascontiguousarray(self._sums.T), lowest, steps, most)
        up_to_links = np.searchsorted(self._links, np.arange(self._last + 1), side="right")
        return _Halves(self._columns, self.bound, self._sums, self._links, up_to_links, lowest, steps, at_least)

    def _digits(self, places: Integers, inputs: int) -> Integers:
        """Weight vectors by their place in lexicographic order, one per row."""
        powers = self.base ** np.arange(inputs - 1, -1, -1, dtype=np.int64)
        return places[:, None] // powers % self.base - self.bound

    @property
    def checking_work(self) -> int:
        """About how many steps the certificate checker takes to repeat what was tried."""
        return self._tests * (3 + len(self._sums) // 512) + self.vectors // len(self._sums) * self.rows

    def level_of(self, dichotomies: float) -> int:
        """A level that about so many neurons reach, as far as a sample tells."""
        margins = self._sample
        place = dichotomies / (self.vectors / 2 / len(margins))
        if place >= _TAIL:
            return max(1, int(margins[min(int(place), len(margins) - 1)]))
        # Beyond the sample the number of neurons falls as fast as at its end.
        high, low = int(margins[min(len(margins) - 1, _TAIL)]), int(margins[min(len(margins) - 1, 100 * _TAIL)])
        return max(1, high + int((high - low) * np.log(_TAIL / max(place, 1e-12)) / np.log(100)))

    @property
    def hopeless_below(self) -> int:
        """The level below which there are too many dichotomies, as far as a sample tells."""
        return 1 if self.vectors < 2 * MOST_DICHOTOMIES else self.level_of(MOST_DICHOTOMIES)

    @cached_property
    def _sample(self) -> Integers:
        """The margins of neurons with some first halves, largest first."""
        stop = self.base**self._first
        parts = max(1, min(_SAMPLED_PARTS, stop, int(_SAMPLED_SUMS / self._sums.size)))
        places = (np.arange(parts) * 2 + 1) * stop // (2 * parts)
        first = self._digits(places, self._first) @ self._columns
        margins = [np.abs(self._sums + own).min(axis=1) for own in first]
        return np.sort(np.concatenate(margins))[::-1]

    def best(
        self,
        signs: Integers,
        deadline: Deadline,
        *,
        level: int = 1,
        by_links: bool = False,
        beaten: int = -(1 << 40),
    ) -> NeuronList:
        """The best neuron with these signs (0 for either) and a margin of at least ``level``, as a list.

        It has the largest margin, or the fewest links; the list is empty if its value is no more than ``beaten``.
        """
        return self._try(level, signs, by_links, True, 1, deadline, beaten)

    def list(
        self,
        level: int,
        deadline: Deadline,
        *,
        signs: Integers | None = None,
        by_links: bool = False,
        most: int = MOST_DICHOTOMIES,
    ) -> NeuronList:
        """All dichotomies of neurons with a margin of at least ``level``, which is at least 1.

        Parameters
        ----------
        level
            The margin.
        most, deadline
            Where a list ends; then it is not complete.
        signs
            Of some rows; 0 for either.
        by_links
            Whether of equal dichotomies the neuron with the fewest links is kept; otherwise that of largest margin.
        """
        return self._try(
            level, np.zeros(self.rows, np.int64) if signs is None else signs, by_links, False, most, deadline
        )

    def agreeing(self, targets: Integers, deadline: Deadline, *, beaten: int = 0) -> tuple[Integers | None, int, bool]:
        """The neuron whose signs, + for a sum of 0, agree with most targets, +1 or -1.

        Returns it with the number of rows if these are more than ``beaten``, and whether all weights were tried.
        """
        state = np.array([beaten, -1, 0])
        part, stop = 0, self.base**self._first
        ranked = targets[self._ranked].astype(np.int64)
        while part < stop:
            part = _agree(self._halves, ranked, part, stop, state)
            state[2] = 0
            if deadline.passed:
                break
        if state[1] < 0:
            return None, beaten, part >= stop
        return self._weights(state[1:2])[:, 0], int(state[0]), part >= stop

    def _in_order(self, wrong: Words) -> Words:
        """Sets of rows by their rank, as sets of rows."""
        bits = np.unpackbits(wrong.view(np.uint8), axis=1, bitorder="little")[:, : self.rows]
        rows = np.zeros((len(wrong), wrong.shape[1] * 64), dtype=np.uint8)
        rows[:, self._ranked] = bits
        return np.packbits(rows, axis=1, bitorder="little").view(np.uint64)

    def _weights(self, places: Integers) -> Integers:
        """The neurons with these numbers of first and second half, as columns; turned round if negative."""
        turned = places < 0
        codes = np.where(turned, -places - 1, places)
        parts = len(self._sums)
        halves = [self._digits(codes // parts, self._first), self._digits(self._second[codes % parts], self._last)]
        weights = np.zeros((self.inputs, len(places)), dtype=np.int64)
        weights[self._order] = np.concatenate(halves, axis=1).T * np.where(turned, -1, 1)
        return weights

    @cached_property
    def _by_links(self) -> Integers:
        """The first halves, those with the fewest links first."""
        places = np.arange(self.base**self._first)
        return np.argsort(np.count_nonzero(self._digits(places, self._first), axis=1), kind="stable")

    def _try(
        self,
        level: int,
        signs: Integers,
        by_links: bool,
        best: bool,
        most: int,
        deadline: Deadline,
        beaten: int = -(1 << 40),
    ) -> NeuronList:
        firsts = self._by_links if by_links and best else np.arange(self.base**self._first)
        firsts = firsts if signs.any() else firsts[firsts >= len(firsts) // 2]
        room, part, within, count = 1 << 11, 0, 0, 0
        entries = _Entries.empty(room, -(-self.rows // 64))
        ranked = signs[self._ranked].astype(self._sums.dtype)
        state = np.array([max(level, 1 if by_links else beaten + 1), 0, beaten])
        how = by_links, best, self._largest
        while part < len(firsts):
            part, within, count = _scan(self._halves, firsts, part, within, ranked, *how, state, entries, count)
            if count == room:
                if count >= most:
                    break
                room *= 4
                entries = entries.grown(room)
            if part < len(firsts) and deadline.passed:
                break
            self._tests, state[1] = self._tests + int(state[1]), 0
        self._tests += int(state[1])
        wrong = entries.wrong[:count]
        values, margins, places = (array[:count] for array in (entries.values, entries.margins, entries.places))
        order = np.argsort(-values, kind="stable")
        return NeuronList(
            level,
            part >= len(firsts),
            self._in_order(wrong[order]),
            values[order],
            margins[order],
            self._weights(places[order]),
        )


def seconds_needed(inputs: int, weight_bound: int) -> float:
    """About how long it takes to try all weights, with what comes before it."""
    vectors = (2 * weight_bound + 1.0) ** inputs / 2
    return _SECONDS_PER_VECTOR * vectors + _SECONDS_BEFORE * min(vectors, _DEAR)


@njit(cache=True, error_model="numpy")
def _thresholds(sums, lowest, steps, most):
    """By row and threshold, one bit per vector: whether its sum is at least ``lowest + threshold step``."""
    rows, vectors = sums.shape
    words = (vectors + 63) // 64
    at_least = np.zeros((rows, most, words), np.uint64)
    for k in range(rows):
        for j in range(vectors):
            g = (sums[k, j] - lowest[k]) // steps[k]
            at_least[k, g, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
        for g in range(most - 2, -1, -1):
            for w in range(words):
                at_least[k, g, w] |= at_least[k, g + 1, w]
    return at_least


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


@njit(cache=True)
def _margin(own, sums, signs, free, largest):
    """The margin of a neuron, as a loop without branches."""
    least = own.dtype.type(largest)
    if free:
        for k in range(own.shape[0]):
            least = min(least, abs(own[k] + sums[k]))
    else:
        for k in range(own.shape[0]):
            total = own[k] + sums[k]
            least = min(least, total * signs[k] if signs[k] != 0 else abs(total))
    return least


@njit(cache=True, error_model="numpy")
def _scan(halves, firsts, part, within, signs, by_links, best, largest, state, entries, count):
    """Try first halves from ``part`` on; ``state`` is the level, the number of tests, and what value is beaten.

    Returns where it stopped, first half and place in the second, and how many neurons there are.
    """
    columns, bound, sums, links, up_to_links, lowest, steps, at_least = halves
    table, wrong, values, margins, places = entries
    first, rows = columns.shape
    most, vectors = at_least.shape[1], sums.shape[0]
    left = np.empty(at_least.shape[2], np.uint64)
    own, found = np.empty(rows, sums.dtype), np.zeros(wrong.shape[1], np.uint64)
    last, used = up_to_links.shape[0] - 1, left.shape[0]
    mask, free, looked = np.uint64(table.shape[0] - 1), not signs.any(), 0
    while part < firsts.shape[0] and state[1] < _TESTS and looked < _LOOKS:
        own[:] = 0
        rest, linked = firsts[part], 0
        for i in range(first - 1, -1, -1):
            weight = rest % (2 * bound + 1) - bound
            rest //= 2 * bound + 1
            if weight != 0:
                linked += 1
                for k in range(rows):
                    own[k] += weight * columns[i, k]
        if by_links:
            others = min(last, -state[2] - 1 - linked)
            if others < 0:
                return firsts.shape[0], 0, count  # all that come have as many links
            used = (up_to_links[others] + 63) >> 6
        level = state[0]
        any_left = np.uint64(1)
        for k in range(rows):
            above = min(max((level - own[k] - lowest[k]) // steps[k], 0), most - 1)
            below = min(max(-((level - 1 + own[k] + lowest[k]) // steps[k]), 0), most - 1)
            plus, minus = at_least[k, above], at_least[k, below]
            any_left = np.uint64(0)
            if k == 0:
                left[:] = at_least[k, 0]
            if signs[k] > 0:
                for w in range(used):
                    left[w] &= plus[w]
                    any_left |= left[w]
            elif signs[k] < 0:
                for w in range(used):
                    left[w] &= ~minus[w]
                    any_left |= left[w]
            else:
                for w in range(used):
                    left[w] &= plus[w] | ~minus[w]
                    any_left |= left[w]
            state[1] += 1
            if any_left == 0:
                break
        if any_left == 0:
            part += 1
            within = 0
            continue
        for w in range(within >> 6, used):
            bits = left[w]
            j = w * 64 - 1
            while bits != 0:
                j += 1
                one = bits & np.uint64(1)
                bits >>= np.uint64(1)
                if one == 0 or j < within:
                    continue
                if by_links and -(linked + links[j]) <= state[2]:
                    continue
                looked += 1
                least = _margin(own, sums[j], signs, free, largest)
                if least < state[0]:
                    continue
                value = -(linked + links[j]) if by_links else least
                if count == values.shape[0] and not best:
                    return part, j, count
                for v in range(found.shape[0]):
                    word = np.uint64(0)
                    for k in range(64 * v, min(rows, 64 * v + 64)):
                        word |= np.uint64(own[k] + sums[j, k] < 0) << np.uint64(k - 64 * v)
                    found[v] = word
                place = firsts[part] * vectors + j
                if best:
                    wrong[0] = found
                    values[0], margins[0], places[0], count = value, least, place, 1
                    state[2] = value
                    if not by_links:
                        state[0] = least + 1
                    continue
                turned = found[0] & np.uint64(1)
                if turned:
                    for v in range(found.shape[0]):
                        found[v] = ~found[v]
                    if rows & 63:
                        found[found.shape[0] - 1] &= (np.uint64(1) << np.uint64(rows & 63)) - np.uint64(1)
                slot = _hashed(found) & mask
                entry = table[np.int64(slot)]
                while entry >= 0:
                    same = True
                    for v in range(found.shape[0]):
                        same &= wrong[entry, v] == found[v]
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
                places[entry] = -place - 1 if turned else place
        part += 1
        within = 0
    return part, within, count


@njit(cache=True, error_model="numpy")
def _agree(halves, targets, part, end, state):
    """Try first halves from ``part`` on; ``state`` is the most rows, the neuron's number, and the number of tests.

    Errors of 64 neurons at a time are counted in binary, one bit of each number in a word, from a start at which a
    carry tells that there are too many.
    """
    columns, bound, sums, _, _, lowest, steps, at_least = halves
    first, rows = columns.shape
    most, vectors, words = at_least.shape[1], sums.shape[0], at_least.shape[2]
    planes = 1
    while (1 << planes) <= rows:
        planes += 1
    counts, alive, moved = np.empty((planes, words), np.uint64), np.empty(words, np.uint64), np.empty(words, np.uint64)
    own = np.empty(rows, sums.dtype)
    while part < end and state[2] < _TESTS:
        own[:] = 0
        rest = part
        for i in range(first - 1, -1, -1):
            weight = rest % (2 * bound + 1) - bound
            rest //= 2 * bound + 1
            if weight != 0:
                for k in range(rows):
                    own[k] += weight * columns[i, k]
        allowed = rows - state[0] - 1
        if allowed < 0:
            return end
        used = 1
        while (1 << used) <= allowed:
            used += 1
        begin = (1 << used) - 1 - allowed
        for p in range(used):
            counts[p, :] = ~np.uint64(0) if begin >> p & 1 else np.uint64(0)
        alive[:] = at_least[0, 0]
        any_alive = np.uint64(1)
        for k in range(rows):
            at = min(max((-own[k] - lowest[k]) // steps[k], 0), most - 1)
            if targets[k] < 0:
                at = min(max(-((own[k] + lowest[k]) // steps[k]), 0), most - 1)
            reached, flip = at_least[k, at], ~np.uint64(0) if targets[k] > 0 else np.uint64(0)
            for w in range(words):
                moved[w] = reached[w] ^ flip
            for p in range(used):
                for w in range(words):
                    carry = counts[p, w] & moved[w]
                    counts[p, w] ^= moved[w]
                    moved[w] = carry
            any_alive = np.uint64(0)
            for w in range(words):
                alive[w] &= ~moved[w]
                any_alive |= alive[w]
            state[2] += 1
            if any_alive == 0:
                break
        if any_alive != 0:
            for w in range(words):
                bits = alive[w]
                j = w * 64 - 1
                while bits != 0:
                    j += 1
                    one = bits & np.uint64(1)
                    bits >>= np.uint64(1)
                    if one == 0:
                        continue
                    right = 0
                    for k in range(rows):
                        right += ((own[k] + sums[j, k]) >= 0) == (targets[k] > 0)
                    if right > state[0]:
                        state[0], state[1] = right, part * vectors + j
        part += 1
    return part
