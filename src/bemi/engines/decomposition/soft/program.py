"""The linear program of one output: its weights as mixtures of integers, and its terms where they are needed.

    min  sum_ip psi(p) y_ip + sum_kh c_k xi_kh
    s.t. sum_ip p a_ki y_ip + xi_kh >= T_h,   sum_p y_ip = 1 for every weight i,   y, xi >= 0,
         sum_{i counted, p != 0} y_ip <= max_links

with ``psi(p) = p^2 / 2``, and a price per link on top for Min-Weight.  It is the convex hull of each weight alone, and
its multipliers maximise the bound of :meth:`~bemi.engines.decomposition.soft.terms.SoftRows.proved`.

Columns y_ip are generated where the multipliers ask for the value p.  Terms far from their target keep the multiplier
that they have in the continuous machine, 0 or c_k; the others become rows, and so do those that turn out to be wrong.
Leaving columns or terms out never invalidates a bound: it is computed from the multipliers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.soft.terms import Floats, SoftRows
from bemi.products import Integers
from bemi.programs.limits import FOREVER, Deadline

_ROUNDS = 30  # of adding columns and terms
_TOLERANCE = 1e-6
_BAND = 0.4  # terms whose margin is this close to the target are rows from the start
_FEW = 200  # with so few terms, all are rows from the start
_SHARE = 0.25  # terms that may be added in a round, as a share of those that there are
_PRIMAL, _DUAL = 4, 1  # HiGHS's names of the simplex methods


@dataclass(frozen=True)
class Relaxed:
    """A solution of the linear program.

    Attributes
    ----------
    weights
        Mean value of each weight's mixture.
    spread
        By how much ``p^2 / 2`` of the mixture exceeds that of the mean: 0 for a single value.
    links
        Share of each mixture that is not zero.
    prices
        ``nu_k mu_kh`` of every term, shape (hinges, non-zero rows).
    """

    weights: Floats
    spread: Floats
    links: Floats
    prices: Floats


class LinearProgram:
    """The linear program of one output, kept between calls so that its box can change at little cost.

    Parameters
    ----------
    soft
        The output.
    start
        Integer weights within all limits; the simplex method starts there.
    near
        Weights of the continuous machine: the first columns are around them, and their margins tell which terms are
        certain.
    link_price
        Price of every link, for Min-Weight.
    """

    def __init__(self, soft: SoftRows, start: Integers, near: Floats, link_price: float = 0.0) -> None:
        self._soft, self._link_price = soft, link_price
        inputs = len(start)
        self._low, self._high = soft.low, soft.high
        self._owner, self._value, self._column = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self._open = np.zeros(0, dtype=bool)  # values that are in the box
        self._known = np.zeros((inputs, int((soft.high - soft.low).max(initial=0)) + 1), dtype=bool)
        self._hinge, self._row, self._slack = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self._heights = soft.heights
        self._columns = 0
        self._solver = _new_solver()
        self._add_rows(np.ones(inputs), np.ones(inputs))
        if soft.max_links is not None:
            self._add_rows(np.array([-np.inf]), np.array([float(soft.max_links)]))
        self._first = inputs + (soft.max_links is not None)

        missing = self._heights[:, None] - soft.rows @ near
        certain = np.abs(missing) > _BAND if missing.size > _FEW else np.zeros(missing.shape, dtype=bool)
        self._fixed = np.where(certain & (missing > 0), soft.limits, 0.0)
        self._active = np.zeros(missing.shape, dtype=bool)
        self._pull = self._fixed.sum(axis=0) @ soft.rows
        everyone = np.arange(inputs)
        for values in (start, np.floor(near), np.ceil(near), np.zeros(inputs)):
            self._add_values(everyone, np.clip(values, soft.low, soft.high).astype(np.int64))
        self._add_terms(~certain)
        self._start_at(start)

    def solve(self, low: Integers, high: Integers, deadline: Deadline = FOREVER, iterations: int = 10**9) -> Relaxed:
        """The best solution found over a box; the solver may use that many iterations at a time."""
        self._set_box(low, high)
        self._solver.setOptionValue("simplex_iteration_limit", iterations)
        for _ in range(_ROUNDS):
            if deadline.left is not None:
                self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(0.01, deadline.left))
            self._solver.run()
            finished = self._solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
            relaxed, duals = self._read()
            if not finished or deadline.passed:
                break
            wrong = self._wrong(relaxed)
            wanted = self._wanted(relaxed, duals)
            if not (wrong.any() or len(wanted[0])):
                break
            self._solver.setOptionValue("simplex_strategy", _DUAL if wrong.any() else _PRIMAL)
            self._add_terms(wrong)
            self._add_values(*wanted)
        return relaxed

    def _set_box(self, low: Integers, high: Integers) -> None:
        self._low, self._high = low, high
        inside = (self._value >= low[self._owner]) & (self._value <= high[self._owner])
        changed = np.flatnonzero(inside != self._open)
        if len(changed):
            columns = self._column[changed].astype(np.int32)
            upper = np.where(inside[changed], np.inf, 0.0)
            self._solver.changeColsBounds(len(columns), columns, np.zeros(len(columns)), upper)
            self._open = inside
            self._solver.setOptionValue("simplex_strategy", _DUAL)
        bare = np.flatnonzero(np.bincount(self._owner[inside], minlength=len(low)) == 0)
        self._add_values(bare, low[bare])
        self._add_values(bare, high[bare])

    def _start_at(self, weights: Integers) -> None:
        """Let the simplex method start at integer weights."""
        basic, lower = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
        columns, rows = np.full(self._columns, lower), np.full(self._first + len(self._row), lower)
        columns[self._column[self._value == weights[self._owner]]] = basic
        rows[len(weights) : self._first] = basic
        short = self._soft.rows[self._row] @ weights < self._heights[self._hinge]
        columns[self._slack[short]] = basic
        rows[self._first + np.flatnonzero(~short)] = basic
        basis = highspy.HighsBasis()
        basis.col_status, basis.row_status, basis.valid = columns.tolist(), rows.tolist(), True
        self._solver.setBasis(basis)
        self._solver.setOptionValue("simplex_strategy", _PRIMAL)

    def _read(self) -> tuple[Relaxed, Floats]:
        solution = self._solver.getSolution()
        found, duals = np.array(solution.col_value), np.array(solution.row_dual)
        prices = self._fixed.copy()
        limits = self._soft.limits[self._row]
        prices[self._hinge, self._row] = np.minimum(np.maximum(duals[self._first :], 0.0), limits)
        share, value, inputs = found[self._column], self._value, len(self._low)
        weights = np.bincount(self._owner, share * value, inputs)
        spread = (np.bincount(self._owner, share * value**2, inputs) - weights**2) / 2
        links = np.bincount(self._owner, share * (value != 0), inputs)
        return Relaxed(weights, spread, links, prices), duals

    def _wrong(self, relaxed: Relaxed) -> NDArray[np.bool_]:
        """Terms with a fixed multiplier that the weights contradict, at most a share of them at a time."""
        missing = self._heights[:, None] - self._soft.rows @ relaxed.weights
        excess = np.where(self._active, 0.0, np.where(self._fixed > 0, -missing, missing))
        most = max(_FEW, int(_SHARE * len(self._row)))
        if (excess > _TOLERANCE).sum() > most:
            return excess > max(_TOLERANCE, np.partition(excess.ravel(), -most)[-most])
        return excess > _TOLERANCE

    def _wanted(self, relaxed: Relaxed, duals: Floats) -> tuple[Integers, Integers]:
        """Weights and values whose columns have a negative reduced cost."""
        inputs = len(self._low)
        g = relaxed.prices.sum(axis=0) @ self._soft.rows
        link = np.full(inputs, self._link_price)
        if self._first > inputs:
            link += np.where(self._soft.counted, -duals[inputs], 0.0)
        best = np.clip(np.rint(g), self._low, self._high).astype(np.int64)
        cost = best**2 / 2 - best * g + np.where(best != 0, link, 0.0)
        cheap = np.flatnonzero(cost < duals[:inputs] - _TOLERANCE)
        return cheap, best[cheap]

    def _add_values(self, owner: Integers, value: Integers) -> None:
        """Columns for values of weights, where there are none yet."""
        new = ~self._known[owner, value - self._soft.low[owner]]
        owner, value = owner[new], value[new]
        if not len(owner):
            return
        self._known[owner, value - self._soft.low[owner]] = True
        soft, count, terms = self._soft, len(owner), len(self._row)
        table = np.zeros((count, self._first + terms))
        table[np.arange(count), owner] = 1.0
        table[:, len(self._low) : self._first] = (soft.counted[owner] & (value != 0))[:, None]
        table[:, self._first :] = (soft.rows[self._row][:, owner] * value).T
        added = self._add_columns(self._costs(owner, value), table)
        self._owner, self._value = np.concatenate([self._owner, owner]), np.concatenate([self._value, value])
        self._column = np.concatenate([self._column, added])
        self._open = np.concatenate([self._open, np.ones(count, dtype=bool)])

    def _add_terms(self, which: NDArray[np.bool_]) -> None:
        """Rows for terms; their multipliers are no longer fixed."""
        hinge, row = np.nonzero(which & ~self._active)
        if not len(row):
            return
        soft, before = self._soft, self._first + len(self._row)
        self._active[hinge, row] = True
        released = self._fixed[hinge, row]
        if released.any():
            self._fixed[hinge, row] = 0.0
            self._pull = self._fixed.sum(axis=0) @ soft.rows
            costs = self._costs(self._owner, self._value)
            self._solver.changeColsCost(len(costs), self._column.astype(np.int32), costs)
        table = np.zeros((len(row), self._columns))
        table[:, self._column] = soft.rows[row][:, self._owner] * self._value
        self._add_rows(self._heights[hinge], np.full(len(row), np.inf), table)
        own = np.zeros(len(row), dtype=np.int64) + before + np.arange(len(row))
        slack = self._add_single_entries(soft.limits[row], own)
        self._hinge, self._row = np.concatenate([self._hinge, hinge]), np.concatenate([self._row, row])
        self._slack = np.concatenate([self._slack, slack])

    def _costs(self, owner: Integers, value: Integers) -> Floats:
        """Costs of values: psi, less what they gain in the terms whose multiplier is fixed."""
        return value**2 / 2 + self._link_price * (value != 0) - value * self._pull[owner]

    def _add_rows(self, lower: Floats, upper: Floats, table: Floats | None = None) -> None:
        starts, index, entries = _compressed(np.zeros((len(lower), 0)) if table is None else table)
        self._solver.addRows(len(lower), lower, upper, len(index), starts, index, entries)

    def _add_columns(self, costs: Floats, table: Floats) -> Integers:
        starts, index, entries = _compressed(table)
        return self._append(costs, starts, index, entries)

    def _add_single_entries(self, costs: Floats, rows: Integers) -> Integers:
        """Columns with the entry 1 in one row each."""
        return self._append(costs, np.arange(len(rows), dtype=np.int32), rows.astype(np.int32), np.ones(len(rows)))

    def _append(self, costs: Floats, starts: Integers, index: Integers, entries: Floats) -> Integers:
        count = len(costs)
        self._solver.addCols(count, costs, np.zeros(count), np.full(count, np.inf), len(index), starts, index, entries)
        self._columns += count
        return np.arange(self._columns - count, self._columns)


def _new_solver() -> highspy.Highs:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    return solver


def _compressed(table: Floats) -> tuple[Integers, Integers, Floats]:
    """The lines of a table without zeros: where each starts, indices, and entries."""
    line, index = np.nonzero(table)
    starts = np.searchsorted(line, np.arange(len(table)))
    return starts.astype(np.int32), index.astype(np.int32), table[line, index]
