"""How a few neurons can divide rows of many codes, class by class: part of the proof of Max-Margin's bound.

Rows on which all other neurons are constant are told apart by q neurons alone, so each of their 2^q patterns belongs to
one code at most.  docs/certificates.md has the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import Row, Work, fits, require, whole

MOST_NEURONS = 3

Label = int
"""What a neuron does to the codes: two bits for each, the first code's lowest.

0 and 1: all rows of the code are + or -.  2 and 3: both signs occur, and the code's marked row is + or -.
"""


@lru_cache(maxsize=16)
def shapes(codes: int, neurons: int) -> frozenset[tuple[Label, ...]]:
    """The labels of all neurons, in increasing order, for every way to give all patterns to codes (R35).

    Every code gets at least one pattern, and its marked row one of them.  Neurons may be flipped, so the first code's
    marked row has the pattern 0, which is + everywhere.  A pattern that no row has may be given to any code: that only
    leaves more open.
    """
    everything = (1 << (1 << neurons)) - 1
    sides = [sum(1 << p for p in range(1 << neurons) if not p >> j & 1) for j in range(neurons)]
    found: set[tuple[Label, ...]] = set()

    def give(code: int, left: int, labels: tuple[Label, ...]) -> None:
        """Give the code some of the patterns that are left; the last one gets all of them."""
        if code == codes:
            found.add(tuple(sorted(labels)))
            return
        own = left
        while own:
            rest = left & ~own
            enough = rest.bit_count() >= codes - code - 1 and (rest == 0) == (code == codes - 1)
            if enough and (code or own & 1):
                for marked in range(1 << neurons) if code else (0,):
                    if own >> marked & 1:
                        digits = [_digit(own, marked >> j & 1, sides[j]) for j in range(neurons)]
                        more = zip(labels, digits, strict=True)
                        give(code + 1, rest, tuple(label | digit << 2 * code for label, digit in more))
            own = (own - 1) & left

    give(0, everything, (0,) * neurons)
    return frozenset(found)


def _digit(own: int, marked: int, plus: int) -> int:
    """What a neuron does to a code that has these patterns, if ``plus`` are those where the neuron is + (R35)."""
    if own & plus and own & ~plus:
        return 2 + marked
    return 0 if own & plus else 1


class LabelBounds:
    """Bounds on the margins of neurons by their labels, for rows around one row, with one marked row for each code."""

    def __init__(self, row: int, marked: Sequence[int]) -> None:
        self.row, self.marked = row, list(marked)
        self.bounds: dict[Label, int] = {}
        self.shapes: dict[tuple[Label, ...], int] = {}

    def extended(self, rows: Rows, members: Sequence[int], entries: Any) -> LabelBounds:
        """The same with more bounds, for entries about the rows ``members`` (R35)."""
        codes = sorted({rows.codes[k] for k in members})
        require([rows.codes[k] for k in self.marked] == codes, "there is not one marked row for each code")
        require(all(k in members for k in self.marked), "a marked row is not among the merged ones")
        require(isinstance(entries, list), "the bounds of labels are malformed")
        rows.work.spend(4 * (len(self.bounds) + len(self.shapes)) + 2 * len(rows))
        new = LabelBounds(self.row, self.marked)
        new.bounds, new.shapes = dict(self.bounds), dict(self.shapes)
        for entry in entries:
            require(isinstance(entry, list) and len(entry) == 2, "the bound of a label is malformed")
            label, signs = self._read(rows, members, codes, entry[0])
            bound = rows.margin_bound(signs, entry[1])
            new.bounds[label] = min(bound, new.bounds.get(label, bound))
        return new

    def refine(self, rows: Rows, members: Sequence[int], trees: Any, neurons: int, cap: int) -> None:
        """Bound single shapes of so many neurons by trees; no margin is above ``cap`` (R35)."""
        require(isinstance(trees, list), "the trees of shapes are malformed")
        codes = sorted({rows.codes[k] for k in members})
        for entry in trees:
            require(isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list), "a tree is malformed")
            # There are as many patterns as sets of neurons, so their number is checked before any is listed.
            require(len(entry[0]) == neurons, "a tree does not have a label per neuron")
            read = [self._read(rows, members, codes, digits) for digits in entry[0]]
            labels = [label for label, _ in read]
            bounds = [min(cap, self.bounds.get(label, cap)) for label in labels]
            owner = {sum((label >> 2 * c & 1) << j for j, label in enumerate(labels)): c for c in range(len(codes))}
            require(len(owner) == len(codes), "two codes have the same pattern")
            cases = _Cases(rows, set(members), codes, labels)
            value = cases.largest([signs for _, signs in read], bounds, owner, entry[1])
            shape = tuple(sorted(labels))
            self.shapes[shape] = min(value, self.shapes.get(shape, value))

    def _read(self, rows: Rows, members: Sequence[int], codes: list[Row], digits: Any) -> tuple[Label, list[int]]:
        """A label from its digits, and the signs of a neuron that has it (R35)."""
        require(isinstance(digits, list) and len(digits) == len(codes), "a label does not fit the codes")
        rows.work.spend(len(rows) + len(codes) * len(members))
        signs, label = [0] * len(rows), 0
        for code, digit in enumerate(digits):
            digit = whole(digit, 0, 4, "digit of a label")
            label |= digit << 2 * code
            known = [k for k in members if rows.codes[k] == codes[code]] if digit < 2 else [self.marked[code]]
            for k in known:
                signs[k] = 1 - 2 * (digit & 1)
        return label, signs

    def together(self, neurons: int, cap: int, work: Work) -> int:
        """The largest sum of the neurons' margins over all shapes, if none is above ``cap`` (R35)."""
        require(len(self.marked) <= 1 << neurons, "more codes than patterns")
        bound, refined = self.bounds.get, self.shapes
        largest = 0
        found = shapes(len(self.marked), neurons)
        work.spend(4 * len(found))
        for labels in found:
            total = sum(min(cap, bound(label, cap)) for label in labels)
            if total > largest:
                largest = max(largest, min(total, refined.get(labels, total)))
        return largest


