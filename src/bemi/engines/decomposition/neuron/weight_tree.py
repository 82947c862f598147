"""The largest margin of a neuron with given signs, by branch and bound on its weights.

A node limits the weights, ``l <= w <= h``.  Its linear program ``max m, s_k w x^k >= m`` has multipliers lam_k, which
prove for all integer weights within the limits

    m <= floor(max over w of g w / sum lam_k),      g = sum_k lam_k s_k x^k.

Nodes with the largest bound come first.  The weight that is farthest from an integer is divided; rounded weights of
every node, improved one weight at a time, are tried as neurons.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from bemi.exact import Integers
from bemi.limits import Deadline

MOST_NODES = 20_000
"""Nodes of a tree: its proof has as many sets of multipliers."""

_TOTAL = 1 << 20
"""What multipliers sum to, about."""

_WHOLE = 1e-6


@dataclass(eq=False)
class _Node:
    low: Integers
    high: Integers
    bound: int
    multipliers: list[list[int]]
    weights: np.ndarray
    split: tuple[int, int] | None = None
    children: list[_Node] = field(default_factory=list)

    def tree(self) -> list[Any]:
        """The tree below this node, as R61 has it."""
        done: dict[int, list[Any]] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            if node.split is None:
                done[id(stack.pop())] = ["L", node.multipliers]
            elif id(node.children[0]) in done:
                low, high = (done.pop(id(child)) for child in node.children)
                done[id(stack.pop())] = ["W", *node.split, low, high]
            else:
                stack += node.children
        return done[id(self)]


class WeightTree:
    """The tree of one neuron; every row has a sign."""

    def __init__(self, data: Integers, signs: Integers, weight_bound: int) -> None:
        self._live = np.flatnonzero((data != 0).any(axis=0))
        self._inputs, self._bound = data.shape[1], weight_bound
        self._signed = (data[:, self._live] * signs[:, None]).astype(np.int64)
        self._program = _program(self._signed, weight_bound)
        self.margin, self._best = 0, np.zeros(len(self._live), dtype=np.int64)
        full = np.full(len(self._live), weight_bound)
        self._root = self._node(-full, full)
        self._open = [(-self._root.bound, 0, self._root)]
        self.nodes = 1

    @property
    def weights(self) -> Integers | None:
        """The best weights found, of all inputs; None if none have a margin."""
        if not self.margin:
            return None
        weights = np.zeros(self._inputs, dtype=np.int64)
        weights[self._live] = self._best
        return weights

    @property
    def bound(self) -> int:
        """No neuron has a larger margin."""
        return max(self.margin, -self._open[0][0] if self._open else 0)

    def proof(self) -> list[Any]:
        """The bound with its tree (R61)."""
        return [self.bound, self._root.tree()]

    def grow(self, deadline: Deadline) -> None:
        """Divide nodes until the best weights are proved, or a limit is reached."""
        while self._open and self.nodes < MOST_NODES and not deadline.passed:
            if -self._open[0][0] <= self.margin:
                return
            _, _, node = heapq.heappop(self._open)
            fraction = np.abs(node.weights - np.rint(node.weights))
            i = int(np.where(node.low < node.high, fraction + _WHOLE, -1.0).argmax())
            if node.low[i] == node.high[i]:  # a single neuron, and rounded multipliers
                heapq.heappush(self._open, (-node.bound, self.nodes, node))
                return
            value = int(np.clip(np.floor(node.weights[i] + _WHOLE), node.low[i], node.high[i] - 1))
            node.split = (int(self._live[i]), value)
            for side in (0, 1):
                low, high = node.low.copy(), node.high.copy()
                if side:
                    low[i] = value + 1
                else:
                    high[i] = value
                child = self._node(low, high)
                node.children.append(child)
                self.nodes += 1
                if child.bound > self.margin:
                    heapq.heappush(self._open, (-child.bound, self.nodes, child))

    def _node(self, low: Integers, high: Integers) -> _Node:
        weights, duals = _solved(self._program, low, high)
        multipliers = np.rint(duals * (_TOTAL / max(1e-9, duals.sum()))).astype(np.int64)
        if not multipliers.any():
            multipliers[np.abs(self._signed).sum(axis=1).argmin()] = 1
        g = multipliers @ self._signed
        most = int(np.maximum(g * low, g * high).sum()) // int(multipliers.sum())
        pairs = [[int(k), int(multipliers[k])] for k in np.flatnonzero(multipliers)]
        self._offer(np.clip(np.rint(weights), low, high).astype(np.int64))
        if (low == high).all():
            # One neuron: its smallest sum is the margin, and one row proves that.
            sums = self._signed @ low
            k = int(sums.argmin())
            most, pairs = int(sums[k]), [[k, 1]]
        return _Node(low, high, most, pairs, weights)

    def _offer(self, weights: Integers) -> None:
        """Try weights, and improve them one at a time while that helps."""
        sums = self._signed @ weights
        reached = int(sums.min())
        values = np.arange(-self._bound, self._bound + 1)
        while True:
            # margins[i, v]: with weight i at this value.
            moved = sums[:, None, None] + self._signed[:, :, None] * (values[None, None, :] - weights[None, :, None])
            margins = moved.min(axis=0)
            i, v = np.unravel_index(int(margins.argmax()), margins.shape)
            if margins[i, v] <= reached:
                break
            weights = weights.copy()
            weights[i], reached = values[v], int(margins[i, v])
            sums = self._signed @ weights
        if reached > self.margin:
            self.margin, self._best = reached, weights


def _program(signed: Integers, weight_bound: int) -> highspy.Highs:
    """``max m`` subject to ``s_k w x^k - m >= 0``; the columns are the weights and m."""
    rows, inputs = signed.shape
    matrix = np.column_stack([signed.astype(np.float64), -np.ones(rows)])
    row, column = np.nonzero(matrix)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.sense_ = inputs + 1, rows, highspy.ObjSense.kMaximize
    lp.col_cost_ = np.append(np.zeros(inputs), 1.0)
    limit = np.append(np.full(inputs, float(weight_bound)), highspy.kHighsInf)
    lp.col_lower_, lp.col_upper_ = -limit, limit
    lp.row_lower_, lp.row_upper_ = np.zeros(rows), np.full(rows, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(row, np.arange(rows + 1))
    lp.a_matrix_.index_, lp.a_matrix_.value_ = column, matrix[row, column]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("threads", 1)
    highs.passModel(lp)
    return highs


def _solved(program: highspy.Highs, low: Integers, high: Integers) -> tuple[np.ndarray, np.ndarray]:
    """Weights and multipliers within limits."""
    count = len(low)
    columns = np.arange(count, dtype=np.int32)
    program.changeColsBounds(count, columns, low.astype(np.float64), high.astype(np.float64))
    program.run()
    solution = program.getSolution()
    weights = np.clip(np.array(solution.col_value[:count]), low, high)
    return weights, np.abs(np.array(solution.row_dual))
