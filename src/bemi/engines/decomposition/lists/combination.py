"""The best choice of neurons for a form, by depth-first search over the lists.

Neurons are chosen slot by slot, largest values first.  The neurons chosen so far divide the rows by their patterns,
and the form says for each pattern which of the other neurons must be right on its rows, and which wrong.  So every open
slot asks its tree for the best neuron that fits; if these values do not add up to more than the best choice, the
search turns back.  Of slots that may change places, the earlier one has the better neuron.
"""

from __future__ import annotations

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest, all_entries, all_rows, best_entry
from bemi.engines.decomposition.lists.forms import Slots
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline

STEPS = 200_000
"""Questions to trees between two looks at the clock: some tenths of a second."""


class Combination:
    """The search for one form.

    Attributes
    ----------
    best
        The best value that was found: the neurons' and the form's together.
    entries
        The entries of the forest that have it, by neuron; None if nothing better than given was found.
    steps
        Questions to trees.
    done
        Whether there is nothing better.
    """

    def __init__(self, forest: Forest, slots: Slots, lists: Integers, rows: int, caps: Integers, beaten: int) -> None:
        """Begin; ``caps`` bound the value of each neuron, and only values above ``beaten`` are of interest."""
        self.forest, self.slots = forest, slots
        size = len(lists)
        self.best, self.entries, self.steps, self.done = beaten, None, 0, False
        self._roots = forest.roots[lists[list(slots.order)]]
        every = all_rows(rows)
        self._classes = np.zeros((size + 1, 1 << size, len(every)), dtype=np.uint64)
        self._classes[0, 0] = every
        self._state = np.zeros(2, dtype=np.int64)  # depth, best value of the neurons
        self._chosen = np.zeros(size + 1, dtype=np.int64)
        self._caps = np.zeros((size + 1, size), dtype=np.int64)
        self._caps[0] = caps[list(slots.order)]
        self._pick, self._answer = np.zeros(size, np.int64), np.full(size, -1, dtype=np.int64)
        self._count, self._place = np.full(size + 1, -1, dtype=np.int64), np.zeros(size + 1, np.int64)
        self._options = np.zeros((size, max(1, len(forest.values))), dtype=np.int32)
        self._stack = np.zeros(len(forest.best) + 4, dtype=np.int64)
        self._every = every

    def advance(self, steps: int) -> None:
        """Search on for about so many steps."""
        forest, slots = self.forest, self.slots
        self._state[1] = self.best - slots.form.value + 1
        used = _advance(
            *(steps, self._roots, slots.force, slots.alike, slots.free, slots.paired, self._every, self._classes),
            *(self._state, self._chosen, self._caps, self._pick, self._answer, self._count, self._place, self._options),
            *(forest.wrong, forest.values, forest.members, forest.always, forest.sometimes, forest.best, forest.span),
            *(forest.children, self._stack),
        )
        self.steps += used
        self.done = self._state[0] < 0
        value = int(self._state[1]) - 1 + slots.form.value
        if value > self.best:
            self.best = value
            self.entries = np.empty(len(slots.order), dtype=np.int64)
            self.entries[list(slots.order)] = self._answer

    def run(self, steps: float, deadline: Deadline) -> None:
        """Search until it is done, or has made so many steps, or the time is up."""
        while not self.done and self.steps < steps and not deadline.passed:
            self.advance(int(min(STEPS, steps - self.steps)))


@njit(cache=True)
def _advance(
    most, roots, force, alike, free, paired, every, classes, state, chosen, caps, pick, answer, count, place, options,
    wrong, values, members, always, sometimes, best, span, children, stack,
):
    """Search on; ``state`` is the depth, -1 at the end, and the least sum of values that would be better."""
    size, words = roots.shape[0], every.shape[0]
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
                    entry = best_entry(
                        roots[slot], right[slot], wrong_on[slot], floor, wrong, values, members, always, sometimes,
                        best, span, children, stack,
                    )
                    if entry < 0:
                        dead = True
                        break
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
                floor = _least(chosen[depth], caps[depth], alike, depth, state[1], value)
                number = all_entries(
                    roots[depth], right[depth], wrong_on[depth], floor, wrong, values, members, always, sometimes,
                    best, span, children, stack, options[depth],
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
        if _reach(chosen[depth], caps[depth], alike, depth, value) < state[1]:
            count[depth] = -1
            depth -= 1
            continue
        if alike[depth] and entry < pick[depth - 1]:
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
            linked &= alike[slot]
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
def _reach(chosen, caps, alike, depth, value):
    """The largest sum of values with this one in a slot."""
    total, linked = chosen + value, True
    for slot in range(depth + 1, caps.shape[0]):
        linked &= alike[slot]
        total += min(caps[slot], value) if linked else caps[slot]
    return total


@njit(cache=True)
def _least(chosen, caps, alike, depth, needed, value):
    """The smallest value of a slot that may still reach a sum; ``value`` may."""
    step = 1
    while _reach(chosen, caps, alike, depth, value - step) >= needed:
        value -= step
        step *= 2
    while step > 1:
        step //= 2
        if _reach(chosen, caps, alike, depth, value - step) >= needed:
            value -= step
    return value
