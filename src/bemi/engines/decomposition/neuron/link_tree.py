"""Branch and bound on the weights of one neuron with few links.

    min |supp w|   subject to   s_k w.x^k >= m  for every k with s_k != 0,   w integer in {-P..P}.

A node limits some weights to ``low..high``.  Any ``mu >= 0`` on the rows, with ``g = sum_k mu_k s_k x^k``, proves there

    links >= m * sum(mu) - sum_i max_w (w g_i - [w is not 0]),

with the maximum over the integers within the limits; it is attained at a limit or at 0.  The linear program has the
convex hull of each weight's links for the count, and its multipliers are rounded to integers over a common denominator.
If it is infeasible, a multiple of the multipliers that show it proves as many links as are needed.

The tree is the proof, in the form of R47 in docs/certificates.md, with inputs and rows numbered as in the problem.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from bemi.engines.decomposition.neuron.few_links import DENOMINATOR, Floats, Multipliers, Signs, set_rows
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline

Limits = dict[int, tuple[int, int]]
"""Smallest and largest weights of the inputs that the tree has branched on."""

_INTEGRAL = 1e-6


@dataclass
class _Leaf:
    """An open leaf; ``spot`` is its place in the proof."""

    limits: Limits
    spot: list[Any]
    bound: int
    value: float
    mu: Multipliers
    weights: Floats


class LinkTree:
    """The tree of one neuron under given signs; it grows as far as it is asked to.

    Parameters
    ----------
    data, signs, weight_bound, margin
        Rows, their signs (0: the row does not count), P and the margin.
    """

    def __init__(self, data: Integers, signs: Signs, weight_bound: int, margin: int) -> None:
        rows = np.flatnonzero(signs)
        self._numbers = rows
        self._table = signs[rows, None].astype(np.int64) * data[rows]
        self._weight_bound, self._margin = weight_bound, margin
        self._largest = weight_bound * int(np.abs(self._table).sum(axis=1).max(initial=0)) + abs(margin)
        self._build()
        self._limits: Limits = {}
        self.nodes = 0
        self._serial = 0
        self._root: list[Any] = []
        self._heap: list[tuple[int, float, int, _Leaf]] = []
        leaf = self._solved({}, self._root, ())
        self._push(leaf)

    @property
    def bound(self) -> int:
        """The number of links that the tree proves necessary."""
        return self._heap[0][0]

    @property
    def solution(self) -> Integers | None:
        """Weights with the fewest links, if the bound is exact."""
        leaf = self._heap[0][3]
        weights = np.rint(leaf.weights).astype(np.int64)
        fits = np.count_nonzero(weights) <= leaf.bound and (self._table @ weights >= self._margin).all()
        return weights if fits else None

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing to branch on in the weakest leaf."""
        return self._choice(self._heap[0][3]) is None

    def proof(self, rows: Integers, inputs: Integers) -> list[Any]:
        """The tree; ``rows`` and ``inputs`` give the numbers of the rows and inputs in the problem."""
        for *_, leaf in self._heap:
            mu = [[int(rows[self._numbers[k]]), v] for k, v in leaf.mu]
            leaf.spot[:] = ["K", mu, DENOMINATOR]
        return _renumbered(self._root, inputs)

    def grow(self, target: int, nodes: int, deadline: Deadline = FOREVER) -> None:
        """Branch until the bound reaches a target, or so many programs are solved."""
        stop = self.nodes + nodes
        while self.bound < target and self.nodes < stop and not deadline.passed:
            _, _, _, leaf = self._heap[0]
            choice = self._choice(leaf)
            if choice is None:
                return  # integer weights with as many links as the bound
            heapq.heappop(self._heap)
            i, value = choice
            low, high = leaf.limits.get(i, (-self._weight_bound, self._weight_bound))
            leaf.spot[:] = ["W", i, value, [], []]
            for limits, spot in (((low, value), leaf.spot[3]), ((value + 1, high), leaf.spot[4])):
                self._push(self._solved({**leaf.limits, i: limits}, spot, leaf.mu, leaf))

    def _push(self, leaf: _Leaf) -> None:
        self._serial += 1
        heapq.heappush(self._heap, (leaf.bound, leaf.value, self._serial, leaf))

    def _choice(self, leaf: _Leaf) -> tuple[int, int] | None:
        """The input to branch on, and the largest weight of the first child."""
        low, high = np.full((2, len(leaf.weights)), self._weight_bound) * np.array([[-1], [1]])
        for i, (smallest, largest) in leaf.limits.items():
            low[i], high[i] = smallest, largest
        w = np.clip(leaf.weights, low, high)
        part = np.abs(w - np.rint(w))
        # A link may be there in part although its weight is an integer.
        partial = (low <= 0) & (high >= 0) & (np.abs(w) > _INTEGRAL) & (w < high - _INTEGRAL) & (w > low + _INTEGRAL)
        candidates = np.flatnonzero((part > _INTEGRAL) | partial)
        if not len(candidates):
            return None
        length = np.abs(self._table[:, candidates]).sum(axis=0)
        i = int(candidates[(length * np.maximum(part[candidates], _INTEGRAL)).argmax()])
        if partial[i]:
            return i, 0 if w[i] > 0 else -1
        return i, math.floor(w[i])

    # -- the linear program --------------------------------------------------------------------------------------------

    def _build(self) -> None:
        rows, n = self._table.shape
        self._solver = highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.setOptionValue("presolve", "off")
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 2 * n, rows
        lp.col_cost_ = np.full(2 * n, 1.0 / self._weight_bound)
        lp.col_lower_ = np.zeros(2 * n)
        lp.col_upper_ = np.full(2 * n, float(self._weight_bound))
        lp.row_lower_, lp.row_upper_ = np.full(rows, float(self._margin)), np.full(rows, np.inf)
        set_rows(lp, np.hstack([self._table, -self._table]))
        highs.passModel(lp)

    def _set_limits(self, limits: Limits) -> None:
        full = (-self._weight_bound, self._weight_bound)
        n = self._table.shape[1]
        for i in self._limits.keys() | limits.keys():
            now = limits.get(i, full)
            if now == self._limits.get(i, full):
                continue
            for column, (low, high) in ((i, now), (n + i, (-now[1], -now[0]))):
                self._solver.changeColBounds(column, float(max(0, low)), float(max(0, high)))
                # A link that is there for certain costs 1 whatever its weight.
                self._solver.changeColCost(column, 1.0 / high if low <= 0 < high else 0.0)
        self._limits = limits

    def _solved(self, limits: Limits, spot: list[Any], mu: Multipliers, parent: _Leaf | None = None) -> _Leaf:
        self.nodes += 1
        self._set_limits(limits)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            solution = self._solver.getSolution()
            duals = np.maximum(0.0, np.array(solution.row_dual))
            found = tuple((int(k), int(duals[k] * DENOMINATOR)) for k in np.flatnonzero(duals * DENOMINATOR >= 1))
            n = self._table.shape[1]
            values = np.array(solution.col_value)
            weights = values[:n] - values[n:]
            # The smallest multiplier still counts the links that are there for certain.
            options = [(*self._proved(m, limits), m) for m in (found or ((0, 1),), mu)]
            bound, value, found = max(options, key=lambda option: option[:2])
            return _Leaf(limits, spot, bound, value, found, weights)
        elif status == highspy.HighsModelStatus.kInfeasible:
            impossible = self._impossible(limits)
            if impossible is not None:
                return _Leaf(limits, spot, impossible[0], math.inf, impossible[1], np.zeros(self._table.shape[1]))
        if parent is None:
            return _Leaf(limits, spot, 0, 0.0, (), np.zeros(self._table.shape[1]))
        bound, value = self._proved(mu, limits)
        return _Leaf(limits, spot, bound, value, mu, parent.weights)

    def _impossible(self, limits: Limits) -> tuple[int, Multipliers] | None:
        """Multipliers that prove more links than there are inputs, if no weights within the limits have the margin."""
        _, has_ray, ray = self._solver.getDualRay()
        if not has_ray:
            return None
        ray = np.abs(np.array(ray))
        ray /= max(1e-300, ray.max())
        g = ray @ self._table
        gain = self._weight_bound * np.abs(g)
        for i, (low, high) in limits.items():
            gain[i] = max(low * g[i], high * g[i])
        short = self._margin * ray.sum() - gain.sum()
        most = self._table.shape[1] + 1
        if short <= 1e-9 * self._margin:
            return None
        # Links can save at most one each.
        numerators = ray * (2 * most / short * DENOMINATOR)
        found = tuple((int(k), int(v)) for k, v in enumerate(numerators) if v >= 1)
        bound, _ = self._proved(found, limits)
        return (bound, found) if bound >= most else None

    def _proved(self, mu: Multipliers, limits: Limits) -> tuple[int, float]:
        """The number of links that multipliers prove, rounded up and not."""
        if not mu:
            return 0, 0.0
        total = sum(v for _, v in mu)
        fits = self._largest * total + self._table.shape[1] * DENOMINATOR < 2**62
        kind: Any = np.int64 if fits else object
        rows = np.array([k for k, _ in mu])
        g = np.array([v for _, v in mu], dtype=kind) @ self._table[rows].astype(kind)
        gain = self._weight_bound * np.abs(g) - DENOMINATOR
        gain[gain < 0] = 0
        for i, (low, high) in limits.items():
            v = int(g[i])
            gains = [v * w - (DENOMINATOR if w else 0) for w in (low, high)]
            gain[i] = max(*gains, 0) if low <= 0 <= high else max(gains)
        value = self._margin * total - int(gain.sum())
        return max(0, -(-value // DENOMINATOR)), value / DENOMINATOR


def _renumbered(tree: list[Any], inputs: Integers) -> list[Any]:
    """A copy of the tree with the problem's inputs."""
    copy: list[Any] = []
    stack = [(tree, copy)]
    while stack:
        source, into = stack.pop()
        if source[0] == "K":
            into[:] = source
            continue
        into[:] = ["W", int(inputs[source[1]]), source[2], [], []]
        stack.append((source[3], into[3]))
        stack.append((source[4], into[4]))
    return copy
