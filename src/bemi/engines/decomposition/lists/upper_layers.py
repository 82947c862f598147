"""The forms of all upper layers, whatever their number.

Above one hidden layer the output's weights are all there is
(:func:`~bemi.engines.decomposition.lists.forms.widest_forms`).  Above more, what layers add for a set Z of patterns is
the same problem again, with the patterns as rows: one hidden layer fewer, few inputs, and at most 2^(n - 1) rows, as no
pattern comes with its opposite.  Sets are tried once up to the names of neurons and flips.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest
from bemi.engines.decomposition.lists.combination import combine
from bemi.engines.decomposition.lists.forms import (
    MOST_DEEP,
    Form,
    Slots,
    Weights,
    mostly_right,
    pattern_signs,
    pattern_turns,
    threshold_forms,
    undominated,
)
from bemi.engines.decomposition.lists.neuron_list import Lister
from bemi.exact import Integers
from bemi.limits import FOREVER


@lru_cache(maxsize=64)
def widest_forms(hidden: tuple[int, ...], weight_bound: int) -> tuple[Form, ...]:
    """The forms of Max-Margin with these hidden layers and one output."""
    neurons = hidden[0]
    everyone = (tuple(range(neurons)),)
    if len(hidden) == 1:
        return undominated(threshold_forms(neurons, weight_bound), neurons, everyone)
    assert neurons <= MOST_DEEP
    signs, found = pattern_signs(neurons), []
    for patterns in _sets(neurons, everyone):
        value, upper = _widest_upper(signs[patterns], hidden[1:], weight_bound)
        if upper is not None:
            found.append(mostly_right(Form(sum(1 << p for p in patterns), value, upper), neurons))
    return undominated(found, neurons, everyone)


@lru_cache(maxsize=64)
def widest_slots(hidden: tuple[int, ...], weight_bound: int) -> tuple[Slots, ...]:
    """The same with the tables for the search, where all neurons are from one list."""
    forms = widest_forms(hidden, weight_bound)
    return tuple(slots for n, form in enumerate(forms) for slots in Slots.of(form, (0,) * hidden[0], forms[:n]))


def _sets(neurons: int, alike: tuple[tuple[int, ...], ...]) -> Iterator[list[int]]:
    """Sets of patterns without opposites, one of each kind."""
    opposite = (1 << neurons) - 1
    turns, seen = pattern_turns(neurons, alike), set()
    for choice in product((0, 1, 2), repeat=1 << (neurons - 1)):
        patterns = [p if c == 1 else opposite ^ p for p, c in enumerate(choice) if c]
        number = sum(1 << p for p in patterns)
        if patterns and number not in seen:
            seen.update((np.int64(1) << turns[:, patterns]).sum(axis=1).tolist())
            yield patterns


def _widest_upper(patterns: Integers, hidden: tuple[int, ...], weight_bound: int) -> tuple[int, Weights | None]:
    """The largest sum of margins of upper layers that give + on all patterns, and their weights if there are any."""
    listed = Lister(patterns, weight_bound).list(1, deadline=FOREVER)
    if not len(listed.values):
        return 0, None
    forest, lists = Forest.of([listed], len(patterns)), np.zeros(hidden[0], dtype=np.int64)
    found = combine(forest, widest_slots(hidden, weight_bound), lists, np.full(hidden[0], listed.values[0]), 0)
    if found.form is None or found.entries is None:
        return 0, None
    first = np.stack([forest.weights([listed], 0, entry) for entry in found.entries], axis=1)
    return found.value, (tuple(map(tuple, first.tolist())), *found.form.upper)