class _Cases:
    """The cases of one shape: which patterns its rows have."""

    def __init__(self, rows: Rows, members: set[int], codes: list[Row], labels: list[Label]) -> None:
        self.rows, self.members, self.codes, self.labels = rows, members, codes, labels

    def largest(self, signs: list[list[int]], bounds: list[int], owner: dict[int, int], tree: Any) -> int:
        """The largest sum of margins over the leaves of a tree (R35, CASES)."""
        largest = 0
        stack = [(signs, bounds, owner, tree)]
        while stack:
            signs, bounds, owner, tree = stack.pop()
            require(isinstance(tree, list) and len(tree) == 3, "the tree of a shape is malformed")
            self.rows.work.spend(8 + len(signs) * len(self.rows))
            fits(8 * len(self.rows) * len(signs) * (len(stack) + 1))
            multipliers, row, children = tree
            require(isinstance(multipliers, list) and len(multipliers) == len(signs), "a tree does not fit the neurons")
            bounds = [
                bound if given is None else min(bound, self.rows.margin_bound(own, given))
                for bound, own, given in zip(bounds, signs, multipliers, strict=True)
            ]
            require(isinstance(children, list), "the tree of a shape is malformed")
            if type(row) is int and row == -1:
                require(not children, "the tree of a shape is malformed")
                largest = max(largest, sum(bounds))
                continue
            row = whole(row, 0, len(self.rows), "row")
            require(row in self.members, "a branching is on a row that is not merged with the others")
            code = self.codes.index(self.rows.codes[row])
            options = self._patterns(code, owner, [own[row] for own in signs])
            require(len(options) == len(children), "a branch is missing: the patterns of a row are not covered")
            for pattern, child in zip(options, children, strict=True):
                after = [list(own) for own in signs]
                for j, own in enumerate(after):
                    own[row] = 1 - 2 * (pattern >> j & 1)
                stack.append((after, bounds, {**owner, pattern: code}, child))
        return largest

    def _patterns(self, code: int, owner: dict[int, int], known: list[int]) -> list[int]:
        """The patterns that a row of a code can have: none of another code's, with the signs that are known (R35)."""
        return [
            pattern
            for pattern in range(1 << len(known))
            if owner.get(pattern, code) == code
            and all(not s or s == 1 - 2 * (pattern >> j & 1) for j, s in enumerate(known))
        ]
