"""Few links that separate two classes of rows: one neuron of the first layer, or up to three that are joined above.

A neuron gives + on a row if ``w x >= 0`` and - otherwise, so only the direction of w matters, and -w is not quite the
opposite of w: both give + on rows at exactly 0.  A :class:`Separator` joins neurons j with signs t_j:

    joined(x) = rho(sum_j t_j rho(w_j x)),

which is a single one of them, or + if at least one of two, or at least two of three, are +.  Its *cost* is the number
of links up to and including the joining neuron: those of all neurons, and one more for each.

Neurons with few links are enumerated, which proves that smaller ones do not exist.  Otherwise a Metropolis walk over
supports of given sizes minimises

    sum over wrong rows of 1 + min(1, violation / scale).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline
from bemi.network import sign

PROPOSALS = 10_000_000
"""Maximum proposals of the walks; some seconds for images."""

MOST_NEURONS = 3
"""Maximum number of joined neurons."""

_RUN = 50_000  # proposals of the first walk over a shape; each further one is longer by as many
_TEMPERATURE = (1.5, 0.2)  # first and last, in wrong rows
_STRIPS = 20  # random orders in which links are removed


@dataclass(frozen=True, eq=False)
class Separator:
    """First-layer neurons and how they are joined.

    Attributes
    ----------
    weights
        Shape (inputs, neurons).
    turns
        Weights of the joining neuron, each -1 or 1.
    turned
        Whether the joined sign is opposite to the class.
    """

    weights: Integers
    turns: Integers
    turned: bool

    @property
    def neurons(self) -> int:
        return len(self.turns)

    @property
    def cost(self) -> int:
        """Links of the neurons and of the joining neuron."""
        return int(np.count_nonzero(self.weights)) + self.neurons

    def separates(self, data: Integers, plus: NDArray[np.bool_]) -> bool:
        """Whether it gives + on exactly the rows of ``plus`` or, if it is turned, on exactly the others."""
        joined = sign(sign(data @ self.weights) @ self.turns) > 0
        return bool(((joined != plus) if self.turned else (joined == plus)).all())


@dataclass(frozen=True)
class Task:
    """The rows to separate, and the allowed means.

    Attributes
    ----------
    data, plus
        Rows, and which of them belong to the first class; the columns are the inputs that may be used.
    bound
        The weight bound P.
    neurons
        Maximum number of joined neurons.
    may_turn
        Whether the sign of a single neuron may be opposite to the class, and whether that of two joined ones may.
        With one or three, negative weights of the joining neuron do that.
    """

    data: Integers
    plus: NDArray[np.bool_]
    bound: int
    neurons: int
    may_turn: tuple[bool, bool]


def with_links(task: Task, links: int, deadline: Deadline | None = None) -> Separator | None:
    """A separating neuron with just so many links, if there is one and it is found before the deadline."""
    order = _mixed_order(task.plus)
    columns, plus = np.ascontiguousarray(task.data[order].T), task.plus[order]
    # The most that so many further links can add to a row, or take from it.
    sizes = -np.sort(-np.abs(columns), axis=0)[: links - 1]
    reach = task.bound * np.cumsum(np.concatenate([np.zeros((1, len(plus)), dtype=np.int64), sizes]), axis=0)
    inputs, values = np.zeros(links, dtype=np.int64), np.zeros(links, dtype=np.int64)
    for first in range(len(columns) - links + 1):
        for turned in (False, True)[: 1 + task.may_turn[0]]:
            if deadline is not None and deadline.passed:
                return None
            inputs[0] = first
            if _with_links(columns, plus ^ turned, task.bound, reach, inputs, values):
                weights = np.zeros((len(columns), 1), dtype=np.int64)
                weights[inputs, 0] = values
                return Separator(weights, np.array([1]), turned)
    return None


def joined(task: Task, links: int) -> bool:
    """Whether a class of rows is covered by two neurons that have so many links together, and no other row is.

    A neuron covers the rows on which it is +, or those on which it is -.
    """
    for few in range(1, links // 2 + 1):
        one, other = _sides(task, few), _sides(task, links - few)
        for wanted in (task.plus, ~task.plus):
            inside = [sides[~(sides & ~wanted).any(axis=1)] for sides in (one, other)]
            if any(inside[1][:, left].all(axis=1).any() for left in wanted & ~inside[0]):
                return True
    return False


def _sides(task: Task, links: int) -> NDArray[np.bool_]:
    """The rows that each neuron with so many links gives one sign, without repetition: shape (sides, rows)."""
    values = np.delete(np.arange(-task.bound, task.bound + 1), task.bound)
    weights = np.array(list(product(values, repeat=links)))
    chosen = combinations(range(task.data.shape[1]), links)
    none = np.zeros((0, len(task.plus)), dtype=bool)
    positive = np.unique(np.concatenate([none, *(weights @ task.data[:, inputs].T >= 0 for inputs in chosen)]), axis=0)
    return np.concatenate([positive, ~positive])


def walked(
    task: Task,
    known: Separator | None,
    least: int,
    *,
    most: int | None = None,
    proposals: int = PROPOSALS,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Separator | None:
    """A low-cost separator, by walks over supports; the known one if nothing cheaper is found.

    Parameters
    ----------
    task, known
        What to separate, and the cheapest separator so far.
    least
        Lower bound on the cost; the search ends once it is reached.
    most
        Maximum cost of a useful separator; None for any.
    proposals, seed
        How long to search, and the seed; the same values give the same result.
    deadline
        When the search must end.
    """
    search = _Walks(task, proposals, seed, deadline)
    largest = task.neurons * (task.data.shape[1] + 1) if most is None else most
    if known is not None:
        largest = min(largest, known.cost - 1)
    # From below, quickly: most rows need few links.
    cost = least
    while cost <= largest and not search.over:
        found = search.of_cost(cost, rounds=1)
        if found is not None:
            known = found
            break
        cost += max(1, cost // 3)
    # From above, with patience.
    while known is not None and known.cost > least and not search.over:
        found = search.of_cost(known.cost - 1)
        if found is None:
            break
        known = found
    return known


def stripped(task: Task, weights: Integers, turned: bool, seed: int = 0) -> Separator:
    """A neuron that separates, without the links that no row needs: the best of some random orders of removal."""
    signs = np.where(task.plus ^ turned, 1, -1)
    columns = np.ascontiguousarray((signs[:, None] * task.data).T)
    # A row at 0 is on the + side: there the distance to the wrong side is one more than the sum.
    room = weights @ columns + (signs > 0)
    rng = np.random.default_rng(seed)
    best = weights
    for _ in range(_STRIPS):
        candidate = weights.copy()
        _strip(columns, candidate, room.copy(), rng.permutation(np.flatnonzero(weights)))
        if np.count_nonzero(candidate) < np.count_nonzero(best):
            best = candidate
    return Separator(best[:, None], np.array([1]), turned)


def _mixed_order(plus: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Rows of both classes alternately: a neuron that fails does so within a few of them."""
    return np.argsort(np.where(plus, np.cumsum(plus), np.cumsum(~plus)), kind="stable")


