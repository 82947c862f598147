"""What the layers above the first accept: which neurons of the first layer may be wrong together, and what that adds.

Take a network with one output, all margins at least 1, and a row x with code y.  A first-layer neuron is *right* on the
row if it gives y.  Without biases and sums of 0, all layers are odd functions.  So the upper layers give y on the signs
s of the first layer if and only if they give +1 on the pattern z = y s, which says which neurons are right.  The
first layer thus matters to them only by the set Z of its patterns, one bit per neuron, 1 for wrong: they must give +1
on all of Z, with their margins.

A :class:`Form` is a set F of patterns that some upper layers accept, and its value: the sum of the margins of these
layers on F (Max-Margin), or the number of their links, negated, if they keep given margins on F (Min-Weight).  A network
is a form and a choice of neurons whose patterns are in F on all rows; its objective is the sum of the neurons' values
and the form's.  Forms are needed only if no other one accepts more for the same value, up to the names of neurons
that may change places, and up to flips, since every neuron of a list may be turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

MOST_NEURONS = 5
"""First-layer neurons up to which forms are listed."""

Weights = tuple[tuple[tuple[int, ...], ...], ...]
"""Layers of weights, as in a network."""


@dataclass(frozen=True)
class Form:
    """Patterns that upper layers accept, as the bits of a number, what they are worth, and their weights."""

    accepted: int
    value: int
    upper: Weights


@lru_cache(maxsize=64)
def widest_forms(layers: tuple[int, ...], weight_bound: int) -> tuple[Form, ...]:
    """The forms of Max-Margin for one hidden layer; ``layers`` begins with its size.

    With output weights w, F = {z : w z >= t} for some t >= 1, and the value is t.
    """
    (neurons, _) = layers
    found = []
    for column in combinations_with_replacement(range(weight_bound, -1, -1), neurons):
        sums = _signs(neurons) @ np.array(column)
        for least in sorted({int(s) for s in sums if s >= 1}):
            found.append(Form(_as_number(sums >= least), least, (tuple((w,) for w in column),)))
    return _undominated(found, neurons, (tuple(range(neurons)),))


@lru_cache(maxsize=64)
def smallest_forms(neurons: int, weight_bound: int, least: int, alike: tuple[tuple[int, ...], ...]) -> tuple[Form, ...]:
    """The forms of Min-Weight for one hidden layer, whose output keeps a margin of ``least``.

    ``alike`` are the sets of neurons that may change places.
    """
    found = []
    for column in product(range(weight_bound, -1, -1), repeat=neurons):
        sums = _signs(neurons) @ np.array(column)
        if sums.max() >= least:
            links = sum(w > 0 for w in column)
            found.append(Form(_as_number(sums >= least), -links, (tuple((w,) for w in column),)))
    return _undominated(found, neurons, alike)


def _signs(neurons: int) -> Integers:
    """The sign of each neuron in each pattern, patterns by number."""
    return 1 - 2 * (np.arange(1 << neurons)[:, None] >> np.arange(neurons) & 1)


def _links(form: Form) -> int:
    return sum(w != 0 for layer in form.upper for row in layer for w in row)


def _as_number(accepted: NDArray[np.bool_]) -> int:
    return sum(1 << int(pattern) for pattern in np.flatnonzero(accepted))


def _as_table(accepted: int, neurons: int) -> NDArray[np.bool_]:
    return np.array([accepted >> pattern & 1 for pattern in range(1 << neurons)], dtype=bool)


def _undominated(found: Sequence[Form], neurons: int, alike: Sequence[tuple[int, ...]]) -> tuple[Form, ...]:
    """The forms that are needed, largest value first."""
    turns = _turns(neurons, tuple(alike))
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
def _turns(neurons: int, alike: tuple[tuple[int, ...], ...]) -> NDArray[np.intp]:
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


@dataclass(frozen=True, eq=False)
class Slots:
    """A form, its neurons in the order in which they are chosen, as tables for the search.

    Attributes
    ----------
    form, order
        The form, and the neuron in each slot.
    force
        By number of neurons chosen, pattern of these and slot: 1 if the slot's neuron must be right, 2 if wrong, 0 if
        it may be either, 3 if the pattern is not accepted.
    alike
        Whether a slot may change places with the one before.
    free
        Whether a slot's neuron does not matter to the form.
    paired
        Whether neurons in two slots that are always of different opinion give only patterns of an earlier form that is
        worth no less.
    """

    form: Form
    order: tuple[int, ...]
    force: NDArray[np.int8]
    alike: NDArray[np.bool_]
    free: NDArray[np.bool_]
    paired: NDArray[np.bool_]

    @classmethod
    def of(cls, form: Form, lists: Sequence[int], sizes: Sequence[int], before: Sequence[Form]) -> Slots:
        """Choose the order.

        Parameters
        ----------
        form
            The form.
        lists, sizes
            The list that each neuron is from, and the number of neurons in each list.
        before
            Forms that were searched before.
        """
        neurons = len(lists)
        table = _as_table(form.accepted, neurons)
        signs = _signs(neurons)
        # Neurons that are seldom wrong are the most constrained; short lists are quick to try.
        skewed = np.abs(signs[table].sum(axis=0)) / table.sum()
        order = sorted(range(neurons), key=lambda j: (-skewed[j], sizes[lists[j]], lists[j], j))
        patterns = np.arange(1 << neurons)
        given = sum((patterns >> slot & 1) << j for slot, j in enumerate(order))
        table = table[given]
        force = np.zeros((neurons, 1 << neurons, neurons), dtype=np.int8)
        for chosen in range(neurons):
            for prefix in range(1 << chosen):
                rest = patterns[((patterns & ((1 << chosen) - 1)) == prefix) & table]
                for slot in range(chosen, neurons):
                    ones = int((rest >> slot & 1).sum())
                    force[chosen, prefix, slot] = 3 if not len(rest) else 1 if not ones else 2 if ones == len(rest) else 0
        alike = np.zeros(neurons, dtype=bool)
        for slot in range(1, neurons):
            differ = (patterns >> slot ^ patterns >> (slot - 1)) & 1
            swapped = patterns ^ (differ << slot) ^ (differ << (slot - 1))
            same_list = lists[order[slot]] == lists[order[slot - 1]]
            alike[slot] = same_list and bool((table == table[swapped]).all())
        free = np.array([bool((table == table[patterns ^ (1 << slot)]).all()) for slot in range(neurons)])
        paired = np.zeros((neurons, neurons), dtype=bool)
        others = [_as_table(other.accepted, neurons)[given] for other in before if other.value >= form.value]
        turns = _turns(neurons, tuple(tuple(s for s in range(neurons) if lists[order[s]] == n) for n in set(lists)))
        images = [other[turns] for other in others]
        for a in range(neurons):
            for b in range(a):
                apart = table & ((patterns >> a ^ patterns >> b) & 1 == 1)
                paired[a, b] = any(bool(image[:, apart].all(axis=1).any()) for image in images)
        return cls(form, tuple(order), force, alike, free, paired)
