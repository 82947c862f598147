"""Replays the proof of a lower bound on the links of every network that gets all rows right, for any margins.

A neuron gives + if its sum is at least 0, so without links it is always +.

- R53: q outputs are - on some row, so each has a link.  A hidden layer's signs determine the code, so of c codes at
  least ``ceil(log2 c)`` of its neurons are not constant, and each has a link.
- R54: follow an output down while its neurons have one link.  That ends at an input that tells its classes apart, or at
  a neuron with two links or more that does, of which R53 counted one.  Different outputs end at different neurons.
- R55: m neurons of the first layer are not constant and have links to the next: m links there at least, and one in each
  layer above.  If m = 1, this neuron tells the two classes apart.  If m = 2 and none does, a class is the union of a
  side of one neuron and a side of the other; or the code is the product of their signs, which no neuron gives: then two
  neurons of some layer matter, one with links from both, so there are three links, and two above them.  That is two
  links more, as with m > 2.

All that is left to try is which classes of rows neurons with few links can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import gcd
from operator import mul
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import KIND, Work, fits, only, require, whole

LARGEST_PAIR_BOUND = 500
"""All pairs of weights are tried up to this P; this takes half a minute."""


def separation_bound(rows: Rows, proof: Any) -> int:
    """The number of links that a network needs to give every row its code (R53 to R56).

    Parameters
    ----------
    rows
        The rows, their codes, the layers and P.
    proof
        ``support``: one more than the links of the largest neurons that are tried.
    """
    support = whole(only(proof, {"support"}, KIND)["support"], 1, 6, "support")
    layers = len(rows.layers) - 1
    outputs = [[code[j] > 0 for code in rows.codes] for j in range(rows.layers[-1])]
    negative = [plus for plus in outputs if not all(plus)]
    inputs = _Inputs(rows)
    if layers == 1:
        return sum(inputs.needed(plus, support, may_turn=False) for plus in negative)
    codes = len(set(rows.codes))
    bound = len(negative) + (layers - 1) * (codes - 1).bit_length()
    # Outputs that are equal up to a flip can share a neuron.
    different = {tuple(p == plus[0] for p in plus) for plus in negative if any(plus)}
    if codes == 2:
        return bound + inputs.needed(list(different.pop()), support, may_turn=True) - 1
    return bound + sum(inputs.needed(list(plus), min(2, support), may_turn=True) - 1 for plus in different)


class _Inputs:
    """The inputs that are not zero in every row, and what one or two of them can tell apart."""

    def __init__(self, rows: Rows) -> None:
        self.columns = [column for column in zip(*rows.rows, strict=True) if any(column)]
        self.bound, self.work = rows.weight_bound, rows.work

    def needed(self, plus: list[bool], support: int, *, may_turn: bool) -> int:
        """The fewest links of a neuron that gives + on just these rows (R56) or, flipped, on just the others (R54).

        Where it may be flipped, two joined neurons count too, as one with one link more than both together (R55).
        """
        if support == 1 or self._single(plus, may_turn):
            return 1
        if support == 2 or self._pair(plus, may_turn):
            return 2
        wanted = self._sides(plus)[: 1 + may_turn]
        for links in range(3, support):
            if any(signs in wanted for signs in self._signs(links)) or (may_turn and self._joined(plus, links - 1)):
                return links
        return support

    def _single(self, plus: list[bool], may_turn: bool) -> bool:
        self.work.spend(4 * len(plus) * len(self.columns))
        wanted = [plus, [not p for p in plus]] if may_turn else [plus]
        return any([sign * x >= 0 for x in column] in wanted for column in self.columns for sign in (1, -1))

    def _pair(self, plus: list[bool], may_turn: bool) -> bool:
        """Whether two inputs suffice: bit sets of the weights that are still possible, row by row (R55)."""
        if len(self.columns) < 2:
            return False
        require(self.bound <= LARGEST_PAIR_BOUND, f"pairs of weights beyond {LARGEST_PAIR_BOUND} are not tried out")
        order = list(_in_turn(plus))
        columns = [[column[k] for k in order] for column in self.columns]
        sides = _Sides(self.bound, self.work)
        right, wrong = _Table(sides, 0), _Table(sides, 1)
        tables = [right if plus[k] else wrong for k in order]
        everything = sides.all | (sides.all << sides.count if may_turn else 0)
        for i, one in enumerate(columns):
            rows = [table[x] for table, x in zip(tables, one, strict=True)]
            for other in columns[:i]:
                left = everything
                tried = 0
                for row, y in zip(rows, other, strict=True):
                    left &= row[y]
                    tried += 1
                    if not left:
                        break
                else:
                    return True
                self.work.spend(tried * (2 + sides.count // 400))
        return False

    def _joined(self, plus: list[bool], links: int) -> bool:
        """Whether sides of two neurons with so many links together cover just one of the classes (R55)."""
        both = self._sides([True] * len(plus))[0]
        one, other = ({side for s in self._signs(n) for side in (s, s ^ both)} for n in (1, links - 1))
        for wanted in self._sides(plus):
            covered = [side for side in other if not side & ~wanted]
            for side in one:
                self.work.spend(len(covered))
                if not side & ~wanted and any(side | more == wanted for more in covered):
                    return True
        return False

    def _sides(self, plus: list[bool]) -> list[int]:
        """These rows and the others as sets of bits, one in the highest place of each row's lane."""
        top = self._lane - 1
        return [sum(1 << self._lane * k + top for k, p in enumerate(plus) if p == side) for side in (True, False)]

    @property
    def _lane(self) -> int:
        """Bits for the sum of a row: those of a sum of a few links and its sign."""
        return (4 * self.bound * max((abs(x) for column in self.columns for x in column), default=0)).bit_length() + 1

    def _signs(self, links: int) -> Iterator[int]:
        """The rows on which each neuron with so many links is +, as sets of bits."""
        if len(self.columns) < links:
            return
        lane, rows = self._lane, len(self.columns[0])
        packed = [sum(x << lane * k for k, x in enumerate(column)) for column in self.columns]
        (top, _) = self._sides([True] * rows)
        weights = [w for w in range(-self.bound, self.bound + 1) if w]
        steps = (2 * self.bound) ** links * (links + 3) * (1 + lane * rows // 480)
        for chosen in combinations(packed, links):
            self.work.spend(steps)
            for several in product(weights, repeat=links):
                yield sum(map(mul, several, chosen), top) & top


def _in_turn(plus: list[bool]) -> Iterator[int]:
    """Rows of both classes alternately, so that candidates that do not separate fail early."""
    one = [k for k, p in enumerate(plus) if p]
    other = [k for k, p in enumerate(plus) if not p]
    for n in range(max(len(one), len(other))):
        yield from one[n : n + 1]
        yield from other[n : n + 1]


class _Sides:
    """All directions (v, w) of two weights in -P..P, and as a bit set those with ``v x + w y >= 0``."""

    def __init__(self, bound: int, work: Work) -> None:
        work.spend(40 * (2 * bound + 1) ** 2)
        self.work = work
        values = range(-bound, bound + 1)
        directions = [(v, w) for v in values for w in values if gcd(v, w) == 1]
        angles = {_angle(*direction) for direction in directions}
        # Different fractions of these sizes differ by more than one unit of the key.
        shift = 2 * (2 * bound).bit_length() + 1
        self.angles = sorted(angles, key=lambda angle: (angle[0] << shift) // angle[1])
        self.count = len(directions)
        self.all = (1 << self.count) - 1
        self._kept = 0

    def keep(self, bits: int) -> None:
        """Count a bit set that is kept."""
        self._kept += 200 + bits // 8
        fits(self._kept)

    def positive(self, x: int, y: int) -> int:
        """Directions at most a quarter turn away from (x, y): half of all, from (y, -x) on, with both ends."""
        self.work.spend(40 + self.count // 100)
        if not x and not y:
            return self.all
        above, below = _angle(y, -x)
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.angles[middle][0] * below < above * self.angles[middle][1]:
                low = middle + 1
            else:
                high = middle
        at_end = low < self.count and self.angles[low][0] * below == above * self.angles[low][1]
        bits = (1 << self.count // 2 + at_end) - 1 << low
        return (bits | bits >> self.count) & self.all


def _angle(v: int, w: int) -> tuple[int, int]:
    """A fraction that grows with the angle of (v, w), from -1 straight down to 3 after a full turn."""
    size = abs(v) + abs(w)
    return (w if v >= 0 else 2 * size - w, size)


class _Table(dict[int, "_Line"]):
    """For x and y, the directions that give the required sign, followed (shifted) by those that give the other one."""

    def __init__(self, sides: _Sides, turned: int) -> None:
        self.sides, self.turned = sides, turned

    def __missing__(self, x: int) -> _Line:
        self[x] = line = _Line(self.sides, self.turned, x)
        return line


class _Line(dict[int, int]):
    """A table for one x."""

    def __init__(self, sides: _Sides, turned: int, x: int) -> None:
        self.sides, self.turned, self.x = sides, turned, x
        sides.keep(0)

    def __missing__(self, y: int) -> int:
        self.sides.keep(2 * self.sides.count)
        positive = self.sides.positive(self.x, y)
        signs = (positive, self.sides.all & ~positive)
        self[y] = both = signs[self.turned] | signs[1 - self.turned] << self.sides.count
        return both
