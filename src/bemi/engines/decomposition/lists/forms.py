"""What the layers above the first accept: which neurons of the first layer may be wrong together, and what that adds.

Take a network with one output, all margins at least 1, and a row x with code y.  A first-layer neuron is *right* on the
row if it gives y.  Without biases and sums of 0, all layers are odd functions.  So the upper layers give y on the signs
s of the first layer if and only if they give +1 on the pattern z = y s, which says which neurons are right.  The
first layer thus matters to them only by the set Z of its patterns, one bit per neuron, 1 for wrong: they must give +1
on all of Z, with their margins.

A :class:`Form` is a set F of patterns that some upper layers accept, and its value: the sum of the margins of these
layers on F (Max-Margin), or the number of their links, negated, if they keep given margins on F (Min-Weight).  A
network is a form and a choice of neurons whose patterns are in F on all rows; its objective is the sum of the neurons'
values and the form's.  Forms are needed only if no other one accepts more for the same value, up to the names of
neurons that may change places, and up to flips, since every neuron of a list may be turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations_with_replacement, permutations, product

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

MOST_NEURONS = 5
"""First-layer neurons up to which forms are listed."""

MOST_DEEP = 4
"""The same if there are several hidden layers."""

Weights = tuple[tuple[tuple[int, ...], ...], ...]
"""Layers of weights, as in a network."""


@dataclass(frozen=True)
class Form:
    """Patterns that upper layers accept, as the bits of a number, what they are worth, and their weights."""

    accepted: int
    value: int
    upper: Weights


def margin_forms(neurons: int, weight_bound: int) -> list[Form]:
    """The forms of Max-Margin for one hidden layer: F = {z : w z >= t} with output weights w and t >= 1, worth t."""
    found = []
    for column in combinations_with_replacement(range(weight_bound, -1, -1), neurons):
        sums = pattern_signs(neurons) @ np.array(column)
        for least in sorted({int(s) for s in sums if s >= 1}):
            found.append(Form(_as_number(sums >= least), least, (tuple((w,) for w in column),)))
    return found


def covering_forms(neurons: int, weight_bound: int, least: int) -> list[Form]:
    """The forms of Min-Weight for one hidden layer whose output keeps a margin of ``least``: F = {z : w z >= least}."""
    found = []
    for column in product(range(weight_bound, -1, -1), repeat=neurons):
        sums = pattern_signs(neurons) @ np.array(column)
        if sums.max() >= least:
            found.append(Form(_as_number(sums >= least), -sum(w > 0 for w in column), (tuple((w,) for w in column),)))
    return found


@lru_cache(maxsize=16)
def pattern_signs(neurons: int) -> Integers:
    """The sign of each neuron in each pattern, patterns by number."""
    return 1 - 2 * (np.arange(1 << neurons)[:, None] >> np.arange(neurons) & 1)


def _links(form: Form) -> int:
    return sum(w != 0 for layer in form.upper for row in layer for w in row)


def _as_number(accepted: NDArray[np.bool_]) -> int:
    return sum(1 << int(pattern) for pattern in np.flatnonzero(accepted))


def _as_table(accepted: int, neurons: int) -> NDArray[np.bool_]:
    return np.array([accepted >> pattern & 1 for pattern in range(1 << neurons)], dtype=bool)


def undominated(found: Sequence[Form], neurons: int, alike: Sequence[tuple[int, ...]]) -> tuple[Form, ...]:
    """The forms that are needed, largest value first."""
    turns = pattern_turns(neurons, tuple(alike))
    kept: list[Form] = []
    images: list[NDArray[np.bool_]] = []
    # A form can only be dominated by one of no smaller value, and of equal ones by a larger one.  Simple forms come
    # before others, since those can be searched faster once these are known.
    for form in sorted(found, key=lambda f: (-f.value, -f.accepted.bit_count(), _links(f))):
        table = _as_table(form.accepted, neurons)
        if any((image[:, table]).all(axis=1).any() for image in images):
            continue
        kept.append(form)
        images.append(table[turns])
    return tuple(kept)


@lru_cache(maxsize=64)
def pattern_turns(neurons: int, alike: tuple[tuple[int, ...], ...]) -> NDArray[np.intp]:
    """Where each pattern goes if neurons change places or are flipped; one row per way."""
    patterns = np.arange(1 << neurons)
    moved = []
    for orders in product(*(permutations(group) for group in alike)):
        place = list(range(neurons))
        for group, order in zip(alike, orders, strict=True):
            for old, new in zip(group, order, strict=True):
                place[old] = new
        moved.append(sum((patterns >> j & 1) << place[j] for j in range(neurons)))
    return (np.array(moved)[:, None] ^ patterns[:, None]).reshape(-1, len(patterns))


def mostly_right(form: Form, neurons: int) -> Form:
    """The same form with neurons flipped such that each is right in most patterns."""
    table = _as_table(form.accepted, neurons)
    turned = pattern_signs(neurons)[table].sum(axis=0) < 0
    flips = sum(1 << j for j in range(neurons) if turned[j])
    first = tuple(tuple(-w for w in row) if turned[j] else row for j, row in enumerate(form.upper[0]))
    return Form(_as_number(table[np.arange(1 << neurons) ^ flips]), form.value, (first, *form.upper[1:]))


FREE, SMALLER, ALIKE = 0, 1, 2
"""How a slot's neuron compares to that of the slot before: in any way, of no larger value, or not before it in the
list."""


@dataclass(frozen=True, eq=False)
class Slots:
    """A form and an order in which its neurons are chosen, as tables for the search.

    First come neurons that must be right on all rows, then those that do not matter, then all others: the lists in
    their order, and those of one list by their values.  So a form is searched once for each order of these that
    differs from others.  A neuron that is not from a list comes last.

    Attributes
    ----------
    form, order
        The form, and the neuron in each slot.
    force
        By number of neurons chosen, pattern of these and slot: 1 if the slot's neuron must be right, 2 if wrong, 0 if
        it may be either, 3 if the pattern is not accepted.
    follows
        How each slot compares to the one before: :data:`FREE`, :data:`SMALLER` or :data:`ALIKE`; slots of different
        lists do not.
    free
        Whether a slot's neuron does not matter to the form.
    paired
        Whether neurons in two slots that are always of different opinion give only patterns of an earlier form that is
        worth no less.
    unlisted
        Whether the neuron in the last slot is not from a list.
    monotone
        Whether a slot's neuron may be right wherever it is wrong: then it need not be a dominated one.
    """

    form: Form
    order: tuple[int, ...]
    force: NDArray[np.int8]
    follows: NDArray[np.int8]
    free: NDArray[np.bool_]
    paired: NDArray[np.bool_]
    unlisted: bool
    monotone: NDArray[np.bool_]

    @classmethod
    def of(cls, form: Form, lists: Sequence[int], before: Sequence[Form], unlisted: int | None = None) -> list[Slots]:
        """All orders that are needed.

        Parameters
        ----------
        form
            The form.
        lists
            The list that each neuron is from.
        before
            Forms that were searched before.
        unlisted
            A neuron that is not from a list.
        """
        neurons = len(lists)
        table, patterns = _as_table(form.accepted, neurons), np.arange(1 << neurons)
        signs = pattern_signs(neurons)[table]
        fixed = [j for j in range(neurons) if len(set(signs[:, j].tolist())) == 1]
        free = [j for j in range(neurons) if (table == table[patterns ^ (1 << j)]).all()]
        last = [] if unlisted is None else [unlisted]
        fixed, free = [j for j in fixed if j not in last], [j for j in free if j not in last]
        others = [j for j in range(neurons) if j not in fixed + free + last]
        monotone = np.array([(table[patterns & ~(1 << j)] | ~table).all() for j in range(neurons)])
        alike = {(a, b): lists[a] == lists[b] and _interchangeable(table, a, b) for a in others for b in others}
        paired = _paired(table, lists, [other for other in before if other.value >= form.value])
        result = []
        of_list = [[j for j in others if lists[j] == n] for n in sorted({lists[j] for j in others})]
        for rest in map(tuple, map(chain.from_iterable, product(*map(permutations, of_list)))):
            if any(alike[rest[b], rest[a]] and rest[b] < rest[a] for b in range(len(rest)) for a in range(b)):
                continue  # the same with other names
            order = [*fixed, *free, *rest, *last]
            follows = np.zeros(neurons, dtype=np.int8)
            for slot in range(len(fixed) + len(free) + 1, neurons - len(last)):
                if lists[order[slot - 1]] == lists[order[slot]]:
                    follows[slot] = ALIKE if alike[order[slot - 1], order[slot]] else SMALLER
            free_slots = np.array([j in free for j in order])
            force = _forced(table[_moved(patterns, order)], neurons)
            paired_slots = paired[np.ix_(order, order)]
            result.append(
                cls(form, tuple(order), force, follows, free_slots, paired_slots, bool(last), monotone[order])
            )
        return result


def neurons_that_decide(form: Form, neurons: int, *, also_right: bool = False) -> list[int]:
    """The neurons that matter to the form; those that must be right on all rows only if asked for."""
    table, patterns = _as_table(form.accepted, neurons), np.arange(1 << neurons)
    matters = [j for j in range(neurons) if (table != table[patterns ^ (1 << j)]).any()]
    return [j for j in matters if also_right or len(set(pattern_signs(neurons)[table, j].tolist())) > 1]


def output_margin(form: Form, neurons: int) -> int:
    """The smallest margin of the output on the patterns of a form of so many neurons."""
    signs = pattern_signs(neurons)[_as_table(form.accepted, neurons)]
    for layer in form.upper[:-1]:
        signs = np.sign(signs @ np.array(layer))
    return int((signs @ np.array(form.upper[-1])).min())


def one_of_each_kind(form: Form, neurons: Sequence[int], of: int) -> list[int]:
    """One of those among these neurons that may change places in the form of so many neurons."""
    table = _as_table(form.accepted, of)
    return [j for n, j in enumerate(neurons) if not any(_interchangeable(table, j, other) for other in neurons[:n])]


def _interchangeable(table: NDArray[np.bool_], a: int, b: int) -> bool:
    return bool((table == table[_swapped(np.arange(len(table)), a, b)]).all())


def _moved(patterns: NDArray[np.intp], order: Sequence[int]) -> NDArray[np.intp]:
    """The patterns of neurons for those of slots."""
    moved = np.zeros_like(patterns)
    for slot, j in enumerate(order):
        moved |= (patterns >> slot & 1) << j
    return moved


def _swapped(patterns: NDArray[np.intp], a: int, b: int) -> NDArray[np.intp]:
    differ = (patterns >> a ^ patterns >> b) & 1
    return patterns if a == b else patterns ^ (differ << a) ^ (differ << b)


def _forced(table: NDArray[np.bool_], slots: int) -> NDArray[np.int8]:
    patterns = np.arange(1 << slots)
    force = np.zeros((slots, 1 << slots, slots), dtype=np.int8)
    for chosen in range(slots):
        for prefix in range(1 << chosen):
            rest = patterns[((patterns & ((1 << chosen) - 1)) == prefix) & table]
            for slot in range(chosen, slots):
                ones = int((rest >> slot & 1).sum())
                force[chosen, prefix, slot] = 3 if not len(rest) else 1 if not ones else 2 if ones == len(rest) else 0
    return force


def _paired(table: NDArray[np.bool_], lists: Sequence[int], before: Sequence[Form]) -> NDArray[np.bool_]:
    neurons = len(lists)
    patterns = np.arange(1 << neurons)
    turns = pattern_turns(neurons, tuple(tuple(j for j in range(neurons) if lists[j] == n) for n in sorted(set(lists))))
    images = [_as_table(other.accepted, neurons)[turns] for other in before]
    paired = np.zeros((neurons, neurons), dtype=bool)
    for a in range(neurons):
        for b in range(a):
            apart = table & ((patterns >> a ^ patterns >> b) & 1 == 1)
            paired[a, b] = paired[b, a] = any(bool(image[:, apart].all(axis=1).any()) for image in images)
    return paired
