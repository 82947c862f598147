"""The largest margin of a neuron with given signs, by branch and bound on its weights.

A node limits the weights, ``l <= w <= h``.  Its linear program ``max m, s_k w x^k >= m`` has multipliers lam_k, which
prove for all integer weights within the limits

    m <= floor(max over w of g w / sum lam_k),      g = sum_k lam_k s_k x^k.

Nodes with the largest bound come first.  Of the weights that are not whole, the one is divided that moves the rows with
multipliers most; rounded weights of every node, improved one weight at a time, are tried as neurons.

If only margins above a known one matter, the root's multipliers also limit weights: a step of weight i away from its
bound costs ``|g_i| / sum lam_k``.  Weights that cannot move leave the program, of images most of them.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from bemi.exact import Integers
from bemi.limits import Deadline

PROOF_NODES = 20_000
"""Nodes of a tree that has a proof, which has as many sets of multipliers; also where it ends without a time limit."""

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
    """The tree of one neuron; every row has a sign.

    Parameters
    ----------
    data, signs, weight_bound
        Rows, their signs, and P.
    above
        Only neurons with a larger margin are of interest.
    """

    def __init__(self, data: Integers, signs: Integers, weight_bound: int, above: int = 0) -> None:
        self._bound = weight_bound
        self._live = np.flatnonzero((data != 0).any(axis=0))
        self._signed = (data[:, self._live] * signs[:, None]).astype(np.int64)
        self._fixed = np.zeros(data.shape[1], dtype=np.int64)  # weights that left the program
        self._rest = np.zeros(len(data), dtype=np.int64)  # the sums that they contribute
        self._limited: list[tuple[int, int, bool]] = []
        self._best: Integers | None = None
        self.margin, self.nodes = above, 1
        self._program = _program(self._signed, self._rest, weight_bound)
        full = np.full(len(self._live), weight_bound)
        self._first = self._root = self._node(-full, full)
        if 0 < self.margin < self._root.bound:
            self._root = self._limit()
        self._open = [(-self._root.bound, 0, self._root)]

    @property
    def weights(self) -> Integers | None:
        """The best weights found, of all inputs; None if none have a margin above the known one."""
        return self._best

    @property
    def bound(self) -> int:
        """No neuron has a larger margin; at least the known one."""
        return max(self.margin, -self._open[0][0] if self._open else 0)

    def proof(self) -> list[Any] | None:
        """The bound with its tree (R61); None if that is too large."""
        if self.nodes > PROOF_NODES:
            return None
        tree = self._root.tree()
        for i, value, upper in reversed(self._limited):
            closed = ["L", self._first.multipliers]
            tree = ["W", i, value, closed, tree] if upper else ["W", i, value, tree, closed]
        return [self.bound, tree]

    def grow(self, deadline: Deadline, most: int | None = None) -> None:
        """Divide nodes until the best weights are proved, or a limit is reached."""
        longest = PROOF_NODES if deadline.left is None else math.inf
        stop = longest if most is None else min(most, longest)
        while self._open and self.nodes < stop and not deadline.passed:
            if -self._open[0][0] <= self.margin:
                return
            _, _, node = heapq.heappop(self._open)
            numbers = np.array(node.multipliers)
            moves = numbers[:, 1] @ np.abs(self._signed[numbers[:, 0]]) / numbers[:, 1].sum()
            fraction = np.abs(node.weights - np.rint(node.weights))
            i = int(np.where(node.low < node.high, (fraction + _WHOLE) * (moves + _WHOLE), -1.0).argmax())
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

    def _limit(self) -> _Node:
        """The root, with the weights that neurons above the known margin can have, and a program of those that vary."""
        P, numbers = self._bound, np.array(self._root.multipliers)
        g, total = numbers[:, 1] @ self._signed[numbers[:, 0]], int(numbers[:, 1].sum())
        room = P * int(np.abs(g).sum()) - (self.margin + 1) * total
        steps = np.where(g == 0, 2 * P, np.minimum(2 * P, room // np.maximum(1, np.abs(g))))
        low, high = np.where(g > 0, P - steps, -P), np.where(g > 0, P, steps - P)
        for i in np.flatnonzero(steps < 2 * P).tolist():
            upper = bool(g[i] > 0)
            self._limited.append((int(self._live[i]), int(low[i] - 1 if upper else high[i]), upper))
        free = low < high
        self._fixed[self._live[~free]] = low[~free]
        self._rest = self._signed[:, ~free] @ low[~free]
        self._live, self._signed = self._live[free], np.ascontiguousarray(self._signed[:, free])
        self._program = _program(self._signed, self._rest, P)
        return self._node(low[free], high[free])

    def _node(self, low: Integers, high: Integers) -> _Node:
        weights, duals = _solved(self._program, low, high)
        multipliers = np.rint(duals * (_TOTAL / max(1e-9, duals.sum()))).astype(np.int64)
        if not multipliers.any():
            multipliers[(np.abs(self._signed).sum(axis=1) + self._rest).argmin()] = 1
        g = multipliers @ self._signed
        most = int(np.maximum(g * low, g * high).sum() + multipliers @ self._rest) // int(multipliers.sum())
        pairs = [[int(k), int(multipliers[k])] for k in np.flatnonzero(multipliers)]
        self._offer(np.clip(np.rint(weights), low, high).astype(np.int64))
        if (low == high).all():
            # One neuron: its smallest sum is the margin, and one row proves that.
            sums = self._signed @ low + self._rest
            k = int(sums.argmin())
            most, pairs = int(sums[k]), [[k, 1]]
        return _Node(low, high, most, pairs, weights)

    def _offer(self, weights: Integers) -> None:
        """Try weights, and improve them one at a time while that helps."""
        sums = self._signed @ weights + self._rest
        reached = int(sums.min())
        values = np.arange(-self._bound, self._bound + 1)
        while len(weights):
            # margins[i, v]: with weight i at this value.
            moved = sums[:, None, None] + self._signed[:, :, None] * (values[None, None, :] - weights[None, :, None])
            margins = moved.min(axis=0)
            i, v = np.unravel_index(int(margins.argmax()), margins.shape)
            if margins[i, v] <= reached:
                break
            weights = weights.copy()
            weights[i], reached = values[v], int(margins[i, v])
            sums = self._signed @ weights + self._rest
        if reached > self.margin:
            self.margin, self._best = reached, self._fixed.copy()
            self._best[self._live] = weights


def _program(signed: Integers, rest: Integers, weight_bound: int) -> highspy.Highs:
    """``max m`` subject to ``s_k w x^k - m >= -rest_k``; the columns are the weights and m."""
    rows, inputs = signed.shape
    matrix = np.column_stack([signed.astype(np.float64), -np.ones(rows)])
    row, column = np.nonzero(matrix)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.sense_ = inputs + 1, rows, highspy.ObjSense.kMaximize
    lp.col_cost_ = np.append(np.zeros(inputs), 1.0)
    limit = np.append(np.full(inputs, float(weight_bound)), highspy.kHighsInf)
    lp.col_lower_, lp.col_upper_ = -limit, limit
    lp.row_lower_, lp.row_upper_ = -rest.astype(np.float64), np.full(rows, highspy.kHighsInf)
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