@njit(cache=True)
def _with_links(
    columns: Integers, wanted: NDArray[np.bool_], bound: int, reach: Integers, inputs: Integers, values: Integers
) -> bool:
    """Whether a neuron with ``len(inputs)`` links separates, the first of its inputs given.

    Depth first over inputs in ascending order and their weights; ``reach[m]`` is what m further links can change.
    """
    n, rows = columns.shape
    last = len(inputs) - 1
    sums = np.zeros((last + 2, rows), np.int64)
    depth = 0
    values[0] = -bound - 1
    while True:
        values[depth] += 1
        if values[depth] == 0:
            values[depth] = 1
        if values[depth] > bound:
            if depth == 0:
                return False
            inputs[depth] += 1
            values[depth] = -bound - 1
            if inputs[depth] >= n - (last - depth):
                depth -= 1
            continue
        possible = True
        for k in range(rows):
            y = sums[depth, k] + values[depth] * columns[inputs[depth], k]
            sums[depth + 1, k] = y
            more = reach[last - depth, k]
            if y + more < 0 if wanted[k] else y - more >= 0:
                possible = False
                break
        if possible:
            if depth == last:
                return True
            depth += 1
            inputs[depth] = inputs[depth - 1] + 1
            values[depth] = -bound - 1


@njit(cache=True)
def _strip(columns: Integers, weights: Integers, room: Integers, order: NDArray[np.intp]) -> None:
    """Remove links, in the given order, as long as no row's room falls below 1."""
    for i in order:
        spare = True
        for k in range(len(room)):
            if room[k] - weights[i] * columns[i, k] < 1:
                spare = False
                break
        if spare:
            room -= weights[i] * columns[i]
            weights[i] = 0


