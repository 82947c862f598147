"""The linear program of one output: the convex hull of each weight alone, and terms where they are needed.

    min  sum_i psi(w_i) + sum_kh c_k xi_kh   s.t.   a_k.w + xi_kh >= T_h,   xi >= 0,   w_i in conv(l_i..u_i),

with ``psi(p) = p^2 / 2`` at integers and linear in between.  Its multipliers maximise the bound of
:meth:`~bemi.engines.decomposition.soft.terms.SoftRows.proved`.  There are two ways to write w_i:

- :class:`Steps`: ``w_i = start_i + sum of steps in 0..1``, each with psi's slope as its cost.  Slopes increase, so the
  steps fill in order.
- :class:`Mixtures`: ``w_i = sum_p p y_ip`` with ``sum_p y_ip = 1``, for prices that are not convex: a limit
  ``sum_{i counted, p != 0} y_ip <= max_links``, or a price per link for Min-Weight.

Columns are generated where the multipliers ask for a value p.  Terms far from their target keep the multiplier that
they have in the continuous machine, mostly 0 or c_k; the others become rows, and so do those that turn out to be wrong.
Leaving columns or terms out never invalidates a bound: it is computed from the multipliers alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.soft.terms import Floats, SoftRows
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline

_ROUNDS = 30  # of adding columns and terms
_TOLERANCE = 1e-6
_BAND = 0.4  # terms whose margin is this close to the target are rows from the start
_FEW = 200  # with so few terms, all are rows from the start
_ENTRIES = 3 * 10**6  # of the matrix; terms become rows only as long as it stays below this
_SHARE = 0.25  # terms that may be added in a round, as a share of those that there are
_PRIMAL, _DUAL = 4, 1  # HiGHS's names of the simplex methods
_FINISHED = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty)


@dataclass(frozen=True)
class Relaxed:
    """A solution of the linear program.

    Attributes
    ----------
    weights
        Mean value of each weight.
    spread
        By how much ``psi`` of each weight exceeds half its square: 0 for an integer.
    links
        Share of each weight that is not zero, between 0 and 1.
    prices
        ``nu_k mu_kh`` of every term, shape (hinges, rows).
    """

    weights: Floats
    spread: Floats
    links: Floats
    prices: Floats


def linear_program(
    soft: SoftRows, start: Integers, near: Floats, prices: Floats, link_price: float = 0.0
) -> LinearProgram:
    """The linear program of an output.

    Parameters
    ----------
    soft
        The output.
    start
        Integer weights within all limits; the simplex method starts there.
    near
        Weights of the continuous machine: the first columns are around them, and their margins tell which terms are
        certain.
    prices
        The machine's multipliers ``nu_k mu_kh``, shape (hinges, rows).
    link_price
        Price of every link, for Min-Weight.
    """
    if soft.max_links is None and link_price == 0:
        return Steps(soft, start, near, prices)
    return Mixtures(soft, start, near, prices, link_price)


def holds_uncertain(soft: SoftRows, near: Floats) -> bool:
    """Whether the linear program may hold all terms that the continuous weights ``near`` leave uncertain."""
    distance = np.abs(soft.heights[:, None] - soft.sums(near))
    return int((distance <= _BAND).sum()) * len(near) <= _ENTRIES


class LinearProgram(ABC):
    """A linear program that is kept between calls, so that its box can change at little cost.

    The solver's first rows belong to the columns, see ``_heads``; the terms follow.
    """

    def __init__(self, soft: SoftRows, start: Integers, near: Floats, prices: Floats, origin: Integers) -> None:
        self._soft, self._origin = soft, origin
        self._low, self._high = soft.low, soft.high
        self._heights = soft.heights
        # A column moves the weight of its owner, by its step per unit, towards or to a value.
        self._owner, self._value, self._step, self._column = (np.zeros(0, dtype=np.int64) for _ in range(4))
        self._bounds: Floats = np.zeros((0, 2))
        self._known = np.zeros((len(start), int((soft.high - soft.low).max(initial=0)) + 1), dtype=bool)
        self._hinge, self._row, self._slack = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self._table: Floats = np.zeros((0, len(start)))  # a_k of the terms that are rows
        self._columns = self._first = 0
        self._solver = _new_solver()
        self._add_head_rows()
        distance = np.abs(self._heights[:, None] - soft.sums(near))
        self._active = np.zeros(distance.shape, dtype=bool)
        self._fixed = prices.copy()
        self._pull = soft.gains(self._fixed)
        self._last = Relaxed(near, np.zeros(len(near)), np.zeros(len(near)), prices)
        everyone = np.arange(len(start))
        for values in (start, np.floor(near), np.ceil(near)):
            self._add_values(everyone, np.clip(values, soft.low, soft.high).astype(np.int64))
        uncertain = distance <= _BAND if distance.size > _FEW else np.ones(distance.shape, dtype=bool)
        self._add_terms(uncertain, -distance)
        self._start_at(start)

    @abstractmethod
    def _add_head_rows(self) -> None:
        """Add the rows that belong to the columns, and set ``_first`` to how many they are."""

    @abstractmethod
    def _missing(self, owner: Integers, value: Integers) -> tuple[Integers, Integers]:
        """Owners and values of the columns that must be added for weights to have these values."""

    @abstractmethod
    def _describe(self, owner: Integers, value: Integers) -> tuple[Integers, Floats]:
        """Steps of columns, and their costs apart from the terms that are fixed."""

    @abstractmethod
    def _heads(self, owner: Integers, value: Integers) -> tuple[Integers, Integers]:
        """Positions of columns and the first rows where they have an entry of 1, in order of the columns."""

    @abstractmethod
    def _limits(self) -> Floats:
        """Lower and upper limits of all columns in the present box."""

    @abstractmethod
    def _basic(self, start: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which columns, and which of the first rows, are basic at integer weights."""

    @abstractmethod
    def _spread(self, share: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """The spread and links of :class:`Relaxed` for values of the columns."""

    @abstractmethod
    def _wanted(self, duals: Floats) -> tuple[Integers, Integers]:
        """Weights and values whose columns would improve the solution, for multipliers of the solver's rows."""

    def solve(self, low: Integers, high: Integers, deadline: Deadline = FOREVER, iterations: int = 10**9) -> Relaxed:
        """The best solution found over a box; the solver may use that many iterations at a time."""
        self._set_box(low, high)
        self._solver.setOptionValue("simplex_iteration_limit", iterations)
        for _ in range(_ROUNDS):
            if deadline.left is not None:
                # The solver's clock runs on from one call to the next.
                self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(0.01, deadline.left))
            self._solver.run()
            finished = self._solver.getModelStatus() in _FINISHED
            duals = self._read()
            if duals is None or not finished or deadline.passed:
                break
            excess = self._excess()
            wanted = self._missing(*self._wanted(duals))
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
            if not (self._add_terms(excess > _TOLERANCE, excess) or len(wanted[0])):
                break
            self._append_values(*wanted)
        return self._last

    def _set_box(self, low: Integers, high: Integers) -> None:
        self._low, self._high = low, high
        everyone = np.arange(len(low))
        nearest = np.clip(np.rint(self._last.weights), low, high).astype(np.int64)
        outside = self._last.weights != np.clip(self._last.weights, low, high)
        self._add_values(everyone[outside], nearest[outside])
        bounds = self._limits()
        changed = np.flatnonzero((bounds != self._bounds).any(axis=1))
        if len(changed):
            columns = self._column[changed].astype(np.int32)
            self._solver.changeColsBounds(len(columns), columns, bounds[changed, 0].copy(), bounds[changed, 1].copy())
            self._bounds = bounds
            self._solver.setOptionValue("simplex_strategy", _DUAL)

    def _start_at(self, weights: Integers) -> None:
        """Let the simplex method start at integer weights."""
        basic, lower = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
        columns, rows = np.full(self._columns, lower), np.full(self._first + len(self._row), lower)
        ours, heads = self._basic(weights)
        columns[self._column[ours]] = basic
        rows[: self._first][heads] = basic
        short = self._table @ weights < self._heights[self._hinge]
        columns[self._slack[short]] = basic
        rows[self._first + np.flatnonzero(~short)] = basic
        basis = highspy.HighsBasis()
        basis.col_status, basis.row_status, basis.valid = columns.tolist(), rows.tolist(), True
        self._solver.setBasis(basis)
        self._solver.setOptionValue("simplex_strategy", _PRIMAL)

    def _read(self) -> Floats | None:
        """Take over the solver's solution; returns the multipliers of all its rows, or None if it has no solution."""
        solution = self._solver.getSolution()
        found, duals = np.array(solution.col_value), np.array(solution.row_dual)
        if len(found) < self._columns or len(duals) < self._first + len(self._row):
            return None
        prices = self._fixed.copy()
        limits = self._soft.limits[self._row]
        prices[self._hinge, self._row] = np.minimum(np.maximum(duals[self._first :], 0.0), limits)
        share = found[self._column]
        weights = np.bincount(self._owner, share * self._step, len(self._low)).astype(np.float64) + self._origin
        self._last = Relaxed(weights, *self._spread(share, weights), prices)
        return duals

    def _excess(self) -> Floats:
        """How far the weights contradict the fixed multiplier of each term."""
        missing = self._heights[:, None] - self._soft.sums(self._last.weights)
        excess = np.where(self._fixed < self._soft.limits, missing, 0.0)
        excess = np.maximum(excess, np.where(self._fixed > 0, -missing, 0.0))
        return np.where(self._active, 0.0, excess)

    def _gains(self) -> Floats:
        """``g``: what the multipliers gain per unit of each weight."""
        return self._soft.gains(self._last.prices)

    def _add_values(self, owner: Integers, value: Integers) -> None:
        """Columns for values of weights, where they are missing."""
        self._append_values(*self._missing(owner, value))

    def _append_values(self, owner: Integers, value: Integers) -> None:
        if not len(owner):
            return
        self._known[owner, value - self._soft.low[owner]] = True
        step, costs = self._describe(owner, value)
        which, heads = self._heads(owner, value)
        table = (self._table[:, owner] * step).T
        line, term = np.nonzero(table)
        order = np.argsort(np.concatenate([which, line]), kind="stable")
        lines = np.concatenate([which, line])[order]
        index = np.concatenate([heads, self._first + term])[order]
        entries = np.concatenate([np.ones(len(which)), table[line, term]])[order]
        self._owner, self._value = np.concatenate([self._owner, owner]), np.concatenate([self._value, value])
        self._step = np.concatenate([self._step, step])
        bounds = self._limits()
        self._bounds = np.concatenate([self._bounds, bounds[len(self._bounds) :]])
        new = self._bounds[-len(owner) :]
        added = self._add_columns(costs - step * self._pull[owner], new, lines, index, entries)
        self._column = np.concatenate([self._column, added])

    def _add_terms(self, which: NDArray[np.bool_], urgency: Floats) -> bool:
        """Rows for terms, the most urgent ones if they are many; their multipliers are no longer fixed."""
        hinge, row = np.nonzero(which)
        most = _ENTRIES // max(1, len(self._owner)) - len(self._row)
        if len(self._row):
            most = min(most, max(_FEW, int(_SHARE * len(self._row))))
        if len(row) > most:
            first = np.argsort(-urgency[hinge, row], kind="stable")[: max(0, most)]
            hinge, row = hinge[first], row[first]
        if not len(row):
            return False
        soft, before = self._soft, self._first + len(self._row)
        self._active[hinge, row] = True
        if self._fixed[hinge, row].any():
            self._fixed[hinge, row] = 0.0
            self._pull = soft.gains(self._fixed)
            costs = self._describe(self._owner, self._value)[1] - self._step * self._pull[self._owner]
            self._solver.changeColsCost(len(costs), self._column.astype(np.int32), costs)
        rows = soft.precise(row)
        table = np.zeros((len(row), self._columns))
        table[:, self._column] = rows[:, self._owner] * self._step
        need = self._heights[hinge] - rows @ self._origin
        self._add_rows(need, np.full(len(row), np.inf), table)
        alone, own = np.arange(len(row)), before + np.arange(len(row))
        free = np.tile([0.0, np.inf], (len(row), 1))
        slack = self._add_columns(soft.limits[row], free, alone, own, np.ones(len(row)))
        self._hinge, self._row = np.concatenate([self._hinge, hinge]), np.concatenate([self._row, row])
        self._table = np.concatenate([self._table, rows])
        self._slack = np.concatenate([self._slack, slack])
        self._solver.setOptionValue("simplex_strategy", _DUAL)
        return True

    def _add_rows(self, lower: Floats, upper: Floats, table: Floats | None = None) -> None:
        table = np.zeros((len(lower), 0)) if table is None else table
        line, index = np.nonzero(table)
        starts = np.searchsorted(line, np.arange(len(table))).astype(np.int32)
        self._solver.addRows(len(lower), lower, upper, len(index), starts, index.astype(np.int32), table[line, index])

    def _add_columns(
        self, costs: Floats, bounds: Floats, line: Integers, index: Integers, entries: Floats
    ) -> NDArray[np.int64]:
        """Columns with entries at ``index``, which belong to the columns ``line`` in order; returns their numbers."""
        count = len(costs)
        starts = np.searchsorted(line, np.arange(count)).astype(np.int32)
        lower, upper = bounds[:, 0].copy(), bounds[:, 1].copy()
        self._solver.addCols(count, costs, lower, upper, len(index), starts, index.astype(np.int32), entries)
        self._columns += count
        return np.arange(self._columns - count, self._columns)


