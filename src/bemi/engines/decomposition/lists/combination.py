"""The best choice of neurons for a form, by depth-first search over the lists.

Neurons are chosen slot by slot, largest values first.  The neurons chosen so far divide the rows by their patterns,
and the form says for each pattern which of the other neurons must be right on its rows, and which wrong.  So every open
slot asks its tree for the best neuron that fits; if these values do not add up to more than the best choice, the
search turns back.  Of slots that are chosen by their values, the earlier one has the better neuron.  The last slot's
neuron may be one that no list holds: it is asked for when all others are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest, fitting
from bemi.engines.decomposition.lists.forms import ALIKE, SMALLER, Form, Slots
from bemi.engines.decomposition.lists.unlisted import Unlisted
from bemi.engines.decomposition.neuron.all_weights import NeuronList
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import FOREVER, Deadline

STEPS = 10_000
"""Questions to trees between two looks at the clock: some tenths of a second where lists are long."""


ROUND = 20_000
"""Steps of every form in the first round; each round has ten times as many."""

ABOVE_SHARE = 0.25
"""Part of all steps that searches from above may take; a single question for an unlisted neuron can exceed a round."""

LEAST_FALL = 1 / 32
"""Part of the gap by which a search from above tries to lower a bound at least."""


def trees_for(lists: Sequence[NeuronList], rows: int, slots: Iterable[Slots], deadline: Deadline = FOREVER) -> Forest:
    """The trees of lists that these slots need."""
    kinds = {bool(kind) for each in slots for kind in each.monotone}
    return Forest.of(lists, rows, all_entries=False in kinds, best_only=True in kinds, deadline=deadline)


@dataclass(frozen=True, eq=False)
class Combined:
    """The best choice that was found.

    Attributes
    ----------
    value, form, first
        Its value, its form, and the weights of its neurons, one column each; None if it is not better than given.
    bound
        No choice has a larger value; more than ``value`` if there was no time to show that.
    steps, checking
        Questions to trees, and about how many steps the certificate checker takes for the same search.
    """

    value: int
    form: Form | None
    first: Integers | None
    bound: int
    steps: int
    checking: int = 0


def combine(
    forest: Forest,
    slots: Iterable[Slots],
    lists: Integers,
    caps: Integers,
    beaten: int,
    *,
    unlisted: Sequence[Unlisted | None] = (),
    from_above: bool = True,
    checking: float = 0,
    steps: float = math.inf,
    deadline: Deadline = FOREVER,
) -> Combined:
    """The best choice of neurons of all forms.

    Each form is searched for anything better than what is known.  As long as that does not end, another search looks
    for values in the upper part of its gap only, which is much shorter: if there are none, the form's bound falls.

    Parameters
    ----------
    forest, lists
        Trees, and the number of the list that each neuron is from.
    slots
        Forms and orders.
    caps
        What bounds the value of each neuron.
    beaten
        Only values above it are of interest.
    unlisted
        By neuron, what to ask where slots have it unlisted.
    from_above
        Whether to lower the bounds of forms whose search does not end soon.
    checking
        How many steps the certificate checker may take for the same; 0 if they are not counted.
    steps, deadline
        When to stop.
    """
    found = Combined(beaten, None, None, beaten, 0)
    possible = [each for each in slots if each.form.value + caps.sum() > beaten]
    every = running = [_Search(forest, each, lists, caps, unlisted, checking > 0) for each in possible]
    used, above_used, most = 0.0, 0.0, ROUND
    while running and used < steps and not deadline.passed and sum(each.checking for each in every) <= checking:
        for search in running:
            if used >= steps or deadline.passed or sum(each.checking for each in every) > checking:
                break
            found = _better_of(found, search, search.run(found.value, min(most, steps - used), deadline))
            used += search.steps
        running = [search for search in running if not search.done]
        for search in sorted(running, key=lambda search: -search.bound) if from_above else ():
            fall = (search.bound - found.value + 1) // 2
            left = min(most / 2, steps - used, ABOVE_SHARE * used - above_used)
            while left > 0 and 0 < LEAST_FALL * (search.bound - found.value) <= fall and not deadline.passed:
                above = _Search(forest, search.slots, lists, caps, unlisted)
                target = max(found.value, search.bound - fall)
                found = _better_of(found, above, above.run(target, left / 2, deadline))
                used, above_used, left = used + above.steps, above_used + above.steps, left - above.steps
                if above.done:
                    search.bound = max(target, found.value)
                else:
                    fall //= 4
        running = [search for search in running if search.bound > found.value]
        most *= 10
    bound = max([found.value, *(search.bound for search in running)])
    return replace(found, bound=bound, steps=int(used), checking=sum(search.checking for search in every))


def _better_of(found: Combined, search: _Search, better: tuple[int, Integers] | None) -> Combined:
    return found if better is None else replace(found, value=better[0], first=better[1], form=search.slots.form)


class _Search:
    """The search for one form in one order."""

    def __init__(
        self,
        forest: Forest,
        slots: Slots,
        lists: Integers,
        caps: Integers,
        unlisted: Sequence[Unlisted | None],
        checking: bool = False,
    ) -> None:
        self.forest, self.slots = forest, slots
        self._unlisted = unlisted[slots.order[-1]] if slots.unlisted else None
        assert self._unlisted is not None or not slots.unlisted
        size, words = len(lists), forest.wrong.shape[1]
        self.order = list(slots.order)
        self.steps, self.done, self.bound = 0, False, slots.form.value + int(caps.sum())
        self._lists = lists[self.order]
        self._roots = forest.roots[slots.monotone.astype(np.intp), self._lists]
        self._classes = np.zeros((size + 1, 1 << size, words), dtype=np.uint64)
        self._classes[0, 0] = forest.every
        # Depth, least sum of values that would be better, whether the last slot's neuron must be asked for, and the
        # checker's steps, -1 if they are not counted.
        self._state = np.array([0, 0, 0, 0 if checking else -1], dtype=np.int64)
        self._ends = np.array([forest.ends[number : number + 2] for number in self._lists])
        self._chosen = np.zeros(size + 1, dtype=np.int64)
        self._caps = np.zeros((size + 1, size), dtype=np.int64)
        self._caps[0] = caps[self.order]
        self._pick, self._answer = np.zeros(size, np.int64), np.full(size, -1, dtype=np.int64)
        self._count, self._place = np.full(size + 1, -1, dtype=np.int64), np.zeros(size + 1, np.int64)
        self._options = np.zeros((size + 1, max(1, len(forest.values))), dtype=np.int32)
        self._stack = np.zeros(len(forest.best) + 4, dtype=np.int64)
        self._rows = np.zeros((2, words), dtype=np.uint64)
        self._cuts = (np.zeros((0, words), np.uint64), np.zeros((0, words), np.uint64), np.zeros(0, np.int64), 0)
        self._last: Integers | None = None

    @property
    def checking(self) -> int:
        """About how many steps the checker takes for this search."""
        return max(0, int(self._state[3]))

    def run(self, beaten: int, steps: float, deadline: Deadline) -> tuple[int, Integers] | None:
        """Search on for about so many steps; returns the best value above ``beaten`` and its neurons."""
        forest, slots, worth = self.forest, self.slots, self.slots.form.value
        self._state[1], self.steps = beaten - worth + 1, 0
        while not self.done and self.steps < steps and not deadline.passed:
            if (known := self._unlisted) is not None:
                self._cuts = known.right, known.wrong, known.values, known.cuts
            self.steps += _advance(
                *(max(1, min(STEPS, int(min(steps, 1 << 40)) - self.steps)), self._roots, slots.unlisted),
                *(slots.force, slots.follows, slots.free, slots.paired, forest.every, self._classes),
                *(self._state, self._chosen, self._caps, self._pick, self._answer, self._count, self._place),
                *(self._options, forest.wrong, forest.values, forest.members, forest.always, forest.sometimes),
                *(forest.best, forest.span, forest.children, self._ends, self._stack, self._rows, *self._cuts),
            )
            if self._state[2] and not self._ask(deadline):
                break
            self.done = bool(self._state[0] < 0)
        value = int(self._state[1]) - 1 + worth
        if value <= beaten:
            return None
        size = len(self.order) - slots.unlisted
        columns = [forest.weights(int(self._lists[slot]), int(self._answer[slot])) for slot in range(size)]
        if self._last is not None:
            columns.append(self._last)
        return value, np.stack(columns, axis=1)[:, np.argsort(self.order)]

    def _ask(self, deadline: Deadline) -> bool:
        """Ask for the last slot's neuron; returns whether there was time."""
        assert self._unlisted is not None
        chosen = int(self._chosen[len(self.order) - 1])
        found = self._unlisted.best(self._rows[0], self._rows[1], int(self._state[1]) - chosen, deadline)
        if found is None:
            return False
        value, weights, work = found
        self.steps += work
        self._state[2] = 0
        if weights is not None and chosen + value >= self._state[1]:
            self._state[1], self._last = chosen + value + 1, weights
            self._answer[:] = self._pick
        return True