@njit(cache=True)
def _walk(
    columns: Integers,
    wanted: NDArray[np.bool_],
    bound: int,
    sizes: Integers,
    turns: Integers,
    steps: int,
    temperatures: tuple[float, float],
    scale: float,
    rng: np.random.Generator,
    inputs: Integers,
    values: Integers,
) -> int:
    """Metropolis walk over the inputs and weights of joined neurons; returns the steps made, negative on success.

    ``sizes`` gives the links of each neuron; on success, ``inputs`` and ``values`` hold them, neuron by neuron.
    """
    n, rows = columns.shape
    count = len(sizes)
    total = sizes.sum()
    owner = np.empty(total, np.int64)
    at = 0
    for j in range(count):
        for _ in range(sizes[j]):
            owner[at] = j
            at += 1
    sums = np.zeros((count, rows), np.int64)
    for q in range(total):
        inputs[q] = int(rng.random() * n)
        values[q] = (1 + int(rng.random() * bound)) * (1 if rng.random() < 0.5 else -1)
        for k in range(rows):
            sums[owner[q], k] += values[q] * columns[inputs[q], k]
    energy = np.inf
    literal = np.empty(count, np.int64)
    cooling = math.log(temperatures[1] / temperatures[0]) / steps
    for step in range(steps):
        q = int(rng.random() * total)
        j = owner[q]
        i, value = inputs[q], values[q]
        new_i, new_value = i, (1 + int(rng.random() * bound)) * (1 if rng.random() < 0.5 else -1)
        if bound == 1 or rng.random() < 0.5:
            new_i = int(rng.random() * n)
        allowed = energy - temperatures[0] * math.exp(cooling * step) * math.log(1.0 - rng.random())
        new = 0.0
        for k in range(rows):
            for m in range(count):
                y = sums[m, k]
                if m == j:
                    y += new_value * columns[new_i, k] - value * columns[i, k]
                # At least 0 if the neuron, after turning, gives +.
                literal[m] = y if turns[m] > 0 else -y - 1
            if count == 1:
                decisive = literal[0]
            elif count == 2:
                decisive = max(literal[0], literal[1])
            else:
                decisive = max(min(literal[0], literal[1]), min(max(literal[0], literal[1]), literal[2]))
            short = -decisive if wanted[k] else decisive + 1
            if short > 0:
                new += 1.0 + min(1.0, short * scale)
                if new > allowed:
                    break
        if new > allowed:
            continue
        for k in range(rows):
            sums[j, k] += new_value * columns[new_i, k] - value * columns[i, k]
        inputs[q], values[q] = new_i, new_value
        energy = new
        if new == 0.0:
            return -1 - step
    return steps


class _Walks:
    """Walks over supports of a given cost, counted against a limit."""

    def __init__(self, task: Task, proposals: int, seed: int, deadline: Deadline | None) -> None:
        self.task, self.deadline = task, deadline or Deadline()
        self.left = proposals
        self.rng = np.random.default_rng(seed)
        order = _mixed_order(task.plus)
        self.columns = np.ascontiguousarray(task.data[order].T)
        self.plus = task.plus[order]
        self.scale = 1.0 / (task.bound * max(1, int(np.abs(task.data).max(initial=0))))

    @property
    def over(self) -> bool:
        return self.left <= 0 or self.deadline.passed

    def of_cost(self, cost: int, rounds: int | None = None) -> Separator | None:
        """A separator of this cost: ``rounds`` walks for each shape, or walks until the limit."""
        shapes = self._shapes(cost)
        made = 0
        while shapes and (rounds is None or made < rounds):
            made += 1
            for sizes in shapes:
                if self.over:
                    return None
                found = self._walk(sizes, made * _RUN)
                if found is not None:
                    return found
        return None

    def _shapes(self, cost: int) -> list[Integers]:
        """Links of each neuron, for every number of neurons; two neurons may also be slightly unbalanced."""
        shapes = []
        for count in range(1, min(self.task.neurons, cost // 2) + 1):
            small, larger = divmod(cost - count, count)
            shapes.append(np.array([small + (j < larger) for j in range(count)]))
            if count == 2 and small > 1:
                shapes.append(shapes[-1] + [1, -1])
        return [sizes for sizes in shapes if sizes.max() <= len(self.columns)]

    def _walk(self, sizes: Integers, steps: int) -> Separator | None:
        count, rng = len(sizes), self.rng
        may_turn = self.task.may_turn[0] if count != 2 else self.task.may_turn[1]
        turned = bool(may_turn and rng.random() < 0.5)
        turns = np.ones(count, dtype=np.int64)
        if count > 1:
            turns = np.where(rng.random(count) < 0.5, 1, -1)
        links = int(sizes.sum())
        inputs, values = np.zeros(links, dtype=np.int64), np.zeros(links, dtype=np.int64)
        made = _walk(
            self.columns,
            self.plus ^ turned,
            self.task.bound,
            sizes,
            turns,
            min(steps, 4 * _RUN, self.left),
            _TEMPERATURE,
            self.scale,
            rng,
            inputs,
            values,
        )
        self.left -= abs(made)
        if made >= 0:
            return None
        weights = np.zeros((self.columns.shape[0], count), dtype=np.int64)
        # An input may occur twice; then its weights add up, within the bound or not.
        np.add.at(weights, (inputs, np.repeat(np.arange(count), sizes)), values)
        if np.abs(weights).max() > self.task.bound:
            return None
        if count == 3 and turned:
            turns, turned = -turns, False
        return Separator(weights, turns, turned)
