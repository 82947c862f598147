"""Branch and bound on the weights of one neuron: the largest margin under given signs, and the fewest links for one.

A node limits the weights, ``l <= w <= h``.  Its linear program has multipliers mu_k >= 0, rounded to integers, which
prove a bound for all integer weights within the limits whatever the solver did.  With ``g = sum_k mu_k s_k x^k``,

    m  <=  floor(max over w of g w / sum mu_k)                             for the largest margin, and
    links  >=  m sum mu_k - sum_i max over w_i of (w_i g_i - [w_i != 0])    for the fewest links with the margin m.

The node with the weakest bound is divided next.  The tree is the proof, in the form of R61 and R47 in
docs/certificates.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from bemi.engines.decomposition.neuron.few_links import DENOMINATOR, Floats, Multipliers, Signs, set_rows
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline

PROOF_NODES = 20_000
"""Nodes of a tree that has a proof, which has as many sets of multipliers; also where it ends without a time limit."""

_TOTAL = 1 << 20
"""What multipliers of margins sum to, about."""

_WHOLE = 1e-6


@dataclass(eq=False)
class Node:
    """Limits on the weights, the bound that the multipliers prove, and the weights of the linear program.

    ``split`` is an input and the largest of its weights in the first child; the second has the larger ones.
    """

    low: Integers
    high: Integers
    bound: int
    multipliers: Multipliers
    weights: Floats
    value: float = 0.0  # the bound before rounding: weaker nodes come first among equal ones
    split: tuple[int, int] | None = None
    children: list[Node] = field(default_factory=list)

    def halves(self, i: int, value: int) -> Iterator[tuple[Integers, Integers]]:
        """The limits on both sides of a division, which is noted."""
        self.split = i, value
        low, high = self.low.copy(), self.high.copy()
        high[i], low[i] = value, value + 1
        yield self.low, high
        yield low, self.high

    def tree(self, inputs: Integers, rows: Integers, head: str, *tail: int) -> list[Any]:
        """The tree below this node, with the numbers of inputs and rows in the problem, and what leaves are called."""
        done: dict[int, list[Any]] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            if node.split is None:
                multipliers = [[int(rows[k]), v] for k, v in node.multipliers]
                done[id(stack.pop())] = [head, multipliers, *tail]
            elif id(node.children[0]) in done:
                low, high = (done.pop(id(child)) for child in node.children)
                i, value = node.split
                done[id(stack.pop())] = ["W", int(inputs[i]), value, low, high]
            else:
                stack += node.children
        return done[id(self)]


class WidestTree:
    """The largest margin of a neuron; every row has a sign.

    Its linear program is ``max m, s_k w x^k >= m``.  Of the weights that are not whole, the one is divided that moves
    the rows with multipliers most; rounded weights of every node, improved one weight at a time, are tried as neurons.

    If only margins above a known one matter, the root's multipliers also limit weights: a step of weight i away from
    its bound costs ``|g_i| / sum mu_k``.  Weights that cannot move leave the program, of images most of them.

    Parameters
    ----------
    data, signs, weight_bound
        Rows, their signs, and P.
    above
        Only neurons with a larger margin are of interest.

    Attributes
    ----------
    margin, weights
        The best margin, at least the known one, and its weights, of all inputs; None if none beat the known one.
    nodes
        How many linear programs were solved.
    """

    def __init__(self, data: Integers, signs: Integers, weight_bound: int, above: int = 0) -> None:
        self._bound = weight_bound
        self._live = np.flatnonzero((data != 0).any(axis=0))
        self._signed = (data[:, self._live] * signs[:, None]).astype(np.int64)
        self._fixed = np.zeros(data.shape[1], dtype=np.int64)  # weights that left the program
        self._rest = np.zeros(len(data), dtype=np.int64)  # the sums that they contribute
        self._limited: list[tuple[int, int, bool]] = []
        self.weights: Integers | None = None
        self.margin, self.nodes = above, 1
        self._build()
        full = np.full(len(self._live), weight_bound)
        self._first = self._root = self._solved(-full, full)
        if 0 < self.margin < self._root.bound:
            self._root = self._limit()
        self._open = [(-self._root.bound, 0, self._root)]

    @property
    def bound(self) -> int:
        """No neuron has a larger margin; at least the known one."""
        return max(self.margin, -self._open[0][0] if self._open else 0)

    def proof(self) -> list[Any] | None:
        """The bound with its tree (R61); None if that is too large."""
        if self.nodes > PROOF_NODES:
            return None
        tree = self._root.tree(self._live, np.arange(len(self._signed)), "L")
        for i, value, upper in reversed(self._limited):
            closed = ["L", [list(pair) for pair in self._first.multipliers]]
            tree = ["W", i, value, closed, tree] if upper else ["W", i, value, tree, closed]
        return [self.bound, tree]

    def grow(self, deadline: Deadline, most: int | None = None) -> None:
        """Divide nodes until the best weights are proved, or a limit is reached."""
        longest = PROOF_NODES if deadline.left is None else math.inf
        stop = longest if most is None else min(most, longest)
        while self._open and self.nodes < stop and not deadline.passed and -self._open[0][0] > self.margin:
            _, _, node = heapq.heappop(self._open)
            numbers = np.array(node.multipliers)
            moves = numbers[:, 1] @ np.abs(self._signed[numbers[:, 0]]) / numbers[:, 1].sum()
            fraction = np.abs(node.weights - np.rint(node.weights))
            i = int(np.where(node.low < node.high, (fraction + _WHOLE) * (moves + _WHOLE), -1.0).argmax())
            if node.low[i] == node.high[i]:  # a single neuron, and rounded multipliers
                heapq.heappush(self._open, (-node.bound, self.nodes, node))
                return
            value = int(np.clip(np.floor(node.weights[i] + _WHOLE), node.low[i], node.high[i] - 1))
            for limits in node.halves(i, value):
                child = self._solved(*limits)
                node.children.append(child)
                self.nodes += 1
                if child.bound > self.margin:
                    heapq.heappush(self._open, (-child.bound, self.nodes, child))

    def _limit(self) -> Node:
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
        self._build()
        return self._solved(low[free], high[free])

    def _build(self) -> None:
        """``max m`` subject to ``s_k w x^k - m >= -rest_k``; the columns are the weights and m."""
        rows, inputs = self._signed.shape
        limit = np.append(np.full(inputs, float(self._bound)), np.inf)
        cost = np.append(np.zeros(inputs), -1.0)
        table = np.column_stack([self._signed, np.full(rows, -1)])
        self._program = _program(table, -self._rest, cost, -limit, limit)

    def _solved(self, low: Integers, high: Integers) -> Node:
        count = len(low)
        columns = np.arange(count, dtype=np.int32)
        self._program.changeColsBounds(count, columns, low.astype(np.float64), high.astype(np.float64))
        self._program.run()
        solution = self._program.getSolution()
        weights, duals = np.clip(np.array(solution.col_value[:count]), low, high), np.abs(np.array(solution.row_dual))
        multipliers = np.rint(duals * (_TOTAL / max(1e-9, duals.sum()))).astype(np.int64)
        if not multipliers.any():
            multipliers[(np.abs(self._signed).sum(axis=1) + self._rest).argmin()] = 1
        g = multipliers @ self._signed
        most = int(np.maximum(g * low, g * high).sum() + multipliers @ self._rest) // int(multipliers.sum())
        pairs = tuple((int(k), int(multipliers[k])) for k in np.flatnonzero(multipliers))
        self._offer(np.clip(np.rint(weights), low, high).astype(np.int64))
        if (low == high).all():
            # One neuron: its smallest sum is the margin, and one row proves that.
            sums = self._signed @ low + self._rest
            k = int(sums.argmin())
            most, pairs = int(sums[k]), ((k, 1),)
        return Node(low, high, most, pairs, weights)

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
            self.margin, self.weights = reached, self._fixed.copy()
            self.weights[self._live] = weights


class LinkTree:
    """The fewest links of a neuron that keeps a margin under given signs; it grows as far as it is asked to.

    The linear program has the convex hull of each weight's links for the count, and its multipliers are rounded to
    integers over a common denominator.  If it is infeasible, a multiple of the multipliers that show it proves as many
    links as are needed.

    Parameters
    ----------
    data, signs, weight_bound, margin
        Rows, their signs (0: the row does not count), P and the margin.
    """

    def __init__(self, data: Integers, signs: Signs, weight_bound: int, margin: int) -> None:
        self._numbers = np.flatnonzero(signs)
        self._table = signs[self._numbers, None].astype(np.int64) * data[self._numbers]
        self._weight_bound, self._margin = weight_bound, margin
        self._largest = weight_bound * int(np.abs(self._table).sum(axis=1).max(initial=0)) + abs(margin)
        n = self._table.shape[1]
        cost, none, most = (np.full(2 * n, value) for value in (1.0 / weight_bound, 0.0, float(weight_bound)))
        least = np.full(len(self._table), margin)
        self._program = _program(np.hstack([self._table, -self._table]), least, cost, none, most)
        self.nodes = 0
        full = np.full(n, weight_bound)
        self._root = self._solved(-full, full)
        self._open = [(self._root.bound, self._root.value, 0, self._root)]

    @property
    def bound(self) -> int:
        """The number of links that the tree proves necessary."""
        return self._open[0][0]

    @property
    def solution(self) -> Integers | None:
        """Weights with the fewest links, if the bound is exact."""
        weakest = self._open[0][3]
        weights = np.rint(weakest.weights).astype(np.int64)
        fits = np.count_nonzero(weights) <= weakest.bound and (self._table @ weights >= self._margin).all()
        return weights if fits else None

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing to branch on in the weakest node."""
        return self._choice(self._open[0][3]) is None

    def proof(self, rows: Integers, inputs: Integers) -> list[Any]:
        """The tree (R47); ``rows`` and ``inputs`` give the numbers of the rows and inputs in the problem."""
        return self._root.tree(inputs, rows[self._numbers], "K", DENOMINATOR)

    def grow(self, target: int, nodes: int, deadline: Deadline = FOREVER) -> None:
        """Branch until the bound reaches a target, or so many programs are solved."""
        stop = self.nodes + nodes
        while self.bound < target and self.nodes < stop and not deadline.passed:
            node = self._open[0][3]
            choice = self._choice(node)
            if choice is None:
                return  # integer weights with as many links as the bound
            heapq.heappop(self._open)
            for limits in node.halves(*choice):
                child = self._solved(*limits, node)
                node.children.append(child)
                heapq.heappush(self._open, (child.bound, child.value, self.nodes, child))

    def _choice(self, node: Node) -> tuple[int, int] | None:
        """The input to branch on, and the largest weight of the first child."""
        low, high, w = node.low, node.high, np.clip(node.weights, node.low, node.high)
        part = np.abs(w - np.rint(w))
        # A link may be there in part although its weight is an integer.
        partial = (low <= 0) & (high >= 0) & (np.abs(w) > _WHOLE) & (w < high - _WHOLE) & (w > low + _WHOLE)
        candidates = np.flatnonzero((part > _WHOLE) | partial)
        if not len(candidates):
            return None
        length = np.abs(self._table[:, candidates]).sum(axis=0)
        i = int(candidates[(length * np.maximum(part[candidates], _WHOLE)).argmax()])
        if partial[i]:
            return i, 0 if w[i] > 0 else -1
        return i, math.floor(w[i])

    def _solved(self, low: Integers, high: Integers, parent: Node | None = None) -> Node:
        self.nodes += 1
        self._set_limits(low, high)
        self._program.run()
        status, n = self._program.getModelStatus(), len(low)
        if status == highspy.HighsModelStatus.kOptimal:
            solution = self._program.getSolution()
            duals = np.maximum(0.0, np.array(solution.row_dual)) * DENOMINATOR
            found = tuple((int(k), int(duals[k])) for k in np.flatnonzero(duals >= 1))
            values = np.array(solution.col_value)
            # The smallest multiplier still counts the links that are there for certain.
            options = [
                (*self._proved(mu, low, high), mu)
                for mu in (found or ((0, 1),), () if parent is None else parent.multipliers)
            ]
            bound, value, mu = max(options, key=lambda option: option[:2])
            return Node(low, high, bound, mu, values[:n] - values[n:], value)
        if status == highspy.HighsModelStatus.kInfeasible:
            impossible = self._impossible(low, high)
            if impossible is not None:
                return Node(low, high, *impossible, np.zeros(n), math.inf)
        if parent is None:
            return Node(low, high, 0, (), np.zeros(n))
        bound, value = self._proved(parent.multipliers, low, high)
        return Node(low, high, bound, parent.multipliers, parent.weights, value)

    def _set_limits(self, low: Integers, high: Integers) -> None:
        """Each weight is the difference of two columns; a link that is there for certain costs 1 in the end."""
        low, high = np.concatenate([low, -high]), np.concatenate([high, -low])
        columns = np.arange(len(low), dtype=np.int32)
        none = np.zeros(len(low))
        self._program.changeColsBounds(len(low), columns, np.maximum(none, low), np.maximum(none, high))
        cost = np.where((low <= 0) & (high > 0), 1.0 / np.maximum(1, high), 0.0)
        self._program.changeColsCost(len(low), columns, cost)

    def _impossible(self, low: Integers, high: Integers) -> tuple[int, Multipliers] | None:
        """Multipliers that prove more links than there are inputs, if no weights within the limits have the margin."""
        _, has_ray, ray = self._program.getDualRay()
        if not has_ray:
            return None
        ray = np.abs(np.array(ray))
        ray /= max(1e-300, ray.max())
        g = ray @ self._table
        short = self._margin * ray.sum() - np.maximum(low * g, high * g).sum()
        most = self._table.shape[1] + 1
        if short <= 1e-9 * self._margin:
            return None
        # Links can save at most one each.
        numerators = ray * (2 * most / short * DENOMINATOR)
        found = tuple((int(k), int(v)) for k, v in enumerate(numerators) if v >= 1)
        bound, _ = self._proved(found, low, high)
        return (bound, found) if bound >= most else None

    def _proved(self, mu: Multipliers, low: Integers, high: Integers) -> tuple[int, float]:
        """The number of links that multipliers prove, rounded up and not."""
        if not mu:
            return 0, 0.0
        total = sum(v for _, v in mu)
        fits = self._largest * total + self._table.shape[1] * DENOMINATOR < 2**62
        kind: Any = np.int64 if fits else object
        rows = np.array([k for k, _ in mu])
        g = np.array([v for _, v in mu], dtype=kind) @ self._table[rows].astype(kind)
        gain = np.maximum(*(w.astype(kind) * g - DENOMINATOR * (w != 0) for w in (low, high)))
        gain[(gain < 0) & (low <= 0) & (high >= 0)] = 0
        value = self._margin * total - int(gain.sum())
        return max(0, -(-value // DENOMINATOR)), value / DENOMINATOR


def _program(table: Integers, least: Integers, cost: Floats, low: Floats, high: Floats) -> highspy.Highs:
    """``min cost x`` subject to ``table x >= least`` and ``low <= x <= high``."""
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = table.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, low, high
    lp.row_lower_, lp.row_upper_ = least.astype(np.float64), np.full(len(table), np.inf)
    set_rows(lp, table)
    highs = highspy.Highs()
    for name, value in (("output_flag", False), ("presolve", "off"), ("threads", 1)):
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    return highs
