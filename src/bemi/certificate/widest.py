"""Checks how large the margin of a single neuron can be, and what follows for two hidden neurons (R61, R62).

**Two hidden neurons**, one output, no sum of 0.  The output's sum is ``a c1 + b c2``.  If the absolute values of a and
b differ, the larger one's neuron gives every row its code, up to a flip; if they are equal, both do, since the sum is
never 0.  So with U the largest margin of a neuron that gives the codes, and M that of any neuron, margins sum up to

    max(U + M + P, 2 U + 2 P):

with both neurons right, the output has at most 2 P; with one, at most P, since it loses the other's weight on some row.

**All weights of a neuron** are tried in two halves.  The second half of the inputs has N weight vectors, one bit of a
long integer each; for every row and threshold one such integer tells whose sums reach it.  For each weight vector of
the first half, and row, the sum of the first half turns the margin into thresholds on the second, so a conjunction over
rows leaves the bits of the neurons that have the margin.  A dozen rows usually leave none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import KIND, fits, only, require, whole

_SECOND_HALF = 20_000
"""Weight vectors of the second half at most."""

_TABLES = 1 << 26
"""Bytes of the thresholds, about."""

_MOST_THRESHOLDS = 256
"""Of a row; between them, neurons are left that do not have the margin, and tested."""


def widest_bound(rows: Rows, proof: Any) -> int:
    """The bound that the proof gives on the sum of margins of every network (R62)."""
    require(len(rows.layers) == 3 and rows.layers[-1] == 1, "single neurons are for one hidden layer and one output")
    size, bound = rows.layers[1], rows.weight_bound
    require(size <= 2, "single neurons are for at most two hidden neurons")
    only(proof, {"labels", "any"} if size == 2 else {"labels"}, KIND)
    labels = neuron_bound(rows, [code[0] for code in rows.codes], proof["labels"])
    if size == 1:
        return labels + bound
    widest = neuron_bound(rows, [0] * len(rows), proof["any"])
    return max(labels + widest + bound, 2 * labels + 2 * bound)


def neuron_bound(rows: Rows, signs: Sequence[int], proof: Any) -> int:
    """The margin that no neuron with these signs exceeds (0: either sign) by ``[margin, tree]`` (R61)."""
    require(isinstance(proof, list) and len(proof) == 2, "the proof about a neuron is not a pair")
    largest = rows.weight_bound * max(rows.norms) + 1
    level = whole(proof[0], 1, largest, "margin of a neuron")
    bound = rows.weight_bound
    stack: list[tuple[Any, list[int], dict[int, tuple[int, int]]]] = [(proof[1], list(signs), {})]
    while stack:
        fits(len(stack) * (8 * len(signs) + 300))
        tree, known, box = stack.pop()
        rows.work.spend(4 + 2 * len(known) + 8 * len(box))
        require(isinstance(tree, list) and tree, "a tree is malformed")
        kind, sizes = tree[0], {"A": 1, "L": 2, "T": 4, "W": 5}
        require(type(kind) is str and sizes.get(kind) == len(tree), "a tree is malformed")
        if kind == "A":
            require(not any(wider(rows, known, box, level)), "a neuron has a larger margin")
        elif kind == "L":
            g, total = rows.combination(known, tree[1])
            most = sum(bound * abs(v) for i, v in g.items() if i not in box)
            most += sum(max(v * g.get(i, 0) for v in limits) for i, limits in box.items())
            require(most // total <= level, "a leaf of a neuron's tree is open")
        elif kind == "T":
            k = whole(tree[1], 0, len(known), "row")
            require(known[k] == 0, "a branch is on a row that has a sign already")
            stack.append((tree[2], [*known[:k], 1, *known[k + 1 :]], box))
            if tree[3] is None:
                # A neuron of which nothing is known may be flipped.
                require(not any(known) and not box, "a branch is missing")
            else:
                stack.append((tree[3], [*known[:k], -1, *known[k + 1 :]], box))
        else:
            i = whole(tree[1], 0, rows.layers[0], "input")
            low, high = box.get(i, (-bound, bound))
            value = whole(tree[2], low, high, "weight")
            stack += [(tree[3], known, box | {i: (low, value)}), (tree[4], known, box | {i: (value + 1, high)})]
    return level


def wider(rows: Rows, signs: Sequence[int], box: dict[int, tuple[int, int]], level: int) -> Iterator[bool]:
    """Whether each neuron that thresholds leave has a margin above the level: weights within the box, these signs."""
    bound, count = rows.weight_bound, len(rows)
    whole_box = (-bound, bound)
    order = sorted(rows.live, key=lambda i: -sum(abs(row[i]) for row in rows.rows))
    limits = [box.get(i, whole_box) for i in order]
    first, vectors = len(order), 1
    while first and vectors * (size := limits[first - 1][1] - limits[first - 1][0] + 1) <= _SECOND_HALF:
        first, vectors = first - 1, vectors * size
    # Rows of small norms leave the fewest neurons.
    ranked = sorted(range(count), key=lambda k: rows.norms[k])
    halves = [_Thresholds(rows, k, order[first:], limits[first:], vectors, signs[k], level) for k in ranked]
    columns = [[rows.rows[k][i] for k in ranked] for i in order[:first]]
    every, cost = (1 << vectors) - 1, 3 + vectors // 1024
    # A neuron without signs may be flipped, so its first weight that is not 0 is positive.
    free = not any(signs) and not box
    stack = [(0, [0] * count, free)]
    while stack:
        depth, sums, zero = stack.pop()
        rows.work.spend(count)
        if depth < first:
            low, high = limits[depth]
            column = columns[depth]
            for w in range(0 if zero else low, high + 1):
                moved = [s + w * x for s, x in zip(sums, column, strict=True)] if w else sums
                stack.append((depth + 1, moved, zero and w == 0))
            continue
        left = every
        for reached, half in zip(sums, halves, strict=True):
            rows.work.spend(cost)
            left &= half.left(reached)
            if not left:
                break
        while left:
            last = left & -left
            left ^= last
            rows.work.spend(count * (2 + len(order) - first) + cost)
            own = [s + half.sum_of(last.bit_length() - 1) for s, half in zip(sums, halves, strict=True)]
            yield all(half.fits(s) for s, half in zip(own, halves, strict=True))


class _Thresholds:
    """One row, and which weight vectors of the second half reach which sums on it."""

    def __init__(
        self,
        rows: Rows,
        row: int,
        inputs: Sequence[int],
        limits: Sequence[tuple[int, int]],
        vectors: int,
        sign: int,
        level: int,
    ) -> None:
        self.sign, self.level = sign, level
        self._parts = [(rows.rows[row][i], low, high) for i, (low, high) in zip(inputs, limits, strict=True)]
        lowest = sum(min(x * low, x * high) for x, low, high in self._parts)
        highest = sum(max(x * low, x * high) for x, low, high in self._parts)
        most = max(8, min(_MOST_THRESHOLDS, _TABLES // (vectors // 8 + 64) // 3 // len(rows)))
        fits(3 * len(rows) * most * (vectors // 8 + 64))
        self._lowest, self._step = lowest, max(1, -(-(highest - lowest + 1) // most))
        steps = (highest - lowest) // self._step + 1
        rows.work.spend(4 * vectors + steps * (4 + vectors // 128))
        sums = [0]
        for x, low, high in self._parts:
            sums = [s + w * x for s in sums for w in range(low, high + 1)]
        members: list[list[int]] = [[] for _ in range(steps)]
        for place, s in enumerate(sums):
            members[(s - lowest) // self._step].append(place)
        reached = bytearray(vectors // 8 + 1)
        # at_least[g]: the vectors whose sum is lowest + g step or more.
        self._at_least = [0] * (steps + 1)
        for g in range(steps - 1, -1, -1):
            for place in members[g]:
                reached[place >> 3] |= 1 << (place & 7)
            self._at_least[g] = int.from_bytes(reached, "little")
        self._known: dict[tuple[int, int], int] = {}

    def left(self, reached: int) -> int:
        """The vectors that may have the margin if the first half's sum is this: all that have it, and few others."""
        last = len(self._at_least) - 1
        above = (self.level + 1 - reached - self._lowest) // self._step
        below = -((self.level + reached + self._lowest) // self._step)
        key = (min(max(above, 0), last), min(max(below, 0), last))
        found = self._known.get(key)
        if found is None:
            plus, minus = self._at_least[key[0]], self._at_least[0] ^ self._at_least[key[1]]
            found = plus if self.sign > 0 else minus if self.sign < 0 else plus | minus
            self._known[key] = found
        return found

    def sum_of(self, place: int) -> int:
        """The sum of the second half with the weights of this place."""
        total = 0
        for x, low, high in reversed(self._parts):
            place, w = divmod(place, high - low + 1)
            total += x * (low + w)
        return total

    def fits(self, total: int) -> bool:
        """Whether a sum has the sign, and the margin above the level."""
        return (total > self.level and self.sign >= 0) or (-total > self.level and self.sign <= 0)
