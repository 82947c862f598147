"""Checks bounds from all neurons with large margins and their combinations: Max-Margin and Min-Weight (R63 to R66).

The first layer matters to the others only by which of its neurons are wrong together: its *patterns*.  A *form* is a
set of patterns that some upper layers accept, and what these are worth: margins, or links, negated.  So for each form
the checker looks for neurons of its lists whose patterns are in the form on all rows.  What layers above several hidden
ones are worth for a set of patterns is the same question again, with the patterns as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations, combinations_with_replacement, permutations, product
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import KIND, Row, Work, only, require, whole
from bemi.certificate.listing import Neurons, Question

MOST_NEURONS, MOST_DEEP = 5, 4
"""Neurons of a hidden layer, of the last one and of others."""

Groups = Sequence[Sequence[int]]
"""Neurons that may change places."""


def combined_margins_bound(rows: Rows, proof: Any) -> int:
    """The bound that the proof gives on the sum of margins of every network (R64)."""
    hidden = _hidden_layers(rows)
    only(proof, {"value", "any", "labels"}, KIND)
    value = whole(proof["value"], 0, 1 << 40, "sum of margins")
    widest = whole(proof["any"], 1, rows.weight_bound * max(rows.norms) + 1, "margin of a neuron")
    right = whole(proof["labels"], 0, widest + 1, "margin of a neuron with the labels")
    possible, level = [], min(widest, right + 1)
    for form in margin_forms(hidden, rows.weight_bound, rows.work):
        caps = [right if j in form.fixed else widest for j in range(hidden[0])]
        needed = value + 1 - form.value
        if sum(caps) >= needed and (right or not form.fixed):
            possible.append((form, needed))
            level = min([level, *(needed - sum(caps) + cap for j, cap in enumerate(caps) if j not in form.free)])
    neurons = Neurons(_signed(rows), rows.weight_bound, max(1, level), rows.work, by_links=False)
    require(neurons.values and neurons.values[0] == widest, "the largest margin of a neuron is another")
    everywhere = neurons.right_everywhere()
    require(everywhere is None or everywhere <= right, "a neuron with the labels has a larger margin")
    for form, needed in possible:
        found = most_together([neurons] * hidden[0], form, [widest] * hidden[0], needed, rows.work)
        require(found is None, "a combination of neurons has larger margins")
    return value


def combined_links_bound(rows: Rows, margins: Sequence[Sequence[int]], proof: Any) -> int:
    """The bound that the proof gives on the links of every network that keeps the margins (R65)."""
    hidden = _hidden_layers(rows)
    only(proof, {"links"}, KIND)
    links = whole(proof["links"], 0, 1 << 40, "number of links")
    require(min(map(min, margins)) >= 1, "combinations are for margins of at least 1")
    lists = _lists(_signed(rows), rows.weight_bound, margins[0], rows.work)
    if all(neurons.values for neurons in lists):
        caps = [neurons.values[0] for neurons in lists]
        for form in link_forms(hidden, rows.weight_bound, margins, rows.work):
            found = most_together(lists, form, caps, 1 - links - form.value, rows.work)
            require(found is None, "a combination of neurons has fewer links")
    return links


def _hidden_layers(rows: Rows) -> tuple[int, ...]:
    hidden = tuple(rows.layers[1:-1])
    require(hidden and rows.layers[-1] == 1, "combinations are for hidden layers and one output")
    small = hidden[-1] <= MOST_NEURONS and all(size <= MOST_DEEP for size in hidden[:-1])
    require(small, "there are too many neurons to combine")
    require(all(rows.norms), "a row of zeros has no margin")
    return hidden


def _signed(rows: Rows) -> list[Row]:
    return [tuple(x * code[0] for x in row) for row, code in zip(rows.rows, rows.codes, strict=True)]


def _lists(rows: Iterable[Row], bound: int, margins: Sequence[int], work: Work) -> list[Neurons]:
    """For each neuron the list of those with its margin, by links."""
    rows = list(rows)
    lists = {margin: Neurons(rows, bound, margin, work, by_links=True) for margin in set(margins)}
    return [lists[margin] for margin in margins]


# -- forms (R66) -------------------------------------------------------------------------------------------------------


class Form:
    """Patterns that upper layers accept, one bit per neuron that is wrong, and what these layers are worth.

    Attributes
    ----------
    accepted, value
        The patterns, one bit each, and their worth.
    fixed, free
        The neurons that must be right on all rows, and those that do not matter.
    apart
        Pairs of neurons that need not be of different opinion on all rows: another form is worth as much then.
    """

    def __init__(self, accepted: int, value: int, neurons: int, apart: set[tuple[int, int]]) -> None:
        patterns = list(_bits(accepted))
        # A neuron that must be wrong on all rows may be turned round instead.
        turned = sum(1 << j for j in range(neurons) if all(p >> j & 1 for p in patterns))
        self._patterns = [p ^ turned for p in patterns]
        self.accepted, self.value, self.apart = sum(1 << p for p in self._patterns), value, apart
        self.fixed = {j for j in range(neurons) if not any(p >> j & 1 for p in self._patterns)}
        self.free = {j for j in range(neurons) if all(self.accepted >> (p ^ 1 << j) & 1 for p in self._patterns)}
        self._may: dict[tuple[int, int], tuple[int, int] | None] = {}

    def may(self, chosen: int, pattern: int) -> tuple[int, int] | None:
        """Which neurons may be right and which wrong where the chosen ones have a pattern; None if it is not
        accepted."""
        key = chosen, pattern
        if key not in self._may:
            right = wrong = 0
            for p in self._patterns:
                if p & chosen == pattern:
                    right, wrong = right | ~p, wrong | p
            self._may[key] = (right, wrong) if right else None
        return self._may[key]

    def alike(self, a: int, b: int) -> bool:
        """Whether two neurons may change places."""
        return all(self.accepted >> (p ^ ((p >> a ^ p >> b) & 1) * (1 << a | 1 << b)) & 1 for p in self._patterns)


def margin_forms(hidden: Sequence[int], bound: int, work: Work) -> list[Form]:
    """What the layers above neurons with margins can add to the sum of margins (R64)."""
    size = hidden[0]
    everyone = [range(size)]
    if len(hidden) > 1:
        above = margin_forms(hidden[1:], bound, work)

        def worth(patterns: list[Row]) -> int | None:
            neurons = Neurons(patterns, bound, 1, work, by_links=False)
            return _best([neurons] * hidden[1], above, work)

        return _needed(_by_sets(size, everyone, worth, work), size, everyone, work)
    found: dict[int, int] = {}
    for weights in combinations_with_replacement(range(bound, -1, -1), size):
        work.spend(size << size)
        sums = _sums(weights)
        for least in sorted({s for s in sums if s >= 1}):
            accepted = _accepted(sums, least)
            found[accepted] = max(least, found.get(accepted, least))
    return _needed(found, size, everyone, work)


def link_forms(hidden: Sequence[int], bound: int, margins: Sequence[Sequence[int]], work: Work) -> list[Form]:
    """The fewest links, negated, of layers above neurons that keep their margins (R65)."""
    size = hidden[0]
    groups = [[j for j, m in enumerate(margins[0]) if m == margin] for margin in sorted(set(margins[0]))]
    if len(hidden) > 1:
        above = link_forms(hidden[1:], bound, margins[1:], work)

        def worth(patterns: list[Row]) -> int | None:
            return _best(_lists(patterns, bound, margins[1], work), above, work)

        return _needed(_by_sets(size, groups, worth, work), size, groups, work)
    found: dict[int, int] = {}
    work.spend(((bound + 1) * 2) ** size)
    for weights in product(range(bound, -1, -1), repeat=size):
        work.spend(size << size)
        accepted, value = _accepted(_sums(weights), margins[1][0]), -sum(w > 0 for w in weights)
        if accepted:
            found[accepted] = max(value, found.get(accepted, value))
    return _needed(found, size, groups, work)


def _sums(weights: Sequence[int]) -> list[int]:
    """The output's sum for each pattern."""
    sums = [sum(weights)]
    for w in weights:
        sums += [s - 2 * w for s in sums]
    return sums


