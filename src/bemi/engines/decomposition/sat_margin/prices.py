"""A bound on the confident rows of networks with one hidden layer and one output, by prices of rows.

Turn neurons around such that all weights v_j of the output are at least 0; then a neuron is *right* on a row if it
gives the sign of the row's code, and a row is confident only if enough neurons are right.  A *quota* states that:
non-negative integers a_j and r such that in every network with these output weights,

    sum_j a_j [neuron j is right on row k]  >=  r        if row k is confident.

For example, with P = 1 and five neurons three of some four must be right: a = (1, 1, 1, 1, 0) and r = 3.  Let the rows
have prices 0 <= p_k <= 1, and let M be the largest sum of prices over the rows on which one neuron is right.  Then

    confident rows  <=  sum_k (1 - p_k)  +  (sum_j a_j / r) M,

since confident rows are worth at most ``sum_k p_k sum_j a_j [j is right on k] / r`` together.  M is found exactly by
:mod:`bemi.engines.decomposition.neuron.exhaustive`.  The best prices solve a linear program with one row per
neuron, of which only those matter that a search for M finds.

Every list of output weights v_1 >= v_2 >= ... >= 0 needs a quota; the bound uses the largest ``sum_j a_j / r``.  R21 in
docs/certificates.md defines the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.exhaustive import best_agreement, input_order
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, confidence_threshold, sign
from bemi.problem.problem import Problem

UNIT = 4096
"""Prices are multiples of one over this."""

MOST_INPUTS, MOST_OUTPUT_WEIGHTS = 64, 100
"""Inputs of a neuron, and sorted lists of output weights, up to which a bound is tried."""

_NEURONS = 40  # that become rows of the linear program after each search
_ROUNDS = 40
_LARGEST_QUOTA = 2  # entries of quotas that are tried


@dataclass(frozen=True, eq=False)
class PricedBound:
    """A bound on the confident rows and its proof."""

    bound: int
    proof: dict[str, Any]


def applicable(problem: Problem) -> bool:
    """Whether the bound is about this kind of network, and the search for neurons is not hopeless."""
    lists = math.comb(problem.weight_bound + problem.layers[1], problem.layers[1])
    shallow = len(problem.hidden_layers) == 1 and problem.layers[-1] == 1 and not problem.biased
    return shallow and len(problem.live) <= MOST_INPUTS and lists <= MOST_OUTPUT_WEIGHTS


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the best bound by prices; nothing if neurons have too many weights to try."""
    assert state.start is not None
    priced = priced_bound(problem, state.start, limits.deadline())
    return Finding() if priced is None else Finding(bound=priced.bound, proof=priced.proof)


def priced_bound(problem: Problem, network: Network, deadline: Deadline) -> PricedBound | None:
    """The best bound found, or None if neurons have too many weights to try.

    Parameters
    ----------
    problem, network
        The rows, and a network whose neurons are the first rows of the linear program.
    deadline
        When to stop improving the prices.
    """
    codes = problem.codes[:, 0]
    quotas, ratio = _quotas(problem.layers, problem.weight_bound)
    program = _PriceProgram(len(codes), ratio)
    signs = sign(network.pre_activations(problem.data)[0])
    program.add(np.concatenate([signs, -signs], axis=1) == codes[:, None])
    best: PricedBound | None = None
    prices = np.full(len(codes), UNIT)
    for _ in range(_ROUNDS):
        most = 0
        for targets in (codes, -codes):
            found = best_agreement(problem.data, targets, prices, problem.weight_bound, level=most, room=_NEURONS)
            if not found.complete:
                return best
            most = found.most
            program.add(sign(problem.data @ found.weights) == targets[:, None])
        bound = math.floor((int((UNIT - prices).sum()) + ratio * most) / UNIT)
        if best is None or bound < best.bound:
            order = input_order(problem.data, prices).tolist()
            proof = {"kind": "row-prices", "unit": UNIT, "prices": prices.tolist(), "most": most, "quotas": quotas}
            best = PricedBound(bound, proof | {"order": order})
        lower, prices = program.solve()
        if deadline.passed or best.bound <= lower:
            break
    return best


def _quotas(layers: tuple[int, ...], weight_bound: int) -> tuple[list[list[int]], Fraction]:
    """Quotas for all lists of output weights, and the largest ratio ``sum_j a_j / r`` of those that are needed."""
    size, threshold = layers[1], confidence_threshold(layers, weight_bound)
    right = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    candidates = np.array(list(combinations_with_replacement(range(_LARGEST_QUOTA, -1, -1), size)))
    needed: dict[tuple[int, ...], None] = {}
    largest = Fraction(0)
    for weights in combinations_with_replacement(range(weight_bound, -1, -1), size):
        confident = right[(2 * right - 1) @ np.array(weights) >= threshold]
        if not len(confident):
            continue
        least = (confident @ candidates.T).min(axis=0)
        ratios = [
            Fraction(int(a.sum()), int(r)) if r > 0 else Fraction(size + 1)
            for a, r in zip(candidates, least, strict=True)
        ]
        ratio = min(ratios)
        best = ratios.index(ratio)
        needed[(*candidates[best].tolist(), int(least[best]))] = None
        largest = max(largest, ratio)
    return [list(quota) for quota in needed], largest


class _PriceProgram:
    """Which prices give the lowest bound, over the neurons known so far.

    With r_ck in {0, 1} whether neuron c is right on row k,

        max  sum_k p_k - ratio * M    s.t.   M >= sum_k r_ck p_k  for all c,   0 <= p_k <= 1.
    """

    def __init__(self, rows: int, ratio: Fraction) -> None:
        self._rows = rows
        self._seen: set[bytes] = set()
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for _ in range(rows):
            self._solver.addCol(1.0, 0.0, 1.0, 0, [], [])
        self._solver.addCol(-float(ratio), 0.0, highspy.kHighsInf, 0, [], [])

    def add(self, right: NDArray[np.bool_]) -> None:
        """Add neurons, given by the rows on which they are right, one per column."""
        for column in right.T:
            key = np.packbits(column).tobytes()
            if key not in self._seen:
                self._seen.add(key)
                rows = np.flatnonzero(column)
                index = np.append(rows, self._rows).astype(np.int32)
                values = np.append(np.ones(len(rows)), -1.0)
                self._solver.addRow(-highspy.kHighsInf, 0.0, len(index), index, values)

    def solve(self) -> tuple[int, Integers]:
        """No prices give a bound below the first, as far as these neurons tell; the second are the best prices."""
        self._solver.run()
        point = np.array(self._solver.getSolution().col_value)
        value = self._rows - self._solver.getInfo().objective_function_value
        prices = np.clip(np.rint(UNIT * point[: self._rows]), 0, UNIT).astype(np.int64)
        return math.floor(value + 1e-6), prices
