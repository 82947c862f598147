"""The forms of all upper layers, whatever their number.

Above one hidden layer the output's weights are all there is
(:func:`~bemi.engines.decomposition.lists.forms.widest_forms`).  Above more, what layers add for a set Z of patterns is
the same problem again, with the patterns as rows: one hidden layer fewer, few inputs, and at most 2^(n - 1) rows, as no
pattern comes with its opposite.  Sets are tried once up to the names of neurons and flips.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product

import numpy as np

from bemi.engines.decomposition.lists.combination import combine, trees_for
from bemi.engines.decomposition.lists.forms import (
    MOST_DEEP,
    Form,
    Slots,
    Weights,
    covering_forms,
    margin_forms,
    mostly_right,
    neurons_that_decide,
    pattern_signs,
    pattern_turns,
    undominated,
)
from bemi.engines.decomposition.lists.unlisted import Unlisted
from bemi.engines.decomposition.neuron.all_weights import AllWeights, NeuronList, seconds_needed
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline

LIST_SHARE = 0.6
"""Part of the time that lists for Min-Weight may take."""


@lru_cache(maxsize=64)
def widest_forms(hidden: tuple[int, ...], weight_bound: int) -> tuple[Form, ...]:
    """The forms of Max-Margin with these hidden layers and one output."""
    neurons = hidden[0]
    everyone = (tuple(range(neurons)),)
    if len(hidden) == 1:
        return undominated(margin_forms(neurons, weight_bound), neurons, everyone)
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
    listed = AllWeights(patterns, weight_bound).list(1, FOREVER)
    if not len(listed.values):
        return 0, None
    slots, lists = widest_slots(hidden, weight_bound), np.zeros(hidden[0], dtype=np.int64)
    forest = trees_for([listed], len(patterns), slots)
    found = combine(forest, slots, lists, np.full(hidden[0], listed.values[0]), 0)
    if found.form is None or found.first is None:
        return 0, None
    return found.value, (tuple(map(tuple, found.first.tolist())), *found.form.upper)


@dataclass(frozen=True, eq=False)
class Smallest:
    """The fewest links of layers that keep margins and give + on all rows.

    Attributes
    ----------
    links
        Of the layers; what was to be beaten if they have no fewer.
    layers
        All layers' weights, if they have fewer.
    bound
        There are no fewer links.
    lists, slots
        The lists, if they are complete, and the forms.
    """

    links: int
    layers: tuple[Integers, ...] | None
    bound: int
    lists: list[NeuronList] | None = None
    slots: Sequence[Slots] = ()


def smallest_layers(
    rows: Integers,
    hidden: tuple[int, ...],
    weight_bound: int,
    margins: Sequence[Sequence[int]],
    beaten: int,
    *,
    steps: float = math.inf,
    deadline: Deadline = FOREVER,
) -> Smallest:
    """The layers with the fewest links.

    Parameters
    ----------
    rows, hidden, weight_bound
        Inputs that must give +1, sizes of the hidden layers, P.
    margins
        To keep, by layer and neuron.
    beaten
        Only fewer links are of interest.
    steps, deadline
        When to stop.
    """
    levels = sorted(set(margins[0]), reverse=True)
    every, listing = AllWeights(rows, weight_bound), deadline.share(LIST_SHARE)
    left = listing.left
    if left is not None and seconds_needed(rows.shape[1], weight_bound) > left:
        caps = [_fewest_possible(rows, weight_bound, level) for level in levels]
        above = sum(-(-m // weight_bound) for layer in margins[1:] for m in layer)
        return Smallest(beaten, None, min(beaten, above - sum(caps[levels.index(m)] for m in margins[0])))
    long = [level < every.hopeless_below for level in levels]
    lists = [
        _smallest_two(every, level, listing) if too_long else every.list(level, listing, by_links=True)
        for level, too_long in zip(levels, long, strict=True)
    ]
    if any(listed.complete and not len(listed.values) for listed in lists):
        return Smallest(beaten, None, beaten)
    chosen = np.array([levels.index(m) for m in margins[0]])
    alike = tuple(tuple(j for j, m in enumerate(margins[0]) if m == level) for level in levels)
    caps = np.array([_most_value(rows, weight_bound, listed) for listed in lists])[chosen]
    forms = smallest_forms(hidden, weight_bound, margins[1:], alike, beaten + int(caps.sum()), deadline)
    slots: list[Slots] = []
    never: list[Slots] = []
    complete = all(listed.complete for listed in lists)
    for number, form in enumerate(forms):
        asked = [j for j in neurons_that_decide(form, len(chosen)) if long[chosen[j]]]
        before = forms[:number] if not asked else ()
        each = Slots.of(form, chosen.tolist(), before, asked[0] if len(asked) == 1 else None)
        (slots if len(asked) < 2 and complete else never).extend(each)
    unlisted = [
        Unlisted(rows, every, m, by_links=True) if long[n] else None for m, n in zip(margins[0], chosen, strict=True)
    ]
    # Without complete lists combinations may still be better, but prove nothing.
    some = slots if complete else [each for each in never if not each.unlisted]
    forest = trees_for(lists, len(rows), some, deadline)
    found = combine(forest, some, chosen, caps, -beaten, unlisted=unlisted, steps=steps, deadline=deadline)
    bound = -max([found.bound, *(int(caps.sum()) + each.form.value for each in never)])
    known = lists if complete and not any(long) else None
    if found.form is None or found.first is None:
        return Smallest(beaten, None, bound, known, slots)
    return Smallest(-found.value, (found.first, *map(np.array, found.form.upper)), bound, known, slots)


def _smallest_two(every: AllWeights, level: int, deadline: Deadline) -> NeuronList:
    """Instead of a long list the neuron with the fewest links, and that of the neurons that are right on all rows."""
    smallest = every.best(np.zeros(every.rows, np.int64), deadline, level=level, by_links=True)
    right = every.best(np.ones(every.rows, np.int64), deadline, level=level, by_links=True)
    return smallest.joined(right)


def smallest_forms(
    hidden: tuple[int, ...],
    weight_bound: int,
    margins: Sequence[Sequence[int]],
    alike: tuple[tuple[int, ...], ...],
    beaten: int,
    deadline: Deadline,
) -> tuple[Form, ...]:
    """The forms of Min-Weight whose upper layers have fewer links than ``beaten``."""
    neurons = hidden[0]
    if len(hidden) == 1:
        found = covering_forms(neurons, weight_bound, margins[0][0])
    else:
        found = []
        for patterns in _sets(neurons, alike):
            upper = smallest_layers(
                pattern_signs(neurons)[patterns], hidden[1:], weight_bound, margins, beaten, deadline=FOREVER
            )
            if upper.layers is not None:
                weights = tuple(tuple(map(tuple, layer.tolist())) for layer in upper.layers)
                found.append(mostly_right(Form(sum(1 << p for p in patterns), -upper.links, weights), neurons))
    return undominated([form for form in found if -form.value < beaten], neurons, alike)


def _most_value(rows: Integers, weight_bound: int, listed: NeuronList) -> int:
    """No neuron with the list's margin has fewer links than the result, negated."""
    return int(listed.values[0]) if listed.complete else _fewest_possible(rows, weight_bound, listed.level)


def _fewest_possible(rows: Integers, weight_bound: int, level: int) -> int:
    """The same without a list.

    A sum of absolute value m needs so many links that P times the largest absolute inputs of the row add up to m.
    """
    largest = -np.sort(-np.abs(rows), axis=1)
    return -max(1 + sum(weight_bound * s < level for s in accumulate(row)) for row in largest.tolist())