def _accepted(sums: Sequence[int], least: int) -> int:
    return sum(1 << p for p, s in enumerate(sums) if s >= least)


def _by_sets(size: int, groups: Groups, worth: Callable[[list[Row]], int | None], work: Work) -> dict[int, int]:
    """What upper layers are worth for each set of patterns, one of each kind; opposite ones have opposite outputs."""
    turns, opposite = _turns(size, groups), (1 << size) - 1
    found: dict[int, int] = {}
    seen: set[int] = set()
    for choice in product((0, 1, 2), repeat=1 << size - 1):
        patterns = [p if c == 1 else opposite ^ p for p, c in enumerate(choice) if c]
        accepted = sum(1 << p for p in patterns)
        work.spend(2 * len(choice))
        if not patterns or accepted in seen:
            continue
        seen |= _images(accepted, turns, work)
        value = worth([tuple(-1 if p >> j & 1 else 1 for j in range(size)) for p in patterns])
        if value is not None:
            found[accepted] = value
    return found


def _needed(found: dict[int, int], size: int, groups: Groups, work: Work) -> list[Form]:
    """The forms without those that accept no more than one of at least their worth, turned in some way."""
    turns, kept, images = _turns(size, groups), [], set[int]()
    for accepted, value in sorted(found.items(), key=lambda form: (-form[1], -form[0].bit_count(), form[0])):
        work.spend(len(images) * (1 + size * size))
        if any(accepted & ~image == 0 for image in images):
            continue
        apart = set()
        for a, b in combinations(range(size), 2):
            differ = sum(1 << p for p in _bits(accepted) if (p >> a ^ p >> b) & 1)
            if any(differ & ~image == 0 for image in images):
                apart |= {(a, b), (b, a)}
        kept.append(Form(accepted, value, size, apart))
        images |= _images(accepted, turns, work)
    return kept


