"""Max-Margin where one neuron does not suffice: two that split, and constants, for one hidden layer and one output.

Constant neurons have by far the largest margins, so a good network has as few others as possible.  They act as a bias.
With two neurons that split, the output is an AND or an OR of them: both are right on all rows of one class, and each
row of the other class has at least one of them right.  Such pairs are found exactly if a neuron has few weights
(:mod:`bemi.engines.decomposition.neuron.best_margin_search`): one of the two is right on a given row of the other
class, so list these; the other one must be right on all rows where the first is wrong, which leaves few possibilities.

Let c be the largest margin of constant neurons, d that of the others, s the largest sum of two margins of such a pair,
P the weight bound and n the number of neurons.  If no neuron is right on all rows, then no network has more than

    max((n - 2) c + s + P,   (n - 3) c + 3 d + n P),

the first with two neurons that split, if there is a pair; the second with three or more.  With two, some row has only
one of them right, so the margin of the output is at most P.

R42 in docs/certificates.md defines the proof, with rows numbered among the distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.max_margin.pair_annealing import walked_pair
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.neuron.best_agreement_search import input_order
from bemi.engines.decomposition.neuron.best_margin_search import Neurons, neurons
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
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


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
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
        walked = walked_pair(data, codes, bound, seed=seed, deadline=deadline)
        if walked is not None:
            network = of_two(*walked, unit * constant.weights, problem)
    if not exact or not constant.complete or pairs[0] is None or pairs[1] is None:
        return Finding(network)
    first_plus = (np.arange(len(codes)) == 0).astype(np.int64)
    other = neurons(data, first_plus, bound, constant=False)
    if not other.complete:
        return Finding(network)
    size, c, d = problem.layers[1], int(constant.margins[0]), int(other.margins.max(initial=0))
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
