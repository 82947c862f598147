"""Max-Margin where one neuron does not suffice: two that split, and constants, for one hidden layer and one output.

Constant neurons have by far the largest margins, so a good network has as few others as possible.  They act as a bias.
With two neurons that split, the output is an AND or an OR of them: both are right on all rows of one class, and each
row of the other class has at least one of them right.  Such pairs are found exactly if a neuron has few weights
(:mod:`bemi.engines.decomposition.neuron.exhaustive`): one of the two is right on a given row of the other
class, so list these; the other one must be right on all rows where the first is wrong, which leaves few possibilities.

Let c be the largest margin of constant neurons, d that of the others, s the largest sum of two margins of such a pair,
P the weight bound and n the number of neurons.  If no neuron is right on all rows, then no network has more than

    max((n - 2) c + s + P,   (n - 3) c + 3 d + n P),

the first with two neurons that split, if there is a pair; the second with three or more.  With two, some row has only
one of them right, so the margin of the output is at most P.

R42 in docs/certificates.md defines the proof, with rows numbered among the distinct rows.

For larger weights, pairs are found by local search: a walk that cools down changes one weight, or two weights of a
neuron, and counts what is missing.

**Majority.** Where two neurons do not suffice, two of three that are right do.  In Sat-Margin's networks with P = 1 and
five neurons, three of some four are right on every row.  Then two of any three are, and constants fill the other
places. But Sat-Margin allows sums of 0 and Max-Margin does not, so neurons are replaced one after the other.  A row
needs the third neuron if exactly one of the other two is right on it; on all other rows either sign will do.  If
neurons have few weights, the one with the widest margin is found exactly, in about a millisecond.  Where none is right
on all rows that need it, one that is right on most takes its place.  If no three neurons suffice, three of five may.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.neuron.exhaustive import Neurons, best_agreement, input_order, neurons
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem

MOST_VECTORS = 10**7
"""Weight vectors of a neuron up to which all are tried."""

MOST_INPUTS = 14
"""Inputs up to which ternary weight vectors are so few."""

LIST = 20_000
"""Neurons that are listed at most; a list of this length may not be complete."""

_SAMPLE = 2000  # neurons that tell which rows are right least often
_ROWS = 6  # of these rows that are tried


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neurons, the sum of their margins, 0 if there are none, and the row that one of them was listed for."""

    row: int
    most: int
    weights: Integers


def applicable(problem: Problem) -> bool:
    """Whether a problem has the layers, rows of both codes, and few enough inputs."""
    shallow = len(problem.hidden_layers) == 1 and problem.layers[-1] == 1 and not problem.biased
    both = len(np.unique(problem.codes)) == 2
    return shallow and both and problem.layers[1] >= 3 and len(problem.live) <= MOST_INPUTS


def weight_unit(problem: Problem) -> int:
    """1 if all weights of a neuron can be tried; otherwise P, which leaves -P, 0 and P."""
    bound = problem.weight_bound
    return 1 if (2 * bound + 1) ** len(problem.live) <= MOST_VECTORS else bound