def _turns(size: int, groups: Groups) -> list[list[int]]:
    """Where each pattern goes if neurons of a group change places or are turned round."""
    turns = []
    for orders in product(*(permutations(group) for group in groups)):
        place = dict(zip(chain(*groups), chain(*orders), strict=True))
        moved = [sum(1 << place[j] for j in range(size) if p >> j & 1) for p in range(1 << size)]
        turns += [[p ^ flip for p in moved] for flip in range(1 << size)]
    return turns


def _images(accepted: int, turns: list[list[int]], work: Work) -> set[int]:
    patterns = list(_bits(accepted))
    work.spend(len(turns) * (2 + len(patterns)))
    return {sum([1 << turn[p] for p in patterns]) for turn in turns}


def _bits(number: int) -> Iterator[int]:
    return (p for p in range(number.bit_length()) if number >> p & 1)


# -- searching ---------------------------------------------------------------------------------------------------------


def _best(lists: Sequence[Neurons], forms: Sequence[Form], work: Work) -> int | None:
    """The largest value of neurons, one of each list, with a form that accepts them; None if there are none."""
    if not all(neurons.values for neurons in lists):
        return None
    caps, best = [neurons.values[0] for neurons in lists], None
    for form in forms:
        needed = -(1 << 40) if best is None else best + 1 - form.value
        found = most_together(lists, form, caps, needed, work)
        best = best if found is None else found + form.value
    return best


def most_together(lists: Sequence[Neurons], form: Form, caps: Sequence[int], needed: int, work: Work) -> int | None:
    """The largest sum of values of neurons, one of each list, that a form accepts; None if it is below ``needed``.

    ``caps`` are the values of neurons that do not matter.
    """
    total = sum(caps[j] for j in form.free)
    for j in form.fixed:
        value = lists[j].right_everywhere()
        if value is None:
            return None
        total += value
    search = _Search(lists, form, needed, work)
    search.run(total, caps)
    return search.most