class Steps(LinearProgram):
    """Weights as steps up or down from integer weights."""

    def __init__(self, soft: SoftRows, start: Integers, near: Floats, prices: Floats) -> None:
        super().__init__(soft, start, near, prices, start.copy())

    def _add_head_rows(self) -> None:
        self._first = 0

    def _missing(self, owner: Integers, value: Integers) -> tuple[Integers, Integers]:
        # A value needs all steps on the way to it.
        way = value - self._origin[owner]
        owners = np.repeat(owner, np.abs(way))
        place = np.arange(len(owners)) - np.repeat(np.cumsum(np.abs(way)) - np.abs(way), np.abs(way)) + 1
        values = self._origin[owners] + np.repeat(np.sign(way), np.abs(way)) * place
        new = ~self._known[owners, values - self._soft.low[owners]]
        return owners[new], values[new]

    def _describe(self, owner: Integers, value: Integers) -> tuple[Integers, Floats]:
        step = np.sign(value - self._origin[owner])
        return step, step * value - 0.5  # psi(p) - psi(p - step)

    def _heads(self, owner: Integers, value: Integers) -> tuple[Integers, Integers]:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing

    def _limits(self) -> Floats:
        low, high = self._low[self._owner], self._high[self._owner]
        up = self._step > 0
        taken = np.where(up, self._value <= low, self._value >= high)
        barred = np.where(up, self._value > high, self._value < low)
        return np.stack([taken.astype(np.float64), 1.0 - barred], axis=1)

    def _basic(self, start: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return np.zeros(len(self._owner), dtype=bool), np.zeros(0, dtype=bool)

    def _spread(self, share: Floats, weights: Floats) -> tuple[Floats, Floats]:
        part = weights - np.floor(weights)
        return part * (1 - part) / 2, np.minimum(np.abs(weights), 1.0)

    def _wanted(self, duals: Floats) -> tuple[Integers, Integers]:
        best = np.clip(np.rint(self._gains()), self._low, self._high).astype(np.int64)
        return np.arange(len(best)), best


class Mixtures(LinearProgram):
    """Weights as mixtures of integers, with a price per link and a limit on links."""

    def __init__(self, soft: SoftRows, start: Integers, near: Floats, prices: Floats, link_price: float = 0.0) -> None:
        self._link_price = link_price
        super().__init__(soft, start, near, prices, np.zeros(len(start), dtype=np.int64))
        everyone = np.arange(len(start))
        self._add_values(everyone, np.clip(0, soft.low, soft.high))

    def _add_head_rows(self) -> None:
        inputs = len(self._low)
        self._add_rows(np.ones(inputs), np.ones(inputs))
        if self._soft.max_links is not None:
            self._add_rows(np.array([-np.inf]), np.array([float(self._soft.max_links)]))
        self._first = inputs + (self._soft.max_links is not None)

    def _missing(self, owner: Integers, value: Integers) -> tuple[Integers, Integers]:
        new = ~self._known[owner, value - self._soft.low[owner]]
        return owner[new], value[new]

    def _describe(self, owner: Integers, value: Integers) -> tuple[Integers, Floats]:
        return value, value**2 / 2 + self._link_price * (value != 0)

    def _heads(self, owner: Integers, value: Integers) -> tuple[Integers, Integers]:
        each = np.arange(len(owner))
        if self._soft.max_links is None:
            return each, owner
        linked = np.flatnonzero(self._soft.counted[owner] & (value != 0))
        which = np.concatenate([each, linked])
        heads = np.concatenate([owner, np.full(len(linked), len(self._low))])
        order = np.argsort(which, kind="stable")
        return which[order], heads[order]

    def _limits(self) -> Floats:
        inside = (self._value >= self._low[self._owner]) & (self._value <= self._high[self._owner])
        return np.stack([np.zeros(len(inside)), np.where(inside, np.inf, 0.0)], axis=1)

    def _basic(self, start: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self._value == start[self._owner], np.arange(self._first) >= len(start)

    def _spread(self, share: Floats, weights: Floats) -> tuple[Floats, Floats]:
        squares = np.bincount(self._owner, share * self._value**2, len(weights))
        links = np.bincount(self._owner, share * (self._value != 0), len(weights))
        return (squares - weights**2) / 2, links.astype(np.float64)

    def _wanted(self, duals: Floats) -> tuple[Integers, Integers]:
        inputs, g = len(self._low), self._gains()
        link = np.full(inputs, self._link_price)
        if self._soft.max_links is not None:
            link += np.where(self._soft.counted, -duals[inputs], 0.0)
        best = np.clip(np.rint(g), self._low, self._high).astype(np.int64)
        cost = best**2 / 2 - best * g + np.where(best != 0, link, 0.0)
        cheap = np.flatnonzero(cost < duals[:inputs] - _TOLERANCE)
        return cheap, best[cheap]


def _new_solver() -> highspy.Highs:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    return solver