@njit(cache=True)
def _advance(
    most,
    roots,
    unlisted,
    force,
    follows,
    free,
    paired,
    every,
    classes,
    state,
    chosen,
    caps,
    pick,
    answer,
    count,
    place,
    options,
    wrong,
    values,
    members,
    always,
    sometimes,
    best,
    span,
    children,
    ends,
    stack,
    rows_asked,
    cut_right,
    cut_wrong,
    cut_values,
    cuts,
):
    """Search on; ``state`` is the depth, -1 at the end, the least sum that would be better, whether to ask, and the
    checker's steps, -1 if they are not counted."""
    size, words = roots.shape[0], every.shape[0]
    spare = options[size]
    right, wrong_on = np.zeros((size, words), np.uint64), np.zeros((size, words), np.uint64)
    steps = 0
    depth = state[0]
    while depth >= 0 and steps < most:
        if count[depth] < 0:
            steps += 1
            for slot in range(depth, size):
                for w in range(words):
                    right[slot, w] = wrong_on[slot, w] = 0
                for prefix in range(1 << depth):
                    asked = force[depth, prefix, slot]
                    if asked == 1:
                        for w in range(words):
                            right[slot, w] |= classes[depth, prefix, w]
                    elif asked == 2:
                        for w in range(words):
                            wrong_on[slot, w] |= classes[depth, prefix, w]
            total = chosen[depth]
            for slot in range(depth, size):
                total += caps[depth, slot]
            top, dead = -1, total < state[1]
            for slot in range(depth, size):
                if dead:
                    break
                floor = state[1] - (total - caps[depth, slot])
                entry = -1
                if unlisted and slot == size - 1:
                    for cut in range(cuts):
                        holds = cut_values[cut] < caps[depth, slot]
                        for w in range(words):
                            if (cut_right[cut, w] & ~right[slot, w]) | (cut_wrong[cut, w] & ~wrong_on[slot, w]):
                                holds = False
                        if holds:
                            total += cut_values[cut] - caps[depth, slot]
                            caps[depth, slot] = cut_values[cut]
                    dead = caps[depth, slot] < floor
                    continue
                if state[3] >= 0:
                    length = _beginning(values, ends[slot], floor)
                    asked = 5 + _members(right[slot]) + _members(wrong_on[slot])
                    state[3] += _CHECKED_NODE + asked * (2 + length // _CHECKED_WORD)
                same = slot > depth and roots[slot] == roots[slot - 1]
                for w in range(words):
                    if same and (right[slot, w] != right[slot - 1, w] or wrong_on[slot, w] != wrong_on[slot - 1, w]):
                        same = False
                if same:
                    entry = top  # the slot before asked the same
                    if values[entry] < floor:
                        dead = True
                        break
                else:
                    steps += 1
                    count_found = fitting(
                        roots[slot],
                        right[slot],
                        wrong_on[slot],
                        floor,
                        True,
                        wrong,
                        values,
                        members,
                        always,
                        sometimes,
                        best,
                        span,
                        children,
                        stack,
                        spare,
                    )
                    if count_found == 0:
                        dead = True
                        break
                    entry = np.int64(spare[0])
                top = entry
                if slot == depth:
                    pick[depth] = entry
                cap = min(values[entry], caps[depth, slot])
                total += cap - caps[depth, slot]
                caps[depth, slot] = cap
            if dead:
                depth -= 1
                continue
            if depth == size - 1:
                if unlisted:
                    rows_asked[0], rows_asked[1] = right[depth], wrong_on[depth]
                    state[0], state[2] = depth - 1, 1
                    return steps
                entry = pick[depth]
                state[1] = chosen[depth] + values[entry] + 1
                for slot in range(size):
                    answer[slot] = pick[slot]
                depth -= 1
                continue
            place[depth] = 0
            if free[depth]:
                options[depth, 0] = pick[depth]
                count[depth] = 1
            else:
                value = values[pick[depth]]
                floor = _least(chosen[depth], caps[depth], follows, depth, state[1], value)
                if state[3] >= 0:
                    state[3] += _beginning(values, ends[depth], floor) // 8
                number = fitting(
                    roots[depth],
                    right[depth],
                    wrong_on[depth],
                    floor,
                    False,
                    wrong,
                    values,
                    members,
                    always,
                    sometimes,
                    best,
                    span,
                    children,
                    stack,
                    options[depth],
                )
                options[depth, :number].sort()
                count[depth] = number
                steps += 1 + number // 16
        if place[depth] == count[depth]:
            count[depth] = -1
            depth -= 1
            continue
        entry = np.int64(options[depth, place[depth]])
        place[depth] += 1
        value = values[entry]
        if _reach(chosen[depth], caps[depth], follows, depth, value) < state[1]:
            count[depth] = -1
            depth -= 1
            continue
        if (follows[depth] == ALIKE and entry < pick[depth - 1]) or (
            follows[depth] == SMALLER and value > values[pick[depth - 1]]
        ):
            continue
        skipped = False
        for before in range(depth):
            if paired[depth, before]:
                opposite = True
                for w in range(words):
                    if (wrong[entry, w] ^ wrong[pick[before], w]) != every[w]:
                        opposite = False
                        break
                if opposite:
                    skipped = True
                    break
        if skipped:
            continue
        pick[depth] = entry
        chosen[depth + 1] = chosen[depth] + value
        linked = True
        for slot in range(depth + 1, size):
            linked &= follows[slot] > 0
            caps[depth + 1, slot] = min(caps[depth, slot], value) if linked else caps[depth, slot]
        for prefix in range(1 << depth):
            for w in range(words):
                rows = classes[depth, prefix, w]
                classes[depth + 1, prefix, w] = rows & ~wrong[entry, w]
                classes[depth + 1, prefix | (1 << depth), w] = rows & wrong[entry, w]
        depth += 1
        count[depth] = -1
    state[0] = depth
    return steps


@njit(cache=True)
def _reach(chosen, caps, follows, depth, value):
    """The largest sum of values with this one in a slot."""
    total, linked = chosen + value, True
    for slot in range(depth + 1, caps.shape[0]):
        linked &= follows[slot] > 0
        total += min(caps[slot], value) if linked else caps[slot]
    return total


@njit(cache=True)
def _least(chosen, caps, follows, depth, needed, value):
    """The smallest value of a slot that may still reach a sum; ``value`` may."""
    step = 1
    while _reach(chosen, caps, follows, depth, value - step) >= needed:
        value -= step
        step *= 2
    while step > 1:
        step //= 2
        if _reach(chosen, caps, follows, depth, value - step) >= needed:
            value -= step
    return value


_CHECKED_NODE, _CHECKED_WORD, _CHECKED_BEGINNING = 60, 2048, 4096


@njit(cache=True)
def _beginning(values, ends, floor):
    """How long the beginning of a list is in which the checker looks for values of at least ``floor``."""
    low, high = ends
    while low < high:
        middle = (low + high) // 2
        if values[middle] >= floor:
            low = middle + 1
        else:
            high = middle
    length = ends[1] - ends[0]
    while length > _CHECKED_BEGINNING and low - ends[0] <= length // 4:
        length //= 4
    return length


@njit(cache=True)
def _members(rows):
    """How many rows are in a set."""
    count = 0
    for word in rows:
        while word:
            word &= word - np.uint64(1)
            count += 1
    return count