class _Search:
    """Neurons are chosen list by list, each list's in its order; each may take any place that is left for its list."""

    def __init__(self, lists: Sequence[Neurons], form: Form, needed: int, work: Work) -> None:
        self._lists, self._form, self._needed, self._work = lists, form, needed, work
        self.most: int | None = None

    def run(self, total: int, caps: Sequence[int]) -> None:
        """Search for neurons that matter, beside others of some total value."""
        form, lists = self._form, self._lists
        slots = [j for j in range(len(lists)) if j not in form.fixed | form.free]
        if not slots:
            self.most = total if total >= self._needed else None
            return
        first = {j: min(i for i in slots if lists[i] is lists[j]) for j in slots}
        slots.sort(key=lambda j: (len(lists[j].values), first[j], j))
        chosen = sum(1 << j for j in form.fixed | form.free)
        every = (1 << len(lists[0].rows)) - 1
        asked = {j: (lists[j].question(), 0, 0) for j in slots}
        self._choose(total, 0, slots, chosen, {0: every}, asked, {j: caps[j] for j in slots}, [])

    def _choose(
        self,
        total: int,
        place: int,
        slots: Sequence[int],
        chosen: int,
        classes: dict[int, int],
        before: dict[int, tuple[Question, int, int]],
        caps: dict[int, int],
        masks: list[tuple[int, int]],
    ) -> None:
        """Choose one more neuron, from a place in the first slot's list on.

        ``classes`` has the rows of each pattern of the chosen neurons; ``before`` what was asked for each slot, and the
        rows on which its neuron must be right, and wrong; ``caps`` bound their values.
        """
        form, lists = self._form, self._lists
        group = [j for j in slots if lists[j] is lists[slots[0]]]
        self._work.spend(8 + 4 * len(classes) * (1 + len(slots)))
        may = [(form.may(chosen, pattern), rows) for pattern, rows in classes.items()]
        caps, asked, best = {j: caps[j] for j in slots}, {}, total + sum(caps[j] for j in slots)
        for j in slots:
            right = wrong = 0
            for allowed, rows in may:
                if allowed is None:
                    return
                if not allowed[1] >> j & 1:
                    right |= rows
                elif not allowed[0] >> j & 1:
                    wrong |= rows
            question, was_right, was_wrong = before[j]
            floor = self._needed - best + caps[j]
            question = lists[j].narrowed(question, right & ~was_right, wrong & ~was_wrong, floor)
            at = lists[j].first(question, place if j in group else 0)
            if at is None or lists[j].values[at] < floor:
                return
            asked[j] = question, right, wrong
            best += lists[j].values[at] - caps[j]
            caps[j] = lists[j].values[at]
        if len(slots) == 1:
            self.most, self._needed = best, best + 1
            return
        every = (1 << len(lists[0].rows)) - 1
        for j in group:
            if any(form.alike(i, j) for i in group[: group.index(j)]):
                continue
            others = [i for i in slots if i != j]
            beside = total + sum(caps[i] for i in others if i not in group)
            within = [caps[i] for i in others if i in group]
            for at in lists[j].places(asked[j][0], place):
                value, mask = lists[j].values[at], lists[j].masks[at]
                self._work.spend(8 + 4 * len(classes))
                if beside + value + sum([min(value, cap) for cap in within]) < self._needed:
                    break
                if any((i, j) in form.apart and other ^ mask == every for i, other in masks):
                    continue
                divided = {}
                for pattern, rows in classes.items():
                    if rows & mask:
                        divided[pattern | 1 << j] = rows & mask
                    if rows & ~mask:
                        divided[pattern] = rows & ~mask
                start = at if any(i in group for i in others) else 0
                self._choose(total + value, start, others, chosen | 1 << j, divided, asked, caps, [*masks, (j, mask)])