def search_pairs(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the best network with two neurons that split, and a bound if the searches were exact."""
    return two_splits(problem, limits.deadline(), limits.seed)


def two_splits(problem: Problem, deadline: Deadline, seed: int = 0) -> Finding:
    """Search for the best network with two neurons that split, where one does not suffice.

    If neurons have too many weights to try, only weights of -P, 0 and P are, then a local search follows, and there is
    no bound.
    """
    distinct = distinct_rows(problem)
    data, codes, bound = distinct.data, distinct.codes[:, 0], problem.weight_bound
    unit = weight_unit(problem)
    exact = unit == 1
    constant = neurons(data, np.ones_like(codes), bound // unit)
    single = neurons(data, codes, bound // unit)
    if not constant.margins.size or not single.complete or single.margins.size:
        return Finding()
    pairs = [_best_pair(data, codes, bound // unit, side, deadline) for side in (1, -1)]
    network, widest = None, 0
    for pair, side in zip(pairs, (1, -1), strict=True):
        if pair is not None and pair.most > widest:
            network, widest = of_two(unit * pair.weights, side, unit * constant.weights, problem), pair.most
    if network is None and not exact:
        annealed = annealed_pair(data, codes, bound, seed=seed, deadline=deadline)
        if annealed is not None:
            network = of_two(*annealed, unit * constant.weights, problem)
    if not exact or not constant.complete or pairs[0] is None or pairs[1] is None:
        return Finding(network)
    first_plus = (np.arange(len(codes)) == 0).astype(np.int64)
    other = neurons(data, first_plus, bound, constant=False)
    size, c, d = problem.layers[1], int(constant.margins[0]), int(other.margins.max(initial=0))
    # Where neurons that split have the larger margins, constant ones do not limit how many split.
    if not other.complete or d > c:
        return Finding(network)
    found = [pair for pair in pairs if pair is not None]
    two = [(size - 2) * c + pair.most + bound for pair in found if pair.most]
    proof: dict[str, Any] = {"kind": "splitting-neurons", "constant": c, "other": d}
    proof |= {"pairs": [[pair.row, pair.most] for pair in found], "order": input_order(data).tolist()}
    return Finding(network, bound=max([(size - 3) * c + 3 * d + size * bound, *two]), proof=proof)


def shortest_list(data: Integers, codes: Integers, bound: int, side: int, level: int = 0) -> tuple[int, Neurons]:
    """A row of the other side, and all neurons that are right on it and on all rows of one side; the fewest there are.

    Only rows are tried on which few neurons of a sample are right.
    """
    must = np.where(codes == side, codes, 0)
    rest = np.flatnonzero(codes != side)
    sample = neurons(data, must, bound, level=level, room=_SAMPLE)
    right = codes[rest, None] * (data[rest] @ sample.weights) > 0
    lists = []
    for row in rest[np.argsort(right.sum(axis=1), kind="stable")[:_ROWS]].tolist():
        signs = must.copy()
        signs[row] = codes[row]
        lists.append((row, neurons(data, signs, bound, level=level, room=LIST)))
    return min(lists, key=lambda entry: len(entry[1].margins))


def _best_pair(data: Integers, codes: Integers, bound: int, side: int, deadline: Deadline) -> Pair | None:
    """The widest pair that is right on all rows of one side and covers the others; None if a search is too large."""
    must = np.where(codes == side, codes, 0)
    row, listed = shortest_list(data, codes, bound, side)
    if not listed.complete or len(listed.margins) == LIST:
        return None
    patterns = codes[:, None] * (data @ listed.weights) > 0
    best = Pair(row, 0, np.zeros((data.shape[1], 2), dtype=np.int64))
    tried: list[NDArray[np.bool_]] = []
    for at in np.argsort(-listed.margins, kind="stable").tolist():
        pattern, margin = patterns[:, at], int(listed.margins[at])
        # A wider neuron that is right on these rows and more has been tried.
        if any((pattern <= wider).all() for wider in tried):
            continue
        tried.append(pattern)
        if deadline.passed:
            return None
        second = neurons(data, np.where(pattern, must, codes), bound, level=max(0, best.most - margin))
        if not second.complete:
            return None
        if second.margins.size:
            both = np.stack([listed.weights[:, at], second.weights[:, 0]], axis=1)
            best = Pair(row, margin + int(second.margins[0]), both)
    return best


def of_two(pair: Integers, side: int, constant: Integers, problem: Problem) -> Network:
    """A pair with constant neurons: ``P (u_1 + u_2 - side)`` has the sign of the code."""
    size, bound = problem.layers[1], problem.weight_bound
    first = np.concatenate([pair, np.repeat(constant[:, :1], size - 2, axis=1)], axis=1)
    output = np.zeros((size, 1), dtype=np.int64)
    output[:3, 0] = bound, bound, -side * bound
    return Network((first, output), bound)


PATIENCE = 60
"""Replacements without a gain, while something is missing, after which a thorough search gives up."""

_ROOM = 8  # neurons among which one with few sums of 0 is chosen
_NEEDED, _OTHERS = 1 << 20, 4  # price of a row that needs the neuron; other rows decide between equals, by chance


def search_majority(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: a quick search, and a thorough one if that finds nothing."""
    assert state.start is not None
    deadline = limits.deadline()
    for patience in (0, PATIENCE):
        network = majority(
            problem, state.start, patience=patience, first_found=patience > 0, seed=limits.seed, deadline=deadline
        )
        if network is not None:
            return Finding(network)
    return Finding()


def majority(
    problem: Problem, start: Network, *, patience: int = 0, first_found: bool = False, seed: int, deadline: Deadline
) -> Network | None:
    """Three neurons of which two are right on every row, or five and three, with constants; None if none were found.

    Parameters
    ----------
    problem, start
        Rows for a network with one hidden layer of at least three neurons and one output, and a network whose neurons
        are the first that are tried.
    patience
        Replacements without a gain after which a search gives up; each neuron is replaced once in any case.
    first_found
        Whether the first network with margins will do; otherwise three neurons with wide margins are chosen.
    seed, deadline
        Seed of random choices, and when to stop.
    """
    size, bound = problem.layers[1], problem.weight_bound
    constant = neurons(problem.data, np.ones(len(problem.data), dtype=np.int64), 1)
    if not constant.margins.size:
        return None
    climb = _Climb(problem, patience, seed, deadline)
    output = start.weights[1][:, 0]
    ranked = np.argsort(output == 0, kind="stable")
    turned = (start.weights[0] * np.where(output < 0, -1, 1))[:, ranked]
    best: tuple[int, Network | None] = (0, None)
    for chosen in [*combinations(range(size), 3), range(size - 1 + size % 2)]:
        if best[1] is not None and (first_found or len(chosen) > 3):
            break
        found = climb.improved(turned[:, list(chosen)])
        margins = climb.margins(found)
        if margins > best[0]:
            first = np.repeat(bound * constant.weights[:, :1], size, axis=1)
            first[:, : len(chosen)] = found
            above = np.zeros((size, 1), dtype=np.int64)
            above[: len(chosen)] = bound
            best = margins, Network((first, above), bound)
    return best[1]


class _Climb:
    """Replaces the columns of a matrix, an odd number of neurons, one by one."""

    def __init__(self, problem: Problem, patience: int, seed: int, deadline: Deadline) -> None:
        self.patience, self.deadline = patience, deadline
        self.data, self.codes = problem.data, problem.codes[:, 0]
        # Weights of new neurons are multiples of this, so that there are few enough to try all.
        self.unit = weight_unit(problem)
        self.bound = problem.weight_bound // self.unit
        self.rng = np.random.default_rng(seed)

    def missing(self, columns: Integers) -> int:
        """Rows on which fewer than half of the neurons are right, and sums of 0."""
        sums = self.codes[:, None] * (self.data @ columns)
        return int((2 * (sums > 0).sum(axis=1) < columns.shape[1]).sum() + (sums == 0).sum())

    def margins(self, columns: Integers) -> int:
        """Sum of the margins, or 0 if anything is missing."""
        return 0 if self.missing(columns) else int(np.abs(self.data @ columns).min(axis=0).sum())

    def improved(self, columns: Integers) -> Integers:
        """The neurons after replacements that leave less missing, and then have wider margins."""
        columns, idle, j = columns.copy(), 0, columns.shape[1] - 1
        while idle < max(columns.shape[1], self.patience if self.missing(columns) else 0) and not self.deadline.passed:
            tried = columns.copy()
            tried[:, j] = self._replacement(columns, j)
            gain = self.missing(columns) - self.missing(tried), self.margins(tried) - self.margins(columns)
            idle = 0 if gain > (0, 0) else idle + 1
            # Equally good neurons lead to different places.
            if gain >= (0, 0):
                columns = tried
            j = (j + 1) % columns.shape[1]
        return columns

    def _replacement(self, columns: Integers, j: int) -> Integers:
        """The widest neuron that is right on all rows that need it, else one that is right on most of them."""
        right = self.codes[:, None] * (self.data @ np.delete(columns, j, axis=1)) > 0
        needs = 2 * right.sum(axis=1) == columns.shape[1] - 1
        found = neurons(self.data, np.where(needs, self.codes, 0), self.bound)
        if found.margins.size:
            return self.unit * found.weights[:, 0]
        prices = self.rng.integers(0, _OTHERS, len(needs)) + _NEEDED * needs
        most = best_agreement(self.data, self.codes, prices, self.bound, room=_ROOM, strict=True)
        if not most.weights.size:
            return columns[:, j]
        equal = most.weights[:, most.values // _NEEDED == most.values[0] // _NEEDED]
        return self.unit * equal[:, np.argmin((self.data @ equal == 0).sum(axis=0))]


STEPS = 600_000
"""Steps of the first walks: a tenth of a second for 150 rows."""

WALKS = 8
"""Walks if there is no time limit."""

_HOT, _COLD = 2.0, 0.16  # temperatures; a right neuron that is missing costs 2, and a sum of 0 costs 1


def annealed_pair(
    data: Integers, codes: Integers, weight_bound: int, *, seed: int, deadline: Deadline
) -> tuple[Integers, int] | None:
    """Two columns of weights and the side on which both are right, or None if no walk finds them.

    Walks alternate between the sides and get longer; they end with the deadline, or if there is none after
    :data:`WALKS`.
    """
    live = np.flatnonzero((data != 0).any(axis=0))
    columns = np.ascontiguousarray((data[:, live] * codes[:, None]).T)
    rng = np.random.default_rng(seed)
    attempt = 0
    while not deadline.passed and (deadline.left is not None or attempt < WALKS):
        side = -1 if attempt % 2 == 0 else 1
        needs = np.where(codes == side, 2, 1)
        weights = np.zeros((2, len(live)), dtype=np.int64)
        if _anneal(columns, needs, weight_bound, STEPS * (1 + attempt // 4), rng, weights):
            found = np.zeros((data.shape[1], 2), dtype=np.int64)
            found[live] = weights.T
            return found, side
        attempt += 1
    return None


@njit(cache=True, error_model="numpy")
def _anneal(columns, needs, bound, steps, rng, weights):
    """Change the weights, which are 0 at first, until nothing is missing; returns whether that happened."""
    inputs, rows = columns.shape
    sums, moved = np.zeros((2, rows), np.int64), np.zeros(rows, np.int64)
    # By row and neuron: what the row still needs if that neuron is wrong.
    lacks = np.zeros((2, rows), np.int64)
    cost, zeros = 0, np.full(2, rows)
    for k in range(rows):
        lacks[:, k] = needs[k]
        cost += 2 * needs[k] + 2
    rate = math.log(_COLD / _HOT) / steps
    for n in range(steps):
        j, i = int(rng.random() * 2), int(rng.random() * inputs)
        old = weights[j, i]
        if rng.random() < 0.7:
            new = old + (1 if rng.random() < 0.5 else -1)
        else:
            new = int(rng.random() * (2 * bound + 1)) - bound
        second, by_second = i, 0
        if rng.random() < 0.5:
            second = int(rng.random() * inputs)
            by_second = old - new if rng.random() < 0.8 else new - old
            if second == i or abs(weights[j, second] + by_second) > bound:
                continue
        if abs(new) > bound or new == old:
            continue
        by, own_zeros, missing = new - old, 0, 0
        for k in range(rows):
            m = sums[j, k] + by * columns[i, k] + by_second * columns[second, k]
            moved[k] = m
            own_zeros += m == 0
            missing += max(0, lacks[j, k] - (m >= 1))
        total = 2 * missing + own_zeros + zeros[1 - j]
        if total <= cost - _HOT * math.exp(rate * n) * math.log(1.0 - rng.random()):
            cost, zeros[j] = total, own_zeros
            weights[j, i] = new
            weights[j, second] += by_second
            for k in range(rows):
                sums[j, k] = moved[k]
                lacks[1 - j, k] = needs[k] - (moved[k] >= 1)
            if cost == 0:
                return True
    return False
